"""The prequential protocol, filters, intervals and tables, on synthetic streams alone."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from stillpoint.commands.cli import app
from stillpoint.lab.real import _prequential, compete, peers, prequential, real_bench
from stillpoint.lab.real.bench import RealBench, StreamFacts
from stillpoint.lab.real.figure import figure
from stillpoint.lab.real.intervals import WINDOW, Band, _band, bands
from stillpoint.lab.real.players import (
    BEST_SQUARES,
    OURS,
    Entrant,
    Frequencies,
    LastValue,
    LeastSquares,
    LogisticFilters,
    RunningMean,
    Together,
)
from stillpoint.lab.real.prequential import FLOOR, Score, log_loss, squared_loss
from stillpoint.lab.real.report import grids, markdown
from stillpoint.lab.streams.real import RealStream

FACTORS = (0.9, 0.99, 1.0)


def regression(T=400, dim=3, seed=0, name="made"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, dim)) * [1.0, 100.0, 0.01][:dim] + [0.0, 1000.0, 5.0][:dim]
    w = np.array([1.0, 0.02, -50.0])[:dim] * (1.0 + np.arange(T)[:, None] / T)
    y = (X * w).sum(axis=1) + 0.3 * rng.standard_normal(T)
    return RealStream(
        name, "regression", X, y, None, ("a", "b", "c")[:dim], "made up", "none", period=1
    )


def classes(T=400, number=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, 2))
    y = (X @ rng.standard_normal((2, number)) + rng.gumbel(size=(T, number))).argmax(axis=1)
    task = "binary" if number == 2 else "multiclass"
    return RealStream(
        f"made {number}",
        task,
        X,
        y,
        None,
        ("a", "b"),
        "made up",
        "none",
        classes=tuple(map(str, range(number))),
    )


class Recorder:
    def __init__(self):
        self.calls = []

    def predict(self, x):
        self.calls.append(("predict", x[0]))
        return len(self.calls)

    def learn(self, x, y):
        self.calls.append(("learn", x[0], y))


def test_predict_comes_before_learn():
    player, X, y = Recorder(), np.arange(5.0)[:, None], 10.0 * np.arange(5.0)
    forecasts, seconds = prequential(player, X, y)
    np.testing.assert_array_equal(forecasts, [1, 3, 5, 7, 9])
    assert player.calls == [
        call for t in range(5) for call in (("predict", t), ("learn", t, 10.0 * t))
    ]
    assert seconds > 0


def test_the_first_quarter_is_not_scored():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(43)
    forecasts = rng.standard_normal(43)
    literal = np.mean((forecasts[10:] - y[10:]) ** 2) / np.var(y[:10])
    forecasts[:10] = 1e9
    np.testing.assert_allclose(squared_loss(forecasts, y), [literal], rtol=1e-14)
    labels = rng.integers(0, 3, 43)
    p = rng.dirichlet(np.ones(3), 43)
    loss, wrong = log_loss(p, labels)
    p[:10] = np.nan
    same = log_loss(p, labels)
    np.testing.assert_array_equal([loss, wrong], same)
    raised = np.maximum(p[10:], FLOOR)
    own = [row[k] / row.sum() for row, k in zip(raised, labels[10:], strict=True)]
    np.testing.assert_allclose(loss, [-np.mean(np.log(own))], rtol=1e-14)
    assert wrong[0] == np.mean(
        [row.argmax() != k for row, k in zip(p[10:], labels[10:], strict=True)]
    )


def test_a_sure_mistake_costs_the_floor():
    labels = np.zeros(40, dtype=np.int64)
    loss, wrong = log_loss(np.tile([0.0, 1.0], (40, 1)), labels)
    np.testing.assert_allclose(loss, [math.log((1.0 + FLOOR) / FLOOR)], rtol=1e-12)
    assert wrong[0] == 1.0


def literal_squares(X, y, factor, slope=10.0, intercept=100.0):
    """RLS as formulas, base changes as a matrix A (θ → Aθ, C → ACA'); forecasts (T,)."""
    T, d = X.shape
    theta, C = np.zeros(d + 1), np.diag([slope] * d + [intercept])
    centre, scale, seen = np.zeros(d), np.zeros(d), []
    forecasts, origin, low, high = [], 0.0, 0.0, 0.0
    for t in range(T):
        x = X[t].copy()
        if t >= 10:
            past = np.array(seen)
            reach = 20.0 * past.std(axis=0)
            x = np.clip(x, past.mean(axis=0) - reach, past.mean(axis=0) + reach)
        seen.append(x)
        mean, spread = np.mean(seen, axis=0), np.std(seen, axis=0)
        for i in range(d):
            if spread[i] > 0 and scale[i] == 0:
                centre[i], scale[i] = mean[i], spread[i]
            elif spread[i] > 0 and (math.log2(t + 1).is_integer() or spread[i] > 2 * scale[i]):
                A = np.eye(d + 1)
                A[i, i], A[d, i] = spread[i] / scale[i], (mean[i] - centre[i]) / scale[i]
                assert A[i, i] < 100
                theta, C = A @ theta, A @ C @ A.T
                centre[i], scale[i] = mean[i], spread[i]
        z = np.ones(d + 1)
        inside = np.clip(X[t], mean - 10 * spread, mean + 10 * spread)
        z[:d] = np.where(scale > 0, (inside - centre) / np.where(scale > 0, scale, 1), 0.0)
        C = C / factor
        value = z @ theta
        forecasts.append(origin + min(max(value, 2 * low - high), 2 * high - low))
        if t == 0:
            origin = y[0]
        target = y[t] - origin
        low, high = min(low, target), max(high, target)
        gain = C @ z / (1.0 + z @ C @ z)
        theta = theta + gain * (target - value)
        C = C - np.outer(gain, C @ z)
        C = 0.5 * (C + C.T)  # forgetting would amplify what rounding makes of its asymmetry
    return np.array(forecasts)


def test_least_squares_is_the_formula():
    stream = regression(T=150)
    forecasts, _ = prequential(LeastSquares(3, FACTORS), stream.X, stream.y)
    assert forecasts.shape == (150, 3)
    for k, factor in enumerate(FACTORS):
        np.testing.assert_allclose(
            forecasts[:, k], literal_squares(stream.X, stream.y, factor), rtol=1e-6, atol=1e-6
        )


def test_forgetting_pauses_before_it_overflows():
    X, y = np.ones((9000, 2)), np.sin(np.arange(9000.0))
    # then they rest, and nothing is learned of them
    X[:50] = np.random.default_rng(0).standard_normal((50, 2))
    forecasts, _ = prequential(LeastSquares(2, (0.9,)), X, y)
    assert np.isfinite(forecasts).all()


@pytest.mark.parametrize("exact", [True, False])
def test_logistic_step(exact):
    rng = np.random.default_rng(3)
    player = LogisticFilters(2, 2, exact, True, (0.98,))
    for _ in range(30):
        x, label = rng.standard_normal(2), int(rng.integers(2))
        p = player.predict(x)
        z, g, v, f = (
            player._state.z.copy(),
            player._state.gains[0].copy(),
            player._state.variances[0],
            player._state.values[0],
        )
        C, theta = player._state.covariances[0].copy(), player._state.means[0].copy()
        np.testing.assert_allclose(p[0, 1], 1 / (1 + math.exp(-f)), rtol=1e-12)
        np.testing.assert_allclose(g, C @ z, rtol=1e-12)
        player.learn(x, label)
        # exact: the new mean is where the step was taken
        at = z @ player._state.means[0] if exact else f
        q = 1 / (1 + math.exp(-at))
        h = q * (1 - q)
        if exact:
            np.testing.assert_allclose(at + v * (q - label), f, atol=1e-6)
        else:
            np.testing.assert_allclose(
                player._state.means[0], theta + g * h * (label - q) / (h * h * v + h), rtol=1e-9
            )
        np.testing.assert_allclose(
            player._state.covariances[0], C - np.outer(g, g) * h / (1 + h * v), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_the_logistic_mode_solves_its_equation_at_any_variance(label):
    f, v = (
        axis.ravel()
        for axis in np.meshgrid(
            np.linspace(-40.0, 40.0, 81), np.logspace(-6, math.log10(_prequential.CEILING), 55)
        )
    )
    K, step = f.size, np.zeros((f.size, 1))
    one, covariances, features = np.ones((K, 1)), np.zeros((K, 1, 1)), np.zeros((5, 0))
    state = _prequential.State(np.ones(K), features, step, covariances, one[0], one, v, f)
    _prequential.close_logistic(state, True, np.full(K, label))
    x = f + v * step[:, 0]  # so far has the mean moved in the direction of the features
    sign = 2.0 * label - 1.0
    np.testing.assert_allclose(
        sign * step[:, 0], 1.0 / (1.0 + np.exp(sign * x)), rtol=1e-3, atol=1e-12
    )
    mild = v < 1e6
    np.testing.assert_allclose(
        (x + v * (1.0 / (1.0 + np.exp(-x)) - label))[mild], f[mild], atol=1e-6
    )


def test_running_scores_do_not_touch_the_filters():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 1)) * np.linspace(1, 50, 40)[:, None]
    player = LogisticFilters(1, 2, True, False, (1.0,))
    for t, x in enumerate(rows):
        player.predict(x)
        if t:
            past = rows[: t + 1]
            np.testing.assert_allclose(
                player._state.z[0], (x[0] - past.mean()) / past.std(), rtol=1e-9
            )
    np.testing.assert_array_equal(player._state.covariances[0], np.diag([1.0, 4.0]))


