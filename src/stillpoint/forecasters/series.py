"""What the untuned forecasters of one series share: missing targets and whole streams."""

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, real
from stillpoint.forecasters.aggregation import LARGEST, target_number


class SeriesForecaster(Learner):
    """Forecast y_t, then see it, under the loss ½(y − ŷ)².

    Rounds, time and the open round are kept by compiled code, in an array.
    """

    _c: Array
    _places: ClassVar[tuple[int, int, int, int]]  # in it: rounds, time, open or not, forecast

    def __init__(self) -> None:
        """Leave all of it to the array."""

    @property
    def rounds(self) -> int:  # type: ignore[override]
        """How many rounds are over."""
        return int(self._c[self._places[0]])

    @property
    def time(self) -> float:  # type: ignore[override]
        """The time of the open round, or of the last one."""
        return float(self._c[self._places[1]])

    @property
    def _is_open(self) -> bool:  # type: ignore[override]
        return bool(self._c[self._places[2]])

    @property
    def _answer(self) -> float:
        return float(self._c[self._places[3]])

    @abstractmethod
    def _rounds(self, y: Array, times: Array, out: Array) -> None:
        """Open and close rounds in turn; forecasts into out."""

    def _opened(self, when: float, answer: float) -> None:
        """Compiled code has noted it."""

    def _closed(self) -> None:
        """Compiled code has noted it."""

    @property
    def _started(self) -> bool:  # type: ignore[override]
        return self.rounds > 0

    def predict(self, time: float | None = None) -> float:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        time : float, optional
            When the round is; the last one + 1 if left out.
        """
        return self._begin(time)  # type: ignore[no-any-return]

    def update(self, y: float) -> None:
        """Tell the forecaster what the round turned out to be."""
        target = target_number(y)
        self._begin()
        self._end(target)

    def track(self, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecast and learn a whole series in compiled code.

        Parameters
        ----------
        y : array of shape (T,)
            The series; NaN is a missing observation.
        times : array of shape (T,), optional
            When each round is; 1 apart if left out.

        Returns
        -------
        array of shape (T,)
            The forecasts of `predict` and `update`, bit for bit.
        """
        remedy = "pass one number a round, NaN for a missing one"
        # a copy: for arrays that may not be written to, loops are compiled anew
        targets = np.array(real("y", y, remedy))
        if np.ndim(y) != 1:
            raise ValueError(f"y must be one-dimensional: got shape {np.shape(y)}; {remedy}")
        for value in targets[np.abs(targets) > LARGEST][:1]:
            target_number(value)
        self._begin_bulk("y")
        when = self._coming_times(targets.size, times)
        out = np.empty(targets.size)
        self._rounds(targets, when, out)
        return out


def feedback_number(feedback: float | None) -> float:
    """The target of a round as compiled code takes it: NaN where it is missing."""
    return math.nan if feedback is None else feedback
