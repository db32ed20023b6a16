"""What the untuned forecasters of one series share: missing targets and whole streams."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, real, waiting
from stillpoint.forecasters.aggregation import LARGEST, target_number


class SeriesForecaster(Learner):
    """Forecast y_t, then see it, under the loss ½(y − ŷ)².

    Compiled code keeps rounds, time and the open round, too; what is here follows it.
    """

    @abstractmethod
    def _clock(self) -> tuple[float, float, float, float]:
        """Rounds that are over, the time, whether a round is open, and the last forecast."""

    @abstractmethod
    def _rounds(self, y: Array, times: Array, delay: int, first: int) -> Array:
        """`track` without its checks."""

    def _follow(self) -> None:
        """Take over what compiled code has kept, after a bulk pass or a restored state."""
        rounds, self.time, opened, forecast = self._clock()
        self.rounds, self._is_open = int(rounds), opened != 0.0
        self._started = self.rounds > 0 or self._is_open
        self._answer = forecast if self._is_open else None

    def predict(self, time: float | None = None) -> float:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        time : float, optional
            When the round is; the last one + 1 if left out.
        """
        return self._begin(time)  # type: ignore[no-any-return]

    def update(self, y: float) -> None:
        """Learn the target of the round; call `skip` if it is missing."""
        target = target_number(y)
        self._begin()
        self._end(target)

    def track(
        self, y: ArrayLike, times: ArrayLike | None = None, *, delay: int = 0, first: int = 0
    ) -> Array:
        """Forecast and learn a whole series in compiled code.

        Parameters
        ----------
        y : array of shape (T,)
            The series; NaN is a missing observation.
        times : array of shape (T,), optional
            When each round is; 1 apart if left out.
        delay : int, default 0
            How many rows later a target is known. Row t is forecast from what rows up to
            t − delay − 1 taught; then row t − delay is learnt. The last `delay` targets are not
            learnt yet.
        first : int, default 0
            Rows in front that an earlier call has forecast: to go on after a delay, pass those
            whose targets were not learnt yet again.

        Returns
        -------
        array of shape (T − first,)
            Without a delay, the forecasts of `predict` and `update`, bit for bit.
        """
        targets, when = self._checked(y, times)
        forecasts = self._rounds(targets, when, *waiting(delay, first, targets.size))
        self._follow()
        return forecasts

    def _checked(self, y: ArrayLike, times: ArrayLike | None) -> tuple[Array, Array]:
        """Targets and times of a bulk pass, checked before anything moves."""
        remedy = "pass one number a round, NaN for a missing one"
        # a copy: for arrays that may not be written to, loops are compiled anew
        targets = np.array(real("y", y, remedy))
        if np.ndim(y) != 1:
            raise ValueError(f"y must be one-dimensional: got shape {np.shape(y)}; {remedy}")
        for value in targets[np.abs(targets) > LARGEST][:1]:
            target_number(value)
        self._begin_bulk("y")
        return targets, self._coming_times(targets.size, times)


def feedback_number(feedback: float | None) -> float:
    """The target of a round as compiled code takes it: NaN where it is missing."""
    return math.nan if feedback is None else feedback
