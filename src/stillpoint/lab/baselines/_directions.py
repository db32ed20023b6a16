"""Random directions by their round, compiled: a learner that was saved draws on where it was."""

import math

from stillpoint.alerts._random import random
from stillpoint.core.arithmetic import norm
from stillpoint.core.array import Array
from stillpoint.core.jit import njit


@njit(cache=True)
def direction(seed: int, round: int, out: Array) -> None:
    """Write a unit vector, uniform on the sphere, into `out`: the one of this seed and round."""
    pairs = (out.size + 1) // 2
    index = (seed << 40) + 2 * pairs * round + 1
    if out.size == 1:
        out[0] = 1.0 if random(index) < 0.5 else -1.0
        return
    for i in range(pairs):  # normal numbers by Box & Muller (1958)
        size = math.sqrt(-2.0 * math.log(random(index + 2 * i)))
        angle = 2.0 * math.pi * random(index + 2 * i + 1)
        out[2 * i] = size * math.cos(angle)
        if 2 * i + 1 < out.size:
            out[2 * i + 1] = size * math.sin(angle)
    length = norm(out)
    for i in range(out.size):
        out[i] /= length
