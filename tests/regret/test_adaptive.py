"""Adaptive regret: equal to enumerating intervals and searching for the best play on each."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import stillpoint as sp
from stillpoint.domains import Ball
from stillpoint.lab.baselines import OGD
from stillpoint.losses import Absolute, Hinge, Huber, Linear, Logistic, Pinball, Squared
from thorough import THOROUGH

T = 33
RNG = np.random.default_rng(0)
Y = np.repeat([0.3, -1.2, 2.0], T // 3) + 0.2 * RNG.standard_normal(T)
X = RNG.standard_normal((T, 2))
V = RNG.standard_normal((T, 2)) + Y[:, None]
LABELS = np.sign(Y + 0.1)
STREAMS = {
    "squared": (Squared().on(Y), None),
    "squared in a ball": (Squared().on(Y), 0.7),
    "squared vectors": (Squared().on(V), None),
    "squared vectors in a ball": (Squared().on(V), 1.1),
    "squared with features": (Squared().on(Y, X), None),
    "absolute": (Absolute().on(Y), None),
    "absolute in a ball": (Absolute().on(Y), 0.7),
    "ties": (Absolute().on(np.round(Y)), None),
    "pinball": (Pinball(0.9).on(Y), None),
    "pinball in a ball": (Pinball(0.2).on(Y), 0.5),
    "huber": (Huber(0.5).on(Y), None),
    "logistic": (Logistic().on(LABELS), 2.0),
    "hinge": (Hinge().on(LABELS), 2.0),
    "linear": (Linear().on(V), 1.5),
}


def least(stream, first, last, radius):
    """min over u of the losses of rounds first..last − 1, by a general search."""
    part = stream.loss.on(stream.y[first:last], stream.x[first:last] if stream.x.size else None)

    def total(u):
        return part.values(np.broadcast_to(u, (last - first, stream.dim))).sum()

    if stream.dim == 1:
        reach = 5.0 if radius is None else radius
        found = minimize_scalar(
            total, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10}
        )
        corners = [c for c in (*stream.y[first:last, 0], -reach, reach) if abs(c) <= reach]
        return min(found.fun, *(total(c) for c in corners))
    if radius is None:
        return minimize(total, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).fun
    ball = Ball(radius)

    def on_edge(angle):
        return total(radius * np.array([np.cos(angle), np.sin(angle)]))

    near = min(np.linspace(0.0, 2 * np.pi, 60), key=on_edge)
    edge = minimize_scalar(on_edge, bounds=(near - 0.2, near + 0.2), method="bounded")
    inner = minimize(lambda u: total(ball.project(u)), np.zeros(2), method="Nelder-Mead")
    return min(inner.fun, edge.fun)


@pytest.fixture(scope="module", params=STREAMS)
def case(request):
    """A run, and the regret of every interval by its ends."""
    stream, radius = STREAMS[request.param]
    run = sp.play(OGD(stream.dim, step=0.3, domain=Ball(1.0)), stream)
    slow = "vectors in a ball" in request.param or "linear" in request.param
    if THOROUGH:
        lengths = (1, 4, 16) if slow else (1, 2, 3, 4, 7, 16)
    else:
        lengths = (1, 16) if slow else (1, 4, 16)
    naive = {
        (a, a + n): run.losses[a : a + n].sum() - least(stream, a, a + n, radius)
        for n in lengths
        for a in range(T - n + 1)
    }
    return run, radius, lengths, naive


def test_all_intervals_of_a_length_are_looked_at(case):
    run, radius, lengths, naive = case
    found = run.adaptive_regret(lengths, radius=radius)
    assert not found.geometric
    for n, worst, first in zip(found.lengths, found.worst, found.first, strict=True):
        slow = {a: regret for (a, b), regret in naive.items() if b - a == n}
        assert worst == pytest.approx(max(slow.values()), abs=2e-4)
        assert worst >= max(slow.values()) - 1e-9  # a search may miss the best play, this may not
        assert slow[int(first) - 1] == pytest.approx(worst, abs=2e-4)
    assert found.largest == found.worst.max()


def test_the_geometric_cover_is_looked_at(case):
    run, radius, lengths, naive = case
    found = run.adaptive_regret(radius=radius)
    assert found.geometric
    assert list(found.lengths) == [1, 2, 4, 8, 16]  # [16, 31] is the last that fits into 33
    for n, worst in zip(found.lengths, found.worst, strict=True):
        if n in lengths:
            n = int(n)
            slow = [naive[i * n - 1, (i + 1) * n - 1] for i in range(1, T) if (i + 1) * n - 1 <= T]
            assert worst == pytest.approx(max(slow), abs=2e-4)


def test_linearised_regret_is_no_smaller():
    run = sp.play(OGD(2, step=0.3, domain=Ball(1.0)), Absolute().on(V))
    with pytest.raises(ValueError, match="linear=True"):
        run.adaptive_regret()
    found = run.adaptive_regret([10], radius=1.0, linear=True)
    g, w = run.gradients, run.plays
    slow = [
        (g[a : a + 10] * w[a : a + 10]).sum() + np.linalg.norm(g[a : a + 10].sum(axis=0))
        for a in range(T - 9)
    ]
    assert found.worst[0] == pytest.approx(max(slow))
    square = sp.play(OGD(1, step=0.3, domain=Ball(1.0)), Squared().on(Y))
    plain = square.adaptive_regret([10], radius=1.0)
    assert plain.worst[0] <= square.adaptive_regret([10], radius=1.0, linear=True).worst[0]


def test_far_targets_lose_no_digits():
    near = sp.play(OGD(1, step=0.3), Squared().on(Y))
    far = sp.Run(
        near.plays + 1e6, near.losses, near.gradients, near.times, near.linear, near.norms,
        Squared().on(Y + 1e6),
    )  # fmt: skip
    assert far.adaptive_regret().worst == pytest.approx(near.adaptive_regret().worst, rel=1e-6)


def test_switching_cost_is_how_far_plays_move():
    run = sp.play(OGD(2, step=0.3, domain=Ball(1.0)), Absolute().on(V))
    by_hand = sum(np.linalg.norm(run.plays[t] - run.plays[t - 1]) for t in range(1, T))
    assert run.switching_cost == pytest.approx(by_hand)
    assert sp.play(OGD(1), Absolute().on([1.0])).switching_cost == 0.0


def test_bad_arguments_are_named():
    run = sp.play(OGD(1, step=0.3), Absolute().on(Y))
    for lengths, radius, word in (
        ([0], None, "lengths"),
        ([T + 1], None, "lengths"),
        ([1.5], None, "lengths"),
        ([], None, "lengths"),
        (None, -1.0, "radius"),
    ):
        with pytest.raises(ValueError, match=word):
            run.adaptive_regret(lengths, radius=radius)
    hinge = sp.play(OGD(1, step=0.3), Hinge().on(LABELS))
    with pytest.raises(ValueError, match="radius"):
        hinge.adaptive_regret()
    features = sp.play(OGD(2, step=0.1), Squared().on(Y, X))
    with pytest.raises(ValueError, match="ball"):
        features.adaptive_regret(radius=1.0)
    own = sp.play(OGD(1, step=0.3), list(Absolute().on(Y)))
    with pytest.raises(ValueError, match="built-in"):
        own.adaptive_regret()


def test_linear_losses_of_features_are_those_of_their_gradients():
    rng = np.random.default_rng(3)
    losses = sp.losses.Linear().on(rng.normal(size=40), rng.normal(size=(40, 2)))
    run = sp.play(sp.Tracker(2), losses)
    own, linear = (run.adaptive_regret(radius=1.0, linear=flag) for flag in (False, True))
    np.testing.assert_allclose(own.worst, linear.worst, rtol=1e-12)
