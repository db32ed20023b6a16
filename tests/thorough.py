"""How much of what could be tested is: a fixed share, or with STILLPOINT_THOROUGH=1 all of it.

`make test-slow` sets that. The share is for tests whose cases are many and of one kind, to save
time: what only a case that is left out would notice goes unseen until then. Which cases are played
does not change from run to run.
"""

import os
from itertools import product

THOROUGH = os.environ.get("STILLPOINT_THOROUGH") == "1"


def some(cases, every=3):
    """One case in `every`, the first among them; thorough, all of them."""
    return list(cases)[:: 1 if THOROUGH else every]


def some_in_turn(cases, turn, every=3):
    """As `some`, but begun with another case each turn, so that every case has turns; thorough, all
    of them.

    For tests within a test, over arrays say: the case at place i is among those of turn i, and of
    each turn that is `every` later.
    """
    return list(cases) if THOROUGH else list(cases)[turn % every :: every]


def some_of(*axes, every=3):
    """Combinations of one value of each axis, one in `every`; thorough, all of them.

    Each value of an axis is among them where another axis has `every` values or more.
    """
    return [
        tuple(value for _, value in combination)
        for combination in product(*map(enumerate, axes))
        if THOROUGH or sum(place for place, _ in combination) % every == 0
    ]
