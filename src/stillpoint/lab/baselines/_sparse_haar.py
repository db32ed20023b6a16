"""SparseHaar's round, compiled: all features active at a position of the dictionary."""

from stillpoint.core.arithmetic import dot, norm
from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.potentials import _magnitudes as potentials


@njit(cache=True)
def propose(
    position: int,
    sums: Array,
    variances: Array,
    h: float,
    code: int,
    parameters: Array,
    offset: float,
    w: Array,
) -> bool:
    """Write the sum of the plays of all active features into `w`; returns whether one saturated.

    Features that begin at `position` begin anew. Row 0 is the constant.
    """
    w[:] = 0.0
    saturated = False
    for k in range(sums.shape[0]):
        sign = 1.0
        if k > 0:
            place = position & ((1 << k) - 1)
            if place == 0:
                sums[k] = 0.0
                variances[k] = 0.0
            if place >= 1 << (k - 1):
                sign = -1.0
        S = norm(sums[k])
        m = potentials.magnitude(code, parameters, S, offset * h * h + variances[k], h, 0.0)
        saturated = saturated or m >= potentials.CAP
        if m != 0.0:
            for j in range(w.size):
                w[j] -= sign * (m / S) * sums[k, j]
    return saturated


@njit(cache=True)
def learn(position: int, sums: Array, variances: Array, g: Array) -> None:
    """Feed every active feature the gradient g times its sign at `position`."""
    square = dot(g, g)
    for k in range(sums.shape[0]):
        sign = -1.0 if k > 0 and position & ((1 << k) - 1) >= 1 << (k - 1) else 1.0
        variances[k] += square
        for j in range(g.size):
            sums[k, j] += sign * g[j]
