"""Kernels of structural time series (Harvey 1989): a season, and a trend."""

from dataclasses import dataclass
from math import floor

import numpy as np

from stillpoint.core.validation import Array, count, nonnegative, positive
from stillpoint.kernels.base import Kernel, StationaryKernel
from stillpoint.kernels.state_space import IntegratedBrownianState, Rotations, StateSpace

_HARMONICS = 12  # a day of hours, whole
_MOST = 1000  # a state of 2000: more is a mistake, or a file that asks for any amount of work


@dataclass(frozen=True)
class Periodic(StationaryKernel):
    """A season: k(s, t) = Σ_k w_k cos(2πk(s−t)/period), w_k ∝ k^(−2·smoothness).

    Comparators repeat for ever; times `OU(rate)` the season may change over 1/rate, times
    `Spline(offset)` it drifts as a random walk does. Their mean over a period is 0: add a kernel
    for the level.

    Parameters
    ----------
    period : float
        Length of the season, in the unit of the times; it need not be whole.
    smoothness : float, default 1
        How many derivatives the season has: the variance of its harmonic k is proportional to
        k^(−2·smoothness). 1 gives k⁻², 0.75 gives k^−1.5, and 0 makes no difference between
        harmonics.
    harmonics : int, optional
        How many there are, at most 1000; the state has two numbers for each. By default 12, or
        period/2 where that is less and the period 2 or more: on rounds one apart, higher
        harmonics take the values of lower ones. Where times have another unit, give it.
    weight : float, default 1
        k(t, t) = Σ_k w_k.

    Notes
    -----
    The Sobolev space of order `smoothness` on the circle (Wahba 1990, section 2.1), cut off after
    so many harmonics: u(t) = Σ_k a_k cos(2πkt/period + φ_k) has ‖u‖² = Σ_k a_k²/w_k. At smoothness
    1 that is, up to a constant, the mean square of u' over a period. Each harmonic is a
    rotation (Solin & Särkkä 2014), without noise and exact over any gap.
    """

    period: float
    smoothness: float = 1.0
    harmonics: int | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        positive("period", self.period, "give the length of the season in the unit of the times")
        nonnegative("smoothness", self.smoothness)
        positive("weight", self.weight)
        most = floor(self.period / 2.0) if 2.0 <= self.period < 2 * _HARMONICS else _HARMONICS
        number = most if self.harmonics is None else count("harmonics", self.harmonics)
        if number > _MOST:
            raise ValueError(
                f"harmonics must be at most {_MOST}: got {number}; a dozen draws most seasons"
            )
        object.__setattr__(self, "harmonics", number)

    @property
    def weights(self) -> Array:
        """w_k of the harmonics 1, 2, …"""
        assert self.harmonics is not None
        falling = np.arange(1.0, self.harmonics + 1.0) ** (-2.0 * self.smoothness)
        return np.asarray(self.weight * (falling / falling.sum()))

    def _lag(self, r: Array) -> Array:
        turn = np.fmod(r, self.period) / self.period  # exact: r may be many periods
        total = np.zeros(r.shape)
        for k, w in enumerate(self.weights, start=1):
            total += w * np.cos(2.0 * np.pi * (k * turn % 1.0))
        return total

    @property
    def bound(self) -> float:
        """The weight: the diagonal is the same at every time."""
        return self.weight

    def state_space(self) -> StateSpace:
        """One rotation a harmonic."""
        return Rotations(self.period, self.weights)


@dataclass(frozen=True)
class IntegratedBrownian(Kernel):
    """A trend: k(s, t) = offset + slope·st + m²(3M − m)/6 for times from 0 on.

    m = min(s, t) and M = max(s, t). The integral of a random walk, from a value of variance
    `offset` and a slope of variance `slope` at time 0: count times from the first round, not from
    1970. Its diagonal grows like t³/3, so learners that need sup k(t, t) run with a running hint or
    are given `kernel_bound`.

    Parameters
    ----------
    offset : float, default 0
        Variance of the value at time 0.
    slope : float, default 0
        Variance of the slope at time 0.

    Notes
    -----
    The Sobolev space with norm u(0)²/offset + u'(0)²/slope + ∫|u''|², that of cubic smoothing
    splines (Wahba 1990, chapter 1). Its state is the value and its slope; forecasts follow a
    line.
    """

    offset: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        nonnegative("offset", self.offset)
        nonnegative("slope", self.slope)

    def _value(self, s: Array, t: Array) -> Array:
        low, high = np.minimum(s, t), np.maximum(s, t)
        if low.size and low.min() < 0.0:
            raise ValueError(
                "time must be at least 0 for the integrated Brownian kernel to be positive"
                f" definite: got {low.min()}; shift the times"
            )
        return self.offset + low * (self.slope * high + low * (3.0 * high - low) / 6.0)

    def state_space(self) -> StateSpace:
        """The value and its slope."""
        return IntegratedBrownianState(self.offset, self.slope)
