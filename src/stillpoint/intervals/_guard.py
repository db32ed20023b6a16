"""The guard of intervals: it knows how far misses are off their share, and pushes against it."""

import math

from stillpoint.core.jit import njit

PUSH, WIDTH, HEAD = 0.1, 3.0, 100.0
# of the guard's exponent: past it the push grows without limit, to radii of 1e100 that are finite
# and of no use
MOST = 2.0


@njit(cache=True)
def behind(q: float, seen: float, misses: float) -> float:
    """Misses beyond their share, D = misses − (1 − q)t, over h(t) = 3√(q(1 − q)(t + 100))."""
    return (misses - (1.0 - q) * seen) / (WIDTH * math.sqrt(q * (1.0 - q) * (seen + HEAD)))


@njit(cache=True)
def push(x: float) -> float:
    """How hard the guard pushes outward, 0.1·x/(1 − x²) for |x| < 1."""
    return min(max(PUSH * x / (1.0 - x * x), -MOST), MOST)
