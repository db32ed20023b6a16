"""Steps ahead of a series, also those of which columns that are known ahead have not come."""

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands._scores import Scores
from stillpoint.commands.plans import Told
from stillpoint.core.validation import Array
from stillpoint.series import Forecaster


class Ahead(NamedTuple):
    """A forecaster in the round after the last target, and what is said of the rounds to come."""

    model: Forecaster
    tellers: tuple[Forecaster, Forecaster]  # of the first and of the last step; see `Unknown`
    told: Told  # (H,)
    total: Told  # (1,)
    places: NDArray[np.int64]  # in these rounds, of the rows that have come of them
    lacks: int  # steps of which no column has come that is known ahead
    scores: Scores


def lacking(x: Array | None, known: NDArray[np.bool_], horizon: int) -> NDArray[np.bool_]:
    """Return of which steps ahead nothing has come; x (rows, columns): features of the first."""
    found = np.ones(horizon, dtype=np.bool_)
    if x is not None:
        found[: x.shape[0]] = np.isnan(x[:, known]).all(axis=1)
    return found


class Unknown:
    """Forecasters of the same rounds, played anew with features of the next one alone.

    What a forecaster learnt of errors is about rounds whose features were known; these have learnt
    how far off forecasts are without. The last 8192 rounds are there to play. The last such
    forecaster is kept: a run that is followed asks again and again.
    """

    def __init__(self) -> None:
        self._played: tuple[Array, Array] = np.empty(0), np.empty((0, 0))
        self._last: Forecaster | None = None

    def of(self, model: Forecaster) -> Forecaster:
        """Return what `model` would be if features were not known ahead."""
        values, X, _ = model._engine.history.believed
        pairs = zip(self._played, (values, X), strict=True)
        same = all(np.array_equal(old, new, equal_nan=True) for old, new in pairs)
        if self._last is None or not same:
            self._last = Forecaster(**{**model.config, "season": model.seasons or None})
            self._last._apart, self._last._engine.ahead[:] = True, False
            self._last.track(values, X)
            self._played = values, X
        return copy.copy(self._last)


def total_of(
    model: Forecaster, other: Forecaster, lacks: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return the total of the coming values and its ends, those of steps that lack from `other`.

    The interval is as wide as that of `other`.
    """
    steps = lacks.size
    total = float(np.where(lacks, *(m._central(None, steps, None) for m in (other, model))).sum())
    centre, lo, hi = other.total(steps)
    return total, total + (lo - centre), total + (hi - centre)
