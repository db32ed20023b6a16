"""What the VAW forecasters share: rounds, and the sums that certificate and bound are read from."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from stillpoint.beliefs._kalman import LIMIT, SUM
from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, positive, squared, stored
from stillpoint.kernels import Kernel, Spline
from stillpoint.kernels.base import as_kernel
from stillpoint.regret.dimension import log_det_bound


class VAWForecaster(Learner):
    """Squared loss ½(y − ŷ)², ŷ = λm/(v + λ), m and v the posterior's mean and variance."""

    # attributes by the names they have in files
    _saved: ClassVar[dict[str, str]] = {
        "rounds": "rounds",
        "time": "time",
        "_started": "_started",
        "_open": "_is_open",
        "log_det": "log_det",
        "_excess": "_excess",
        "_largest": "_largest",
        "_trace": "_trace",
    }

    def __init__(self, kernel: Kernel | None, ridge: float) -> None:
        super().__init__()
        self.kernel = as_kernel("kernel", Spline(offset=1.0) if kernel is None else kernel)
        self.ridge = positive("ridge", ridge, "give a number above 0, such as 1")
        if not 1.0 / LIMIT <= self.ridge <= LIMIT:
            raise ValueError(
                f"ridge must be between {1.0 / LIMIT:g} and {LIMIT:g}: got {ridge!r}; rescale"
                " kernel and ridge"
            )
        self.log_det, self._excess, self._largest, self._trace = 0.0, 0.0, 0.0, 0.0

    @property
    @abstractmethod
    def effective_dimension(self) -> float:
        """d_eff(λ) = Tr K(K + λI)⁻¹ of the rounds observed."""

    def _admit(self, first: float, last: float) -> None:
        # a kernel may refuse a time before the first it lives on: only the first of all is in doubt
        if not self._started:
            self.kernel.diagonal(first)

    def _add_round(self, target: float, mean: float, variance: float, prior: float) -> float:
        """Add a round with these ‖y‖², ‖m‖², v and variance before any observation; returns S."""
        S = variance + self.ridge
        self._excess += variance / S * (target - self.ridge / S * mean)
        self._largest = max(self._largest, target)
        self.log_det += math.log1p(variance / self.ridge)
        self._trace += prior
        return S

    def _totals(self, dimension: float) -> Array:
        """The sums so far, for compiled rounds to go on with."""
        totals = np.zeros(len(SUM))
        totals[SUM.log_det], totals[SUM.dimension] = self.log_det, dimension
        totals[SUM.excess], totals[SUM.largest] = self._excess, self._largest
        return totals

    def _take_totals(self, totals: Array) -> float:
        """Take the sums over from compiled rounds; returns the effective dimension."""
        self.log_det = float(totals[SUM.log_det] + np.log1p(totals[SUM.growth]))
        self._excess, self._largest = float(totals[SUM.excess]), float(totals[SUM.largest])
        return float(totals[SUM.dimension])

    def _played(self, rounds: int, time: float) -> None:
        """Note that compiled code has played so many rounds, the last at this time."""
        self.rounds, self.time, self._started = self.rounds + rounds, time, True

    def certificate(self, radius: float) -> float:
        """Bound the regret so far against every comparator u with ‖u‖ ≤ radius.

        Regret is Σ½(y − ŷ)² − Σ½(y − u)².

        Notes
        -----
        λ·radius²/2 + ½Σ(1 − κ_t)(y_t² − κ_t m_t²), κ_t = λ/(λ + v_t): an equality for the ridge
        optimum, since Σ½(y − ŷ)² less the ridge objective's minimum is half that sum.
        """
        return 0.5 * (self.ridge * squared("radius", radius) + self._excess)

    def bound(self, norm: float) -> float:
        """Bound the regret by the Gram matrix K seen: (λ/2)‖u‖² + (y_max²/2) log det(I + K/λ).

        Proposition regression-curvature of the paper, corrected (E10).
        """
        return 0.5 * (self.ridge * squared("norm", norm) + self._largest * self.log_det)

    def dimension_bound(self, norm: float) -> float:
        """Bound the regret by the effective dimension; never below `bound`.

        (λ/2)‖u‖² + (y_max²/2) d_eff(λ) log(e + e·Tr K/λ): Proposition regression-curvature as
        stated, corrected (E10); Tr K stands for K's largest eigenvalue, never above it.
        """
        growth = log_det_bound(self.effective_dimension, self._trace, self.ridge)
        return 0.5 * (self.ridge * squared("norm", norm) + self._largest * growth)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"_trace"})  # see `migrated`

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of a version that did not keep the trace of K: nothing is known of it."""
        return {"_trace": math.inf, **state}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {name: getattr(self, attribute) for name, attribute in self._saved.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name, attribute in self._saved.items():
            old = getattr(self, attribute)
            value = (
                stored(state, name, *old.shape)
                if isinstance(old, np.ndarray)
                else type(old)(state[name])
            )
            setattr(self, attribute, value)


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
