"""Steps ahead of a series, also those of which columns that are known ahead have not come."""

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.commands._scores import Scores
from stillpoint.commands.plans import Told
from stillpoint.series import Forecaster
from stillpoint.series.timing import Timing
from stillpoint.series.unknown import Unknown


class Ahead(NamedTuple):
    """A forecaster in the round after the last target, and what is said of the rounds to come."""

    model: Forecaster
    tellers: tuple[Forecaster, Forecaster]  # of the first and of the last step; see `without`
    told: Told  # (H,)
    total: Told  # (1,)
    places: NDArray[np.int64]  # in these rounds, of the rows that have come of them
    lacks: int  # steps of which no column has come that is known ahead
    scores: Scores


def without(model: Forecaster, unknown: Unknown) -> Forecaster:
    """Return what `model` would be if features were not known ahead."""
    other = Forecaster(**{**model.config, "season": model.seasons or None})
    other._engine = copy.deepcopy(unknown.played(model._engine).engine)
    other._engine.apart, other._bands = True, other._engine.bands
    other._timing = Timing(other._engine)
    return other


def total_of(
    model: Forecaster, other: Forecaster, lacks: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return the total of the coming values and its ends, those of steps that lack from `other`.

    The interval is as wide as that of `other`.
    """
    steps = lacks.size
    said = (m._said(steps, ends=False).central[0] for m in (other, model))
    total = float(np.where(lacks, *said).sum())
    centre, lo, hi = other.total(steps)
    return total, total + (lo - centre), total + (hi - centre)
