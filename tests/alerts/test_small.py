"""Anomalies with a small memory: a slow twin, exact p-values, the bound on alarms, saving."""

import copy
import math

import numpy as np
import pytest
from naive_small import NaiveSmall

import stillpoint as sp
from stillpoint.alerts import _largest
from stillpoint.alerts._anomalies import BY
from stillpoint.alerts.small import view
from thorough import some, some_of


def streams():
    """Values and forecasts: gaps in both, ties, a season, a constant, growth."""
    rng = np.random.default_rng(5)
    hour = np.arange(900)
    gaps = rng.standard_t(3, 900)
    gaps[rng.random(900) < 0.1] = np.nan
    blind = np.where(rng.random(900) < 0.2, np.nan, 0.0)
    spiked = rng.normal(50.0, 2.0, 900)
    spiked[[150, 420, 800]] += 30.0
    return {
        "gaps": (gaps, blind),
        "whole numbers": (rng.poisson(3.0, 900) * 1.0, np.full(900, 3.0)),
        "spikes": (spiked, np.full(900, 50.0)),
        "a season": (5.0 * np.sin(hour * np.pi / 6.0) + rng.normal(size=900), np.zeros(900)),
        "a constant": (np.full(900, 7.0), np.full(900, 7.0)),
        "growth": (rng.normal(size=900) * 1.01**hour, np.zeros(900)),
    }


STREAMS = streams()


def row_of(detector):
    return view(detector.arrays()["row"])


