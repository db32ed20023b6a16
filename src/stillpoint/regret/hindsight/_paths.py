"""Compiled dynamic programs of the comparators in hindsight."""

import math

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

Index = NDArray[np.int64]


# Best comparator with k constant pieces: best[l, t] = min_μ min_τ best[l−1, τ] + Σ_{τ<s≤t} ℓ_s(μ),
# exchanging the minima (functional pruning, Rigaill 2010): all that is kept of the past is which τ
# is best at each μ.


@njit(cache=True)
def segments_squared(y: Array, pieces: int, origin: NDArray[np.int32]) -> None:
    """Write where the last of l + 1 pieces on the first t targets starts into origin[l, t].

    The cost is (p − y)².
    """
    n = y.size
    first, second = np.zeros(n + 1), np.zeros(n + 1)
    for t in range(n):
        first[t + 1] = first[t] + y[t]
        second[t + 1] = second[t] + y[t] * y[t]
    low, high = y.min(), y.max()
    previous, best = np.full(n + 1, math.inf), np.full(n + 1, math.inf)
    for t in range(1, n + 1):
        best[t] = second[t] - first[t] ** 2 / t
    # parabolas cross twice at most, so the lower envelope of n of them has fewer than 2n pieces
    lo, hi, tau = np.empty(2 * n + 8), np.empty(2 * n + 8), np.empty(2 * n + 8, dtype=np.int64)
    lo2, hi2, tau2 = np.empty_like(lo), np.empty_like(hi), np.empty_like(tau)
    for layer in range(1, pieces):
        previous, best = best, previous
        best[:] = math.inf
        size = 0
        for t in range(layer + 1, n + 1):
            level, count, edge = previous[t - 1], 0, low
            for i in range(size):
                m = t - 1 - tau[i]
                centre = (first[t - 1] - first[tau[i]]) / m
                floor = previous[tau[i]] + second[t - 1] - second[tau[i]] - m * centre * centre
                if floor > level:
                    continue
                reach = math.sqrt((level - floor) / m)
                a, c = max(lo[i], centre - reach), min(hi[i], centre + reach)
                # the second only if rounding splits what should not be split
                if a >= c or count + 2 >= lo.size:
                    continue
                if a > edge:
                    lo2[count], hi2[count], tau2[count] = edge, a, t - 1
                    count += 1
                lo2[count], hi2[count], tau2[count] = a, c, tau[i]
                count += 1
                edge = c
            if edge < high or count == 0:
                lo2[count], hi2[count], tau2[count] = edge, high, t - 1
                count += 1
            lo, lo2, hi, hi2, tau, tau2, size = lo2, lo, hi2, hi, tau2, tau, count
            for i in range(size):
                m = t - tau[i]
                centre = (first[t] - first[tau[i]]) / m
                gap = max(lo[i] - centre, centre - hi[i], 0.0)
                value = (
                    previous[tau[i]]
                    + second[t]
                    - second[tau[i]]
                    + m * (gap * gap - centre * centre)
                )
                if value < best[t]:
                    best[t], origin[layer, t] = value, tau[i]


@njit(cache=True)
def segments_pinball(
    y: Array, values: Array, level: float, pieces: int, origin: NDArray[np.int32]
) -> None:
    """Do the same for the pinball loss; values: the distinct targets, some of which minimise it."""
    n = y.size
    previous, best = np.full(n + 1, math.inf), np.full(n + 1, math.inf)
    total, start = np.empty(values.size), np.empty(values.size, dtype=np.int64)
    for layer in range(pieces):
        previous, best = best, previous
        best[:] = math.inf
        total[:] = math.inf if layer else 0.0
        start[:] = 0
        for t in range(layer + 1, n + 1):
            restart, low, where = previous[t - 1], math.inf, 0
            for j in range(values.size):
                if restart < total[j]:
                    total[j], start[j] = restart, t - 1
                r = values[j] - y[t - 1]
                total[j] += max(-level * r, (1.0 - level) * r)
                if total[j] < low:
                    low, where = total[j], start[j]
            best[t], origin[layer, t] = low, where


