"""From a pool, seasons and a horizon to the state that compiled rounds work on."""

import math
from typing import Any, NamedTuple

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.series._autoregression import OF, Regressions
from stillpoint.series._effects import EFFECT, LEVEL, SEASON, SLOW, Effects
from stillpoint.series._knots import Rule
from stillpoint.series._phases import Phases
from stillpoint.series._scale import AT, BY, Clock, deviation
from stillpoint.series._state import State
from stillpoint.series._structural import BASE, Filters
from stillpoint.series._waves import WAVES
from stillpoint.series.gains import Gains, Model, shared
from stillpoint.series.harmonics import Harmonics, harmonics
from stillpoint.series.knots import RULE, aggregation, apart, horizons
from stillpoint.series.pool import Lags, Pool, Regression

_PHASE_TABLES = 2  # seasons that smoothers have phases of
_WIDEST = 8  # lags that are kept at least
_NONE = np.empty((2, 0))
_MISFIT = 8.0  # how much larger or smaller than its history's deviation a unit may be


class Scale(NamedTuple):
    """Units of a series."""

    centre: float
    unit: float
    log_centre: float
    log_unit: float
    logs: bool

    @classmethod
    def of(cls, values: Array) -> "Scale":
        """Those of some values, none missing, the first of which is the centre."""
        first, unit = float(values[0]), deviation(values)
        if values.min() <= 0.0:
            return cls(first, unit, 0.0, 1.0, False)
        logs = np.log(values)
        return cls(first, unit, float(logs[0]), deviation(logs), True)


def models(pool: Pool) -> tuple[Model, ...]:
    """The structural models of a pool."""
    return tuple(dict.fromkeys(f.model for f in pool.filters))


def at(state: State, periods: tuple[float, ...], horizon: int) -> State:
    """A state whose clock was set: what follows from the time is made anew."""
    return state._replace(rows=harmonics(periods).rows(horizon, int(state.clock[BY.now])))


def feature_scale(X: Array) -> Array:
    """Centres and units of features, NaN where one was missing: means and deviations."""
    counts = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    centres = np.where(np.isnan(X), 0.0, X).sum(axis=0) / counts
    squares = np.where(np.isnan(X), 0.0, (X - centres) ** 2).sum(axis=0) / counts
    units = np.sqrt(squares)
    return np.array([centres, np.where(units > 1e-9 * np.abs(centres), units, 1.0)])


def standardised(X: Array) -> Array:
    """Features less their means, over their deviations; 0 where one is missing."""
    centres, units = feature_scale(X)
    return np.where(np.isnan(X), 0.0, (X - centres) / units)


def misfit(state: State, values: Array, X: Array, told: bool) -> bool:
    """Whether a feature has outgrown its unit, or, where `told` by these values, the series its."""
    units = feature_scale(X)[1] / state.feature_scale[1]
    if told:
        units = np.append(units, float(np.std(values)) / state.scalars[AT.unit])
    return bool(np.any((units > _MISFIT) | (units < 1.0 / _MISFIT)))


