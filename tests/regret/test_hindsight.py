"""Best comparators in hindsight, against brute force, linear programs and optimality
certificates.
"""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from stillpoint.domains import Ball, Box, Everywhere, HalfSpace, Projection, Simplex
from stillpoint.losses import Absolute, Hinge, Huber, Linear, Log, Logistic, Pinball, Squared
from stillpoint.regret import (
    hindsight_path_length,
    hindsight_piecewise,
    hindsight_static,
    path_length,
    switches,
)
from stillpoint.regret.hindsight._paths import total_variation
from stillpoint.regret.hindsight._shape import slopes as _slopes
from thorough import THOROUGH, some

SCALAR = [Squared(), Absolute(), Pinball(0.3), Pinball(0.9), Huber(0.5)]
SEGMENTED = SCALAR[:4]


def cost(losses, u):
    return losses.values(u).sum()


def targets(rng, rounds):
    """Small samples with ties, plateaus and outliers."""
    y = rng.standard_normal(rounds) * rng.choice([0.1, 1.0, 10.0])
    return np.round(y, rng.integers(0, 3)) if rng.random() < 0.5 else y


@pytest.mark.parametrize("loss", SCALAR)
def test_static_scalar_is_the_best_constant(loss):
    rng = np.random.default_rng(1)
    for rounds in (1, 2, 3, 10, 101):
        y = targets(rng, rounds)
        losses = loss.on(y)
        best = cost(losses, hindsight_static(losses))
        grid = np.concatenate([y, np.linspace(y.min(), y.max(), 201 if THOROUGH else 51)])
        assert best <= min(cost(losses, np.array([w])) for w in grid) + 1e-12 * max(1.0, best)
        for domain in (Box(0.2, 0.4), Ball(0.1), Ball(1.0, center=[5.0]), HalfSpace([1.0], -3.0)):
            w = hindsight_static(losses, domain)
            inside = [v for v in grid if domain.contains(v)]
            assert domain.contains(w)
            assert all(cost(losses, w) <= cost(losses, np.array([v])) + 1e-8 for v in inside)


def test_static_closed_forms():
    y = np.array([3.0, -1.0, 10.0, 2.0])
    assert hindsight_static(Squared().on(y)) == 3.5
    assert hindsight_static(Absolute().on(y)) == 2.5
    assert hindsight_static(Pinball(0.75).on(y)) == 3.0
    assert hindsight_static(Squared().on(y), Box(0.0, 1.0)) == 1.0
    rows = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert hindsight_static(Squared().on(rows)) == pytest.approx([2.0, 4.0])
    assert hindsight_static(Squared().on(rows), Ball(1.0)) == pytest.approx(
        np.array([1.0, 2.0]) / math.sqrt(5)
    )


def streams():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((150, 3))
    y = x @ [1.0, -2.0, 0.5] + rng.standard_normal(150)
    labels = np.sign(y)
    smooth = [
        Squared().on(y, x),
        Huber(0.5).on(y, x),
        Logistic().on(labels, x),
        Log().on(x=np.exp(0.2 * x)),
    ]
    smooth += [Squared().on(x), Huber(0.3).on(x), Absolute().on(x), Logistic().on(labels)]
    kinked = [Absolute().on(y, x), Pinball(0.2).on(y, x), Hinge().on(labels, x), Hinge().on(labels)]
    return [*smooth, *kinked, Linear().on(x), Linear().on(y, x), Linear().on(y)]


