import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillpoint import losses as exported
from stillpoint.losses import (
    Absolute,
    Hinge,
    Huber,
    Linear,
    Log,
    Logistic,
    Loss,
    Pinball,
    Squared,
    _pointwise,
    newton_curvature,
)
from thorough import some

KNOWN = [
    Squared(),
    Absolute(),
    Pinball(0.8),
    Huber(),
    Huber(0.3),
    Logistic(),
    Hinge(),
    Linear(),
    Log(),
]
# arguments of families that cannot be built without
ARGUMENTS = {"Pinball": {"level": 0.8}}


def public_families():
    for name in exported.__all__:
        member = getattr(exported, name)
        if isinstance(member, type) and issubclass(member, Loss) and member is not Loss:
            yield member(**ARGUMENTS.get(name, {}))


FAMILIES = [*KNOWN, *(family for family in public_families() if family not in KNOWN)]
RADIAL = [f for f in FAMILIES if f.vector_plays and not isinstance(f, Linear)]
CASES = [(family, mode) for family in FAMILIES for mode in ("scalar", "features")]
CASES += [(family, "vector") for family in [*RADIAL, Linear()]]
ROUNDS = 25


def naive(family, p, y):
    r = p - y
    match family:
        case Squared():
            return r**2 / 2
        case Absolute():
            return abs(r)
        case Pinball(level):
            return level * max(-r, 0.0) + (1 - level) * max(r, 0.0)
        case Huber(width):
            return r**2 / 2 if abs(r) <= width else width * (abs(r) - width / 2)
        case Logistic():
            return math.log(1 + math.exp(-y * p))
        case Hinge():
            return max(0.0, 1 - y * p)
        case Linear():
            return y * p
        case Log():
            return -math.log(p)
        case _:
            raise NotImplementedError(f"write the formula of {family!r} here")


def targets(family, rng, shape):
    return rng.choice([-1.0, 1.0], shape) if family.labels else rng.standard_normal(shape)


def stream(family, mode, seed=0, dim=3):
    """A stream and a play for each round, away from kinks with probability 1; positive predictions
    for the log loss.
    """
    rng = np.random.default_rng(seed)
    positive = np.abs if isinstance(family, Log) else np.array
    if mode == "scalar":
        return family.on(targets(family, rng, ROUNDS)), positive(rng.standard_normal((ROUNDS, 1)))
    if mode == "vector":
        return family.on(rng.standard_normal((ROUNDS, dim))), rng.standard_normal((ROUNDS, dim))
    x, w = (
        positive(rng.standard_normal((ROUNDS, dim))),
        positive(rng.standard_normal((ROUNDS, dim))),
    )
    return family.on(targets(family, rng, ROUNDS), x=x), w


@pytest.mark.parametrize("family", FAMILIES)
@given(p=st.floats(-30.0, 30.0), y=st.floats(-30.0, 30.0))
def test_values_against_the_formula(family, p, y):
    y = (1.0 if y > 0 else -1.0) if family.labels else y
    p = abs(p) + 1e-3 if isinstance(family, Log) else p
    assert family.value(p, y) == pytest.approx(naive(family, p, y), rel=1e-12, abs=1e-15)
    assert abs(family.gradient(p, y)) <= family.lipschitz or isinstance(family, Linear)


@pytest.mark.parametrize(("family", "mode"), CASES)
def test_gradients_against_central_differences(family, mode):
    losses, plays = stream(family, mode)
    h = 1e-6
    for loss, w in zip(losses, plays, strict=True):
        steps = h * np.eye(losses.dim)
        numeric = [(loss.value(w + step) - loss.value(w - step)) / (2 * h) for step in steps]
        np.testing.assert_allclose(loss.gradient(w), numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("family", "mode"), CASES)
def test_vectorised_compiled_and_round_by_round_give_the_same_bits(family, mode):
    losses, plays = stream(family, mode)
    code, parameter, y, x, kind = losses.compiled
    assert (code, parameter) == (family.code, family.parameter)
    assert len(losses) == len(y) == ROUNDS
    assert y.flags.c_contiguous
    assert x.flags.c_contiguous
    assert x.shape == (ROUNDS if mode == "features" else 0, losses.dim)
    assert kind == {"scalar": 0, "vector": 1, "features": 2}[mode]
    by_round = [loss.value(w) for loss, w in zip(losses, plays, strict=True)]
    assert np.array_equal(losses.values(plays), by_round)
    gradient = np.empty(losses.dim)
    for t, w in enumerate(plays):
        row = x[t] if mode == "features" else y[t]
        assert _pointwise.evaluate(code, parameter, kind, y[t], row, w, gradient) == by_round[t]
        assert np.array_equal(gradient, losses[t].gradient(w))


