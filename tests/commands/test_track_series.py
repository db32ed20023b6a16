"""`stillpoint track` on a series: sp.Forecaster on rows, every horizon, and what comes next."""

import copy
import csv
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.alerts.changes import Change
from stillpoint.commands import _scores, arguments, outlook, session, track, tracking
from stillpoint.core import container
from tracked import bad, floats, read, run, write

N, H = 330, 6


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(3)
    hour = np.arange(N)
    y = 50.0 + 6.0 * np.cos(2 * np.pi * hour / 24) + rng.normal(0.0, 1.0, N) + 9.0 * (hour > 200)
    return y.round(3)


def hours(n, start=datetime(2024, 3, 1)):
    return [(start + timedelta(hours=i)).isoformat(timespec="minutes") for i in range(n)]


def forecast(out):
    with open(out / "forecast.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("timed", [False, True])
def test_a_series_is_forecast_by_the_forecaster(series, tmp_path, timed):
    columns = {"t": hours(N)} if timed else {}
    source = write(tmp_path / "s.csv", {**columns, "y": series.tolist()})
    rows, summary = run(source, tmp_path / "o", time="t" if timed else None, horizon=H)
    model = sp.Forecaster(H)
    times = np.array(columns["t"], dtype="datetime64[m]") if timed else None
    said, lo, hi = model.track(series, times=times, horizon=H, intervals=True)
    for name, expected in (("forecast", said), ("lo", lo), ("hi", hi)):
        np.testing.assert_array_equal(floats(rows[name]), expected[:, 0])
    coming = forecast(tmp_path / "o")
    np.testing.assert_array_equal(floats(coming["forecast"]), model.predict(horizon=H))
    np.testing.assert_array_equal(floats(coming["lo"]), model.interval(horizon=H)[0])
    assert summary["total"]["hi"] == model.total(H)[2]
    assert summary["components"] == model.components()
    assert (summary["learner"], summary["seasons"]) == ("Forecaster", model.seasons)
    assert summary["unit_of_time"] == ("hour" if timed else None)
    assert [row["forecast"] for row in summary["forecast"]] == list(model.predict(horizon=H))
    ahead = hours(N + H)[N:] if timed else [""] * H
    assert coming["time"] == ahead
    assert coming["step"] == [str(h + 1) for h in range(H)]
    assert summary["files"] == ["predictions.csv", "forecast.csv", "summary.json", "report.html"]
    assert summary["coverage"]["most_misses"] >= summary["coverage"]["misses"]
    at = [None] * H
    if timed:
        at = np.array(ahead, dtype="datetime64[s]").astype(float).tolist()
    assert [row["at"] for row in summary["forecast"]] == at


@pytest.fixture
def all_rows(monkeypatch):
    """Scores that forget nothing."""
    monkeypatch.setattr(_scores, "FIRST", 2**40)


@pytest.mark.parametrize(("n", "first"), [(10, 0), (40, 16), (100, 32), (N, 128)])
def test_scores_by_steps_are_of_the_later_rows(series, tmp_path, n, first):
    source = write(tmp_path / "s.csv", {"y": series[:n].tolist()})
    _, summary = run(source, tmp_path / "o", horizon=2, season="4")
    said = sp.Forecaster(2, season=[4]).track(series[:n])
    errors = (said - series[:n])[1:][first:]
    assert summary["horizons"][0]["rows"] == len(errors) >= (n - 1) / 2
    assert summary["horizons"][0]["error"] == pytest.approx(np.sqrt(np.mean(errors**2)))


def test_every_horizon_is_scored_beside_simple_forecasts(series, tmp_path, all_rows):
    source = write(tmp_path / "s.csv", {"y": series.tolist()})
    _, summary = run(source, tmp_path / "o", horizon=H, season="4,24")
    said, lo, hi = sp.Forecaster(H, season=[4, 24]).track(series, horizon=H, intervals=True)
    for h, row in enumerate(summary["horizons"], 1):
        at = np.arange(h, N)  # targets; all were forecast once something was known
        made = at - h + 1
        f, low, high = (part[made, h - 1] for part in (said, lo, hi))
        error = lambda p, at=at: np.sqrt(np.mean((series[at] - p) ** 2))  # noqa: E731
        assert (row["step"], row["rows"]) == (h, N - h)
        assert row["error"] == pytest.approx(error(f))
        assert row["last value"] == pytest.approx(error(series[made - 1]))
        ago = at - 4 * -(-h // 4)
        naive = np.where(ago >= 0, series[ago], series[made - 1])
        assert row["seasonal naive"] == pytest.approx(error(naive))
        means = np.cumsum(series)[made - 1] / made
        assert row["running mean"] == pytest.approx(error(means))
        assert row["coverage"] == np.mean((low <= series[at]) & (series[at] <= high))
        finite = np.isfinite(low)
        assert row["width"] == pytest.approx(np.mean((high - low)[finite]))
    assert list(summary["loss"]) == ["stillpoint", "last value", "running mean", "seasonal naive"]
    assert summary["loss"]["stillpoint"] == pytest.approx(summary["horizons"][0]["error"] ** 2)


def test_horizons_count_slots_where_rows_are_left_out(series, tmp_path, all_rows):
    there = np.arange(N) % 10 != 7
    texts = [text for text, keep in zip(hours(N), there, strict=True) if keep]
    source = write(tmp_path / "s.csv", {"t": texts, "y": series[there].tolist()})
    _, summary = run(source, tmp_path / "o", time="t", horizon=3)
    times = np.array(texts, dtype="datetime64[m]")
    said = sp.Forecaster(3).track(series[there], times=times, horizon=3)
    slots = np.flatnonzero(there)
    place = {int(slot): i for i, slot in enumerate(slots)}
    # the first 16 rows were taken for neighbours: what they said is not scored
    pairs = [(place[s - 2], place[s]) for s in slots[16:] if s - 2 >= slots[15] and s - 2 in place]
    early = [(i - 2, i) for i in range(3, 15)]
    errors = [said[made, 2] - series[there][at] for made, at in early + pairs]
    assert summary["horizons"][2]["rows"] == len(errors)
    assert summary["horizons"][2]["error"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))


@pytest.fixture(scope="module")
def gaps(series, tmp_path_factory):
    """A file with rows left out, targets left out, and a few at the end without a target."""
    keep = [i for i in range(N) if i % 37]
    texts = hours(N)
    cells = ["" if 100 < i < 105 or i % 31 == 0 or i > N - 5 else repr(v) for i, v in
             enumerate(series.tolist())]  # fmt: skip
    columns = {"t": [texts[i] for i in keep], "y": [cells[i] for i in keep]}
    return write(tmp_path_factory.mktemp("gaps") / "g.csv", columns)


def goes_on(whole, folder, monkeypatch, batch, ends, **options):
    """Whether a file that ends there, grows and goes on is tracked as the whole of it."""
    expected = run(whole, folder / "whole", **options)[1]
    monkeypatch.setattr(tracking, "BATCH", batch)
    monkeypatch.setattr(session, "EVERY", 0.0)
    lines, source = Path(whole).read_text().splitlines(keepends=True), folder / "grows.csv"
    for end in ends:
        source.write_text("".join(lines[:end]))
        cut = run(str(source), folder / "o", checkpoint=folder / "c", **options)[1]
    for name in ("predictions.csv", "forecast.csv"):
        assert (folder / "o" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    same = ("loss", "coverage", "horizons", "changes", "components", "total", "relies_on")
    for key in (*same, "repeated", "notes"):
        assert cut[key] == expected[key]


@pytest.mark.parametrize("options", [{"time": "t"}, {"features": ""}])
def test_a_series_goes_on_wherever_it_is_cut(gaps, tmp_path, monkeypatch, options):
    goes_on(gaps, tmp_path, monkeypatch, 13, (3, 50, 101, 150, N + 1), horizon=H, **options)


def test_rows_that_share_a_slot_are_counted_wherever_it_is_cut(series, tmp_path, monkeypatch):
    """Every row of an hour but the last gives way; one without a target does not count as one."""
    at = [datetime(2024, 3, 1) + timedelta(hours=i) for i in range(100)]
    rows = [(time, float(y)) for time, y in zip(at, series[:100], strict=True)]
    later = [(40, 9, 1.0), (60, 9, 2.0), (60, 11, 3.0), (70, 9, ""), (70, 11, 5.0), (99, 9, 4.0)]
    rows += [(at[i] + timedelta(minutes=m), y) for i, m, y in later]
    rows.sort()
    table = {"t": [row[0].isoformat() for row in rows], "y": [row[1] for row in rows]}
    source = write(tmp_path / "s.csv", table)
    summary = run(source, tmp_path / "a", time="t", horizon=H)[1]
    assert summary["repeated"] == 5
    assert any(note.startswith("5 of 106 rows share a slot of time") for note in summary["notes"])
    ends = (20, 42, 43, 64, 65, len(rows) + 1)
    goes_on(source, tmp_path, monkeypatch, 7, ends, time="t", horizon=H)


def test_rows_without_a_target_have_the_interval_of_their_own_horizon(gaps, tmp_path):
    rows, summary = run(gaps, tmp_path / "o", time="t", horizon=H)
    coming = forecast(tmp_path / "o")
    assert rows["y"][-4:] == [""] * 4
    for name in ("time", "forecast", "lo", "hi"):
        assert rows[name][-4:] == coming[name][:4]
    width = floats(rows["hi"]) - floats(rows["lo"])
    assert (np.diff(width[-4:]) > 0.0).all()
    first = rows["time"].index(hours(102)[101])  # four in a row, of a later target's rows
    assert (np.diff(width[first : first + 4]) > 0.0).all()
    assert not any("lie ahead" in note for note in summary["notes"])
    note = run(gaps, tmp_path / "o2", time="t", horizon=3)[1]["notes"][0]
    assert "give --horizon 4" in note


def test_changes_are_told_in_words_with_their_time(series, tmp_path, capsys):
    source = write(tmp_path / "s.csv", {"t": hours(N), "y": series.tolist()})
    assert track(source, "y", tmp_path / "o", time="t", horizon=H) == 0
    shown = capsys.readouterr().out
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    change = summary["changes"][-1]
    assert abs(change["start"] - 202) < 8
    assert change["time"] == hours(N)[change["start"] - 1]
    at = datetime.fromisoformat(change["time"])
    assert change["words"].startswith("level rose from 5")
    assert change["words"].endswith(f"on {at.day} March 2024, {at:%H:%M}")
    assert change["words"] in shown
    assert "by steps ahead" in shown
    for shares in summary["relies_on"].values():
        assert 0.9 < sum(one["share"] for one in shares) <= 1.0 + 1e-9
        assert not any("autoregression" in one["name"] for one in shares)


def test_whole_numbers_have_intervals_with_whole_ends(tmp_path):
    counts = np.random.default_rng(0).poisson(4.0, 200).astype(float)
    source = write(tmp_path / "s.csv", {"y": [f"{v:.0f}" for v in counts]})
    rows, summary = run(source, tmp_path / "o", horizon=3, nonnegative=True)
    said, lo, hi = sp.Forecaster(3).track(counts, intervals=True)
    assert summary["whole_numbers"] is True
    low, high = floats(rows["lo"]), floats(rows["hi"])
    np.testing.assert_array_equal(low[10:], np.maximum(np.ceil(lo[10:]), 0.0))
    np.testing.assert_array_equal(high[10:], np.floor(hi[10:]))
    held = (low <= counts) & (counts <= high)
    np.testing.assert_array_equal(held, (lo <= counts) & (counts <= hi))
    np.testing.assert_array_equal(floats(rows["forecast"]), np.maximum(said, 0.0))
    counts[150] += 0.5
    source = write(tmp_path / "s.csv", {"y": counts.tolist()})
    rows, summary = run(source, tmp_path / "o", horizon=3)
    assert summary["whole_numbers"] is False
    np.testing.assert_array_equal(floats(rows["hi"])[151:], sp.Forecaster(3).track(
        counts, intervals=True)[2][151:])  # fmt: skip


def test_forecasts_of_a_series_can_be_kept_at_zero(tmp_path):
    y = (np.arange(80) % 8 == 0) * np.linspace(1.0, 3.0, 80)
    source = write(tmp_path / "s.csv", {"y": y.tolist()})
    rows, summary = run(source, tmp_path / "o", horizon=3, nonnegative=True)
    free = run(source, tmp_path / "o2", horizon=3)[0]
    assert min(floats(free["forecast"])) < 0.0
    assert min(floats(rows["forecast"])) == min(floats(rows["lo"])) == 0.0
    assert min(row["lo"] for row in summary["forecast"]) == 0.0


def test_quantiles_of_a_series_are_forecast_at_every_horizon(series, tmp_path, all_rows):
    source = write(tmp_path / "s.csv", {"y": series.tolist()})
    rows, summary = run(source, tmp_path / "o", horizon=3, task="quantile", level=0.8)
    said = sp.Forecaster(3, loss=sp.losses.Pinball(0.8)).track(series, horizon=3)
    np.testing.assert_array_equal(floats(rows["forecast"]), said[:, 0])
    assert rows["hi"] == rows["forecast"]
    assert set(rows["lo"]) == {"-inf"}
    away = series[3:] - said[1:-2, 2]
    assert summary["horizons"][2]["error"] == pytest.approx(
        np.mean(np.maximum(0.8 * away, -0.2 * away))
    )
    assert summary["coverage"]["target"] == 0.8
    assert summary["loss_name"] == "pinball loss"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"horizon": 3, "delay": 2}, ["--horizon must be for a series", "--delay 2"]),
        ({"season": "7", "task": "binary"}, ["--season must be for a series", "--task binary"]),
        ({"nonnegative": True, "learner": "regression"}, ["got it with --learner regression"]),
        ({"horizon": 0}, ["--horizon must be from 1 to 10,000: got 0"]),
        ({"horizon": 20_000}, ["from 1 to 10,000: got 20000"]),
        ({"season": "7,7"}, ["--season must name each period once: got 7,7", "24,168"]),
        ({"season": "weekly"}, ["--season must be auto, none, or periods", "24,168"]),
        ({"learner": "kalman"}, ["--learner must be one of auto, forecaster, regression"]),
        ({"horizon": 3, "features": "a"}, ["--horizon must be for a series", "name --time"]),
    ],
)
def test_what_no_series_can_have_is_refused(tmp_path, capsys, options, parts):
    bad(tmp_path, capsys, "a,y\n1,2\n2,3\n", *parts, **options)


