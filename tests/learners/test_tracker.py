import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive
import stillpoint as sp
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, Gaussian, HorizonFree
from stillpoint.lab.baselines import hindsight_ogd
from stillpoint.lab.streams import families
from stillpoint.learners import _tracker
from stillpoint.losses import Absolute, Huber, Linear, Pinball
from stillpoint.regret import magnitude, path_length
from thorough import some


def absolute(target, noise, seed=0):
    rng = np.random.default_rng(seed)
    target = np.asarray(target, dtype=float)
    return Absolute().on(target + noise * rng.standard_normal(target.shape))


def pieces(rounds, count, seed=0):
    return np.repeat(np.random.default_rng(seed).uniform(-1, 1, count), rounds // count)


T = np.arange(1500)
STREAMS = {
    "pieces": absolute(pieces(1500, 10), 0.1),
    "sine": absolute(np.sin(T / 30), 0.3),
    "far": absolute(np.full(1500, 50.0), 0.3),
    "walk": absolute(0.02 * np.cumsum(np.random.default_rng(1).standard_normal(1500)), 0.3),
    "vectors": absolute(np.stack([np.sin(T / 50), np.cos(T / 70), T / 700], axis=1), 0.2),
    "pinball": Pinball(0.9).on(
        np.random.default_rng(2).standard_normal(1500) * (1 + np.sin(T / 100))
    ),
    "huber": Huber(0.1).on(np.sin(T / 60) + 0.1 * np.random.default_rng(3).standard_normal(1500)),
    "bursts": Linear().on(
        np.where(T % 100 < 30, np.sin(T), 0.0)[:, None] * 10.0 ** (T // 500)[:, None]
    ),
}


@pytest.mark.parametrize("name", some(STREAMS, every=2))
def test_equals_the_naive_twin(name):
    losses = STREAMS[name]
    learner, twin = sp.Tracker(losses.dim), naive.Tracker(losses.dim)
    for loss in list(losses)[:700]:
        w, v = learner.predict(), twin.predict()
        assert np.allclose(w, v, rtol=1e-5, atol=1e-8 * twin.D), learner.rounds
        g = loss.gradient(v)
        learner.update(g)
        twin.update(g.copy())
    assert learner.radius == twin.D
    assert learner._squares.size == len(twin.x) == 3  # joined at rounds 1, 16 and 256
    beliefs = np.array([twin.bank.mu[name] for name in twin.bank.names])
    assert np.allclose(learner._bank.beliefs, beliefs, rtol=1e-5, atol=1e-9)
    assert (
        len(beliefs) == 8
    )  # levels joined at rounds 8, 32, 128 and 512, trends with the last three
    assert np.allclose(learner.weights, twin.weights, atol=1e-6)
    assert learner.weights.sum() == pytest.approx(1.0)
    assert learner._scalars[_tracker.AT.epochs] == twin.epochs
    exact = (learner._rows[_tracker.ROW.experts :] ** 2).sum(axis=1)
    assert np.allclose(learner._squares, exact, rtol=1e-9, atol=1e-12 * learner.radius**2)


@pytest.mark.parametrize("certify", [None, OU(0.01), Gaussian(10.0)])
@pytest.mark.parametrize(
    "domain",
    [None, Ball(0.4), Box(-0.3, 0.5), Simplex(1.0), HalfSpace([1.0, 1.0, 1.0], 0.5)],
)
def test_bulk_equals_interactive_bit_for_bit(domain, certify):
    losses = Absolute().on(STREAMS["vectors"].y[:600])  # past 512, where the last filters join
    compiled, interactive = (sp.Tracker(3, domain=domain, certify=certify) for _ in range(2))
    a, b = sp.play(compiled, losses), sp.play(interactive, list(losses))
    for curve in ("plays", "losses", "gradients", "linear", "norms"):
        assert np.array_equal(getattr(a, curve), getattr(b, curve), equal_nan=True), curve
    left, right = compiled.arrays(), interactive.arrays()
    assert left.keys() == right.keys()
    assert all(np.array_equal(left[key], right[key]) for key in left)
    if domain is not None:
        assert all(domain.contains(w) for w in a.plays[::50])


@pytest.mark.parametrize("dim", [1, 7, 50, 300])
def test_bulk_equals_interactive_in_every_dimension(dim):
    losses = absolute(
        np.sin(np.arange(400) / 20)[:, None] * np.ones(dim)
        if dim > 1
        else np.sin(np.arange(400) / 20),
        0.3,
    )
    a, b = sp.play(sp.Tracker(dim), losses), sp.play(sp.Tracker(dim), list(losses))
    assert np.array_equal(a.plays, b.plays)


@pytest.mark.parametrize("unit", some([1e-6, 1e6, 1e-140, 1e140], every=2))
@pytest.mark.parametrize("name", ["sine", "vectors", "pinball"])
def test_the_unit_of_gradients_does_not_matter(name, unit):
    losses = STREAMS[name]
    plain, scaled = sp.Tracker(losses.dim), sp.Tracker(losses.dim)
    for loss in losses:
        w = plain.predict()
        assert np.abs(scaled.predict() - w).max() <= 1e-9 * (1e-3 + np.abs(w).max())
        g = loss.gradient(w)
        plain.update(g)
        scaled.update(g * unit)


GARBAGE = {
    "white step": None,
    "random": lambda twin, g, rng: rng.standard_normal(g.size) * twin.D,
    "adversarial": lambda twin, g, rng: 1e9 * g,
    "far": lambda twin, g, rng: np.full(g.size, 1e9),
    "zero": lambda twin, g, rng: np.zeros(g.size),
}
GRADIENTS = {
    "random": lambda t, w, rng: rng.standard_normal(w.size),
    "outward": lambda t, w, rng: np.where(w >= 0, 1.0, -1.0) / np.sqrt(w.size),
    "inward": lambda t, w, rng: -np.where(w >= 0, 1.0, -1.0) / np.sqrt(w.size),
    "tracking": lambda t, w, rng: np.sign(w - np.sin(t / 30) + 0.2 * rng.standard_normal(w.size)),
    "mixed size": lambda t, w, rng: rng.standard_normal(w.size) * np.exp(2 * rng.standard_normal()),
    "shrinking": lambda t, w, rng: np.sign(w - 1.0) * 0.99**t,
    "growing": lambda t, w, rng: np.sign(w - np.cos(t / 20)) * 1.01**t,
}


any_run = given(
    st.sampled_from(sorted(GARBAGE)),
    st.sampled_from(sorted(GRADIENTS)),
    st.sampled_from([1, 2, 5]),
    st.integers(0, 10_000),
)


@any_run
@example(heuristic="adversarial", gradients="mixed size", dim=1, seed=375)
def test_every_inequality_of_the_proof(heuristic, gradients, dim, seed):
    """Each step of the theorem's proof (docs/how.md) along a run, whatever stands in for h."""
    rng = np.random.default_rng(seed)
    garbage = GARBAGE[heuristic]
    twin = naive.Tracker(
        dim, heuristic=None if garbage is None else lambda twin, g: garbage(twin, g, rng)
    )
    u = rng.standard_normal(dim)
    spent, epoch_spent, meta = 0.0, 0.0, {}
    for t in range(1, 301):
        w = twin.predict().copy()
        g = GRADIENTS[gradients](t, w, rng)
        D, top, squares = twin.D, twin.Gam or np.linalg.norm(g), twin.Vk
        experts, xh = [x.copy() for x in twin.x], twin.xh.copy()
        clipped = g * min(1.0, top / max(np.linalg.norm(g), 1e-300))
        a = np.linalg.norm(clipped)
        spent += np.linalg.norm(g - clipped)
        # (1) Hoeffding: the mixture's loss is at most the mix loss plus η(2D|g|)²/8
        eta = twin.c / (2 * D * np.sqrt(squares + top**2))
        losses = np.array([clipped @ xh, *(clipped @ x for x in experts)])
        if twin.Gam > 0:
            mix = (
                -np.log(twin.weights @ np.exp(-eta * (losses - losses.min()))) / eta + losses.min()
            )
            assert clipped @ w <= mix + eta * (2 * D * a) ** 2 / 8 + 1e-9 * D * a
        twin.update(g.copy())
        # (2) each OGD's step against any u in the ball
        if twin.D == D and a > 0:
            target = u * D / np.linalg.norm(u)
            for i, x in enumerate(experts):
                e = D * twin.b**-i / top
                gap = np.sum((x - target) ** 2) - np.sum((twin.x[i] - target) ** 2)
                # positions are rounded at up to D, which counts most where steps are far below it
                rounding = 4 * np.finfo(float).eps * D * D / e
                assert (
                    clipped @ (x - target)
                    <= gap / (2 * e) + e * a * a / 2 + 1e-9 * (D * a + abs(gap) / e) + rounding
                )
        # (1) summed: within an epoch the mixture is close to every expert that was there from its
        # start
        if twin.D == D:
            for i in range(len(experts)):
                meta[i] = meta.get(i, 0.0) + clipped @ (w - experts[i])
                limit = (
                    D
                    * np.sqrt(twin.Vk + twin.Gam**2)
                    * (2 / twin.c * np.log((i + 1) * (i + 2) / twin.delta) + twin.c / 2)
                )
                assert meta[i] <= limit * (1 + 1e-9)
            epoch_spent -= clipped @ w
            # (3) the epoch's gain is below what would have ended it
            assert twin.X < twin.C * D * np.sqrt(twin.Vk + twin.Gam**2)
            assert twin.X == pytest.approx(epoch_spent, abs=1e-9 * (1 + abs(epoch_spent)))
        else:
            meta, epoch_spent = {}, 0.0
    # (0) clipping costs at most the largest gradient in all
    assert spent <= twin.Gam * (1 + 1e-9)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_mix_loss_grows_with_the_rate(seed, count):
    """(1): (1/η) ln Σ π_i e^{−ηL_i} is nondecreasing in η, which is what lets the rate fall over
    time.
    """
    rng = np.random.default_rng(seed)
    prior, L = rng.dirichlet(np.ones(count)), 10 * rng.standard_normal(count)
    rates = np.logspace(-4, 2, 60)
    values = [(np.log(prior @ np.exp(-eta * (L - L.min()))) - eta * L.min()) / eta for eta in rates]
    assert (np.diff(values) >= -1e-9).all()


@given(st.integers(0, 10_000), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.3, 5.0]))
def test_the_ladder_of_ogds_covers_every_path_length(seed, dim, path):
    """(2): the best of the steps D·4^{−i}/Γ is within 5√(D(D+P)V̂) of any u in the ball, up to the
    smallest step there is.
    """
    rng = np.random.default_rng(seed)
    rounds, D = 500, 2.0
    steps = rng.standard_normal((rounds, dim))
    u = np.cumsum(steps * (path / max(np.linalg.norm(steps[1:], axis=1).sum(), 1e-300)), axis=0)
    u *= np.minimum(1.0, D / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300))
    x = np.zeros((10, dim))
    regrets, sizes = np.zeros(10), []
    for t in range(rounds):
        g = np.sign(x[5] - u[t]) + 0.5 * rng.standard_normal(dim)
        g /= max(np.linalg.norm(g), 1.0)
        sizes.append(np.linalg.norm(g))
        regrets += (x - u[t]) @ g
        x = x - D * 4.0 ** -np.arange(10)[:, None] * g
        x *= np.minimum(1.0, D / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300))
    assert regrets.min() <= 5 * np.sqrt(D * (D + path_length(u)) * np.sum(sizes))


