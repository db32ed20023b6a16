"""KernelVAW: the Vovk–Azoury–Warmuth forecaster in an RKHS on time (Proposition regression-curvature; erratum E10; formula F4).

ŷ_t = k_t'(K_t + λI)⁻¹[y_1, …, y_{t−1}, 0] = λ m_t/(λ + v_t), m_t, v_t the mean and variance of the Gaussian posterior at τ_t.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint._validate import Array, count, finite, increasing, nonnegative, number, positive
from stillpoint.filters import _hot
from stillpoint.filters.belief import SharedBelief
from stillpoint.filters.dense import shared_belief
from stillpoint.kernels import Kernel, Spline
from stillpoint.memory.streaming import BLOCK

_STATE = ("rounds", "time", "_started", "_open", "log_det", "_excess", "_largest")


class KernelVAW:
    """Squared loss on time: forecast y_t, then see it. O(P²) a round for Markov kernels, dense and O(t²) for others.

    kernel: which signals are cheap; Spline(offset) fits slow drift. ridge: λ, how smooth they are taken to be.
    outputs: how many series share the kernel; with 1, forecasts are floats, else arrays (outputs,).
    """

    def __init__(self, kernel: Kernel | None = None, ridge: float = 1.0, outputs: int = 1) -> None:
        self.kernel = Spline(offset=1.0) if kernel is None else kernel
        self.ridge, self.outputs = positive("ridge", ridge, "give a number above 0, such as 1"), count("outputs", outputs)
        self._belief = shared_belief(self.kernel, self.outputs, self.ridge)
        self.rounds, self.time, self._started, self._open = 0, 0.0, False, False
        self.log_det, self._excess, self._largest = 0.0, 0.0, 0.0

    def predict(self, time: float | None = None) -> float | Array:
        """The forecast for the coming round; called again before `update` it is the same."""
        if not self._open:
            when = self.time + 1.0 if time is None else number("time", time, "drop rounds without a time")
            if self._started and when <= self.time:
                raise ValueError(f"time must increase: got {when} after {self.time}; sort the stream")
            self._belief.kernel.diagonal(when)  # a kernel may refuse the time; ask before anything moves
            self._belief.advance(when)
            self.time, self._started, self._open = when, True, True
        elif time is not None and time != self.time:
            raise ValueError(f"time must be that of the open round: got {time}, open at {self.time}; call update or skip first")
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
        mean, S = self._belief.mean, self.variance + self.ridge
        kappa = self.ridge / S
        self._excess += (1.0 - kappa) * float(target @ target - kappa * (mean @ mean))
        self._largest = max(self._largest, float(target @ target))
        self.log_det += math.log1p(self.variance / self.ridge)
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

    def _close(self) -> None:
        self._open = False
        self.rounds += 1

    def certificate(self, radius: float) -> float:
        """Regret so far, Σ½(y − ŷ)² − Σ½(y − u)², is at most this against every u with ‖u‖ ≤ radius.

        λ·radius²/2 + ½Σ(1 − κ_t)(y_t² − κ_t m_t²), κ_t = λ/(λ + v_t): an equality for the ridge optimum (KALMAN section 1).
        """
        return 0.5 * (self.ridge * nonnegative("radius", radius) ** 2 + self._excess)

    def bound(self, norm: float) -> float:
        """Proposition regression-curvature, corrected (E10): (λ/2)‖u‖² + (y_max²/2) log det(I + K/λ)."""
        return 0.5 * (self.ridge * nonnegative("norm", norm) ** 2 + self._largest * self.log_det)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {name: getattr(self, name) for name in _STATE}
        return {**own, **{f"belief.{key}": value for key, value in self._belief.arrays().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name in _STATE:
            setattr(self, name, type(getattr(self, name))(state[name]))
        self._belief.restore({key[7:]: value for key, value in state.items() if key.startswith("belief.")})