def test_how_many_changes_there_are_is_said_beside_the_last(tmp_path, capsys):
    rng = np.random.default_rng(2)
    y = 9.0 * (np.arange(2000) // 400 % 2) + rng.normal(size=2000)
    source = write(tmp_path / "s.csv", {"y": y.tolist()})
    assert track(source, "y", tmp_path / "o", horizon=2) == 0
    shown = capsys.readouterr().out
    assert "y: 2,000 rows, forecast as a series" in shown
    changes = json.loads((tmp_path / "o" / "summary.json").read_text())["changes"]
    assert len(changes) >= 4
    assert f"{len(changes)} changes, the last 3 of them\n" in shown
    assert shown.count(" in row ") == 3


def test_times_beyond_the_calendar_are_left_out(tmp_path):
    days = [date(9999, 12, 29) - timedelta(i) for i in range(40)][::-1]
    source = write(tmp_path / "s.csv", {"t": days, "y": np.cos(np.arange(40)).tolist()})
    run(source, tmp_path / "o", time="t", horizon=4)
    assert forecast(tmp_path / "o")["time"] == ["9999-12-30", "9999-12-31", "", ""]


@pytest.mark.parametrize("last", [[], [2.5]], ids=["whole", "one that is not"])
def test_promises_about_misses_hold_for_ends_that_are_whole(tmp_path, last):
    """A constant is held by whole ends where the interval itself may be empty."""
    y = [*np.r_[np.full(300, 2.0), np.random.default_rng(0).integers(0, 3, 40)].tolist(), *last]
    source = write(tmp_path / "s.csv", {"y": y})
    for nonnegative in (False, True):
        coverage = run(source, tmp_path / "o", horizon=2, nonnegative=nonnegative, coverage=0.5)[1][
            "coverage"
        ]
        assert coverage["least_misses"] <= coverage["misses"] <= coverage["most_misses"]


def test_whole_ends_at_zero_have_no_sign(tmp_path):
    counts = np.random.default_rng(5).poisson(0.3, 80).tolist()
    source = write(tmp_path / "s.csv", {"y": counts})
    rows, summary = run(source, tmp_path / "o", horizon=3)
    told = [*rows["lo"], *rows["hi"], *forecast(tmp_path / "o")["lo"]]
    assert "0.0" in told
    assert "-0.0" not in told
    assert str(summary["total"]["lo"]) != "-0.0"


def test_a_run_without_targets_says_so_and_nothing_of_steps(tmp_path):
    source = write(tmp_path / "s.csv", {"t": range(30), "y": [""] * 30})
    _, summary = run(source, tmp_path / "o", time="t", horizon=3)
    assert summary["notes"] == ["no row has a target: nothing was learnt; check --target"]


def test_targets_below_zero_are_noted_where_forecasts_end_there(tmp_path):
    source = write(tmp_path / "s.csv", {"y": [float(i % 5 - 2) for i in range(40)]})
    _, summary = run(source, tmp_path / "o", horizon=5, nonnegative=True)
    assert "leave out --nonnegative" in summary["notes"][0]
    said = [step["forecast"] for step in summary["forecast"]]
    assert said[0] == 0.0 < said[-1]
    assert summary["components"]["kept at 0"] > 0.0
    assert sum(summary["components"].values()) == pytest.approx(0.0, abs=1e-12)
    assert summary["total"]["forecast"] == sum(said) <= summary["total"]["hi"]
    _, summary = run(source, tmp_path / "p", horizon=3)
    assert summary["notes"] == []


def test_intervals_below_zero_are_noted_where_no_target_was(tmp_path):
    rng = np.random.default_rng(0)
    counts = (rng.random(200) < 0.14) * rng.poisson(4.0, 200).astype(float)
    source = write(tmp_path / "s.csv", {"y": counts.tolist()})
    _, summary = run(source, tmp_path / "o", horizon=3, season="none")
    assert any("add --nonnegative" in note for note in summary["notes"])
    assert min(step["lo"] for step in summary["forecast"]) < 0.0
    _, summary = run(source, tmp_path / "p", horizon=3, season="none", nonnegative=True)
    assert summary["notes"] == []
    source = write(tmp_path / "t.csv", {"y": (counts - 1.0).tolist()})
    _, summary = run(source, tmp_path / "q", horizon=3, season="none")
    assert summary["notes"] == []


def test_a_checkpoint_with_another_series_is_refused(gaps, tmp_path, capsys):
    options = {"time": "t", "horizon": 3, "checkpoint": tmp_path / "c", "quiet": True}
    assert track(gaps, "y", tmp_path / "o", **options) == 0
    path = tmp_path / "c" / "checkpoint.npz"
    header, arrays = container.read("track", 2, path.read_bytes())
    for name, value in (
        ("plan", [3, 24]),
        ("plan", [0, 24, True, 3600.0, 0, 0]),
        ("plan", [4, 24, True, 3600.0, 0, 0]),
        ("plan", [3, -1, True, 3600.0, 0, 0]),
        ("plan", [3, 24, True, -1.0, 0, 0]),
        ("plan", [3, 24, True, 3600.0, 2, 0]),
        ("texts", [1, 2]),
        ("texts", None),
    ):
        other = copy.deepcopy(header)
        other["series"][name] = value
        path.write_bytes(b"".join(container.write("track", 2, other, arrays)))
        assert track(gaps, "y", tmp_path / "o", **options) == 2, (name, value)
        assert "the checkpoint must be whole" in capsys.readouterr().err
    path.write_bytes(b"".join(container.write("track", 2, header, arrays)))
    assert track(gaps, "y", tmp_path / "o", **{**options, "horizon": 4}) == 2
    assert "--horizon must be that of the checkpoint: got 4" in capsys.readouterr().err
    assert track(gaps, "y", tmp_path / "o", **options) == 0


def test_a_series_of_few_rows_is_forecast(tmp_path):
    for n in (1, 2, 3):
        days = [date(2024, 1, 30) + timedelta(i) for i in range(n)]
        source = write(tmp_path / "s.csv", {"t": days, "y": [5.0, 6.0, 5.5][:n]})
        rows, summary = run(source, tmp_path / "o", time="t")
        assert len(rows["row"]) == n
        assert summary["horizon"] == (10 if n == 1 else 7)
        times = [row["time"] for row in summary["forecast"]]
        assert times[0] == (None if n == 1 else str(days[-1] + timedelta(1)))
    source = write(tmp_path / "s.csv", {"y": ["", "", ""]})
    rows, summary = run(source, tmp_path / "o")
    assert read(tmp_path / "o")["forecast"] == ["0.0"] * 3
    assert summary["horizons"][0]["error"] is None


def test_days_of_the_week_that_never_have_a_row_are_not_forecast(tmp_path):
    days = [date(2024, 1, 1) + timedelta(i) for i in range(140)]
    days = [day for day in days if day.weekday() < 5]
    rng = np.random.default_rng(1)
    y = [round(20.0 + 4.0 * (day.weekday() == 0) + rng.normal(), 2) for day in days]
    cells = [*y[:-2], "", ""]
    source = write(tmp_path / "s.csv", {"t": days, "y": cells})
    rows, summary = run(source, tmp_path / "o", time="t", horizon=5)
    assert [row["time"] for row in summary["forecast"]] == [
        *map(str, days[-2:]),
        "2024-05-20",
        "2024-05-21",
        "2024-05-22",
    ]
    assert rows["forecast"][-2:] == forecast(tmp_path / "o")["forecast"][:2]
    # what was forecast two rows ahead is of the row after the next, not of a Saturday
    assert summary["horizons"][1]["rows"] == 64


def test_changes_between_open_hours_are_told_at_their_time(tmp_path):
    hours_open = [datetime(2024, 1, 1, 9) + timedelta(days=d, hours=h) for d in range(70)
                  for h in range(8)]  # fmt: skip
    hours_open = [at for at in hours_open if at.weekday() < 5]
    jump = next(i for i, at in enumerate(hours_open) if at >= datetime(2024, 2, 14, 12))
    rng = np.random.default_rng(2)
    y = 10.0 + 6.0 * (np.arange(len(hours_open)) >= jump) + rng.normal(size=len(hours_open))
    texts = [f"{at:%Y-%m-%d %H:%M}" for at in hours_open]
    source = write(tmp_path / "s.csv", {"t": texts, "y": y.round(3).tolist()})
    _, summary = run(source, tmp_path / "o", time="t", horizon=4)
    assert summary["forecast"][0]["time"] == "2024-03-11 09:00"
    change = summary["changes"][-1]
    assert change["kind"] == "level up"
    at = datetime.fromisoformat(change["time"])
    assert abs(hours_open.index(at) - jump) < 4


def test_numbers_in_words_are_as_fine_as_tells_them_apart():
    fell = Change(9, 5, "level down", 1e9 + 10.88, 1e9 + 10.69, 1e5)
    words = outlook._change(fell, None, None, None)["words"]
    assert words == "level fell from 1,000,000,010.9 to 1,000,000,010.7 in row 6"
    row = {"forecast": 10_492.21, "lo": 10_483.38, "hi": 10_501.07}
    assert outlook._between(row) == "10,492.2, from 10,483.4 to 10,501.1"
    assert outlook._between({"forecast": 73_360.1, "lo": None, "hi": None}) == "73,360"
    row = {"forecast": 1.4929, "lo": 0.0, "hi": 6.0}
    assert outlook._between(row) == "1.493, from 0 to 6"
    row = {"forecast": 9.9989e-9, "lo": 9.1179e-9, "hi": 1.0881e-8}
    assert outlook._between(row) == "9.999e-09, from 9.118e-09 to 1.088e-08"


def test_sizes_of_changes_that_contradict_their_kind_are_left_out():
    fell = Change(9, 5, "level down", 633.0, 715.0, 1e5)
    assert outlook._change(fell, None, None, None)["words"] == "level fell in row 6"
    fell = Change(9, 5, "level down", 715.0, 633.0, 1e5)
    assert outlook._change(fell, None, None, None)["words"] == "level fell from 715 to 633 in row 6"


def test_days_with_offsets_go_on_with_those_that_clocks_will_have(tmp_path):
    zone = ZoneInfo("Europe/Berlin")
    days = [datetime(2023, 10, 1, tzinfo=zone) + timedelta(i) for i in range(182)]  # to 30 March
    texts = [day.isoformat() for day in days]
    y = np.random.default_rng(0).normal(size=182).round(3).tolist()
    source = write(tmp_path / "s.csv", {"t": texts, "y": y})
    options = {"time": "t", "horizon": 3, "checkpoint": tmp_path / "c"}
    lines = Path(source).read_text().splitlines(keepends=True)
    for end in (90, 183):
        Path(source).write_text("".join(lines[:end]))
        _, summary = run(source, tmp_path / "o", **options)
    assert [row["time"] for row in summary["forecast"]] == [
        "2024-03-31T00:00:00+01:00",
        "2024-04-01T00:00:00+02:00",
        "2024-04-02T00:00:00+02:00",
    ]
    header, _ = container.read("track", 2, (tmp_path / "c" / "checkpoint.npz").read_bytes())
    assert [text[:10] for text in header["series"]["clocks"]] == ["2023-10-29", "2023-10-30"]


def test_days_alone_say_nothing_of_clocks(tmp_path):
    days = [date(2024, 1, 1) + timedelta(i) for i in range(30)]
    source = write(tmp_path / "s.csv", {"t": days, "y": range(30)})
    run(source, tmp_path / "o", time="t", checkpoint=tmp_path / "c")
    header, _ = container.read("track", 2, (tmp_path / "c" / "checkpoint.npz").read_bytes())
    assert header["series"]["clocks"] == []


def test_the_longest_season_and_their_number_are_those_of_forecasters():
    assert arguments.periods("4092") == [4092.0]
    assert sp.Forecaster(1, season=[4092]) is not None
    with pytest.raises(ValueError, match="at most 4092"):
        sp.Forecaster(1, season=[4093])
    with pytest.raises(ValueError, match="at most 8 periods"):
        sp.Forecaster(1, season=list(range(2, 11)))