@given(
    st.sampled_from(sorted(GARBAGE)),
    st.sampled_from(sorted(GRADIENTS)),
    st.sampled_from([1, 3]),
    st.integers(0, 10_000),
)
def test_one_epoch(heuristic, gradients, dim, seed):
    """(2) in full, lazy joining and its factor 7/3 included: a ball that may not grow is one epoch;
    comparators inside it.
    """
    rng = np.random.default_rng(seed)
    garbage = GARBAGE[heuristic]
    D = naive.Tracker.eps
    twin = naive.Tracker(
        dim, cap=D, heuristic=None if garbage is None else lambda twin, g: garbage(twin, g, rng)
    )
    plays, received = [], []
    for t in range(1, 401):  # experts join at rounds 1, 16 and 256
        w = twin.predict().copy()
        g = GRADIENTS[gradients](t, w / D, rng)
        twin.update(g.copy())
        plays.append(w)
        received.append(g)
    plays, received = np.array(plays), np.array(received)
    sizes = np.linalg.norm(received, axis=1)
    count = len(twin.x)
    a = 2 / twin.c * np.log(count * (count + 1) / twin.delta) + twin.c / 2
    vhat = twin.Gam * sizes.sum()
    for u in (
        np.tile(rng.standard_normal(dim), (400, 1)),
        -received,
        np.repeat(rng.standard_normal((8, dim)), 50, axis=0),
        np.cumsum(rng.standard_normal((400, dim)), axis=0),
    ):
        v = D * u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        limit = (
            7
            / 3
            * (
                a * D * np.sqrt(twin.Vk + twin.Gam**2)
                + 5 * np.sqrt(D * (D + path_length(v)) * vhat)
            )
        )
        regret = (received * (plays - v)).sum()
        assert regret <= limit + 2 * twin.Gam * D  # the last term is what clipping may cost, (0)


