"""Baselines equal their slow twins, keep their guarantees, and compile to the same bits."""

from functools import partial

import numpy as np
import pytest

import naive_baselines as naive
import stillpoint as sp
from stillpoint import checks
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.lab.baselines import (
    COCOB,
    KT,
    OGD,
    AdaNormalHedge,
    Ader,
    COCOBBackprop,
    DiscountedFTRL,
    FreeGrad,
    Hedge,
    HindsightOGD,
    SparseHaar,
    hindsight_ogd,
)
from stillpoint.losses import Absolute, Hinge, Huber, Linear, Pinball, Squared
from stillpoint.potentials import CAP, Erfi, ParameterFree, Quadratic
from stillpoint.potentials import FreeGrad as FreeGradPotential
from stillpoint.regret import magnitude, path_length
from thorough import some, some_of


def unit(x):
    return x / max(np.linalg.norm(x), 1.0)


def streams(dim, seed=0):
    """Name → gradient(t, w) of norm at most 1, with a new generator each time."""
    rng = np.random.default_rng(seed)
    target = rng.standard_normal(dim)
    return {
        "noise": lambda t, w: unit(rng.standard_normal(dim)),
        "never turns": lambda t, w: -np.ones(dim) / np.sqrt(dim),
        "against the play": lambda t, w: (
            unit(1e9 * w) if np.linalg.norm(w) > 0 else np.ones(dim) / np.sqrt(dim)
        ),
        "with the play": lambda t, w: (
            -unit(1e9 * w) if np.linalg.norm(w) > 0 else np.ones(dim) / np.sqrt(dim)
        ),
        "drift": lambda t, w: unit(
            9 * (w - target * np.sin(t / 40)) + 0.3 * rng.standard_normal(dim)
        ),
        "switches": lambda t, w: unit(9 * (w - target * (-1) ** (t // 60))),
        "bursts": lambda t, w: -np.ones(dim) / np.sqrt(dim) if t % 50 < 10 else np.zeros(dim),
        "small, then large": lambda t, w: (
            (1e-3 if t < 100 else 1.0) * unit(rng.standard_normal(dim) + 0.5)
        ),
    }


STREAMS = list(streams(1))


def run(learner, gradient, rounds):
    plays, gradients = np.empty((rounds, learner.dim)), np.empty((rounds, learner.dim))
    for t in range(rounds):
        plays[t] = learner.predict()
        gradients[t] = gradient(t + 1, plays[t].copy())
        learner.update(gradients[t])
    return plays, gradients


def comparators(gradients, size, rng):
    """Sequences of norm at most `size`: the best fixed point, smoothed optima, walks, zero."""
    rounds, dim = gradients.shape
    yield np.zeros((rounds, dim))
    for width in (rounds * 2, 100, 10, 1):
        smooth = np.array(
            [np.convolve(column, np.ones(width), mode="same")[:rounds] for column in gradients.T]
        ).T
        if width > rounds:
            smooth = np.broadcast_to(gradients.sum(axis=0), gradients.shape)
        yield -size * smooth / np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-300)
    walk = np.cumsum(rng.standard_normal((rounds, dim)), axis=0) * 0.05 * size
    yield walk / np.maximum(np.linalg.norm(walk, axis=1, keepdims=True) / size, 1.0)


def regret(gradients, plays, u):
    return float((gradients * (plays - u)).sum())


MAKERS = {
    "ogd": lambda dim: OGD(dim, step=0.1),
    "ogd sqrt": lambda dim: OGD(dim, step=1.0, schedule="sqrt", domain=Ball(1.0)),
    "ogd scale-free": lambda dim: OGD(dim, step=2.0, schedule="scale-free", domain=Box(-1.0, 0.5)),
    "ogd projection": lambda dim: OGD(
        dim, step=0.3, domain=Projection(lambda w: np.clip(w, -0.5, 0.5), 30.0)
    ),
    "ader": lambda dim: Ader(dim, horizon=40, lipschitz=1.0, radius=1.0),
    "kt": lambda dim: KT(dim, lipschitz=1.0),
    "cocob": lambda dim: COCOB(dim, lipschitz=1.0),
    "cocob backprop": COCOBBackprop,
    "free grad": lambda dim: FreeGrad(dim, lipschitz=1.0),
    "haar": lambda dim: SparseHaar(dim, lipschitz=1.0, horizon=20),
    "haar anytime": lambda dim: SparseHaar(dim, lipschitz=1.0, potential=Erfi()),
    "discounted": lambda dim: DiscountedFTRL(dim, discount=0.95),
    "discounted ball": lambda dim: DiscountedFTRL(dim, discount=0.95, radius=3.0, domain=Ball(1.0)),
    "hedge": lambda dim: Hedge(
        [OGD(dim, step=0.1), KT(dim, lipschitz=1.0), SparseHaar(dim, lipschitz=1.0)],
        prior=[1.0, 2.0, 3.0],
    ),
    "normal hedge": lambda dim: AdaNormalHedge(
        [
            OGD(dim, step=0.1),
            Ader(dim, horizon=9, lipschitz=1.0, radius=1.0),
            Hedge([KT(dim, lipschitz=1.0)]),
        ]
    ),
}
CHECKS = {name: check for name, check in checks.all_checks().items() if "save_load" not in name}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_conformance(make, check):
    check(make)


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if "hedge" not in name and "projection" not in name]
)
def test_saves(name):
    checks.check_save_load_resumes(MAKERS[name])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("between", [True, False])
