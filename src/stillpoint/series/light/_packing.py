"""The numbers of a series with a small pool as one row, and back.

Symmetric matrices are packed by their upper triangles, of forecasts that wait only those are kept
that can be waiting. In rows of float32, numbers near the values themselves, or near their
logarithms, count from the first one: a deviation is kept to seven digits whatever the level.
"""

from typing import Any

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.series._phases import OF as SPEC
from stillpoint.series._scale import AT
from stillpoint.series._state import State
from stillpoint.series._structural import IS


@njit(cache=True)
def pull(row: np.ndarray, i: int, out: np.ndarray) -> int:
    """Read numbers from a row, from place i on; returns the place after them."""
    for j in range(out.size):
        out[j] = row[i + j]
    return i + out.size


@njit(cache=True)
def push(row: np.ndarray, i: int, values: np.ndarray) -> int:
    """The inverse of `pull`."""
    for j in range(values.size):
        row[i + j] = values[j]
    return i + values.size


@njit(cache=True)
def pull_symmetric(row: np.ndarray, i: int, C: np.ndarray) -> int:
    """Read a symmetric matrix from its upper triangle."""
    n = C.shape[0]
    for a in range(n):
        for b in range(a, n):
            C[a, b] = row[i]
            C[b, a] = row[i]
            i += 1
    return i


@njit(cache=True)
def push_symmetric(row: np.ndarray, i: int, C: np.ndarray) -> int:
    """The inverse of `pull_symmetric`."""
    n = C.shape[0]
    for a in range(n):
        for b in range(a, n):
            row[i] = C[a, b]
            i += 1
    return i


@njit(cache=True)
def levels(m: State, sign: float) -> None:
    """Count levels and forecasts from the first value, or its logarithm; sign 1.0: no longer."""
    raw, log = sign * m.scalars[AT.centre], sign * m.scalars[AT.log_centre]
    f, p, a, b = m.filters, m.phases, m.knots, m.bands
    for i in range(f.means.shape[0]):
        f.means[i, 0] += log if f.kinds[i, IS.log] > 0 else raw
    for i in range(p.specs.shape[0]):
        p.levels[i, 0] += log if p.specs[i, SPEC.log] > 0.0 else raw
    for slot in range(a.waiting.shape[0]):
        for k in range(a.waiting.shape[1]):
            for i in range(a.waiting.shape[2]):
                a.waiting[slot, k, i] += raw
            for i in range(a.issued.shape[2]):
                a.issued[slot, k, i] += raw
    for i in range(b.forecasts.size):
        b.forecasts[i] += raw


@njit(cache=True)
def load_experts(row: np.ndarray, past: int, place: int, m: State) -> int:
    """Read what experts and knots know; lags, `past` of them, end before `place`."""
    f, r, p, a = m.filters, m.regressions, m.phases, m.knots
    i = pull(row, 0, m.lags[0, place - past : place])
    i = pull(row, i, f.means.reshape(-1))
    i = pull(row, i, f.gaps.reshape(-1))
    i = pull(row, i, f.seasonal)
    i = pull(row, i, r.coefficients.reshape(-1))
    for j in range(r.specs.shape[0]):
        at, n = r.specs[j, 10], r.specs[j, 11]
        i = pull_symmetric(row, i, r.covariances[at : at + n * n].reshape(n, n))
    i = pull(row, i, p.levels.reshape(-1))
    i = pull(row, i, p.first.reshape(-1))
    i = pull(row, i, p.second.reshape(-1))
    i = pull(row, i, p.first_seen)
    i = pull(row, i, p.second_seen)
    i = pull(row, i, a.experts.reshape(-1))
    i = pull(row, i, a.pair.reshape(-1))
    i = pull(row, i, a.scalars.reshape(-1))
    i = pull(row, i, a.stack.reshape(-1))
    slots = a.waiting.shape[0] - 1
    i = pull(row, i, a.waiting[slots, 0])
    i = pull(row, i, a.issued[slots, 0])
    for k in range(a.horizons.size):
        i = pull_symmetric(row, i, a.spread[k])
        for slot in range(slots if k > 0 else 0):
            i = pull(row, i, a.waiting[slot, k])
            i = pull(row, i, a.issued[slot, k])
    return i


@njit(cache=True)
def store_experts(row: np.ndarray, past: int, place: int, m: State) -> int:
    """The inverse of `load_experts`."""
    f, r, p, a = m.filters, m.regressions, m.phases, m.knots
    i = push(row, 0, m.lags[0, place - past : place])
    i = push(row, i, f.means.reshape(-1))
    i = push(row, i, f.gaps.reshape(-1))
    i = push(row, i, f.seasonal)
    i = push(row, i, r.coefficients.reshape(-1))
    for j in range(r.specs.shape[0]):
        at, n = r.specs[j, 10], r.specs[j, 11]
        i = push_symmetric(row, i, r.covariances[at : at + n * n].reshape(n, n))
    i = push(row, i, p.levels.reshape(-1))
    i = push(row, i, p.first.reshape(-1))
    i = push(row, i, p.second.reshape(-1))
    i = push(row, i, p.first_seen)
    i = push(row, i, p.second_seen)
    i = push(row, i, a.experts.reshape(-1))
    i = push(row, i, a.pair.reshape(-1))
    i = push(row, i, a.scalars.reshape(-1))
    i = push(row, i, a.stack.reshape(-1))
    slots = a.waiting.shape[0] - 1
    i = push(row, i, a.waiting[slots, 0])
    i = push(row, i, a.issued[slots, 0])
    for k in range(a.horizons.size):
        i = push_symmetric(row, i, a.spread[k])
        for slot in range(slots if k > 0 else 0):
            i = push(row, i, a.waiting[slot, k])
            i = push(row, i, a.issued[slot, k])
    return i


@njit(cache=True)
def load_bands(row: np.ndarray, i: int, b: Any) -> int:
    """Read what the intervals know."""
    i = pull(row, i, b.slow.reshape(-1))
    i = pull(row, i, b.scalars.reshape(-1))
    i = pull(row, i, b.said.reshape(-1))
    i = pull(row, i, b.forecasts)
    return int(pull(row, i, b.offsets.reshape(-1)))


@njit(cache=True)
def store_bands(row: np.ndarray, i: int, b: Any) -> int:
    """The inverse of `load_bands`."""
    i = push(row, i, b.slow.reshape(-1))
    i = push(row, i, b.scalars.reshape(-1))
    i = push(row, i, b.said.reshape(-1))
    i = push(row, i, b.forecasts)
    return int(push(row, i, b.offsets.reshape(-1)))