@pytest.mark.parametrize(
    ("name", "period", "rate"), some_of(STREAMS, [None, 12], [1e-3, 0.05], every=4)
)
def test_a_slow_twin_has_the_same_p_values_and_records(name, period, rate):
    y, forecasts = STREAMS[name]
    detector = sp.Anomalies(rate, period=period, memory="small")
    p, found = detector.track(y, forecasts)
    twin = NaiveSmall(rate, period or 1)
    told = [twin.update(*pair) for pair in zip(y.tolist(), forecasts.tolist(), strict=True)]
    np.testing.assert_allclose(p, [each[0] for each in told], rtol=1e-9)
    candidates = {row: each for row, each in enumerate(told) if each[3] is not None}
    assert {each.row for each in found} <= set(candidates)
    if rate == 0.05 and name != "growth":  # the bound does not bind here
        assert {each.row for each in found} == set(candidates)
    for each in found:
        _, first, second, ends = candidates[each.row]
        assert (each.p_forecast, each.p_level) == pytest.approx((first, second), rel=1e-9)
        assert (each.lo, each.hi) == pytest.approx(ends, rel=1e-9)
        assert (each.value, each.p) == (y[each.row], p[each.row])
    own = row_of(detector)
    for cells, ranks in ((own.errors, twin.errors), (own.stretches, twin.stretches)):
        sample, largest = cells[: len(ranks.sample)], cells[_largest.SAMPLE :]
        np.testing.assert_allclose(sample, ranks.sample, rtol=1e-9, atol=1e-12)
        kept = largest[: len(ranks.largest)]
        np.testing.assert_allclose(kept, ranks.largest, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", some(STREAMS, every=2))
def test_rows_one_by_one_are_the_whole_stream_bit_for_bit(name):
    y, forecasts = STREAMS[name]
    whole, single = (sp.Anomalies(0.02, memory="small") for _ in range(2))
    p, found = whole.track(y, forecasts)
    again, alarms = [], []
    for value, forecast in zip(y.tolist(), forecasts.tolist(), strict=True):
        if math.isnan(value):
            single.skip()
            told = None
        else:
            expected = single.score(value, forecast=forecast)
            told = single.update(value, forecast=forecast)
            assert single.p == expected
        again.append(single.p)
        alarms += [] if told is None else [told]
    np.testing.assert_array_equal(p, again)
    assert found == alarms
    assert single.records == alarms[-1:]
    np.testing.assert_array_equal(whole.arrays()["row"], single.arrays()["row"])


def test_ranks_are_exact_while_all_rows_are_kept_and_among_the_largest_after():
    x = np.random.default_rng(2).exponential(size=3000)
    cells = np.zeros(_largest.ROOM)
    for n, value in enumerate(x):
        p, exact = _largest.share(cells, n, value), (1 + (x[:n] >= value).sum()) / (n + 1)
        if n <= _largest.SAMPLE or exact <= _largest.LARGEST / (n + 1):
            assert p == exact
        else:
            assert p >= (_largest.LARGEST + 1) / (n + 1)
        _largest.insert(cells, n, value)
    np.testing.assert_array_equal(cells[_largest.SAMPLE :], np.sort(x)[-_largest.LARGEST :])
    p = [_largest.share(cells, x.size, value) for value in np.sort(x)]
    assert (np.diff(p) <= 0.0).all()


def test_p_values_of_exchangeable_errors_are_exact_in_ranks_and_in_the_sample():
    streams, n = 4000, 400
    x, ranks = np.random.default_rng(3).standard_t(2, (streams, n + 1)), np.empty(streams)
    for i, own in enumerate(x):
        detector = sp.Anomalies(memory="small")
        detector.track(own, np.zeros(n + 1))
        ranks[i] = detector.p_forecast
    for a in [k / (n + 1) for k in (1, 4, 20, 64)]:  # of the largest: exactly as often
        error = math.sqrt(a * (1.0 - a) / streams)
        assert (ranks <= a + 1e-12).mean() == pytest.approx(a, abs=4.0 * error)
    for a in (0.2, 0.3, 0.5, 0.8):  # below them as often or less, by one place in the sample
        error, place = math.sqrt(a * (1.0 - a) / streams), 1.0 / 90.0
        assert a - place - 4.0 * error <= (ranks <= a).mean() <= a + 4.0 * error


def test_the_sample_has_rows_of_all_times():
    cells = np.zeros(_largest.ROOM)
    for n in range(10_000):
        _largest.insert(cells, n, float(n))
    rows = np.sort(cells[: _largest.SAMPLE])
    assert np.unique(rows).size == _largest.SAMPLE
    # largest distance to the uniform law (Kolmogorov): beyond this once in a thousand
    assert np.abs(rows / 10_000 - np.arange(128) / 128).max() < 1.95 / math.sqrt(128)


def test_ends_are_the_quantile_of_errors():
    rng = np.random.default_rng(6)
    y = rng.normal(size=3000)
    y[-1] = 60.0
    for rate in (1e-3, 0.01, 0.2):
        found = sp.Anomalies(rate, memory="small").track(y, np.ones(3000))[1]
        told = [each for each in found if each.row == 2999]
        if rate < 0.2:  # else the row before it was unusual, too
            over = (np.abs(y[:-1] - 1.0) > told[0].hi - 1.0).sum()
            assert over == math.floor(rate * 3000) - 1
            assert told[0].lo == pytest.approx(2.0 - told[0].hi)


@pytest.mark.parametrize("rate", [1e-4, 1e-3, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_alarms_stay_within_the_bound_on_streams_made_to_raise_them(seed, rate):
    rng = np.random.default_rng(seed)
    rows, gap = 40_000, int(rng.integers(101, 130))
    size = np.cumprod(1.0 + rng.random(rows // gap + 1)) ** 0.3
    y = rng.normal(size=rows) * 1e-3
    y[::gap] = size[: y[::gap].size]
    detector = sp.Anomalies(rate, memory="small")
    p, found = detector.track(y, np.zeros(rows))
    wanted = np.flatnonzero(p <= rate)
    quiet = np.diff(wanted, prepend=-1000) > min(100, 0.1 / rate)
    assert len(found) == detector.alarms <= detector.alarm_bound()
    if rate < 0.01:
        assert quiet.sum() > detector.alarms > detector.alarm_bound() - 2.0  # it binds


def test_missing_rows_and_constants_are_no_alarms():
    detector = sp.Anomalies(0.01, memory="small")
    p, found = detector.track(np.r_[np.full(500, 3.0), np.nan], np.full(501, 3.0))
    assert (p[:-1] == 1.0).all()
    assert math.isnan(p[-1])
    assert not found
    assert math.isnan(detector.p)


def test_units_do_not_matter():
    y, forecasts = STREAMS["spikes"]
    p, found = sp.Anomalies(memory="small").track(y, forecasts)
    other, also = sp.Anomalies(memory="small").track(y * 2.0**-40, forecasts * 2.0**-40)
    np.testing.assert_allclose(p, other, rtol=1e-12)
    assert found[0].row == 150
    assert [each.row for each in found] == [each.row for each in also]


def test_a_saved_detector_goes_on_bit_for_bit(tmp_path):
    y, forecasts = STREAMS["gaps"]
    whole = sp.Anomalies(0.02, period=7, memory="small")
    p, found = whole.track(y, forecasts)
    detector = sp.Anomalies(0.02, period=7, memory="small")
    detector.track(y[:500], forecasts[:500])
    sp.save(detector, tmp_path / "detector")
    again = sp.load(tmp_path / "detector")
    assert again.config == detector.config
    for each in (again, copy.deepcopy(detector)):
        after, alarms = each.track(y[500:], forecasts[500:])
        np.testing.assert_array_equal(after, p[500:])
        assert alarms == [one for one in found if one.row >= 500]
        assert (each.alarms, each.rounds) == (whole.alarms, 900)


def test_rows_that_no_detector_has_are_refused():
    detector = sp.Anomalies(0.02, memory="small")
    detector.track(*STREAMS["spikes"])
    good = detector.arrays()

    def refused(change, match):
        state = {**good, "row": good["row"].copy()}
        change(view(state["row"]))
        with pytest.raises(ValueError, match=match):
            detector.restore(state)
        np.testing.assert_array_equal(detector.arrays()["row"], good["row"])

    def put(part, place, value):
        return lambda own: getattr(own, part).__setitem__(place, value)

    refused(put("clock", BY.errors, 1e9), "counts of one stream")
    refused(put("clock", BY.row, -1.0), "counts of one stream")
    refused(put("clock", BY.stretches, 0.5), "whole counts")
    refused(put("clock", BY.values, np.nan), "whole counts")
    refused(put("errors", 150, 1e9), "ranks in order")
    refused(put("errors", 3, -1.0), "sizes, 0 or above")
    refused(put("stretches", 150, np.nan), "sizes, 0 or above")
    refused(put("recent", 0, np.nan), "finite levels")
    refused(put("records", (0, 0), np.nan), "record")
    with pytest.raises(ValueError, match="row"):
        detector.restore({**good, "row": good["row"][:-1]})


def test_another_memory_is_refused():
    with pytest.raises(ValueError, match="memory must be 'full' or 'small': got 'tiny'"):
        sp.Anomalies(memory="tiny")
