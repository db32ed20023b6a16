"""p-values of a number among those before: by rank, beyond the largest, and of two together.

By rank, p = (1 + #{past ≥ x})/(n + 1) is exact whatever the law, if all are exchangeable, and never
below 1/(n + 1): of a number far beyond all others it says no more than of the largest so far. Among
the largest k = max(10, n/100) a Pareto tail tells (Hill 1975): with u the next largest, ln(xᵢ/u) of
the k above it are exponential, and so

    P(x) = (k + 1)/(n + 1) · (1 + ln(x/u)/Σ ln(xᵢ/u))^−k

which allows for what k numbers leave open about the tail: exact if it is Pareto, too large far out
in lighter ones.
"""

import math

from stillpoint.alerts import _ranks
from stillpoint.core.jit import njit

FEW, SHARE = 10, 100  # of n numbers, the largest max(FEW, n/SHARE) are a tail


@njit(cache=True)
def share(w: _ranks.Window, value: float) -> float:
    """The p-value of a number by its rank. Ties count against its being unusual."""
    n = w.clock[_ranks.BY.filled]
    return float((1 + n - _ranks.below(w, value)) / (1 + n))


@njit(cache=True)
def beyond(w: _ranks.Window, value: float, p: float) -> float:
    """The p-value of a number ≥ 0 that has p by its rank, in the tail by how far out it is."""
    n = w.clock[_ranks.BY.filled]
    k = max(FEW, n // SHARE)
    edge = _ranks.smallest(w, n - 1 - k) if n > k else math.inf
    if not value > edge or edge == 0.0:
        return p
    total, unit = 0.0, math.log(edge)
    for i in range(k):
        total += math.log(_ranks.smallest(w, n - 1 - i)) - unit
    return pareto(value, edge, total, k, n) if total > 0.0 else p


@njit(cache=True)
def pareto(value: float, edge: float, total: float, k: int, n: int) -> float:
    """The p-value of a number above the edge of a tail: k of n are, their logarithms `total`."""
    return float((k + 1) / (n + 1) * (1.0 + (math.log(value) - math.log(edge)) / total) ** -k)


@njit(cache=True)
def joined(p: float, other: float) -> float:
    """The p-value of the product of two, (1 + s)·e^−s with s = −ln p − ln other (Fisher 1932)."""
    product = max(p * other, 1e-300)
    return float(min(product * (1.0 - math.log(product)), 1.0))
