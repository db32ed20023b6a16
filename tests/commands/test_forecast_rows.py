"""Rows of many keys for forecasts: sorted on disk in bounded memory, put in slots of their keys."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from stillpoint.commands import fleet
from stillpoint.commands.arguments import periods
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts import spill as spilling
from stillpoint.commands.forecasts.intake import Intake
from stillpoint.commands.forecasts.spill import HASHES, Rows, Spill
from stillpoint.commands.forecasts.times import Times
from stillpoint.commands.formats import Batch
from stillpoint.fleet.series import plan as plans
from stillpoint.fleet.series.grid import clocks, spread
from stillpoint.fleet.series.plan import Plan

DAY = 86_400.0


def some_rows(n=2000, keys=50, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"kéy {i}" for i in range(keys)]
    return names, rng.integers(0, keys, n), rng.normal(size=n), rng.normal(size=n)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("flushes", [1, 7])
def test_rows_come_back_by_key_in_the_order_they_came(tmp_path, timed, flushes):
    names, codes, times, values = some_rows()
    spill = Spill(tmp_path / "rows", timed)
    for some in np.array_split(np.arange(codes.size), flushes):
        for half in np.array_split(some, 2):
            spill.add(names, codes[half], times[half], values[half])
        spill.flush()
    assert spill.files == flushes
    assert spill.size() == (2000, 50)
    found = {}
    for part in range(3):
        rows = spill.load(part * HASHES // 3, (part + 1) * HASHES // 3)
        assert rows.keys == sorted(rows.keys)
        stops = np.cumsum(rows.counts)
        for key, start, stop in zip(rows.keys, stops - rows.counts, stops, strict=True):
            found[key] = rows.times[start:stop], rows.values[start:stop]
    assert sorted(found) == sorted(names)
    for place, key in enumerate(names):
        assert found[key][1].tolist() == values[codes == place].tolist()
        assert not timed or found[key][0].tolist() == times[codes == place].tolist()
    spill.clear()
    assert not list((tmp_path / "rows").iterdir())


def test_memory_is_told_full_and_a_file_that_is_cut_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(spilling, "ROOM", 10_000)
    names, codes, times, values = some_rows(100, 5)
    spill = Spill(tmp_path / "rows", True)
    spill.add(names, codes, times, values)
    assert not spill.full
    for _ in range(5):
        spill.add(names, codes, times, values)
    assert spill.full
    spill.flush()
    assert not spill.full
    path = next((tmp_path / "rows").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(OSError, match="must be whole; begin anew"):
        spill.load(0, HASHES)


def test_a_hundred_thousand_keys_are_counted_within_a_few_percent(tmp_path):
    spill, keys = Spill(tmp_path / "rows", False), [str(i) for i in range(100_000)]
    spill.add(keys, np.arange(100_000), np.zeros(0), np.zeros(100_000))
    spill.flush()
    rows, count = spill.size()
    assert rows == 100_000
    assert abs(count / 100_000 - 1.0) < 0.03
    assert sum(len(spill.load(i * HASHES // 8, (i + 1) * HASHES // 8).keys) for i in range(8)) == (
        100_000
    )


def plain(gap=1.0, season=(), **more):
    told = {"timed": True, "dated": False, "week": None, "horizon": 3, "source": ""}
    return Plan(gap=gap, season=season, **{**told, **more})


def rows_of(*series):
    """Rows of keys 0, 1, … from lists of (time, value)."""
    counts = np.array([len(one) for one in series])
    flat = np.array([pair for one in series for pair in one], dtype=float).reshape(-1, 2)
    return Rows([str(i) for i in range(len(series))], counts, flat[:, 0], flat[:, 1])


def planned(asked, rows, dated):
    season, timed = periods(asked.season), asked.time is not None
    return plans.plan(rows, timed=timed, dated=dated, season=season, horizon=asked.horizon)


def test_each_key_has_slots_of_its_own_clock():
    """Keys that start, end and tick at other times: gaps are rounds without a value."""
    rows = rows_of([(30, 3), (10, 1), (40, 4)], [(1015.2, 7), (1005, 6)], [(5, 9)])
    own = clocks(3, 1)
    found = spread(rows, plain(10.0), own)
    assert found.codes.tolist() == [0, 0, 0, 1, 1, 2]
    assert found.places.tolist() == [0, 2, 3, 0, 1, 0]
    assert found.values.tolist() == [1, 3, 4, 6, 7, 9]
    assert found.lengths.tolist() == [4, 2, 1]
    assert own.latest[:, 0].tolist() == [40, 1015.2, 5]


def test_of_rows_in_one_slot_the_last_counts():
    rows = rows_of([(1, 10), (2, 20), (2, 21), (2.1, 22), (3, 30)], [(7, 1), (7, 2)])
    found = spread(rows, plain(), clocks(2, 1))
    assert found.values.tolist() == [10, 22, 30, 2]
    assert found.repeated.tolist() == [2, 1]
    assert found.places.tolist() == [0, 1, 2, 0]


def test_rows_that_come_late_are_left_out_and_counted():
    own, plan = clocks(2, 1), plain()
    spread(rows_of([(1, 1), (2, 2), (3, 3)], []), plan, own)
    found = spread(rows_of([(2, 9), (3, 9), (3.2, 9), (6, 6), (5, 5)], [(1, 1)]), plan, own)
    assert found.late.tolist() == [3, 0]
    assert found.values.tolist() == [5, 6, 1]
    assert found.places.tolist() == [1, 2, 0]  # the fourth round of the first key is missing
    assert found.lengths.tolist() == [3, 1]


def test_rows_without_a_target_are_slots_only_between_others():
    nan = np.nan
    own, plan = clocks(1, 1), plain(timed=False)
    found = spread(rows_of([(nan, nan), (nan, 1), (nan, nan), (nan, 3), (nan, nan)]), plan, own)
    assert (found.values.tolist(), found.places.tolist()) == ([1, 3], [0, 2])
    assert found.lengths.tolist() == [3]
    assert found.empty.tolist() == [3]
    found = spread(rows_of([(nan, 6)]), plan, own)  # the fifth row had none
    assert found.places.tolist() == [1]


def test_very_long_gaps_are_cut_by_whole_seasons():
    plan = plain(season=(7.0,))
    found = spread(rows_of([(0, 1), (7_000_003, 2)]), plan, clocks(1, 1))
    assert found.places[1] < 1100
    assert found.places[1] % 7 == 7_000_003 % 7
    assert plain(season=(7.0, 365.25)).turn % 7 == 0


def test_the_latest_times_of_keys_are_kept_in_order():
    own, plan = clocks(2, 4), plain()
    spread(rows_of([(1, 1), (2, 2)], [(1, 1)]), plan, own)
    spread(rows_of([(3, 1), (4, 2), (5, 3)], []), plan, own)
    assert own.latest[0].tolist() == [2, 3, 4, 5]
    np.testing.assert_array_equal(own.latest[1], [np.nan, np.nan, np.nan, 1])


def options(**told):
    told = {"key": "k", "time": "t", **told}
    return FleetOptions("a.csv", "y", "out-that-is-not-there", **told)


@pytest.fixture(autouse=True)
def _a_path(monkeypatch):
    monkeypatch.setattr(FleetOptions, "_check_out", lambda self: None)


def seconds(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def waves(n, period, seed=0, keys=8, start="2024-01-01", step=DAY):
    rng, begin = np.random.default_rng(seed), seconds(start)
    series = []
    for _ in range(keys):
        y = np.sin(2 * np.pi * np.arange(n) / period) + rng.normal(0, 0.2, n)
        series.append([(begin + i * step, value) for i, value in enumerate(y)])
    return rows_of(*series)


def test_seasons_are_those_of_the_dates_if_keys_bear_them_out():
    found = planned(options(), waves(100, 7), True)
    assert (found.gap, found.season, found.horizon) == (DAY, (7.0,), 7)
    assert found.source == "from the spacing of dates"
    found = planned(options(), waves(100, 5), True)  # weeks of five days, it seems
    assert found.season == (5.0,)
    assert found.source == "found in 8 keys"
    found = planned(options(), waves(120, 12, step=1.0), False)
    assert (found.season, found.horizon) == ((12.0,), 10)
    noise = rows_of(*([(i, v) for i, v in enumerate(np.random.default_rng(k).normal(size=99))]
                      for k in range(9)))  # fmt: skip
    assert planned(options(), noise, False).season == ()


def test_two_seasons_of_most_keys_are_enough_where_they_are_clear():
    found = planned(options(), waves(16, 7), True)
    assert (found.season, found.source) == ((7.0,), "from the spacing of dates")
    assert planned(options(), waves(13, 7), True).season == ()
    assert planned(options(), waves(20, 30), True).season == ()


def test_seasons_and_horizon_that_are_told_stay():
    found = planned(options(season="24,168", horizon=5), waves(100, 7), True)
    assert (found.season, found.horizon, found.source) == ((24.0, 168.0), 5, "as told")
    assert planned(options(season="none"), waves(100, 7), True).season == ()


def test_the_gap_of_keys_that_have_a_row_now_and_then_is_the_day():
    rng = np.random.default_rng(0)
    series = [[(DAY * d, 1.0) for d in range(300) if rng.random() < 0.35] for _ in range(20)]
    assert planned(options(), rows_of(*series), True).gap == DAY
    hourly = [[(3600.0 * h + rng.normal(0, 200), 1.0) for h in range(200)] for _ in range(5)]
    assert abs(planned(options(), rows_of(*hourly), True).gap - 3600.0) < 60.0


def test_one_key_with_many_more_rows_does_not_set_the_gap_of_all():
    daily = [[(DAY * i, float(i % 7)) for i in range(60)] for _ in range(12)]
    hot = [(DAY / 24 * i, float(i % 5)) for i in range(1000)]
    few = [[(DAY * i, 1.0), (DAY * (i + 9), 2.0)] for i in range(20)]
    assert planned(options(), rows_of(*daily, hot, *few), True).gap == DAY


def test_few_keys_of_finer_spacing_than_most_are_refused_by_name():
    daily = [[(DAY * t, 1.0) for t in range(30)] for _ in range(4)]
    hour = 3600.0
    hourly = [(hour * t, 1.0) for t in range(200)]
    message = "got a day for most and an hour for '4'; forecast these apart"
    with pytest.raises(ValueError, match=message):
        planned(options(), rows_of(*daily, hourly), True)
    numbers = [[(t / hour, y) for t, y in one] for one in (*daily, hourly)]
    with pytest.raises(ValueError, match=r"got 24 for most and 1 for '4'"):
        planned(options(), rows_of(*numbers), False)
    # as many of each, keys with rows only now and then, and a few rows: hours, of which some lack
    some = [[(DAY * t * t / 2.0, 1.0) for t in range(30)] for _ in range(4)]
    for others in (daily[:1], some, [one[:5] for one in daily]):
        assert planned(options(), rows_of(*others, hourly), True).gap == hour


def test_keys_of_one_row_have_the_gap_between_keys():
    one = rows_of(*([(DAY * (7 * k + 4), 1.0)] for k in range(5)))
    assert planned(options(), one, True).gap == 7 * DAY
    assert planned(options(), rows_of([(DAY, 1.0)]), True).gap == DAY
    assert planned(options(), rows_of([(5, 1.0)]), False).gap == 1.0


def test_days_that_never_have_a_row_are_no_slots():
    days = [DAY * d for d in range(4, 300) if (d + 3) % 7 < 5]  # 1970 began on a Thursday
    found = planned(options(), rows_of(*[[(t, np.sin(t)) for t in days]] * 3), True)
    assert found.week is not None
    rounds = spread(rows_of([(t, 1.0) for t in days]), found, clocks(1, 1))
    assert rounds.places.tolist() == list(range(len(days)))
    assert plans.restored(found.header()).week.same(found.week)


def test_a_plan_is_saved_and_a_broken_one_refused():
    found = planned(options(), waves(100, 7), True)
    assert plans.restored(found.header()) == found
    with pytest.raises(ValueError, match="as the plan of a fleet"):
        plans.restored({**found.header(), "gap": 0.0})


@pytest.mark.parametrize(
    ("form", "past", "coming"),
    [
        (None, ["2024-01-31", "2024-02-29", "2024-03-31"], ["2024-04-30", "2024-05-31"]),
        (None, ["2024-11-01", "2024-12-01"], ["2025-01-01", "2025-02-01"]),
        (None, ["2024-12-30", "2024-12-31"], ["2025-01-01", "2025-01-02"]),
        (None, ["2024-12-31T22", "2024-12-31T23"], ["2025-01-01T00", "2025-01-01T01"]),
        (None, ["2024-01-01T00:00+02:00", "2024-01-01T01:00+02:00"], ["2024-01-01T02:00+02:00"]),
        ("%Y-%m", ["2023-11", "2023-12"], ["2024-01", "2024-02"]),
        ("%d.%m.%Y", ["30.11.2024", "31.12.2024"], ["31.01.2025", "28.02.2025"]),
        ("%YQ%q", ["2023Q3", "2023Q4"], ["2024Q1", "2024Q2"]),
    ],
)
def test_times_to_come_are_written_as_those_before(form, past, coming):
    from stillpoint.commands.dates import read

    times = np.array([read(text, form) for text in past])
    intake = Intake(options(date_format=form))
    intake._look(past, "t")
    plan = plain(float(np.median(np.diff(times))), dated=True, horizon=len(coming))
    told = Times(intake, plan)
    assert told.texts(times) == past
    assert told.ahead(times[-plan.recent :]) == coming


def test_numbers_go_on_as_numbers():
    intake = Intake(options())
    intake._look(["1"], "t")
    assert Times(intake, plain(2.0)).ahead(np.array([7.0])) == ["9", "11", "13"]
    assert Times(intake, plain(0.5)).ahead(np.array([7.0])) == ["7.5", "8", "8.5"]


@pytest.mark.parametrize("as_text", [True, False])
def test_an_hour_that_comes_twice_is_two_hours_and_times_keep_their_zone(as_text):
    berlin = ZoneInfo("Europe/Berlin")
    begin = datetime(2024, 10, 26, 22, tzinfo=UTC)
    cells = [(begin + timedelta(hours=i)).astimezone(berlin) for i in range(12)]
    cells = list(map(str, cells)) if as_text else cells
    intake = Intake(options())
    taken = intake.read(Batch([["a"] * 12, np.arange(12.0).tolist(), cells], 12))
    assert np.diff(taken.times).tolist() == [3600.0] * 11
    again = Intake(options())
    Intake.check(intake.state())
    again.restore(intake.state())
    times = Times(again, Plan(True, True, 3600.0, None, (), 1, ""))
    assert times.ahead(taken.times[-1:]) == ["2024-10-27 11:00:00+01:00"]
    days = Times(again, Plan(True, True, DAY, None, (), 2, ""))
    midnight = datetime(2024, 10, 26, tzinfo=berlin).timestamp()
    assert days.ahead(np.array([midnight])) == [
        "2024-10-27 00:00:00+02:00",
        "2024-10-28 00:00:00+01:00",
    ]


@pytest.mark.parametrize("rows", [1, 2, 60])
def test_times_that_begin_on_a_whole_second_keep_later_fractions(rows):
    """Python leaves fractions out where they are 0."""
    cells = [datetime(2025, 1, 1) + timedelta(milliseconds=500 * i) for i in range(60)]
    intake = Intake(options())
    for i in range(0, 60, rows):
        n = len(cells[i : i + rows])
        taken = intake.read(Batch([["a"] * n, [1.0] * n, cells[i : i + rows]], n))
    times = Times(intake, plain(0.5, dated=True, horizon=2))
    assert times.text(taken.times[-1]) == "2025-01-01 00:00:29.500000"
    assert times.ahead(taken.times[-1:]) == [
        "2025-01-01 00:00:30.000000",
        "2025-01-01 00:00:30.500000",
    ]


def test_days_with_a_clock_after_the_first_keep_it():
    intake = Intake(options())
    cells = ["2025-01-01", "2025-01-01 12:00", "", "2025-01-02 00:00"]
    taken = intake.read(Batch([["a"] * 4, [1.0] * 4, cells], 4))
    times = Times(intake, plain(43200.0, dated=True, horizon=1))
    assert times.texts(taken.times) == ["2025-01-01 00:00", "2025-01-01 12:00", "2025-01-02 00:00"]


def test_a_row_without_a_key_leaves_keys_whole_numbers():
    intake = Intake(options())
    for keys, whole in (
        ([1, 2], True),
        ([None, 2], True),
        ([None, None], True),
        ([-(1 << 63), True], True),
        ([1 << 63], False),
    ):
        intake.read(Batch([keys, [1.0] * len(keys), list(range(len(keys)))], len(keys)))
        assert intake.numbers is whole
    other = Intake(options())
    other.read(Batch([[1, "2"], [1.0, 1.0], [1, 2]], 2))
    assert not other.numbers


def test_columns_that_are_not_used_are_named(tmp_path, capsys):
    rows = [f"{day},a,{day % 2},3,{day % 7 + 1}" for day in range(40)]
    source = tmp_path / "d.csv"
    source.write_text("\n".join(["day,k,promo,price,y", *rows]) + "\n")
    options = {"time": "day", "season": "7", "horizon": 2, "quiet": True}
    assert fleet(str(source), "k", "y", tmp_path / "o", **options) == 0
    note = capsys.readouterr().err
    assert note.startswith("note: columns 'promo', 'price' are not used: each key is forecast from")
    assert "stillpoint.Fleet(stillpoint.Forecaster, features=…)" in note
    # the index of a data frame is nothing to be missed
    source.write_text(source.read_text().replace("promo,price", ",day of year"))
    assert fleet(str(source), "k", "y", tmp_path / "p", **options) == 0
    assert "note: column 'day of year' is not used" in capsys.readouterr().err
