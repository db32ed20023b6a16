"""Comparisons: one call plays every cell once, and its tables and figures show those numbers."""

import csv
import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from stillpoint.lab import streams
from stillpoint.lab.comparison import tables
from stillpoint.lab.comparison.cell import kept_rounds

ADER = ("Ader", sp.lab.baselines.Ader, {"horizon": 300, "lipschitz": 1.0, "radius": 1.0})
OGD = ("OGD", sp.lab.baselines.OGD, {"step": 0.1})


def draws(facts):
    """A learner whose step depends on the seed of its run."""
    step = np.random.default_rng(facts.seed).uniform(0.01, 0.1)
    return sp.lab.baselines.OGD(facts.dim, step=step)


def murderous(folder, facts):
    if facts.horizon == 150 and not (folder / "mended").exists():
        os._exit(1)
    return sp.Tracker(facts.dim)


def no_play(facts):
    raise RuntimeError("broken")


@pytest.fixture(scope="module")
def found():
    return sp.lab.compare(
        ["Tracker", ADER, OGD], ["ten-pieces", "fleeing"], seeds=3, horizons=[100, 300]
    )


def numbers(result):
    return [
        (*row.key, row.regret, row.loss, row.adaptive, row.switching, *row.regrets, *row.losses)
        for row in result.rows
    ]


def test_every_number_is_that_of_a_play(found):
    assert len(found.rows) == found.played == 36
    row = next(
        r for r in found.rows if (r.learner, r.stream, r.seed) == ("Ader", "ten-pieces", 2)
        and r.horizon == 300
    )  # fmt: skip
    stream = streams.ten_pieces(300, 2)
    run = sp.play(sp.lab.baselines.Ader(1, **ADER[2]), stream.losses)
    regret, at = run.regret(stream.target), np.array(row.at, int)
    assert row.regret == regret[-1]
    assert row.loss == pytest.approx(run.losses.sum(), rel=1e-14)
    assert row.regrets == tuple(regret[at - 1])
    assert row.losses == tuple(np.cumsum(run.losses)[at - 1])
    assert row.switching == run.switching_cost
    assert row.intervals == tuple(run.adaptive_regret().worst)
    assert row.adaptive == run.adaptive_regret().largest
    assert row.seconds > 0.0


def test_summaries_are_means_over_seeds_with_what_learners_are_told(found):
    summary = next(
        s for s in found.summaries() if (s.learner, s.stream) == ("OGD", "fleeing")
        and s.horizon == 100
    )  # fmt: skip
    values = [
        r.regret for r in found.rows if (r.learner, r.stream, r.horizon) == ("OGD", "fleeing", 100)
    ]
    assert summary.regret == pytest.approx(np.mean(values), rel=1e-15)
    assert summary.regret_sd == pytest.approx(np.std(values, ddof=1), rel=1e-12)
    assert (summary.seeds, summary.failed, summary.told) == (3, 0, "step 0.1")
    assert found.told == {"Tracker": "nothing", "Ader": "T, G, D", "OGD": "step 0.1"}


def test_curves_are_kept_at_the_first_and_the_last_round_and_few_between():
    for rounds in (1, 2, 7, 99, 100, 12345, 10**7):
        at = kept_rounds(rounds)
        assert at[0] == 1
        assert at[-1] == rounds
        assert len(at) <= min(rounds, 200)
        assert (np.diff(at) > 0).all()


def test_a_forecaster_is_scored_by_the_loss_of_its_forecasts():
    result = sp.lab.compare([("F", sp.TrackingForecaster, {})], ["stagewise"], seeds=1)
    stream = streams.stagewise(1000, 0)
    forecasts = sp.TrackingForecaster(3).track(stream.losses.x, stream.losses.y[:, 0])
    excess = 0.5 * (forecasts - stream.losses.y[:, 0]) ** 2 - stream.losses.values(stream.target)
    (row,) = result.rows
    assert row.regret == pytest.approx(excess.sum(), rel=1e-12)
    assert row.switching is None
    assert row.adaptive > 0.0
    assert "switching" not in result.markdown()


