"""Harmonics of seasons that are no whole numbers, at any time, from short tables."""

import math
from fractions import Fraction

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series.harmonics import harmonics
from stillpoint.series.light._plan import OF, N
from stillpoint.series.light._turning import FINE, row_of, turn_to
from stillpoint.series.light.keys import Workshop
from stillpoint.series.light.plan import turning
from stillpoint.series.pool import POOLS
from thorough import some

YEAR = (7.0, 365.25)


def shop(periods=YEAR, horizon=5):
    model = sp.Forecaster(horizon, season=list(periods), pool="small")
    return Workshop(POOLS["small"], periods, horizon, model._engine.bands)


def exact(periods, time):
    """Cosines, then sines, of frequencies as they are in floats, all turns taken out exactly."""
    turns = [float(Fraction(f) * time % 1) for f, _ in harmonics(periods).frequencies]
    return [f(2.0 * math.pi * turn) for f in (math.cos, math.sin) for turn in turns]


@pytest.mark.parametrize(
    "time", some([0, FINE - 3, FINE, 12_345, 999_999, 1_000_000, 40_000_000], every=2)
)
def test_rows_are_those_of_their_times_however_late(time):
    own = shop()
    own.cover(time)
    plan = own.kit.plan
    turn_to(plan, time, 5)
    for h in range(5):
        off = np.abs(row_of(plan, time + h, h) - exact(YEAR, time + h)).max()
        assert off < 1e-12 * max(1.0, time / 1e6)


def test_a_million_rounds_need_no_table_of_them():
    own = shop()
    own.cover(1_000_000)
    assert own.kit.plan.harmonics.nbytes < 3e6
    assert turning(harmonics(YEAR).frequencies, harmonics(YEAR).columns, 100).shape[0] == 100


def test_whole_seasons_have_their_table():
    plan = shop((4.0, 12.0)).kit.plan
    assert plan.n[N.fine] == 0
    np.testing.assert_array_equal(row_of(plan, 29, 0), plan.harmonics[5])


def test_late_rounds_go_on_to_the_bit():
    y = wavy(90, YEAR, level=20.0)
    bulk, single = (sp.Forecaster(3, season=[7, 365.25], pool="small") for _ in range(2))
    for model in (bulk, single):
        model.track(y[:40])
        model._engine._keys.counts[0, [OF.now, OF.rounds]] += 3 * FINE - 20  # as after so many
        model._engine.history.rounds += 3 * FINE - 20
    said = bulk.track(y[40:])
    for t, value in enumerate(y[40:]):
        assert single.predict() == said[t]
        single.update(value)
    np.testing.assert_array_equal(single.predict(horizon=3), bulk.predict(horizon=3))


def test_saved_forecasters_go_on_to_the_bit():
    y = 20.0 + wavy(1200, (30.5,)) + noise(1200)
    whole = sp.Forecaster(4, season=[30.5], pool="small")
    said = whole.track(y)
    first = sp.Forecaster(4, season=[30.5], pool="small")
    first.track(y[:1100])
    rest = persist.unpack(persist.pack(first)).track(y[1100:])
    np.testing.assert_array_equal(rest, said[1100:])