# Total variation: dynamic programming on the derivative of the cost-to-come (Johnson 2013; for
# kinked losses Kolmogorov, Pock & Rolínek 2016). It is nondecreasing and piecewise linear: a line
# at either end, and in between knots that add jump + bend·x, each in a heap from the left and one
# from the right. The right side is the left side of −m(−x).


@njit(cache=True)
def total_variation(
    y: Array, low: float, high: float, width: float, penalty: float, u: Array
) -> None:
    """Write argmin Σ ℓ(u_t − y_t) + penalty·Σ|u_t − u_{t−1}| into u; O(T log T).

    ℓ' runs from −low up to high as its argument runs from −width to width; width inf is the squared
    loss, ℓ'(r) = r.
    """
    n = y.size
    key, jump, bend = np.empty((2, 4 * n + 4)), np.empty(4 * n + 4), np.empty(4 * n + 4)
    alive, heap = np.zeros(4 * n + 4, dtype=np.bool_), np.empty((2, 4 * n + 4), dtype=np.int64)
    size, line, bounds = np.zeros(3, dtype=np.int64), np.zeros((2, 2)), np.empty((2, n))
    for t in range(n):
        if width == math.inf:
            line += np.array([[-y[t], 1.0], [y[t], 1.0]])
        else:
            line[0, 0] -= low
            line[1, 0] -= high
            if width == 0.0:
                _knot(key, jump, bend, alive, heap, size, y[t], low + high, 0.0)
            else:
                tilt = 0.5 * (low + high) / width
                for at, turn in ((y[t] - width, tilt), (y[t] + width, -tilt)):
                    _knot(key, jump, bend, alive, heap, size, at, -turn * at, turn)
        if t == n - 1:
            u[t] = _cut(key[0], jump, bend, 1.0, alive, heap[0], size, 0, line[0], 0.0)
            break
        for side in range(2):
            sign = 1.0 - 2.0 * side
            x = _cut(
                key[side], jump, bend, sign, alive, heap[side], size, side, line[side], -penalty
            )
            bounds[side, t] = sign * x
            if x > -math.inf:
                _knot(
                    key,
                    jump,
                    bend,
                    alive,
                    heap,
                    size,
                    sign * x,
                    line[side, 0] + penalty,
                    sign * line[side, 1],
                )
                line[side] = np.array([-penalty, 0.0])
    for t in range(n - 2, -1, -1):
        u[t] = max(bounds[0, t], min(bounds[1, t], u[t + 1]))


@njit(cache=True)
def _cut(
    key: Array,
    jump: Array,
    bend: Array,
    sign: float,
    alive: NDArray[np.bool_],
    heap: Index,
    size: Index,
    side: int,
    line: Array,
    level: float,
) -> float:
    """Take off all that lies below `level` at the left end; return where it ends, −inf if none."""
    while True:
        while size[side] > 0 and not alive[heap[0]]:
            size[side] -= 1
            _sift(heap, size[side], key)
        if size[side] == 0 or line[0] + line[1] * key[heap[0]] >= level:
            return (level - line[0]) / line[1] if line[1] > 0.0 else -math.inf
        item = heap[0]
        alive[item] = False
        line[0] += jump[item]
        line[1] += sign * bend[item]
        if line[0] + line[1] * key[item] >= level:
            return float(key[item])


@njit(cache=True)
def _knot(
    key: Array,
    jump: Array,
    bend: Array,
    alive: NDArray[np.bool_],
    heap: Index,
    size: Index,
    at: float,
    height: float,
    turn: float,
) -> None:
    item = size[2]
    size[2] += 1
    key[0, item], key[1, item], jump[item], bend[item], alive[item] = at, -at, height, turn, True
    for side in range(2):
        i = size[side]
        size[side] += 1
        while i > 0 and key[side, item] < key[side, heap[side, (i - 1) // 2]]:
            heap[side, i] = heap[side, (i - 1) // 2]
            i = (i - 1) // 2
        heap[side, i] = item


@njit(cache=True)
def _sift(heap: Index, size: int, key: Array) -> None:
    """Restore the heap of the first `size` items after its root was taken."""
    item, i = heap[size], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[item] <= key[heap[child]]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item
