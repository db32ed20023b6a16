"""Algorithm 1 with static learners that take the loss itself: proximal descent and online Newton,
against their dense twins.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

import stillpoint as sp
from cases import DENSE, MARKOV, TIMES, features
from stillpoint import checks
from stillpoint.domains import Ball
from stillpoint.kernels import OU, Constant, Gaussian, Spline
from stillpoint.lab.baselines import Ader
from stillpoint.learners import GradientDescent, ProximalDescent
from stillpoint.losses import Absolute, Huber, Linear, Logistic, Squared
from stillpoint.potentials import Quadratic
from thorough import some, some_of

KERNELS = {
    name: {**MARKOV, **DENSE}[name]
    for name in (
        "ou",
        "spline",
        "matern32",
        "quasi-periodic",
        "integrated",
        "sum",
        "gaussian",
        "inverse multiquadric",
    )
}
STEP = 0.7


def targets(rounds, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(rounds) / 9.0) + 0.4 * rng.standard_normal(rounds)


def streams(times):
    """Rounds of plays in R and in R²; the logistic and one squared loss through features."""
    y, rng = targets(times.size), np.random.default_rng(1)
    both, x, labels = (
        np.column_stack([y, y[::-1]]),
        rng.standard_normal((times.size, 2)),
        np.where(y > 0, 1.0, -1.0),
    )
    return {
        "squared": Squared().on(y, times=times),
        "absolute": Absolute().on(y, times=times),
        "huber": Huber(0.3).on(y, times=times),
        "logistic": Logistic().on(labels, times=times),
        "squared in the plane": Squared().on(both, times=times),
        "absolute in the plane": Absolute().on(both, times=times),
        "huber in the plane": Huber(0.3).on(both, times=times),
        "logistic on features": Logistic().on(labels, x, times=times),
        "squared on features": Squared().on(y, x, times=times),
    }


NAMES = list(streams(TIMES["regular"]))


def proximal_point(loss, w, c):
    """argmin ‖v − w‖²/2 + c·ℓ(v) by halving an interval of the line that it lies on: no formula of
    the library's.
    """
    line = (
        loss.stream.x[loss.index]
        if loss.stream.x.shape[0]
        else loss.stream.y[loss.index] - w
        if w.size > 1
        else np.ones(1)
    )
    size = line @ line
    if size == 0.0:
        return w.copy()
    low, high = -1.0, 1.0

    def slope(s):
        return s * size + c * (loss.gradient(w + s * line) @ line)

    while slope(low) > 0.0:
        low *= 2.0
    while slope(high) < 0.0:
        high *= 2.0
    while low < (middle := 0.5 * (low + high)) < high:  # to the last bit
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return w + 0.5 * (low + high) * line


def dense_twin(kernel, losses, step):
    """Proximal descent on matrices W (dim × T), one explicit feature vector a round."""
    phi = features(kernel.markov(), losses.times)
    W, plays = np.zeros((losses.dim, len(phi))), []
    for loss, f in zip(losses, phi, strict=True):
        w = W @ f
        plays.append(w)
        W += np.outer(proximal_point(loss, w, step * (f @ f)) - w, f) / (f @ f)
    return np.array(plays), W


@pytest.mark.parametrize(("kernel", "name", "times"), some_of(KERNELS, NAMES, TIMES, every=6))
def test_proximal_descent_equals_its_dense_twin(kernel, name, times):
    losses = streams(TIMES[times])[name]
    learner = sp.KernelFTRL(losses.dim, kernel=KERNELS[kernel], potential=ProximalDescent(STEP))
    run = sp.play(learner, losses)
    twin, W = dense_twin(KERNELS[kernel], losses, STEP)
    assert np.abs(run.plays - twin).max() <= 1e-9 * np.abs(twin).max()
    assert learner.memory.norm == pytest.approx(np.linalg.norm(W), rel=1e-8)
    assert np.abs(twin).max() > 0.1


@pytest.mark.parametrize(("kernel", "name"), some_of(["ou", "spline", "gaussian"], NAMES, every=6))
def test_the_proximal_bound_holds_and_is_no_worse_than_gradient_descents(kernel, name):
    times = TIMES["regular"]
    losses, kernel = streams(times)[name], KERNELS[kernel]
    gram, diagonal = kernel.gram(times), kernel.diagonal(times)
    for step in (0.05, STEP, 20.0):
        learner = sp.KernelFTRL(losses.dim, kernel=kernel, potential=ProximalDescent(step))
        run = sp.play(learner, losses)
        squares = ((run.gradients**2).sum(axis=1) * diagonal).sum()
        assert 0.0 < learner.variance <= squares * (1 + 1e-9)
        rng = np.random.default_rng(2)
        comparators = [
            (
                np.linalg.lstsq(gram, losses.y, rcond=None)[0]
                if losses.dim == losses.y.shape[1]
                else None
            )
        ]
        comparators += [
            np.linalg.solve(gram + ridge * np.eye(40), rng.standard_normal((40, losses.dim)))
            for ridge in (1.0, 9.0)
        ]
        comparators += [dense_coefficients(learner, run, times)]
        for c in comparators:
            if c is not None:
                u, norm = gram @ c, np.sqrt((c * (gram @ c)).sum())
                assert run.losses.sum() - losses.values(u).sum() <= learner.bound(norm) * (1 + 1e-9)


def dense_coefficients(learner, run, times):
    """Those of W_{T+1} = Σ c_s⊗φ(s), from the plays: w_t = Σ_{s<t} k(s,t)c_s; the last round is
    left out.
    """
    gram = learner.kernel.gram(times)
    c = np.zeros_like(run.plays)
    for t in range(1, times.size):
        c[t - 1] = (run.plays[t] - gram[t, : t - 1] @ c[: t - 1]) / gram[t, t - 1]
    return c


@pytest.mark.parametrize("name", NAMES)
def test_the_proximal_bound_is_attained(name):
    """After one round, against W_2: a constant smaller than that of the bound would be too
    small.
    """
    losses = streams(TIMES["regular"][:1])[name]
    learner = sp.KernelFTRL(losses.dim, kernel=OU(0.1, weight=1.3), potential=ProximalDescent(STEP))
    loss = losses[0]
    w = learner.predict(time=1.0)
    learner.update_loss(loss)
    u = w - 1.3 * STEP * loss.implicit_gradient(w, 1.3 * STEP)
    assert loss.value(w) - loss.value(u) == pytest.approx(
        learner.bound(learner.memory.norm), rel=1e-12
    )


def test_for_linear_losses_the_proximal_bound_is_attained_and_the_step_is_gradient_descents():
    gradients = np.random.default_rng(3).standard_normal((60, 2))
    implicit = sp.KernelFTRL(2, kernel=OU(0.05), potential=ProximalDescent(STEP))
    explicit = sp.KernelFTRL(2, lipschitz=10.0, kernel=OU(0.05), potential=Quadratic(STEP))
    for g in gradients:
        assert np.allclose(implicit.predict(), explicit.predict(), rtol=1e-12, atol=1e-14)
        implicit.update(g)
        explicit.update(g)
        # U = W_{t+1} = −η ΣG is the comparator for which nothing is lost
        norm = implicit.memory.norm
        assert implicit.certificate(norm) == pytest.approx(implicit.bound(norm), rel=1e-9)
        assert implicit.bound(3.0) == pytest.approx(explicit.bound(3.0), rel=1e-12)


def test_gradients_at_the_new_points_would_not_bound_the_regret():
    """Why δ_t is what it is: |w − y| with the kink nearer than the step."""
    learner = sp.KernelFTRL(1, kernel=Constant(), potential=ProximalDescent(1.0))
    loss = Absolute().on([0.1])[0]
    learner.predict()
    learner.update_loss(loss)
    new = loss.implicit_gradient([0.0], 1.0)[0]
    assert new == pytest.approx(-0.1)
    regret = 0.1 - 0.0  # of 0 against u = 0.1
    assert regret > 0.1**2 / 2 + new**2 / 2
    assert regret <= learner.bound(0.1) * (1 + 1e-12)


def test_large_steps_are_stable_where_explicit_ones_are_not():
    y = targets(300)
    implicit = sp.play(
        sp.KernelFTRL(1, kernel=OU(0.02), potential=ProximalDescent(1e6)), Squared().on(y)
    )
    assert np.abs(implicit.plays).max() <= 3 * np.abs(y).max()
    explicit, w = sp.KernelFTRL(1, lipschitz=1e100, kernel=OU(0.02), potential=Quadratic(1e6)), 0.0
    for value in y[:8]:
        w = explicit.predict()
        explicit.update(w - value)
    assert np.abs(w) > 1e20


@dataclass
class OnlineNewton:
    """The online Newton step without a domain, dense: W ← W − A⁻¹G, A = λI + βΣG⊗G, from all
    rounds so far; its state is its own.
    """

    kernel: sp.kernels.Kernel
    curvature: float
    ridge: float
    seen: list = field(default_factory=list)  # time, gradient, ⟨g, w⟩

    def play(self, sums):
        if not self.seen:
            return np.zeros_like(sums.pull)
        times, g, products = (np.array(column) for column in zip(*self.seen, strict=True))
        gram = self.kernel.gram(times) * (g @ g.T)
        c = np.linalg.solve(
            self.ridge * np.eye(len(g)) + self.curvature * gram, self.curvature * products - 1.0
        )
        return (c * self.kernel(times, sums.time)) @ g

    def learn(self, loss, memory, sums):
        w = self.play(sums)
        g = loss.gradient(w)
        self.seen.append((sums.time, g, g @ w))
        return sums.diagonal * (g @ g)

    def bound(self, norm, V, h, count=0.0):
        return np.inf


@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize(
    "kernel", [OU(0.1), Spline(1.0), Gaussian(3.0)], ids=["ou", "spline", "gaussian"]
)
def test_online_newton_through_the_reduction_is_exp_concave(kernel, times):
    when = TIMES[times]
    losses = Squared().on(
        np.column_stack([targets(when.size), targets(when.size, seed=1)]), times=when
    )
    reduced = sp.play(
        sp.KernelFTRL(2, kernel=kernel, potential=OnlineNewton(kernel, 0.3, 1.0)), losses
    )
    newton = sp.play(sp.ExpConcave(2, kernel=kernel, curvature=0.3, ridge=1.0), losses)
    assert np.abs(reduced.plays - newton.plays).max() <= 1e-9 * np.abs(newton.plays).max()


def test_play_passes_losses_to_all_that_take_them():
    losses = Absolute().on(0.5 * np.sin(np.arange(30) / 5.0))
    plain, twin = (Ader(1, horizon=30, lipschitz=1.0, radius=1.0, surrogate=False) for _ in "ab")
    run, plays = sp.play(plain, losses), []
    for loss in losses:
        plays.append(twin.predict())
        twin.update_loss(loss)
    assert np.array_equal(run.plays, plays)


def test_what_lacks_a_proximal_step_is_refused_and_changes_nothing():
    class Own:
        def value(self, w):
            return float(w @ w)

        def gradient(self, w):
            return 2.0 * w

    learner, twin = (sp.KernelFTRL(2, kernel=OU(0.1), potential=ProximalDescent(0.5)) for _ in "ab")
    for open_round in (False, True):
        for each in (learner, twin):
            each.update([1.0, -0.5])
            if open_round:
                each.predict()
        for loss, word in ((Own(), "implicit_gradient"), (None, "loss must have value")):
            with pytest.raises(ValueError, match=word):
                learner.update_loss(loss)
            assert checks._same(learner, twin)
    learner.update_loss(Linear().on([[1.0, 2.0]])[0])


@pytest.mark.parametrize("play", [np.ones(3), 1.0, np.ones((1, 2)), None], ids=repr)
def test_a_play_of_ones_own_that_is_no_point_is_refused(play):
    class Own(GradientDescent):
        def play(self, sums):
            return play

    learner = sp.KernelFTRL(2, kernel=OU(0.1), potential=Own(1.0))
    with pytest.raises(ValueError, match="the static learner's play must"):
        learner.predict()
    assert learner.rounds == 0


def test_a_static_learner_that_takes_losses_has_no_domain():
    with pytest.raises(ValueError, match="domain must be left out"):
        sp.KernelFTRL(1, kernel=OU(0.1), potential=ProximalDescent(0.5), domain=Ball(1.0))
    with pytest.raises(ValueError, match="step must be positive"):
        ProximalDescent(0.0)
    bounded = sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.1), potential=ProximalDescent(0.5))
    with pytest.raises(ValueError, match="lipschitz"):
        bounded.update_loss(Squared().on([3.0])[0])


@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)], ids=["ou", "gaussian"])
def test_proximal_descent_saves(kernel, tmp_path):
    losses = Huber(0.3).on(targets(40))
    learner = sp.KernelFTRL(1, kernel=kernel, potential=ProximalDescent(STEP))
    for loss in list(losses)[:20]:
        learner.update_loss(loss)
    learner.predict()
    sp.save(learner, tmp_path / "learner")
    loaded = sp.load(tmp_path / "learner")
    for loss in list(losses)[20:]:
        assert np.array_equal(learner.predict(), loaded.predict())
        learner.update_loss(loss)
        loaded.update_loss(loss)
    assert checks._same(learner, loaded)