@given(st.integers(0, 10_000), st.floats(1.0, 100.0))
def test_scaling_identity(seed, r):
    """(3): R(r·u') = r·R(u') + (r − 1)·X with X the gain, for any plays; it carries the bound
    outside the ball.
    """
    rng = np.random.default_rng(seed)
    w, g, u = rng.standard_normal((3, 40, 2))
    gain = -(g * w).sum()
    assert (g * (w - r * u)).sum() == pytest.approx(
        r * (g * (w - u)).sum() + (r - 1.0) * gain, abs=1e-9 * r * 100
    )


def pair(name, rounds, dim, seed):
    """(plays, gradients, learner) of a run of the shipped learner with its h replaced after every
    round.
    """
    heuristic, gradients = name
    rng = np.random.default_rng(seed)
    learner = sp.Tracker(dim)
    plays, received = [], []
    for t in range(1, rounds + 1):
        w = learner.predict()
        g = GRADIENTS[gradients](t, w, rng)
        learner.update(g)
        if GARBAGE[heuristic] is not None:
            view = type("View", (), {"D": learner.radius})
            x = GARBAGE[heuristic](view, g, rng)
            learner._rows[_tracker.ROW.heuristic] = x * min(
                1.0, learner.radius / max(np.linalg.norm(x), 1e-300)
            )
        plays.append(w)
        received.append(g)
    return np.array(plays), np.array(received), learner


