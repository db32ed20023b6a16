"""`stillpoint fleet` with forecasters: rows in any order in, a forecast a key and step out."""

import csv
import gzip
import json
import re
from datetime import date, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import stillpoint as sp
from children import piped
from extras import package
from stillpoint.commands import fleet
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts import job
from stillpoint.commands.forecasts.figures import figures
from stillpoint.commands.forecasts.intake import Intake
from stillpoint.core.container import lock
from stillpoint.fleet.series import scores
from stillpoint.fleet.series.plan import Plan

START = date(2024, 1, 1)


def series(keys=4, n=60, seed=0, missing=0.1):
    """Days and values of each key: weeks, keys that begin and end at other days, gaps."""
    rng, found = np.random.default_rng(seed), {}
    for k in range(keys):
        begin, length = int(rng.integers(0, 20)), n - int(rng.integers(0, 20))
        days = begin + np.flatnonzero(rng.random(length) >= missing)
        y = 20.0 + k + 5.0 * np.sin(2 * np.pi * days / 7) + rng.normal(size=days.size)
        found[f"sku{k}"] = days, np.round(y, 2)
    return found


def table(found, seed=1):
    """Rows of all keys, in disorder."""
    rows = [
        (key, (START + timedelta(days=int(day))).isoformat(), repr(float(y)))
        for key, (days, values) in found.items()
        for day, y in zip(days, values, strict=True)
    ]
    return [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]


def write(path, rows):
    path.write_text("sku,day,sold\n" + "".join(f"{','.join(row)}\n" for row in rows))
    return path


def run(source, out, **told):
    told = {"time": "day", "horizon": 3, "season": "7", "quiet": True, **told}
    return fleet(str(source), "sku", "sold", out, **told)


def read(out, folder="forecasts"):
    """Rows of all parts, by key."""
    found = {}
    for part in sorted((out / folder).iterdir()):
        with part.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["key"], []).append(row)
    return found


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def summary(out):
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def filled(days, values):
    y = np.full(int(days[-1] - days[0]) + 1, np.nan)
    y[days - days[0]] = values
    return y


def single(y, **told):
    """What one forecaster says of a series: of each round, and of those to come."""
    model = sp.Forecaster(3, season=[7], pool="small", **told)
    rounds = model.track(y, intervals=True)
    return rounds, (model.predict(horizon=3), *model.interval(horizon=3))


def test_forecasts_are_those_of_single_forecasters(tmp_path, capsys):
    given = series()
    source = write(tmp_path / "a.csv", table(given))
    assert run(source, tmp_path / "out", predictions="csv", coverage=0.8, quiet=False) == 0
    ahead, played = read(tmp_path / "out"), read(tmp_path / "out", "predictions")
    assert list(ahead) == sorted(given)
    errors, hits = {name: [] for name in scores.NAMES}, []
    for key, (days, values) in given.items():
        y = filled(days, values)
        rounds, coming = single(y, coverage=0.8)
        for name, own in zip(("forecast", "lo", "hi"), coming, strict=True):
            assert [float(row[name]) for row in ahead[key]] == own.tolist()
        dates = [(START + timedelta(days=int(days[-1]) + h)).isoformat() for h in (1, 2, 3)]
        assert [row["time"] for row in ahead[key]] == dates
        assert [row["step"] for row in ahead[key]] == ["1", "2", "3"]
        seen = ~np.isnan(y)
        assert [float(row["target"]) for row in played[key]] == values.tolist()
        for name, own in zip(("forecast", "lo", "hi"), rounds, strict=True):
            assert [float(row[name]) for row in played[key]] == own[seen].tolist()
        last, count = np.nan, 0
        for t in np.flatnonzero(seen):
            if count >= scores.FIRST:
                week = y[t - 7] if t >= 7 and seen[t - 7] else last
                for name, said in zip(scores.NAMES, (rounds[0][t], last, week), strict=True):
                    errors[name].append((key, y[t] - said))
                hits.append(rounds[1][t] <= y[t] <= rounds[2][t])
            last, count = y[t], count + 1
    told = summary(tmp_path / "out")
    assert (told["rows"], told["keys"], told["season"], told["horizon"]) == (
        sum(days.size for days, _ in given.values()),
        4,
        [7.0],
        3,
    )
    assert told["scored"]["rounds"] == len(hits)
    assert told["coverage"]["achieved"] == pytest.approx(np.mean(hits))
    roots = {}
    for name, pairs in errors.items():
        all_errors = np.array([error for _, error in pairs])
        assert told["errors"][name]["rmse"] == pytest.approx(np.sqrt(np.mean(all_errors**2)))
        assert told["errors"][name]["mae"] == pytest.approx(np.mean(np.abs(all_errors)))
        roots[name] = np.array(
            [np.sqrt(np.mean([e * e for k, e in pairs if k == key])) for key in given]
        )
    for name, own in roots.items():
        ratio = np.exp(np.mean(np.log(own / roots["last value"])))
        assert told["errors"][name]["scaled"] == pytest.approx(ratio)
    best = np.array(list(roots.values())).argmin(axis=0)
    shares = [told["errors"][name]["best_of_keys"] for name in scores.NAMES]
    assert shares == [float(np.mean(best == i)) for i in range(3)]
    printed = capsys.readouterr().out
    for word in ("last value", "seasonal naive", "rows of 4 keys", "bytes a key", "coverage"):
        assert word in printed


