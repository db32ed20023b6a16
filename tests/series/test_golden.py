"""Forecasts as the research prototypes made them, of series written by formula.

golden.npz holds one-step forecasts of all rounds and the path after the last, by two prototypes
written before this package and apart from it: exact covariances ("full"), and tables of gains
("middle", "small"). One line of the first was changed: before a season has passed, the seasonal
naive says the last value. Knots and limits on regrets are set here to what the prototypes had.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from series_twins import noise, opened, path, played, state

from stillpoint.series._knots import Rule
from thorough import some

GOLDEN = Path(__file__).parent / "golden.npz"
FREE = Rule(math.inf, math.inf)
HORIZON = {"hour": 24, "month": 12, "none": 10}
PERIODS = {"hour": (24.0, 168.0), "month": (12.0,), "none": ()}
ROUNDS = {"hour": 640, "month": 260, "none": 260}
POOLS = ("full", "middle", "small")


def series(season, sign):
    """A season that drifts, a level that wanders, noise, and one spike; positive or not."""
    T = ROUNDS[season]
    t = np.arange(T)
    y = 0.4 * noise(T) + 0.1 * np.cumsum(noise(T, 3000))
    for i, m in enumerate(PERIODS[season]):
        angle = 2.0 * np.pi * (t % m) / m
        y += (2.0 - i) * np.cos(angle) + (0.7 + 0.5 * t / T) * np.sin(2.0 * angle)
    y[3 * T // 4] += 9.0
    return np.exp(1.0 + 0.2 * y) if sign == "positive" else y


def knots(pool, horizon):
    """Those of the prototypes: up to the horizon, or half of it."""
    if pool != "full":
        return [1, round(horizon / 2)]
    found = {1, horizon} | {2**i for i in range(1, 9)} | {3 * 2**i for i in range(9)}
    return sorted(h for h in found if h <= horizon)


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.mark.parametrize("sign", ["positive", "any sign"])
@pytest.mark.parametrize("season", some(PERIODS, every=2))
@pytest.mark.parametrize("pool", POOLS)
def test_forecasts_are_those_of_the_prototypes(golden, pool, season, sign):
    y, H = series(season, sign), HORIZON[season]
    # units: of all values, or of the first sixteen
    units = y if pool == "full" else y[:16]
    more = {"knots": knots(pool, H), "rule": FREE, "thin": pool != "full"}
    m = state(pool, PERIODS[season], H, units, ages=y.size, **more)
    said, sd = played(m, y)[:, 0], np.std(y)
    first = 0 if pool == "full" else 16
    name = f"{pool} {season} {sign}"
    np.testing.assert_allclose(said[first:], golden[name][first:-H], rtol=0, atol=1e-6 * sd)
    opened(m)
    np.testing.assert_allclose(path(m, H), golden[name][-H:], rtol=0, atol=1e-6 * sd)
