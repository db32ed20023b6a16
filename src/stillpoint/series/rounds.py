"""Rounds of a forecaster in time: what opens and closes them, and what is saved."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.learner import Learner
from stillpoint.core.validation import Array, under
from stillpoint.series.engine import Engine
from stillpoint.series.features import Features
from stillpoint.series.restored import number
from stillpoint.series.timing import Timing


class SeriesRounds(Learner):
    """Rounds of an engine at times of their own.

    Parameters
    ----------
    engine : Engine
        The series.
    features : Features
        What was told of its features.
    """

    def __init__(self, engine: Engine, features: Features) -> None:
        super().__init__()
        self._engine, self._features, self._timing = engine, features, Timing(engine)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {
            "rounds": self.rounds,
            "time": self.time,
            "started": self._started,
            "open": self._is_open,
            "answer": math.nan if self._answer is None else self._answer,
        }
        own |= {f"engine.{name}": value for name, value in self._engine.arrays().items()}
        return own | {f"timing.{name}": value for name, value in self._timing.arrays().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.rounds, self.time = number(state, "rounds"), float(state["time"])
        self._started, self._is_open = bool(state["started"]), bool(state["open"])
        self._engine.restore(under(state, "engine."))
        self._timing.restore(under(state, "timing."), self.rounds + self._is_open)
        self._answer = float(state["answer"]) if self._is_open else None

    @property
    def _not_finite(self) -> frozenset[str]:
        bands, watch = ("offsets", "ends", "said"), ("earlier", "now.moments", "now.records")
        engine = ["history", "scalars", *(f"bands.{name}" for name in bands)]
        engine += [f"watch.{name}" for name in watch]
        timing = ("gap", "value", "X")
        names = (*(f"engine.{name}" for name in engine), *(f"timing.{name}" for name in timing))
        return frozenset({"answer", *names})

    def _when(self, rounds: int, times: ArrayLike | None) -> Array:
        """Times of so many rounds, of which an open one is the first: it forecasts what it did."""
        if not (self._is_open and rounds):
            return self._coming_times(rounds, times)
        given = None if times is None else np.asarray(times)
        if given is not None and given.size and given.flat[0] != self.time:
            self._begin_bulk("y")
        rest = self._coming_times(rounds - 1, None if given is None else given[1:])
        return np.append(self.time, rest)

    def _coming(self, time: float | None) -> float:
        timed = time is not None
        if time is None and self._timing.timed:
            time = self._timing.coming(self.time)
        when = super()._coming(time)
        if timed:
            self._timing.given(self.time, self._started)
        return when

    def _check_same(self, x: Any) -> None:
        if x is not None and not self._timing.same(x):
            raise ValueError("x must be that of the open round; call update or skip first")

    def _open(self, when: float, x: NDArray[Any] | None) -> float:
        return self._timing.open(when, self._features.none if x is None else x)

    def _close(self, feedback: float | None) -> None:
        self._timing.close(math.nan if feedback is None else feedback)
