"""From the layout of a series to the plan of its row."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core._harmonics import fill
from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.core.lanes import LANES
from stillpoint.intervals._slow import SLOW
from stillpoint.series._autoregression import OF as SPEC
from stillpoint.series._knots import ISSUE, ROW
from stillpoint.series._phases import AT as LEVELS
from stillpoint.series._phases import OF as PHASE
from stillpoint.series._scale import BY as CLOCK
from stillpoint.series._state import State
from stillpoint.series._structural import BASE, IS
from stillpoint.series.gains import Table
from stillpoint.series.light._plan import BY as STEP
from stillpoint.series.light._plan import EXACT, OF, REGRESSORS, N, Plan
from stillpoint.series.light._turning import FINE


def split(columns: Array, frequencies: Array) -> Array:
    """Columns (…, n) of harmonics, pair after pair, as all cosines and then all sines.

    Where a frequency has no sine, at half a cycle a round, its column is 0.
    """
    Q, j = frequencies.shape[0], 0
    out = np.zeros((*columns.shape[:-1], 2 * Q))
    for q, both in enumerate(frequencies[:, 1] > 0.0):
        out[..., q] = columns[..., j]
        if both:
            out[..., Q + q] = columns[..., j + 1]
        j += 1 + int(both)
    return out


def joined(parts: Array, frequencies: Array) -> Array:
    """The inverse of `split`."""
    Q = frequencies.shape[0]
    columns = [[q, Q + q] if both else [q] for q, both in enumerate(frequencies[:, 1] > 0.0)]
    return np.ascontiguousarray(parts[..., [i for pair in columns for i in pair]])


def turning(frequencies: Array, columns: int, times: int) -> Array:
    """Harmonics from which `_turning` makes those of all times below `times`."""
    near = zeros((min(times, FINE), columns))
    far = zeros((-(-times // FINE) if times > FINE else 0, columns))
    whole = frequencies * [FINE, 1.0]
    whole[:, 0] -= np.floor(whole[:, 0])
    for of, rows in ((frequencies, near), (whole, far)):
        for time, row in enumerate(rows):
            fill(of, time, row)
    return split(np.concatenate([near, far]), frequencies)


def tables(built: State, table: Table) -> dict[str, Array]:
    """Gains of each filter, by age, with cosines and sines apart."""
    which, f = built.filters.kinds[:, IS.model], built.filters.frequencies
    gains = table.gains[which]
    return {
        "gains": np.concatenate([gains[..., :BASE], split(gains[..., BASE:], f)], axis=2),
        "variances": table.variances[which],
        "row_of_age": table.row_of_age,
    }


def lanes(numbers: int) -> Array:
    """Room for so many numbers of LANES series, (numbers, LANES), in whole lines of a cache."""
    width = LANES * 8
    room = zeros(numbers * LANES + LANES)
    first = -room.ctypes.data % width // 8
    return room[first : first + numbers * LANES].reshape(numbers, LANES)


def _tiles(some: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where tiles of a row, of LANES numbers each, begin that hold some of these numbers."""
    own = some[EXACT:]
    starts = np.minimum(np.arange(0, own.size, LANES), own.size - LANES)
    return starts[[bool(own[at : at + LANES].any()) for at in starts]]


