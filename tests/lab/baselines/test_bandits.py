"""Bandits: values in, estimates of gradients inside; their twins, their bounds, Tracker in one."""

import numpy as np
import pytest

import stillpoint as sp
from naive_baselines import ball
from stillpoint.domains import Ball, Box
from stillpoint.lab.baselines import BGD, KT, OEGD, OGD, PBGD, Ader, Bandit
from stillpoint.lab.baselines._directions import direction
from stillpoint.losses import Absolute, Linear, Squared
from stillpoint.regret import path_length
from thorough import some

T, R = 200, 1.0


def unit(seed, t, dim):
    s = np.empty(dim)
    direction(seed, t, s)
    return s


def targets(dim, rounds=T, pieces=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.uniform(-0.6, 0.6, (pieces, dim)) / np.sqrt(dim)
    return np.repeat(y, -(-rounds // pieces), axis=0)[:rounds]


def naive_bgd(y, delta, step, points, seed):
    """Flaxman et al. and Agarwal et al., on losses ‖w − y‖."""
    dim, z, plays = y.shape[1], np.zeros(y.shape[1]), []
    for t in range(len(y)):
        s = unit(seed, t, dim)
        up, down = (np.linalg.norm(z + sign * delta * s - y[t]) for sign in (1, -1))
        plays.append(z + delta * s)
        g = dim / delta * up * s if points == 1 else dim / (2 * delta) * (up - down) * s
        z = ball(z - step * g, (1 - delta / R) * R)
    return np.array(plays)


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("dim", [1, 3])
def test_bgd_equals_its_twin(dim, points):
    y, L, C = targets(dim), 1.0, 2.0
    learner = BGD(dim, horizon=T, radius=R, lipschitz=L, largest=C, points=points, seed=3)
    plays = sp.play(learner, Absolute().on(y)).plays
    delta = (
        T**-0.25 * np.sqrt(R * dim * C * R / (3 * (L * R + C)))
        if points == 1
        else R * np.log(T) / T
    )
    delta = min(delta, R / 2)
    size = dim * C / delta if points == 1 else dim * L
    step = R / (size * np.sqrt(T))
    assert np.allclose(plays, naive_bgd(y, delta, step, points, 3))
    assert np.linalg.norm(plays, axis=1).max() <= R * (1 + 1e-12)


@pytest.mark.parametrize("points", [1, 2])
def test_pbgd_is_hedge_over_descent_on_one_estimate(points):
    dim, y, L, C = 2, targets(2), 1.0, 2.0
    learner = PBGD(dim, horizon=T, radius=R, lipschitz=L, largest=C, points=points, seed=1)
    plays = sp.play(learner, Absolute().on(y)).plays
    if points == 1:
        delta = min(R / 2, np.sqrt(dim) * R * T**-0.25)
        size, low = dim * C / delta, R * np.sqrt(7 * R**2) / (np.sqrt(dim) * C * T**0.75)
    else:
        delta = min(R / 2, dim * R / np.sqrt(T))
        size, low = dim * L, np.sqrt(7 * R**2 / (2 * L**2 * dim**2 * T))
    steps = low * 2.0 ** np.arange(np.ceil(np.log2(np.sqrt(1 + 2 * T / 7))) + 1)
    i = np.arange(1, len(steps) + 1)
    weights, x, expected = 1 / (i * (i + 1)), np.zeros((len(steps), dim)), []
    for t in range(T):
        weights = weights / weights.sum()
        z, s = weights @ x, unit(1, t, dim)
        up, down = (np.linalg.norm(z + sign * delta * s - y[t]) for sign in (1, -1))
        expected.append(z + delta * s)
        g = dim / delta * up * s if points == 1 else dim / (2 * delta) * (up - down) * s
        weights = weights * np.exp(-np.sqrt(2 / (T * size**2 * 4 * R**2)) * (x @ g))
        x = np.array([ball(a - h * g, (1 - delta / R) * R) for a, h in zip(x, steps, strict=True)])
    assert np.allclose(plays, expected)


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("make", [BGD, PBGD])
def test_mean_regret_keeps_the_bound(make, points):
    y = targets(2)
    losses, regrets, limits = Absolute().on(y), [], []
    for seed in range(30):
        learner = make(2, horizon=T, radius=R, lipschitz=1.0, largest=2.0, points=points, seed=seed)
        run = sp.play(learner, losses)
        regrets.append(run.regret(y)[-1])
        limits.append(learner.bound(path_length(y)))
    assert np.mean(regrets) <= np.mean(limits)


@pytest.mark.parametrize(
    ("make", "points", "pieces", "least"),
    [(BGD, 1, 1, 0.6), (BGD, 2, 4, 0.85), (PBGD, 1, 4, 0.4), (PBGD, 2, 4, 0.35)],
)
def test_mean_regret_on_slopes_that_turn_comes_near_the_bound(make, points, pieces, least):
    rounds, regrets, limits = 400, [], []
    g = np.where(np.arange(rounds) * pieces // rounds % 2, -1.0, 1.0)[:, None]
    for seed in range(6):
        sizes = {"horizon": rounds, "radius": R, "lipschitz": 1.0, "largest": R}
        learner = make(1, points=points, seed=seed, **sizes)
        run = sp.play(learner, Linear().on(g))
        regrets.append(run.regret(-R * g)[-1])
        limits.append(learner.bound(path_length(-R * g)))
    assert least * np.mean(limits) <= np.mean(regrets) <= np.mean(limits)


def test_on_linear_losses_the_estimate_has_the_gradient_as_its_mean():
    g = np.array([0.3, -0.8, 0.5])
    loss = Linear().on(g[None])[0]

    class Listener(OGD):
        def _step(self, estimate, play):
            self.heard.append(estimate)

    for points, tolerance in ((1, 0.15), (2, 0.03)):
        learner = Listener(3, step=1e-9)
        learner.heard = []
        bandit = Bandit(learner, points=points, explore=0.5, baseline=False)
        for _ in range(4000):
            bandit.update_loss(loss)
        heard = np.array(learner.heard)
        assert np.abs(heard.mean(axis=0) - g).max() < tolerance
        assert heard.std() > 0.1  # and they are estimates


def test_directions_are_uniform_and_of_length_one():
    s = np.array([unit(0, t, 3) for t in range(3000)])
    assert np.allclose(np.linalg.norm(s, axis=1), 1.0)
    assert np.abs(s.mean(axis=0)).max() < 0.05
    assert np.allclose(s.T @ s / 3000, np.eye(3) / 3, atol=0.03)
    assert {unit(0, t, 1)[0] for t in range(30)} == {-1.0, 1.0}
    other = np.array([unit(1, t, 3) for t in range(3000)])
    assert abs((s * other).sum(axis=1).mean()) < 0.05


@pytest.mark.parametrize("points", [1, 2])
def test_plays_stay_in_the_domain_of_the_learner(points):
    for learner, inner in (
        (OGD(2, step=0.5, domain=Ball(0.7)), None),
        (OGD(2, step=0.5, domain=Box(-0.3, 0.9)), 0.3),
        (sp.Tracker(2, domain=Ball(0.7)), None),
    ):
        domain = learner.domain
        bandit = Bandit(learner, points=points, inner=inner)
        assert bandit.inner == (inner or 0.7)
        for loss in Absolute().on(3.0 * targets(2)):
            assert all(domain.contains(each) for each in bandit.queries)
            bandit.update_loss(loss)


def test_exploration_fades_without_a_horizon():
    for points, power in ((1, -0.25), (2, -0.5)):
        bandit = Bandit(sp.Tracker(1), points=points, explore=2.0)
        for t in range(1, 20):
            assert bandit.exploration() == pytest.approx(2.0 * t**power)
            centre = bandit.learner.predict(bandit.time + 1) if t == 1 else bandit.learner.predict()
            bandit.update([0.1] * points)
        assert centre.shape == (1,)


def test_a_tracker_told_nothing_follows_by_two_values_a_round():
    rounds = 3000
    y = targets(2, rounds, pieces=6)
    losses = Absolute().on(y)
    ours = sp.play(Bandit(sp.Tracker(2), points=2), losses).regret(y)[-1]
    theirs = sp.play(PBGD(2, horizon=rounds, radius=R, lipschitz=1.0, points=2), losses).regret(y)[
        -1
    ]
    assert ours < 0.25 * (np.linalg.norm(y, axis=1)).sum()
    assert ours < 1.5 * theirs


def test_the_baseline_leaves_out_what_all_values_share():
    y = targets(1, 2000)
    high = [_Raised(loss, 50.0) for loss in Squared().on(y)]
    with_it, without = (
        sp.play(Bandit(sp.Tracker(1, domain=Ball(R)), baseline=baseline), high).losses.mean() - 50.0
        for baseline in (True, False)
    )
    assert with_it < without


class _Raised:
    def __init__(self, loss, by):
        self.loss, self.by = loss, by

    def value(self, w):
        return self.loss.value(w) + self.by

    def gradient(self, w):
        return self.loss.gradient(w)


def bandits(dim, points):
    told = {"horizon": T, "radius": R, "lipschitz": 1.0, "largest": 2.0, "points": points}
    return {
        "BGD": BGD(dim, seed=3, **told),
        "PBGD": PBGD(dim, seed=1, **told),
        "Tracker": Bandit(sp.Tracker(dim), points=points, seed=2),
        "Tracker in a box": Bandit(
            sp.Tracker(dim, domain=Box(-0.3, 0.9)), points=points, inner=0.3
        ),
        "OGD": Bandit(
            OGD(dim, step=R, schedule="scale-free", domain=Ball(R)), points=points, baseline=False
        ),
    }


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", some(bandits(1, 1), every=2))
def test_the_compiled_loop_gives_the_numbers_of_calls(name, dim, points):
    y = targets(dim) + 0.1
    losses = Absolute().on(y)
    bulk, calls = (bandits(dim, points)[name] for _ in range(2))
    for part in (slice(0, 70), slice(70, T)):
        if part.start:
            for each in (bulk, calls):
                each.skip()
        runs = [sp.play(bulk, Absolute().on(y[part])), sp.play(calls, list(losses)[part])]
        for field in ("plays", "losses", "gradients", "linear", "times"):
            assert np.array_equal(*(getattr(run, field) for run in runs))
    np.testing.assert_equal(bulk.arrays(), calls.arrays())
    assert bulk._can_compile()


@pytest.mark.parametrize("points", [1, 2])
def test_bulk_refuses_a_round_as_calls_do_and_leaves_it_open(points):
    y = np.zeros((20, 2))
    y[12] = 1e200
    learners = [Bandit(OGD(2, step=0.1), points=points) for _ in range(2)]
    for learner, losses in zip(learners, (Squared().on(y), list(Squared().on(y))), strict=True):
        with pytest.raises(ValueError, match=r"value(\(w\))? must be finite"):
            sp.play(learner, losses)
        assert (learner.rounds, learner._is_open) == (12, True)
    np.testing.assert_equal(*(learner.arrays() for learner in learners))


def test_learners_without_a_loop_and_those_with_certificates_are_called():
    for inside in (KT(1, lipschitz=9.0), sp.Tracker(1, certify=sp.kernels.Matern32(10.0))):
        bandit = Bandit(inside, points=2)
        assert not bandit._can_compile()
        assert len(sp.play(bandit, Absolute().on(targets(1, 20)))) == 20


@pytest.mark.parametrize("between", [True, False])
def test_saves_and_resumes(between, tmp_path):
    y = targets(2)
    for bandit in (
        Bandit(sp.Tracker(2), points=2, seed=5),
        Bandit(OGD(2, step=0.01, domain=Ball(R))),
        BGD(2, horizon=T, radius=R, lipschitz=1.0, largest=2.0),
        PBGD(2, horizon=T, radius=R, lipschitz=1.0, points=2),
    ):
        sp.play(bandit, Absolute().on(y[:50]))
        if not between:
            bandit.predict()
        sp.save(bandit, tmp_path / "bandit")
        loaded = sp.load(tmp_path / "bandit")
        for each in (bandit, loaded):
            each.update_loss(Absolute().on(y[50:51])[0])
        a, b = (sp.play(each, Absolute().on(y[51:])).plays for each in (bandit, loaded))
        assert np.array_equal(a, b)


def test_skipped_rounds_teach_nothing():
    bandit = Bandit(OGD(2, step=0.1), points=2)
    bandit.update([1.0, 0.0])
    before = bandit.learner.predict(bandit.time + 1)
    bandit.skip()
    assert np.array_equal(bandit.learner.predict(), before)
    assert (bandit.rounds, bandit.observed) == (2, 1)


def test_refusals_change_nothing():
    bandit = Bandit(Ader(1, horizon=9, lipschitz=1.0, radius=1.0), points=2, explore=0.5)
    bandit.update([0.1, 0.2])
    before = bandit.arrays()
    for values, word in (
        ([1.0], "values"),
        ([np.nan, 1.0], "values"),
        ("ab", "values"),
        ([100.0, -100.0], "lipschitz"),
    ):
        with pytest.raises(ValueError, match=word):
            bandit.update(values)
        np.testing.assert_equal(bandit.arrays(), before)
    with pytest.raises(ValueError, match="time"):
        bandit.update([0.1, 0.1], time=0.5)
    np.testing.assert_equal(bandit.arrays(), before)


def test_bad_arguments_are_named():
    used = OGD(1)
    used.update(1.0)
    sizes = {"horizon": 9, "radius": 1.0, "lipschitz": 1.0}
    for call, word in (
        (lambda: Bandit(used), "learner"),
        (lambda: Bandit(OEGD(1)), "learner"),
        (lambda: Bandit(None), "learner"),
        (lambda: Bandit(KT(1, lipschitz=1.0), points=3), "points"),
        (lambda: Bandit(OGD(1), explore=0.0), "explore"),
        (lambda: Bandit(OGD(1), inner=-1.0), "inner"),
        (lambda: Bandit(OGD(1), seed=-1), "seed"),
        (lambda: BGD(1, **sizes), "largest"),
        (lambda: PBGD(1, points=2, **(sizes | {"horizon": 0})), "horizon"),
    ):
        with pytest.raises(ValueError, match=word):
            call()