@pytest.mark.parametrize(
    "losses", some(streams(), every=2), ids=lambda s: f"{type(s.loss).__name__}-{s.mode}-{s.dim}"
)
def test_static_cannot_be_improved(losses):
    """No nearby point of the set is better, at any distance: for convex losses that is the
    minimum.
    """
    rng, d = np.random.default_rng(3), losses.dim
    sets = [
        Everywhere(),
        Ball(0.7),
        Ball(50.0, center=np.ones(d)),
        Box(-0.5, 0.3),
        Simplex(1.0),
        HalfSpace(np.ones(d), -1.0),
    ]
    for domain in sets:
        if isinstance(losses.loss, Linear | Log) and (
            isinstance(domain, Everywhere) or (domain == sets[-1] and d > 1)
        ):
            with pytest.raises(ValueError, match="domain must"):
                hindsight_static(losses, domain)
            continue
        w = hindsight_static(losses, domain)
        assert w.shape == (d,)
        assert domain.contains(w)
        best = cost(losses, w)
        for scale in 10.0 ** np.arange(-6, 1):
            for _ in range(40 if THOROUGH else 15):
                v = domain.project(w + scale * rng.standard_normal(d))
                if isinstance(losses.loss, Log) and (losses.x @ v).min() <= 0.0:
                    continue
                assert cost(losses, v) >= best - 1e-9 * max(1.0, abs(best))


def test_static_linear_programs_are_those_of_the_textbook():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    for loss, over, under in ((Absolute(), 1.0, 1.0), (Pinball(0.8), 0.2, 0.8)):
        eye = np.eye(40)
        answer = linprog(
            np.concatenate([np.zeros(3), np.full(40, over), np.full(40, under)]),
            A_eq=np.hstack([x, -eye, eye]),
            b_eq=y,
            bounds=[(None, None)] * 3 + [(0, None)] * 80,
        )
        losses = loss.on(y, x)
        assert cost(losses, hindsight_static(losses)) == pytest.approx(answer.fun, rel=1e-10)
        # the same by the central path, in a ball that does not bind
        assert cost(losses, hindsight_static(losses, Ball(10.0))) == pytest.approx(
            answer.fun, rel=1e-10
        )


def test_static_does_not_depend_on_scale():
    rng = np.random.default_rng(5)
    x, scales = rng.standard_normal((400, 4)), np.array([1e-3, 1.0, 1e3, 1e6])
    y = x @ np.ones(4) + 0.3 * rng.standard_normal(400)
    for loss, target in ((Huber(0.1), y), (Logistic(), np.sign(y + rng.standard_normal(400)))):
        w = hindsight_static(loss.on(target, x))
        assert hindsight_static(loss.on(target, x * scales)) * scales == pytest.approx(w, rel=1e-5)
    twice = np.hstack([x, x])  # collinear features: of many minimisers, the least
    assert hindsight_static(Huber(0.1).on(y, twice)) == pytest.approx(
        np.tile(hindsight_static(Huber(0.1).on(y, x)), 2) / 2
    )


@pytest.mark.parametrize("loss", [Absolute(), Pinball(0.2), Hinge(), Huber(0.5), Logistic()])
def test_static_takes_features_that_do_not_span(loss):
    rng = np.random.default_rng(6)
    shapes = {
        "collinear": np.ones((40, 2)),
        "wide": rng.standard_normal((3, 6)),
        "nothing": np.zeros((5, 2)),
    }
    for name, x in shapes.items():
        losses = loss.on(np.sign(rng.standard_normal(len(x))), x)
        for domain in (Ball(0.2), Ball(10.0), Ball(1.0, center=np.ones(x.shape[1]))):
            w = hindsight_static(losses, domain)
            others = [
                domain.project(w + 10.0 ** -rng.integers(5) * v)
                for v in rng.standard_normal((200 if THOROUGH else 50, x.shape[1]))
            ]
            assert domain.contains(w)
            assert cost(losses, w) <= min(cost(losses, v) for v in others) + 1e-6, name
    assert hindsight_static(loss.on(np.ones(5), np.zeros((5, 2)))).tolist() == [0.0, 0.0]


def test_geometric_median():
    rng = np.random.default_rng(6)
    heavy = np.vstack([np.tile([1.0, 2.0], (30, 1)), rng.standard_normal((20, 2))])
    assert np.array_equal(hindsight_static(Absolute().on(heavy)), [1.0, 2.0])
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    assert hindsight_static(Absolute().on(triangle)) == pytest.approx(
        triangle.mean(axis=0), abs=1e-7
    )


