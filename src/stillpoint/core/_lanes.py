"""Functions of vectors of lanes, made of their arithmetic."""

import math

from stillpoint.core.jit import njit
from stillpoint.core.lanes import (
    Lanes,
    least,
    most,
    nearest,
    power,
    spread,
    two_to,
    where,
)

_PER_LN2 = 1.0 / math.log(2.0)
# ln 2 in two parts, the first of 32 bits: a whole number times it is exact
_HIGH = 0.693147180369123816490
_LOW = 1.90821492927058770002e-10
_EXP = tuple(1.0 / math.factorial(k) for k in range(13))
_LOG = tuple(2.0 / (2 * k + 1) for k in range(12))
_SMALLEST, _MANY, _FURTHEST = 2.2250738585072014e-308, 54.0, 700.0


@njit(cache=True, forceinline=True)
def within(v: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """The values, or the nearest in the range."""
    return least(most(v, low), high)


@njit(cache=True, forceinline=True)
def _polynomial(v: Lanes, c: tuple[float, ...]) -> Lanes:
    """Σ_k c_k v^k, k < 12: in pairs, and pairs of them, that need not wait for each other."""
    two = v * v
    four = two * two
    one = (c[0] + c[1] * v) + (c[2] + c[3] * v) * two
    more = (c[4] + c[5] * v) + (c[6] + c[7] * v) * two
    most = (c[8] + c[9] * v) + (c[10] + c[11] * v) * two
    return one + (more + most * four) * four


@njit(cache=True)
def exponential(v: Lanes) -> Lanes:
    """exp(v), of v between ±700: e^v = 2^n e^r, |r| ≤ ln(2)/2, and Taylor's sum of the latter."""
    v = least(most(v, -_FURTHEST), _FURTHEST)
    n = nearest(v * _PER_LN2)
    r = (v - n * _HIGH) - n * _LOW
    total = _polynomial(r, _EXP)
    square = r * r
    square = square * square
    return (total + square * square * square * _EXP[12]) * two_to(n)


@njit(cache=True)
def logarithm(v: Lanes) -> Lanes:
    """log(v), of v > 0: v = 2^n m, 1/√2 ≤ m ≤ √2, log m = 2 artanh((m − 1)/(m + 1))."""
    tiny = v < _SMALLEST
    v = where(tiny, v * two_to(spread(_MANY)), v)
    n = power(v)
    m = v * two_to(spread(0.0) - n)
    above = m > math.sqrt(2.0)
    m, n = where(above, 0.5 * m, m), where(above, n + 1.0, n)
    n = where(tiny, n - _MANY, n)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    return n * _HIGH + (n * _LOW + _polynomial(square, _LOG) * s)
