"""Forecasts of real series: scores by hand, baselines against twins, nobody looks ahead."""

import json
import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

import extras
from extras import package
from stillpoint.commands.cli import app
from stillpoint.lab.series import data, peers
from stillpoint.lab.series.bench import OURS, TOLD, SeriesBench, entrants, series_bench
from stillpoint.lab.series.data import Series
from stillpoint.lab.series.report import grids, markdown
from stillpoint.lab.series.rls import AutoRegression
from stillpoint.lab.series.scoring import (
    QUANTILE,
    Entrant,
    Outcome,
    Score,
    normal_band,
    origins,
    score,
)
from stillpoint.lab.series.simple import Ours, naive, seasonal_naive
from stillpoint.lab.series.sources import slots
from thorough import some


class Repeats:
    """A seasonal naive with the face of `sp.Forecaster`, and intervals one unit wide each way."""

    def __init__(self, horizon=1, *, season="auto", coverage=0.9, features=0, pool="full"):
        self.horizon, self.coverage, self.pool = horizon, coverage, pool
        self.period = season[0] if isinstance(season, list) else 1
        self.seen = []

    def track(self, y, X=None, times=None, horizon=1, intervals=False):
        one = np.empty(len(y))
        for t, value in enumerate(y):
            one[t] = self.predict()
            self.seen.append(self.predict() if math.isnan(value) else value)
        return (one, one - 1.0, one + 1.0) if intervals else one

    def predict(self, horizon=None):
        back = min(self.period, len(self.seen))
        path = [self.seen[h % back - back] if back else 0.0 for h in range(horizon or 1)]
        return np.array(path) if horizon else path[0]

    def interval(self, horizon):
        path = self.predict(horizon)
        return path - 1.0, path + 1.0


def refuses(series, at):
    raise ArithmeticError("it\ndiverges")


def wave(rounds=240, period=12, seed=0, name="wave", **about):
    t = np.arange(rounds)
    noise = np.random.default_rng(seed).standard_normal(rounds)
    y = 20.0 + 0.02 * t + 3.0 * np.sin(2 * np.pi * t / period) + 0.5 * noise
    return Series(name, y, (period,), **about)


def gappy(**about):
    series = wave(**about)
    series.y[np.random.default_rng(9).integers(20, len(series), 40)] = np.nan
    return series


def test_origins_are_spread_over_what_is_scored_and_leave_room_for_a_horizon():
    at = origins(1000, 24)
    assert at.size == 40
    assert (at[0], at[-1]) == (400, 976)
    assert set(np.diff(at)) <= {14, 15}
    assert origins(20, 10).tolist() == [8, 9, 10]
    with pytest.raises(ValueError, match="must be longer: got 10 rounds for a horizon of 8"):
        origins(10, 8)


def test_scores_by_hand():
    y = np.array([1.0, 3.0, 2.0, 4.0, np.nan, 6.0, 5.0, 9.0, 8.0, 7.0])
    at = np.array([4, 8])
    one = np.full(10, 5.0)
    paths = np.array([[5.0, 5.0], [6.0, 9.0]])
    near = one - 2.0, one + 2.0
    found = score(Series("s", y), "m", at, Outcome(one, paths, near, None, 1e-3, 100))
    errors = np.array([6.0, 5.0, 9.0, 8.0, 7.0]) - 5.0  # from round 4 on, the missing one left out
    assert found.mse1 == pytest.approx(np.mean(errors**2))
    assert found.mae1 == pytest.approx(np.mean(errors))
    assert found.mase1 == pytest.approx(np.mean(errors) / np.mean([2.0, 1.0, 2.0]))
    assert found.coverage1 == pytest.approx(3 / 5)
    assert found.winkler1 == pytest.approx(4.0 + 20.0 * (2.0 + 1.0) / 5)
    assert found.mseh == pytest.approx((1.0 + 4.0 + 4.0) / 3)
    assert found.winklerh is None
    assert found.us == pytest.approx(10.0)