def test_the_order_of_rows_and_how_they_are_kept_change_nothing(tmp_path, monkeypatch):
    rows = table(series())
    assert run(write(tmp_path / "a.csv", rows), tmp_path / "a") == 0
    want = contents(tmp_path / "a" / "forecasts")
    monkeypatch.setattr("stillpoint.commands.forecasts.spill.ROOM", 1000)
    monkeypatch.setattr("stillpoint.commands.fleet_job.BATCH", 17)
    (tmp_path / "b.csv.gz").write_bytes(
        gzip.compress(write(tmp_path / "b.csv", sorted(rows)).read_bytes())
    )
    lines = [json.dumps(dict(zip(("sku", "day", "sold"), row, strict=True))) for row in rows]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    (tmp_path / "d").mkdir()
    for i in range(3):
        write(tmp_path / "d" / f"{i}.csv", rows[i::3])
    for name in ("b.csv.gz", "c.jsonl", "d"):
        assert run(tmp_path / name, tmp_path / "out") == 0
        assert contents(tmp_path / "out" / "forecasts") == want
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "forecasts",
            "summary.json",
        ]


def test_standard_input_is_read(tmp_path, monkeypatch):
    rows = table(series(2, 30))
    source = write(tmp_path / "a.csv", rows)
    words = "fleet - --key sku --target sold --time day --season 7 --horizon 3 --quiet --out"
    told = [*words.split(), str(tmp_path / "out")]
    assert piped(source.read_bytes(), told, monkeypatch) == 0
    assert run(source, tmp_path / "other") == 0
    assert contents(tmp_path / "out" / "forecasts") == contents(tmp_path / "other" / "forecasts")


def test_parts_and_threads_change_no_number(tmp_path, monkeypatch):
    source = write(tmp_path / "a.csv", table(series(9, 40)))
    assert run(source, tmp_path / "one") == 0
    monkeypatch.setattr(job, "ROWS", 60)
    assert run(source, tmp_path / "many") == 0
    assert run(source, tmp_path / "threads", threads=3) == 0
    assert len(list((tmp_path / "many" / "forecasts").iterdir())) > 3
    assert contents(tmp_path / "many" / "forecasts") == contents(tmp_path / "threads" / "forecasts")
    assert read(tmp_path / "many") == read(tmp_path / "one")
    one, many, threads = (summary(tmp_path / name) for name in ("one", "many", "threads"))
    assert many["errors"] == threads["errors"]
    for name, own in one["errors"].items():
        assert many["errors"][name] == pytest.approx(own)
    assert many["worst"] == one["worst"]


