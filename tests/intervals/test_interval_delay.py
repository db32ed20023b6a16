"""Targets that come late: `track` with a delay, against rounds one by one."""

import numpy as np
import pytest
from slow_twins import KEYWORDS, same

from states import copy
from stillpoint.intervals import IntervalTracker, QuantileTracker
from thorough import some

LEVELS = [0.9, 0.02, (0.1, 0.5, 0.95)]
T = 400


def stream(seed=0):
    """Forecasts, and targets of which some are missing."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(T) < 0.1, np.nan, np.cumsum(rng.standard_normal(T)))
    return rng.standard_normal(T), y


def teach(tracker, y):
    if np.isnan(y):
        tracker.skip()
    else:
        tracker.update(y)


def late_intervals(band, forecasts, y, delay):
    """Every row's interval, peeked at; then the row whose target has come is played."""
    rows = []
    for t, f in enumerate(forecasts):
        rows.append(band.peek(f))
        if t >= delay:
            band.predict(forecasts[t - delay])
            teach(band, y[t - delay])
    return tuple(np.array([row[side] for row in rows]) for side in (0, 1))


def late_quantiles(tracker, y, delay):
    rows = []
    for t in range(T):
        rows.append(copy(tracker).predict())
        if t >= delay:
            tracker.predict()
            teach(tracker, y[t - delay])
    return np.array(rows)


@pytest.mark.parametrize("delay", [0, 1, 7, T - 1, T, T + 5])
@pytest.mark.parametrize("keywords", some(KEYWORDS, every=2))
def test_late_intervals_are_peeked_at_and_learnt_later(keywords, delay):
    forecasts, y = stream()
    single, bulk = IntervalTracker(**keywords), IntervalTracker(**keywords)
    expected = late_intervals(single, forecasts, y, delay)
    np.testing.assert_array_equal(bulk.track(forecasts, y, delay=delay), expected)
    assert same(single, bulk)
    assert bulk.rounds == max(T - delay, 0)


@pytest.mark.parametrize("delay", some([0, 1, 7, T - 1, T, T + 5], every=2))
@pytest.mark.parametrize("level", LEVELS)
def test_late_quantiles_are_those_of_what_has_been_learnt(level, delay):
    y = stream()[1]
    single, bulk = QuantileTracker(level), QuantileTracker(level)
    expected = late_quantiles(single, y, delay)
    np.testing.assert_array_equal(bulk.track(y, delay=delay), expected)
    assert same(single, bulk)
    assert bulk.rounds == max(T - delay, 0)


def chunks(run, delay, cuts):
    """Whole streams in pieces: each call gets the rows that wait again, in front."""
    found = []
    for start, stop in zip([0, *cuts], [*cuts, T], strict=True):
        first = min(start, delay)
        found.append(run(slice(start - first, stop), first))
    return np.concatenate(found, axis=-1)


@pytest.mark.parametrize("cuts", [[1], [3, 4, 5], [200], [5, 5, 399]])
@pytest.mark.parametrize("delay", [0, 1, 6])
def test_chunks_are_the_whole(delay, cuts):
    forecasts, y = stream(1)
    for keywords in ({}, {"two_sided": True}):
        whole, band = IntervalTracker(**keywords), IntervalTracker(**keywords)

        def intervals(rows, first, band=band):
            return band.track(forecasts[rows], y[rows], delay=delay, first=first)

        expected = whole.track(forecasts, y, delay=delay)
        np.testing.assert_array_equal(chunks(intervals, delay, cuts), expected)
        assert same(whole, band)
    whole, tracker = QuantileTracker(0.3), QuantileTracker(0.3)

    def quantiles(rows, first):
        return tracker.track(y[rows], delay=delay, first=first)

    np.testing.assert_array_equal(chunks(quantiles, delay, cuts), whole.track(y, delay=delay))
    assert same(whole, tracker)


def test_refuses_delays_that_make_no_sense():
    band, tracker = IntervalTracker(), QuantileTracker()
    for bad in (-1, 1.0, True, "2", 10**200):
        with pytest.raises(ValueError, match=r"delay must be a whole number, 0 or more: got"):
            band.track([0.0], [0.0], delay=bad)
        with pytest.raises(ValueError, match=r"first must be a whole number, 0 or more: got"):
            tracker.track([0.0], delay=1, first=bad)
    with pytest.raises(ValueError, match=r"first must be at most delay \(1\) and the rows passed"):
        tracker.track([0.0, 1.0, 2.0], delay=1, first=2)
    with pytest.raises(ValueError, match=r"and the rows passed \(1\): got 2"):
        band.track([0.0], [0.0], delay=3, first=2)
    assert same(band, IntervalTracker())
    assert same(tracker, QuantileTracker())
