"""Changes: a slow twin, false alarms, what is found and how exactly, gaps, units, saving."""

import bisect
import copy

import numpy as np
import pytest
from naive_changes import detect

from stillpoint.alerts import Change, Changes, _bets, _changes
from stillpoint.alerts import change as module
from stillpoint.alerts._state import AT
from stillpoint.alerts.detector import Detector
from thorough import some, some_of


def autoregression(e, a):
    y = np.zeros(e.size)
    for t in range(1, e.size):
        y[t] = a * y[t - 1] + e[t]
    return y


def jumping(seed=3, rows=900):
    """Level up at 300, wider at 600, gaps."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows)
    y[600:] *= 4
    y[300:] += 6
    y[rng.random(rows) < 0.1] = np.nan
    return y


def zeros(rng, rows, share=0.7):
    """Rain: a share of the rows at 0, others anywhere above."""
    return np.where(rng.random(rows) < share, 0.0, rng.exponential(size=rows))


def held(value, rows):
    return np.full(rows, float(value))


STREAMS = {
    "jumps and gaps": jumping(),
    "whole numbers": np.random.default_rng(1).poisson(np.repeat([2.0, 9.0], 300)) * 1.0,
    "autoregression": autoregression(np.random.default_rng(2).normal(size=700), 0.8)
    + np.repeat([0.0, 12.0], 350),
    "constant, then not": np.r_[
        held(5, 250), held(7, 60), np.random.default_rng(4).normal(size=200)
    ],
    "constant after noise": np.r_[np.random.default_rng(5).normal(size=300), held(0.5, 150)],
    "one blip": np.r_[held(0, 90), 3.0, held(0, 200)],
    "typos": autoregression(np.random.default_rng(8).normal(size=500), 0.5)
    + np.where(np.arange(500) % 90 == 80, 60.0, 0.0),
    "zeros in between": zeros(np.random.default_rng(7), 600) + np.repeat([0.0, 3.0], 300),
}


def with_season_and_trend():
    """A season of 12, a trend, a level that goes up at 500, gaps."""
    rng, t = np.random.default_rng(6), np.arange(900)
    y = 4.0 * np.cos(t * np.pi / 6) + 0.05 * t + rng.normal(size=t.size) + np.where(t < 500, 0, 6)
    y[::17] = np.nan
    return y


# the slow twin


SHAPES = {
    "plain": {},
    "season": {"period": 12},
    "short season": {"period": 4},
    "long season": {"period": 45},
    "trend": {"trend": True},
    "both": {"period": 7, "trend": True},
    "longer season": {"period": 12, "slow": np.array([[1 / 84, 3.0, -1.0], [1 / 42, 0.0, 2.0]])},
}


@pytest.mark.parametrize(
    ("name", "shape", "every"),
    some_of([*STREAMS, "season and trend"], SHAPES, [20, 10_000], every=4),
)
def test_a_slow_twin_finds_the_same(name, shape, every):
    y = STREAMS.get(name, with_season_and_trend())
    records, evidence = detect(y, every, **SHAPES[shape])
    state, M = module.build(every, **SHAPES[shape]), []
    for value in y:
        _changes.close_round(state, value, np.nan)
        M.append(state.scalars[AT.evidence])
    assert M == pytest.approx(evidence, rel=1e-5, abs=1e-9)
    assert [each[:3] for each in module.records(state)] == [each[:3] for each in records]
    if every == 20 and shape == "plain":
        assert records or name == "one blip"


def test_ranks_beyond_the_last_5000_errors_do_not_count():
    y = np.random.default_rng(7).normal(size=5200)
    _, evidence = detect(y, 1e9)
    detector = Changes(1e9, period=1)
    detector.track(y)
    assert detector.evidence == pytest.approx(evidence[-1], rel=1e-6)
    assert detector.arrays()["errors"].size == 5000


# false alarms


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "Poisson": lambda rng, n: rng.poisson(3.0, size=n) * 1.0,
    "rare events": lambda rng, n: rng.poisson(0.1, size=n) * 1.0,
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "autoregression": lambda rng, n: autoregression(rng.normal(size=n), 0.8),
    "random walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
    "season": lambda rng, n: 3.0 * np.sin(np.arange(n) * np.pi / 12) + rng.normal(size=n),
    "zeros in between": zeros,
    "cut at 0": lambda rng, n: np.maximum(rng.normal(size=n), 0.0),
    "rain in tenths": lambda rng, n: np.round(6.0 * zeros(rng, n), 1),
}


EXCHANGEABLE = ["normal", "Poisson", "rare events", "lognormal"]


@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_ranks_without_change_take_as_many_rows_to_an_alarm_as_promised(name):
    rng, every, waits = np.random.default_rng(8), 200.0, []
    for _ in range(150):
        window, bets = [], _changes.bets(module.build(every))
        for t, value in enumerate(LAWS[name](rng, 5000)):
            less = bisect.bisect_left(window, value)
            ties, u = bisect.bisect_right(window, value) - less, rng.random()
            down = (less + u * (ties + 1)) / (t + 1)
            if _bets.bet(bets, down, 1.0 - down, t, np.nan) >= every:
                break
            window.insert(less, value)
        waits.append(t + 1)
    deviation = np.std(waits) / np.sqrt(len(waits))
    assert np.mean(waits) - 2.0 * deviation > every
    assert np.mean(waits) < 5.0 * every  # and it does alarm


@pytest.mark.parametrize("rows", [100_000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in EXCHANGEABLE[1:])) for name in LAWS],
)
def test_false_alarms_come_at_most_as_often_as_promised(name, rows):
    y, promised = LAWS[name](np.random.default_rng(9), rows), rows / 10_000
    assert len(Changes().track(y)) <= promised + 2 * promised**0.5  # two deviations


def test_a_constant_stream_has_no_changes_and_no_evidence():
    detector = Changes(every=2)
    assert detector.track(held(3.7, 20_000)) == []
    assert detector.evidence == 0.0


def test_one_value_that_differs_in_a_constant_stream_is_no_change():
    assert Changes().track(STREAMS["one blip"]) == []


def test_one_outlier_is_rarely_taken_for_a_change():
    rng, alarms = np.random.default_rng(10), 0
    for _ in range(40):
        y = rng.normal(size=1500)
        y[1000] += 100.0
        alarms += len(Changes().track(y))
    assert alarms <= 12


def test_one_typo_in_a_season_is_rarely_taken_for_a_change():
    hour, alarms = np.arange(1500), 0
    for seed in range(10):
        y = 6 * np.cos(hour * np.pi / 12) + 4 * (hour // 24 % 7 < 5)
        y = y + np.random.default_rng(seed).normal(size=1500)
        y[700] += 50.0
        alarms += any(700 <= each.row < 800 for each in Changes().track(y))
    assert alarms <= 1


def test_a_jump_that_stays_is_one_that_an_autoregression_follows():
    # the value far off is confirmed by the next, and the lags have it: no more errors than one
    rng, alarms = np.random.default_rng(12), 0
    for _ in range(10):
        e = rng.normal(size=1500)
        e[700] = 15.0
        alarms += any(700 <= each.row < 720 for each in Changes().track(autoregression(e, 0.9)))
    assert alarms <= 1


# what is found


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_jumps_of_the_level_are_found_in_a_few_rows(sign):
    rng, found = np.random.default_rng(11), []
    for _ in range(30):
        y = rng.normal(size=1200)
        y[1000:] += sign * 5.0
        found.append(Changes().track(y)[-1])
    kind = "level up" if sign > 0 else "level down"
    assert np.mean([each.kind == kind for each in found]) >= 0.8
    level = [each for each in found if each.kind == kind]
    assert np.median([each.row for each in found]) <= 1004
    assert np.median([abs(each.start - 1000) for each in level]) <= 1
    assert np.mean([each.before for each in level]) == pytest.approx(0.0, abs=0.05)
    assert np.mean([each.after for each in level]) == pytest.approx(sign * 5.0, abs=0.3)


@pytest.mark.parametrize(("factor", "kind"), [(3.0, "wider"), (1 / 6, "narrower")])
def test_changes_of_the_spread_are_found_in_some_rows(factor, kind):
    rng, found = np.random.default_rng(12), []
    for _ in range(30):
        y = 40.0 + rng.normal(size=1300)
        y[1000:] = 40.0 + factor * (y[1000:] - 40.0)
        found += [each for each in Changes().track(y) if each.row >= 1000][:1]
    assert len(found) >= 29
    assert np.mean([each.kind == kind for each in found]) >= 0.8
    spread = [each for each in found if each.kind == kind]
    assert np.median([each.row for each in found]) <= 1025
    assert np.median([abs(each.start - 1000) for each in spread]) <= 5
    assert np.mean([each.before for each in spread]) == pytest.approx(1.0, abs=0.05)
    assert np.median([each.after for each in spread]) == pytest.approx(factor, rel=0.15)


def test_a_constant_stream_that_jumps_has_changed():
    (change,) = Changes().track(np.r_[held(5, 1000), held(7, 60)])
    assert change[1:5] == (1000, "level up", 5.0, 7.0)


def test_sizes_are_measured_further_for_50_rows():
    y = jumping()[:600]
    detector, first = Changes(), None
    sizes = []
    for value in y:
        if np.isnan(value):
            detector.skip()
        else:
            first = detector.update(value) or first
        if first:
            sizes.append(detector.records[-1].after)
    assert first.after == sizes[0]
    assert sizes[50] != sizes[0]
    assert set(sizes[50:]) == {sizes[50]}
    inside = slice(first.start, first.row + 51)
    assert sizes[50] == pytest.approx(np.nanmean(y[inside]), rel=1e-12)
    assert detector.records == [first._replace(after=sizes[50])]


def test_the_last_100_records_are_kept_and_track_returns_all():
    rng = np.random.default_rng(13)
    y = rng.normal(size=40_000)
    detector = Changes(every=20)
    found = detector.track(y)
    assert len(found) > 120
    assert detector.records == found[-100:]
    assert all(each.evidence >= 20 and each.start <= each.row for each in found)
    assert min(np.diff([each.row for each in found])) > 20


# calls


@pytest.mark.parametrize("every", [20, 10_000])
@pytest.mark.parametrize("name", some(STREAMS, every=2))
def test_whole_streams_give_the_bits_of_single_calls(name, every):
    y = STREAMS[name]
    one, other = Changes(every), Changes(every)
    calls = [one.skip() if np.isnan(value) else one.update(value) for value in y]
    declared = [each for each in calls if each]
    parts = other.track(y[:400]) + other.track(y[400:])
    # kind and size are told better up to 50 rows later
    assert [(each[:2], each.evidence) for each in parts] == [
        (each[:2], each.evidence) for each in declared
    ]
    assert other.records == one.records
    assert Changes(every).track(y) == one.records
    assert states_equal(one, other)
    assert one.rounds == other.rounds == y.size
    assert one.time == other.time == y.size


def states_equal(one, other):
    left, right = one.arrays(), other.arrays()
    return left.keys() == right.keys() and all(
        np.array_equal(left[name], right[name], equal_nan=True) for name in left
    )


@pytest.mark.parametrize("cut", some([0, 1, 29, 31, 45, 303, 320, 700], every=2))
def test_a_restored_detector_goes_on_bit_for_bit(cut):
    y = jumping()
    detector = Changes(every=500)
    detector.track(y[:cut])
    restored = Changes(**detector.config)
    restored.restore(detector.arrays())
    twin = copy.copy(detector)
    assert restored.records == detector.records
    assert restored.evidence == detector.evidence
    rest = detector.track(y[cut:])
    assert restored.track(y[cut:]) == twin.track(y[cut:]) == rest
    assert states_equal(restored, detector)
    assert states_equal(twin, detector)


def test_a_full_window_is_restored_bit_for_bit():
    y = np.random.default_rng(14).normal(size=7000)
    detector = Changes()
    detector.track(y[:6100])
    restored = Changes()
    restored.restore(detector.arrays())
    assert restored.track(y[6100:]) == detector.track(y[6100:])
    assert states_equal(restored, detector)
    assert restored.evidence == detector.evidence


UNITS = {"shift": (1000.0, 1.0), "small": (-3.0, 1e-6), "large": (7e5, 250.0)}


@pytest.mark.parametrize(("name", "units"), some_of(STREAMS, UNITS, every=2))
def test_shifts_and_units_change_the_sizes_alone(name, units):
    y, (shift, unit) = STREAMS[name], UNITS[units]
    found = Changes().track(y)
    moved = Changes().track(shift + unit * y)
    assert [each[:3] for each in moved] == [each[:3] for each in found]
    for each, other in zip(moved, found, strict=True):
        level = shift if each.kind.startswith("level") else 0.0
        expected = level + unit * np.array(other[3:5])
        assert each[3:5] == pytest.approx(expected, rel=1e-6, abs=1e-9 * abs(shift))
        assert each.evidence == pytest.approx(other.evidence, rel=1e-3)


def test_missing_rows_count_and_teach_nothing():
    y = jumping()[~np.isnan(jumping())]
    gaps = np.full(2 * y.size, np.nan)
    gaps[::2] = y
    plain, gapped = Changes().track(y), Changes().track(gaps)
    assert [each.row for each in gapped] == [2 * each.row for each in plain]
    # a bet begins in the row after its last zero, be it missing
    assert [each.start for each in gapped] == [2 * each.start - 1 for each in plain]
    assert [each.kind for each in gapped] == [each.kind for each in plain]


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e145])
def test_streams_of_any_size_are_taken(scale):
    y = scale * np.random.default_rng(15).standard_t(1, size=2000)
    y = np.clip(y, -1e150, 1e150)
    detector = Changes(every=100)
    found = detector.track(y)
    assert np.isfinite(detector.evidence)
    assert all(np.isfinite(each.evidence) for each in found)


def test_counts_that_are_mostly_zero_are_no_changes():
    found = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = (rng.random(5000) < 0.14) * rng.poisson(4.0, 5000).astype(float)
        found += len(Changes(period=7).track(y))
    assert found <= 8  # of 40 000 rows; eleven in 10 000 where zeros moved by single steps only


@pytest.mark.parametrize("scale", [1e-200, 1e-165, 1e-150, 1e145])
def test_kinds_are_told_of_streams_of_any_size(scale):
    t, rng = np.arange(1200), np.random.default_rng(16)
    y = 2.0 * np.sin(np.pi * t / 12) + 8.0 * (t >= 600) + rng.normal(size=t.size)
    found, usual = (Changes(period=24).track(s * y) for s in (scale, 1.0))
    assert [each[:3] for each in found] == [each[:3] for each in usual]
    assert [each.after / scale for each in found] == pytest.approx([each.after for each in usual])


@pytest.mark.parametrize("period", [None, 24])
def test_rows_that_are_missing_from_the_start_are_waited_for(period):
    y = np.random.default_rng(17).normal(size=300)
    y[200:] += 8.0
    late = np.append(np.full(100, np.nan), y)
    bulk, single = Changes(period=period), Changes(period=period)
    found = bulk.track(late)
    for value in late:
        single.update(value) if np.isfinite(value) else single.skip()
    assert [abs(each.start - 300) < 4 for each in found] == [True]
    assert single.records == found


def test_a_detector_may_begin_in_a_later_row():
    y, late = jumping(), Detector(10_000.0, row=50)
    found = late.take(y)
    moved = [each._replace(row=each.row - 50, start=each.start - 50) for each in found]
    for each, other in zip(moved, Changes(period=1).track(y), strict=True):
        assert each[:3] == other[:3]
        assert each[3:] == pytest.approx(other[3:], rel=1e-9)
    assert moved


def test_the_state_is_small_and_stays_so():
    def size(part):
        return sum(map(size, part)) if isinstance(part, tuple) else getattr(part, "nbytes", 8)

    assert size(module.build(10_000.0, 168.0, True)) < 260_000


# bad input


@pytest.fixture(scope="module")
def jumped():
    """The state after a stream with two changes."""
    detector = Changes()
    detector.track(jumping())
    return detector.arrays()


@pytest.mark.parametrize("bad", [np.nan, np.inf, "1.5", None, 1e200])
def test_bad_values_are_refused_and_nothing_has_moved(bad):
    detector, twin = Changes(), Changes()
    for each in (detector, twin):
        each.track(jumping()[:100])
    with pytest.raises(ValueError, match="y must be"):
        detector.update(bad)
    with pytest.raises(ValueError, match="y must be"):
        detector.track([1.0, np.inf])
    with pytest.raises(ValueError, match="one-dimensional"):
        detector.track([[1.0, 2.0]])
    assert states_equal(detector, twin)
    assert detector.rounds == twin.rounds == 100


def test_a_missing_value_is_told_of_skip():
    with pytest.raises(ValueError, match=r"skip\(\)"):
        Changes().update(np.nan)


@pytest.mark.parametrize("period", [0, 0.5, 2.5, -3, np.nan, "day", 1001])
def test_periods_that_cannot_be_are_refused(period):
    with pytest.raises(ValueError, match="period must be"):
        Changes(period=period)


@pytest.mark.parametrize("every", [0, 0.5, -3, np.nan, np.inf, "often", None, 1e20])
def test_rates_that_cannot_be_are_refused(every):
    with pytest.raises(ValueError, match="every must be"):
        Changes(every)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("errors", lambda x: np.zeros(6000)),
        ("errors", lambda x: np.full(x.size, np.nan)),
        ("clock", lambda x: x - 1000),
        ("clock", lambda x: x.astype(float)),
        ("bets", lambda x: x + 10.0**6),
        ("regression", lambda x: x[:-1]),
        ("scalars", lambda x: 0.0 * x),
        ("records", lambda x: np.zeros((7, 6))),
        ("records", lambda x: x + 9.0),
        ("errors", lambda x: x[:-1]),
        ("history", lambda x: x[:-1]),
        ("history", lambda x: x[::-1]),
        ("history", lambda x: x + np.nan),
        ("history", lambda x: x + 1e6),
        ("shape", lambda x: x + np.array([0.0, 0.0, -1e6, 0.0, 0.0])),
        ("shape", lambda x: x + np.array([5.0, 0.0, 0.0, 0.0, 0.0])),
        ("shape", lambda x: x + np.array([0.0, 1.0, 0.0, 0.0, 0.0])),
        ("shape", lambda x: x + np.array([1e30, 0.0, 0.0, 0.0, 0.0])),
        ("shape", lambda x: x - np.array([0.0, 0.0, 0.0, 1.0, 0.0])),
        ("shape", lambda x: x + np.array([0.0, 0.0, 0.0, 0.0, 0.5])),
        ("slow", lambda x: np.zeros((7, 3))),
        ("shape", lambda x: x * np.nan),
        ("season", lambda x: np.zeros(8)),
    ],
)
def test_states_that_no_detector_has_are_refused_and_nothing_is_written(name, damage, jumped):
    state, other, new = dict(jumped), Changes(), Changes()
    state[name] = damage(state[name])
    with pytest.raises(ValueError, match="state"):
        other.restore(state)
    assert states_equal(other, new)


def test_a_detector_says_what_it_is():
    assert repr(Changes(every=500)) == "Changes(every=500.0, period=None)"
    assert Change._fields == ("row", "start", "kind", "before", "after", "evidence")
    assert Changes().period == 1
    assert Changes(period=24).period == 24
