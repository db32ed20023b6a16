"""Fleets from files: whether the stacked arrays go together, which compiled loops take for granted."""

import numpy as np

from stillpoint.fleet import Fleet
from stillpoint.fleet.stacks import STACKS, Stack
from stillpoint.learners import MultiScale, Tracker
from stillpoint.learners.tracker._hot import LOG_PRIOR

# how much of the width a key uses, where that grows with its rounds
_COUNTS: dict[type[Stack], tuple[str, ...]] = {STACKS[Tracker]: ("experts",), STACKS[MultiScale]: ("levels",)}
_MOST = LOG_PRIOR.size - 2  # experts


def check_fleet(fleet: Fleet) -> None:
    """Make sure that arrays are as wide as those of a fleet that has grown by itself, and that no key counts beyond them."""
    data, fresh = fleet._stack.data, type(fleet)(**fleet.config)._stack
    for name in _COUNTS.get(type(fleet._stack), ()):
        width = data["squares"].shape[1]
        most = min(width, _MOST) if name == "experts" else width
        if data[name].size and not 0 <= data[name].min() <= data[name].max() <= most:
            raise ValueError(f"state {name!r} must count from 0 to {most}: got {data[name].max()} and {data[name].min()}")
        fresh._room(width)  # type: ignore[attr-defined]
    if "origin" in data and not np.isfinite(data["origin"]).all():
        raise ValueError("state 'origin' must be finite: levels would start without end")
    for name, array in data.items():
        if array.shape[1:] != fresh.data[name].shape[1:]:
            raise ValueError(f"state {name!r} must have {fresh.data[name].shape[1:]} a key: got {array.shape[1:]}")
