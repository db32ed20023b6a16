"""Magnitudes of the built-in potentials, compiled: functions of s = S/h and v = V/h², never NaN."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import dawsn

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

CAP = 1e150  # plays stop here: the square still fits a float
LOG_CAP = math.log(CAP)
# of s and v, which are at most a number of rounds: their products and roots stay floats
MOST = 1e100

QUADRATIC, ADAPTIVE, PARAMETER_FREE, FREE_GRAD, ERFI = range(5)

_SPACING, _ORDER = 0.2, 13


class Formula(NamedTuple):
    """A potential, as compiled functions take it."""

    code: int  # one of the above
    parameters: Array  # as the potential's own `parameters`
    offset: float  # V starts at offset·h²


def _taylor_table() -> Array:
    """Taylor coefficients of Dawson's function at 0, 0.2, …, 10.

    D' = 1 − 2xD gives (n+1)c_{n+1} = [n=0] − 2(x c_n + c_{n−1}).
    """
    x = _SPACING * np.arange(51)
    c = np.zeros((_ORDER + 1, x.size))
    c[0] = dawsn(x)
    c[1] = 1.0 - 2.0 * x * c[0]
    for n in range(1, _ORDER):
        c[n + 1] = -2.0 * (x * c[n] + c[n - 1]) / (n + 1)
    return np.ascontiguousarray(c.T)


_TAYLOR = _taylor_table()


@njit(cache=True)
def dawson(x: float) -> float:
    """D(x) = e^{−x²}∫_0^x e^{y²}dy for x ≥ 0.

    A Taylor polynomial at the nearest node, the asymptotic series beyond 10.
    """
    if not x <= 10.0:  # NaN, too, must not come to the table
        y = 0.5 / (x * x)
        series = 1.0
        for odd in range(21, 0, -2):
            series = 1.0 + odd * y * series
        return 0.5 / x * series
    node = int(x / _SPACING + 0.5)
    rest = x - _SPACING * node
    total = 0.0
    for n in range(_ORDER, -1, -1):
        total = total * rest + _TAYLOR[node, n]
    return total


@njit(cache=True)
def saturated_exp(log_value: float) -> float:
    """e^log_value, at most CAP."""
    return CAP if log_value >= LOG_CAP else math.exp(log_value)


@njit(cache=True)
def _parameter_free(scale: float, s: float, v: float, count: float) -> float:
    # α = ε/(√v log²v) with a fixed bound, ε/(A log²A) with running hints (count = A)
    if count > 0.0:
        log_alpha = math.log(scale) - math.log(count) - 2.0 * math.log(math.log(count))
    else:
        log_alpha = math.log(scale) - 0.5 * math.log(v) - 2.0 * math.log(math.log(v))
    exponent = s * s / (36.0 * v) if s <= 6.0 * v else s / 3.0 - v
    if exponent < 1e-8:
        return math.exp(log_alpha) * exponent
    log_expm1 = (
        exponent + math.log1p(-math.exp(-exponent))
        if exponent > 1.0
        else math.log(math.expm1(exponent))
    )
    return saturated_exp(log_alpha + log_expm1)


@njit(cache=True)
def _free_grad(scale: float, s: float, v: float) -> float:
    prefactor = s * (2.0 * v + s) / (2.0 * (v + s) * (v + s) * math.sqrt(v))
    return saturated_exp(math.log(scale) + math.log(prefactor) + s * s / (2.0 * (v + s)))


@njit(cache=True)
def _erfi(scale: float, alpha: float, z0: float, s: float, v: float) -> float:
    u = v + 2.0 * s + z0
    q = s / math.sqrt(4.0 * alpha * u)
    # slightly negative for s ≲ 2α: the one-step inequality needs that, so it is not clamped
    bracket = dawson(q) - math.sqrt(alpha / u)
    if q * q < 1.0:
        return scale * math.exp(q * q) * bracket
    if bracket <= 0.0:
        return -saturated_exp(math.log(scale) + q * q + math.log(max(-bracket, 1e-300)))
    return saturated_exp(math.log(scale) + q * q + math.log(bracket))


@njit(cache=True)
def magnitude(code: int, p: Array, S: float, V: float, h: float, count: float) -> float:
    """Size of the play from ‖θ‖ = S, the variance V (with its start) and the hint h.

    count is A = 4 + Σ‖G_s‖²/h_s² with running hints, 0 with a fixed one.
    """
    if S <= 0.0:
        return 0.0
    if code == QUADRATIC:
        return float(min(p[0] * S, CAP))
    if code == ADAPTIVE:
        return float(min(p[0] * (S / math.sqrt(V)), CAP)) if V > 0.0 else 0.0
    if h * h <= 0.0:  # gradients whose squares are 0 count as 0
        return 0.0
    s, v = min(S / h, MOST), min(V / h / h, MOST)
    if code == PARAMETER_FREE:
        return _parameter_free(p[0], s, v, count)
    if code == FREE_GRAD:
        return _free_grad(p[0], s, v)
    if code == ERFI:
        return _erfi(p[0], p[1], p[2], s, v)
    return math.nan  # a code without its branch: every test of magnitudes sees it
