"""The benchmark's arithmetic on learners whose regret is known, and what it writes."""

import json
import math
import pickle

import numpy as np
import pytest

import stillpoint as sp
from naive_baselines import ogd_star
from stillpoint.lab import streams
from stillpoint.lab.bench import workers
from stillpoint.lab.bench._ogd import bare_ogd, recorded_ogd
from stillpoint.lab.bench.contenders import Contender, Facts, contenders
from stillpoint.lab.bench.figure import ratio_figure, style
from stillpoint.lab.bench.regret import FLOOR, RegretBench, Row, regret_bench, summarise, tuned_ogd
from stillpoint.lab.bench.speed import BARE, RECORDED, SpeedBench, SpeedRow, speed_bench
from stillpoint.lab.bench.speed_tables import speed_markdown
from stillpoint.lab.bench.tables import regret_markdown

T = 200


class Constant:
    """Plays one point for ever."""

    def __init__(self, dim, point):
        self.dim, self.time, self.point = dim, 0.0, point

    def predict(self, time=None):
        self.time = self.time if time is None else time
        return np.full(self.dim, self.point)

    def update(self, g, time=None):
        pass


def constant(name, point):
    return Contender(name, f"the point {point:g}", lambda facts: Constant(facts.dim, point))


def refuse(facts):
    raise ValueError(f"no more than {facts.horizon - 1} rounds")


def at_one(rounds, seed):
    """Always y = 1 without noise, so that playing c has regret T|c − 1|."""
    y = np.ones(rounds)
    return streams.Stream("at-one", sp.losses.Absolute().on(y), y[:, None])


TOY = streams.Spec("at-one", "toy", streams.CHOSEN, at_one)
PLAYERS = [
    constant("two", 2.0),
    constant("three", 3.0),
    constant("right", 1.0),
    Contender("no", "T", refuse),
]


@pytest.fixture(scope="module")
def toy():
    return regret_bench(PLAYERS, [TOY, "pure-noise"], seeds=[0, 1], horizons=[T, 100])


def row(ratio, stream="s", seed=0, **extra):
    values = {"regret": ratio, "ogd": 1.0, "ratio": ratio, "rounds_per_s": 10.0} | extra
    return Row("L", "nothing", stream, "k", "chosen", T, seed, T, **values)


def test_summary_is_a_geometric_mean_with_the_worst_named_and_floors_counted():
    found = summarise([row(2.0), row(8.0, "bad", 7), row(1.0)], "all")
    assert found.mean == pytest.approx(16 ** (1 / 3))
    assert (found.worst, found.worst_stream, found.worst_seed) == (8.0, "bad", 7)
    assert (found.runs, found.floored, found.unrated, found.failed) == (3, 0, 0, 0)
    found = summarise(
        [
            row(-3.0),
            row(0.0),
            row(1.0),
            row(None, ogd=-1.0, regret=5.0),
            row(None, regret=None, error="x"),
        ],
        "all",
    )
    assert found.mean == pytest.approx(FLOOR ** (2 / 3))
    assert (found.runs, found.floored, found.unrated, found.failed) == (5, 2, 1, 1)
    nothing = summarise([row(None)], "all")
    assert (nothing.mean, nothing.worst, nothing.worst_seed) == (None, None, None)


def test_regrets_of_known_learners(toy):
    found = {(r.learner, r.horizon): r for r in toy.rows if r.stream == "at-one" and r.seed == 0}
    for horizon in (T, 100):
        star = ogd_star(np.ones(horizon), np.ones(horizon), 2.0 ** (np.arange(-56, 9) / 4), 30.0)
        assert star == 1.0  # the step 1 loses the first round and is right from then on
        for learner, regret in (("two", 1.0 * horizon), ("three", 2.0 * horizon), ("right", 0.0)):
            assert found[learner, horizon].regret == pytest.approx(regret)
            assert found[learner, horizon].ratio == pytest.approx(regret / star)
        assert found["no", horizon].regret is None
        assert found["no", horizon].error == f"ValueError: no more than {horizon - 1} rounds"
    assert all(
        r.ratio is None and r.regret is not None
        for r in toy.rows
        if r.stream == "pure-noise" and r.learner != "no"
    )


def test_groups_stay_apart(toy):
    by_group = {(s.label, s.learner, s.horizon): s for s in toy.summary("group")}
    assert by_group["chosen", "two", T].mean == pytest.approx(T)
    assert by_group["chosen", "right", T].floored == 2
    assert by_group["chosen", "no", T].failed == 2
    assert by_group["reported", "two", T].unrated == 2
    assert {s.label for s in toy.summary("stream")} == {"at-one", "pure-noise"}