@pytest.mark.parametrize(("family", "mode"), CASES)
def test_rounds_against_the_family(family, mode):
    losses, plays = stream(family, mode)
    y = losses.y[:, 0]
    if mode == "vector":
        if isinstance(family, Linear):
            p, y, directions = (losses.y * plays).sum(axis=1), 1.0, losses.y
        else:
            p, y = np.linalg.norm(plays - losses.y, axis=1), 0.0
            directions = (plays - losses.y) / p[:, None]
    else:
        directions = losses.x if mode == "features" else np.ones((ROUNDS, 1))
        p = (plays * directions).sum(axis=1)
    np.testing.assert_allclose(losses.values(plays), family.value(p, y), rtol=1e-12)
    gradients = [loss.gradient(w) for loss, w in zip(losses, plays, strict=True)]
    np.testing.assert_allclose(
        gradients, np.asarray(family.gradient(p, y))[..., None] * directions, rtol=1e-12
    )


def test_every_public_family_is_among_the_cases():
    assert {type(f) for f in KNOWN} <= {type(f) for f in public_families()}
    assert len({f.code for f in public_families()}) == sum(1 for _ in public_families())


@pytest.mark.parametrize("code", [-1, 1 + max(family.code for family in FAMILIES)])
def test_a_code_without_its_branch_is_nan_everywhere(code):
    for p, y in ((0.3, 1.0), (1.0, 1.0), (5.0, -2.0)):
        assert math.isnan(_pointwise.value(code, 0.5, p, y))
        assert math.isnan(_pointwise.slope(code, 0.5, p, y))
        for c in (0.0, 0.7, 1e6):
            assert math.isnan(_pointwise.implicit_slope(code, 0.5, p, y, c))


def test_kinks_are_pinned():
    assert Absolute().gradient(0.7, 0.7) == 0.0
    assert Pinball(0.9).gradient(-2.0, -2.0) == 0.0
    assert Hinge().gradient(1.0, 1.0) == Hinge().gradient(-1.0, -1.0) == 0.0
    assert Hinge().gradient(np.nextafter(1.0, 0.0), 1.0) == -1.0
    assert Pinball(0.9).gradient(1.0, 2.0) == -0.9
    assert Pinball(0.9).gradient(3.0, 2.0) == pytest.approx(0.1)
    assert Huber(2.0).gradient(2.0, 0.0) == Huber(2.0).gradient(5.0, 0.0) == 2.0
    y = np.array([[1.0, -2.0]])
    for family in RADIAL:
        assert np.array_equal(family.on(y)[0].gradient(y[0]), [0.0, 0.0])
        assert family.on(y)[0].value(y[0]) == 0.0
    assert np.array_equal(Squared().on(y)[0].gradient([0.1, 0.2]), np.array([0.1, 0.2]) - y[0])


def test_pinball_minimiser_is_the_quantile():
    y = np.random.default_rng(1).standard_normal(999)
    best = min(y, key=lambda p: Pinball(0.9).value(p, y).sum())
    assert best == np.quantile(y, 0.9, method="inverted_cdf")