def test_a_forecaster_on_a_stream_without_targets_fails_alone():
    result = sp.lab.compare(
        ["Tracker", ("F", sp.TrackingForecaster, {})], ["pure-noise"], seeds=1, horizons=100
    )
    (failed,) = result.failures
    assert failed.learner == "F"
    assert "which forecasts them" in failed.error
    assert "| failed |" in result.markdown()
    assert result.rows[0].regret is not None


@pytest.mark.parametrize("name", ["pure-noise", "orthogonal", "unseen/labels", "unseen/unequal"])
def test_adaptive_regret_is_found_on_streams_of_every_kind(name):
    (row,) = sp.lab.compare(["Tracker"], [name], seeds=1, horizons=200).rows
    assert row.adaptive is not None
    assert len(row.intervals) == 7  # lengths 1 to 64: the first of length 128 ends after round 200


@pytest.mark.extra
def test_jobs_change_no_number_and_seeds_reach_learners_that_draw():
    package("joblib")
    player = sp.lab.Contender("draws", "nothing", draws)
    one, two = (
        sp.lab.compare([player, OGD], ["walk"], seeds=[5, 3], horizons=[100, 200], jobs=jobs)
        for jobs in (1, 2)
    )
    assert numbers(one) == numbers(two)
    assert [row.seed for row in one.rows[:2]] == [5, 3]
    stream = streams.get("walk", 200, 3)
    step = np.random.default_rng(3).uniform(0.01, 0.1)
    run = sp.play(sp.lab.baselines.OGD(1, step=step), stream.losses)
    assert one.rows[5].key[-1] == 3
    assert one.rows[5].regret == run.regret(stream.target)[-1]


@pytest.mark.extra
def test_what_a_folder_has_is_not_played_again_and_is_read_without_its_database(tmp_path):
    package("pyarrow")
    arguments = {"streams": ["walk"], "horizons": 100, "out": tmp_path / "one"}
    first = sp.lab.compare(["Tracker", OGD], seeds=2, **arguments)
    again = sp.lab.compare(["Tracker", OGD], seeds=3, **arguments)
    assert (first.played, again.played) == (4, 2)
    assert numbers(first) == [n for n in numbers(again) if n[4] < 2]
    (tmp_path / "one" / "cells.sqlite").unlink()
    copied = sp.lab.compare(["Tracker", OGD], seeds=3, **arguments)
    assert copied.played == 0
    assert numbers(copied) == numbers(again)
    with pytest.raises(ValueError, match="give a new folder"):
        sp.lab.sweep(["Tracker"], ["walk"], [0], [100], out=tmp_path / "one", jobs=1)


@pytest.mark.extra
@pytest.mark.slow  # a sweep whose worker dies, of which it is made, is played each time
def test_a_comparison_goes_on_after_a_worker_died(tmp_path):
    package("pyarrow")
    player = sp.lab.Contender("murderous", "nothing", partial(murderous, tmp_path))
    arguments = {"seeds": 3, "horizons": [100, 150], "out": tmp_path / "one"}
    with pytest.raises(RuntimeError, match="do the same again"):
        sp.lab.compare([player], ["walk"], jobs=2, **arguments)
    (tmp_path / "mended").touch()
    result = sp.lab.compare([player], ["walk"], **arguments)
    assert 3 <= result.played <= 6
    assert not result.failures
    assert numbers(result) == numbers(
        sp.lab.compare([player], ["walk"], seeds=3, horizons=[100, 150])
    )


def test_a_stream_of_ones_own_is_a_name_and_a_function():
    make = partial(streams.stagewise, stages=5)
    result = sp.lab.compare(["Tracker"], [("five stages", make)], seeds=1, horizons=100)
    stream = streams.stagewise(100, 0, stages=5)
    run = sp.play(sp.Tracker(3), stream.losses)
    assert result.rows[0].stream == "five stages"
    assert result.rows[0].regret == run.regret(stream.target)[-1]


class Round:
    """½‖w − y‖², as an object of one's own."""

    def __init__(self, y):
        self.y = y

    def value(self, w):
        return 0.5 * float(((w - self.y) ** 2).sum())

    def gradient(self, w):
        return w - self.y