@pytest.mark.parametrize("name", ["walk", "x1000/pieces10-noise1.0", "x0.01/far"])
def test_tuned_ogd_is_the_reference(name):
    stream = streams.get(name, 500, 3)
    u, y = stream.target[:, 0], stream.losses.y[:, 0]
    expected = ogd_star(u, y, stream.unit * 2.0 ** (np.arange(-56, 9) / 4), 30.0 * stream.unit)
    assert tuned_ogd(stream) == pytest.approx(expected, rel=1e-9)


def test_tuned_ogd_plays_an_adversary_step_by_step():
    stream = streams.orthogonal(100, 0, blocks=4)
    best = tuned_ogd(stream)
    assert best >= 4 * 5.0 - 1e-6

    def regret(step):
        run = sp.play(sp.lab.baselines.OGD(2, step=step, domain=sp.domains.Ball(30.0)), stream)
        return run.regret(stream.target)[-1]

    assert best == pytest.approx(min(regret(step) for step in stream.steps), rel=1e-9)


def played(jobs=1):
    found = regret_bench(
        ["Tracker", PLAYERS[0]], ["walk", "fleeing"], seeds=[4], horizons=[120], jobs=jobs
    )
    return [(r.learner, r.stream, r.regret, r.ogd) for r in found.rows]


@pytest.mark.slow
def test_processes_change_nothing():
    assert played(jobs=2) == played()


def test_jobs_and_rows_that_travel_as_bytes_change_nothing(monkeypatch):
    """As to and from processes, whose start takes most of the time of the test above."""
    here, travelled = played(), []

    def there(place, function, task):
        travelled.append(workers._cloudpickled(function, task))
        return place, pickle.loads(pickle.dumps(workers._call(travelled[-1])))

    monkeypatch.setattr(workers, "_numbered", there)
    assert played() == here
    assert travelled


def test_files_hold_every_row_the_means_and_the_rules(toy, tmp_path):
    files = toy.save(tmp_path / "out")
    names = [
        "regret.md",
        "regret.json",
        "regret-chosen.png",
        "regret-chosen.svg",
        "regret-reported.png",
        "regret-reported.svg",
    ]
    assert [file.name for file in files] == names
    assert all(file.stat().st_size > 0 for file in files)
    stored = json.loads(files[1].read_text())
    assert len(stored["rows"]) == len(PLAYERS) * 2 * 2 * 2
    assert {r["seed"] for r in stored["rows"]} == {0, 1}
    assert stored["settings"]["learners"]["two"] == "the point 2"
    assert RegretBench([Row(**r) for r in stored["rows"]]).summary() == toy.summary()
    text = files[0].read_text()
    assert "| two | the point 2 | 200 (200 at-one) | 100 (100 at-one) |" in text
    assert "4 floored" in text
    assert "no on at-one, pure-noise: ValueError: no more than 199 rounds" in text
    assert "counts as 0.01" in text
    assert text.index("constants were chosen (1)") < text.index("only reported on (1)")
    assert "at most" in next(line for line in text.splitlines() if line.startswith("| pure-noise"))


def test_the_figure_shows_each_learner_and_rated_stream(toy):
    figure = ratio_figure(toy, "chosen")
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["at-one"]
    assert (left.get_title(), right.get_title()) == ("T = 200", "T = 100")
    assert left.get_xscale() == "log"
    dots = {line.get_label(): line.get_xdata() for line in left.get_lines()}
    assert dots["three"] == pytest.approx([400.0])
    assert dots["right"] == pytest.approx([FLOOR])


def test_warnings_of_learners_are_kept_not_shown():
    def build(facts):
        import warnings

        warnings.warn("too far", RuntimeWarning, stacklevel=1)
        return Constant(facts.dim, 0.0)

    found = regret_bench([Contender("loud", "nothing", build)], [TOY], seeds=[0], horizons=[T])
    assert found.rows[0].warning == "too far"
    assert "loud on at-one: too far" in regret_markdown(found)


