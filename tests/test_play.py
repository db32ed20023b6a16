from dataclasses import dataclass

import numpy as np
import pytest

import stillpoint as sp
from cases import MARKOV
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, Gaussian, HorizonFree
from stillpoint.losses import Absolute, Hinge, Huber, Linear, Log, Logistic, Pinball, Squared
from stillpoint.potentials import AdaptiveQuadratic, Erfi, FreeGrad, ParameterFree, Quadratic
from thorough import some_of

CURVES = ("plays", "losses", "gradients", "times", "linear", "norms")
RNG = np.random.default_rng(0)
Y = np.sin(np.arange(300) / 30) + 0.3 * RNG.standard_normal(300)
X = RNG.standard_normal((300, 3)) / 2
LABELS = np.where(X[:, 0] + 0.2 * RNG.standard_normal(300) > 0, 1.0, -1.0)
IRREGULAR = np.cumsum(RNG.exponential(size=300) + 1.0)
STREAMS = {
    "squared": Squared().on(Y),
    "absolute": Absolute().on(Y),
    "pinball": Pinball(0.9).on(Y),
    "huber vectors": Huber(0.5).on(np.stack([Y, -Y], axis=1)),
    "absolute vectors": Absolute().on(np.stack([Y, -Y, 2 * Y], axis=1)),
    "logistic": Logistic().on(LABELS, X),
    "hinge": Hinge().on(LABELS, X),
    "squared features": Squared().on(Y, X),
    "linear": Linear().on(RNG.standard_normal((300, 2))),
    "irregular": Absolute().on(Y, times=IRREGULAR),
}


def both_ways(make, stream):
    compiled, interactive = make(), make()
    a, b = sp.play(compiled, stream), sp.play(interactive, list(stream), times=stream.times)
    for curve in CURVES:
        assert np.array_equal(getattr(a, curve), getattr(b, curve)), curve
    left, right = compiled.arrays(), interactive.arrays()
    assert left.keys() == right.keys()
    assert all(np.array_equal(left[key], right[key]) for key in left)
    return a


NAMES = [
    "ou",
    "spline offset",
    "matern52",
    "horizon-free",
    "dirac",
    "growing product",
    "structural",
]


@pytest.mark.parametrize(("name", "stream"), some_of(NAMES, STREAMS, every=3))
def test_bulk_gives_the_numbers_of_the_interactive_path(name, stream):
    losses = STREAMS[stream]
    make = lambda: sp.KernelFTRL(losses.dim, kernel=MARKOV[name], potential=Erfi())  # noqa: E731
    assert make()._can_compile()
    both_ways(make, losses)


@pytest.mark.parametrize(
    "domain",
    [None, Ball(0.4), Box(-0.1, 0.6), Simplex(0.5), HalfSpace([1.0, 1.0, 1.0], 0.2)],
)
@pytest.mark.parametrize(
    "potential", [Quadratic(0.1), AdaptiveQuadratic(1.0), ParameterFree(9.0), FreeGrad(), Erfi()]
)
@pytest.mark.parametrize("lipschitz", [4.0, None])
def test_bulk_equals_interactive_for_every_domain_and_potential(domain, potential, lipschitz):
    losses = STREAMS["absolute vectors"]
    both_ways(
        lambda: sp.KernelFTRL(
            3, lipschitz=lipschitz, kernel=OU(0.02), potential=potential, domain=domain
        ),
        losses,
    )


def test_bulk_continues_and_mixes_with_single_rounds():
    make = lambda: sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.02), potential=Erfi())  # noqa: E731
    whole, parts = make(), make()
    a = sp.play(whole, Absolute().on(Y))
    first = sp.play(parts, Absolute().on(Y[:100]))
    middle = sp.play(parts, list(Absolute().on(Y[100:120])))
    last = sp.play(parts, Absolute().on(Y[120:]))
    assert np.array_equal(a.plays, np.concatenate([first.plays, middle.plays, last.plays]))
    assert last.times[0] == 121.0


def test_blocks_join_seamlessly():
    y = np.sin(np.arange(9000) / 300)
    run = both_ways(
        lambda: sp.KernelFTRL(
            1, lipschitz=1.0, kernel=HorizonFree(accuracy=2e-3), potential=Erfi()
        ),
        Absolute().on(y),
    )
    assert len(run) == 9000


def test_a_refused_gradient_leaves_the_round_open_on_both_paths():
    y = np.array([0.1, -0.2, 50.0, 0.3])
    for losses in (Squared().on(y), list(Squared().on(y))):
        learner = sp.KernelFTRL(1, lipschitz=2.0, kernel=OU(0.1), potential=Erfi())
        with pytest.raises(ValueError, match="lipschitz"):
            sp.play(learner, losses)
        assert learner.rounds == 2
        assert learner.time == 3.0
        learner.update(0.5)
        assert learner.rounds == 3


