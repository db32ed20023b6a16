"""The conditions of Theorem rkhs-to-pl on a spectral density, at any order m (erratum E6).

Q must be integrable, and R(ω) = 1/(2πω(1 + (2πω)^{2m})Q(ω)) integrable and decreasing; then ‖f‖² ≤
c_m(T)‖f'‖_{L1}‖f + (−1)^m f^(2m)‖_∞ with c_m(T) = 4∫_0^∞ R(ω) sin²(π(T+1)ω)/(πω) dω. Of a density
that falls like ω^{−p} that asks 1 < p < 2m. All of it is done in logarithms, log Q as a function of
x = log ω: powers such as ω^{2m} would leave the floats before the tails show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, pi
from typing import NamedTuple

import numpy as np

from stillpoint.core.validation import Array, count, positive

Density = Callable[[Array], Array]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_GRID: Array = 0.05 * np.arange(-14_000.0, 14_001.0)  # e^±700 are floats
# a density that was larger before it became 0 ends there; a smaller one may have left the floats
_UNDERFLOW = log(1e-60)
_PERIODS = 64


@dataclass(frozen=True)
class PathLengthConditions:
    """What was found numerically about Q and R, as `path_length_conditions` returns it.

    Parameters
    ----------
    q_integrable : bool
        Whether ∫Q, over all frequencies, is finite.
    q_integral : float
        ∫Q, without what lies below ω = e^{−700}.
    r_integrable : bool
        Whether ∫R is finite.
    r_decreasing : bool
        Whether R falls with ω.
    constant : float
        c_m(T); inf unless every condition holds.

    Notes
    -----
    R(ω) = 1/(2πω(1 + (2πω)^{2m})Q(ω)) with m the order.

    Tails are judged by how their slopes go on beyond the floats: powers of ω are told to 0.001,
    then powers of log ω to 0.1, then those of log log ω to 0.3.
    """

    q_integrable: bool
    q_integral: float
    r_integrable: bool
    r_decreasing: bool
    constant: float

    @property
    def holds(self) -> bool:
        """Whether Theorem rkhs-to-pl applies with the closed form of c_m(T)."""
        return self.q_integrable and self.r_integrable and self.r_decreasing


class _Samples(NamedTuple):
    """log Q on a grid of x = log ω, as far as Q is a positive float.

    ends: whether it is 0 from there on; gaps: or between.
    """

    x: Array
    log_q: Array
    ends: tuple[bool, bool]
    gaps: bool


def integrable(density: Density) -> bool:
    """Whether ∫Q(ω)dω is finite: judged by how log Q goes on towards 0 and ∞."""
    return _q_integrable(_sampled(density))


def path_length_conditions(
    density: Density, horizon: float, order: int = 1
) -> PathLengthConditions:
    """Check the conditions of Theorem rkhs-to-pl on a density and compute c_m(T).

    Parameters
    ----------
    density : function of an array
        Q at frequencies above 0.
    horizon : float
        T.
    order : int
        The theorem's m.
    """
    tau, m = positive("horizon", horizon) + 1.0, count("order", order)

    def log_r(x: Array, log_q: Array) -> Array:
        wave = x + log(2.0 * pi)
        return np.asarray(-wave - np.logaddexp(0.0, 2.0 * m * wave) - log_q)

    def ratio(x: Array) -> Array:
        """R(e^x), 0 where Q has left the floats: too far out to count."""
        log_q = _log(density, x)
        return np.exp(log_r(x, np.where(np.isfinite(log_q), log_q, inf)))

    found = _sampled(density)
    on_grid, whole = log_r(found.x, found.log_q), not (found.gaps or any(found.ends))
    q_integrable = _q_integrable(found)
    r_integrable = whole and all(_light(found.x, found.x + on_grid, side) for side in (-1, 1))
    r_decreasing = whole and bool((np.diff(on_grid) <= 1e-12).all())
    edges = np.linspace(
        found.x[0] - 0.05, found.x[-1] + 0.05, 3 + int(2.0 * (found.x[-1] - found.x[0]))
    )
    return PathLengthConditions(
        q_integrable=q_integrable,
        q_integral=2.0
        * _panels(
            lambda x: np.exp(x + np.nan_to_num(_log(density, x), nan=-inf, posinf=-inf)), edges
        )
        if q_integrable
        else inf,
        r_integrable=r_integrable,
        r_decreasing=r_decreasing,
        constant=transform_norm(ratio, tau)
        if q_integrable and r_integrable and r_decreasing
        else inf,
    )


def _log(density: Density, x: Array) -> Array:
    """log Q(e^x).

    −∞ where Q is 0 or too small to have all its digits, NaN or +∞ where the formula overflows.
    """
    with np.errstate(all="ignore"):
        values = density(np.exp(x))
        return np.where(values < np.finfo(float).tiny, -inf, np.log(values))


def _sampled(density: Density) -> _Samples:
    log_q = _log(density, _GRID)
    known = np.flatnonzero(np.isfinite(log_q))
    if known.size < 8:
        return _Samples(_GRID[:8], np.zeros(8), (True, True), True)
    first, last = int(known[0]), int(known[-1])
    ends = [
        0 <= beyond < _GRID.size and log_q[beyond] == -inf and log_q[end] > _UNDERFLOW
        for end, beyond in ((first, first - 1), (last, last + 1))
    ]
    return _Samples(
        _GRID[first : last + 1],
        log_q[first : last + 1],
        (ends[0], ends[1]),
        known.size < last - first + 1,
    )


def _q_integrable(found: _Samples) -> bool:
    return all(
        end or _light(found.x, found.x + found.log_q, side)
        for end, side in zip(found.ends, (-1, 1), strict=True)
    )


def _light(x: Array, log_mass: Array, side: int) -> bool:
    """Whether ∫ e^{log_mass(x)} dx is finite towards the last x (side 1) or the first (side −1).

    With y = |x|, z = log y and G = log_mass: finite if the slope of G over y tends to less than 0;
    where it tends to 0, if that of G + y over z does; where that tends to 0 too, if that of G + y +
    z over log z is below 0. Limits are extrapolated from two slopes, the second at half of y, of z
    and of z.
    """
    origin = 0.0 if x[0] < 0.0 < x[-1] else 0.5 * (x[0] + x[-1])
    y, values = (x - origin, log_mass) if side > 0 else (origin - x[::-1], log_mass[::-1])
    y, values = y[y >= 0.0], values[y >= 0.0]

    def slope(at: float) -> float:
        width = max(0.05, 0.01 * at)
        pair = np.interp([at - width, at], y, values)
        return float(pair[1] - pair[0]) / width

    end = float(y[-1])
    power = 2.0 * slope(end) - slope(0.5 * end)
    if abs(power) > 1e-3:
        return power < 0.0
    far, near = ((1.0 + at * slope(at), log(at)) for at in (end, exp(0.5 * log(end))))
    if 2.0 * far[0] - near[0] < -0.1:
        return True
    return 1.0 + 2.0 * far[0] * far[1] - near[0] * near[1] < -0.3


def _panels(f: Density, edges: Array) -> float:
    """∫ f from the first edge to the last by Gauss–Legendre, panel by panel."""
    half = 0.5 * np.diff(edges)
    points = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * _NODES
    return float(((f(points.ravel()).reshape(points.shape) @ _WEIGHTS) * half).sum())


def transform_norm(ratio: Density, tau: float) -> float:
    """‖R̂‖_{L1[−τ,τ]} = 4∫_0^∞ R(ω) sin²(πτω)/(πω) dω of a decreasing R.

    In the phase u = πτω; ratio gives R(e^x).
    """
    shift, end = log(pi * tau), pi * _PERIODS

    def smooth(v: Array) -> Array:
        return ratio(v - shift) / pi  # du/u is dv for u = e^v

    def weighted(u: Array) -> Array:
        return smooth(np.log(u)) / u

    first = _panels(lambda v: smooth(v) * np.sin(np.exp(v)) ** 2, np.linspace(-60.0, log(pi), 121))
    middle = _panels(lambda u: weighted(u) * np.sin(u) ** 2, pi * np.arange(1.0, _PERIODS + 1.0))
    # sin² = (1 − cos 2u)/2: beyond U = 64π the cosine part is g'(U)/8 to second order, since sin 2U
    # = 0
    tail = 0.5 * _panels(smooth, np.linspace(log(end), log(end) + 100.0, 201))
    slope = float(np.diff(weighted(end * np.array([1.0 - 1e-4, 1.0 + 1e-4])))[0]) / (2e-4 * end)
    return 4.0 * (first + middle + tail + slope / 8.0)
