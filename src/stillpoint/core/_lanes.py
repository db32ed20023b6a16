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
_EXP = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
_LOG = tuple(2.0 / k for k in range(23, 0, -2))
_SMALLEST, _MANY, _FURTHEST = 2.2250738585072014e-308, 54.0, 700.0


@njit(cache=True, forceinline=True)
def within(v: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """The values, or the nearest in the range."""
    return least(most(v, low), high)


@njit(cache=True)
def exponential(v: Lanes) -> Lanes:
    """exp(v), of v between ±700: e^v = 2^n e^r, |r| ≤ ln(2)/2, and Taylor's sum of the latter."""
    v = least(most(v, -_FURTHEST), _FURTHEST)
    n = nearest(v * _PER_LN2)
    r = (v - n * _HIGH) - n * _LOW
    total = spread(_EXP[0])
    for k in range(1, 14):
        total = total * r + _EXP[k]
    return total * two_to(n)


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
    total = spread(_LOG[0])
    for k in range(1, 12):
        total = total * square + _LOG[k]
    return n * _HIGH + (n * _LOW + total * s)