def build(
    pool: Pool,
    periods: tuple[float, ...],
    horizon: int,
    scale: Scale,
    bands: Any,
    *,
    features: Array = _NONE,
    knots: list[int] | None = None,
    gains: Gains | None = None,
    rule: Rule = RULE,
) -> State:
    """A state before its first round."""
    h = harmonics(periods)
    whole = tuple(round(period) for period in periods)
    near = tuple(m for i, m in enumerate(whole) if i == 0 or m <= pool.longest)
    first = whole[0] if whole else 1
    regressions = _regressions(pool, near, first, h, scale.logs, features.shape[1])
    reach = max(_WIDEST, *(int(spec[OF.start]) + 2 for spec in regressions.specs))
    lagged = tuple(period for period, m in zip(periods, whole, strict=True) if m < reach)
    filters = _filters(pool, periods, h, scale, gains)
    phases = _phases(pool, periods, near, scale)
    effects = _effects(pool, h, scale, features.shape[1])
    K = 1 + len(lagged) + len(filters.kinds) + len(regressions.specs) + len(phases.specs)
    K += len(effects.logs)
    placed = horizons(pool, horizon, whole) if knots is None else knots
    stride = apart(pool, horizon, placed[-1], first)
    slots = -(-placed[-1] // stride) + 1
    scalars, clock = zeros(len(AT)), zeros(len(BY), np.int64)
    scalars[:4], scalars[[AT.low, AT.high]] = scale[:4], scale.centre
    scalars[AT.held], scalars[AT.reach] = math.nan, 1.0
    for place, count in zip(Clock(), (0, reach, stride, slots, scale.logs), strict=True):
        clock[place] = count
    rows = h.rows(horizon, 0)
    most = max(regressions.coefficients.shape[1], BASE + h.columns, K + 1, horizon) + 8
    return State(
        scalars=scalars,
        clock=clock,
        lags=zeros((1 + int(regressions.specs[:, OF.log].any()), 2 * reach + horizon + 64)),
        periods=np.array(lagged, dtype=np.float64),
        rows=rows,
        rolls=not h.table.shape[0],
        seasonal=zeros(horizon + 3),
        features=zeros((horizon, features.shape[1])),
        feature_scale=features,
        filters=filters,
        regressions=regressions,
        phases=phases,
        effects=effects,
        knots=aggregation(placed, horizon, K, slots, rule, bool(lagged), pool.half),
        bands=bands,
        steps=np.arange(1, horizon + 1),
        stops=np.unique([*placed, *bands.horizons[: bands.totals]]).astype(np.int64),
        forecasts=zeros(bands.horizons.size),
        room=zeros((horizon, K)),
        work=zeros((4, most)),
    )


def _filters(
    pool: Pool, periods: tuple[float, ...], h: Harmonics, scale: Scale, gains: Gains | None
) -> Filters:
    used = models(pool)
    kinds = dict.fromkeys((f.log and scale.logs, used.index(f.model)) for f in pool.filters)
    means = zeros((len(kinds), BASE + h.columns))
    for mean, (log, _) in zip(means, kinds, strict=True):
        mean[0] = scale.log_centre if log else scale.centre
    table = (gains or shared(periods, used)).up_to(0)
    return Filters(
        kinds=np.array(list(kinds), dtype=np.int64),
        models=np.array(used),
        frequencies=h.frequencies,
        smooth=h.smooth,
        gains=table.gains,
        variances=table.variances,
        row_of_age=table.row_of_age,
        means=means,
        gaps=zeros((len(kinds), 2)),
        seasonal=zeros(3),
    )


def _lags(lags: Lags, seasons: tuple[int, ...]) -> list[int]:
    """The lags, in order."""
    first = seasons[0] if seasons else 1
    near = lags.near if lags.near is not None else min(max(first + 1, 8), 25)
    if not seasons:
        near = lags.alone or near
    chosen = set(range(1, near + 1))
    if seasons:
        chosen |= {first + d for d in lags.first} | {2 * first for _ in range(lags.double)}
        chosen |= {m + d for m in seasons[1:] for d in lags.second}
    return sorted(lag for lag in chosen if lag > 0)


def _regressions(
    pool: Pool, seasons: tuple[int, ...], first: int, h: Harmonics, logs: bool, features: int
) -> Regressions:
    lags: list[list[int]] = []
    specs: list[tuple[int, ...]] = []
    rates: list[float] = []
    priors: list[Array] = []
    offset = 0
    for r in pool.regressions:
        if r.products and not seasons:
            continue
        chosen = _lags(r.lags, seasons)
        counts = _counts(r, h, bool(seasons))
        d = first if r.difference < 0 else r.difference
        size = len(chosen) + counts[0] + counts[1] + 2 * counts[2] + counts[3] + features + 1
        start = chosen[-1] + d + (3 if counts[0] else 0)
        log = int(r.log and logs)
        spec = (log, d, len(chosen), *counts, features, first, start, offset, size)
        lags.append(chosen)
        specs.append(spec)
        rates.append(r.rate)
        priors.append(_precisions(len(chosen), counts, features, h))
        offset += size * size
    most = max(map(len, lags))
    table = zeros((len(lags), most), np.int64)
    for row, chosen in zip(table, lags, strict=True):
        row[: len(chosen)] = chosen
    covariances = zeros(offset)
    for row, prior in zip(specs, priors, strict=True):
        covariances[row[OF.offset] : row[OF.offset] + prior.size**2] = np.diag(1.0 / prior).ravel()
    coefficients = zeros((len(lags), max(prior.size for prior in priors)))
    return Regressions(
        np.array(specs, dtype=np.int64), np.array(rates), table, coefficients, covariances
    )


def _counts(r: Regression, h: Harmonics, seasons: bool) -> tuple[int, int, int, int]:
    """Seasonal parts, harmonics, products and waves of an autoregression."""
    columns = h.columns if r.harmonics < 0 else h.few if r.harmonics else 0
    products = min(r.products, h.few)
    return (r.seasonal if seasons else 0, columns, products, len(WAVES) if r.waves else 0)


def _precisions(lags: int, counts: tuple[int, int, int, int], features: int, h: Harmonics) -> Array:
    """Prior precisions of the coefficients, in their order."""
    seasonal, columns, products, waves = counts
    base = 0.1 if seasonal or columns or waves else 0.01
    parts = (
        np.full(lags + seasonal, base),
        0.3 * h.orders[:columns] ** 2,
        np.full(2 * products, 3.0),
        np.full(waves, 1.0),
        np.full(features + 1, base),
    )
    return np.concatenate(parts)


def _phases(pool: Pool, periods: tuple[float, ...], near: tuple[int, ...], scale: Scale) -> Phases:
    specs = [(p.log and scale.logs, *p[1:]) for p in pool.phases]
    E = len(specs)
    kept = periods[: min(len(near), _PHASE_TABLES)] if E else ()
    sizes = [math.ceil(period) for period in kept] + [1] * (_PHASE_TABLES - len(kept))
    levels = zeros((E, 5))
    for level, spec in zip(levels, specs, strict=True):
        level[0] = scale.log_centre if spec[0] else scale.centre
    return Phases(
        specs=np.array(specs, dtype=np.float64).reshape(E, 5),
        periods=np.array(kept, dtype=np.float64),
        levels=levels,
        first=zeros((E, sizes[0])),
        second=zeros((E, sizes[1])),
        first_seen=zeros(sizes[0]),
        second_seen=zeros(sizes[1]),
    )


def _effects(pool: Pool, h: Harmonics, scale: Scale, features: int) -> Effects:
    used = pool.effects if features else ()
    kinds = list(dict.fromkeys((effect.log and scale.logs, effect.level) for effect in used))
    smooth = h.smooth[: h.few]
    P = 1 + smooth.size + features
    drifts, means = zeros((len(kinds), P)), zeros((len(kinds), P))
    for drift, mean, (log, level) in zip(drifts, means, kinds, strict=True):
        drift[:] = np.concatenate([[level], SLOW * smooth, np.full(features, SLOW)])
        mean[0] = scale.log_centre if log else scale.centre
    prior = np.concatenate([[LEVEL], SEASON * smooth, np.full(features, EFFECT)])
    covariances = zeros((len(kinds), P, P))
    covariances[:] = np.diag(prior)
    logs = np.array([log for log, _ in kinds], dtype=np.int64)
    return Effects(logs, drifts, means, covariances)