def test_parts_without_compiled_form_run_interactively():
    for options in (
        {"kernel": Gaussian(5.0)},
        {"kernel": OU(0.1), "domain": Projection(lambda w: np.clip(w, -0.5, 0.5))},
    ):
        learner = sp.KernelFTRL(1, lipschitz=1.0, potential=Erfi(), **options)
        assert not learner._can_compile()
        assert len(sp.play(learner, Absolute().on(Y))) == 300


def test_log_loss_on_a_simplex():
    prices = (
        1 + 0.02 * np.random.default_rng(1).standard_normal((200, 3)) + np.array([0.0, 0.0, 0.004])
    )
    run = both_ways(
        lambda: sp.KernelFTRL(3, kernel=OU(0.001), potential=Erfi(), domain=Simplex()),
        Log().on(x=prices),
    )
    assert np.allclose(run.plays.sum(axis=1), 1.0)
    assert run.plays.min() >= 0.0


def test_regret_curves():
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.02), potential=Erfi())
    run = sp.play(learner, Absolute().on(Y))
    truth = np.sin(np.arange(300) / 30)
    curves = run.regret({"truth": truth, "zero": np.zeros(1)})
    assert np.allclose(curves["truth"], np.cumsum(np.abs(run.plays[:, 0] - Y) - np.abs(truth - Y)))
    assert np.allclose(curves["zero"], np.cumsum(run.losses - np.abs(Y)))
    # convexity: the linearised regret dominates, and the certificate dominates that
    norm = sp.regret.rkhs_norm(learner.kernel, truth)
    assert (run.linear_regret(truth) >= curves["truth"] - 1e-9).all()
    assert run.certificate(norm)[-1] >= run.linear_regret(truth)[-1] - 1e-9
    assert run.certificate(norm)[-1] == pytest.approx(learner.certificate(norm))
    assert np.allclose(run.linear, np.cumsum((run.gradients * run.plays).sum(axis=1)))
    generic = sp.play(
        sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.02), potential=Erfi()), list(Absolute().on(Y))
    )
    assert np.allclose(generic.regret(truth), curves["truth"])


def test_linear_regret_is_that_of_the_run_alone():
    for make in (
        lambda: sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.02), potential=Erfi()),
        lambda: sp.lab.baselines.OGD(1, step=0.1),
    ):
        learner = make()
        sp.play(learner, Absolute().on(Y[:200]))
        run = sp.play(learner, Absolute().on(Y[200:]))
        linear = np.cumsum((run.gradients * (run.plays - 0.5)).sum(axis=1))
        np.testing.assert_allclose(run.linear_regret([0.5]), linear, rtol=1e-12, atol=1e-12)


def test_gradient_arrays_are_linear_losses():
    g = np.random.default_rng(2).standard_normal((50, 2))
    run = sp.play(sp.KernelFTRL(2, kernel=OU(0.1)), g)
    assert np.array_equal(run.gradients, g)
    assert np.allclose(run.losses, (g * run.plays).sum(axis=1))


def test_plot_draws_every_curve(tmp_path):
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.02), potential=Erfi())
    run = sp.play(learner, Absolute().on(Y))
    figure = run.plot({"truth": np.sin(np.arange(300) / 30), "zero": [0.0]}, radius=5.0)
    top, bottom = figure.axes
    assert [line.get_label() for line in top.lines] == ["truth", "zero", "play"]
    assert len(bottom.lines) == 3
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_progress_bar(capsys):
    sp.play(sp.KernelFTRL(1, lipschitz=1.0), Absolute().on(Y), progress=True)
    assert "100%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (
            lambda: sp.play(sp.KernelFTRL(2), Absolute().on(Y)),
            "losses must have the learner's dimension 2",
        ),
        (lambda: sp.play(sp.KernelFTRL(1), Absolute().on(Y), times=np.arange(3.0)), "times"),
        (
            lambda: sp.play(sp.KernelFTRL(1), Absolute().on(Y[:2]), times=[2.0, 1.0]),
            "times must increase",
        ),
        (
            lambda: sp.play(sp.KernelFTRL(1), Absolute().on(Y)).regret(np.zeros(7)),
            "u must have shape",
        ),
        (lambda: sp.play(sp.KernelFTRL(1), Absolute().on(Y)).certificate(-1.0), "radius"),
        (lambda: sp.play(sp.KernelFTRL, Absolute().on(Y)), "learner must have predict"),
        (lambda: sp.play(3, Absolute().on(Y)), "learner must have predict"),
        (
            lambda: sp.play(sp.Tracker(1), Absolute().on(Y)).adaptive_regret(2),
            r"lengths must be a list: got 2; give \[2\]",
        ),
    ],
)
def test_bad_input_is_named(call, word):
    with pytest.raises(ValueError, match=word):
        call()


