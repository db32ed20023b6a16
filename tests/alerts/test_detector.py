"""Changes in streams with seasons and trends: what is found, its name, and what is no change."""

import numpy as np
import pytest
from scipy.signal import lfilter

from stillpoint.alerts import Changes
from stillpoint.alerts._state import BY
from stillpoint.alerts.change import build, has_trend, waves
from stillpoint.alerts.detector import Detector
from stillpoint.alerts.sizes import columns, shape
from stillpoint.core._harmonics import fill
from thorough import some


def noise(rng, rows, memory=0.0):
    y = lfilter([1.0], [1.0, -memory], rng.normal(size=rows + 100))[100:]
    return y * np.sqrt(1.0 - memory**2)


def bump(t, period=24):
    return 4.0 * np.exp(-(((t % period) / period - 0.3) ** 2) / 0.01)


def first_after(detector, y, row):
    return next((each for each in detector.track(y) if each.row >= row), None)


def outcomes(change, streams=12, rows=2000, later=400, season=bump, memory=0.0):
    """The first change declared after one in the season or the trend of each of some streams."""
    found = []
    for seed in range(streams):
        t = np.arange(rows + later)
        y = np.where(t < rows, season(t), change(t, t - rows))
        y = y + noise(np.random.default_rng([3, seed]), t.size, memory)
        found.append(first_after(Changes(), y, rows))
    return found


# seasons

SEASONS = {
    "a quarter later": lambda t, since: bump(t - 6),
    "three rows later": lambda t, since: bump(t - 3),
    "gone": lambda t, since: np.full(t.size, 4.0 * np.sqrt(np.pi) / 10),
    "twice as large": lambda t, since: 2.0 * bump(t) - 4.0 * np.sqrt(np.pi) / 10,
}


@pytest.mark.parametrize("name", some(SEASONS, every=2))
def test_a_moved_season_is_found_and_called_one(name):
    found = outcomes(SEASONS[name])
    assert sum(each is not None for each in found) >= 11
    records = [each for each in found if each]
    assert np.median([each.row for each in records]) <= 2060
    assert np.mean([each.kind == "season" for each in records]) >= 0.7
    sizes = [(each.before, each.after) for each in records if each.kind == "season"]
    before, after = np.median(sizes, axis=0)
    assert before == pytest.approx(1.8, abs=0.4)
    if name == "gone":
        assert after < 0.8
    if name == "twice as large":
        assert after == pytest.approx(2.0 * before, rel=0.3)


def test_a_level_that_moves_beside_a_season_is_called_one():
    found = outcomes(lambda t, since: bump(t) + 2.0)
    assert [each.kind for each in found].count("level up") >= 10
    sizes = [each.after - each.before for each in found if each.kind == "level up"]
    assert np.median(sizes) == pytest.approx(2.0, abs=0.2)


def test_a_season_is_found_with_its_period_and_only_where_there_is_one():
    rng, t = np.random.default_rng(5), np.arange(1500)
    for y, period in [
        (bump(t) + noise(rng, t.size), 24),
        (np.where(t % 7 > 4, -3.0, 0.0) + noise(rng, t.size, 0.5), 7),
        (noise(rng, t.size), 1),
        (noise(rng, t.size, 0.99), 1),
        (np.cumsum(noise(rng, t.size)), 1),
    ]:
        detector = Changes()
        detector.track(y)
        assert detector.period == period


def test_after_a_change_the_season_is_still_known():
    rng, t = np.random.default_rng(6), np.arange(1100)
    detector = Changes()
    detector.track(bump(t) + noise(rng, t.size) + np.where(t < 1000, 0.0, 8.0))
    assert [each.kind for each in detector.records] == ["level up"]
    assert detector.period == 24


