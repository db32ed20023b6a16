"""When the rounds to come of many keys are."""

from datetime import UTC, datetime, timedelta

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.fleet.series.plan import Plan
from stillpoint.series.seasons import DAY
from stillpoint.series.spacing import Dates

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ahead(plan: Plan, latest: Array, clocked: bool = True) -> Array:
    """Return the times (keys, H) of the rounds after the last ones of each key.

    latest (keys, n): the last times, the latest at the end, NaN for none; dates in seconds since
    1970. clocked: whether dates have a time of day.
    """
    H, last = plan.horizon, latest[:, -1:]
    steps = np.arange(1.0, H + 1.0)
    if plan.dated and (plan.week is not None or plan.gap >= 27.0 * DAY):
        return _by_date(plan, latest, clocked)
    days = plan.gap / DAY
    if plan.dated and (abs(days - round(days)) < 1e-4 * days or not clocked):
        return np.asarray(last + np.rint(steps * days) * DAY)
    return np.asarray(last + steps * plan.gap)


def _by_date(plan: Plan, latest: Array, clocked: bool) -> Array:
    """Return times that only the calendar tells; many keys have the same last ones."""
    kinds, places = np.unique(latest, axis=0, return_inverse=True)
    out = np.empty((len(kinds), plan.horizon))
    for row, some in zip(out, kinds, strict=True):
        recent = [_EPOCH + timedelta(seconds=time) for time in some[~np.isnan(some)].tolist()]
        dates = Dates(recent, plan.gap, plan.week, clocked)
        row[:] = [(dates.at(step) - _EPOCH).total_seconds() for step in range(1, row.size + 1)]
    return out[places.reshape(-1)]
