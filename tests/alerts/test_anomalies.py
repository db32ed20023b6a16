"""Anomalies: a slow twin, the three promises, what is found, gaps, units, saving, bad input."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_anomalies import by_rank, detect
from scipy.signal import lfilter

import stillpoint as sp
from stillpoint.alerts import Anomaly
from stillpoint.alerts._anomalies import BY, errors
from stillpoint.alerts._pvalues import beyond, joined, pareto, share
from thorough import some, some_of


def garch(rng, n):
    e, out, h = rng.normal(size=n), np.empty(n), 1.0
    for t in range(n):
        out[t] = math.sqrt(h) * e[t]
        h = 0.05 + 0.1 * out[t] ** 2 + 0.85 * h
    return out


def wandering(rng, n, memory):
    return lfilter([1.0], [1.0, -memory], rng.normal(size=n + 500))[500:]


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "AR .8": lambda rng, n: wandering(rng, n, 0.8),
    "AR .99": lambda rng, n: wandering(rng, n, 0.99),
    "Poisson": lambda rng, n: rng.poisson(3.0, size=n) * 1.0,
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "season": lambda rng, n: 3.0 * np.sin(np.arange(n) * np.pi / 12) + rng.normal(size=n),
    "GARCH": garch,
}


def told(rng, n):
    """Values and forecasts of a stream with a spike, a stretch, gaps and rows without forecast."""
    y = rng.normal(size=n)
    y[n // 2] += 9.0
    y[3 * n // 4 : 3 * n // 4 + 30] += 3.0
    forecasts = 0.3 * rng.normal(size=n)
    y[rng.random(n) < 0.05] = np.nan
    forecasts[rng.random(n) < 0.05] = np.nan
    return y, forecasts


STREAMS = {
    "spike, stretch and gaps": told(np.random.default_rng(1), 900),
    "whole numbers": (np.random.default_rng(2).poisson(2.0, 700) * 1.0, np.full(700, 2.0)),
    "heavy": (np.random.default_rng(3).standard_cauchy(700), np.zeros(700)),
    "constant, then not": (
        np.r_[np.full(200, 5.0), np.random.default_rng(4).normal(size=300)],
        np.full(500, 5.0),
    ),
    "beyond the window": (np.random.default_rng(5).normal(size=5100), np.zeros(5100)),
}


# the slow twin


@pytest.mark.parametrize(
    ("name", "period", "rate"),
    [
        *some_of([*STREAMS][:-1], [1, 7], [0.001, 0.05], every=2),
        ("beyond the window", 7, 0.01),
    ],
)
def test_a_slow_twin_finds_the_same(name, period, rate):
    y, forecasts = STREAMS[name]
    alerts = sp.Anomalies(rate, period=period)
    p, found = alerts.track(y, forecasts)
    expected, exceedances, alarms = detect(y, forecasts, rate, period)
    assert p == pytest.approx(expected, rel=1e-9, nan_ok=True)
    assert [each.row for each in found] == alarms
    assert (alerts.exceedances, alerts.alarms) == (len(exceedances), len(alarms))


@pytest.mark.parametrize("name", STREAMS)
def test_whole_streams_give_the_bits_of_single_calls(name):
    y, forecasts = (part[:1200] for part in STREAMS[name])
    one, other = sp.Anomalies(0.02), sp.Anomalies(0.02)
    p, calls = [], []
    for now, forecast in zip(y, forecasts, strict=True):
        calls.append(one.skip() if np.isnan(now) else one.update(now, forecast=forecast))
        p.append(one.p)
    whole, found = other.track(y, forecasts)
    assert np.array_equal(p, whole, equal_nan=True)
    assert str([each for each in calls if each]) == str(found)
    assert str(one.records) == str(other.records) == str(found[-100:])
    assert one.rounds == other.rounds == y.size


def test_values_that_are_missing_first_leave_no_trace():
    """What a forecaster says that has only skipped rounds is no forecast."""
    y = 100.0 + np.random.default_rng(5).normal(size=60)
    whole = sp.Anomalies(forecaster=sp.VariationForecaster())
    whole.track([math.nan, math.nan, *y])
    for parts in ([[math.nan], [math.nan], y], [[math.nan] * 2, y[:1], y[1:]]):
        one = sp.Anomalies(forecaster=sp.VariationForecaster())
        for part in parts:
            one.track(part)
        for name, array in one.arrays().items():
            assert np.array_equal(array, whole.arrays()[name], equal_nan=True), name
    single = sp.Anomalies(forecaster=sp.VariationForecaster())
    single.skip(), single.skip()
    for now in y:
        single.update(now)
    assert single.score(200.0) == whole.score(200.0)


@pytest.mark.parametrize("forecaster", [sp.VariationForecaster, lambda: None])
def test_its_own_forecaster_gives_the_bits_of_single_calls(forecaster):
    y, _ = told(np.random.default_rng(6), 300)
    one, other = (sp.Anomalies(0.02, forecaster=forecaster()) for _ in range(2))
    p = []
    for now in y:
        one.skip() if np.isnan(now) else one.update(now)
        p.append(one.p)
    assert np.array_equal(p, other.track(y)[0], equal_nan=True)
    assert str(one.records) == str(other.records)


# the promises


@pytest.mark.parametrize("name", ["normal", "t3", "Poisson", "lognormal"])
def test_p_values_of_exchangeable_errors_are_never_too_small(name):
    # (a): exact for every size and every share, so streams of 60 rows, many of them
    rng, small, streams = np.random.default_rng(7), [], 600
    for _ in range(streams):
        y = LAWS[name](rng, 60)
        alerts = sp.Anomalies(0.05, period=1)
        alerts.track(y, np.zeros(60))
        small.append(alerts.p_forecast)
        assert alerts.p_forecast == pytest.approx(by_rank(np.abs(y[:-1]), abs(y[-1])))
    for a in (1 / 60, 0.05, 0.1, 0.3):
        share, most = np.mean(np.array(small) <= a + 1e-12), math.floor(60 * a + 1e-9) / 60
        deviation = math.sqrt(most * (1 - most) / streams)
        assert share <= most + 3 * deviation
        if name in ("normal", "t3", "lognormal"):  # without ties it is exactly that share
            assert share >= most - 3 * deviation


LIMITS = {"AR .99": 2.5, "GARCH": 2.5}


@pytest.mark.parametrize(("name", "rate"), some_of(LAWS, [0.001, 0.01], every=4))
def test_rates_are_held_on_streams_in_which_nothing_happens(name, rate):
    # (b): 40 000 rows; 2 deviations of the count that is allowed
    flags, alarms = 0, 0
    for seed in range(4):
        y = LAWS[name](np.random.default_rng([8, seed]), 10_000)
        alerts = sp.Anomalies(rate, forecaster=sp.VariationForecaster())
        alerts.track(y)
        flags, alarms = flags + alerts.exceedances, alarms + alerts.alarms
    allowed = 40_000 * rate * LIMITS.get(name, 1.5)
    assert flags <= allowed + 2 * math.sqrt(allowed)
    assert alarms <= 40_000 * rate * 1.5


@given(
    seed=st.integers(0, 10_000),
    rate=st.sampled_from([0.5, 0.1, 0.01, 0.001]),
    gap=st.integers(1, 150),
    growth=st.sampled_from([1.0, 1.3, 3.0]),
)
def test_alarms_stay_within_their_bound_on_streams_made_to_raise_them(seed, rate, gap, growth):
    # (c): ever larger spikes, each when the last is forgotten, on a level that leaves by itself
    rng, alerts, size = np.random.default_rng(seed), sp.Anomalies(rate, period=1), 10.0
    for t in range(1200):
        spike = t % (100 + gap) == 0
        size = min(size * growth, 1e100) if spike else size
        alerts.update(rng.normal() + (size if spike else 1e-3 * t), forecast=0.0)
        assert alerts.alarms <= alerts.alarm_bound()
    bound = rate * 1200 + 3 * math.sqrt(rate * (1 - rate) * 1300) + 1
    assert alerts.alarm_bound() == pytest.approx(bound)


def test_the_bound_is_reached_by_a_stream_that_asks_for_it():
    # after 100 quiet rows every spike is an alarm; without the bound there would be 30 of them
    alerts, size = sp.Anomalies(0.001, period=1), 1.0
    rng = np.random.default_rng(9)
    for t in range(6000):
        spike = t > 500 and t % 150 == 0
        size *= 10.0 if spike else 1.0
        alerts.update(rng.normal() * (size if spike else 1.0), forecast=0.0)
    assert alerts.alarm_bound() - 2.0 <= alerts.alarms <= alerts.alarm_bound()


# what is found


def test_a_lone_spike_is_an_alarm_that_says_what_was_expected():
    rng, found, clean = np.random.default_rng(10), 0, 0
    for _ in range(20):
        y = 50.0 + rng.normal(size=1500)
        y[1200] -= 10.0
        _, alarms = sp.Anomalies(0.001, forecaster=sp.VariationForecaster()).track(y)
        hits = [each for each in alarms if each.row == 1200]
        clean += len(alarms) - len(hits)
        found += len(hits)
        for each in hits:
            assert each.sign == -1
            assert each.value == y[1200] < each.lo < each.expected < each.hi
            assert each.p <= 0.001
            assert each.p_forecast == pytest.approx(1 / 1200, rel=0.5)
    assert found >= 19
    assert clean <= 0.001 * 30_000 * 1.5


def test_a_stretch_that_leaves_the_level_is_told_once():
    rng, told_of = np.random.default_rng(11), []
    for _ in range(20):
        y = rng.normal(size=1500)
        y[1200:1260] += 5.0
        _, alarms = sp.Anomalies(0.001, forecaster=sp.VariationForecaster()).track(y)
        told_of.append(sum(1200 <= each.row < 1360 for each in alarms))
    assert max(told_of) == 1
    assert np.mean(told_of) >= 0.8  # one in ten has an exceedance by chance in the 100 rows before


def test_a_higher_rate_finds_no_less():
    found = []
    for rate in (0.001, 0.01, 0.05):
        told = 0
        for seed in range(20):
            y = np.random.default_rng(seed).normal(size=1500)
            y[1200] += 12.0
            _, alarms = sp.Anomalies(rate, forecaster=sp.VariationForecaster()).track(y)
            told += any(each.row == 1200 for each in alarms)
        found.append(told)
    # chance silences a row of ten at the most
    assert min(found) >= 17


def test_a_season_is_no_anomaly_and_its_period_is_found():
    rng, t = np.random.default_rng(12), np.arange(3000)
    y = 5.0 * np.sin(t * np.pi / 12) + rng.normal(size=t.size)
    y[2500] += 9.0
    alerts = sp.Anomalies(0.001)
    _, alarms = alerts.track(y)
    assert alerts.period == 24
    assert 2500 in [each.row for each in alarms]
    assert len(alarms) <= 6


def test_constants_are_no_alarms_and_missing_rows_count():
    alerts = sp.Anomalies(0.5)
    p, alarms = alerts.track(np.full(3000, 7.0))
    assert (p == 1.0).all()
    assert alarms == []
    alerts = sp.Anomalies(0.001, forecaster=sp.VariationForecaster())
    y = np.random.default_rng(13).normal(size=1000)
    y[600] = 30.0
    gapped = np.full(2000, np.nan)
    gapped[::2] = y
    p, alarms = alerts.track(gapped)
    assert 1200 in [each.row for each in alarms]
    assert np.isnan(p[1::2]).all()
    assert alerts.alarm_bound() < sp.alerts.anomaly.bound(0.001, 2000)  # 1000 values


@pytest.mark.parametrize(("shift", "unit"), [(1e3, 1.0), (-3.0, 1e-6), (7e4, 250.0)])
def test_units_and_shifts_move_nothing_but_the_values(shift, unit):
    y, forecasts = told(np.random.default_rng(14), 800)
    p, alarms = sp.Anomalies(0.01).track(y, forecasts)
    moved, other = sp.Anomalies(0.01).track(shift + unit * y, shift + unit * forecasts)
    assert moved == pytest.approx(p, rel=1e-6, nan_ok=True)
    assert [each.row for each in other] == [each.row for each in alarms]


# p-values


def test_the_tail_is_continuous_falls_and_joins_the_rank_at_its_edge():
    x = np.geomspace(1.0, 1e6, 50)
    p = [pareto(each, 1.0, 8.0, 10, 999) for each in x]
    assert p[0] == pytest.approx(11 / 1000)
    assert (np.diff(p) < 0).all()


def test_the_product_of_two_uniform_p_values_is_uniform_after_fisher():
    rng = np.random.default_rng(15)
    p = np.sort([joined(*pair) for pair in rng.random((4000, 2))])
    assert np.abs(p - np.arange(0.5, 4000) / 4000).max() < 1.6 / math.sqrt(4000)


def test_a_pareto_tail_is_calibrated_far_out():
    rng, hits, rows = np.random.default_rng(16), 0, 0
    for _ in range(30):
        alerts = sp.Anomalies(0.001, period=1)
        alerts.track(rng.pareto(2.0, size=3000) + 1.0, np.zeros(3000))
        past = errors(alerts._memory.state)
        tail = [beyond(past, x, share(past, x)) for x in rng.pareto(2.0, size=1000) + 1.0]
        hits, rows = hits + np.sum(np.array(tail) <= 1e-3), rows + 1000
    assert hits / rows == pytest.approx(1e-3, rel=0.5)


# saving and bad input


@pytest.mark.parametrize("cut", some([0, 1, 30, 450, 700], every=2))
@pytest.mark.parametrize("memory", ["full", "small"])
def test_a_saved_detector_goes_on_bit_for_bit(cut, memory, tmp_path):
    y, _ = told(np.random.default_rng(17), 900)
    alerts = sp.Anomalies(0.02, forecaster=sp.VariationForecaster(), memory=memory)
    alerts.track(y[:cut])
    sp.save(alerts, tmp_path / "alerts")
    loaded, twin = sp.load(tmp_path / "alerts"), copy.deepcopy(alerts)
    rest = alerts.track(y[cut:])
    for other in (loaded, twin):
        p, found = other.track(y[cut:])
        assert np.array_equal(p, rest[0], equal_nan=True)
        assert str(found) == str(rest[1])
        assert str(other.records) == str(alerts.records)


def test_a_new_state_makes_a_used_detector_new():
    used, new = sp.Anomalies(), sp.Anomalies()
    y = np.random.default_rng(0).normal(size=60)
    used.track(y)
    used.restore(new.arrays())
    assert used.arrays().keys() == new.arrays().keys()
    np.testing.assert_array_equal(used.track(y)[0], new.track(y)[0])
    for name, value in used.arrays().items():
        np.testing.assert_array_equal(value, new.arrays()[name])


@pytest.mark.parametrize("rows", [0, 1, 40])
def test_a_detector_whose_forecaster_is_built_when_asked_is_saved(rows, tmp_path):
    y, _ = told(np.random.default_rng(18), 60)
    alerts = sp.Anomalies(0.02)
    alerts.track(y[:rows])
    sp.save(alerts, tmp_path / "alerts")
    p, _ = sp.load(tmp_path / "alerts").track(y[rows:])
    assert np.array_equal(p, alerts.track(y[rows:])[0], equal_nan=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "1.5", None, 1e200, 1e100])
def test_bad_values_are_refused_and_nothing_has_moved(bad):
    alerts = sp.Anomalies(forecaster=sp.VariationForecaster())
    alerts.track([1.0, 2.0, 3.0])
    before = str(alerts.arrays())
    with pytest.raises(ValueError, match="must be"):
        alerts.update(bad)
    with pytest.raises(ValueError, match="must be"):
        alerts.track([1.0, np.inf if bad in (None, np.nan) else bad])
    assert str(alerts.arrays()) == before
    alerts.track([4.0])  # no round was left open


def test_forecasts_are_given_in_every_row_or_in_none():
    alerts = sp.Anomalies()
    alerts.update(1.0, forecast=0.5)
    with pytest.raises(ValueError, match="in every row or in none"):
        alerts.update(1.0)
    with pytest.raises(ValueError, match="as many as y"):
        alerts.track([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="forecast must be"):
        alerts.update(1.0, forecast=math.inf)
    with pytest.raises(ValueError, match=r"predict\(\) and update"):
        sp.Anomalies(forecaster=3)


@pytest.mark.parametrize("rate", [0, 1e-7, 0.6, -1, np.nan, "often", None])
def test_rates_that_cannot_be_are_refused(rate):
    with pytest.raises(ValueError, match="rate must be"):
        sp.Anomalies(rate)


@pytest.mark.parametrize("period", [0, 2.5, -1, 10**6, "day"])
def test_periods_that_cannot_be_are_refused(period):
    with pytest.raises(ValueError, match="period must be"):
        sp.Anomalies(period=period)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("clock", lambda x: x + 10**6),
        ("clock", lambda x: -x),
        ("errors", lambda x: x[:-1]),
        ("errors", lambda x: x * np.nan),
        ("stretches", lambda x: np.zeros(9000)),
        ("history", lambda x: x[:-1]),
        ("phases", lambda x: np.zeros((9000, 2))),
        ("records", lambda x: x + 1e9),
        ("look", lambda x: 3),
        ("told", lambda x: 7),
    ],
)
def test_states_that_no_detector_has_are_refused_and_nothing_is_written(name, change):
    alerts = sp.Anomalies(0.05)
    alerts.track(*told(np.random.default_rng(18), 400))
    state, new = alerts.arrays(), sp.Anomalies(0.05)
    before = str(new.arrays())
    state[name] = change(state[name])
    with pytest.raises(ValueError, match=r"state|told"):
        new.restore(state)
    assert str(new.arrays()) == before


def test_a_record_says_what_it_is():
    names = ("row", "value", "expected", "lo", "hi", "p", "p_forecast", "p_level", "sign")
    assert Anomaly._fields == names
    assert "rate=0.001" in repr(sp.Anomalies())
    assert sp.Anomalies()._memory.state.clock[BY.row] == 0
