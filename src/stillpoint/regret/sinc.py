"""The paper's interpolant u = f·b_T of a sequence at times 1..T (Theorem discrete-pl, E16).

f(t) = Σ_l u_l S(t − l) with S(x) = sinc(x)·sinc(x/2) passes through the sequence, and the bump b_T,
1 on [1, T] and 0 outside [0, T + 1], makes it vanish far away, so that its norm follows the path
length of the sequence.
"""

from math import comb, factorial, perm, pi

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, finite
from stillpoint.regret.comparators import sequence

# ‖u'‖_{L1} ≤ 2.88 (‖u_1‖ + P_T) at every order: the least constant grows to 2.8780 with T, whatever
# the bump, since b_T·f falls from 1 to 0 without turning on the side of b_T (E16f has m = 1)
PATH_CONSTANT = 2.88
# C'_m for m = 1, 2, …, of which 12.9346, 866.674, 293 797.8, 205 200 724 … are the limits: rounded
# up (12.93 of E16f is not)
_CURVATURE = (12.94, 866.7, 293_800.0, 2.053e8, 2.416e11, 4.312e14, 1.090e18, 3.727e21)


def curvature_constant(order: int = 1) -> float:
    """The constant C'_m of Theorem discrete-pl.

    ‖u + (−1)^m u^(2m)‖_∞ ≤ C'_m·max‖u_t‖ for the interpolant u = `SincBump(u_t, m)` of every
    sequence: the supremum over t and T of Σ_l |w_l(t) + (−1)^m w_l^(2m)(t)|, w_l(t) = b_T(t)S(t −
    l), which grows with T: the terms near one end do not depend on T, and more of them come. It
    grows fast with m, since b_T rises within one round.
    """
    return _CURVATURE[whole_order(order) - 1]


def bump(t: ArrayLike, horizon: int, order: int = 1) -> Array:
    """The bump b_T: 1 on [1, T], 0 outside [0, T + 1].

    Parameters
    ----------
    t : array
        Times.
    horizon : int
        T.
    order : int, default 1
        m. b_T rises on [0, 1] like ∫(x(1 − x))^{2m} dx and falls alike, with 2m continuous
        derivatives; with m = 1 the rise is 10t³ − 15t⁴ + 6t⁵.
    """
    return _bump(finite("t", t), count("horizon", horizon), whole_order(order), 0)[0]


def sinc_product(x: ArrayLike) -> Array:
    """The window S(x) = sinc(x)·sinc(x/2) = [cos(πx/2) − cos(3πx/2)]/(πx)².

    It is 1 at 0 and 0 at the other integers, and |S| ≤ 1/(1 + 2x²).
    """
    return _product(finite("x", x), 0)[0]


class SincBump:
    """The interpolant u(t) = b_T(t)·Σ_l u_l S(t − l) of a sequence u_1..u_T.

    It has 2m derivatives, u(l) = u_l for l = 1..T, and is 0 outside [0, T + 1]. Calling it, and its
    derivatives, at `t` gives the shape of `t` followed by that of one u_l.

    Parameters
    ----------
    u : array of shape (T,) or (T, d)
        The sequence.
    order : int, default 1
        m, which only shapes b_T.
    """

    def __init__(self, u: ArrayLike, order: int = 1) -> None:
        self._u = sequence(u).reshape(np.shape(u))
        self._order = whole_order(order)

    def __call__(self, t: ArrayLike) -> Array:
        """u(t)."""
        return self._derivative(t, 0)

    def derivative(self, t: ArrayLike, n: int = 1) -> Array:
        """The n-th derivative of u at t, n ≤ 2m."""
        if count("n", n) > 2 * self._order:
            raise ValueError(
                f"n must be at most 2·order = {2 * self._order}: got {n}; give SincBump a higher"
                " order"
            )
        return self._derivative(t, n)

    def _derivative(self, t: ArrayLike, n: int) -> Array:
        at, horizon = finite("t", t), len(self._u)
        rows = _product(at[..., None] - np.arange(1.0, horizon + 1.0), n)
        edges = [
            edge.reshape(at.shape + (1,) * (self._u.ndim - 1))
            for edge in _bump(at, horizon, self._order, n)
        ]
        return np.asarray(
            sum(comb(n, k) * edges[n - k] * (rows[k] @ self._u) for k in range(n, -1, -1))
        )


