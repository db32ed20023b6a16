"""The paper's interpolant u = f·b_T of a sequence at times 1..T (Theorem discrete-pl with m = 1; erratum E16).

f(t) = Σ_l u_l S(t − l) with S(x) = sinc(x)·sinc(x/2) passes through the sequence, and the bump b_T, 1 on [1, T] and 0
outside [0, T + 1], makes it vanish far away, so that its norm follows the path length of the sequence.
"""

from math import pi

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, finite
from stillpoint.regret.comparators import sequence

PATH_CONSTANT = 2.88  # ‖u'‖_{L1} ≤ 2.88 (‖u_1‖ + P_T); the least constant grows to 2.8780 with T (E16f)
CURVATURE_CONSTANT = 12.94  # ‖u − u''‖_∞ ≤ 12.94 M; the least constant grows to 12.9346, above the 12.93 of E16f

_SERIES = [(-1.0) ** n * pi ** (2 * n) / np.prod(np.arange(1.0, 2 * n + 2)) for n in range(14)]  # of sinc, in x²


def bump(t: ArrayLike, horizon: int) -> Array:
    """b_T(t): s(t) = 10t³ − 15t⁴ + 6t⁵ on [0, 1], 1 up to T = `horizon`, s(T + 1 − t) up to T + 1, 0 elsewhere."""
    return _bump(finite("t", t), count("horizon", horizon))[0]


def sinc_product(x: ArrayLike) -> Array:
    """S(x) = sinc(x)·sinc(x/2) = [cos(πx/2) − cos(3πx/2)]/(πx)²: 1 at 0, 0 at the other integers, |S| ≤ 1/(1 + 2x²)."""
    return _product(finite("x", x))[0]


class SincBump:
    """u(t) = b_T(t)·Σ_l u_l S(t − l): a twice differentiable function with u(l) = u_l for l = 1..T, 0 outside [0, T + 1].

    Calling it, and its derivatives, at `t` gives the shape of `t` followed by that of one u_l.
    """

    def __init__(self, u: ArrayLike) -> None:
        self._u = sequence(u).reshape(np.shape(u))

    def __call__(self, t: ArrayLike) -> Array:
        """u(t)."""
        (f,), (b,) = self._parts(t, 0)
        return b * f

    def derivative(self, t: ArrayLike) -> Array:
        """u'(t)."""
        (f, df), (b, db) = self._parts(t, 1)
        return b * df + db * f

    def second_derivative(self, t: ArrayLike) -> Array:
        """u''(t)."""
        (f, df, ddf), (b, db, ddb) = self._parts(t, 2)
        return b * ddf + 2.0 * db * df + ddb * f

    def _parts(self, t: ArrayLike, order: int) -> tuple[list[Array], list[Array]]:
        at, horizon = finite("t", t), len(self._u)
        rows = _product(at[..., None] - np.arange(1.0, horizon + 1.0))[: order + 1]
        edges = _bump(at, horizon)[: order + 1]
        return [row @ self._u for row in rows], [edge.reshape(at.shape + (1,) * (self._u.ndim - 1)) for edge in edges]


def _bump(t: Array, horizon: int) -> tuple[Array, Array, Array]:
    """b_T with its first and second derivatives."""
    middle = 0.5 * (horizon + 1.0)
    x = np.clip(middle - np.abs(t - middle), 0.0, 1.0)  # the distance to the nearer end of the support
    rest = 1.0 - x
    value = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    return value, np.sign(middle - t) * 30.0 * (x * rest) ** 2, 60.0 * x * rest * (1.0 - 2.0 * x)


def _product(x: Array) -> tuple[Array, Array, Array]:
    """S with its first and second derivatives."""
    a, da, dda = _sinc(x)
    b, db, ddb = _sinc(0.5 * x)
    return a * b, da * b + 0.5 * a * db, dda * b + da * db + 0.25 * a * ddb


def _sinc(x: Array) -> tuple[Array, Array, Array]:
    """sin(πx)/(πx) with its first and second derivatives; near 0 by their series, where the quotients cancel."""
    value = np.sinc(x)
    small = np.abs(x) < 0.5
    away = np.where(small, 1.0, x)
    slope = (np.cos(pi * away) - value) / away
    curve = -(pi**2) * value - 2.0 * slope / away
    z = np.where(small, x * x, 0.0)
    near_slope, near_curve = np.zeros_like(z), np.zeros_like(z)
    for n in range(len(_SERIES) - 1, 0, -1):
        near_slope = near_slope * z + 2 * n * _SERIES[n]
        near_curve = near_curve * z + 2 * n * (2 * n - 1) * _SERIES[n]
    return value, np.where(small, x * near_slope, slope), np.where(small, near_curve, curve)