def test_an_infinite_end_is_counted_at_the_range_away():
    y = np.arange(10.0)
    infinite = np.full(10, np.inf)
    found = score(Series("s", y), "m", np.array([4]), Outcome(y, None, (-infinite, infinite)))
    assert (found.coverage1, found.winkler1) == (1.0, pytest.approx(27.0))
    assert found.mseh is None


def test_a_flat_start_has_no_scaled_error():
    y = np.concatenate([np.zeros(40), np.arange(60.0)])
    found = score(Series("s", y), "m", np.array([50]), Outcome(y - 1.0, None))
    assert (found.mae1, found.mase1) == (1.0, None)


@pytest.mark.parametrize("period", [1, 7, 12])
def test_naive_forecasts_and_their_intervals_against_a_loop(period):
    series = gappy(rounds=120, period=max(period, 2))
    series = Series("s", series.y, (period,) if period > 1 else ())
    y, horizon = series.filled, series.horizon
    at = origins(len(series), horizon)
    found = (seasonal_naive if period > 1 else naive)(series, at)
    for t in range(period, len(series)):
        assert found.one[t] == y[t - period]
    for i, o in enumerate(at):
        for h in range(horizon):
            back = period * (h // period + 1)
            assert found.paths[i, h] == y[o + h - back]
            past = [(y[s] - y[s - back]) ** 2 for s in range(back, o)]
            radius = QUANTILE * math.sqrt(np.mean(past))
            assert found.far[1][i, h] - found.paths[i, h] == pytest.approx(radius)


def test_the_band_of_a_normal_knows_past_errors_alone():
    y, one = np.array([1.0, np.nan, 4.0, 2.0]), np.array([np.nan, 1.0, 1.0, 1.0])
    lo, hi = normal_band(y, one)
    np.testing.assert_allclose((hi - lo)[1:] / 2 / QUANTILE, [0.0, 0.0, 3.0])


@pytest.mark.parametrize("rate", [1.0, 0.95])
def test_autoregression_is_batch_weighted_least_squares(rate):
    series = wave(rounds=150, period=5)
    y, lags = series.y, np.array([1, 2, 3, 5, 6, 10])
    at = origins(len(series), series.horizon)
    found = AutoRegression(rate)(series, at)
    early = y[:30]
    u = (y - y[0]) / early.std()
    for t in (60, 149):
        rows = np.arange(10, t)
        Z = np.column_stack([u[rows[:, None] - lags], np.ones(rows.size)])
        w = rate ** (t - 1.0 - rows)
        A = (Z.T * w) @ Z + 0.01 * rate**rows.size * np.eye(7)
        theta = np.linalg.solve(A, (Z.T * w) @ u[rows])
        guess = theta @ np.append(u[t - lags], 1.0)
        assert found.one[t] == pytest.approx(y[0] + early.std() * guess, rel=1e-8)


def test_autoregression_finds_the_noise_of_an_autoregressive_series():
    rng = np.random.default_rng(3)
    y = np.zeros(3000)
    for t in range(2, y.size):
        y[t] = 1.2 * y[t - 1] - 0.5 * y[t - 2] + rng.standard_normal()
    series = Series("s", y + 100.0)
    at = origins(len(series), series.horizon)
    found = score(series, "m", at, AutoRegression(1.0)(series, at))
    assert found.mse1 == pytest.approx(1.0, abs=0.06)
    assert found.coverage1 == pytest.approx(0.9, abs=0.03)
    assert found.coverageh == pytest.approx(0.9, abs=0.08)
    assert found.mseh < 0.7 * score(series, "m", at, naive(series, at)).mseh


HERE = {
    "naive": naive,
    "seasonal naive": seasonal_naive,
    "AR-RLS": AutoRegression(0.99),
    "ours": Ours(make=Repeats),
    "told": Ours(told=True, make=Repeats),
}
PEERS = {each.name: each for each in peers.peers()}


def looks_ahead(play, series):
    """The largest effect of values from round t on, on forecasts made before it."""
    at = origins(len(series), series.horizon)
    before, worst = play(series, at), 0.0
    for t in (int(at[15]), len(series) - 20):
        y = series.y.copy()
        y[t:] = 1.5 * np.roll(y, 3)[t:] + 7.0
        after = play(Series(series.name, y, series.seasons), at)
        pairs = []
        if before.one is not None:
            pairs += [(before.one[: t + 1], after.one[: t + 1])]
            pairs += [
                (a[: t + 1], b[: t + 1]) for a, b in zip(before.near, after.near, strict=True)
            ]
        early = at <= t
        pairs += [(before.paths[early], after.paths[early])]
        if before.far is not None:
            pairs += [(a[early], b[early]) for a, b in zip(before.far, after.far, strict=True)]
        for a, b in pairs:
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            finite = np.isfinite(a) & np.isfinite(b)
            assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
            worst = max(worst, float(np.max(np.abs(a - b)[finite], initial=0.0)))
    return worst


@pytest.mark.parametrize("name", HERE)
def test_nobody_looks_ahead(name):
    assert looks_ahead(HERE[name], gappy()) == 0.0


@pytest.mark.extra
@pytest.mark.parametrize("name", some(PEERS, every=2))
@pytest.mark.filterwarnings("ignore")
def test_no_peer_looks_ahead(name):
    package(PEERS[name].package)
    assert looks_ahead(PEERS[name].play, gappy(rounds=150)) < 1e-8


def test_the_look_ahead_test_sees_a_leak():
    def leak(series, at):
        found = naive(series, at)
        return Outcome(found.one + 1e-3 * series.filled.max(), found.paths, found.near, found.far)

    assert looks_ahead(leak, wave()) > 0.0


@pytest.mark.extra
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")
def test_peers_beat_the_last_value_on_a_season(name):
    package(PEERS[name].package)
    series = gappy(rounds=400)
    at = origins(len(series), series.horizon)
    found = score(series, name, at, PEERS[name].play(series, at))
    plain = score(series, "last value", at, naive(series, at))
    assert found.mseh < 0.6 * plain.mseh
    if name != "MSTL":
        assert found.mse1 < 0.8 * plain.mse1
        assert 0.75 < found.coverage1 <= 1.0
        assert found.us > 0.0


@pytest.mark.extra
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")
def test_peers_play_where_a_season_fills_most_of_the_series(name):
    package(PEERS[name].package)
    series = wave(rounds=112, period=36)
    at = origins(len(series), series.horizon)
    found = PEERS[name].play(series, at)
    assert np.isfinite(found.paths).all()
    assert found.one is None or np.isfinite(found.one[45:]).all()


def test_ours_is_given_every_value_once_in_order_with_gaps_and_told_what_was_asked():
    series, made = gappy(), []

    def make(*args, **options):
        made.append((Repeats(*args, **options), options["season"]))
        return made[-1][0]

    at = origins(len(series), series.horizon)
    found = Ours(told=True, pool="small", make=make)(series, at)
    for model, season in made:
        assert (season, model.pool, model.horizon, model.coverage) == ([12], "small", 12, 0.9)
    assert [len(model.seen) for model, _ in made] == [len(series), len(series), at[-1]]
    whole = Repeats(12, season=[12])
    one, lo, _ = whole.track(series.y, intervals=True)
    np.testing.assert_array_equal(found.one, one)
    np.testing.assert_array_equal(found.near[0], lo)
    for i in (0, 39):
        early = Repeats(12, season=[12])
        early.track(series.y[: at[i]])
        np.testing.assert_array_equal(found.paths[i], early.predict(12))
        np.testing.assert_array_equal(found.far[1][i], early.predict(12) + 1.0)
    Ours(make=make)(series, at)
    assert made[-1][1] == "auto"
    Ours(told=True, make=make)(Series("s", series.y), origins(len(series), 10))
    assert made[-1][1] is None


@pytest.fixture(scope="module")
def toy():
    players = [
        Entrant(OURS, Ours(make=Repeats), family=OURS),
        Entrant(TOLD, Ours(told=True, make=Repeats), family=OURS),
        Entrant("last value", naive),
        Entrant("AR-RLS 1", AutoRegression(1.0), family="AR-RLS"),
        Entrant("AR-RLS 0.9", AutoRegression(0.9), family="AR-RLS"),
        Entrant("refuses", refuses),
        Entrant("absent", naive, "no_such_package"),
    ]
    return series_bench([wave(), gappy(seed=1, name="gaps", group="chosen")], players, rounds=200)


def test_the_bench_compares_ours_with_everybody_and_with_the_best_in_hindsight(toy):
    assert toy.methods == [OURS, TOLD, "last value", "AR-RLS 1", "AR-RLS 0.9"]
    assert list(toy.rivals()) == [
        "last value",
        "AR-RLS 1",
        "AR-RLS 0.9",
        "best AR-RLS*",
        "best of all others*",
    ]
    pair = toy.rivals()["best AR-RLS*"]
    rates = [toy.find("wave", name).mse1 for name in pair]
    assert toy.figure("wave", pair, "mse1") == min(rates)
    assert toy.ratios(OURS, ["last value"], "mse1") == [pytest.approx(1.0)] * 2
    told = [toy.find(n, TOLD).mseh / toy.find(n, "last value").mseh for n in ("wave", "gaps")]
    assert toy.mean(TOLD, ["last value"], "mseh") == pytest.approx(math.sqrt(told[0] * told[1]))
    assert toy.mean(TOLD, ["last value"], "mseh", "chosen") == pytest.approx(told[1])
    assert toy.mean(TOLD, ["last value"], "mseh", "reported") == pytest.approx(told[0])


def test_who_cannot_play_is_left_out_with_a_line_that_says_so(toy):
    assert toy.notes == [
        "absent is left out: no_such_package is not installed; pip install 'stillpoint[series]'",
        "refuses on wave: ArithmeticError: it diverges",
        "refuses on gaps: ArithmeticError: it diverges",
    ]
    assert toy.find("wave", "refuses") is None


def test_what_the_bench_writes(toy, tmp_path):
    files = toy.save(tmp_path)
    assert [path.name for path in files] == ["series.md", "series.json"]
    page = files[0].read_text(encoding="utf-8")
    assert "stillpoint over others: geometric means on 1 series on which nothing was chosen" in page
    assert "first 200 rounds" in page
    assert "refuses on wave" in page
    saved = json.loads(files[1].read_text(encoding="utf-8"))
    assert len(saved["scores"]) == 12
    assert {each["group"] for each in saved["means"]} == {"reported", "chosen"}
    assert saved["series"][1]["missing"] == int(np.isnan(gappy(seed=1).y[:200]).sum())
    titles = [grid.title for grid in grids(toy) if not grid.deep]
    assert titles[-2:] == ["Means over all series", "By series: stillpoint"]


def test_tables_without_ours_or_without_others():
    one = series_bench([wave()], [Entrant("last value", naive)])
    assert "last value" in markdown(one)
    alone = SeriesBench(one.series, [Score("wave", OURS, mse1=1.0)], {OURS: OURS})
    assert "By series: stillpoint" in markdown(alone)


def test_two_processes_give_the_same_scores():
    players = [Entrant("last value", naive), Entrant("AR-RLS 1", AutoRegression(1.0))]
    both = [series_bench([wave()], players, jobs=jobs) for jobs in (1, 2)]
    first, second = (
        [(s.series, s.method, s.mse1, s.mseh, s.winklerh) for s in each.scores] for each in both
    )
    assert first == second


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"series must be one of .* 'taylr'; did you mean taylor"):
        data.entry("taylr")
    with pytest.raises(ValueError, match=r"method must be one of .* 'AutoEts'; did you mean Auto"):
        series_bench([wave()], ["AutoEts"])
    with pytest.raises(ValueError, match="pool must be one of small, middle, full: got 'huge'"):
        series_bench([wave()], pool="huge")
    with pytest.raises(ValueError, match="method must be installed"):
        series_bench([wave()], [Entrant("absent", naive, "no_such_package")])
    with pytest.raises(ValueError, match="must be longer"):
        series_bench([wave(rounds=12)], ["last value"], rounds=12)