def plan(built: State, horizon: int) -> tuple[Plan, Array]:
    """The plan of rows that hold what a state does before its first round, and such a row."""
    f, r, b, a = built.filters, built.regressions, built.bands, built.knots
    F, Q, K = f.kinds.shape[0], f.frequencies.shape[0], a.experts.shape[2]
    two, past = a.horizons.size > 1, int(built.clock[CLOCK.place])
    n = zeros(len(N), np.int64)
    slots, P = (int(built.clock[CLOCK.slots]), BASE + 2 * Q) if two else (0, BASE + 2 * Q)
    for place, size in (
        (N.filters, F),
        (N.places, P),
        (N.waves, Q),
        (N.experts, K),
        (N.horizon, horizon),
        (N.past, past),
        (N.stride, built.clock[CLOCK.stride]),
        (N.slots, slots),
        (N.knot, a.horizons[-1]),
        (N.estimates, b.aims.shape[0]),
        (N.coverages, b.rule.order.size),
        (N.two_sided, b.rule.two_sided),
        (N.totals, b.totals < b.horizons.size),
        (N.knots, a.horizons.size),
        (N.one, 1),
        (N.fine, FINE if built.rolls else 0),
    ):
        n[place] = size
    parts: list[Array] = [zeros(EXACT)]

    def put(place: int | None, *values: Any) -> int:
        """Append numbers; returns, and notes, where they begin."""
        at = sum(part.size for part in parts)
        parts.extend(np.asarray(value, dtype=np.float64).ravel() for value in values)
        if place is not None:
            n[place] = at
        return at

    put(N.lags, zeros(past))
    put(N.means, f.means[:, :BASE] if Q == 0 else zeros((F, P)))
    put(N.gaps, zeros((F, 2)))
    put(N.seasonal, zeros(3 + F))
    specs = []
    for i, spec in enumerate(r.specs):
        size, at = int(spec[SPEC.size]), int(spec[SPEC.offset])
        C = r.covariances[at : at + size * size].reshape(size, size)
        coefficients = put(None, r.coefficients[i, :size])
        covariance = put(None, C[np.triu_indices(size)])
        counts = (spec[SPEC.difference], spec[SPEC.lags], spec[SPEC.seasonal], spec[SPEC.waves])
        specs.append((*counts, spec[SPEC.start], size, coefficients, covariance))
    n[N.phases] = sum(part.size for part in parts)
    smoothers, steps = _smoothers(built, put)
    for k in range(a.horizons.size):
        triangle = a.spread[k][np.triu_indices(K + 1)]
        at = put(None, a.experts[k], a.pair[k], a.scalars[k], a.stack[k], triangle)
        n[N.weights] = at if k == 0 else n[N.weights]
        n[N.block] = sum(part.size for part in parts) - at
    put(N.waiting, zeros((slots + 1, K + len(ISSUE))))
    n[N.end] = sum(part.size for part in parts)
    put(N.slow, zeros((2, b.aims.shape[0], len(SLOW) + 2)))
    put(N.said, zeros((slots + 1, 2 * b.aims.shape[0] + 1)))
    put(N.offsets, b.offsets)
    row = np.concatenate(parts)
    n[N.flags] = row.size
    reads, writes = np.ones(row.size, dtype=bool), np.zeros(row.size, dtype=bool)
    for spec in specs:
        reads[spec[-1] : spec[-1] + spec[-3] * (spec[-3] + 1) // 2] = False
    for k in range(a.horizons.size):
        at = n[N.weights] + k * n[N.block]
        reads[at : at + ROW.poly * K] = False
        reads[at + n[N.block] - (K + 1) * (K + 2) // 2 : at + n[N.block]] = False
    writes[n[N.seasonal] + 3 : n[N.seasonal] + 3 + F] = True
    writes[n[N.waiting] : n[N.end]] = writes[n[N.said] :] = True
    made = Plan(
        n=n,
        periods=np.array([round(m) for m in built.periods], dtype=np.int64),
        specs=np.array(specs, dtype=np.int64),
        lags=r.lags,
        rates=r.rates,
        smoothers=smoothers,
        steps=steps,
        kinds=np.ascontiguousarray(f.kinds[:, IS.log]),
        models=np.ascontiguousarray(f.models[f.kinds[:, IS.model]]),
        gains=zeros((F, 0, P)),
        variances=zeros((F, 0)),
        row_of_age=zeros(0, np.int64),
        harmonics=split(built.rows, f.frequencies),
        turned=zeros((horizon, 2 * Q)),
        smooth=np.ascontiguousarray(split(f.smooth, f.frequencies)[:Q]),
        aims=b.aims,
        order=b.rule.order,
        rule=np.array(a.rule[:2]),
        parts=np.where(a.lower > 0, 1.0, a.fraction) if two else zeros(horizon),
        template=row[: n[N.end]].copy(),
        c=zeros(len(OF), np.int64),
        room=lanes(REGRESSORS + past + 2 * horizon + 8),
        paths=lanes(horizon * K),
        gain=zeros(2 * Q),
        tiles=_tiles(np.ones_like(reads)),
        read=_tiles(reads | writes),
        written=_tiles(writes),
    )
    return made, row


def _smoothers(built: State, put: Any) -> tuple[NDArray[np.int64], Array]:
    p = built.phases
    found, steps = [], []
    for i, spec in enumerate(p.specs):
        at = put(None, zeros(len(LEVELS)), p.first[i], p.second[i], p.first_seen, p.second_seen)
        sizes = [math.ceil(m) for m in p.periods] + [0, 0]
        seasons = [*p.periods.tolist(), 1.0, 1.0]
        found.append((spec[PHASE.log], spec[PHASE.seasons], sizes[0], sizes[1], at))
        steps.append((spec[PHASE.level], spec[PHASE.phase], spec[PHASE.memory], *seasons[:2]))
    ints = np.array(found, dtype=np.int64).reshape(-1, 5)
    return ints, np.array(steps).reshape(-1, len(STEP))