def objects(T, seed):
    y = np.random.default_rng(seed).uniform(-1, 1, (T, 2))
    return streams.OwnStream([Round(each) for each in y], y)


def built_in(T, seed):
    return sp.losses.Squared().on(np.random.default_rng(seed).uniform(-1, 1, (T, 2)))


def hidden(T, seed):
    return [Round(np.zeros(2))] * T


@pytest.mark.extra
def test_losses_of_ones_own_functions_are_compared_like_any_other():
    anp = package("autograd.numpy")

    def cost(w, x, y):
        return anp.log(anp.cosh(anp.dot(w, x) - y))

    def make(T, seed):
        rng = np.random.default_rng(seed)
        u, x = np.repeat(rng.uniform(-1, 1, (2, 2)), T // 2, axis=0), rng.standard_normal((T, 2))
        losses = sp.losses.from_function(cost).on(x, (u * x).sum(axis=1))
        return streams.OwnStream(losses, u, lipschitz=np.linalg.norm(x, axis=1).max())

    def aimless(T, seed):
        return streams.OwnStream(make(T, seed).losses, dim=2)

    result = sp.lab.compare(
        ["Tracker", "Ader"], [("log cosh", make), ("aimless", aimless)], seeds=2, horizons=40
    )
    row, stream = result.rows[1], make(40, 1)
    run = sp.play(sp.Tracker(2), stream.losses)
    assert (row.learner, row.stream, row.seed) == ("Tracker", "log cosh", 1)
    assert row.regret == run.regret(stream.target)[-1]
    assert row.intervals == tuple(
        run.adaptive_regret(radius=stream.radius, linear=True).worst.tolist()
    )
    told = next(r for r in result.rows if (r.learner, r.stream) == ("Ader", "log cosh"))
    assert told.regret is not None
    # without a comparator there is no regret, and those who must know G are not told it
    row = next(r for r in result.rows if (r.learner, r.stream) == ("Tracker", "aimless"))
    assert (row.regret, row.regrets, row.error) == (None, (), "")
    assert row.loss == next(r.loss for r in result.rows if r.stream == "log cosh")
    assert {(r.learner, r.stream) for r in result.failures} == {("Ader", "aimless")}
    assert "lipschitz must be finite: got inf" in result.failures[0].error


def test_streams_are_whatever_play_takes_and_have_a_regret_if_they_have_a_comparator(tmp_path):
    package("matplotlib")
    own = [("objects", objects), ("built in", built_in), ("hidden", hidden)]
    result = sp.lab.compare([OGD], own, seeds=1, horizons=50)
    told, bare, lost = result.rows
    y = objects(50, 0).target
    assert (
        told.regret
        == sp.play(sp.lab.baselines.OGD(2, step=0.1), objects(50, 0).losses).regret(y)[-1]
    )
    assert bare.loss == pytest.approx(told.loss, rel=1e-14)
    assert (bare.regret, bare.error) == (None, "")
    assert bare.adaptive is not None
    assert "OwnStream(losses, dim=...)" in lost.error
    assert result.markdown("regret").splitlines()[-1].endswith("| – | failed |")
    assert [path.stem for path in result.save(tmp_path)] == [
        *["table"] * 3, *["objects-50"] * 2, *["built-in-50"] * 2
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no comparator; draw measure='loss'"):
        result.curves("built in")
    with pytest.raises(ValueError, match="all failed; see `failures`"):
        result.curves("hidden")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"losses": np.ones((3, 2)), "target": np.ones((4, 2))}, r"target must have shape \(3, 2"),
        ({"losses": np.ones((3, 2)), "dim": 3}, "dim must be that of the losses, 2: got 3"),
        ({"losses": hidden(3, 0)}, "dim must be given"),
        ({"losses": hidden(3, 0), "dim": 2, "radius": 0.0}, "radius must be positive"),
        ({"losses": 3}, "losses must be what sp.play takes: got 3"),
        ({"losses": ["a"]}, "losses must be what sp.play takes"),
    ],
)
def test_a_stream_of_ones_own_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        streams.OwnStream(**arguments)


