"""The least loss of a fixed play on many intervals, compiled, for plays in one dimension."""

from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.losses._pointwise import slope, value

HALVINGS = 128  # of the interval that holds the best play: floats have no more


@njit(cache=True)
def halve(
    code: int,
    parameter: float,
    y: Array,
    starts: Array,
    length: int,
    low: float,
    high: float,
    out: Array,
) -> None:
    """Write min over u of Σℓ(u, y_t), t in [start, start + length), for each start into `out`.

    u is between `low` and `high`; the sum is convex, so its slope tells on which side.
    """
    for i in range(starts.size):
        first, a, b = int(starts[i]), low, high
        for _ in range(HALVINGS):
            u = 0.5 * (a + b)
            if not a < u < b:
                break
            total = 0.0
            for t in range(first, first + length):
                total += slope(code, parameter, u, y[t])
            if total > 0.0:
                b = u
            elif total < 0.0:
                a = u
            else:
                a, b = u, u
        at_a, at_b = 0.0, 0.0
        for t in range(first, first + length):
            at_a += value(code, parameter, a, y[t])
            at_b += value(code, parameter, b, y[t])
        out[i] = min(at_a, at_b)


@njit(cache=True)
def slide(
    y: Array, ordered: Array, ranks: Array, length: int, level: float, low: float, high: float,
    out: Array, counts: Array, sums: Array,
) -> None:  # fmt: skip
    """Write min over low ≤ u ≤ high of the pinball losses of each window of `length` into `out`.

    The window is a Fenwick tree over the ranks: counts and sums of what is below a value. The best
    u is the quantile of the level, in O(log T) a round. `counts` and `sums` are zeros, one more
    than y.
    """
    whole = 0.0
    for t in range(y.size):
        _add(counts, int(ranks[t]), 1.0)
        _add(sums, int(ranks[t]), y[t])
        whole += y[t]
        if t >= length:
            old = t - length
            _add(counts, int(ranks[old]), -1.0)
            _add(sums, int(ranks[old]), -y[old])
            whole -= y[old]
        if t < length - 1:
            continue
        wanted = max(level * length, 1.0)
        place = _find(counts, wanted)
        u = min(max(ordered[place], low), high)
        below, share = _below(ordered, counts, sums, u)
        out[t - length + 1] = (1.0 - level) * (u * below - share) + level * (
            (whole - share) - u * (length - below)
        )


@njit(cache=True)
def _add(tree: Array, rank: int, amount: float) -> None:
    i = rank + 1
    while i < tree.size:
        tree[i] += amount
        i += i & -i


@njit(cache=True)
def _find(counts: Array, wanted: float) -> int:
    """The least rank with `wanted` or more at it and below."""
    at, bit = 0, 1
    while 2 * bit < counts.size:
        bit *= 2
    while bit > 0:
        # a difference of 1e-9 rounds is rounding of level·length
        if at + bit < counts.size and counts[at + bit] < wanted - 1e-9:
            at += bit
            wanted -= counts[at]
        bit //= 2
    return min(at, counts.size - 2)


@njit(cache=True)
def _below(ordered: Array, counts: Array, sums: Array, u: float) -> tuple[float, float]:
    """How many of the window are at most u, and their sum."""
    a, b = 0, ordered.size
    while a < b:
        middle = (a + b) // 2
        if ordered[middle] <= u:
            a = middle + 1
        else:
            b = middle
    count, total = 0.0, 0.0
    while a > 0:
        count += counts[a]
        total += sums[a]
        a -= a & -a
    return count, total