def test_contenders_are_built_as_told():
    known = contenders()
    assert {"Tracker", "Algorithm2", "Ader", "KT"} <= set(known)
    facts = Facts(dim=2, horizon=50, lipschitz=3.0, radius=0.5, within=lambda radius: 3.0)
    for player in known.values():
        learner = player.build(facts)
        assert learner.dim == 2, player.name
        config = learner.config
        assert ("G" in player.assumes.split(", ")) == (
            config.get("lipschitz") == 3.0 or "sqrt" in player.name
        ), player.name
        assert ("T" in player.assumes.split(", ")) == (config.get("horizon") == 50), player.name
    assert known["Ader-10D"].build(facts).radius == 5.0


def test_unknown_names_say_what_is_known():
    with pytest.raises(ValueError, match=r"did you mean Ader\? the known ones are Tracker, "):
        regret_bench(["ader"], ["walk"], seeds=[0], horizons=[100])
    with pytest.raises(ValueError, match="at least one of each"):
        regret_bench(["Tracker"], ["walk"], seeds=[], horizons=[100])
    with pytest.raises(ValueError, match="horizons must be a positive"):
        regret_bench(["Tracker"], ["walk"], seeds=[0], horizons=[0])


def test_every_horizon_is_checked_before_anybody_plays():
    played = []
    player = Contender(
        "noted", "nothing", lambda facts: played.append(facts) or Constant(facts.dim, 0.0)
    )
    with pytest.raises(ValueError, match="T must be 100 or more: got 50"):
        regret_bench([player], ["walk"], seeds=[0], horizons=[200, 50])
    assert played == []


@pytest.mark.parametrize(("name", "value"), [("dims", (1, 0)), ("dims", (2.0,)), ("ages", (-5,))])
def test_speed_bench_names_bad_sizes(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a positive whole number"):
        speed_bench(["KT"], **{"dims": (1,), "ages": (10,), "repeats": 1, name: value})


def test_bare_loops_are_ogd():
    stream = streams.families(300, 0, dim=3)["d3/sine10"]
    y, step = stream.losses.y, 0.05
    run = sp.play(sp.lab.baselines.OGD(3, step=step), stream.losses)
    assert bare_ogd(y, step) == pytest.approx(run.losses.sum(), rel=1e-9)
    plays, gradients, losses = np.empty_like(y), np.empty_like(y), np.empty(len(y))
    recorded_ogd(y, step, plays, gradients, losses)
    np.testing.assert_allclose(plays, run.plays, atol=1e-9)
    np.testing.assert_allclose(gradients, run.gradients, atol=1e-9)
    np.testing.assert_allclose(losses, run.losses, atol=1e-9)


def test_speed_bench_times_every_learner_beside_the_bare_loop(tmp_path):
    found = speed_bench(["Tracker"], dims=(1, 3), ages=(100, 400), repeats=1)
    for dim in (1, 3):
        bare, ours = found.find(BARE, "bulk", dim), found.find("Tracker", "bulk", dim)
        assert ours.ratio == pytest.approx(ours.us / bare.us)
        assert found.find(RECORDED, "bulk", dim).us > 0.0
        assert found.find("Tracker", "interactive", dim).us > ours.us
    assert found.find("Tracker", "bulk", 1, age=400).us > 0.0
    assert [file.name for file in found.save(tmp_path)] == ["speed.md", "speed.json"]
    assert len(json.loads((tmp_path / "speed.json").read_text())["rows"]) == len(found.rows)


def test_speed_tables_show_growth_and_multiples():
    rows = [
        SpeedRow(BARE, "the step", "bulk", 1, 0, 0.02, 1.0),
        SpeedRow("L", "nothing", "bulk", 1, 0, 0.5, 25.0),
        SpeedRow("L", "nothing", "bulk", 1, 1000, 0.4),
        SpeedRow("L", "nothing", "bulk", 1, 10**6, 0.6),
    ]
    text = speed_markdown(SpeedBench(rows, {"dims": [1], "ages": [1000, 10**6]}))
    assert "| L | nothing | 0.5 (25×) |" in text
    assert "| L | 0.4 | 0.6 | 1.50× |" in text


def test_a_slow_learner_is_not_aged_past_patience():
    found = speed_bench(["KT"], dims=(1,), ages=(200, 10**9), repeats=1, patience=3.0)
    assert found.find("KT", "bulk", 1, age=200) is not None
    assert found.find("KT", "bulk", 1, age=10**9) is None
    assert "–" in speed_markdown(found)
    assert math.isfinite(found.find("KT", "bulk", 1).us)


def test_no_two_of_sixty_learners_look_alike_in_the_figure():
    assert len({style(i) for i in range(60)}) == 60