@any_run
def test_the_theorem_holds_for_any_heuristic(heuristic, gradients, dim, seed):
    plays, received, learner = pair((heuristic, gradients), 400, dim, seed)
    rng = np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0, 30.0, 1e3):
        for u in (
            np.tile(rng.standard_normal(dim), (400, 1)),
            np.cumsum(rng.standard_normal((400, dim)), axis=0) / 20,
            -received / np.maximum(np.linalg.norm(received, axis=1, keepdims=True), 1e-300),
            np.repeat(rng.standard_normal((4, dim)), 100, axis=0),
        ):
            v = scale * u
            regret = (received * (plays - v)).sum()
            assert regret <= learner.bound(path_length(v), magnitude(v)) * (1 + 1e-9)


def test_the_bound_has_the_constants_of_its_proof():
    """35/3 = (7/3)·5: OGD on a grid of steps has 5√(D(D + P)V), lazy joining 7/3. Held where each
    term of the bound decides.
    """
    _, received, learner = pair(("white step", "tracking"), 400, 1, 0)
    sizes = np.linalg.norm(received, axis=1)
    top, D, M = sizes.max(), learner.radius, 3.0
    largest, squares = max(M, D), float(top * sizes.sum())
    for P in (1e12, 1e14):  # so long a path that nothing else is left
        assert learner.bound(P, M) == pytest.approx(
            35 / 3 * math.sqrt(largest * P * squares), rel=2e-5
        )
    K, experts = 1 + round(math.log2(D / 1e-3)), 1 + int(math.log(400, 16))
    a = 2 / _tracker.RATE * math.log(experts * (experts + 1) / _tracker.DELTA) + _tracker.RATE / 2
    meta = (7 * a / 3 + 1.4) * largest * math.sqrt(K * (squares + K * top * top))
    rest = 35 / 3 * math.sqrt(largest * K * largest * squares) + K * largest * top + top * (D + M)
    assert learner.bound(0.0, M) == pytest.approx(meta + rest, rel=1e-12)