def whole_order(order: int) -> int:
    """Return the theorem's m, made sure of."""
    if count("order", order) > len(_CURVATURE):
        raise ValueError(
            f"order must be at most {len(_CURVATURE)}: got {order}; C'_m, above 1e21, is not known"
            " beyond"
        )
    return int(order)


def _bump(t: Array, horizon: float, order: int, n: int) -> list[Array]:
    """b_T with its derivatives up to the n-th, n ≤ 2m."""
    middle, m2 = 0.5 * (horizon + 1.0), 2 * order
    # the distance to the nearer end of the support
    x = np.clip(middle - np.abs(t - middle), 0.0, 1.0)
    rest, side = 1.0 - x, np.sign(middle - t)
    # the incomplete beta function I_x(2m + 1, 2m + 1) in powers of 1 − x: none cancel; m = 1 to the
    # bit as it has been
    series = [float(comb(m2 + k, k)) for k in range(m2 + 1)]
    inner = (
        10.0 - 15.0 * x + 6.0 * x * x
        if order == 1
        else np.polynomial.polynomial.polyval(rest, series)
    )
    parts = [np.asarray(x ** (m2 + 1) * inner)]
    scale = factorial(2 * m2 + 1) // factorial(m2) ** 2
    for k in range(n):  # Leibniz on (x(1 − x))^{2m}
        terms = (
            (-1) ** (k - j) * comb(k, j) * perm(m2, j) * perm(m2, k - j) * x ** (k - j) * rest**j
            for j in range(k + 1)
        )
        parts.append(scale * (x * rest) ** (m2 - k) * sum(terms) * (side if k % 2 == 0 else 1.0))
    return parts


def _product(x: Array, n: int) -> list[Array]:
    """S with its derivatives up to the n-th."""
    a, b = _sinc(x, n), _sinc(0.5 * x, n)
    return [
        np.asarray(sum(comb(i, k) * 0.5 ** (i - k) * a[k] * b[i - k] for k in range(i, -1, -1)))
        for i in range(n + 1)
    ]


def _sinc(x: Array, n: int) -> list[Array]:
    """s(x) = sin(πx)/(πx) with its derivatives up to the n-th.

    Differentiating x·s = sin(πx)/π gives s^(i) from s^(i−1) by a division by x, which blows up
    rounding where π|x| < i/2; there by the series of s, which cancels little as long as π|x| is
    small.
    """
    parts = [np.asarray(np.sinc(x))]
    for i in range(1, n + 1):
        small = np.abs(x) < max(0.5, i / (2.0 * pi))
        away = np.where(small, 1.0, x)
        if i % 2:
            values = ((-1.0) ** (i // 2) * pi ** (i - 1) * np.cos(pi * away) - i * parts[-1]) / away
        else:
            values = (-1.0) ** (i // 2) * pi**i * parts[0] - i * parts[-1] / away
        values = np.asarray(values)
        values[small] = _sinc_series(x[small], i)
        parts.append(values)
    return parts


def _sinc_series(x: Array, i: int) -> Array:
    """The i-th derivative of Σ_j (−1)^j (πx)^{2j}/(2j + 1)! for |x| ≤ max(½, i/2π)."""
    result, z = np.zeros_like(x), x * x
    for j in range(13 + 3 * max(0, i - 2) // 2, (i + 1) // 2 - 1, -1):
        result = result * z + (-1.0) ** j * pi ** (2 * j) / ((2 * j + 1) * factorial(2 * j - i))
    return np.asarray(x * result if i % 2 else result)
