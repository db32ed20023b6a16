"""Which experts a pool has, where its knots are, and what the naive ones say."""

import math

import numpy as np
import pytest
from series_twins import HOUR, build, closed, opened, path, played, state, wavy

from stillpoint.series._scale import BY
from stillpoint.series.knots import horizons
from stillpoint.series.layout import Scale
from stillpoint.series.pool import POOLS

LOGS, NO_LOGS = Scale(1.0, 1.0, 0.0, 1.0, True), Scale(0.0, 1.0, 0.0, 1.0, False)


@pytest.mark.parametrize(
    ("pool", "periods", "scale", "experts"),
    [
        ("full", HOUR, LOGS, 24),
        ("full", HOUR, NO_LOGS, 20),
        ("full", (12.0,), LOGS, 23),
        ("full", (), LOGS, 21),
        ("middle", HOUR, LOGS, 13),
        ("middle", (12.0,), LOGS, 12),
        ("middle", (), LOGS, 11),
        ("small", HOUR, LOGS, 8),
        ("small", (), LOGS, 7),
    ],
)
def test_pools_have_as_many_experts_as_they_say(pool, periods, scale, experts):
    assert build(POOLS[pool], periods, 24, scale).knots.experts.shape[2] == experts


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("seasons", [(), (7,), (24, 168), (2,), (48, 336), (12, 13)])
def test_knots_begin_with_one_and_none_is_a_multiple_of_a_season(pool, seasons):
    for horizon in range(1, 130):
        knots = horizons(POOLS[pool], horizon, seasons)
        assert knots[0] == 1
        assert knots == sorted(set(knots))
        assert knots[-1] <= horizon
        assert not any(h % m == 0 for h in knots[1:] for m in seasons)
        if POOLS[pool].half:
            assert len(knots) <= 2


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("horizon", [1, 2, 7, 24, 48, 96, 100, 288, 500])
def test_every_phase_is_judged_and_no_forecast_is_overwritten_before(pool, horizon):
    for periods in ((), (7.0,), (24.0, 168.0), (10.0,), (6.0,)):
        m = build(POOLS[pool], periods, horizon, NO_LOGS)
        stride, slots = int(m.clock[BY.stride]), int(m.clock[BY.slots])
        first = round(periods[0]) if periods else 1
        assert stride == 1 or math.gcd(stride, first) == 1
        # an origin waits until its last target; the slot is used again slots·stride rounds later
        assert slots * stride > m.knots.horizons[-1] - 1
        assert m.knots.waiting.shape[0] == slots + 1


def test_the_seasonal_naive_repeats_a_season_once_there_is_one():
    y, H = wavy(40, (7.0,)), 20
    m = state("small", (7.0,), H, y, ages=40)
    for t in range(40):
        opened(m)
        path(m, H)
        p = m.room
        last = y[t - 1] if t else y[0]
        np.testing.assert_allclose(p[:, 0], last, rtol=0, atol=1e-12)
        for h in range(1, H + 1):
            back = t + h - 1 - 7 * math.ceil(h / 7)
            want = y[back] if back >= 0 else last
            assert p[h - 1, 1] == pytest.approx(want, abs=1e-12)
        closed(m, y[t])


def test_the_first_round_is_not_judged():
    y = wavy(60, (), level=5.0)
    m = state("full", (), 3, y, ages=60)
    played(m, y[:1])
    assert (m.knots.scalars == 0.0).all()
    assert (m.knots.experts[:, :2] == 0.0).all()
    played(m, y[1:3])
    assert m.knots.scalars[0, 4] == 2.0