def test_extremes_are_finite():
    p = np.array([1e300, -1e300, 800.0, -800.0, 0.0])
    for y in (-1.0, 1.0):
        assert np.array_equal(Logistic().value(p, y)[:4], np.maximum(-y * p[:4], 0.0))
        assert np.array_equal(Logistic().gradient(p, y), [*(-y * (y * p[:4] < 0)), -y / 2])
    # the small slope of a confident and right prediction keeps its digits
    assert Logistic().gradient(40.0, 1.0) == pytest.approx(-math.exp(-40.0), rel=1e-14)
    assert Logistic().value(40.0, 1.0) == pytest.approx(math.exp(-40.0), rel=1e-14)
    far = Absolute().on(np.full((1, 2), -1e150))[0]
    assert far.value([1e150, 1e150]) == pytest.approx(math.sqrt(8) * 1e150)
    np.testing.assert_allclose(far.gradient([1e150, 1e150]), math.sqrt(0.5))
    tiny = Absolute().on(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(tiny.gradient([3e-320, 4e-320]), [0.6, 0.8], rtol=1e-3)
    assert Huber(0.5).value(1e300, -1e300) == 1e300


@pytest.mark.parametrize(
    ("family", "bound", "grid", "y"),
    [
        (Squared(), 2.0, np.linspace(-1.5, 2.5, 4001), 0.5),
        (Logistic(), 3.0, np.linspace(-3.0, 3.0, 4001), 1.0),
        (Logistic(), 0.4, np.linspace(-0.4, 0.4, 4001), -1.0),
        (Log(), 5.0, np.linspace(0.01, 5.0, 4001), None),
    ],
)
def test_exp_concavity_is_the_largest_constant(family, bound, grid, y):
    def bend(alpha):
        return np.diff(np.exp(-alpha * family.value(grid, y)), 2).max()

    alpha = family.exp_concavity(bound)
    assert bend(alpha) <= 1e-14
    assert bend(1.05 * alpha) > 1e-12


def test_other_facts():
    assert [f.exp_concavity(1.0) for f in KNOWN] == [1, 0, 0, 0, 0, math.exp(-1), 0, 0, 1]
    assert [f.strong_convexity for f in KNOWN] == [1.0] + [0.0] * 8
    assert [f.lipschitz for f in KNOWN] == [math.inf, 1, 0.8, 1, 0.3, 1, 1, 1, math.inf]
    assert [f.code for f in KNOWN] == [0, 1, 2, 3, 3, 4, 5, 6, 7]
    p = np.linspace(-2, 2, 401)
    assert np.diff(Squared().value(p, 0.3), 2).min() / (p[1] - p[0]) ** 2 == pytest.approx(
        1.0, rel=1e-9
    )
    with pytest.raises(ValueError, match="bound must be positive: got 0"):
        Hinge().exp_concavity(0)


def excess(family, grid, beta, y):
    """The largest violation of ℓ(a) − ℓ(b) ≤ g − (β/2)g², g = ℓ'(a)(a−b), over a grid."""
    a, b = np.meshgrid(grid, grid)
    g = family.gradient(a, y) * (a - b)
    return (family.value(a, y) - family.value(b, y) - (g - beta / 2 * g**2)).max(), g.max()


@pytest.mark.parametrize(
    ("family", "grid", "y", "bound"),
    [
        (Squared(), np.linspace(-0.5, 1.5, 201), 0.5, 1.0),
        (Logistic(), np.linspace(-2.0, 2.0, 201), 1.0, 2.0),
        (Log(), np.linspace(0.25, 2.0, 201), None, 1.0),
    ],
)
def test_newton_curvature_gives_the_quadratic_bound(family, grid, y, bound):
    alpha = family.exp_concavity(bound)
    _, gap = excess(family, grid, 0.0, y)
    beta = newton_curvature(alpha, gap)
    assert 0.0 < beta < alpha
    assert excess(family, grid, beta, y)[0] <= 1e-12
    assert beta >= 0.5 * min(1 / (4 * gap), alpha)


def test_the_exp_concavity_constant_itself_is_too_large():
    x, y = 1.0, 2.0
    g = Log().gradient(x) * (x - y)
    left = Log().value(x) - Log().value(y)
    assert left == pytest.approx(math.log(2))
    assert left > g - g**2 / 2 == 0.5
    assert left <= g - newton_curvature(1.0, g) / 2 * g**2 + 1e-15


def test_newton_curvature_digits():
    assert newton_curvature(0.7, 0.0) == 0.7
    for q in (1e-12, 1e-6, 0.01, 0.0999, 0.1001, 0.2):
        # the series of log(1 + q) in exact arithmetic
        exact = sum(2 * (-Fraction(q)) ** k / (k + 2) for k in range(60 if q > 0.05 else 20))
        assert newton_curvature(1.0, q) == pytest.approx(float(exact), rel=1e-14)
        assert newton_curvature(5.0, q / 5.0) == pytest.approx(5 * float(exact), rel=1e-13)
    assert newton_curvature(1.0, 1e10) == pytest.approx(2e-10, rel=1e-8)
    for bad in [(0.0, 1.0), (1.0, -1.0), (1e300, 1e300), (math.nan, 1.0)]:
        with pytest.raises(ValueError, match=r"alpha|gap"):
            newton_curvature(*bad)


def test_streams_as_sequences():
    losses = Squared().on([1.0, 2.0, 4.0], times=[0.0, 0.5, 3.0])
    assert (len(losses), losses.dim) == (3, 1)
    assert np.array_equal(losses.times, [0.0, 0.5, 3.0])
    assert Squared().on([1.0]).times is None
    assert [loss.value(0.0) for loss in losses] == [0.5, 2.0, 8.0]
    assert losses[-1].value(0.0) == losses[2].value([0.0]) == 8.0
    with pytest.raises(IndexError, match="3 rounds"):
        losses[3]
    for u in (1.0, [1.0], [1.0, 1.0, 1.0], np.ones((3, 1))):
        assert np.array_equal(losses.values(u), [0.0, 0.5, 4.5])
    vectors = Squared().on(np.eye(2))
    assert np.array_equal(vectors.values([1.0, 0.0]), vectors.values([[1.0, 0.0], [1.0, 0.0]]))
    assert Squared().on(np.ones((4, 1))).dim == 1
    assert np.array_equal(Log().on(x=[[1.0, 2.0]]).values([0.0, 0.5]), [0.0])


def test_streams_keep_their_own_data():
    y, x = np.ones(2), np.ones((2, 3))
    losses = Squared().on(y, x=x)
    y[:], x[:] = 7.0, 7.0
    assert losses[0].value(np.zeros(3)) == 0.5
    assert np.array_equal(losses[0].gradient(np.zeros(3)), -np.ones(3))


def test_families_broadcast_and_are_plain_values():
    p, y = np.linspace(-2, 2, 5)[:, None], np.array([1.0, -1.0])
    for family in (f for f in FAMILIES if not isinstance(f, Log)):
        table = family.value(p, y)
        assert table.shape == family.gradient(p, y).shape == (5, 2)
        assert table[3, 1] == family.value(float(p[3, 0]), -1.0)
        assert isinstance(family.value(1.0, 1.0), float)
        assert type(family)(**dataclasses.asdict(family)) == family
        assert hash(family) == hash(type(family)(**dataclasses.asdict(family)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Pinball(1.0), r"level must be between 0 and 1: got 1\.0; give"),
        (lambda: Pinball("high"), "level must be a number: got 'high'"),
        (lambda: Huber(0.0), r"width must be positive: got 0\.0"),
        (
            lambda: Logistic().on([0.0, 1.0]),
            r"y must be -1 or \+1 for Logistic: got 0\.0; map 0 and 1 by",
        ),
        (lambda: Hinge().value(1.0, 2.0), r"y must be -1 or \+1 for Hinge: got 2\.0"),
        (lambda: Squared().on([1.0, math.nan]), r"y must be finite: got nan at index \(1,\)"),
        (lambda: Squared().on(), "y must be given for Squared: got None"),
        (lambda: Squared().on([]), "at least one round"),
        (lambda: Squared().on(3.0), r"y must have shape \(T,\) or \(T, d\)"),
        (
            lambda: Pinball(0.5).on(np.ones((3, 2))),
            r"y must have shape \(T,\) for Pinball: got shape \(3, 2\)",
        ),
        (lambda: Hinge().on(np.ones((3, 2))), "give features x"),
        (
            lambda: Squared().on(np.ones(3), x=np.ones((2, 2))),
            r"y must have shape \(2,\), one value a row of x",
        ),
        (
            lambda: Squared().on(np.ones(3), x=np.ones(3)),
            r"x must have shape \(T, d\): got shape \(3,\)",
        ),
        (lambda: Squared().on(np.ones(1), x=[[math.inf]]), "x must be finite: got inf"),
        (lambda: Squared().on(x=np.ones((2, 2))), "y must be given"),
        (
            lambda: Squared().on([1.0, 2.0], times=[1.0, 1.0]),
            r"times must increase: got 1\.0 after 1\.0",
        ),
        (lambda: Squared().on([1.0, 2.0], times=[1.0]), "times must have 2 values: got 1"),
        (lambda: Log().on(), "x must be given for Log"),
        (lambda: Log().value([1.0, -2.0]), r"p must be positive for Log: got -2\.0; keep"),
        (lambda: Log().gradient(0.0), r"p must be positive for Log: got 0\.0"),
        (
            lambda: Log().on(x=np.ones((2, 2)))[0].gradient([0.0, 0.0]),
            "p must be positive for the log loss",
        ),
        (
            lambda: Log().on(x=np.ones((2, 2))).values([0.0, 0.0]),
            "p must be positive for the log loss",
        ),
        (
            lambda: Squared().value([1.0, 2.0], [1.0, 2.0, 3.0]),
            r"p and y must have matching shapes: got \(2,\) and \(3,\)",
        ),
        (lambda: Squared().value(math.nan, 1.0), "p must be finite"),
        (
            lambda: Squared().on([1.0])[0].value([1.0, 2.0]),
            r"w must have shape \(1,\): got shape \(2,\)",
        ),
        (lambda: Squared().on([1.0])[0].gradient(math.nan), "w must be finite"),
        (
            lambda: Squared().on(np.ones((3, 2))).values(np.ones(3)),
            r"u must have shape \(3, 2\) or \(2,\)",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_an_overflow_is_not_blamed_on_the_log_loss():
    big = 1e300
    for loss in (Squared(), Absolute(), Linear()):
        stream = loss.on([1.0], x=[[big, -big]])
        for call in (stream[0].value, stream[0].gradient, stream.values):
            with pytest.raises(
                ValueError,
                match=f"the {type(loss).__name__} loss must be a number: got an overflow; rescale",
            ):
                call([big, big])
    with pytest.raises(ValueError, match="p must be positive for the log loss"):
        Log().on(x=[[1.0]])[0].value([-1.0])


STEPS = [1e-9, 1e-3, 0.3, 1.0, 20.0, 1e6]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("family", "mode"),
    some(CASES, every=2),
    ids=lambda case: case if isinstance(case, str) else repr(case),
)
def test_implicit_gradients_are_subgradients_at_the_proximal_point(family, mode, step):
    """ℓ(x) ≥ ℓ(v) + ⟨g, x − v⟩ at v = w − step·g for every x: what makes v the argmin of ‖v − w‖²/2
    + step·ℓ(v).
    """
    losses, plays = stream(family, mode)
    rng = np.random.default_rng(1)
    for loss, w in zip(losses, plays, strict=True):
        g = loss.implicit_gradient(w, step)
        v = w - step * g
        value = loss.value(v)
        for size in (1e-6, 1e-2, 1.0, 100.0):
            x = v + size * rng.standard_normal(v.size)
            if isinstance(family, Log) and not prediction(loss, x) > 0.0:
                continue
            rounding = 1e-13 * (
                1.0 + abs(value) + np.abs(g).sum() * (size + np.abs(v).max() + np.abs(w).max())
            )
            assert loss.value(x) >= value + g @ (x - v) - rounding
        gradient = loss.gradient(w)
        assert g @ g <= gradient @ gradient * (1 + 1e-12)  # the envelope is flatter


def prediction(loss, w):
    return w[0] if loss.stream.x.shape[0] == 0 else w @ loss.stream.x[loss.index]


def test_implicit_gradients_at_and_near_kinks():
    for family, y, level in (
        (Absolute(), 0.5, 1.0),
        (Pinball(0.8), 0.5, 0.2),
        (Hinge(), 1.0, None),
    ):
        loss = family.on([y])[0]
        assert loss.implicit_gradient([y], 1e-300)[0] == 0.0
        assert loss.implicit_gradient([y], 1e300)[0] == 0.0
        if level is not None:
            assert loss.implicit_gradient([y + 1.0], 0.25)[0] == pytest.approx(level)
            # the point is the kink
            assert loss.implicit_gradient([y + 1.0], 100.0)[0] == pytest.approx(0.01)
    assert Hinge().on([1.0])[0].implicit_gradient([0.5], 10.0)[0] == pytest.approx(-0.05)
    # p' = 1e-8, from outside
    assert Log().on(x=[[1.0]])[0].implicit_gradient([-1e8], 1.0)[0] == pytest.approx(-1e8)
    for m in (-1e3, -30.0, 0.0, 30.0):
        for c in (1e-8, 1.0, 1e8, 1e300):
            s = -Logistic().on([1.0])[0].implicit_gradient([m], c)[0]
            x = m + c * s
            if c < 1e100:
                assert s == pytest.approx(0.5 * (1.0 - math.tanh(0.5 * x)), rel=1e-6, abs=1e-16)
            assert 0.0 <= s <= 1.0
    with pytest.raises(ValueError, match="step must be positive"):
        Absolute().on([1.0])[0].implicit_gradient([0.0], 0.0)