def test_the_command_refuses_in_one_line():
    done = CliRunner().invoke(app, ["bench", "series", "--series", "nile", "--method", "AutoET"])
    assert done.exit_code == 2
    assert "did you mean AutoETS" in done.output
    done = CliRunner().invoke(app, ["bench", "series", "--series", "nil", "--json"])
    assert done.exit_code == 2
    assert "did you mean nile" in done.output


def test_a_series_whose_package_is_missing_says_how_to_get_it(monkeypatch):
    def read():
        raise ModuleNotFoundError("No module named 'far'", name="far")

    monkeypatch.setitem(data._ENTRIES, "far", data.Entry("far", "far", "day", (), "", read))
    with pytest.raises(ImportError, match=r"package far: .*pip install 'stillpoint\[series\]'"):
        data.load("far")
    assert "far" not in data.available()
    done = CliRunner().invoke(app, ["bench", "series", "--series", "far"])
    assert done.exit_code == 2


def test_slots_keep_the_last_of_several_and_leave_gaps():
    start = datetime(2020, 1, 1)
    times = [start + timedelta(minutes=m) for m in (0, 31, 34, 119)]
    np.testing.assert_array_equal(
        slots(times, [1.0, 2.0, 3.0, 4.0], 1800.0), [1, 3, np.nan, np.nan, 4]
    )


