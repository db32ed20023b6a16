"""The benchmark of alerts: laws have their moments, scores are those computed by hand."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from extras import package
from stillpoint.alerts import Anomalies, Changes
from stillpoint.commands.cli import app
from stillpoint.forecasters import VariationForecaster
from stillpoint.lab.alerts import anomalies, bench, changes, laws, peers, scorers, summary
from stillpoint.lab.alerts.anomalies import Hits, Quiet, alarms, found
from stillpoint.lab.alerts.changes import KINDS, Alarm, Clean, Found, judge, kinds_of, play
from stillpoint.lab.alerts.laws import LAWS

KIND = {kind.name: kind for kind in KINDS}
ROWS = 200_000


@pytest.fixture(scope="module")
def drawn():
    return {name: law.draw(0, ROWS) for name, law in LAWS.items()}


@pytest.mark.parametrize("name", LAWS)
def test_noise_has_mean_0_and_variance_1(drawn, name):
    x = drawn[name]
    # of neighbours that correlate by 0.99 as many tell as of 200 times fewer independent ones; the
    # variance of t3 has no error of its own to speak of
    mean, variance = {"AR .99": (0.1, 0.15), "t3": (0.01, 0.1), "lognormal": (0.01, 0.08)}.get(
        name, (0.02, 0.03)
    )
    assert abs(x.mean()) < mean
    assert abs(x.var() - 1.0) < variance


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("normal", 0.0, 0.0),
        ("AR .8", 0.8, 0.64),
        ("AR .99", 0.99, 0.98),
        ("MA -.7", -0.7 / 1.49, 0.0),
        ("workdays", 0.5, 0.25),
        ("GARCH", 0.0, 0.0),
        ("two scales", 0.0, 0.0),
    ],
)
def test_neighbours_correlate_as_stated(drawn, name, first, second):
    x = drawn[name]
    for lag, stated in ((1, first), (2, second)):
        assert abs(np.corrcoef(x[lag:], x[:-lag])[0, 1] - stated) < 0.012


def test_laws_have_their_shapes(drawn):
    fourth = {name: (drawn[name] ** 4).mean() for name in drawn}
    assert abs(fourth["normal"] - 3.0) < 0.1
    # 3·E[scale⁴]/E[scale²]² and 3(1 − (α + β)²)/(1 − (α + β)² − 2α²)
    assert abs(fourth["two scales"] - 3.0 * (0.9 + 0.1 * 625) / 3.4**2) < 0.6
    assert abs(fourth["GARCH"] - 3.0 * 0.0975 / 0.0775) < 0.4
    assert fourth["t3"] > 8.0
    skewness = {name: (drawn[name] ** 3).mean() for name in drawn}
    assert abs(skewness["Poisson"] - 1.0 / math.sqrt(3.0)) < 0.05
    assert skewness["lognormal"] > 4.0


def test_squares_of_garch_correlate():
    square = LAWS["GARCH"].draw(0, ROWS) ** 2
    # α(1 − αβ − β²)/(1 − 2αβ − β²)
    stated = 0.1 * (1.0 - 0.085 - 0.7225) / (1.0 - 0.17 - 0.7225)
    assert abs(np.corrcoef(square[1:], square[:-1])[0, 1] - stated) < 0.04


@pytest.mark.parametrize("name", ["Poisson", "rounded"])
def test_values_lie_on_the_lattice_whatever_changes(name):
    law = LAWS[name]
    for kind in kinds_of(law):
        y = kind.values(law, law.draw(1, 300), 50) / law.step
        np.testing.assert_allclose(y, np.rint(y), atol=1e-9)
    counts = law.draw(1, 3000)
    assert len(np.unique(law.observe(counts))) < 20  # so that ties matter


def test_seasons_repeat_and_sum_to_0():
    when = np.arange(336.0)
    for name, period in (("season", 24), ("hours", 168), ("workdays", 168)):
        season = LAWS[name].season(when)
        np.testing.assert_allclose(season[period:], season[:-period], atol=1e-9)
        assert abs(season.mean()) < 1e-12
        assert abs(season).max() > 2.0


def test_streams_are_told_by_law_and_seed():
    law = LAWS["normal"]
    np.testing.assert_array_equal(law.draw(3, 50), law.draw(3, 50))
    assert not np.array_equal(law.draw(3, 50), law.draw(4, 50))
    assert not np.array_equal(law.draw(3, 50), LAWS["season"].draw(3, 50))


def test_groups_and_names_choose_laws_and_others_are_refused():
    known, unseen = laws.chosen([laws.KNOWN]), laws.chosen([laws.UNSEEN])
    assert (len(known), len(unseen)) == (9, 4)
    assert laws.chosen() == known + unseen
    assert [law.name for law in laws.chosen(["t3", "t3", "normal"])] == ["t3", "normal"]
    with pytest.raises(ValueError, match="got 'norml'; did you mean normal"):
        laws.chosen(["norml"])


# changes


def test_changes_are_what_their_names_say():
    law, season = LAWS["normal"], LAWS["season"]
    noise, start = law.draw(0, 200), 30
    when = np.arange(start, start + 200.0)

    def values(name, law=season):
        return KIND[name].values(law, noise, start)

    np.testing.assert_array_equal(values("none", law), noise)
    np.testing.assert_allclose(values("level -0.5", law) - noise, -0.5)
    np.testing.assert_allclose(values("spread ×2", law), 2.0 * noise)
    ramp = values("slope +0.2", law) - noise
    assert ramp[0] == pytest.approx(0.002)
    assert ramp[99] == pytest.approx(0.2)
    plain = values("none") - noise
    np.testing.assert_allclose(values("spread ×½") - plain, 0.5 * noise)
    np.testing.assert_allclose(values("season ×2") - noise, 2.0 * plain)
    np.testing.assert_allclose(values("season gone"), noise)
    later = values("season ¼ period later") - noise
    np.testing.assert_allclose(later, season.season(when - 6.0))
    np.testing.assert_allclose(later[6:], plain[:-6], atol=1e-12)
    assert [k.name for k in KINDS if k not in kinds_of(law)] == [
        k.name for k in KINDS if k.family == changes.SEASON
    ]


def test_alarms_are_judged_by_hand():
    law, level = LAWS["normal"], KIND["level +2"]
    alarm = Alarm(2010, 1998, "level up", before=0.5, after=2.1)
    said = judge(level, law, 2000, alarm)
    assert said == {"delay": 10, "late": -2, "share": pytest.approx(0.8), "right": True}
    assert judge(level, law, 2000, alarm._replace(kind="wider")) == {
        "delay": 10,
        "late": -2,
        "share": None,
        "right": False,
    }
    wider = Alarm(2000, 2000, "wider", before=2.0, after=3.0)
    assert judge(KIND["spread ×2"], law, 2000, wider)["share"] == pytest.approx(0.75)
    slope = Alarm(2400, 2001, "slope up", before=0.001, after=0.006)
    assert judge(KIND["slope +1"], law, 2000, slope)["share"] == pytest.approx(0.5)
    assert judge(level, law, 2000, Alarm(2003)) == {"delay": 3}  # one that says nothing else
    assert judge(level, law, 2000, None) == {}
    assert judge(level, law, 2000, Alarm(3000)) == {}
    assert judge(level, law, 2000, Alarm(2999)) == {"delay": 999}
    # a level of counts moves by whole ones: 2 sd are three of them
    three = Alarm(2010, 2000, "level up", before=0.0, after=3.0 / math.sqrt(3.0))
    assert judge(level, LAWS["Poisson"], 2000, three)["share"] == pytest.approx(1.0)


class Beyond:
    """Alarms at every row beyond a value; begins anew with nothing."""

    def __init__(self, most):
        self.most, self.row = most, 0

    def track(self, y):
        for value in y:
            self.row += 1
            if value > self.most:
                yield Alarm(self.row - 1, self.row - 1, "level up", 0.0, 5.0)


def test_a_stream_is_played_once_and_its_changes_on_copies():
    law, kinds = LAWS["normal"], [KIND["none"], KIND["level +5"]]
    noise = law.draw(7, 1500)
    clean, told = play(
        law, "m", lambda seed: Beyond(3.0), 7, rounds=1200, starts=(400, 100), kinds=kinds
    )
    assert (clean.alarms, clean.rounds) == (int((noise[:1200] > 3.0).sum()), 1200)
    for each in told:
        shift = KIND[each.kind].size
        beyond = np.flatnonzero(noise[each.start : each.start + 1000] + shift > 3.0)
        assert each.delay == each.late == (beyond[0] if beyond.size else None)
        assert each.right is {"none": None, "level +5": True}[each.kind]
    assert [each.start for each in told] == [100, 100, 400, 400]


def test_ours_in_pieces_says_what_it_says_of_whole_streams():
    y = LAWS["normal"].draw(0, 900)
    y[500:] += 4.0
    whole, pieces = Changes(500).track(y), peers.Ours(500)
    said = [alarm for piece in np.split(y, [130, 400]) for alarm in pieces.track(piece)]
    assert whole
    assert [alarm[:3] for alarm in said] == [each[:3] for each in whole]
    assert said[-1].after == whole[-1].after


def test_false_alarms_and_delays_are_summed_up_by_hand():
    clean = [Clean("l", "m", s, 1000, n, 1e-3 * (s + 1)) for s, n in enumerate([0, 1, 3, 0])]
    (cell,) = summary.false_alarms(clean)
    # 10 in 10 000 on average; deviation of 0, 10, 30, 0 is 14.14, over √4
    assert (cell.streams, cell.alarms, cell.us) == (4, 10.0, 2.5)
    assert cell.error == pytest.approx(math.sqrt(600 / 3) / 2)
    assert summary.false_alarms(clean[:1])[0].error is None
    rows = [
        Found("l", "m", 100, "k", 0, 10, -4, 0.9, True),
        Found("l", "m", 100, "k", 1, 20, 2, 1.3, True),
        Found("l", "m", 100, "k", 2, 60, 1, None, False),
        Found("l", "m", 100, "k", 3),
        Found("l", "m", 200, "k", 0),
    ]
    late, none = summary.delays(rows)
    assert (late.streams, late.found, late.median, late.mean) == (4, 0.75, 20.0, 30.0)
    assert (late.late, late.late_error) == (1.0, 2.0)
    assert (late.share, late.share_error) == (pytest.approx(1.1), pytest.approx(0.2))
    assert late.right == pytest.approx(2 / 3)
    assert late.wait == pytest.approx((10 + 20 + 60 + 1000) / 4)
    assert (none.found, none.median, none.late, none.share, none.right) == (0.0, *[None] * 4)
    assert none.wait == 1000.0


@pytest.mark.parametrize("ties", [False, True])
def test_the_distance_of_samples_is_that_of_kolmogorov_and_smirnov(ties):
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.normal(size=30), rng.normal(rng.normal(), size=30)
        if ties:
            a, b = np.rint(a), np.rint(b)
        assert peers.distance(a.tolist(), b.tolist()) == round(30 * ks_2samp(a, b).statistic)
        decided = ks_2samp(a, b).pvalue <= 0.005
        assert (peers.distance(list(a), list(b)) >= peers.critical(30, 0.005)) == decided


# anomalies


def test_alarms_are_flags_after_a_quiet_time():
    flags = np.zeros(500, dtype=bool)
    flags[[0, 50, 151, 251, 352]] = True  # 151 is 101 rows after 50; 251 is not of 151
    np.testing.assert_array_equal(np.flatnonzero(alarms(flags, 100)), [0, 151, 352])
    assert not alarms(np.zeros(3, dtype=bool), 100).any()
    past = np.zeros(300, dtype=bool)
    assert found(past, np.array([False, True]), 100) == (True, True)
    past[200] = True  # 100 rows before the first of the stretch
    assert found(past, np.array([True]), 100) == (True, False)
    assert found(past, np.array([False, True]), 100) == (True, True)
    assert found(past, np.array([False]), 100) == (False, False)


def test_alarms_of_ours_follow_that_rule():
    y = LAWS["t3"].draw(0, 3000)
    model = Anomalies(0.01, forecaster=VariationForecaster())
    p, told = model.track(y)
    assert len(told) > 5
    assert [each.row for each in told] == np.flatnonzero(alarms(p <= 0.01, 10)).tolist()


class Threshold:
    """Flags rows beyond a value a rate."""

    def __init__(self, most):
        self.most = np.array(most)[:, None]

    def track(self, y):
        return np.abs(y) > self.most

    def ask(self, y):
        return np.abs(y) > self.most[:, 0]


def test_anomalies_are_counted_by_hand():
    law, places = LAWS["normal"], [200, 500, 900]
    noise = law.draw(5, 1050)
    quiet, hits = anomalies.play(
        law,
        "m",
        lambda rates, seed: Threshold([4.5, 3.5]),
        5,
        rates=(0.1, 0.2),
        rounds=1000,
        places=places,
    )
    assert [each.flagged for each in quiet] == [
        int((abs(noise[:1000]) > most).sum()) for most in (4.5, 3.5)
    ]
    signs = np.random.default_rng([5, 1]).choice([-1.0, 1.0], 3)
    for each in hits:
        kind = next(kind for kind in anomalies.KINDS if kind.name == each.kind)
        most = {0.1: 4.5, 0.2: 3.5}[each.rate]
        beyond = [
            (abs(noise[at : at + kind.rows] + sign * kind.size) > most).any()
            for at, sign in zip(places, signs, strict=True)
        ]
        assert (each.tried, each.flagged) == (3, sum(beyond))
    assert {each.kind for each in hits if each.flagged == 3} >= {"spike of 10"}


def test_the_rolling_score_in_pieces_is_a_loop():
    y = LAWS["AR .8"].draw(0, 400)
    y[300] += 9.0
    y[320:] = 1.5  # at last all of a window are equal
    y = np.append(y, [1.5] * 100 + [7.0])
    model, expected = scorers.Rolling((0.01, 0.1)), np.zeros((2, y.size), dtype=bool)
    for i, most in enumerate((2.5758293, 1.6448536)):
        for t in range(100, y.size):
            past = y[t - 100 : t]
            far = abs(y[t] - past.mean()) > most * past.std()
            expected[i, t] = far and past.std() > 0.0
    pieces = np.split(y, [40, 99, 100, 250])
    asked, flags = [], []
    for piece in pieces:
        asked.append(model.ask(float(piece[0])))
        flags.append(model.track(piece))
    np.testing.assert_array_equal(np.hstack(flags), expected)
    assert expected[:, 300].all()
    np.testing.assert_array_equal(np.array(asked).T, expected[:, [0, 40, 99, 100, 250]])


def test_rates_and_shares_are_summed_up_by_hand():
    quiet = [Quiet("l", "m", 0.01, s, 1000, n, 1, 1e-3) for s, n in enumerate([8, 12])]
    (cell,) = summary.rates(quiet)
    assert (cell.flagged, cell.flagged_error, cell.alarms) == (100.0, pytest.approx(20.0), 10.0)
    hits = [Hits("l", "m", 0.01, "k", s, 10, n, 1) for s, n in enumerate([5, 10])]
    (share,) = summary.shares(hits)
    assert (share.tried, share.flagged, share.alarmed) == (20, 0.75, 0.1)


# river


@pytest.mark.extra
def test_kswin_decides_as_rivers_does():
    drift = package("river.drift")
    for name in ("AR .8", "Poisson"):
        y = LAWS[name].draw(0, 400)
        y[250:] += 1.0
        expected = list(peers.River(drift.KSWIN(seed=3)).track(y))
        fast = peers.Kswin(drift.KSWIN(seed=3))
        assert expected
        assert [*fast.track(y[:150]), *fast.track(y[150:])] == expected


@pytest.mark.extra
def test_scorers_of_river_are_its_pipelines():
    anomaly, scaling = package("river.anomaly"), package("river.preprocessing")
    y = LAWS["normal"].draw(0, 600)
    y[::97] *= 4.0
    model = scorers._machine((0.05,), 0)
    pipeline = scaling.StandardScaler() | anomaly.QuantileFilter(anomaly.OneClassSVM(), q=0.95)
    expected = []
    for value in y.tolist():
        score = pipeline.score_one({"y": value})
        expected.append(pipeline["QuantileFilter"].classify(score))
        pipeline.learn_one({"y": value})
    np.testing.assert_array_equal(model.track(y)[0], expected)
    assert any(expected)


@pytest.mark.extra
def test_every_peer_plays():
    package("river")
    y = LAWS["normal"].draw(0, 300)
    y[250:] += 8.0
    for method in peers.methods(1000):
        assert list(method.make(0).track(y)), method.name
    for method in scorers.scorers()[1:]:
        model = method.make((0.01, 0.1), 0)
        assert model.track(y).shape == (2, 300)
        assert model.ask(0.0).shape == (2,)


# the run


def small(**settings):
    return bench.alerts_bench(["normal"], seeds=range(2), rounds=3000, **settings)


@pytest.fixture
def alone(monkeypatch):
    """Without river; of anomalies the rolling score alone, which needs nothing compiled."""
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    some = scorers.scorers()[1:]
    monkeypatch.setattr(bench.scorers, "scorers", lambda: some)


@pytest.mark.slow  # plays the benchmark once more
def test_without_river_its_columns_are_left_out_with_a_note(alone, tmp_path):
    result = small()
    assert {each.method for each in result.clean} == {peers.OURS}
    assert {each.method for each in result.quiet} == {"rolling z-score"}
    assert len(result.notes) == 7
    assert "ADWIN is left out: river is not installed; pip install 'stillpoint[river]'" in (
        result.notes
    )
    package("matplotlib")
    files = result.save(tmp_path)
    page = files[0].read_text(encoding="utf-8")
    assert "seeds 0 to 1" in page
    assert "ADWIN is left out" in page
    kept = json.loads(files[1].read_text(encoding="utf-8"))
    assert {row["kind"] for row in kept["changes"]} == {k.name for k in kinds_of(LAWS["normal"])}
    assert [file.name for file in files] == ["alerts.md", "alerts.json", "alerts.png"]


def test_a_run_does_not_depend_on_how_it_is_cut_into_jobs(alone, monkeypatch):
    one = small(parts=["changes"])
    monkeypatch.setattr(bench, "_BLOCK", 1)
    assert small(parts=["changes"]).found == one.found
    assert one.quiet == []
    assert {each.name for each in one.targets()} == {"false changes in 10 000 rows, at most"}


def test_targets_compare_with_limits():
    clean = [Clean(law, peers.OURS, 0, 10_000, n, 0.0) for law, n in [("normal", 2), ("GARCH", 9)]]
    delay = [
        Found("normal", method, bench.LATE, "level +1", 0, rows)
        for method, rows in ((peers.OURS, 30), (peers.OURS, None), ("ADWIN", 47))
    ]
    half = [
        Found("AR .8", peers.OURS, bench.LATE, f"level {sign}0.5", seed, rows)
        for seed, (sign, rows) in enumerate([("+", 5), ("+", None), ("-", 7), ("-", 9)])
    ]
    quiet = [
        Quiet("AR .99", peers.OURS, 0.001, 0, 10_000, 24, 5, 0.0),
        Quiet("t3", peers.OURS, 0.001, 0, 10_000, 16, 5, 0.0),
        Quiet("rounded", peers.OURS, 0.001, 0, 10_000, 99, 5, 0.0),  # unseen: no target
    ]
    result = bench.AlertsBench(clean, delay + half, quiet, [], {"every": 5000.0})
    told = [(t.law, round(t.measured, 9), t.limit, t.met) for t in result.targets()]
    assert told == [
        ("normal", 2.0, 2.0, True),
        ("GARCH", 9.0, 2.0, None),
        ("normal", 30.0, 47.0, True),
        ("normal", 515.0, 47.0, None),
        ("AR .8", 0.75, 0.5, True),
        ("AR .99", 24.0, 25.0, True),
        ("t3", 16.0, 15.0, False),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--law", "nrmal"], "law must be one of those there are: got 'nrmal'"),
        (["--only", "all"], "only must be one of changes, anomalies: got 'all'"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(words, message):
    done = CliRunner().invoke(app, ["bench", "alerts", *words])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_the_command_writes_its_page(alone, tmp_path):
    package("matplotlib")
    words = ["--law", "normal", "--only", "changes", "--seeds", "2", "--rounds", "3000"]
    done = CliRunner().invoke(
        app, ["bench", "alerts", *words, "--jobs", "1", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert "False changes in 10 000 rows" in " ".join(done.output.split())
    page = (tmp_path / "alerts.md").read_text(encoding="utf-8")
    assert "stillpoint bench alerts --law normal --only changes --seeds 2 --rounds 3000" in page