def test_more_classes_are_normalised_and_learned():
    stream = classes(T=1200, number=4)
    player = Together(*(LogisticFilters(2, 4, True, rebased) for rebased in (True, False)))
    p, _ = prequential(player, stream.X, stream.y)
    assert p.shape == (1200, 16, 4)
    np.testing.assert_allclose(p.sum(axis=2), 1.0, rtol=1e-12)
    base, _ = log_loss(prequential(Frequencies(4), stream.X, stream.y)[0], stream.y)
    assert log_loss(p, stream.y)[0].min() < 0.95 * base[0]


class Fixed:
    """Forecasts of three settings, the second right."""

    def predict(self, x):
        return np.array([np.nan, x[0], 0.0])

    def learn(self, x, y):
        pass


def fixed():
    return Entrant(
        "grid*",
        ("regression",),
        lambda s: Fixed(),
        settings=("nan", "good", "zero"),
        plain="zero alone",
    )


def test_hindsight_takes_the_best_finite_setting():
    y = np.arange(40.0)
    stream = RealStream("line", "regression", y[:, None], y, None, ("y",), "", "none")
    scores, kept = compete(stream, [fixed()])
    assert [(s.player, s.setting, s.starred) for s in scores] == [
        ("grid*", "good", True),
        ("zero alone", "zero", False),
    ]
    assert scores[0].loss == 0.0
    np.testing.assert_allclose(scores[1].loss, np.mean(y[10:] ** 2) / np.var(y[:10]))
    assert kept == {}


