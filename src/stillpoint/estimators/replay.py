"""A series that is kept whole, so that more can be asked of its forecaster later."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.estimators.ahead import Ahead
from stillpoint.series import Forecaster


class Replay:
    """A Forecaster and all it has learnt, which is played anew where it must be built anew.

    Parameters
    ----------
    arguments : dict
        What every forecaster is built with, beside horizon and coverages.
    horizon : int
        How many steps ahead can be asked for to begin with.
    coverages : list of float
        Coverages of its intervals to begin with.
    """

    def __init__(self, arguments: dict[str, Any], horizon: int, coverages: list[float]) -> None:
        self._arguments = arguments
        self._values, self._times = np.empty(0), []  # type: tuple[Array, list[Any]]
        self._rows = np.empty((0, int(arguments["features"])))
        self._build(horizon, coverages)

    @property
    def coverages(self) -> list[float]:
        """The coverages that intervals have."""
        return list(self._ahead.core.coverage)

    def _build(self, horizon: int, coverages: list[float]) -> None:
        self._ahead = Ahead(Forecaster(horizon, coverage=coverages, **self._arguments))
        none = np.empty((0, len(coverages)))
        self._said = np.empty(0), none, none  # of rounds that no longer wait: forecast, lo, hi
        self._play(self._values, self._rows, self._times)

    def _play(self, values: Array, rows: Array, times: Sequence[Any]) -> None:
        said = self._ahead.learn(values.tolist(), rows, times, intervals=True)
        self._said = _joined(self._said, said)

    def learn(self, values: Array, rows: Array, times: Sequence[Any]) -> None:
        """Learn rounds in order, as `Ahead.learn` does, and keep them."""
        self._play(values, rows, times)
        self._values = np.append(self._values, values)
        self._rows, self._times = np.concatenate([self._rows, rows]), [*self._times, *times]

    def ensure(self, horizon: int, coverages: list[float]) -> None:
        """See to it that so many steps ahead and these coverages can be asked for."""
        core = self._ahead.core
        more = [each for each in coverages if each not in core.coverage]
        if horizon > core.horizon or more:
            # twice as far: where the present moves on unlearnt, each question is one step further
            further = 2 * horizon if horizon > core.horizon else core.horizon
            self._build(further, [*core.coverage, *more])

    def ready(self, ahead: Array) -> tuple[Forecaster, Any]:
        """A copy that has learnt all, and what was said of each round: forecast, lo, hi.

        `ahead` are the features of rounds to come.
        """
        core, waiting = self._ahead.ready(ahead, intervals=True)
        return core, _joined(self._said, waiting)


def _joined(first: Any, then: Any) -> Any:
    return tuple(np.concatenate(both) for both in zip(first, then, strict=True))
