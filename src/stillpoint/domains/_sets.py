"""Projections and the surrogate gradient, compiled."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

EVERYWHERE = 0  # no parameters
BALL = 1  # radius, then the centre
BOX = 2  # the lower sides, then the upper ones
SIMPLEX = 3  # total
HALF_SPACE = 4  # offset, then the normal, both divided by the length of the normal

# Below this share of |z| the direction of z - w is too much rounding to be trusted.
ROUNDING = 1e-12
NOISE = 1e-15  # what rounding leaves of a difference, over what was subtracted

EPSILON = float(np.finfo(np.float64).eps)
PASSES = 12


class Region(NamedTuple):
    """A set of plays, as compiled functions take it."""

    kind: int  # one of the above
    parameters: Array  # what is said there


@njit(cache=True)
def project(kind: int, params: Array, z: Array, w: Array) -> None:
    """Write the point of the set nearest to `z` into `w`."""
    if kind == EVERYWHERE:
        for i in range(z.size):
            w[i] = z[i]
    elif kind == BALL:
        _ball(params, z, w)
    elif kind == BOX:
        for i in range(z.size):
            w[i] = min(max(z[i], params[i]), params[z.size + i])
    elif kind == SIMPLEX:
        _simplex(params[0], z, w)
    else:
        _half_space(params, z, w)


@njit(cache=True)
def surrogate(g: Array, z: Array, w: Array, out: Array) -> None:
    """Write into `out` the gradient to pass on when z was proposed, w = Π(z) played and g received.

    out = g − min(⟨g, v⟩, 0)·v with v = (z − w)/‖z − w‖, so that ⟨g, w−u⟩ ≤ ⟨out, z−u⟩ for every u
    in the set and ‖out‖ ≤ ‖g‖ (Cutkosky & Orabona 2018; Cutkosky 2020). `out` may be `g` itself.
    """
    gap = 0.0
    size = 0.0
    for i in range(z.size):
        gap = max(gap, abs(z[i] - w[i]))
        size = max(size, abs(z[i]))
    # A proposal on the boundary up to rounding has a z - w of arbitrary direction, and removing
    # that from g could cost ‖g‖ times the diameter; keeping g costs ‖g‖‖z−w‖. On the line the
    # direction is a sign, which is always right.
    if gap > 0.0 and (z.size == 1 or gap > ROUNDING * size):
        along = 0.0
        square = 0.0
        for i in range(z.size):
            v = (z[i] - w[i]) / gap
            along += g[i] * v
            square += v * v
        if along < 0.0:
            along /= square
            before, after = 0.0, 0.0
            for i in range(z.size):
                before = max(before, abs(g[i]))
                out[i] = g[i] - along * ((z[i] - w[i]) / gap)
                after = max(after, abs(out[i]))
            # rounding is all that is left: a learner that knows no scale would follow it
            if after <= NOISE * z.size * before:
                out[:] = 0.0
            return
    for i in range(z.size):
        out[i] = g[i]


@njit(cache=True)
def _ball(params: Array, z: Array, w: Array) -> None:
    largest = 0.0
    for i in range(z.size):
        largest = max(largest, abs(z[i] - params[1 + i]))
    square = 0.0
    if largest > 0.0:
        for i in range(z.size):
            square += ((z[i] - params[1 + i]) / largest) ** 2
    length = math.sqrt(square)
    if largest * length <= params[0]:
        for i in range(z.size):
            w[i] = z[i]
    else:
        for i in range(z.size):
            w[i] = params[1 + i] + ((z[i] - params[1 + i]) / largest) * (params[0] / length)


@njit(cache=True)
def _half_space(params: Array, z: Array, w: Array) -> None:
    for i in range(z.size):
        w[i] = z[i]
    # Each pass is off by the rounding of what it started from: from a far z the first lands
    # anywhere near 0.
    for passes in range(PASSES):
        excess = -params[0]
        size = abs(params[0])
        for i in range(z.size):
            term = params[1 + i] * w[i]
            excess += term
            size += abs(term)
        if (passes == 0 and excess <= 0.0) or abs(excess) <= 4.0 * EPSILON * z.size * size:
            break
        for i in range(z.size):
            w[i] -= excess * params[1 + i]


@njit(cache=True)
def _simplex(total: float, z: Array, w: Array) -> None:
    # The projection ignores a shift of every coordinate. With the largest at 0 only entries above
    # -total can matter, so nothing cancels however large z is.
    top = z[0]
    for i in range(1, z.size):
        if z[i] > top:
            top = z[i]
    # The least gaps come first, from a heap: few are needed, and Numba's sort takes a second to
    # compile.
    gaps = np.empty(z.size)
    for i in range(z.size):
        gaps[i] = top - z[i]
    for i in range(z.size // 2 - 1, -1, -1):
        _sift(gaps, z.size, i)
    running = 0.0
    level = 0.0
    for i in range(z.size):
        gap = gaps[0]
        running -= gap
        candidate = (running - total) / (i + 1)
        if -gap <= candidate:
            break
        level = candidate
        gaps[0] = gaps[z.size - 1 - i]
        _sift(gaps, z.size - 1 - i, 0)
    for i in range(z.size):
        w[i] = max((z[i] - top) - level, 0.0)


@njit(cache=True)
def _sift(heap: Array, size: int, i: int) -> None:
    """Move entry i of a heap of the first `size` entries down to its place."""
    entry = heap[i]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if entry <= heap[child]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry
