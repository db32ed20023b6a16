"""KernelVAW: the Vovk–Azoury–Warmuth forecaster in an RKHS on time (Proposition regression-curvature; erratum E10; formula F4).

ŷ_t = k_t'(K_t + λI)⁻¹[y_1, …, y_{t−1}, 0] = λ m_t/(λ + v_t), m_t, v_t the mean and variance of the Gaussian posterior at τ_t.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, finite, increasing
from stillpoint.filters import _hot
from stillpoint.filters.base import VAWForecaster
from stillpoint.filters.belief import SharedBelief
from stillpoint.filters.dense import shared_belief
from stillpoint.kernels import Kernel
from stillpoint.memory.streaming import BLOCK


class KernelVAW(VAWForecaster):
    """Squared loss on time: forecast y_t, then see it. O(P²) a round for Markov kernels, dense and O(t²) for others.

    kernel: which signals are cheap; Spline(offset) fits slow drift. ridge: λ, how smooth they are taken to be.
    outputs: how many series share the kernel; with 1, forecasts are floats, else arrays (outputs,).
    """

    def __init__(self, kernel: Kernel | None = None, ridge: float = 1.0, outputs: int = 1) -> None:
        super().__init__(kernel, ridge)
        self.outputs = count("outputs", outputs)
        self._belief = shared_belief(self.kernel, self.outputs, self.ridge)

    def predict(self, time: float | None = None) -> float | Array:
        """The forecast for the coming round; called again before `update` it is the same."""
        if self._open:
            self._same_round(time)
        else:
            when = self._coming(time)
            self._belief.advance(when)
            self.time, self._started, self._open = when, True, True
        forecast = self.ridge / (self.variance + self.ridge) * self._belief.mean
        return float(forecast[0]) if self.outputs == 1 else forecast

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"kernel": self.kernel, "ridge": self.ridge, "outputs": self.outputs}

    @property
    def variance(self) -> float:
        """Posterior variance of the signal at the open round, in units of kernel and ridge."""
        return self._belief.variance

    @property
    def effective_dimension(self) -> float:
        """d_eff(λ) = Tr K(K + λI)⁻¹ of the rounds observed."""
        return self._belief.effective_dimension()

    def update(self, y: ArrayLike) -> None:
        """What the round turned out to be."""
        target = np.atleast_1d(finite("y", y, "call skip() for a missing observation"))
        if target.shape != (self.outputs,):
            raise ValueError(f"y must have shape ({self.outputs},): got shape {target.shape}; pass one value an output")
        self.predict()
        mean = self._belief.mean
        S = self._account(float(target @ target), float(mean @ mean), self.variance)
        self._belief.observe(S, target - mean)
        self._close()

    def forecast_stream(self, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecast and learn a whole series in compiled code, shape of y; the numbers of predict and update."""
        targets = finite("y", y, "call predict and skip() for missing observations")
        Y = np.ascontiguousarray(targets.reshape(len(targets), -1))
        if Y.shape[1] != self.outputs or self._open:
            raise ValueError(
                f"y must have {self.outputs} columns, and no round be open: got shape {targets.shape}; update or skip first"
            )
        when = self.time + np.arange(1.0, len(Y) + 1.0) if times is None else increasing("times", times)
        if when.shape != (len(Y),) or (self._started and len(Y) and when[0] <= self.time):
            raise ValueError(f"times must hold one a round after {self.time}: got {when.size} for {len(Y)} rounds; shift them")
        self._belief.kernel.diagonal(when)
        forecasts, belief = np.empty_like(Y), self._belief
        if not isinstance(belief, SharedBelief):
            for t, row in enumerate(Y):
                forecasts[t] = self.predict(time=float(when[t]))
                self.update(row)
            return forecasts.reshape(targets.shape)
        totals = np.array([self.log_det, belief.dimension, self._excess, self._largest])
        for first in range(0, len(Y), BLOCK):
            rows = slice(first, first + BLOCK)
            tables = belief.tables(when[rows])
            assert belief.spread is not None
            _hot.vaw_rounds(
                belief.C, belief.M, belief.spread, belief.space.h, self.ridge, *tables, belief._scratch,
                Y[rows], totals, forecasts[rows],
            )  # fmt: skip
            belief.time, belief.nugget = float(when[rows][-1]), float(tables[3][-1])
            self.rounds, self.time, self._started = self.rounds + len(Y[rows]), belief.time, True
        self.log_det, belief.dimension, self._excess, self._largest = (float(total) for total in totals)
        return forecasts.reshape(targets.shape)

    def skip(self) -> None:
        """A round whose observation is missing."""
        self.predict()
        self._close()

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), **{f"belief.{key}": value for key, value in self._belief.arrays().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._belief.restore({key[7:]: value for key, value in state.items() if key.startswith("belief.")})
