"""Times of rounds to come, written as the input has them."""

from datetime import UTC, datetime, timedelta

import numpy as np

from stillpoint.commands.dates import moment, written
from stillpoint.commands.forecasts.intake import Intake
from stillpoint.commands.moments import Coming, write, zone_named
from stillpoint.core.validation import Array
from stillpoint.fleet.series.plan import Plan

_MOST = 1 << 16  # last times of which the texts are kept
_EPOCH = datetime(1970, 1, 1)


class Times:
    """Texts of times: those of rows, and those of the rounds after the last row of a key."""

    def __init__(self, intake: Intake, plan: Plan) -> None:
        self._plan, self._form, self._like = plan, intake.form, intake.like or "1"
        self._name = intake.zone
        self._zone = moment(self._like, self._form).tzinfo if plan.dated else None
        self._zone = zone_named(self._name) or self._zone
        self._known: dict[tuple[float, ...], list[str]] = {}

    def text(self, time: float) -> str:
        """Return one time."""
        if not self._plan.dated:
            return str(round(time)) if time == round(time) else repr(time)
        at = _EPOCH + timedelta(seconds=time)
        if self._zone is not None:
            at = at.replace(tzinfo=UTC).astimezone(self._zone)
        if self._form is not None:
            return written(at, self._form, [self._like])
        return write(at, self._like)

    def texts(self, times: Array) -> list[str]:
        """Return times of rows; each that is met again is written once."""
        values, places = np.unique(times, return_inverse=True)
        found = [self.text(time) for time in values.tolist()]
        return [found[i] for i in places.tolist()]

    def ahead(self, latest: Array) -> list[str]:
        """Return the times after the last ones of a key, whose latest is at the end."""
        recent = tuple(latest[~np.isnan(latest)].tolist())
        found = self._known.get(recent)
        if found is None:
            plan, past = self._plan, [self.text(time) for time in recent]
            coming = Coming(past, plan.dated, plan.gap, self._name, plan.week, self._form)
            found = [coming.text(step) for step in range(1, plan.horizon + 1)]
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[recent] = found
        return found