def test_state_resumes_in_a_learner_built_anew(make, between):
    learner, fresh = make(2), make(2)
    gradient = streams(2)["noise"]
    run(learner, gradient, 37)
    if not between:
        learner.predict()
    fresh.restore(
        {
            key: np.array(value) if isinstance(value, np.ndarray) else value
            for key, value in learner.arrays().items()
        }
    )
    future = streams(2, seed=1)
    again = streams(2, seed=1)
    assert np.array_equal(run(learner, future["drift"], 40)[0], run(fresh, again["drift"], 40)[0])
    assert checks._same(learner, fresh)
    # JSON can hold it
    assert all(
        np.ndim(value) or isinstance(value, bool | int | float)
        for value in learner.arrays().values()
    )


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_says_what_it_is_told_and_how_it_was_built(make):
    learner = make(2)
    assert isinstance(learner.assumes, tuple)
    if "learners" not in learner.config:
        assert type(learner)(**learner.config).config == learner.config


TWINS = {
    "ogd": (
        lambda d: OGD(d, step=0.2, domain=Ball(1.0)),
        lambda g, n, d: naive.ogd(g, n, d, 0.2, "constant", 1.0),
    ),
    "ogd free": (
        lambda d: OGD(d, step=0.2),
        lambda g, n, d: naive.ogd(g, n, d, 0.2, "constant", np.inf),
    ),
    "ogd sqrt": (
        lambda d: OGD(d, step=0.7, schedule="sqrt", domain=Ball(1.0)),
        lambda g, n, d: naive.ogd(g, n, d, 0.7, "sqrt", 1.0),
    ),
    "ogd scale-free": (
        lambda d: OGD(d, step=2.0, schedule="scale-free", domain=Ball(1.0)),
        lambda g, n, d: naive.ogd(g, n, d, 2.0, "scale-free", 1.0),
    ),
    "ader": (
        lambda d: Ader(d, horizon=100, lipschitz=1.0, radius=1.5),
        lambda g, n, d: naive.ader(g, n, d, 100, 1.0, 1.5),
    ),
    "ader G": (
        lambda d: Ader(d, horizon=7, lipschitz=2.0, radius=0.5),
        lambda g, n, d: naive.ader(g, n, d, 7, 2.0, 0.5),
    ),
    "kt": (lambda d: KT(d, lipschitz=1.0), lambda g, n, d: naive.kt(g, n, d, 1.0, 1.0)),
    "kt scaled": (
        lambda d: KT(d, lipschitz=2.0, scale=0.1),
        lambda g, n, d: naive.kt(g, n, d, 2.0, 0.1),
    ),
    "cocob": (lambda d: COCOB(d, lipschitz=1.0), lambda g, n, d: naive.cocob(g, n, d, 1.0, 1.0)),
    "cocob scaled": (
        lambda d: COCOB(d, lipschitz=2.0, scale=0.1),
        lambda g, n, d: naive.cocob(g, n, d, 2.0, 0.1),
    ),
    "cocob backprop": (
        lambda d: COCOBBackprop(d, alpha=10.0),
        lambda g, n, d: naive.cocob_backprop(g, n, d, 10.0),
    ),
    "free grad": (
        lambda d: FreeGrad(d, lipschitz=2.0, scale=0.5),
        lambda g, n, d: naive.free_grad(g, n, d, 2.0, 0.5),
    ),
    "haar": (
        lambda d: SparseHaar(d, lipschitz=1.0, horizon=50, potential=FreeGradPotential(3.0)),
        lambda g, n, d: naive.sparse_haar(g, n, d, 1.0, 64, 3.0),
    ),
    "haar anytime": (
        lambda d: SparseHaar(d, lipschitz=2.0),
        lambda g, n, d: naive.sparse_haar(g, n, d, 2.0, 1, 1.0),
    ),
    "discounted": (
        lambda d: DiscountedFTRL(d, discount=0.9, radius=2.0),
        lambda g, n, d: naive.discounted_ftrl(g, n, d, 0.9, 2.0, np.inf),
    ),
    "discounted ball": (
        lambda d: DiscountedFTRL(d, discount=0.99, radius=2.0, domain=Ball(1.0)),
        lambda g, n, d: naive.discounted_ftrl(g, n, d, 0.99, 2.0, 1.0),
    ),
}


@pytest.mark.parametrize(("name", "stream"), some_of(TWINS, STREAMS, every=6))
def test_equals_the_slow_twin(name, stream):
    make, twin = TWINS[name]
    for dim in (1, 3):
        rounds = 60 if name.startswith("haar") else 120
        plays, gradients = run(make(dim), streams(dim)[stream], rounds)
        # the same gradients: answers to plays are chaotic
        expected, _ = twin(lambda t, w, g=gradients: g[t - 1], rounds, dim)
        assert np.allclose(plays, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("stream", "first_hint"), some_of(STREAMS, [0.0, 0.5, 50.0], every=4))
