"""Steps ahead of a series, also those of which columns that are known ahead have not come."""

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
    tellers: tuple[Forecaster, Forecaster]  # of the first and of the last step; see `as_if_unknown`
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


def as_if_unknown(model: Forecaster) -> Forecaster:
    """Return a forecaster of the same rounds, played anew with features of the next one alone.

    What `model` learnt of errors is about rounds whose features were known; this one has learnt how
    far off forecasts are without. The last 8192 rounds are there to play.
    """
    other = Forecaster(**{**model.config, "season": model.seasons or None})
    other._apart, other._engine.ahead[:] = True, False
    values, X, _ = model._engine.history.believed
    other.track(values, X)
    return other


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
