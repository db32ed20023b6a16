"""Harmonics of seasons that never begin anew together, at any time, from two short tables.

With t = Ba + b, b < B, the row of time t is that of b, turned by the angle of Ba:

    cos(ωt) = cos(ωBa)cos(ωb) − sin(ωBa)sin(ωb),  sin(ωt) = sin(ωBa)cos(ωb) + cos(ωBa)sin(ωb)

One table has the rows of b, below it the other has those of a. B is a power of 2: ωB in cycles,
less the whole ones, is exact, and so late times are as exact as early ones, to some 1e-15 t/B. A
row is a function of its time alone: rounds go on as they were whatever was asked before.
"""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.series.light._plan import N, Plan

FINE = 1024  # B


@njit(cache=True)
def turn_to(p: Plan, time: int, steps: int) -> None:
    """Make ready the rows of this time and the next ones, `steps` in all, if there is no table."""
    B = p.n[N.fine]
    if B == 0:
        return
    Q = p.n[N.waves]
    for h in range(steps):
        t = time + h
        row, near = p.turned[h], p.harmonics[t % B]
        if t < B:
            for i in range(2 * Q):
                row[i] = near[i]
            continue
        far = p.harmonics[B + t // B]
        for q in range(Q):
            row[q] = far[q] * near[q] - far[Q + q] * near[Q + q]
            row[Q + q] = far[Q + q] * near[q] + far[q] * near[Q + q]


@njit(cache=True)
def row_of(p: Plan, time: int, h: int) -> np.ndarray:
    """The row of a time, the h-th of those made ready; of a table it is there anyway."""
    row: np.ndarray = p.harmonics[time % p.harmonics.shape[0]]
    if p.n[N.fine] > 0:
        row = p.turned[h]
    return row
