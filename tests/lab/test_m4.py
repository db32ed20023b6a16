"""The M4 competition: its files, its measures against plain loops, the bench on a tiny folder."""

import csv
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from stillpoint.commands.cli import app
from stillpoint.lab.m4.bench import OURS, forecast, m4_bench
from stillpoint.lab.m4.files import FREQUENCIES, frequency, read, there
from stillpoint.lab.m4.measures import decompose, mase, naive2, seasonal, seasonal_naive, smape
from stillpoint.lab.series.simple import Ours


class Last:
    """The last value, with as much of the face of `sp.Forecaster` as the bench needs."""

    def __init__(self, horizon=1, *, season="auto", pool="full"):
        self.horizon, self.season, self.pool = horizon, season, pool

    def track(self, y):
        self.last = y[-1]

    def predict(self, horizon):
        return np.full(horizon, self.last)


def below(horizon, *, season, pool):
    model = Last(horizon)
    model.predict = lambda horizon: np.full(horizon, -5.0)
    return model


def values(kind, rounds, seed):
    """A season, growth and noise, all above 0."""
    t = np.arange(rounds + kind.horizon)
    noise = np.random.default_rng(seed).standard_normal(t.size)
    y = (50.0 + 0.1 * t) * (1.0 + 0.3 * np.sin(2 * np.pi * t / max(kind.period, 2))) + noise
    return np.round(y, 3)


def write(path, rows):
    """As the competition wrote its files: quoted, of one width, the header V1, V2, …"""
    width = max(len(row) for row in rows)
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        table.writerow([f"V{i + 1}" for i in range(width)])
        table.writerows([*row, *[""] * (width - len(row))] for row in rows)


def folder_of(path, kinds, nested=False, series=3):
    path.mkdir(exist_ok=True)
    for kind in (FREQUENCIES[name] for name in kinds):
        train, test = [], []
        for k in range(series):
            y = values(kind, 5 * kind.period + 20 + 7 * k, k)
            name = f"{kind.name[0]}{k + 1}"
            train.append([name, *y[: -kind.horizon]])
            test.append([name, *y[-kind.horizon :]])
        for part, rows in (("train", train), ("test", test[::-1])):
            place = path / part.capitalize() if nested else path
            write(place / f"{kind.name}-{part}.csv", rows)
    return path


@pytest.mark.parametrize("nested", [False, True])
def test_all_frequencies_are_read_with_their_horizons(tmp_path, nested):
    folder = folder_of(tmp_path, FREQUENCIES, nested)
    assert [kind.name for kind in there(folder)] == list(FREQUENCIES)
    horizons = {"Yearly": 6, "Quarterly": 8, "Monthly": 18, "Weekly": 13, "Daily": 14, "Hourly": 48}
    periods = {"Yearly": 1, "Quarterly": 4, "Monthly": 12, "Weekly": 1, "Daily": 1, "Hourly": 24}
    for name, kind in FREQUENCIES.items():
        tasks = read(folder, kind)
        assert [task.name for task in tasks] == [f"{name[0]}{k}" for k in (1, 2, 3)]
        assert (kind.horizon, kind.period) == (horizons[name], periods[name])
        for k, task in enumerate(tasks):
            y = values(kind, 5 * kind.period + 20 + 7 * k, k)
            np.testing.assert_array_equal(np.concatenate([task.train, task.test]), y)
    assert len(read(folder, kind, 2)) == 2


def test_frequencies_have_any_capitals():
    assert frequency("hourly").horizon == 48
    with pytest.raises(ValueError, match=r"frequency must be .*'Montly'; did you mean Monthly"):
        frequency("Montly")


def test_errors_say_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"must be a folder .* which is none"):
        there(tmp_path / "no")
    with pytest.raises(ValueError, match=r"no pair such as Hourly-train\.csv"):
        there(tmp_path)
    folder_of(tmp_path, ["Daily"])
    (tmp_path / "Daily-test.csv").rename(tmp_path / "aside.csv")
    with pytest.raises(ValueError, match=r"got only Daily-train\.csv"):
        there(tmp_path)
    with pytest.raises(ValueError, match=r"must have Daily-test\.csv: got none"):
        read(tmp_path, FREQUENCIES["Daily"])
    with pytest.raises(ValueError, match="must be a folder"):
        m4_bench(tmp_path / "no", "Daily", make=Last)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["D2", *range(14)]], "must have a row 'D1': got none"),
        ([["D1", *range(13)]], "must have 14 values a row: got 13 for 'D1'"),
        ([["D1", *["a"] * 14]], "must have numbers after the name of a series: got other text"),
        ([["D1", *["nan"] * 14]], "must have numbers after the name of a series: got other text"),
    ],
    ids=["other name", "short", "text", "no number"],
)
def test_files_of_another_format_are_refused(tmp_path, rows, said):
    write(tmp_path / "Daily-train.csv", [["D1", *range(1, 30)]])
    write(tmp_path / "Daily-test.csv", rows)
    with pytest.raises(ValueError, match=said):
        read(tmp_path, FREQUENCIES["Daily"])