def test_static_errors():
    x = np.random.default_rng(7).standard_normal((30, 2))
    separable = Logistic().on(np.sign(x[:, 0]), x)
    with pytest.raises(ValueError, match="domain must be bounded"):
        hindsight_static(separable)
    assert np.linalg.norm(hindsight_static(separable, Ball(3.0))) == pytest.approx(3.0)
    assert hindsight_static(separable, HalfSpace([1.0, 0.0], 2.0))[0] == pytest.approx(2.0)
    with pytest.raises(ValueError, match="every round"):
        hindsight_static(Log().on(x=np.array([[1.0], [-1.0]])), Ball(1.0))
    disc = Projection(lambda w: w / max(1.0, np.linalg.norm(w)), radius=1.0)
    with pytest.raises(ValueError, match="domain must be Everywhere, Ball"):
        hindsight_static(Absolute().on(x[:, 0], x), disc)
    with pytest.raises(ValueError, match="center must have 2 values"):
        hindsight_static(Squared().on(x), Ball(1.0, center=[0.0, 0.0, 0.0]))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_loss_that_falls_for_ever_is_noticed_on_either_side(axis, sign):
    x = np.random.default_rng(9).standard_normal((30, 2))
    separable, towards = Logistic().on(sign * np.sign(x[:, axis]), x), sign * np.eye(2)[axis]
    for domain in (None, HalfSpace(-towards, 2.0)):
        with pytest.raises(ValueError, match="domain must be bounded"):
            hindsight_static(separable, domain)
    assert hindsight_static(separable, HalfSpace(towards, 2.0)) @ towards == pytest.approx(2.0)


def textbook(loss, y, most):
    """The least cost with 1, 2, …, `most` pieces, by dynamic programming over all segments."""
    n = len(y)
    part = np.full((n + 1, n + 1), math.inf)
    for a, b in combinations(range(n + 1), 2):
        losses = loss.on(y[a:b])
        part[a, b] = cost(losses, hindsight_static(losses))
    best = [part[0]]
    for _ in range(most - 1):
        best.append(np.minimum(best[-1], (best[-1][:, None] + part).min(axis=0)))
    return [each[n] for each in best]