def hours(seed, weeks, week=10.0):
    """A day and a week of hours, in noise of deviation 3."""
    t = np.arange(168 * weeks)
    weekday = week * (t // 24 % 7 < 5)
    return (
        20.0 * np.sin(t * np.pi / 12) + weekday + np.random.default_rng(seed).normal(0, 3, t.size)
    )


@pytest.mark.parametrize("size", [6.0, 12.0])
def test_a_level_that_jumps_beside_a_day_and_a_week_is_found_soon(size):
    for seed in range(5):
        y, detector = hours(seed, 12), Changes()
        y[1600:] += size
        first = detector.track(y)[0]
        assert (first.kind, detector._detector.longer) == ("level up", 168.0)
        assert 1600 <= first.row < 1620
        assert abs(first.start - 1600) <= 6


def test_weekends_are_no_changes_and_after_a_change_the_week_is_still_known():
    found = 0
    for seed in range(5):
        y, detector = hours(seed, 30), Changes()
        y[2400:] += 12.0
        found += len(detector.track(y))
        assert any(abs(each.start - 2400) <= 6 for each in detector.records)
    assert found <= 8  # five of which are the jumps; one in 10 000 rows is promised


def test_a_week_that_is_found_alone_stands_beside_the_day():
    """The autocorrelations of a day and a week as high as each other have one peak: the week's."""
    found, false = 0, 0
    for seed in range(20):
        rng, t = np.random.default_rng(seed), np.arange(3000) + seed * 17
        day = 2.0 * np.sin(t * np.pi / 12) + np.sin(t * np.pi / 6 + 1.0)
        y = day + 3.0 * (t % 168 < 120) + rng.normal(size=t.size)
        y[2000:] += 1.0
        rows = [change.row for change in Changes().track(y)]
        found += any(2000 <= row < 2600 for row in rows)
        false += sum(row < 2000 for row in rows)
    assert found >= 15
    assert false <= 4


def test_a_told_day_is_kept_and_a_week_found_beside_it():
    detector = Changes(period=24)
    detector.track(hours(3, 6))
    assert (detector.period, detector._detector.longer) == (24, 168.0)
    assert detector._detector.state.slow.shape == (6, 3)


def test_a_longer_season_that_is_not_there_is_not_taken_off():
    detector = Detector(10_000.0, 24.0, longer=168.0)
    detector.take(hours(1, 6, week=0.0))
    assert detector.state.slow.shape == (0, 3)
    detector.take(hours(2, 6))
    assert not detector.records or detector.records[0].row > 1000


@pytest.mark.parametrize("period", [96, 288])
def test_a_long_season_that_was_told_is_no_change(period):
    found, later = 0, 0
    for seed in range(4):
        t, rng = np.arange(12 * period), np.random.default_rng(100 + seed)
        y = 50.0 + 10.0 * np.sin(2.0 * np.pi * t / period) + rng.normal(size=t.size)
        y[9 * period :] += 4.0
        records = Changes(period=period).track(y)
        found += sum(each.row < 9 * period for each in records)
        later += any(abs(each.start - 9 * period) < 10 for each in records)
    assert (found <= 1, later) == (True, 4)


def test_a_long_season_that_nobody_told_is_known_once_changes_keep_coming():
    t, rng = np.arange(2880), np.random.default_rng(100)
    detector = Changes()
    records = detector.track(50.0 + 10.0 * np.sin(2.0 * np.pi * t / 144) + rng.normal(size=t.size))
    assert detector.period == 144
    assert 3 <= len(records) <= 8
    assert records[-1].row < 8 * 144


def test_a_longer_season_that_is_not_evident_begins_nothing_anew():
    t, y = np.arange(4000), np.random.default_rng(1).normal(size=4000)
    y += 2.0 * np.sin(np.pi * t / 12)
    y[3606:] += 1.5
    told, single = Changes(period=24), Detector(10_000.0, 24.0)
    found = told.track(y)
    # `told` looks for longer seasons, too, and has met one that is not there
    assert told._detector.longer > 24.0
    assert told._detector.state.slow.shape == (0, 3)
    assert found == single.take(y)
    assert found[0].row < 3640


# slopes


def test_a_moved_slope_is_found_and_mostly_called_one_fifty_rows_later():
    found = outcomes(lambda t, since: 0.05 * since, season=lambda t: 0.0 * t)
    assert all(found)
    assert np.median([each.row for each in found]) <= 2040
    slopes = [each for each in found if each.kind == "slope up"]
    assert len(slopes) >= 9
    assert np.median([each.after for each in slopes]) == pytest.approx(0.05, abs=0.015)
    assert np.median([each.before for each in slopes]) == pytest.approx(0.0, abs=0.005)


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_a_trend_is_no_change_and_one_that_ends_is(memory):
    rng, t, alarms, ends = np.random.default_rng(7), np.arange(4400), 0, []
    for _ in range(8):
        y = 0.02 * np.minimum(t, 4000) + noise(rng, t.size, memory)
        found = Changes().track(y)
        alarms += sum(each.row < 4000 for each in found)
        ends += [each for each in found if each.row >= 4000][:1]
    assert alarms <= 4  # 32 000 rows without a change
    assert len(ends) >= 7
    assert {each.kind for each in ends} <= {"slope down", "level down"}


def test_the_size_of_a_level_that_moves_on_a_trend_is_that_in_the_row_of_the_change():
    t, found = np.arange(700), []
    for seed in range(6):
        y = 120.0 + 0.1 * t + np.random.default_rng(seed).normal(0.0, 3.0, t.size)
        y[450:] -= 25.0  # from 165 to 140; the means of both sides are 142
        found += Changes(period=1).track(y)
    assert [each.kind for each in found] == ["level down"] * 6
    assert [each.before for each in found] == pytest.approx([165.0] * 6, abs=1.5)
    assert [each.after for each in found] == pytest.approx([140.0] * 6, abs=2.0)


def test_a_trend_joins_the_reference_and_leaves_it():
    rng, t = np.random.default_rng(8), np.arange(3000)
    detector = Detector(10_000.0)
    detector.take(0.05 * t[:1000] + rng.normal(size=1000))
    assert has_trend(detector.state)
    detector.take(50.0 + rng.normal(size=2000))
    assert not has_trend(detector.state)


# parts


@pytest.mark.parametrize("period", [0.0, 2.0, 3.0, 4.0, 7.0, 24.0, 365.25])
def test_columns_of_a_season_are_those_of_compiled_code(period):
    cycles, rows = waves(period), np.array([0.0, 1.0, 5.0, 1e6 + 3.0])
    table = columns(cycles, rows)
    assert table.shape[1] == build(10.0, period).season.size
    row = np.empty(table.shape[1])
    for i, t in enumerate(rows):
        fill(cycles, int(t), row)
        assert table[i] == pytest.approx(row, abs=1e-9)
    if period:
        assert np.linalg.matrix_rank(columns(cycles, np.arange(40.0))) == table.shape[1]


def test_calls_and_bulk_agree_where_season_and_trend_are_found():
    rng, t = np.random.default_rng(9), np.arange(1200)
    y = bump(t) + 0.02 * t + noise(rng, t.size) + np.where(t < 700, 0.0, 5.0)
    y[rng.random(t.size) < 0.05] = np.nan
    one, other = Changes(), Changes()
    for value in y:
        one.skip() if np.isnan(value) else one.update(value)
    for part in np.split(y, [100, 101, 705, 760]):
        other.track(part)
    assert one.records == other.records != []
    assert one.period == other.period == 24
    left, right = one.arrays(), other.arrays()
    assert all(np.array_equal(left[name], right[name], equal_nan=True) for name in left)


@pytest.mark.parametrize("cut", [90, 500, 702, 730, 1100])
def test_a_detector_with_a_season_is_restored_bit_for_bit(cut):
    rng, t = np.random.default_rng(10), np.arange(1200)
    y = bump(t) + 0.02 * t + noise(rng, t.size) + np.where(t < 700, 0.0, 5.0)
    detector, restored = Changes(), Changes()
    detector.track(y[:cut])
    restored.restore(detector.arrays())
    assert restored.track(y[cut:]) == detector.track(y[cut:])
    assert restored.records == detector.records
    assert restored.evidence == detector.evidence
    assert restored.rounds == detector.rounds == 1200


def test_a_told_period_is_kept_and_its_file_fits_no_other():
    detector = Changes(period=12)
    detector.track(noise(np.random.default_rng(11), 800))
    assert detector.period == 12
    with pytest.raises(ValueError, match="period that was told"):
        Changes(period=7).restore(detector.arrays())
    Changes(period=12).restore(detector.arrays())


def test_what_is_learnt_anew_for_a_season_places_no_bets():
    rng, t = np.random.default_rng(12), np.arange(500)
    detector = Detector(10_000.0)
    detector.take(bump(t) + noise(rng, t.size))
    before = detector.state.clock.copy()
    detector._rebuild(24.0, False, detector.state.slow)
    assert not detector.records
    assert (detector.state.bets[0] == 0.0).all()
    kept = [BY.row, BY.values, BY.since, BY.found]
    assert (detector.state.clock[kept] == before[kept]).all()


def test_a_stretch_that_went_back_is_not_what_the_stream_is_compared_with():
    delays = []
    for seed in range(10):
        y = np.random.default_rng([13, seed]).normal(size=1700)
        y[1000 : 1010 + 2 * seed] -= 5.0  # back before the next alarm is possible
        y[1500:] += 3.0
        found = first_after(Changes(), y, 1500)
        delays.append(found.row - 1500 if found else np.inf)
    assert np.median(delays) <= 5
    assert sum(delay > 20 for delay in delays) <= 1


def test_usual_periods_are_told_from_their_neighbours_early():
    t = np.arange(200)
    for seed in range(10):
        detector = Changes()
        y = 5.0 * np.sin(t * np.pi / 12) + np.random.default_rng([14, seed]).normal(size=t.size)
        detector.track(y)
        assert detector.period == 24


def test_memory_of_three_rows_is_no_season():
    e = np.random.default_rng(2).normal(size=1500)
    y = lfilter([1.0], [1.0, 0.0, 0.0, -0.9], e)  # y_t = 0.9·y_{t−3} + e_t
    detector = Detector(10_000.0)
    detector.take(y)
    for period in (6.0, 12.0, 24.0):
        assert not shape(detector.state, waves(period), False)[0]
    detector = Detector(10_000.0)
    detector.take(y + 3.0 * np.sin(np.arange(y.size) * np.pi / 6.0))
    assert shape(detector.state, waves(12.0), False)[0]