def test_a_file_without_series_is_refused(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"Daily-{part}.csv").write_text('"V1","V2"\n', encoding="utf-8")
    with pytest.raises(ValueError, match="must have a header and a row a series: got none"):
        read(tmp_path, FREQUENCIES["Daily"])


def test_measures_by_hand():
    actual, forecast = np.array([1.0, 2.0, 0.0]), np.array([2.0, 2.0, 0.0])
    assert smape(actual, forecast) == pytest.approx(200.0 / 3 * (1.0 / 3.0))
    train = np.array([1.0, 4.0, 2.0, 8.0])
    assert mase(train, actual, forecast, 1) == pytest.approx((1.0 / 3) / (11.0 / 3))
    assert mase(train, actual, forecast, 2) == pytest.approx((1.0 / 3) / 2.5)
    assert math.isnan(mase(np.ones(5), actual, forecast, 1))


def test_the_test_for_a_season_against_a_loop():
    def plainly(y, m):
        mean, n = sum(y) / len(y), len(y)
        total = sum((v - mean) ** 2 for v in y)
        r = [
            sum((y[t] - mean) * (y[t + k] - mean) for t in range(n - k)) / total
            for k in range(1, m + 1)
        ]
        return abs(r[-1]) > 1.645 * math.sqrt((1 + 2 * sum(v * v for v in r[:-1])) / n)

    rng = np.random.default_rng(0)
    said = []
    for size in np.linspace(0.0, 1.5, 30):
        y = rng.standard_normal(60) + size * np.sin(2 * np.pi * np.arange(60) / 12)
        said.append(seasonal(y, 12))
        assert said[-1] == plainly(y.tolist(), 12)
    assert 5 < sum(said) < 28
    wave = np.sin(2 * np.pi * np.arange(35) / 12)
    assert not seasonal(wave, 12)  # fewer than three seasons
    assert not seasonal(np.ones(60), 12)
    assert not seasonal(wave, 1)


@pytest.mark.parametrize("period", [4, 7])
def test_the_decomposition_against_a_loop(period):
    y = values(FREQUENCIES["Quarterly"], 45, 1)
    half = period // 2
    ratios = [[] for _ in range(period)]
    for t in range(half, y.size - half):
        near = [y[t + k] for k in range(-half, half + 1)]
        if period % 2 == 0:
            near[0], near[-1] = near[0] / 2, near[-1] / 2
        ratios[t % period].append(y[t] / (sum(near) / period))
    figure = np.array([np.mean(each) for each in ratios])
    np.testing.assert_allclose(decompose(y, period), figure / figure.mean(), rtol=1e-12)


def test_naive2_repeats_a_pure_season_that_grows_and_is_naive_without_one():
    shape = np.array([0.5, 1.0, 1.5, 1.0])
    y = 10.0 * np.tile(shape, 8)
    np.testing.assert_allclose(naive2(y, 6, 4), 10.0 * np.tile(shape, 2)[:6], rtol=1e-12)
    np.testing.assert_allclose(naive2(y[:-1], 2, 4), 10.0 * shape[[3, 0]], rtol=1e-12)
    noise = 5.0 + np.random.default_rng(2).random(40)
    assert not seasonal(noise, 4)
    np.testing.assert_array_equal(naive2(noise, 3, 4), noise[-1])
    np.testing.assert_array_equal(seasonal_naive(y, 6, 4), y[[-4, -3, -2, -1, -4, -3]])
    np.testing.assert_array_equal(seasonal_naive(y[:3], 2, 4), y[2])


