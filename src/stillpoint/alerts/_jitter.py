"""How values of Changes move before their errors are ranked.

By U(−½, ½) times the smallest step between two of them so far: coefficients near 0 would put the
errors of discrete data in an order of their own. One that comes again and again among steps below
the scale, as 0 in rain, moves by a whole scale: the errors of such rows differ only by what the
coefficients have learnt since, and the latest would be the largest of them, or the least, for many
rows.
"""

from stillpoint.alerts._random import random
from stillpoint.alerts._state import AT, BY, OF, State
from stillpoint.core.jit import njit

NEAR, OFTEN = 64, 5  # a value comes again and again: once in OFTEN among the last NEAR


@njit(cache=True)
def uniform(s: State) -> float:
    """The next random number in (0, 1)."""
    s.clock[BY.draws] += 1
    return random(s.clock[BY.draws])


@njit(cache=True)
def jitter(s: State, number: int, scale: float) -> float:
    """By how much the value of that number moves."""
    step = float(s.scalars[AT.step])
    if step < scale and recurs(s, number):
        step = scale
    return (uniform(s) - 0.5) * step


@njit(cache=True)
def recurs(s: State, number: int) -> bool:
    """Whether the value of that number comes again and again; one that stays does not."""
    kept, same, runs, before = s.history.shape[0], 0, 0, False
    y = s.history[number % kept, OF.value]
    first = max(number + 1 - NEAR, s.clock[BY.values] - kept, 0)
    place = first % kept
    for _ in range(first, number + 1):
        equal = bool(s.history[place, OF.value] == y)
        same += int(equal)
        runs += int(equal and not before)
        before = equal
        place = place + 1 if place + 1 < kept else 0
    return runs > 1 and OFTEN * same >= number + 1 - first