@dataclass
class Told:
    """A loss of which all is said."""

    value_of: object = 1.0
    gradient_of: object = (0.1, 0.2)

    def value(self, w):
        return self.value_of

    def gradient(self, w):
        return self.gradient_of


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Told(value_of=np.ones(2)), r"loss\.value\(w\) must be a number: got array"),
        (Told(value_of=None), r"loss\.value\(w\) must be a number: got None"),
        (Told(value_of=np.nan), r"loss\.value\(w\) must be finite: got nan"),
        (
            Told(gradient_of=np.ones(3)),
            r"loss\.gradient\(w\) must have shape \(2,\)",
        ),
    ],
    ids=["values", "none", "nan", "gradient"],
)
def test_what_losses_of_ones_own_return_is_checked_and_not_learnt_from(loss, message):
    learner = sp.Tracker(2)
    with pytest.raises(ValueError, match=message):
        sp.play(learner, [Told(), loss])
    assert learner.rounds == 1


@dataclass
class Writes:
    """A loss that writes on the play it is given."""

    y: float

    def value(self, w):
        w -= self.y
        return float(np.abs(w).sum())

    def gradient(self, w):
        w -= self.y
        return np.sign(w)


def test_a_loss_of_ones_own_may_write_on_the_play_it_is_given():
    ours = sp.play(sp.Tracker(1, certify=OU(0.1)), [Writes(y) for y in Y])
    plain = sp.play(sp.Tracker(1, certify=OU(0.1)), Absolute().on(Y))
    np.testing.assert_array_equal(ours.plays, plain.plays)
    np.testing.assert_allclose(ours.losses, plain.losses)


def test_replaying_old_times_is_refused():
    learner = sp.KernelFTRL(1, kernel=OU(0.1))
    sp.play(learner, Absolute().on(Y))
    with pytest.raises(ValueError, match="after the learner's last round"):
        sp.play(learner, Absolute().on(Y), times=np.arange(1.0, 301.0))


def test_times_that_rounding_swallows_are_refused():
    learner = sp.Tracker(1)
    learner.predict(2.0**53 - 2.0)
    learner.update([1.0])
    with pytest.raises(ValueError, match="time must increase: got steps of 1 after"):
        sp.play(learner, np.ones((5, 1)))
    assert learner.rounds == 1


class Plain:
    """A learner of one's own that has nothing but what is asked for."""

    def __init__(self, dim):
        self.w, self.t = np.zeros(dim), 0

    def predict(self):
        return self.w.copy()

    def update(self, g):
        self.t += 1
        self.w = self.w - np.asarray(g) / np.sqrt(self.t)


@pytest.mark.parametrize("dim", [1, 3])
def test_a_learner_needs_predict_and_update_and_nothing_else(dim):
    y = np.random.default_rng(0).standard_normal((50, dim))
    losses = sp.losses.Absolute().on(y[:, 0] if dim == 1 else y)
    run, again, lost = sp.play(Plain(dim), losses), Plain(dim), []
    for loss in losses:
        w = again.predict()
        lost.append(loss.value(w))
        again.update(loss.gradient(w))
    np.testing.assert_array_equal(run.losses, lost)
    assert run.plays.shape == (50, dim)
    with pytest.raises(ValueError, match=f"dimension {dim}: got {dim + 1}"):
        sp.play(Plain(dim), np.zeros((5, dim + 1)))


def test_a_learner_that_takes_times_is_told_them():
    class Timed(Plain):
        def predict(self, time=None):
            heard.append(time)
            return self.w.copy()

    heard = []
    sp.play(Timed(1), np.ones((3, 1)), times=[2.0, 2.5, 7.0])
    assert heard[-3:] == [2.0, 2.5, 7.0]


class Wrapped:
    """A learner of this library behind predict and update alone."""

    def __init__(self, learner):
        self.own = learner

    def predict(self, time=None):
        return self.own.predict(time)

    def update(self, g):
        self.own.update(g)


def test_a_learner_without_a_dimension_is_asked_in_its_rounds_only():
    y, times = np.random.default_rng(1).normal(size=20), np.arange(10.0, 30.0)
    losses = sp.losses.Absolute().on(y)
    run = sp.play(Wrapped(sp.Tracker(1)), losses, times=times)
    np.testing.assert_array_equal(run.plays, sp.play(sp.Tracker(1), losses, times=times).plays)
    own = sp.play(Wrapped(sp.Tracker(1)), list(losses), times=times)
    np.testing.assert_array_equal(own.plays, run.plays)
    refused = Wrapped(sp.Tracker(1))
    with pytest.raises(ValueError, match="times must hold one time a round"):
        sp.play(refused, list(losses), times=times[:5])
    assert not refused.own._is_open


def test_a_time_that_the_certificates_kernel_refuses_leaves_the_learner_as_it_was():
    learner = sp.Tracker(dim=1, certify=sp.kernels.Spline())
    before = learner.arrays()
    with pytest.raises(ValueError, match="time"):
        sp.play(learner, sp.losses.Absolute().on(np.ones(50)), times=np.arange(50.0) - 10.0)
    for name, value in learner.arrays().items():
        np.testing.assert_array_equal(value, before[name])
    assert learner.predict() == 0.0