def test_combinations_equal_their_twins(stream, first_hint):
    for meta, twin in ((Hedge, naive.hedge_weights), (AdaNormalHedge, naive.normal_hedge_weights)):
        prior = np.array([0.5, 0.3, 0.2])
        learner = meta(
            [OGD(2, step=0.01), OGD(2, step=0.3), KT(2, lipschitz=1.0)],
            prior=prior,
            loss_range=first_hint,
        )
        gradient, losses, weights = streams(2)[stream], [], []
        for t in range(80):
            w = learner.predict()
            x = np.array([each.predict() for each in learner.learners])
            g = gradient(t + 1, w)
            losses.append(x @ g)
            weights.append(learner.weights)
            learner.update(g)
            assert np.allclose(w, weights[-1] @ x, rtol=1e-12)
        expected = twin(np.array(losses), prior, first_hint)
        assert np.allclose(weights, expected, rtol=1e-6, atol=1e-9)


def test_learners_in_a_combination_play_as_they_would_alone_on_its_gradients():
    mixed, alone = (
        Hedge([OGD(2, step=0.1), KT(2, lipschitz=1.0)]),
        [OGD(2, step=0.1), KT(2, lipschitz=1.0)],
    )
    gradient = streams(2)["drift"]
    for t in range(50):
        g = gradient(t + 1, mixed.predict())
        mixed.update(g)
        for each in alone:
            each.update(g)
    mixed.skip()
    for inside, outside in zip(mixed.learners, alone, strict=True):
        outside.skip()
        assert checks._same(inside, outside)


ROUNDS = 400


@pytest.mark.parametrize(("stream", "dim"), some_of(STREAMS, [1, 3], every=4))
def test_ogd_keeps_its_bound(stream, dim):
    rng = np.random.default_rng(1)
    for schedule, step in (
        ("constant", 0.05),
        ("constant", 1.0),
        ("sqrt", 2.0),
        ("scale-free", 2.0),
    ):
        for domain in (Ball(1.0), None):
            learner = OGD(dim, step=step, schedule=schedule, domain=domain)
            plays, gradients = run(learner, streams(dim)[stream], ROUNDS)
            for u in comparators(gradients, 1.0, rng):
                limit = learner.bound(path_length(u), magnitude(u))
                assert regret(gradients, plays, u) <= limit + 1e-9
                if domain is not None:
                    assert limit <= learner.bound(path_length(u)) + 1e-9


def test_scale_free_ogd_is_the_published_bound_on_a_ball():
    # (3/2·D + P)√V for step = D = the diameter, from η_T = D/√V and Σ‖g_t‖²/√V_t ≤ 2√V
    learner = OGD(2, step=2.0, schedule="scale-free", domain=Ball(1.0))
    _, gradients = run(learner, streams(2)["noise"], ROUNDS)
    root = np.sqrt((gradients**2).sum())
    assert learner.bound(7.0) <= (1.5 * 2.0 + 7.0) * root * (1 + 1e-12)
    tiny = OGD(2, step=2.0, schedule="scale-free", domain=Ball(1.0))
    plays, _ = run(tiny, lambda t, w: 1e-120 * gradients[t - 1], ROUNDS)
    again, _ = run(
        OGD(2, step=2.0, schedule="scale-free", domain=Ball(1.0)),
        lambda t, w: gradients[t - 1],
        ROUNDS,
    )
    assert np.allclose(plays, again, rtol=1e-9, atol=1e-12)


def printed_ader(T, G, D, P, c):
    k = np.floor(0.5 * np.log2(1 + 4 * P / (7 * D))) + 1
    return 0.75 * G * np.sqrt(2 * T * (7 * D**2 + 4 * D * P)) + c * np.sqrt(2 * T) / 4 * (
        1 + 2 * np.log(k + 1)
    )


@pytest.mark.parametrize("stream", some(STREAMS, every=2))
@pytest.mark.parametrize("dim", [1, 3])
def test_ader_keeps_its_bound_to_the_horizon_and_past_it(stream, dim):
    rng = np.random.default_rng(1)
    for horizon in (ROUNDS, ROUNDS // 8, 1):
        learner = Ader(dim, horizon=horizon, lipschitz=1.0, radius=0.7)
        plays, gradients = run(learner, streams(dim)[stream], ROUNDS)
        assert np.linalg.norm(plays, axis=1).max() <= 0.7 * (1 + 1e-12)
        for u in comparators(gradients, 0.7, rng):
            limit = learner.bound(path_length(u))
            assert regret(gradients, plays, u) <= limit + 1e-9
            if horizon == ROUNDS:
                assert limit <= printed_ader(horizon, 1.0, 1.4, path_length(u), 2 * 1.4) * (
                    1 + 1e-12
                )


@pytest.mark.parametrize("dim", [1, 3])
def test_plain_ader_sees_the_losses(dim):
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, (10, dim)).repeat(40, axis=0) / np.sqrt(dim) + 0.1 * rng.standard_normal(
        (400, dim)
    )
    losses = Absolute().on(y)
    plain, improved = (
        Ader(dim, horizon=400, lipschitz=1.0, radius=1.0, surrogate=False),
        Ader(dim, horizon=400, lipschitz=1.0, radius=1.0),
    )
    plays, values = [], []
    for loss in losses:
        plays.append(plain.predict())
        values.append(loss.value(plays[-1]))
        plain.update_loss(loss)
        improved.update_loss(loss)
    assert np.allclose(plays, naive.plain_ader(losses, dim, 400, 1.0, 1.0), rtol=1e-9, atol=1e-12)
    again = sp.play(Ader(dim, horizon=400, lipschitz=1.0, radius=1.0), losses)
    assert np.array_equal(again.plays[-1], run_last(improved, losses))
    for u in (np.zeros((400, dim)), np.clip(y, -1 / np.sqrt(dim), 1 / np.sqrt(dim))):
        value = np.sum(values) - losses.values(u).sum()
        assert value <= plain.bound(path_length(u))
        assert plain.bound(path_length(u)) <= printed_ader(400, 1.0, 2.0, path_length(u), 2.0) * (
            1 + 1e-12
        )
    with pytest.raises(ValueError, match="call update_loss"):
        plain.update(np.zeros(dim))
    assert plain.rounds == 400
    assert not plain._can_compile()