def test_nonnegative_forecasts_end_at_zero(tmp_path):
    rng = np.random.default_rng(0)
    given = {"a": (np.arange(40), rng.poisson(0.3, 40).astype(float))}
    source = write(tmp_path / "a.csv", table(given))
    for nonnegative in (False, True):
        assert run(source, tmp_path / "out", nonnegative=nonnegative) == 0
        low = min(float(row["lo"]) for row in read(tmp_path / "out")["a"])
        assert low == 0.0 if nonnegative else low < 0.0


def test_without_times_rows_are_rounds_in_their_order(tmp_path):
    y = series(1, 40)["sku0"][1]
    lines = [f"a,,{value}" for value in y[:20]] + ["a,,"] + [f"a,,{value}" for value in y[20:]]
    (tmp_path / "a.csv").write_text("sku,day,sold\n" + "\n".join([*lines, "a,,", "b,,"]) + "\n")
    assert run(tmp_path / "a.csv", tmp_path / "out", time=None) == 0
    found = read(tmp_path / "out")
    assert list(found) == ["a"]  # of b nothing is known
    rounds = np.insert(y, 20, np.nan)
    assert [float(row["forecast"]) for row in found["a"]] == single(rounds)[1][0].tolist()
    assert [row["time"] for row in found["a"]] == [str(rounds.size + h) for h in (1, 2, 3)]
    assert summary(tmp_path / "out")["empty"] == 3


def test_what_cannot_be_used_costs_its_row_only(tmp_path, capsys):
    given = series(2, 40)
    rows = table(given)
    bad = [("", "2024-01-01", "1"), ("sku0", "yesterday", "1"), ("sku0", "", "1")]
    bad += [("sku1", "2024-01-02", "many"), ("sku1", "2024-01-02", "inf")]
    source = write(tmp_path / "a.csv", [*rows[:9], *bad, *rows[9:]])
    assert run(source, tmp_path / "out", quiet=False) == 0
    assert run(write(tmp_path / "b.csv", rows), tmp_path / "clean") == 0
    assert contents(tmp_path / "out" / "forecasts") == contents(tmp_path / "clean" / "forecasts")
    rejected = summary(tmp_path / "out")["rejected"]
    assert rejected["rows"] == 5
    assert sum(rejected["reasons"].values()) == 5
    printed = capsys.readouterr().out
    for reason in ("key must be a whole number or text", "time must be given", "must hold an ISO"):
        assert any(reason in one for one in rejected["reasons"])
        assert reason in printed


def test_days_written_as_numbers_are_days(tmp_path):
    rows = table(series())
    run(write(tmp_path / "iso.csv", rows), tmp_path / "iso")
    rows = [(key, day.replace("-", ""), sold) for key, day, sold in rows]
    run(write(tmp_path / "s.csv", rows), tmp_path / "o")
    for key, told in read(tmp_path / "iso").items():
        for row, same in zip(told, read(tmp_path / "o")[key], strict=True):
            assert {**row, "time": row["time"].replace("-", "")} == same


def test_dates_in_no_known_form_are_refused_with_the_option_to_tell(tmp_path, capsys):
    source = write(tmp_path / "s.csv", [("a", "01-Jan-24", "1"), ("a", "02-Jan-24", "2")])
    assert run(source, tmp_path / "o") == 2
    assert "or give --date-format such as" in capsys.readouterr().err