def test_a_series_is_filled_from_the_past_and_cut_with_its_seasons():
    series = Series("s", np.array([1.0, np.nan, np.nan, 4.0, np.nan] * 20), (7, 30))
    np.testing.assert_array_equal(series.filled[:6], [1, 1, 1, 4, 4, 1])
    assert (series.horizon, series.cut(90).seasons, series.cut(21).seasons) == (7, (7,), ())
    assert (Series("s", series.y).horizon, Series("s", series.y, (2016,)).horizon) == (10, 288)


def test_names_of_methods_are_told_apart():
    names = [each.name for each in entrants()]
    assert len(set(names)) == len(names) >= 14
    assert names[:2] == [OURS, TOLD]


@pytest.mark.extra
@pytest.mark.parametrize("name", some(data.names()))
def test_every_series_is_read_from_its_package(name):
    found = data.entry(name)
    extras.data(found.package)
    series = data.load(name)
    assert len(series) >= 100
    assert not math.isnan(series.y[0])
    assert np.isfinite(series.filled).all()
    assert np.isnan(series.y).mean() < 0.25
    assert series.cut(None).seasons == series.seasons
    assert sorted(series.seasons) == list(series.seasons)
    assert series.description
    assert series.group in ("chosen", "reported")
    origins(len(series), series.horizon)