@pytest.mark.parametrize("loss", SEGMENTED)
def test_pieces_against_textbook_dynamic_programming(loss):
    rng = np.random.default_rng(8)
    t = np.arange(50.0 if THOROUGH else 30.0)
    large = [
        rng.standard_normal(t.size).cumsum(),
        t,
        np.sin(t / 5),
        1e6 + rng.standard_normal(t.size),
        np.round(np.sin(t)),
    ]
    for y in [targets(rng, rounds) for rounds in range(1, 12)] + large:
        losses, least = loss.on(y), textbook(loss, y, 8)
        for k in (1, 2, 3, 8):
            u = hindsight_piecewise(losses, k)
            assert u.shape == (len(y), 1)
            assert switches(u) < k
            assert cost(losses, u) == pytest.approx(least[k - 1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", SEGMENTED)
def test_more_pieces_never_cost_more(loss):
    rng = np.random.default_rng(10)
    truth = np.repeat(rng.uniform(-1, 1, 6), 50)
    losses = loss.on(truth + 0.1 * rng.standard_normal(300))
    costs = [
        cost(losses, hindsight_piecewise(losses, k)) for k in (1, 2, 3, 4, 5, 6, 10, 50, 300, 1000)
    ]
    assert all(b <= a + 1e-12 for a, b in pairwise(costs))
    assert costs[0] == pytest.approx(cost(losses, hindsight_static(losses)))
    assert costs[5] <= cost(losses, truth)
    assert costs[-1] == costs[-2] == 0.0


def program(loss, y, budget):
    """The least cost as a linear program: (u, over, under, up, down)."""
    n = len(y)
    over, under = (1.0 - loss.level, loss.level) if isinstance(loss, Pinball) else (1.0, 1.0)
    eye, differ, side = np.eye(n), np.diff(np.eye(n), axis=0), np.eye(n - 1)
    c = np.concatenate([np.zeros(n), np.full(n, over), np.full(n, under), np.zeros(2 * n - 2)])
    equal = np.block(
        [
            [eye, -eye, eye, np.zeros((n, 2 * n - 2))],
            [differ, np.zeros((n - 1, 2 * n)), -side, side],
        ]
    )
    length = np.concatenate([np.zeros(3 * n), np.ones(2 * n - 2)])[None]
    bounds = [(None, None)] * n + [(0, None)] * (4 * n - 2)
    return linprog(c, length, [budget], equal, np.concatenate([y, np.zeros(n - 1)]), bounds).fun


@pytest.mark.parametrize("loss", SCALAR[1:4])
def test_path_length_against_a_linear_program(loss):
    rng = np.random.default_rng(12)
    for _ in range(15):
        y = targets(rng, int(rng.integers(2, 20)))
        for share in (1e-3, 0.1, 0.5, 0.9):
            budget = share * path_length(y)
            u = hindsight_path_length(loss.on(y), budget)
            assert path_length(u) == pytest.approx(budget, rel=1e-9)
            assert cost(loss.on(y), u) == pytest.approx(
                program(loss, y, budget), rel=1e-9, abs=1e-9
            )


def certificate(loss, y, u):
    """How far u is from the optimality conditions of min Σ ℓ_t(u_t) + λP(u): z_t = Σ_{s≤t}
    ℓ'_s(u_s) has z_T = 0,
    |z_t| ≤ λ, and z_t = ±λ where u rises or falls after round t. The least λ is max|z_t|.
    """
    z, step = np.cumsum(loss.gradient(u, y)), np.diff(u)
    moves = np.abs(step) > 1e-7 * np.ptp(y)
    multiplier = np.abs(z[:-1]).max()
    return max(abs(z[-1]), np.abs(z[:-1] - multiplier * np.sign(step))[moves].max(initial=0.0)) / (
        1.0 + multiplier
    )


@pytest.mark.parametrize("loss", [Squared(), Huber(0.05), Huber(0.5), Huber(5.0)])
def test_path_length_is_certified_by_its_multiplier(loss):
    rng = np.random.default_rng(13)
    for rounds in (2, 3, 10, 60, 1000 if THOROUGH else 300):
        for y in (
            rng.standard_normal(rounds),
            rng.standard_normal(rounds).cumsum(),
            1e3 + np.sin(np.arange(rounds)),
        ):
            for share in (1e-3, 0.1, 0.5, 0.99):
                budget = share * path_length(y)
                u = hindsight_path_length(loss.on(y), budget)[:, 0]
                assert path_length(u) == pytest.approx(budget, rel=1e-9)
                assert certificate(loss, y, u) <= 1e-7


@pytest.mark.parametrize("loss", SCALAR)
def test_no_duality_gap(loss):
    """max_λ min_u Σ ℓ_t(u_t) + λ(P(u) − budget) bounds the least cost from below."""
    rng = np.random.default_rng(14)
    y = np.repeat(rng.standard_normal(8), 50) + 0.5 * rng.standard_normal(400)
    losses, u = loss.on(y), np.empty(400)
    for share in (0.003, 0.03, 0.3):
        budget, low, high, lower = share * path_length(y), 0.0, 400.0, -math.inf
        for _ in range(60):  # the dual is concave, with slope P(u) − budget
            penalty = 0.5 * (low + high)
            total_variation(y, *_slopes(loss), penalty, u)
            lower = max(lower, cost(losses, u) + penalty * (path_length(u) - budget))
            low, high = (penalty, high) if path_length(u) > budget else (low, penalty)
        upper = cost(losses, hindsight_path_length(losses, budget))
        assert lower - 1e-9 <= upper <= lower + 1e-9 * upper


@pytest.mark.parametrize("loss", SCALAR)
def test_more_budget_never_costs_more(loss):
    rng = np.random.default_rng(16)
    y = np.sin(np.arange(300) / 20) + 0.3 * rng.standard_normal(300)
    losses, whole = loss.on(y), path_length(y)
    budgets = [0.0, 1e-6, 0.1, 1.0, 5.0, 20.0, 0.99 * whole, whole, 2.0 * whole]
    answers = [hindsight_path_length(losses, budget) for budget in budgets]
    costs = [cost(losses, u) for u in answers]
    assert all(b <= a + 1e-9 for a, b in pairwise(costs))
    assert all(
        path_length(u) <= budget * (1 + 1e-9) for u, budget in zip(answers, budgets, strict=True)
    )
    assert np.array_equal(answers[0], np.full((300, 1), hindsight_static(losses)[0]))
    assert np.array_equal(answers[-1], y[:, None])
    assert np.array_equal(answers[-2], y[:, None])


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=12),
    st.floats(0.0, 10.0),
    st.sampled_from(SCALAR),
)
def test_ties_and_plateaus(values, budget, loss):
    """Targets on a small grid, where multipliers and kinks coincide."""
    y = np.array(values, dtype=float)
    losses = loss.on(y)
    u = hindsight_path_length(losses, budget)
    assert path_length(u) <= budget * (1 + 1e-9) + 1e-12
    pieces = hindsight_piecewise(losses, 2) if not isinstance(loss, Huber) else u
    assert cost(losses, u) <= cost(losses, pieces) + 1e-9 or path_length(pieces) > budget
    if isinstance(loss, Absolute | Pinball) and len(y) > 1:
        assert cost(losses, u) == pytest.approx(program(loss, y, budget), abs=1e-8)