def test_latex_tables_have_booktabs_rules_and_the_least_in_bold(found):
    text = found.latex()
    for word, times in (("toprule", 4), ("midrule", 4), ("bottomrule", 4), ("begin{tabular}", 4)):
        assert text.count("\\" + word) == times
    lines = text.split("\\end{tabular}")[0].splitlines()
    assert r"$\mu$s a round \\" in lines[3]
    assert all(line.count("&") == lines[3].count("&") for line in lines[5:8])
    means = {s.learner: s.regret for s in found.summaries()[:3]}
    best = min(means, key=means.get)
    column = lines[3].split(" & ").index("regret")
    for line in lines[5:8]:
        cells = line.split(" & ")
        assert cells[column].startswith(r"\textbf{") == (cells[0] == best)
    assert r"\_" in sp.lab.compare(
        [("a_b", sp.Tracker, {})], ["walk"], seeds=1, horizons=100
    ).latex("regret")  # fmt: skip
    assert "±" not in text
    assert "µ" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 50% #1", r"a\_b \& 50\% \#1"),
        (r"{x}^2 ~ $y$ \z", r"\{x\}\textasciicircum{}2 \textasciitilde{} \$y\$ \textbackslash{}z"),
        ("[a], after a row", "{[}a], after a row"),
        ("2.5 ± 0.1, λ = µ ≤ ∞", r"2.5 $\pm$ 0.1, $\lambda$ = $\mu$ $\le$ $\infty$"),
        ("-3.5 – −2, OGD-1, 1e-05", "$-$3.5 -- $-$2, OGD-1, 1e-05"),
        ('<a> |b| "c" T²', "$<$a$>$ $|$b$|$ ''c'' T$^2$"),
        ("two\nlines", "two lines"),
        ("Ärger, 日本", "Ärger, 日本"),
    ],
)
def test_latex_escapes_whatever_names_and_numbers_have(text, expected):
    assert tables._escaped(text) == expected


def test_markdown_cells_end_where_they_should():
    named = [("a|b\nc", sp.Tracker, {})]
    line = sp.lab.compare(named, ["walk"], seeds=1, horizons=100).markdown("loss").splitlines()[-1]
    assert line.startswith(r"| a\|b c | nothing |")


def test_numbers_of_any_size_have_digits():
    sizes = (0.0, 1.234e-7, 0.00271, 0.0995, 0.271, 9.994, 9.996, 99.96, 271.8, 2.7e6)
    assert [tables.number(-size) for size in sizes[1:]] == [
        "-1.2e-07", "-0.0027", "-0.10", "-0.27", "-9.99", "-10.0", "-100", "-272", "-2.70e+06"
    ]  # fmt: skip
    assert tables.number(0.0) == "0.00"


def test_one_measure_is_a_table_of_learners_by_streams(found):
    lines = found.markdown("regret").splitlines()
    assert lines[0] == "## Regret, 3 seeds"
    assert found.markdown("us").startswith("## µs a round, 3 seeds")
    assert lines[2].count("|") == 7
    assert "ten-pieces, T = 100" in lines[2]
    with pytest.raises(ValueError, match="measure must be one of regret, loss"):
        found.markdown("joy")


def test_a_figure_has_its_data_beside_it(found, tmp_path):
    package("matplotlib")
    path = tmp_path / "regret.pdf"
    axes = found.plot("ten-pieces", 300, log=True, slopes=[0.5], path=path)
    assert path.read_bytes().startswith(b"%PDF")
    with path.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    at, curves = found.curves("ten-pieces", 300)
    assert len(rows) == 3 * len(at)
    ader = [row for row in rows if row["learner"] == "Ader"]
    assert [float(row["rounds"]) for row in ader] == at.tolist()
    mean, sd = curves["Ader"].mean(axis=0), curves["Ader"].std(axis=0, ddof=1)
    assert [float(row["centre"]) for row in ader] == mean.tolist()
    assert [float(row["high"]) for row in ader] == pytest.approx((mean + sd).tolist(), rel=1e-12)
    drawn = next(line for line in axes.lines if line.get_label() == "Ader")
    assert drawn.get_xdata().tolist() == at.tolist()
    slope = next(line for line in axes.lines if line.get_label() == "∝ √T")
    x, y = slope.get_data()
    assert np.diff(np.log(y)) == pytest.approx(0.5 * np.diff(np.log(x)))