@pytest.mark.extra
def test_known_values_of_series():
    for name, rounds, first in [
        ("taylor", 4032, 22262.0),
        ("sea", 19249, 4.929),
        ("co2", 2284, 316.1),
        ("seattle-temperature", 1461, 12.8),
        ("unemployment", 828, 4.0),
        ("beer", 211, 284.0),
    ]:
        extras.data(data.entry(name).package)
        series = data.load(name)
        assert (len(series), series.y[0]) == (rounds, pytest.approx(first))


@pytest.mark.extra
@pytest.mark.slow
def test_known_values_of_series_that_are_counted_from_flights():
    extras.data(data.entry("departures").package)
    departures, temperature = data.load("departures").y, data.load("jfk-temperature").y
    assert (departures.size, departures[0]) == (8760, 0.0)
    assert departures.sum() == 328521  # of 336776 flights 8255 were cancelled
    assert (temperature.size, temperature[0]) == (8730, pytest.approx(39.02))


@pytest.mark.extra
def test_the_command_plays_a_real_series(tmp_path):
    package("statsmodels")
    words = ["--series", "nile", "--method", "last value", "--method", "AR-RLS 1"]
    command = ["bench", "series", *words, "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "series.md").read_text(encoding="utf-8")
    assert "bench series --series nile --method 'last value' --method 'AR-RLS 1'" in page
    assert "flow of the Nile" in page