def test_ogd_on_the_grid_of_steps_keeps_five_times_the_optimum():
    """Step (2) of the proof: Σ⟨g, x − u⟩ ≤ (2D² + 2DP)/e + eV/2 at the grid's best e, at most
    5√(D(D + P)V).
    """
    rng, D, worst = np.random.default_rng(3), 1.0, 0.0
    for switches in (1, 3, 10, 50):
        u = np.repeat(rng.choice([-1.0, 1.0], switches), 2000 // switches)
        g = -u * np.sign(rng.random(u.size) - 0.2)
        P, V = path_length(u), float((g * g).sum())
        regrets = []
        for e in D * 4.0 ** -np.arange(7.0):
            x, total = 0.0, 0.0
            for slope, target in zip(g, u, strict=True):
                total += slope * (x - target)
                x = min(max(x - e * slope, -D), D)
            assert total <= (2 * D * D + 2 * D * P) / e + e * V / 2
            regrets.append(total)
        worst = max(worst, min(regrets) / math.sqrt(D * (D + P) * V))
    assert 0.3 < worst <= 5.0


def test_regret_against_the_best_step_in_hindsight():
    """A guard on quality: two seeds of the eleven families; `stillpoint bench regret` has the full
    figures.
    """
    ratios = []
    for seed in (0, 1):
        for stream in families(2000, seed).values():
            run = sp.play(sp.Tracker(1), stream.losses)
            best = (
                hindsight_ogd(stream.losses).losses.sum()
                - stream.losses.values(stream.target).sum()
            )
            ratios.append(run.regret(stream.target)[-1] / best)
    assert np.exp(np.mean(np.log(ratios))) < 1.2


@pytest.mark.parametrize("kernel", [OU(0.01), HorizonFree(), Gaussian(5.0)])
def test_certificate_in_the_kernel_of_ones_choice(kernel):
    losses = Absolute().on(STREAMS["sine"].y[:500])
    learner = sp.Tracker(1, certify=kernel)
    run = sp.play(learner, losses)
    gram = learner.ledger.memory.kernel.gram(run.times)
    S = np.sqrt(run.gradients[:, 0] @ gram @ run.gradients[:, 0])
    assert learner.certificate(3.0) == pytest.approx(
        (run.gradients * run.plays).sum() + 3.0 * S, rel=1e-8
    )
    assert np.array_equal(run.certificate(3.0)[-1:], [learner.certificate(3.0)])
    with pytest.raises(ValueError, match="certify="):
        sp.Tracker(1).certificate(1.0)


def test_a_known_ball_caps_the_growth():
    losses = absolute(np.full(2000, 5.0), 0.3)
    learner = sp.Tracker(1, domain=Ball(2.0))
    run = sp.play(learner, losses)
    assert learner.radius == 2.0
    assert run.plays.max() == pytest.approx(2.0, rel=1e-12)
    assert run.linear_regret([2.0])[-1] <= learner.bound(0.0, 2.0)
    tiny = sp.Tracker(2, domain=Ball(1e-5))
    assert np.abs(sp.play(tiny, absolute(np.ones((300, 2)), 0.1)).plays).max() <= 1e-5


def test_other_domains_by_projection():
    learner = sp.Tracker(2, domain=Projection(lambda w: np.clip(w, 0.2, 0.6)))
    assert not learner._can_compile()
    run = sp.play(learner, absolute(np.tile([1.0, -1.0], (1000, 1)), 0.1))
    assert np.allclose(run.plays[-1], [0.6, 0.2], atol=0.02)
    off_centre = sp.play(
        sp.Tracker(2, domain=Ball(0.5, center=(1.0, 1.0))), absolute(np.zeros((1000, 2)), 0.1)
    )
    assert np.allclose(off_centre.plays[-1], 1 - 0.5 / np.sqrt(2), atol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_target_that_leaves_the_ball_late_is_seen_within_forty_rounds(seed):
    """By the alarm: the gain alone would have to reach 1.4·D√V, in 140 rounds at the least."""
    noise = 0.3 * np.random.default_rng(seed).standard_normal(10_040)
    learner = sp.Tracker(1)
    sp.play(learner, Absolute().on(0.5 + noise[:10_000]))
    before = learner.radius
    sp.play(learner, Absolute().on(50.0 + noise[10_000:]))
    assert learner.radius > before


def test_gradients_that_never_turn_stop_at_the_cap():
    learner = sp.Tracker(1)
    with pytest.warns(RuntimeWarning, match="give a bounded domain"):
        run = sp.play(learner, Linear().on(np.full(40_000, -1.0)))
    assert learner.radius == 1e150
    assert np.isfinite(run.plays).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.update(-1.0)


def test_times_may_be_irregular_but_only_rounds_count():
    y = np.sin(np.arange(200) / 10)
    even = sp.play(sp.Tracker(1), Absolute().on(y))
    uneven = sp.play(
        sp.Tracker(1),
        Absolute().on(y, times=np.cumsum(np.random.default_rng(0).exponential(size=200))),
    )
    assert np.array_equal(even.plays, uneven.plays)


def test_extreme_gradients_stay_finite():
    rng = np.random.default_rng(0)
    learner = sp.Tracker(3)
    for _ in range(500):
        learner.update(rng.standard_normal(3) * 10.0 ** rng.uniform(-150, 150))
        assert np.isfinite(learner.predict()).all()


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: sp.Tracker(0), "dim"),
        (lambda: sp.Tracker(1, domain="ball"), "domain"),
        (lambda: sp.Tracker(1, certify=3.0), "certify"),
        (lambda: sp.Tracker(1).bound(-1.0, 1.0), "path_length"),
        (lambda: sp.Tracker(1).bound(1.0, np.nan), "magnitude"),
        (lambda: sp.Tracker(2, domain=Ball(1.0, center=(0.0,))), "cent"),
    ],
)
def test_bad_arguments_are_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()


def test_rounding_of_gradients_along_a_normal_is_not_followed():
    normal = np.array([1.0, 2.0, 3.0])
    learner = sp.Tracker(3, domain=HalfSpace(normal, -1.0))
    run = sp.play(learner, np.tile(-normal, (400, 1)))  # the first play is the best already
    assert learner.radius == 1e-3
    assert abs(run.regret(-normal / 14.0)[-1]) < 1e-9
    for w in run.plays:
        assert np.allclose(w, -normal / 14.0, atol=1e-12)


@pytest.mark.parametrize(
    ("direction", "size"),
    [((0.1, 1.0), 1e-145), ((0.1, 1.0 + 1e-13), 1e-149), ((3.0, 1.0), 1e-150)],
)
def test_what_a_domain_leaves_of_tiny_gradients_may_be_too_small_to_square(direction, size):
    g = size * np.array(direction)
    one, other = (sp.Tracker(2, domain=Ball(1.0, [0.3, 3.0])) for _ in range(2))
    run = sp.play(one, np.tile(g, (5, 1)))
    for w in run.plays:
        assert np.array_equal(other.predict(), w)
        other.update(g)
    assert np.isfinite(run.plays).all()