def test_quantile_bands_are_around_the_median_and_ends_are_over_horizons(found, tmp_path):
    package("matplotlib")
    path = tmp_path / "growth.svg"
    found.plot("fleeing", over="horizon", band=(0.0, 1.0), path=path)
    with path.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["learner"] == "OGD"]
    values = np.array(
        [
            [r.regret for r in found.rows if (r.learner, r.stream) == ("OGD", "fleeing")
             and r.horizon == horizon]
            for horizon in (100, 300)
        ]
    )  # fmt: skip
    assert [float(row["horizon"]) for row in rows] == [100.0, 300.0]
    for name, f in (("centre", np.median), ("low", np.min), ("high", np.max)):
        assert [float(row[name]) for row in rows] == f(values, axis=1).tolist()
    for bad in ((0.9, 0.1), "wide", (0.1, 2.0)):
        with pytest.raises(ValueError, match="band must be 'sd' or two quantiles"):
            found.plot("fleeing", band=bad)
    with pytest.raises(ValueError, match="stream must be one of ten-pieces, fleeing"):
        found.plot()
    with pytest.raises(ValueError, match="horizon must be one of 100, 300"):
        found.plot("fleeing", 200)


def test_names_in_a_legend_are_as_given_and_many_hide_no_curve(tmp_path):
    package("matplotlib")
    names = ["_a", "$5 & $6", "$x^{$", "b", "c", "d", "e", "f"]
    learners = [(name, sp.Tracker, {}) for name in names]
    result = sp.lab.compare(learners, ["walk"], seeds=1, horizons=100)
    axes = result.plot(path=tmp_path / "many.png")
    texts = [text.get_text().replace(r"\$", "$") for text in axes.get_legend().get_texts()]
    assert texts == [r"$\_$a", *names[1:]]
    box, legend = (part.get_window_extent() for part in (axes, axes.get_legend()))
    assert legend.y1 < box.y0


def test_everything_is_saved_with_a_figure_and_its_data_for_each_stream(found, tmp_path):
    package("matplotlib")
    files = found.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files)
    assert len(files) == 3 + 2 * 4
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["regret"]) for row in rows] == [s.regret for s in found.summaries()]


def test_a_learner_that_always_fails_leaves_the_others_their_curves():
    broken = sp.lab.Contender("broken", "nothing", no_play)
    result = sp.lab.compare([broken, OGD], ["walk"], seeds=2, horizons=100)
    assert [row.error for row in result.failures] == ["RuntimeError: broken"] * 2
    assert list(result.curves()[1]) == ["OGD"]
    assert result.summaries()[0].regret is None
    assert repr(result) == "<Comparison of 2 learners on 1 streams: 4 cells, 2 failed>"
    assert result.plot().get_title() == "without broken, which failed"


def test_a_figure_says_failed_of_those_who_did():
    package("matplotlib")
    broken = sp.lab.Contender("broken", "nothing", no_play)
    forecaster = ("forecaster", sp.TrackingForecaster, {})
    found = sp.lab.compare([broken, forecaster, OGD], ["stagewise"], seeds=1, horizons=100)
    assert [row.learner for row in found.failures] == ["broken"]
    rows = [
        replace(row, intervals=()) if row.learner == "forecaster" else row for row in found.rows
    ]
    fewer = sp.lab.comparison.result.Comparison(rows, found.told, found.played)
    said = "without broken, which failed; without forecaster, which has no adaptive"
    assert fewer.plot(measure="adaptive").get_title() == said
    same = "of the same seeds at every horizon"
    said = f"without broken, which failed; without forecaster, which has no switching {same}"
    assert found.plot(measure="switching", over="horizon").get_title() == said
    in_turn = sp.lab.Contender("in turn", "nothing", fails_in_turn)
    ends = sp.lab.compare([in_turn, OGD], ["walk"], seeds=2, horizons=[100, 200])
    said = f"without in turn, which has no regret {same}"
    assert ends.plot(over="horizon").get_title() == said


