"""The last times of a series, as the input has them: what times to come are written after."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from stillpoint.commands.moments import RECENT, Coming, zone_like, zone_of
from stillpoint.commands.series import Series

_TEXTS = 1000  # times of rows ahead of the last target that are kept
_CLOCKS = 8  # times beside changes of the clock that are kept
_OFFSET = re.compile(r":\d\d\S*?([+-]\d\d(?::?\d\d)?)$")  # of a time of day


class Recent:
    """Texts of the last times, and the name of their zone."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.zone: str | None = None
        self.form: str | None = None  # of dates; None: ISO's
        self._clocks: list[str] = []  # the last times before clocks were changed, and after

    def add(self, texts: Sequence[str], first: Any, horizon: int) -> None:
        """Keep the last texts; first: the first cell of all of them."""
        self.zone = self.zone or zone_of(first)
        if first is not None and self.zone is None and self.form is None:
            self._clocks = [*self._clocks, *changed([*self.texts[-1:], *texts])][-_CLOCKS:]
        keep = RECENT + min(horizon, _TEXTS)
        self.texts = [*self.texts, *texts[-keep:]][-keep:]

    def state(self) -> dict[str, Any]:
        """Return the state, for saving."""
        return {"texts": self.texts, "zone": self.zone, "clocks": self._clocks}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; ValueError where it is another's."""
        texts, zone, clocks = state["texts"], state["zone"], state.get("clocks", [])
        for times in (texts, clocks):
            if not isinstance(times, list) or not all(isinstance(text, str) for text in times):
                raise ValueError(f"its header holds {str(times)[:40]!r} as times")
        self.texts, self._clocks = texts, clocks
        self.zone = None if zone is None else str(zone)

    def coming(self, engine: Series) -> Coming | None:
        """Return times to come; None without times."""
        slots, dated = engine.slots, engine.plan.dated
        gap = slots.gap or engine.plan.gap
        if not self.texts or not gap:
            return None
        zone = self.zone or zone_like(self._clocks)
        return Coming(self.texts[-RECENT:], dated, gap, zone, slots.week, self.form)


def changed(texts: Sequence[str]) -> list[str]:
    """Return the last times between which the offset from universal time has changed."""
    offsets = [found[1] if (found := _OFFSET.search(text)) else "" for text in texts]
    pairs = zip(pairwise(texts), pairwise(offsets), strict=True)
    return [text for both, (one, other) in pairs if one != other for text in both][-_CLOCKS:]
