"""What the untuned forecasters of one series share: rounds that open and close, missing targets,
times, whole streams.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.learner import Whole
from stillpoint.core.validation import Array, increasing, number, real
from stillpoint.forecasters.aggregation import LARGEST, target_number
from stillpoint.forecasters.base import untimed


class SeriesForecaster(Whole, ABC):
    """Forecast y_t, then see it, under the loss ½(y − ŷ)²."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many rounds are over."""

    @property
    @abstractmethod
    def time(self) -> float:
        """The time of the open round, or of the last one."""

    @abstractmethod
    def _opened(self) -> float | None:
        """The forecast of the open round; None where none is open."""

    @abstractmethod
    def _begin(self, time: float) -> float:
        """Open a round at this time, which has been checked; returns the forecast."""

    @abstractmethod
    def _finish(self, y: float) -> None:
        """Close the open round; y is NaN where it is missing."""

    @abstractmethod
    def _rounds(self, y: Array, times: Array, out: Array) -> None:
        """`_begin` and `_finish` in turn, forecasts into out."""

    @abstractmethod
    def _check_domain(self, times: Array) -> None:
        """Refuse times that are in order, but outside what the algorithm can take."""

    def predict(self, time: float | None = None) -> float:
        """The forecast for the coming round; called again before `update` it is the same."""
        forecast = self._opened()
        if forecast is not None:
            if time is not None and time != self.time:
                raise ValueError(
                    f"time must be that of the open round: got {time}, open at {self.time}; update"
                    " or skip first"
                )
            return forecast
        when = (
            self.time + 1.0 if time is None else number("time", time, "drop rounds without a time")
        )
        self._check_times(np.array([when]))
        return self._begin(when)

    def update(self, y: float) -> None:
        """What the round turned out to be."""
        target = target_number(y)
        self.predict()
        self._finish(target)

    def skip(self) -> None:
        """A round whose observation is missing."""
        self.predict()
        self._finish(math.nan)

    def forecast_stream(self, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecasts of whole rounds, those of predict and update to the last bit; NaN in y is a
        missing observation.
        """
        remedy = "pass one number a round, NaN for a missing one"
        # a copy: for arrays that may not be written to, loops are compiled anew
        targets = np.array(real("y", y, remedy))
        if np.ndim(y) != 1:
            raise ValueError(f"y must be one-dimensional: got shape {np.shape(y)}; {remedy}")
        for value in targets[np.abs(targets) > LARGEST][:1]:
            target_number(value)
        if self._opened() is not None:
            raise ValueError(
                f"y must begin with a new round: one is open at {self.time}; call update or skip"
                " first"
            )
        when = (
            untimed(self.time, targets.size)
            if times is None
            else np.array(increasing("times", times))
        )
        if when.shape != targets.shape:
            raise ValueError(
                f"times must be as many as y: got {when.size} for {targets.size}; pass one time a"
                " round"
            )
        self._check_times(when)
        out = np.empty(targets.size)
        self._rounds(targets, when, out)
        return out

    def _check_times(self, times: Array) -> None:
        """Refuse times before anything moves."""
        if not times.size:
            return
        if self.rounds and times[0] <= self.time:
            raise ValueError(
                f"time must increase: got {times[0]} after {self.time}; sort the stream"
            )
        self._check_domain(times)