def test_streams_whose_names_differ_in_signs_only_have_files_of_their_own(tmp_path):
    package("matplotlib")
    streams = [(name, walk_of_signs) for name in ("AR(0.5)", "AR[0.5]", "ar-0.5-")]
    files = sp.lab.compare([OGD], streams, seeds=1, horizons=20).save(tmp_path)
    assert len(set(files)) == len(files) == len(list(tmp_path.iterdir())) == 3 + 2 * 3
    assert [path.name for path in files[3::2]] == [
        "AR-0.5--20.pdf",
        "AR-0.5--2-20.pdf",
        "ar-0.5--3-20.pdf",
    ]


def walk_of_signs(T, seed):
    return np.random.default_rng(seed).choice([-1.0, 1.0], T).cumsum()


def fails_in_turn(facts):
    if (facts.horizon, facts.seed) in ((100, 0), (200, 1)):
        raise RuntimeError("not this one")
    return sp.lab.baselines.OGD(facts.dim, step=0.1)


def test_ends_are_of_the_same_seeds_at_every_horizon():
    in_turn = sp.lab.Contender("in turn", "nothing", fails_in_turn)
    result = sp.lab.compare([in_turn, OGD], ["walk"], seeds=2, horizons=[100, 200])
    horizons, ends = result.ends()
    assert horizons.tolist() == [100.0, 200.0]
    assert list(ends) == ["OGD"]
    assert ends["OGD"].shape == (2, 2)


def pair(T, seed):
    return built_in(T, seed), np.random.default_rng(seed).uniform(-1, 1, (T, 2))


@pytest.mark.extra
def test_cells_that_all_fail_alike_are_one_error(tmp_path):
    message = r"got in each of 4 cells ValueError: make must return a stream.*got a tuple; return"
    with pytest.raises(ValueError, match=message):
        sp.lab.compare(["Tracker", OGD], [("pair", pair)], seeds=2, horizons=50)
    package("pyarrow")
    call = partial(sp.lab.compare, [OGD], [("pair", pair)], seeds=1, horizons=50, out=tmp_path)
    for options in ({}, {"retry": True}):
        with pytest.raises(ValueError, match=r"then pass retry=True, as failed cells are kept$"):
            call(**options)


class Mute:
    """No learner: nothing can be told to it."""

    def __init__(self, dim):
        self.dim = dim

    def predict(self):
        return np.zeros(self.dim)


def test_learners_that_lack_a_method_fail_in_the_same_words_in_every_cell():
    with pytest.raises(ValueError, match=r"in each of 2 cells ValueError: learner .*got a Mute"):
        sp.lab.compare([("mute", Mute, {})], ["walk"], seeds=2, horizons=100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": 0}, "seeds"),
        ({"horizons": [0]}, "horizons"),
        ({"streams": [("walk", 3)]}, r"streams must be names, specs or \(name, make\)"),
        ({"jobs": 0}, "jobs"),
        ({"learners": ["Trakcer"]}, "learner must be known"),
    ],
)
def test_bad_arguments_are_refused_before_anybody_plays(arguments, message):
    given = {"learners": ["Tracker"], "streams": ["walk"], "horizons": 100} | arguments
    with pytest.raises(ValueError, match=message):
        sp.lab.compare(given.pop("learners"), given.pop("streams"), **given)


class Plain:
    """A learner with nothing but predict and update."""

    def __init__(self, dim, step):
        self.w, self.step = np.zeros(dim), step

    def predict(self):
        return self.w.copy()

    def update(self, g):
        self.w = self.w - self.step * np.asarray(g)


def test_a_learner_of_ones_own_needs_no_more_than_predict_and_update():
    mine, theirs = ("mine", Plain, {"step": 0.1}), ("OGD", sp.lab.baselines.OGD, {"step": 0.1})
    result = sp.lab.compare([mine, theirs], ["walk"], seeds=1, horizons=100)
    ours, others = (row.loss for row in result.rows)
    assert ours == pytest.approx(others)
