"""The knots of a series: at which horizons experts are aggregated, and how that begins."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.core.array import Array
from stillpoint.series import _knots
from stillpoint.series._knots import RIDGE, ROW, Knots, Rule
from stillpoint.series.pool import Pool

RULE = Rule(most=200.0, slack=25.0, last=8.0, others=14.0)
SEEN = RULE._replace(last=0.0, others=0.0)  # seasons seen twice have shown what they are worth


def horizons(pool: Pool, horizon: int, seasons: tuple[int, ...]) -> list[int]:
    """The knots: 1, and others none of which is a multiple of a season.

    At a multiple of the season the last value is the seasonal naive: what is learnt there misleads
    every horizon between. Such a knot is placed half a season later, as far as the horizon goes.
    """
    if pool.half:
        others = {round(horizon / 2)}
    else:
        others = {2**i for i in range(1, 32)} | {3 * 2**i for i in range(31)} | {3 * horizon // 4}
    for m in seasons:
        others = {h + max(1, m // 2) if h % m == 0 else h for h in others}
    clear = {h for h in others if 1 < h <= horizon and not any(h % m == 0 for m in seasons)}
    return [1, *sorted(clear)]


def apart(pool: Pool, horizon: int, last: int, season: int) -> int:
    """Rounds between origins of forecasts that are judged; no phase is left out for ever."""
    stride = max(1, -(-last // pool.waiting) if pool.half else horizon // pool.waiting)
    while stride > 1 and math.gcd(stride, season) > 1:
        stride += 1
    return stride


def aggregation(
    at: list[int], horizon: int, K: int, slots: int, rule: Rule, seasonal: bool, logarithmic: bool
) -> Knots:
    """The knots at these horizons, before the first round."""
    n = len(at)
    lower, fraction = _interpolation(at, horizon, logarithmic)
    knots = Knots(
        rule=rule,
        horizons=np.array(at, dtype=np.int64),
        lower=lower,
        fraction=fraction,
        experts=zeros((n, 5, K)),
        pair=zeros((n, 5, 2)),
        scalars=zeros((n, len(_knots.AT))),
        stack=zeros((n, K + 1)),
        spread=np.repeat(np.eye(K + 1)[None] / RIDGE, n, axis=0),
        waiting=zeros((slots + 1, n, K)),
        issued=zeros((slots + 1, n, 5)),
    )
    # before there is evidence, naive forecasts are relied on: the season's, if there is one
    knots.experts[:, ROW.loss] = rule.others
    knots.experts[:, ROW.loss, 0] = rule.last if seasonal else 0.0
    knots.experts[:, ROW.loss, 1 : 1 + seasonal] = 0.0
    for k in range(n):
        for table in (knots.experts[k], knots.pair[k]):
            _knots.weigh(table, 0.0, 0.0)
    return knots


def _interpolation(
    at: list[int], horizon: int, logarithmic: bool
) -> tuple[NDArray[np.int64], Array]:
    """For each horizon the knot at or below it, and how far it lies on the way to the next."""
    scale: Any = np.log if logarithmic else np.asarray
    h = np.arange(1, horizon + 1)
    lower = np.searchsorted(at, h, side="right") - 1
    upper = np.minimum(lower + 1, len(at) - 1)
    knots = scale(np.array(at, dtype=np.float64))
    gap = knots[upper] - knots[lower]
    part = (scale(h.astype(np.float64)) - knots[lower]) / np.where(gap > 0.0, gap, 1.0)
    return lower.astype(np.int64), np.where(gap > 0.0, part, 0.0)