def run_last(learner, losses):
    """The play before the last round, from the state after it: replay all but one."""
    fresh = type(learner)(**learner.config)
    for loss in list(losses)[:-1]:
        fresh.update_loss(loss)
    return fresh.predict()


def test_plain_ader_refuses_losses_outside_its_terms_and_is_unchanged():
    learner, twin = (
        Ader(1, horizon=10, lipschitz=1.0, radius=1.0, surrogate=False) for _ in range(2)
    )
    for each in (learner, twin):
        each.update_loss(Absolute().on([0.3])[0])
    for loss in (Squared().on([9.0])[0], Linear().on([np.array([3.0])])[0]):
        with pytest.raises(ValueError, match="raise lipschitz"):
            learner.update_loss(loss)
        assert checks._same(learner, twin)


SIZES = [0.0, 1e-3, 0.1, 1.0, 10.0, 1e3]


@pytest.mark.filterwarnings("ignore:the plays of")
@pytest.mark.parametrize(("stream", "dim"), some_of(STREAMS, [1, 3], every=4))
def test_coin_betting_keeps_its_bounds_against_every_fixed_point(stream, dim):
    rng = np.random.default_rng(2)
    for G, scale in ((1.0, 1.0), (1.0, 0.01), (5.0, 3.0)):
        learners = (
            KT(dim, lipschitz=G, scale=scale),
            COCOB(dim, lipschitz=G, scale=scale),
            FreeGrad(dim, lipschitz=G, scale=scale),
        )
        for learner in learners:
            plays, gradients = run(learner, streams(dim)[stream], ROUNDS)
            linear, total = (gradients * plays).sum(), gradients.sum(axis=0)
            # bets of 2^t lost again leave nothing else
            rounding = 1e-12 * np.abs(gradients * plays).sum()
            for size in SIZES:
                if isinstance(learner, COCOB):
                    points = [size * np.sign(-total), *(size * rng.standard_normal((4, dim)))]
                    limits = [learner.bound(u) for u in points]
                else:  # the worst of this norm, exactly
                    points, limits = (
                        [-size * total / max(np.linalg.norm(total), 1e-300)],
                        [learner.bound(size)],
                    )
                for u, limit in zip(points, limits, strict=True):
                    assert linear - total @ u <= limit * (1 + 1e-9) + rounding, (learner, size)


def test_kt_bound_is_not_loose_by_much():
    # heads only: wealth after T rounds is 2^T·C(T, T/2)-like; the bound must be within a constant
    # of what is lost
    learner = KT(1, lipschitz=1.0)
    plays, gradients = run(learner, streams(1)["never turns"], 200)
    best = max(
        regret(gradients, plays, np.full((200, 1), size)) / learner.bound(size)
        for size in 10.0 ** np.arange(0, 58)
    )
    assert 0.4 < best <= 1.0


def test_bets_saturate_with_a_warning():
    for learner in (
        KT(1, lipschitz=1.0),
        COCOB(1, lipschitz=1.0),
        COCOBBackprop(1),
        SparseHaar(1, lipschitz=1.0, horizon=8192),
    ):
        with pytest.warns(RuntimeWarning, match="saturated"):
            plays, _ = run(learner, streams(1)["never turns"], 8000)
        assert np.isfinite(plays).all()
        assert plays.max() <= 20 * CAP


HAARS = {
    "told T": {"horizon": 120},
    "free grad": {"horizon": 25, "potential": FreeGradPotential(10.0)},
    "anytime": {"potential": Erfi(2.0)},
    "parameter-free": {"horizon": 120, "potential": ParameterFree(50.0)},
}


@pytest.mark.parametrize(("stream", "dim", "kind"), some_of(STREAMS, [1, 3], HAARS, every=4))
def test_sparse_haar_keeps_its_bound(stream, dim, kind):
    rng = np.random.default_rng(3)
    learner = SparseHaar(dim, lipschitz=1.0, **HAARS[kind])
    plays, gradients = run(learner, streams(dim)[stream], 120)
    sizes = np.linalg.norm(gradients, axis=1)
    for scale in (1.0, 30.0):
        for u in comparators(gradients, scale, rng):
            limit = learner.bound(u, sizes)
            assert regret(gradients, plays, u) <= limit + 1e-9
            assert limit <= learner.bound(u) * (1 + 1e-9)


