"""The paper's horizon-free kernel, exact and as an OU mixture.

Proposition horizon-free-density, with errata E7 and E8:

Q(ω) = S'(|ω|) h(|ω|),  S(z) = c/(2 log log(π + z^{−1/2})),  h(z) = (1 + π√z)/(1 + (z/a)²)^e,

with c = log log π. e = 1/4 is the paper's; then rotating ω = iy shows that
k(τ) = ∫_0^∞ μ(y) e^{−2πyτ} dy with μ > 0: a positive mixture of OU kernels, hence a streaming form.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from stillpoint.core.validation import Array, count, finite, increasing, positive
from stillpoint.kernels.base import Kernel, StationaryKernel
from stillpoint.kernels.path_length import PathLengthConditions, path_length_conditions
from stillpoint.kernels.simple import Dirac, OUMixture
from stillpoint.kernels.state_space import Exponentials, StateSpace

Complex = NDArray[np.complex128]

_C = float(np.log(np.log(pi)))
_STEP = 0.12  # trapezoid step of the contour integral: error about e^{−π²/(2·0.12)} < 1e-17
_SLOWEST = 1e-20  # slower exponentials are a constant on every horizon below 1e18 rounds
# integer lags below this are computed once and kept; further ones when asked for together
_TABLE = 1 << 11


def _iterated_log(w: Complex) -> Complex:
    """log log(π + w^{−1/2}), accurate for |w| → 0 and → ∞."""
    r = np.sqrt(w)
    small = np.abs(r) <= 1.0
    with np.errstate(divide="ignore", over="ignore"):
        inner = np.where(small, np.log1p(pi * r) - np.log(r), np.log(pi) + np.log1p(1.0 / (pi * r)))
    return np.asarray(np.log(inner))


def _S(w: Complex) -> Complex:
    return np.asarray(_C / (2.0 * _iterated_log(w)))


@dataclass(frozen=True)
class HorizonFree(StationaryKernel):
    """The paper's kernel; optimal path-length regret with no horizon (Theorem optimal-pl).

    Parameters
    ----------
    taper : float, default 2π
        a in (1 + (ω/a)²)^{−1/4}; 2π is the paper's, 1/(2π) the unit-consistent one (E7: the paper's
        is almost white).
    accuracy : float, default 1e-4
        Relative accuracy of the mixture that `state_space` and `mixture` return, at every lag from
        min_gap on.
    min_gap : float, default 1
        The smallest gap between times that the mixture resolves; faster components are lumped into
        a Dirac part.
    smoothness : int, default 1
        The least order m at which Theorem rkhs-to-pl covers the density, which falls like ω^{−3/2}
        for m = 1, the paper's, and like ω^{1−2m} beyond (e = m − 1). Then k(0) is far smaller, slow
        targets are cheaper, those that turn within a few rounds dearer, and there is no mixture:
        memory is dense.

    Notes
    -----
    k(s, t) = 2∫_0^∞ Q(ω) cos(2πω(s−t)) dω with Q(ω) = S'(ω)(1 + π√ω)/(1 + (ω/a)²)^e, S(ω) =
    log log π/(2 log log(π + ω^{−1/2})), a the taper, and e = 1/4 for smoothness 1.
    """

    taper: float = 2.0 * pi
    accuracy: float = 1e-4
    min_gap: float = 1.0
    smoothness: int = 1
    _lags: list[Array] = field(
        default_factory=lambda: [np.empty(0)], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        positive("min_gap", self.min_gap)
        if count("smoothness", self.smoothness) > 8:
            raise ValueError(
                f"smoothness must be at most 8: got {self.smoothness}; 1 is the paper's, 2 serves"
                " smooth targets"
            )
        if not 0.01 <= positive("taper", self.taper) <= 10.0:
            raise ValueError(
                f"taper must lie between 0.01 and 10: got {self.taper}; 2π is the paper's, 1/(2π)"
                " consistent"
            )
        if not 1e-10 <= positive("accuracy", self.accuracy) <= 2e-3:
            raise ValueError(
                f"accuracy must lie between 1e-10 and 0.002: got {self.accuracy}; 1e-4 serves most"
                " uses"
            )

    @property
    def _exponent(self) -> float:
        """e of the taper."""
        return 0.25 if self.smoothness == 1 else self.smoothness - 1.0

    def density(self, frequency: ArrayLike) -> Array:
        """Q(ω), the spectral density in cycles per unit of time; infinite at 0."""
        w = np.abs(finite("frequency", frequency))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log = np.where(
                w < 1.0, np.log1p(pi * np.sqrt(w)) - 0.5 * np.log(w), np.log(pi + 1.0 / np.sqrt(w))
            )
            taper = np.hypot(1.0, w / self.taper) ** (2.0 * self._exponent)
            # 1/(ω log log²log) wins over the logarithms, which at 0 would make it 0·∞
            return np.where(w > 0.0, 0.25 * _C / (w * taper * log * np.log(log) ** 2), np.inf)

    def path_length_conditions(self, horizon: float, order: int = 1) -> PathLengthConditions:
        """Whether Theorem rkhs-to-pl of order m applies to this density, and its c_m(T)."""
        return path_length_conditions(self.density, horizon, order)

    def _lag(self, r: Array) -> Array:
        """κ(r): from a table where all lags are integers, by the contour integral otherwise."""
        known = self._lags[0]
        # the table grows with the request, so that one far lag does not fill it
        if (
            r.size
            and r.max() < max(_TABLE, 4 * r.size, 2 * known.size)
            and (r == np.floor(r)).all()
        ):
            index = r.astype(np.int64)
            if index.max() >= known.size:
                # octave by octave, each on its own contour: the last bit of a lag must not depend
                # on what was asked before
                ends = [0] * (known.size == 0) + [
                    1 << i for i in range(int(index.max()).bit_length() + 1)
                ]
                rows = [
                    self._contour(np.arange(a, b, dtype=float))
                    for a, b in pairwise(ends)
                    if b > known.size
                ]
                known = self._lags[0] = np.concatenate([known, *rows])
            return known[index]
        unique, where = np.unique(r, return_inverse=True)
        return self._contour(unique)[where].reshape(r.shape)

    def _contour(self, tau: Array) -> Array:
        """κ(τ) to about 1e-13, integrating by parts along ω = e^{x + iφ}."""
        out = np.empty(tau.shape)
        zero = tau == 0.0
        if zero.any():
            w = np.exp(np.arange(-80.0, 40.0 / self._exponent, _STEP)).astype(np.complex128)
            slope, _ = self._taper_terms(w)
            at_infinity = pi * np.sqrt(self.taper) if self.smoothness == 1 else 0.0
            out[zero] = at_infinity - 2.0 * _STEP * (_S(w) * slope).real.sum()
        rest = tau[~zero]
        if rest.size:
            ends = np.log(45.0 / (2.0 * pi * np.sin(pi / 4) * np.array([rest.max(), rest.min()])))
            w = np.exp(np.arange(min(-80.0, ends[0] - 90.0), ends[1] + _STEP, _STEP) + 0.25j * pi)
            slope, h = self._taper_terms(w)
            at_zero, per_lag = _S(w) * slope, _S(w) * 2j * pi * w * h
            values = np.empty(rest.shape)
            # blocks: the phase matrix would otherwise hold every lag × node
            for i in range(0, rest.size, 512):
                block = rest[i : i + 512]
                phase = np.exp(2j * pi * np.outer(block, w))
                values[i : i + 512] = (
                    -2.0 * _STEP * ((phase @ at_zero).real + block * (phase @ per_lag).real)
                )
            out[~zero] = values
        return out

    def _taper_terms(self, w: Complex) -> tuple[Complex, Complex]:
        """(w·h'(w), h(w))."""
        q, e = (w / self.taper) ** 2, self._exponent
        # a power would overflow on its way to 0
        root, tapered = np.sqrt(w), np.exp(-e * np.log(1.0 + q))
        slope = 0.5 * tapered * (pi * root * (1.0 + (1.0 - 4.0 * e) * q) - 4.0 * e * q) / (1.0 + q)
        return np.asarray(slope), np.asarray((1.0 + pi * root) * tapered)

    @cached_property
    def _components(self) -> tuple[Array, Array, float]:
        """Rates (0 first), weights and Dirac weight of the mixture.

        μ is singular at y = a like |y − a|^{−1/4}, so each side gets its own variable, y = a/(1 +
        e^x) and y = a(1 + e^x), in which the trapezoid rule converges exponentially: relative error
        about e^{−9/h − 0.2} at step h.
        """
        if self.smoothness > 1:
            raise ValueError(
                f"smoothness must be 1 for a mixture: got {self.smoothness}; use memory='dense'"
            )
        accuracy, a = self.accuracy, self.taper
        h = 9.0 / (np.log(1.0 / accuracy) - 0.2)
        # closer to y = a than √accuracy: one node stands for all, second-order exact
        near = 0.5 * np.log(accuracy)
        down = (
            np.arange(
                np.floor(1.5 * 1.33 * 2 * near / h), np.ceil(np.log(2 * pi * a / _SLOWEST) / h) + 1
            )
            * h
        )
        up = (
            np.arange(
                down[0] / h,
                np.ceil((np.log(60.0 / accuracy) - np.log(2 * pi * a * self.min_gap)) / h) + 30,
            )
            * h
        )
        x = np.concatenate([down, up])
        below = np.arange(x.size) < down.size
        y = a * np.where(below, 1.0 / (1.0 + np.exp(x)), 1.0 + np.exp(x))
        weight = h * np.where(below, self._mass_below(x), self._mass_above(x))
        rates = 2.0 * pi * y

        cluster = x < near
        middle = np.average(rates[cluster], weights=weight[cluster])
        rates = np.append(rates[~cluster], middle)
        weight = np.append(weight[~cluster], weight[cluster].sum())
        keep = rates * self.min_gap < np.log(1.0 / accuracy) + 2.0
        rates, weight = rates[keep], weight[keep]

        # what lies below the slowest node: ∫ μ = 2 Re S(i y0) up to the end of its cell, plus the
        # midpoint rule's end term
        edge = down[-1] + 0.5 * h
        y0 = a / (1.0 + np.exp(edge))
        slope = np.diff(self._mass_below(edge + np.array([-0.01, 0.01])))[0] / 0.02
        constant = 2.0 * _S(np.array([1j * y0]))[0].real + h * h / 24.0 * slope
        order = np.argsort(rates)
        rates, weight = np.append(0.0, rates[order]), np.append(constant, weight[order])
        dirac = self.bound - weight.sum()
        if weight.min() <= 0.0 or dirac <= 0.0:
            raise ValueError(
                f"the mixture is not positive: got {self!r}; lower accuracy or raise min_gap"
            )
        return rates, weight, float(dirac)

    @staticmethod
    def _shared(y: Array) -> Complex:
        log = np.log(pi + y**-0.5 * np.exp(-0.25j * pi))
        return np.asarray(0.5 * _C / (log * np.log(log) ** 2))

    def _mass_below(self, x: Array) -> Array:
        """μ(y)|dy/dx| for y = a/(1 + e^x)."""
        u, one_minus_u = 1.0 / (1.0 + np.exp(x)), 1.0 / (1.0 + np.exp(-x))
        return self._shared(self.taper * u).real * (one_minus_u * (1.0 + u)) ** -0.25 * one_minus_u

    def _mass_above(self, x: Array) -> Array:
        """μ(y)|dy/dx| for y = a(1 + e^x): past the taper the fourth root turns by π/4."""
        e = np.exp(x)
        turned = (self._shared(self.taper * (1.0 + e)) * np.exp(-0.25j * pi)).real
        return np.asarray(turned * (e * (2.0 + e)) ** -0.25 * e / (1.0 + e))

    def mixture(self) -> Kernel:
        """The OU mixture plus Dirac part that stands for this kernel in streaming memory."""
        rates, weights, dirac = self._components
        return OUMixture(rates, weights) + Dirac(dirac)

    def markov(self) -> Kernel:
        """The mixture, where there is one."""
        return self.mixture() if self.smoothness == 1 else self

    def state_space(self) -> StateSpace | None:
        """The mixture's exponentials and nugget; None beyond smoothness 1."""
        if self.smoothness > 1:
            return None
        rates, weights, dirac = self._components
        space = Exponentials(rates, weights, nugget=dirac)
        space.min_gap = self.min_gap
        return space

    def approximation_ratio(self, times: ArrayLike) -> float:
        """Largest generalised eigenvalue of (K, K̃) on `times`, K̃ of the mixture.

        ‖u‖² in the mixture's space is at most ratio · ‖u‖² in this one. The regret guarantee of the
        streaming form is the exact one with ‖U‖ inflated by at most √ratio.
        """
        tau = increasing("times", times)
        n = tau.size
        top = eigh(
            self.gram(tau),
            self.mixture().gram(tau),
            eigvals_only=True,
            subset_by_index=[n - 1, n - 1],
        )
        return float(top[0])