def test_means_by_frequency_and_over_all(tmp_path):
    folder = folder_of(tmp_path, ["Monthly", "Daily"])
    result = m4_bench(folder, make=Last)
    means = {(mean.frequency, mean.method): mean for mean in result.means()}
    assert [kind for kind, _ in means][::4] == ["Monthly", "Daily", "all"]
    for kind in ("Monthly", "Daily"):
        tasks = read(folder, FREQUENCIES[kind])
        period = FREQUENCIES[kind].period
        both = {}
        for name, say in (
            ("Naive2", lambda task: naive2(task.train, task.test.size, task.frequency.period)),
            (OURS, lambda task: np.full(task.test.size, task.train[-1])),
        ):
            errors = [(smape(t.test, say(t)), mase(t.train, t.test, say(t), period)) for t in tasks]
            both[name] = np.mean(errors, axis=0)
            found = means[kind, name]
            assert (found.smape, found.mase) == pytest.approx(tuple(both[name]))
            assert found.series == 3
        owa = (both[OURS] / both["Naive2"]).mean()
        assert means[kind, OURS].owa == pytest.approx(owa)
        assert means[kind, "Naive2"].owa == 1.0
    assert means["Monthly", OURS].owa > 1.2
    assert means["Daily", OURS].owa == pytest.approx(1.0)  # no season: Naive2 is the last value
    assert means["all", OURS].series == 6
    pooled = 0.5 * (means["Monthly", OURS].smape + means["Daily", OURS].smape)
    assert means["all", OURS].smape == pytest.approx(pooled)


def test_forecasts_below_0_count_as_0_as_in_the_competition(tmp_path):
    result = m4_bench(folder_of(tmp_path, ["Yearly"]), make=below)
    assert [row.smape for row in result.rows if row.method == OURS] == [200.0] * 3


def test_what_the_forecaster_is_told():
    told = []

    def make(*args, **options):
        told.append(options["season"])
        return Last(*args, **options)

    y = np.arange(1.0, 400.0)
    for kind in FREQUENCIES.values():
        forecast(Ours(told=True, make=make), y, kind)
    assert told == [None, [4], [12], [52], [7], [24, 168]]
    forecast(Ours(told=True, make=make), y[:60], FREQUENCIES["Hourly"])
    forecast(Ours(make=make), y, FREQUENCIES["Hourly"])
    assert told[-2:] == [[24], "auto"]


def test_two_processes_and_a_limit_give_the_first_rows(tmp_path):
    folder = folder_of(tmp_path, ["Quarterly"])
    plain = m4_bench(folder, "quarterly", make=Last)
    two = m4_bench(folder, ["Quarterly"], make=Last, jobs=2, limit=2)
    keys = [[(r.series, r.method, r.smape, r.mase) for r in each.rows] for each in (plain, two)]
    assert keys[1] == keys[0][:8]


def test_what_the_bench_writes(tmp_path):
    result = m4_bench(folder_of(tmp_path, ["Yearly"]), make=Last, limit=2, season="told")
    files = result.save(tmp_path / "out")
    assert [path.name for path in files] == ["m4.md", "m4.json", "m4.csv"]
    page = files[0].read_text(encoding="utf-8")
    assert "told the periods of the calendar" in page
    assert "first 2 series of each frequency" in page
    assert "| Yearly | Naive2 | 2 |" in page
    saved = json.loads(files[1].read_text(encoding="utf-8"))
    assert [each["method"] for each in saved["means"]][:2] == [OURS, "Naive2"]
    with files[2].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert float(rows[1]["smape"]) == result.rows[1].smape


def test_the_command_refuses_in_one_line(tmp_path):
    folder_of(tmp_path, ["Yearly"])
    for words, said in (
        (["--frequency", "hourly"], "must have Hourly-train.csv"),
        (["--season", "maybe"], "season must be told or auto: got 'maybe'"),
        (["--pool", "huge"], "pool must be one of small, middle, full: got 'huge'"),
    ):
        done = CliRunner().invoke(app, ["bench", "m4", str(tmp_path), *words])
        assert done.exit_code == 2
        assert said in " ".join(done.output.split())


def test_the_command_writes_a_page_that_does_not_say_where_the_files_were(tmp_path, monkeypatch):
    monkeypatch.setattr("stillpoint.Forecaster", Last)
    folder = folder_of(tmp_path / "a place", ["Yearly"])
    command = ["bench", "m4", str(folder), "--limit", "1", "--jobs", "1"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "m4.md").read_text(encoding="utf-8")
    assert "`stillpoint bench m4 DIR --limit 1 --jobs 1 --out OUT`" in page
    assert "a place" not in page