def test_sparse_haar_bound_rewards_sparsity_and_0_costs_the_scale():
    learner = SparseHaar(1, lipschitz=2.0, horizon=64, potential=FreeGradPotential(0.3))
    for _ in range(64):
        learner.update(0.5)
    assert 0.0 < learner.bound(np.zeros(64)) <= 0.3 * 2.0
    step = np.repeat([1.0, -1.0], 32)
    rng = np.random.default_rng(0)
    assert learner.bound(step) < 0.5 * learner.bound(np.sign(rng.standard_normal(64)))


def test_haar_coefficients_are_those_of_the_dictionary():
    from stillpoint.lab.baselines.sparse_haar import features

    rng = np.random.default_rng(0)
    u, squares = rng.standard_normal((16, 2)), rng.random(16)
    H = naive.haar_matrix(16)
    coefficients = np.linalg.solve(H, u)
    expected = sorted(zip(np.linalg.norm(coefficients, axis=1), (H**2).T @ squares, strict=True))
    assert np.allclose(sorted(features(u, squares, 4)), expected)
    assert len(features(u[:5], squares[:5], 4)) == 3 + 2 + 1 + 1 + 1  # only what has begun


@pytest.mark.parametrize("played", [1, 2, 3, 7, 8, 11, 16])
def test_haar_coefficients_are_those_of_a_path_that_goes_on_with_its_last_value(played):
    from stillpoint.lab.baselines.sparse_haar import features

    rng = np.random.default_rng(played)
    u, squares = rng.standard_normal((played, 2)), rng.random(played)
    whole, sums = (
        np.concatenate([u, np.repeat(u[-1:], 16 - played, axis=0)]),
        np.append(squares, np.zeros(16 - played)),
    )
    expected = []
    for k in range(1, 5):
        halves, pairs = whole.reshape(-1, 2, 2), sums.reshape(-1, 2)
        found = zip(
            np.linalg.norm(halves[:, 0] - halves[:, 1], axis=1) / 2.0,
            pairs.sum(axis=1),
            strict=True,
        )
        expected += list(found)[: -(-played // 2**k)]
        whole, sums = halves.mean(axis=1), pairs.sum(axis=1)
    assert features(u, squares, 4) == [*expected, (np.linalg.norm(whole[0]), sums[0])]


def test_sparse_haar_bounds_need_room_for_what_was_played_only():
    learner = SparseHaar(1, lipschitz=1.0, horizon=1 << 50)
    for _ in range(5):
        learner.update(0.5)
    assert np.isfinite(learner.bound(np.ones(5)))


@pytest.mark.parametrize(("stream", "dim"), some_of(STREAMS, [1, 3], every=4))
def test_discounted_ftrl_keeps_both_bounds(stream, dim):
    rng = np.random.default_rng(4)
    for gamma in (0.5, 0.9, 0.99, 1.0):
        for domain in (Ball(1.0), None):
            learner = DiscountedFTRL(dim, discount=gamma, radius=0.7, domain=domain)
            plays, gradients = run(learner, streams(dim)[stream], ROUNDS)
            age = gamma ** np.arange(ROUNDS - 1, -1, -1.0)[:, None]
            for size in (0.0, 0.5, 1.0) if domain else (0.0, 0.5, 1.0, 30.0):
                pull = (age * gradients).sum(axis=0)
                worst = (age * gradients * plays).sum() + size * np.linalg.norm(pull)
                assert worst <= learner.discounted_bound(size) + 1e-9
            for u in comparators(gradients, 1.0, rng):
                assert (
                    regret(gradients, plays, u)
                    <= learner.bound(magnitude(u), path_length(u)) + 1e-9
                )


def test_discounted_ftrl_survives_silence_and_units():
    learner = DiscountedFTRL(2, discount=0.5)
    run(learner, streams(2)["noise"], 30)
    before = learner.predict()
    for _ in range(5000):
        learner.update(np.zeros(2))
    assert np.allclose(learner.predict(), before, rtol=1e-9)
    gradients = run(DiscountedFTRL(2, discount=0.9), streams(2)["noise"], 50)[1]
    for factor in (1e-100, 1e100):
        plays = run(
            DiscountedFTRL(2, discount=0.9), lambda t, w, f=factor: f * gradients[t - 1], 50
        )[0]
        assert np.allclose(
            plays,
            run(DiscountedFTRL(2, discount=0.9), lambda t, w: gradients[t - 1], 50)[0],
            rtol=1e-9,
        )


@pytest.mark.parametrize(("stream", "meta"), some_of(STREAMS, [Hedge, AdaNormalHedge], every=4))
def test_combinations_keep_their_bounds_against_each_learner(stream, meta):
    settings = some_of((1e-6, 1.0, 1e6), (0.0, 2.0), (None, [1e-3, 1.0, 1.0, 5.0]))
    for scale, first_hint, prior in settings:
        experts = [OGD(2, step=10.0**-k / scale, domain=Ball(1.0)) for k in range(4)]
        learner = meta(experts, prior=prior, loss_range=first_hint * scale)
        gradient, lost = streams(2)[stream], np.zeros(4)
        for t in range(ROUNDS):
            w = learner.predict()
            x = np.array([each.predict() for each in learner.learners])
            g = scale * gradient(t + 1, w)
            lost += (w - x) @ g
            learner.update(g)
            if t % 20 == 0:
                assert all(
                    lost[i] <= learner.bound(i) * (1 + 1e-9) + 1e-12 * scale for i in range(4)
                )


def test_a_combination_comes_near_its_best_learner():
    y = np.repeat([1.0, -1.0, 0.5, 0.7], 250)
    for meta in (Hedge, AdaNormalHedge):
        run_ = sp.play(
            meta([OGD(1, step=2.0**-k, domain=Ball(1.0)) for k in range(8)]), Absolute().on(y)
        )
        alone = [
            sp.play(OGD(1, step=2.0**-k, domain=Ball(1.0)), Absolute().on(y)).losses.sum()
            for k in range(8)
        ]
        assert run_.losses.sum() < min(2.0 * min(alone), 0.5 * np.mean(alone))


def test_one_learner_alone_is_itself():
    for meta in (Hedge, AdaNormalHedge):
        a, b = meta([OGD(2, step=0.1)]), OGD(2, step=0.1)
        assert np.array_equal(
            run(a, streams(2)["noise"], 30)[0], run(b, streams(2)["noise"], 30)[0]
        )
        assert a.bound(0) >= 0.0


# compiled paths

RNG = np.random.default_rng(0)
Y = np.sin(np.arange(300) / 30) + 0.3 * RNG.standard_normal(300)
X = RNG.standard_normal((300, 3)) / 2
BULK_STREAMS = {
    "absolute": Absolute().on(Y),
    "squared": Squared().on(Y),
    "pinball": Pinball(0.9).on(Y),
    "vectors": Absolute().on(np.stack([Y, -Y, 2 * Y], axis=1)),
    "huber": Huber(0.5).on(RNG.standard_normal((300, 40))),
    "hinge": Hinge().on(np.sign(X[:, 0]), X),
    "linear": Linear().on(RNG.standard_normal((300, 2))),
    "irregular": Absolute().on(Y, times=np.cumsum(RNG.random(300) + 0.1)),
}
BULK = {
    "constant": lambda d: OGD(d, step=0.1),
    "constant ball": lambda d: OGD(d, step=0.5, domain=Ball(0.4)),
    "sqrt box": lambda d: OGD(d, step=1.0, schedule="sqrt", domain=Box(-0.1, 0.6)),
    "scale-free": lambda d: OGD(d, step=1.0, schedule="scale-free", domain=Ball(0.9)),
    "simplex": lambda d: OGD(d, step=1.0, schedule="scale-free", domain=Simplex(0.5)),
    "half-space": lambda d: OGD(d, step=0.1, domain=HalfSpace(np.ones(d), 0.2)),
    "ader": lambda d: Ader(d, horizon=100, lipschitz=20.0, radius=0.8),
    "kt": lambda d: KT(d, lipschitz=20.0),
    "cocob": lambda d: COCOB(d, lipschitz=20.0),
}


@pytest.mark.parametrize("stream", BULK_STREAMS)
@pytest.mark.parametrize("name", some(BULK, every=2))
def test_bulk_gives_the_numbers_of_the_interactive_path(name, stream):
    losses = BULK_STREAMS[stream]
    compiled, interactive = BULK[name](losses.dim), BULK[name](losses.dim)
    assert compiled._can_compile()
    a, b = sp.play(compiled, losses), sp.play(interactive, list(losses), times=losses.times)
    for curve in ("plays", "losses", "gradients", "times", "linear"):
        assert np.array_equal(getattr(a, curve), getattr(b, curve)), curve
    assert np.isnan(a.norms).all()
    assert checks._same(compiled, interactive)
    against = {"ader": (1.0,), "kt": (1.0,), "cocob": (np.ones(losses.dim),)}
    assert compiled.bound(*against.get(name, (1.0, 1.0))) > 0


@pytest.mark.parametrize("make", [BULK[name] for name in ("scale-free", "ader", "kt", "cocob")])
def test_blocks_join_and_mix_with_single_rounds(make, monkeypatch):
    whole = sp.play(make(1), Absolute().on(Y))
    monkeypatch.setattr("stillpoint.lab.online.base.BLOCK", 64)
    assert np.array_equal(sp.play(make(1), Absolute().on(Y)).plays, whole.plays)
    parts = make(1)
    first = sp.play(parts, Absolute().on(Y[:100]))
    middle = sp.play(parts, list(Absolute().on(Y[100:120])))
    last = sp.play(parts, Absolute().on(Y[120:]))
    assert np.array_equal(np.concatenate([first.plays, middle.plays, last.plays]), whole.plays)
    assert np.allclose(last.linear, np.cumsum((last.gradients * last.plays).sum(axis=1)))
    assert (parts.rounds, parts.observed, parts.time) == (300, 300, 300.0)


@pytest.mark.parametrize(
    "make",
    [
        partial(Ader, 1, horizon=10, lipschitz=2.0, radius=1.0),
        partial(KT, 1, lipschitz=2.0),
        partial(COCOB, 1, lipschitz=2.0),
    ],
)
def test_a_refused_gradient_leaves_the_round_open_on_both_paths(make):
    for losses in (
        Squared().on([0.1, -0.2, 50.0, 0.3]),
        list(Squared().on([0.1, -0.2, 50.0, 0.3])),
    ):
        learner = make()
        with pytest.raises(ValueError, match="lipschitz"):
            sp.play(learner, losses)
        assert (learner.rounds, learner.observed, learner.time) == (2, 2, 3.0)
        learner.update(0.5)
        assert learner.rounds == 3
    learner.predict()
    assert not learner._can_compile()


@pytest.mark.parametrize("kind", [KT, COCOB])
def test_a_wealth_that_reaches_its_cap_is_warned_of_on_both_paths(kind):
    losses, runs = Linear().on(-np.ones((1500, 2)) / 2), []
    for stream in (losses, list(losses)):
        learner = kind(2, lipschitz=1.0)
        with pytest.warns(RuntimeWarning, match="saturated"):
            runs.append(sp.play(learner, stream))
        assert learner._warned
    assert np.array_equal(runs[0].plays, runs[1].plays)


def test_an_open_round_and_a_domain_without_compiled_projection_are_played_by_calls():
    open_round = OGD(1)
    open_round.predict()
    assert not open_round._can_compile()
    assert not OGD(1, domain=Projection(lambda w: w))._can_compile()


# OGD in hindsight


@pytest.mark.parametrize("seed", range(3))
def test_hindsight_ogd_is_the_reference_on_absolute_streams(seed):
    rng = np.random.default_rng(seed)
    # outside the ball once
    u = np.repeat(rng.uniform(-1, 1, 10), 100) + (40.0 if seed == 2 else 0.0)
    y = u + 0.1 * rng.standard_normal(1000)
    found = hindsight_ogd(Absolute().on(y))
    grid = 2.0 ** (np.arange(-56, 9) / 4)  # from 2^−14 to 2^2
    assert found.total - np.abs(u - y).sum() == naive.ogd_star(u, y, grid, 30.0)
    assert found.step == grid[found.totals.argmin()]
    assert np.cumsum(found.losses)[-1] == found.total
    assert np.array_equal(
        found.plays, sp.play(OGD(1, step=found.step, domain=Ball(30.0)), Absolute().on(y)).plays
    )
    assert HindsightOGD.assumes == ("the future",)


def test_hindsight_ogd_on_vectors_and_other_grids():
    y = np.cumsum(np.random.default_rng(0).standard_normal((200, 3)), axis=0) * 0.2
    found = hindsight_ogd(Absolute().on(y), steps=[0.5, 0.1, 0.02], radius=1.5)
    assert np.allclose(found.totals, naive.vector_ogd_star(y, [0.5, 0.1, 0.02], 1.5), rtol=1e-9)
    assert found.plays.shape == (200, 3)
    assert found.losses.sum() == pytest.approx(found.total)


# figures of the peers on the ten-piece stream (mean regret over seeds, T = 1000)

PUBLISHED = {
    "ader": (57, lambda T: Ader(1, horizon=T, lipschitz=1.0, radius=1.0)),
    "haar": (195, lambda T: SparseHaar(1, lipschitz=1.0, horizon=T)),
    "cocob backprop": (197, lambda T: COCOBBackprop(1)),
    "kt": (260, lambda T: KT(1, lipschitz=1.0)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_regret_is_that_of_other_implementations(name):
    expected, make = PUBLISHED[name]
    regrets = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        u = np.repeat(rng.uniform(-1, 1, 10), 100)
        y = u + 0.1 * rng.standard_normal(1000)
        regrets.append(sp.play(make(1000), Absolute().on(y)).regret(u)[-1])
    assert np.mean(regrets) == pytest.approx(expected, rel=0.3)


# bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OGD(0), "dim must be"),
        (lambda: OGD(1, step=-1.0), "step must be positive: got -1.0"),
        (lambda: OGD(1, schedule="fast"), "schedule must be one of .*got 'fast'"),
        (lambda: OGD(1, domain="ball"), "domain must be a domain: got 'ball'"),
        (lambda: OGD(2, domain=Ball(1.0, [0.0])), "center"),
        (lambda: OGD(1).bound(), "magnitude must be given"),
        (lambda: OGD(1).bound(-1.0, 1.0), "path_length"),
        (lambda: Ader(1, horizon=0, lipschitz=1.0, radius=1.0), "horizon must be"),
        (lambda: Ader(1, horizon=10, lipschitz=0.0, radius=1.0), "lipschitz must be positive"),
        (lambda: Ader(1, horizon=10, lipschitz=1.0, radius=np.inf), "radius must be finite"),
        (lambda: Ader(1, horizon=10, lipschitz=1.0, radius=1.0).bound(-1.0), "path_length"),
        (lambda: KT(1, lipschitz=np.nan), "lipschitz must be finite"),
        (lambda: KT(1, lipschitz=None), "lipschitz must be a number"),
        (lambda: KT(1, lipschitz=1.0, scale=0.0), "scale must be positive"),
        (lambda: KT(1, lipschitz=1.0).bound(-1.0), "norm"),
        (lambda: COCOB(1, lipschitz=1.0).bound([1.0, 2.0]), "u must have shape"),
        (lambda: COCOBBackprop(1).bound([1.0]), "heuristic; use COCOB"),
        (lambda: COCOBBackprop(1, alpha=0.0), "alpha must be positive"),
        (lambda: FreeGrad(1, lipschitz=None), "lipschitz must be a number"),
        (lambda: SparseHaar(1, lipschitz=1.0, horizon=2.5), "horizon must be"),
        (
            lambda: SparseHaar(1, lipschitz=1.0, potential=Quadratic(1.0)),
            "potential must be FreeGrad",
        ),
        (lambda: SparseHaar(1, lipschitz=1.0).bound(np.zeros(3)), "u must have shape"),
        (lambda: DiscountedFTRL(1, discount=1.5), "discount must be"),
        (lambda: DiscountedFTRL(1, discount=0.9, domain=1.0), "domain must be a domain"),
        (lambda: Hedge([]), "learners must be gradient learners"),
        (lambda: Hedge([OGD(1), OGD(2)]), "learners must have one dimension"),
        (lambda: Hedge([OGD(1)] * 2), "learners must be different objects"),
        (lambda: Hedge([OGD(1), OGD(1)], prior=[1.0]), "prior must have 2 positive values"),
        (lambda: AdaNormalHedge([OGD(1)], loss_range=-1.0), "loss_range"),
        (lambda: AdaNormalHedge([OGD(1)]).bound(1), "index must be that of a learner"),
        (lambda: hindsight_ogd([1.0, 2.0]), "losses must be a stream: got list"),
        (lambda: hindsight_ogd(Absolute().on(Y), steps=[]), "steps must be positive"),
        (lambda: hindsight_ogd(Absolute().on(Y), radius=0.0), "radius must be positive"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_used_learners_cannot_be_combined():
    used = OGD(1)
    used.update(0.1)
    opened = OGD(1)
    opened.predict()
    for each in (used, opened):
        with pytest.raises(ValueError, match="learners must be new"):
            Hedge([each])


def test_gradients_beyond_what_was_told_are_refused():
    learners = (
        Ader(1, horizon=9, lipschitz=1.0, radius=1.0),
        KT(1, lipschitz=1.0),
        COCOB(1, lipschitz=1.0),
        FreeGrad(1, lipschitz=1.0),
        SparseHaar(1, lipschitz=1.0),
        Hedge([OGD(1), KT(1, lipschitz=1.0)]),
    )
    for learner in learners:
        learner.update(0.5)
        before = {key: np.copy(value) for key, value in learner.arrays().items()}
        with pytest.raises(ValueError, match=r"got (norm )?1\.5; raise"):
            learner.update(1.5)
        assert all(np.array_equal(before[key], value) for key, value in learner.arrays().items())
    for learner in (OGD(1), COCOBBackprop(1), DiscountedFTRL(1, discount=0.9), Hedge([OGD(1)])):
        with pytest.raises(ValueError, match="rescale the losses"):
            learner.update(1e200)


TINY_AND_HUGE = {
    "ogd": lambda: OGD(2, step=1e160, domain=Ball(1.0)),
    "ogd scale-free": lambda: OGD(2, step=1.0, schedule="scale-free", domain=Ball(1.0)),
    "ader": lambda: Ader(2, horizon=40, lipschitz=1e-155, radius=1.0),
}


@pytest.mark.parametrize("make", TINY_AND_HUGE.values(), ids=TINY_AND_HUGE)
def test_tiny_gradients_count_as_0_in_bulk_too(make):
    bulk, single, losses = make(), make(), Linear().on(np.full((30, 2), 1e-158))
    out = {"plays": np.empty((30, 2)), "gradients": np.empty((30, 2)), "losses": np.empty(30)}
    bulk._play_block(losses, np.arange(1.0, 31.0), 0, out)
    for loss in losses:
        single.update(loss.gradient(single.predict()))
    assert checks._same(bulk, single)


def test_gradients_whose_squares_are_no_floats_are_refused_in_bulk_too():
    for make in (
        lambda: OGD(1, step=1.0),
        lambda: Ader(1, horizon=40, lipschitz=1e200, radius=1.0),
    ):
        bulk, single = make(), make()
        with pytest.raises(ValueError, match="g must have norm at most 1e"):
            sp.play(bulk, Linear().on(np.full((3, 1), 1e160)))
        single.predict()
        with pytest.raises(ValueError, match="g must have norm at most 1e"):
            single.update(1e160)
        assert checks._same(bulk, single)


def test_hindsight_counts_tiny_gradients_as_its_run_does():
    found = hindsight_ogd(Linear().on(np.full((20, 1), 1e-158)), steps=[1e158], radius=5.0)
    assert found.total == found.losses.sum() == 0.0


def test_ader_bounds_large_gradients():
    large, small = (
        Ader(1, horizon=40, lipschitz=1e160, radius=1.0),
        Ader(1, horizon=40, lipschitz=1.0, radius=1.0),
    )
    for learner, g in ((large, 1e149), (small, 0.5)):
        assert learner.bound(0.0) == 0.0
        learner.update(g)
    assert large.bound(2.0) == pytest.approx(1e160 * small.bound(2.0), rel=1e-12)