def test_who_cannot_play_leaves_a_note():
    class Broken(LastValue):
        def predict(self, x):
            raise RuntimeError("no")

    players = [
        Entrant("broken", ("regression",), lambda s: Broken()),
        Entrant("gone", ("regression",), lambda s: LastValue(), "no_such_package"),
        Entrant(
            "nan",
            ("regression",),
            lambda s: type("Nan", (LastValue,), {"predict": lambda self, x: np.nan})(),
        ),
        Entrant("other task", ("binary",), lambda s: LastValue()),
        Entrant("series", ("regression",), lambda s: LastValue(), series=True),
    ]
    stream = regression(T=100)
    scores, kept = compete(stream, players, 60)
    notes = {score.player: score.note for score in scores}
    assert notes == {
        "broken": "RuntimeError: no",
        "gone": "no_such_package is not there; pip install 'stillpoint[real]'",
        "nan": "not finite",
        "series": "",
    }
    assert [score.player for score in scores if score.missing] == ["gone"]
    assert all(score.rounds == 60 for score in scores)
    assert len(kept["series"]) == 60


def test_plain_players():
    y = np.array([2.0, 4.0, 9.0])
    X = np.zeros((3, 1))
    np.testing.assert_array_equal(prequential(LastValue(), X, y)[0], [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(prequential(RunningMean(), X, y)[0], [0.0, 2.0, 3.0])
    np.testing.assert_allclose(
        prequential(Frequencies(2), X, np.array([1, 1, 0]))[0][:, 1], [1 / 2, 2 / 3, 3 / 4]
    )


def test_bad_input():
    with pytest.raises(ValueError, match="y must have 20 rounds or more: got 19"):
        compete(regression(T=19), [fixed()])
    with pytest.raises(ValueError, match=r"y must vary in its first quarter: got 1\.0"):
        squared_loss(np.zeros(40), np.ones(40))
    with pytest.raises(ValueError, match="rounds must be a positive whole number: got 0"):
        compete(regression(), [fixed()], 0)
    with pytest.raises(ValueError, match="factors must be above 0 and at most 1"):
        LeastSquares(2, (1.1,))
    with pytest.raises(ValueError, match="stream must be of task binary"):
        real_bench([regression()], task="binary")
    with pytest.raises(ValueError, match="name must be that of a real stream: got 'poll'"):
        real_bench(["poll"])
    with pytest.raises(ValueError, match="name must be that of a real stream: got 'poll'"):
        real_bench("poll")
    with pytest.raises(ValueError, match="streams must have someone to play them"):
        real_bench(
            [regression()],
            players=[Entrant("gone", ("regression",), lambda s: LastValue(), "no_such_package")],
        )
    with pytest.raises(ValueError, match="forecasts must err somewhere"):
        bands("still", np.ones(600), np.ones(600))


def test_bands():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(1500) * np.repeat([1.0, 5.0, 0.3], 500)
    found = bands("made", np.zeros(1500), y)
    assert found[0].method == OURS
    assert len(found) == len({band.method for band in found}) == 7
    assert all(band.starred == (band.method != OURS) for band in found)
    for band in found:
        assert abs(band.coverage - 0.9) < 0.06
        assert 0.0 < band.pinball < band.width
    assert min(found, key=lambda band: band.pinball).method == OURS


def test_band_figures_are_the_formulas():
    scores, radii = (
        np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        np.array([9.0, 9.0, 2.0, 5.0, np.inf, -np.inf, 6.0, 10.0]),
    )
    band = _band("s", "m", radii, scores, 2, 0.9, 1.0)
    s, r = scores[2:], np.array([2.0, 5.0, 8.0, 0.0, 6.0, 10.0])
    assert band.coverage == 3 / 6
    np.testing.assert_allclose(band.pinball, np.mean(np.where(s > r, 0.9 * (s - r), 0.1 * (r - s))))
    np.testing.assert_allclose(band.width, 2 * r.mean())
    hits = np.r_[np.ones(WINDOW + 50), np.zeros(WINDOW), np.ones(WINDOW)]
    long = _band("s", "m", hits, np.full(hits.size, 0.5), 0, 0.9, 1.0)
    np.testing.assert_allclose(long.local, 0.9)


def played():
    from stillpoint.lab.real import players

    own = [each for each in players.entrants() if not each.needs]
    return real_bench([regression(T=600), classes(), classes(number=3)], players=own, rounds=550)


def test_bench_tables_and_files(tmp_path):
    result = played()
    assert [stream.rounds for stream in result.streams] == [550, 400, 400]
    ratio = result.loss("made", OURS) / result.loss("made", BEST_SQUARES)
    assert ratio < 1.1
    assert {"Targets", "Regression, by stream", "Two classes, everybody", "Streams"} <= {
        grid.title for grid in grids(result)
    }
    for grid in grids(result):
        assert {len(row) for row in grid.rows} <= {len(grid.header)}
    assert "cut to their first 550 rounds, for everybody alike" in markdown(result)
    assert len(figure(result).axes) == 3
    files = result.save(tmp_path)
    assert [file.name for file in files] == ["real.md", "real.json", "real.png"]
    body = json.loads(files[1].read_text(encoding="utf-8"))
    assert {row["stream"] for row in body["intervals"]} == {"made"}
    assert {target["name"].split(" ")[0] for target in body["targets"]} == {
        "squared",
        "log",
        "pinball",
    }


def test_targets_name_what_missed():
    facts = [
        StreamFacts(name, "regression", "reported", "none", T, 1, 0, "")
        for name, T in (("a", 300), ("b", 300), ("short", 100))
    ]
    losses = {"a": (1.0, 1.0), "b": (1.5, 1.0), "short": (9.0, 1.0)}
    scores = [
        Score(n, p, 300, loss)
        for n, pair in losses.items()
        for p, loss in zip((OURS, BEST_SQUARES), pair, strict=True)
    ]
    (target,) = RealBench(facts, scores, []).targets()
    assert (target.met, target.tried, target.missed) == (1, 2, ("b 1.500",))


def exact(stream, ours, best, other):
    facts = StreamFacts(stream, "regression", "reported", "none", 600, 1, 0, "")
    return facts, [
        Score(stream, p, 600, x, us=1.0)
        for p, x in ((OURS, ours), (BEST_SQUARES, best), ("last value", other))
    ]


def test_losses_of_zero_leave_a_whole_report():
    made = [
        exact("ours is 0", 0.0, 1.0, 2.0),
        exact("all are 0", 0.0, 0.0, 0.0),
        exact("best is 0", 1.0, 0.0, 0.0),
    ]
    bands = [
        Band("ours is 0", method, 600, pinball, 0.9, pinball, 0.0, 1.0)
        for method, pinball in ((OURS, 0.0), ("ACI*", 0.1))
    ]
    bench = RealBench(
        [facts for facts, _ in made], [score for _, scores in made for score in scores], bands
    )
    found = {grid.title: grid.rows for grid in grids(bench)}
    assert [row[6] for row in found["Regression, by stream"]] == ["0.000", "1.000", "inf"]
    everybody = {row[0]: row[1:4] for row in found["Regression, everybody"]}
    assert everybody[OURS] == ["3", "inf", "inf best is 0"]
    assert everybody["last value"] == ["3", "1.26", "2 ours is 0"]
    assert bench.targets()[0].missed == ("best is 0 inf",)
    assert bench.band_means() == {OURS: 1.0, "ACI*": math.inf}
    assert "inf" in markdown(bench)
    json.dumps(bench.to_dict(), allow_nan=False)


def test_the_figure_counts_what_lies_beyond_both_edges():
    made = [
        exact("left", 0.01, 1.0, 0.02),
        exact("right", 1.0, 1.0, 99.0),
        exact("inside", 1.0, 1.0, 2.0),
    ]
    sheet = figure(
        RealBench(
            [facts for facts, _ in made], [score for _, scores in made for score in scores], []
        )
    )
    (axes,) = sheet.axes
    assert [(text.get_text(), text.get_position()[1]) for text in axes.texts] == [
        ("+2", 0),
        ("+1", 1),
    ]
    assert axes.texts[0].get_position()[0] < 0.1 < 10 < axes.texts[1].get_position()[0]


@pytest.mark.parametrize(("period", "season"), [(0, 0), (1, 0), (12, 12)])
def test_holt_winters_has_a_season_where_the_stream_has_one(monkeypatch, period, season):
    told = {}
    monkeypatch.setattr(
        peers,
        "_river",
        lambda part: SimpleNamespace(HoltWinters=lambda **settings: told.update(settings)),
    )
    peers._winters(replace(regression(), period=period))
    assert told["seasonality"] == season


def test_notes_reach_the_terminal_whole(monkeypatch):
    note = "river LinearRegression: river is not there; pip install 'stillpoint[real]'"
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(
        "stillpoint.lab.real.bench.real_bench", lambda *_, **__: RealBench([], [], [], notes=[note])
    )
    assert note in CliRunner().invoke(app, ["bench", "real"]).output