def test_at_scale():
    rng = np.random.default_rng(17)
    truth = np.repeat(rng.uniform(-1.0, 1.0, 10), 2_000 if THOROUGH else 1_000)
    y = truth + 0.3 * rng.standard_normal(truth.size)
    for loss in SCALAR:
        u = hindsight_path_length(loss.on(y), path_length(truth))
        assert path_length(u) == pytest.approx(path_length(truth), rel=1e-9)
        assert cost(loss.on(y), u) <= cost(loss.on(y), truth)
        if loss in SEGMENTED:
            step = 1 if isinstance(loss, Squared) else 10
            losses = loss.on(y[::step])
            assert cost(losses, hindsight_piecewise(losses, 10)) <= cost(losses, truth[::step])


def test_unsupported_streams_are_named():
    x = np.random.default_rng(18).standard_normal((5, 2))
    for best in (hindsight_piecewise, hindsight_path_length):
        for losses in (
            Logistic().on(np.sign(x[:, 0])),
            Squared().on(x),
            Squared().on(x[:, 0], x),
            Linear().on(x[:, 0]),
        ):
            with pytest.raises(
                ValueError, match=r"losses must be scalar.*Squared.*Absolute.*Pinball"
            ):
                best(losses, 1)
        with pytest.raises(ValueError, match=r"losses must be a stream of sp\.losses: got ndarray"):
            best(x[:, 0], 1)
    with pytest.raises(ValueError, match=r"losses must be a stream of sp\.losses: got list"):
        hindsight_static([1.0, 2.0])
    with pytest.raises(ValueError, match=r"domain must be a domain: got 2\.0"):
        hindsight_static(Squared().on(x), 2.0)
    with pytest.raises(ValueError, match="losses must be scalar"):
        hindsight_piecewise(Huber().on(x[:, 0]), 2)
    with pytest.raises(ValueError, match="k must be a positive whole number"):
        hindsight_piecewise(Squared().on(x[:, 0]), 0)
    for budget in (-1.0, math.nan):
        with pytest.raises(ValueError, match="budget must"):
            hindsight_path_length(Squared().on(x[:, 0]), budget)


def test_a_solver_that_stops_early_is_sent_on():
    x = np.array(
        [
            [-0.928, -0.6],
            [-0.0406, 0.1758],
            [-0.6353, -0.9341],
            [0.6529, 0.5822],
            [-0.2178, -0.9623],
            [-0.2493, -1.6975],
            [2.2341, 1.8421],
            [1.5469, 0.1426],
        ]
    )
    losses = Huber(0.3).on(
        np.array([0.2285, -1.1472, 0.5399, 0.3639, -0.8056, 0.6086, 0.2819, -0.2109]), x
    )
    inside = hindsight_static(losses, Box(-0.3, 0.5))  # where the best of all lies
    np.testing.assert_allclose(inside, hindsight_static(losses), atol=1e-7)
