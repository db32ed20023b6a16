"""What the VAW forecasters share: rounds and times, and the account that certificate and bound are
read from.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import DIMENSION, EXCESS, GROWTH, LARGEST, LIMIT, LOG_DET, TOTALS
from stillpoint.core.learner import Configured, untimed
from stillpoint.core.validation import Array, increasing, number, positive, squared, stored
from stillpoint.kernels import Kernel, Spline
from stillpoint.kernels.base import as_kernel
from stillpoint.regret.dimension import log_det_bound


class VAWForecaster(Configured, ABC):
    """Squared loss ½(y − ŷ)², ŷ = (λ/S)m with m, v the posterior's mean and variance and S
    = v + λ.
    """

    _saved: tuple[str, ...] = (
        "rounds",
        "time",
        "_started",
        "_open",
        "log_det",
        "_excess",
        "_largest",
        "_trace",
    )

    def __init__(self, kernel: Kernel | None, ridge: float) -> None:
        self.kernel = as_kernel("kernel", Spline(offset=1.0) if kernel is None else kernel)
        self.ridge = positive("ridge", ridge, "give a number above 0, such as 1")
        if not 1.0 / LIMIT <= self.ridge <= LIMIT:
            raise ValueError(
                f"ridge must be between {1.0 / LIMIT:g} and {LIMIT:g}: got {ridge!r}; rescale"
                " kernel and ridge"
            )
        self.rounds, self.time, self._started, self._open = 0, 0.0, False, False
        self.log_det, self._excess, self._largest, self._trace = 0.0, 0.0, 0.0, 0.0

    def _coming(self, time: float | None) -> float:
        """The time of the coming round, checked before anything moves."""
        when = (
            self.time + 1.0 if time is None else number("time", time, "drop rounds without a time")
        )
        if self._started and when <= self.time:
            raise ValueError(f"time must increase: got {when} after {self.time}; sort the stream")
        self._admit(when)
        return when

    def _same_round(self, time: float | None) -> None:
        if time is not None and time != self.time:
            raise ValueError(
                f"time must be that of the open round: got {time}, open at {self.time}; call update"
                " or skip first"
            )

    @property
    @abstractmethod
    def effective_dimension(self) -> float:
        """d_eff(λ) = Tr K(K + λI)⁻¹ of the rounds observed."""

    def _account(self, target: float, mean: float, variance: float, prior: float) -> float:
        """Enter a round, from ‖y‖², ‖m‖², v and the variance before any observation; returns S."""
        S = variance + self.ridge
        self._excess += variance / S * (target - self.ridge / S * mean)
        self._largest = max(self._largest, target)
        self.log_det += math.log1p(variance / self.ridge)
        self._trace += prior
        return S

    def _times(self, rounds: int, times: ArrayLike | None) -> Array:
        """The times of so many coming rounds, checked before anything moves."""
        when = untimed(self.time, rounds) if times is None else increasing("times", times)
        if when.size != rounds:
            raise ValueError(
                f"times must be as many as the rounds: got {when.size} for {rounds}; pass one time"
                " a round"
            )
        if not rounds:
            return when
        if self._started and when[0] <= self.time:
            raise ValueError(
                f"times must begin after {self.time}, the last one so far: got {when[0]}; shift or"
                " sort them"
            )
        self._admit(float(when[0]))
        return when

    def _closed(self, name: str) -> None:
        if self._open:
            raise ValueError(
                f"{name} must begin with a new round: got it while one is open at {self.time};"
                " update or skip first"
            )

    def _admit(self, time: float) -> None:
        """A kernel may refuse a time before the first it lives on, and so only the first of all is
        asked about.
        """
        if not self._started:
            self.kernel.diagonal(time)

    def _totals(self, dimension: float) -> Array:
        """The account so far, for compiled code to go on with (see `account`)."""
        totals = np.zeros(TOTALS)
        totals[LOG_DET], totals[DIMENSION], totals[EXCESS], totals[LARGEST] = (
            self.log_det,
            dimension,
            self._excess,
            self._largest,
        )
        return totals

    def _enter(self, totals: Array) -> float:
        """Take the account over from compiled code; returns the effective dimension."""
        self.log_det = float(totals[LOG_DET] + np.log1p(totals[GROWTH]))
        self._excess, self._largest = float(totals[EXCESS]), float(totals[LARGEST])
        return float(totals[DIMENSION])

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

    def certificate(self, radius: float) -> float:
        """Regret so far, Σ½(y − ŷ)² − Σ½(y − u)², is at most this against every comparator u with
        ‖u‖ ≤ radius.

        λ·radius²/2 + ½Σ(1 − κ_t)(y_t² − κ_t m_t²), κ_t = λ/(λ + v_t): an equality for the ridge
        optimum (KALMAN section 1).
        """
        return 0.5 * (self.ridge * squared("radius", radius) + self._excess)

    def bound(self, norm: float) -> float:
        """Proposition regression-curvature, corrected (E10): (λ/2)‖u‖² + (y_max²/2) log det(I +
        K/λ), K the Gram matrix seen.
        """
        return 0.5 * (self.ridge * squared("norm", norm) + self._largest * self.log_det)

    def dimension_bound(self, norm: float) -> float:
        """The same by the effective dimension: (λ/2)‖u‖² + (y_max²/2) d_eff(λ) log(e + e·Tr K/λ),
        never below `bound`.

        Proposition regression-curvature as stated, corrected (E10); Tr K stands for K's largest
        eigenvalue, never above it.
        """
        growth = log_det_bound(self.effective_dimension, self._trace, self.ridge)
        return 0.5 * (self.ridge * squared("norm", norm) + self._largest * growth)

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of a version that did not keep the trace of K: nothing is known of it."""
        return {"_trace": math.inf, **state}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {name: getattr(self, name) for name in self._saved}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name in self._saved:
            old = getattr(self, name)
            setattr(
                self,
                name,
                (
                    stored(state, name, *old.shape)
                    if isinstance(old, np.ndarray)
                    else type(old)(state[name])
                ),
            )


def limited(name: str, values: Array, remedy: str = "rescale it") -> Array:
    """Return values, none of them so large that products of squares leave the range of floats."""
    # numpy takes microseconds to look at a few numbers
    ends = (
        values.ravel().tolist() if values.size < 64 else [float(values.max()), float(values.min())]
    )
    for value in ends:
        if abs(value) > LIMIT:
            raise ValueError(f"{name} must be within ±{LIMIT:g}: got {value:g}; {remedy}")
    return values
