"""Translation-invariant kernels from a spectral density, and the conditions of Theorem rkhs-to-pl (errata E6).

k(s, t) = ∫ Q(ω) e^{−2πiω(s−t)} dω. The theorem needs Q integrable and R(x) = 1/(2πx(1 + (2πx)^{2m})Q(x)) integrable and
decreasing; then ‖f‖² ≤ c(T)‖f'‖_{L1}‖f + (−1)^m f^{(2m)}‖_∞ with c(T) = 4∫_0^∞ R(x) sin²(π(T+1)x)/(πx) dx.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, pi

import numpy as np
from scipy.integrate import IntegrationWarning, quad

from stillpoint._validate import Array, count, positive
from stillpoint.kernels.base import StationaryKernel

Density = Callable[[Array], Array]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True)
class PathLengthConditions:
    """What was found numerically about Q and R, and c(T) (inf unless every condition holds)."""

    q_integrable: bool
    q_integral: float
    r_integrable: bool
    r_decreasing: bool
    constant: float

    @property
    def holds(self) -> bool:
        """Whether Theorem rkhs-to-pl applies with the closed form of c(T)."""
        return self.q_integrable and self.r_integrable and self.r_decreasing


def _panels(f: Density, edges: Array) -> Array:
    """∫ f over each [edges_i, edges_{i+1}] by Gauss–Legendre."""
    half = 0.5 * np.diff(edges)
    points = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * _NODES
    return np.asarray((f(points.ravel()).reshape(points.shape) @ _WEIGHTS) * half)


def _log_masses(f: Density, side: int) -> Array:
    """Mass of f(ω)dω on |log ω| in [2^j, 2^{j+1}], j = 0..7, towards 0 (side −1) or ∞ (side +1)."""

    def in_log(x: Array) -> Array:
        with np.errstate(all="ignore"):
            values = np.exp(x) * f(np.exp(x))
        return np.where(np.isfinite(values), values, inf)

    masses = []
    for j in range(8):  # e^±256: powers of it up to 2.7 stay within the floats
        edges = side * np.linspace(2.0**j, 2.0 ** (j + 1), 4 + 2 ** max(0, j - 2))
        masses.append(abs(float(_panels(in_log, edges).sum())))
    return np.array(masses)


def _integrable(masses: Array) -> bool:
    """Dyadic masses that keep shrinking: 1/(x log x) gives ratio 1, 1/(x log x loglog²x) about 0.8."""
    if not np.isfinite(masses).all():
        return False
    last, before = masses[-1], masses[-2]
    return bool(last <= 0.95 * before or last < 1e-12 * masses.sum())


def path_length_conditions(density: Density, horizon: float, order: int = 1) -> PathLengthConditions:
    """Check the conditions of Theorem rkhs-to-pl on a density and compute c(T); order is the theorem's m."""
    positive("horizon", horizon)
    m = count("order", order)

    def ratio(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(1.0 / (2.0 * pi * x * (1.0 + (2.0 * pi * x) ** (2 * m)) * density(x)))

    with np.errstate(all="ignore"):
        centre = float(_panels(lambda x: np.exp(x) * density(np.exp(x)), np.linspace(-1.0, 1.0, 5)).sum())
    q_low, q_high = _log_masses(density, -1), _log_masses(density, 1)
    r_low, r_high = _log_masses(ratio, -1), _log_masses(ratio, 1)
    on_grid = ratio(np.exp(np.linspace(-250.0, 100.0, 3501)))
    r_decreasing = bool(np.isfinite(on_grid).all() and (on_grid[1:] <= on_grid[:-1] * (1.0 + 1e-12)).all())
    q_integrable = _integrable(q_low) and _integrable(q_high)
    r_integrable = _integrable(r_low) and _integrable(r_high)
    holds = q_integrable and r_integrable and r_decreasing
    return PathLengthConditions(
        q_integrable=q_integrable,
        q_integral=2.0 * float(q_low.sum() + centre + q_high.sum()) if q_integrable else inf,
        r_integrable=r_integrable,
        r_decreasing=r_decreasing,
        constant=_path_length_constant(ratio, horizon) if holds else inf,
    )


def _path_length_constant(ratio: Density, horizon: float) -> float:
    """c(T) = 4∫_0^∞ R(x) sin²(πτx)/(πx) dx, τ = T + 1, in the phase u = πτx."""
    tau = horizon + 1.0

    def weighted(u: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.nan_to_num(ratio(u / (pi * tau)) / (pi * u)))

    periods = 64
    first = _panels(lambda v: weighted(np.exp(v)) * np.sin(np.exp(v)) ** 2 * np.exp(v), np.linspace(-300.0, np.log(pi), 601))
    middle = _panels(lambda u: weighted(u) * np.sin(u) ** 2, pi * np.arange(1.0, periods + 1.0))
    # sin² = (1 − cos 2u)/2: beyond U = 64π the cosine part is g'(U)/8 to second order, since sin 2U = 0
    end = pi * periods
    tail = 0.5 * float(
        _panels(lambda v: weighted(np.exp(v)) * np.exp(v), np.linspace(np.log(end), np.log(end) + 100.0, 201)).sum()
    )
    slope = float(np.diff(weighted(end * np.array([1.0 - 1e-4, 1.0 + 1e-4])))[0]) / (2e-4 * end)
    return 4.0 * (float(first.sum()) + float(middle.sum()) + tail + slope / 8.0)


@dataclass(frozen=True)
class SpectralDensity(StationaryKernel):
    """k(s, t) = 2∫_0^∞ q(ω) cos(2πω(s−t)) dω for any even density q ≥ 0, given as a function of ω > 0 (vectorised).

    Dense memory only. `path_length_conditions(T)` reports whether Theorem rkhs-to-pl applies to it.
    """

    q: Density
    _known: dict[float, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.q):
            raise ValueError(f"q must be a function of frequency: got {self.q!r}; pass lambda w: ...")
        probe = self._density(np.logspace(-6, 6, 241))
        if not np.isfinite(probe).all() or probe.min() < 0.0:
            worst = probe[~np.isfinite(probe)][0] if not np.isfinite(probe).all() else probe.min()
            raise ValueError(
                f"q must be finite and not negative at every frequency above 0: got {worst}; "
                "a negative density is not positive definite"
            )
        if not (_integrable(_log_masses(self._density, -1)) and _integrable(_log_masses(self._density, 1))):
            raise ValueError("q must be integrable: its mass keeps growing towards 0 or infinity; taper it there")

    def _density(self, w: Array) -> Array:
        with np.errstate(all="ignore"):  # a user's formula may overflow at e^256 on its way to 0
            return np.asarray(self.q(w), dtype=np.float64) * np.ones(w.shape)

    def path_length_conditions(self, horizon: float, order: int = 1) -> PathLengthConditions:
        """Whether Theorem rkhs-to-pl applies, and its constant c(T)."""
        return path_length_conditions(self._density, horizon, order)

    def _lag(self, r: Array) -> Array:
        unique, where = np.unique(r, return_inverse=True)
        values = np.array([self._transform(float(lag)) for lag in unique])
        return values[where].reshape(r.shape)

    def _transform(self, lag: float) -> float:
        """Adaptive quadrature: log-frequency below the first quarter period, QUADPACK's Fourier rule beyond."""
        if lag not in self._known:
            split = 1.0 if lag == 0.0 else 0.25 / lag

            def one(w: float) -> float:
                return float(self._density(np.array([w]))[0])

            def head(x: float) -> float:
                w = np.exp(x)
                return float(one(w) * w * np.cos(2.0 * pi * w * lag))

            with warnings.catch_warnings():
                warnings.simplefilter("error", IntegrationWarning)
                try:
                    low = sum(
                        quad(head, np.log(split) - b, np.log(split) - a, epsabs=1e-13)[0]
                        for a, b in ((0.0, 20.0), (20.0, 80.0), (80.0, 600.0))
                    )
                    if lag == 0.0:
                        high = quad(head, 0.0, 40.0, epsabs=1e-13)[0] + quad(head, 40.0, 600.0, epsabs=1e-13)[0]
                    else:
                        high = quad(one, split, inf, weight="cos", wvar=2.0 * pi * lag, epsabs=1e-11)[0]
                except IntegrationWarning as error:
                    raise ValueError(f"q cannot be integrated at lag {lag} ({error}); give a smoother density") from None
            self._known[lag] = 2.0 * (low + high)
        return self._known[lag]