def test_where_no_row_can_be_used_one_is_quoted_with_its_remedy(tmp_path, capsys):
    source = tmp_path / "s.csv"
    source.write_text("sku;day;sold\na;2024-01-01;1,5\na;2024-01-02;2,5\n")
    assert run(source, tmp_path / "o") == 2
    error = capsys.readouterr().err
    assert "mostly because column 'sold' must hold a number: got '1,5'; write decimal" in error
    assert "pandas.read_csv(…, decimal=',')" in error


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b.csv", b"sku,sold,sold\n", ": columns must have different names: got 'sold' twice"),
        ("b.csv", b"sku,sold\xff\n", ": the header must be UTF-8"),
        ("b.jsonl", b"{bad\n", ", row 1: a row must be JSON"),
        ("b.csv", b"PAR1" + bytes(9), ", which is Parquet"),
    ],
)
def test_of_a_folder_the_file_with_a_bad_header_is_named(tmp_path, capsys, name, content, message):
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.csv", table(series(1, 30)))
    (folder / name).write_bytes(content)
    assert run(folder, tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert f"{folder / name}{message}" in said
    assert said.count(name) == 1


def test_keys_without_a_value_are_told(tmp_path, capsys):
    rows = [*table(series()), ("void", "2024-01-01", ""), ("void", "2024-01-02", "")]
    run(write(tmp_path / "s.csv", rows), tmp_path / "o")
    assert "1 of 5 keys have no value yet, and no forecast" in capsys.readouterr().err
    assert "void" not in read(tmp_path / "o")
    assert summary(tmp_path / "o")["valueless_keys"] == 1


def test_of_rows_with_one_day_the_last_counts_and_that_is_said(tmp_path, capsys):
    rows = sorted(table(series(2, 40)))
    again = (rows[5][0], rows[5][1], "999")
    assert run(write(tmp_path / "a.csv", [*rows[:5], again, *rows[5:]]), tmp_path / "a") == 0
    assert "1 rows were of a slot" in capsys.readouterr().err
    assert run(write(tmp_path / "b.csv", rows), tmp_path / "b") == 0
    assert contents(tmp_path / "a" / "forecasts") == contents(tmp_path / "b" / "forecasts")
    assert summary(tmp_path / "a")["repeated"] == 1


def test_an_hour_that_comes_twice_in_autumn_asks_for_offsets(tmp_path, capsys):
    remedy = "if clocks were set back then, write times with their offset from UTC, as 2025-10-26T"
    start = datetime(2025, 10, 25, tzinfo=ZoneInfo("UTC"))
    times = [(start + timedelta(hours=i)).astimezone(ZoneInfo("Europe/Berlin")) for i in range(40)]
    rows = [(key, time, str(i)) for i, time in enumerate(times) for key in "ab"]
    for name, form in ("local", "%Y-%m-%dT%H:%M"), ("zoned", "%Y-%m-%dT%H:%M%z"):
        source = write(tmp_path / f"{name}.csv", [(key, f"{at:{form}}", y) for key, at, y in rows])
        assert run(source, tmp_path / f"{name}-out") == 0
        said, repeated = capsys.readouterr().err, summary(tmp_path / f"{name}-out")["repeated"]
        assert (repeated, remedy in said) == ((2, True) if name == "local" else (0, False))
    days = sorted(table(series(2, 40)))
    assert run(write(tmp_path / "days.csv", [*days, days[5]]), tmp_path / "out") == 0
    said = capsys.readouterr().err
    assert "1 rows were of a slot" in said
    assert "clocks" not in said


def test_a_hot_key_and_keys_that_never_return(tmp_path):
    """One key with nine rows of ten, and keys of one row: all are forecast, each by itself."""
    hot = series(1, 300, missing=0.0)["sku0"]
    given = {"hot": hot} | {f"cold{i}": (np.array([i]), np.array([float(i)])) for i in range(30)}
    assert run(write(tmp_path / "a.csv", table(given)), tmp_path / "out") == 0
    found = read(tmp_path / "out")
    assert len(found) == 31
    want = single(filled(*hot))[1][0].tolist()
    assert [float(row["forecast"]) for row in found["hot"]] == want
    for i in range(30):
        assert [float(row["forecast"]) for row in found[f"cold{i}"]] == pytest.approx([i] * 3)
        assert found[f"cold{i}"][0]["time"] == (START + timedelta(days=i + 1)).isoformat()
    told = summary(tmp_path / "out")
    assert (told["keys"], told["scored"]["keys"]) == (31, 1)


def test_seasons_are_found_and_the_horizon_is_one_of_them(tmp_path, capsys):
    source = write(tmp_path / "a.csv", table(series(4, 80)))
    assert run(source, tmp_path / "out", season=None, horizon=None, quiet=False) == 0
    told = summary(tmp_path / "out")
    assert (told["season"], told["horizon"], told["gap_unit"]) == ([7.0], 7, "day")
    assert "seasons: 7 (from the spacing of dates)" in capsys.readouterr().out


def test_it_says_so_where_the_last_value_is_better(tmp_path):
    """Sums of two keys, of which one is forecast four times as badly as by its last value."""
    sums = np.zeros((2, scores.COLUMNS))
    sums[:, [scores.SEEN, scores.SCORED, scores.HITS]] = 30.0, 20.0, 18.0
    sums[:, scores.SQUARED : scores.SQUARED + 3] = [[320.0, 20.0, 80.0], [20.0, 20.0, 20.0]]
    result = scores.result(["bad", "good"], sums, True)
    counts = {"late": 0, "repeated": 0, "empty": 0, "bytes": 3000}
    options = FleetOptions("a.csv", "y", tmp_path, key="k")
    session = SimpleNamespace(rows=60, seconds=1.0, notes=[])
    plan = Plan(False, False, 1.0, None, (7.0,), 3, "as told")
    told = figures(options, plan, Intake(options), [{**result, **counts}], session)
    assert told["errors"]["stillpoint"]["scaled"] == pytest.approx(2.0)
    assert [error["best_of_keys"] for error in told["errors"].values()] == [0.5, 0.5, 0.0]
    assert told["worst"][0]["key"] == "bad"
    assert told["worst"][0]["ratio"] == pytest.approx(4.0)
    assert "forecasts were worse than the last value, by 100%" in session.notes[0]
    sums[0, scores.SQUARED] = 5.0
    told = scores.merged([scores.result(["bad", "good"], sums, True)], True)
    assert told["errors"]["stillpoint"]["scaled"] < 1.0


def test_without_a_season_there_is_no_seasonal_naive(tmp_path):
    source = write(tmp_path / "a.csv", table(series(1, 30)))
    assert run(source, tmp_path / "out", season="none") == 0
    assert list(summary(tmp_path / "out")["errors"]) == ["stillpoint", "last value"]
    assert run(source, tmp_path / "out", season=[7, 14]) == 0
    assert summary(tmp_path / "out")["season"] == [7.0, 14.0]


def test_what_cannot_be_asked_for_is_one_line(tmp_path, capsys):
    source, out = write(tmp_path / "a.csv", table(series(1, 30))), tmp_path / "out"
    bad = write(tmp_path / "bad.csv", [("", "x", "y")] * 3)
    cases = [
        ({"horizon": 0}, "--horizon must be from 1 to 10,000: got 0"),
        ({"season": "often"}, "--season must be auto, none, or periods"),
        ({"season": "7,5000"}, "--season must be periods of at most 4092 rows.*got 7,5000; leave"),
        ({"season": "7,7"}, "--season must name each period once: got 7,7; give them such as 24,"),
        ({"season": "2,3,4,5,6,7,8,9,10"}, "--season must have at most 8 periods: got 2,3"),
        ({"pool": "large"}, "--pool must be one of small, middle"),
        ({"forecasts": "xml"}, "--forecasts must be one of csv, parquet"),
        ({"predictions": "xml"}, "--predictions must be one of csv, parquet"),
        ({"coverage": 1.0}, "--coverage must be a number between"),
        ({"level": 0.5}, "--level must fit the learner"),
        ({"date_format": "%q"}, "--date-format must have a year"),
        ({"engine": "spark", "predictions": "csv"}, "--predictions must be left out for forecasts"),
        ({"learner": "tracker"}, "--horizon must fit the learner: got 3 for tracker"),
        ({"source": bad}, "must have rows that can be used: got none of 3"),
    ]
    for told, message in cases:
        assert run(**{"source": source, "out": out, **told}) == 2, told
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert re.search(message, error), error


@pytest.mark.extra
def test_parquet_in_and_out(tmp_path):
    package("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    rows = table(series(3, 40))
    columns = {
        "sku": [int(key.removeprefix("sku")) for key, _, _ in rows],
        "day": [date.fromisoformat(day) for _, day, _ in rows],
        "sold": [float(y) for _, _, y in rows],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    told = {"forecasts": "parquet", "predictions": "parquet"}
    assert run(tmp_path / "a.parquet", tmp_path / "out", **told) == 0
    assert run(write(tmp_path / "a.csv", rows), tmp_path / "text") == 0
    found = parquet.read_table(tmp_path / "out" / "forecasts")
    assert [str(kind) for kind in found.schema.types] == [
        "int64",
        "date32[day]",
        "int64",
        *["double"] * 3,
    ]
    texts = [row for rows in read(tmp_path / "text").values() for row in rows]
    assert [f"sku{key}" for key in found["key"].to_pylist()] == [row["key"] for row in texts]
    assert [str(day) for day in found["time"].to_pylist()] == [row["time"] for row in texts]
    assert found["hi"].to_pylist() == [float(row["hi"]) for row in texts]
    assert parquet.read_table(tmp_path / "out" / "predictions").num_rows == len(rows)


def test_an_input_among_what_is_written_is_refused(tmp_path, capsys):
    for folder in ("out/forecasts", "state/rows", "out/predictions"):
        (tmp_path / folder).mkdir(parents=True)
        source = write(tmp_path / folder / "part-a.csv", table(series(1, 30)))
        text = source.read_bytes()
        assert run(source, tmp_path / "out", checkpoint=tmp_path / "state") == 2
        assert "must not delete the input" in capsys.readouterr().err
        assert source.read_bytes() == text


def test_two_runs_do_not_write_into_one_folder(tmp_path, capsys):
    source, out = write(tmp_path / "a.csv", table(series(1, 30))), tmp_path / "out"
    out.mkdir()
    held = lock(out / ".forecasts.lock", "it is free")
    try:
        assert run(source, out) == 2
    finally:
        held.close()
    assert "--out must be free: another process is writing" in capsys.readouterr().err
    assert run(source, out) == 0


class LastValues:
    """Stands for a fleet of forecasters where only rows and files are looked at."""

    bytes_per_key = 3000

    def __init__(self, learner, **config):
        self.config, self._last = config, {}

    def track(self, keys, Y, intervals):
        said = np.concatenate([np.zeros((len(keys), 1)), Y[:, :-1]], axis=1)
        self._last |= dict(zip(keys, Y[:, -1].tolist(), strict=True))
        return said, said, said

    def predict(self, keys, horizon):
        return np.tile([[self._last[key]] for key in keys], (1, horizon))

    def interval(self, keys, horizon):
        return self.predict(keys, horizon), self.predict(keys, horizon)


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_keys_of_three_rows(tmp_path, monkeypatch, n):
    monkeypatch.setattr("stillpoint.fleet.series.parts.Fleet", LastValues)
    monkeypatch.setattr(job, "STATES", job.STATES * n // 100_000)  # three parts, for fewer too
    days = ("2024-01-01", "2024-01-02", "2024-01-03")
    with (tmp_path / "a.csv").open("w") as file:
        file.write("sku,day,sold\n")
        for i, day in enumerate(days):
            file.writelines(f"{k},{day},{k + i}\n" for k in range(n))
    assert run(tmp_path / "a.csv", tmp_path / "out", horizon=1) == 0
    told = summary(tmp_path / "out")
    assert (told["rows"], told["keys"], told["parts"]) == (3 * n, n, 3)
    assert told["scored"]["rounds"] == 0
    assert told["errors"]["stillpoint"] == dict.fromkeys(("rmse", "mae", "scaled", "best_of_keys"))
    found = [row for rows in read(tmp_path / "out").values() for row in rows]
    assert len(found) == n
    assert all(float(row["forecast"]) == int(row["key"]) + 2 for row in found)
    assert {row["time"] for row in found} == {"2024-01-04"}
