"""IntervalTracker's calls: bulk and single ones, saving, refusals, peeking, what it tells."""

import numpy as np
import pytest
from slow_twins import KEYWORDS, STREAMS, drive, same

from states import copy
from stillpoint.intervals import IntervalTracker
from thorough import some


@pytest.mark.parametrize("keywords", some(KEYWORDS, every=2))
@pytest.mark.parametrize("name", some(STREAMS, every=2))
def test_bulk_is_single_calls_and_nothing_is_ever_nan(name, keywords):
    rng = np.random.default_rng(4)
    y, forecasts = STREAMS[name](rng, 700), rng.choice([0.0, 1.0]) * rng.standard_normal(700)
    single, bulk = IntervalTracker(**keywords), IntervalTracker(**keywords)
    lo, hi = drive(single, forecasts, y)
    some = [
        bulk.track(forecasts[part], y[part])
        for part in (slice(0, 1), slice(1, 300), slice(300, None))
    ]
    np.testing.assert_array_equal(np.concatenate([row[0] for row in some]), lo)
    np.testing.assert_array_equal(np.concatenate([row[1] for row in some]), hi)
    assert same(single, bulk)
    assert not any(np.isnan(value).any() for value in bulk.arrays().values())
    assert not (np.isnan(lo) | np.isnan(hi)).any()
    assert bulk.rounds == 700
    assert bulk.seen == 700 - np.isnan(y).sum()


@pytest.mark.parametrize("keywords", KEYWORDS)
@pytest.mark.parametrize("opened", [False, True])
def test_restored_trackers_go_on_bit_for_bit(keywords, opened):
    rng = np.random.default_rng(7)
    forecasts, y = rng.standard_normal(300), rng.standard_normal(300)
    band = IntervalTracker(**keywords)
    drive(band, forecasts[:150], y[:150])
    if opened:
        band.predict(forecasts[150])
    twin = copy(band)
    assert same(band, twin)
    for a, b in zip(
        drive(band, forecasts[150:], y[150:]), drive(twin, forecasts[150:], y[150:]), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert same(band, twin)


@pytest.mark.parametrize("opened", [False, True])
def test_refuses_bad_input_unchanged(opened):
    rng = np.random.default_rng(8)
    band = IntervalTracker(0.9)
    band.track(rng.standard_normal(50), rng.standard_normal(50))
    if opened:
        first = band.predict(0.5)
        assert band.predict(0.5) == first
    before = copy(band)
    calls = [
        (lambda: band.predict(np.nan), "forecast must be finite"),
        (lambda: band.predict("a"), "forecast must be a number"),
        (lambda: band.predict(1e151), "forecast must be within"),
        (lambda: band.update(np.inf), r"y must be finite.*skip\(\)"),
        (lambda: band.update(None), "y must be a number"),
        (
            lambda: band.track([0.0, np.nan], [0.0, 0.0]),
            "forecasts must be finite: got nan at index 1",
        ),
        (lambda: band.track([0.0, 0.0], [0.0, np.inf]), "y must be finite: got inf at index 1"),
        (lambda: band.track([0.0], [-1e200]), "y must be within"),
        (lambda: band.track([0.0, 1.0], [0.0]), "forecasts must be as many as y"),
        (lambda: band.track([[0.0]], [[0.0]]), "forecasts must be one-dimensional"),
    ]
    if opened:
        calls.append(
            (
                lambda: band.predict(0.6),
                "forecast must be that of the open round: got 0.6, open with 0.5; call update or",
            )
        )
        calls.append((lambda: band.track([0.0], [0.0]), "must start a new round"))
    else:
        calls.append(
            (
                lambda: band.update(0.0),
                r"y must belong to an open round.*call predict\(forecast\) first",
            )
        )
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(band, before)


@pytest.mark.parametrize(
    "coverage", [0.0, 1.0, 1.5, -0.1, np.nan, "a", [], [[0.5]], [0.5, 1.0], None]
)
def test_refuses_bad_coverage(coverage):
    with pytest.raises(ValueError, match="coverage must be"):
        IntervalTracker(coverage)


def test_skipped_rounds_teach_nothing():
    rng = np.random.default_rng(9)
    y = rng.standard_normal(200)
    plain, gappy = IntervalTracker(0.9), IntervalTracker(0.9)
    for target in y:
        plain.predict(0.0)
        plain.update(target)
        gappy.skip()
        gappy.predict(3.0)
        gappy.skip()
        gappy.predict(0.0)
        gappy.update(target)
    assert gappy.rounds == 600
    assert gappy.seen == plain.seen == 200
    assert gappy.predict(0.0) == plain.predict(0.0)


def test_what_it_tells_about_itself():
    rng = np.random.default_rng(10)
    band = IntervalTracker(0.9)
    assert (band.rounds, band.misses, band.coverage_so_far, band.radius) == (0, 0, 1.0, np.inf)
    assert band.miss_bound() == (0.0, 0.0)
    assert band.predict(2.0) == (-np.inf, np.inf)
    band.update(3.0)
    assert band.misses == 0
    band.track(np.zeros(300), rng.standard_normal(300))
    before = copy(band)
    radius = band.radius
    assert same(band, before)
    lo, hi = band.predict(0.0)
    assert hi == radius == -lo == band.radius
    assert band.weights.shape == (9,)
    assert band.weights.sum() == pytest.approx(1.0)
    assert IntervalTracker([0.5, 0.9]).weights.shape == (2, 9)
    assert IntervalTracker([0.5, 0.9], two_sided=True).weights.shape == (2, 2, 9)
    assert IntervalTracker([0.5, 0.9]).config == {
        "coverage": (0.5, 0.9),
        "two_sided": False,
        "empty": True,
        "delay": 0,
    }
    assert IntervalTracker((0.5,)).predict(1.0)[0].shape == (1,)


def test_peek_is_predict_and_changes_nothing():
    rng = np.random.default_rng(12)
    for arguments in ({}, {"two_sided": True}, {"coverage": [0.9, 0.5]}):
        band = IntervalTracker(**arguments)
        late = []  # targets five rounds late
        for t, z in enumerate(rng.standard_normal(200)):
            before = copy(band)
            shown = band.peek(0.1 * t)
            assert same(band, before)
            np.testing.assert_array_equal(shown, copy(band).predict(0.1 * t))
            late.append((0.1 * t, 0.1 * t + z))
            if len(late) > 5:
                forecast, y = late.pop(0)
                band.predict(forecast)
                band.update(y)
        assert band.seen == 195
    band.predict(1.0)
    with pytest.raises(
        ValueError,
        match="call update or skip first, or build it with delay= where targets come late",
    ):
        band.predict(2.0)
    assert np.all(band.peek(2.0)[0] < 2.0)
    for call in (lambda: band.update("1.0"), lambda: band.peek("1.0")):
        with pytest.raises(ValueError, match=r"must be a number: got '1\.0'; convert it first"):
            call()


def test_a_state_of_another_shape_is_refused_and_nothing_is_written():
    band = IntervalTracker([0.5, 0.9])
    band.track(np.zeros(30), np.random.default_rng(0).standard_normal(30))
    other, before = IntervalTracker([0.5, 0.9]), IntervalTracker([0.5, 0.9])
    for name in ("experts", "missed"):  # one estimator's would spread over all
        with pytest.raises(ValueError, match=f"state '{name}' must have shape"):
            other.restore({**band.arrays(), name: band.arrays()[name][:1]})
        assert same(other, before)
