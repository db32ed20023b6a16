"""What a forecast is made of, and which experts it relies on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.series._autoregression import OF as SPEC
from stillpoint.series._knots import ROW
from stillpoint.series._scale import AT as SCALE
from stillpoint.series._scale import BY
from stillpoint.series._state import State
from stillpoint.series._structural import AT, BASE, IS, OF
from stillpoint.series.engine import Engine
from stillpoint.series.naming import names

_LEAST = 1e-3  # of a structural filter's weight: without any, its components are shown all the same


def weights(engine: Engine) -> dict[int, dict[str, float]]:
    """The experts' weights at each knot."""
    return _table(engine, ROW.blend)


def regrets(engine: Engine) -> dict[int, dict[str, float]]:
    """The regrets against each expert at each knot."""
    return _table(engine, ROW.regret)


def _table(engine: Engine, row: int) -> dict[int, dict[str, float]]:
    if engine.state is None:
        return {}
    knots = engine.state.knots
    experts = names(engine.pool, engine.state)
    return {
        int(h): dict(zip(experts, table[row].tolist(), strict=True))
        for h, table in zip(knots.horizons, knots.experts, strict=True)
    }


def components(engine: Engine, forecast: float) -> dict[str, float]:
    """Parts of the open round's forecast that sum to it."""
    m = engine.state
    if m is None:
        nothing = {"slope": 0.0} | ({"features": 0.0} if engine.features else {})
        return {"level": forecast, **nothing, "memory": 0.0}
    f, blend = m.filters, m.knots.experts[0, ROW.blend]
    first = 1 + m.periods.size
    raw = np.flatnonzero(f.kinds[:, IS.log] == 0)
    share = blend[first + raw] + _LEAST
    share /= share.sum()
    mean = share @ f.means[raw]
    has_slope = f.models[f.kinds[raw, IS.model], OF.slope] >= 0.0
    slope = float(share @ np.where(has_slope, f.means[raw, AT.slope], 0.0))
    parts = {"level": float(mean[AT.level]) - slope, "slope": slope}
    row = m.rows[m.clock[BY.now] % m.rows.shape[0]]
    for period, columns in zip(engine.active, _columns(engine.active, f.frequencies), strict=True):
        parts[f"season {period:g}"] = float(mean[BASE:][columns] @ row[columns])
    if engine.features:
        parts["features"] = _features(m, first + len(f.kinds))
    parts["memory"] = forecast - sum(parts.values())
    return parts


def _columns(periods: tuple[float, ...], frequencies: Array) -> list[NDArray[Any]]:
    """Which columns of harmonics belong to each season: the first that has their frequency."""
    owners = [
        next(i for i, m in enumerate(periods) if abs(f * m - round(f * m)) < 1e-6)
        for f in frequencies[:, 0]
    ]
    columns = np.repeat(owners, 1 + (frequencies[:, 1] > 0.0).astype(np.int64))
    return [np.flatnonzero(columns == i) for i in range(len(periods))]


def _features(m: State, first: int) -> float:
    """What experts add for the features, weighted as the forecast weighs them.

    `first` is the first autoregression. Experts of logarithms add p(1 − e^{−θ'x}) to their p.
    """
    r, e, s, x = m.regressions, m.effects, m.scalars, m.features[0]
    blend, said = m.knots.experts[0, ROW.blend], m.knots.waiting[m.clock[BY.slots], 0]
    added: list[tuple[int, bool, float]] = []
    for a, spec in enumerate(r.specs):
        end, log = spec[SPEC.size] - 1, bool(spec[SPEC.log])
        theta = r.coefficients[a, end - spec[SPEC.features] : end]
        added.append((first + a, log, float(theta @ x) * s[SCALE.log_unit if log else SCALE.unit]))
    begin = blend.size - e.logs.size
    for i, log in enumerate(e.logs):
        added.append((begin + i, bool(log), float(e.means[i, -x.size :] @ x)))
    return sum(
        float(blend[i] * (said[i] * -np.expm1(-part) if log else part)) for i, log, part in added
    )
