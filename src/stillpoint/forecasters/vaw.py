"""KernelVAW: the Vovk–Azoury–Warmuth forecaster in an RKHS on time.

Proposition regression-curvature of the paper, with erratum E10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs._kalman import SUM
from stillpoint.beliefs.belief import SharedBelief
from stillpoint.beliefs.dense import shared_belief
from stillpoint.core.validation import Array, count, finite, under, vector
from stillpoint.forecasters import _vaw
from stillpoint.forecasters.base import VAWForecaster, limited
from stillpoint.forecasters.uniform_grid import BLOCK, UniformGrid
from stillpoint.kernels import Kernel


class KernelVAW(VAWForecaster):
    """Forecast a series from its times by kernel ridge regression, in Vovk's online form.

    O(P²) a round for Markov kernels, dense and O(t²) for others. `track` takes O(P) a round on
    mixtures of exponentials at equal gaps, from the first round on.

    Parameters
    ----------
    kernel : Kernel, optional
        Which signals are cheap; Spline(offset=1), which fits slow drift, if left out.
    ridge : float, default 1
        λ, how smooth they are taken to be.
    outputs : int, default 1
        How many series share the kernel; with 1, forecasts are floats, else arrays (outputs,).

    Notes
    -----
    ŷ_t = k_t'(K_t + λI)⁻¹[y_1, …, y_{t−1}, 0] = λ m_t/(λ + v_t), with m_t, v_t the mean and
    variance of the Gaussian posterior at τ_t. The last 0 shrinks forecasts towards 0: they follow
    units, but depend on where zero is. Subtract a level first, or use KernelForecaster.
    """

    def __init__(
        self, kernel: Kernel | None = None, *, ridge: float = 1.0, outputs: int = 1
    ) -> None:
        super().__init__(kernel, ridge)
        self.outputs = count("outputs", outputs)
        self._belief = shared_belief(self.kernel, self.outputs, self.ridge)
        self._grid: UniformGrid | None = None

    def predict(self, time: float | None = None) -> float | Array:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        time : float, optional
            When the round is; the last one + 1 if left out.
        """
        self._begin(time)
        forecast = self.ridge / (self.variance + self.ridge) * self._belief.mean
        return float(forecast[0]) if self.outputs == 1 else forecast

    def _open(self, when: float, x: None) -> None:
        self._leave_grid()
        self._belief.advance(when)

    def _close(self, feedback: Array | None) -> None:
        if feedback is None:
            return
        mean, prior = self._belief.mean, self._belief.prior_variance()
        S = self._add_round(float(feedback @ feedback), float(mean @ mean), self.variance, prior)
        self._belief.observe(S, feedback - mean)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew."""
        return {"kernel": self.kernel, "ridge": self.ridge, "outputs": self.outputs}

    @property
    def variance(self) -> float:
        """Posterior variance of the signal at the open round, or the last one.

        In units of kernel and ridge.
        """
        return self._belief.variance

    @property
    def effective_dimension(self) -> float:
        """d_eff(λ) = Tr K(K + λI)⁻¹ of the rounds observed."""
        return self._belief.effective_dimension()

    def update(self, y: ArrayLike) -> None:
        """Learn the target of the round."""
        target = limited(
            "y",
            vector("y", y, self.outputs, "call skip() for a missing observation"),
            "rescale the targets",
        )
        self._begin()
        self._end(target)

    def track(self, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecast and learn a whole series in compiled code; the numbers of predict and update.

        Parameters
        ----------
        y : array of shape (T,) or (T, outputs)
            The series, nothing missing.
        times : array of shape (T,), optional
            When each round is; 1 apart if left out.

        Returns
        -------
        array of the shape of y
            The forecasts.
        """
        targets = limited(
            "y",
            finite("y", y, "call predict and skip() for missing observations"),
            "rescale the targets",
        )
        rounds = len(targets) if targets.ndim else 0
        self._begin_bulk("y")
        if targets.size != rounds * self.outputs or not targets.ndim:
            raise ValueError(
                f"y must have {self.outputs} columns: got shape {targets.shape}; pass one row a"
                " round"
            )
        # a copy: for arrays that may not be written to, loops are compiled anew
        Y = np.array(targets.reshape(rounds, self.outputs))
        when = self._coming_times(rounds, times)
        forecasts, belief = np.empty_like(Y), self._belief
        if not rounds:
            return forecasts.reshape(targets.shape)
        if not isinstance(belief, SharedBelief):
            for t, row in enumerate(Y):
                forecasts[t] = self.predict(time=float(when[t]))
                self.update(row)
            return forecasts.reshape(targets.shape)
        totals = self._totals(belief.dimension)
        if not self._started and len(Y) > 1 and UniformGrid.fits(belief, self.ridge):
            self._grid = UniformGrid(belief, float(when[1] - when[0]), self.ridge)
        # each kind of gap brings a row or a matrix or two
        block = BLOCK if self._grid is not None else max(512, BLOCK // max(belief.space.size, 1))
        for first in range(0, len(Y), block):
            rows = slice(first, first + block)
            if self._grid is not None and self._grid.regular(
                when[rows], self.time if self._started else -np.inf
            ):
                self._grid.play(Y[rows], totals, forecasts[rows])
                belief.arrived(float(when[rows][-1]), belief.space.nugget(0.0))
            else:
                self._leave_grid()
                self._play_rows(belief, when[rows], Y[rows], totals, forecasts[rows])
            self._played(len(Y[rows]), belief.time)
        belief.dimension = self._take_totals(totals)
        belief.variance = float(totals[SUM.variance])
        self._trace += float(belief.kernel.diagonal(when).sum())
        return forecasts.reshape(targets.shape)

    def _play_rows(
        self, belief: SharedBelief, when: Array, Y: Array, totals: Array, forecasts: Array
    ) -> None:
        """The standard form, by the loop that fits the state space."""
        space, state = belief.space, belief.state
        if space.diagonal and space.size != 1:
            moves = belief.diagonal_moves(when)
            _vaw.diagonal_rounds(state, space.h[None], self.ridge, moves, Y, totals, forecasts)
        else:
            moves = belief.moves(when)
            given = state, space.h, self.ridge, moves
            if space.size == 1:
                _vaw.scalar_rounds(*given, Y, totals, forecasts)
            else:
                how = belief.scratch, belief.value_first
                _vaw.general_rounds(*given, *how, Y, totals, forecasts)
        belief.arrived(float(when[-1]), float(moves.nuggets[-1]))

    def _leave_grid(self) -> None:
        """From here on the covariance itself is needed."""
        if self._grid is not None:
            self._grid.settle()
            self._grid = None

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        grid = (
            {}
            if self._grid is None
            else {f"grid.{key}": value for key, value in self._grid.arrays().items()}
        )
        return {
            **super().arrays(),
            **{f"belief.{key}": value for key, value in self._belief.arrays().items()},
            **grid,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._belief.restore(under(state, "belief."))
        self._grid = None
        if "grid.gap" in state and isinstance(self._belief, SharedBelief):
            self._grid = UniformGrid(self._belief, float(state["grid.gap"]), self.ridge)
            self._grid.restore(under(state, "grid."))
