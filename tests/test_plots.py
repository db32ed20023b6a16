"""Figures of runs: what is drawn, grouped, saved and shown, and how runs print."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import stillpoint as sp
from stillpoint.lab.baselines import OGD
from stillpoint.lab.streams import real
from stillpoint.report.figures import power_of_rounds

ROUNDS = 120
TRUTH = np.sin(np.arange(ROUNDS) / 20)


def run(seed=0, label=None, rounds=ROUNDS):
    noise = np.random.default_rng(seed).standard_normal(rounds)
    losses = sp.losses.Absolute().on(TRUTH[:rounds] + 0.1 * noise)
    return sp.play(OGD(1, step=0.1), losses, label=label)


def drawn(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_a_run_is_drawn_against_a_bare_comparator():
    figure = run().plot(TRUTH)
    top, bottom = figure.axes
    assert list(drawn(top)) == ["the comparator", "play"]
    np.testing.assert_array_equal(
        drawn(bottom)["regret against the comparator"], run().regret(TRUTH)
    )


def test_a_run_is_drawn_on_axes_that_are_given():
    axes = Figure().subplots()
    assert run().plot({"truth": TRUTH}, ax=axes) is axes
    assert list(drawn(axes)) == ["regret against truth"]
    assert list(drawn(run().plot(ax=Figure().subplots()))) == ["cumulative loss"]


def test_seeds_of_one_label_are_one_curve_with_its_spread():
    seeds = [run(seed, "OGD") for seed in range(4)]
    axes = sp.plot([*seeds, run(9, "another")], TRUTH)
    curves = np.stack([each.regret(TRUTH) for each in seeds])
    assert list(drawn(axes)) == ["OGD", "another"]
    np.testing.assert_allclose(drawn(axes)["OGD"], curves.mean(axis=0), rtol=1e-12)
    (band,) = axes.collections  # a single run has none
    ends = band.get_paths()[0].vertices
    low, high = ends[ends[:, 0] == ROUNDS, 1].min(), ends[ends[:, 0] == ROUNDS, 1].max()
    mean, spread = curves[:, -1].mean(), curves[:, -1].std(ddof=1)
    np.testing.assert_allclose([low, high], [mean - spread, mean + spread], rtol=1e-12)


def test_every_run_may_have_its_own_comparator():
    runs, own = [run(0), run(1)], [TRUTH, np.zeros(1)]
    axes = sp.plot(runs, own)
    curves = [each.regret(u) for each, u in zip(runs, own, strict=True)]
    np.testing.assert_allclose(drawn(axes)["OGD"], np.mean(curves, axis=0), rtol=1e-12)
    axes = sp.plot(runs, [0.0])  # a fixed point, not a list of comparators
    curves = [each.regret([0.0]) for each in runs]
    np.testing.assert_allclose(drawn(axes)["OGD"], np.mean(curves, axis=0), rtol=1e-12)


def test_one_slope_needs_no_list():
    (line,) = [line for line in sp.plot(run(), slopes=0.5).lines if line.get_label() == "∝ √T"]
    assert line.get_linestyle() == "--"


def test_reference_slopes_grow_as_they_say_and_end_with_the_curves():
    axes = sp.plot([run(seed) for seed in range(3)], log=True, slopes=[0.5, 1])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    curves = drawn(axes)
    assert list(curves) == ["OGD", "∝ √T", "∝ T"]
    for name, power in (("∝ √T", 0.5), ("∝ T", 1.0)):
        assert curves[name][-1] == pytest.approx(curves["OGD"][-1])
        assert curves[name][-1] / curves[name][29] == pytest.approx(4**power)


@pytest.mark.parametrize(
    ("power", "said"),
    [(0.5, "√T"), (1, "T"), (0, "1"), (2 / 3, "$T^{2/3}$"), (0.37, "$T^{0.37}$"), (2, "$T^{2}$")],
)
def test_slopes_are_named_as_papers_name_them(power, said):
    assert power_of_rounds(power) == said


def test_logarithmic_axes_show_three_decades_at_most():
    long = sp.play(OGD(1, step=0.1), sp.losses.Absolute().on(np.ones(30_000)))
    assert sp.plot(long, log=True).get_xlim()[0] == 30
    tiny = sp.play(OGD(1, step=0.1), sp.losses.Absolute().on(np.geomspace(1e-9, 1e3, 50)))
    axes = sp.plot(tiny, log="y")
    assert axes.get_ylim()[0] == pytest.approx(tiny.losses.sum() / 1000)
    assert sp.plot(run(), log=True).get_xlim()[0] == 1


def test_long_runs_are_thinned_and_keep_their_ends():
    long = sp.play(OGD(1, step=0.1), sp.losses.Absolute().on(np.ones(30_000)))
    for log in (False, "x"):
        (line,) = sp.plot(long, log=log).lines
        assert len(line.get_xdata()) <= 4000
        assert (line.get_xdata()[0], line.get_xdata()[-1]) == (1, 30_000)


@pytest.mark.parametrize(("suffix", "first"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_the_suffix_says_how_a_figure_is_saved(tmp_path, suffix, first):
    path = tmp_path / f"figure.{suffix}"
    sp.plot(run(), path=path)
    assert path.read_bytes().startswith(first)
    before = path.read_bytes()
    sp.plot(run(), path=str(path))
    assert path.read_bytes() == before  # no date in it


def test_notebooks_show_figures_and_nothing_is_left_open():
    code = """
import numpy as np, stillpoint as sp, sys
run = sp.play(sp.lab.baselines.OGD(1, step=0.1), sp.losses.Absolute().on(np.ones(9)))
print([shown._repr_png_()[1:4] for shown in (run.plot(), sp.plot(run))])
print("matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[b'PNG', b'PNG']", "False"]


def test_notebooks_show_figures_of_data_frames_too():
    axes = sp.track({"y": np.tile([1.0, 2.0, 3.0], 20)}, "y", horizon=3).plot()
    assert axes._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sp.plot([]), "runs must be"),
        (lambda: sp.plot([TRUTH]), "runs must be"),
        (lambda: sp.plot(run(), log="z"), "log must be"),
        (lambda: sp.plot([run(), run(rounds=100)]), "same rounds: got"),
        (lambda: sp.plot([run()], [TRUTH, TRUTH]), "comparators must be"),
        (lambda: sp.plot(run(), slopes=[np.nan]), "slopes"),
        (lambda: sp.plot(run(), run().plays, log=True), "log needs regret above 0"),
        (lambda: sp.plot(run(), path="figure.docx"), "path must end in"),
    ],
    ids=["none", "arrays", "axis", "rounds", "comparators", "slopes", "negative", "suffix"],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_runs_and_streams_print_on_one_line():
    each = run(label="a<b")
    total = each.losses.sum()
    assert repr(each).startswith("<Run of a<b: rounds 120, dimension 1, total loss ")
    assert f"{total:.6g}" in repr(each)
    assert "a&lt;b" in each._repr_html_()
    assert repr(each.stream) == "<LossStream of Absolute(): rounds 120, dimension 1>"
    walk = sp.lab.streams.get("walk", 100, 0)
    for shown in (each, each.stream, walk, real.load("volume")):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 250


def test_learners_show_a_table_in_notebooks():
    learner = sp.Tracker(2, certify=sp.kernels.OU(0.1))
    learner.skip()
    table = learner._repr_html_()
    assert "<caption>Tracker</caption><tr><th>rounds so far</th><td>1</td></tr>" in table
    assert "<th>certify</th><td>OU(rate=0.1" in table
