import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive as twins
import stillpoint as sp
from stillpoint.domains import Ball, Box, Domain, Everywhere, HalfSpace, Projection, Simplex, _sets
from thorough import THOROUGH, some, some_of

DIMS = (1, 2, 3, 7)
EPS = np.finfo(float).eps
CLIPPED = Projection(lambda w: np.clip(w, -1.0, 2.0))


def sets(dim):
    return {
        "everywhere": Everywhere(),
        "ball": Ball(2.0),
        "ball off centre": Ball(0.5, center=np.linspace(-1.0, 3.0, dim)),
        "box": Box(-1.0, 2.0),
        "box by coordinate": Box([-math.inf] + [0.0] * (dim - 1), np.arange(dim) * 1.0),
        "simplex": Simplex(3.0),
        "half-space": HalfSpace(np.cos(np.arange(dim)), -0.5),
        "projection": CLIPPED,
    }


NAMES = list(sets(2))
COMPILED = [name for name in NAMES if name != "projection"]
entries = st.floats(-20.0, 20.0) | st.sampled_from([0.0, 1e-9, -1e150, 1e150, 1e12])


def vectors(dim, elements=entries):
    return st.lists(elements, min_size=dim, max_size=dim).map(np.array)


def norm(v):
    return math.hypot(*v)  # does not underflow


def surrogate(g, z, w):
    out = np.empty_like(g)
    _sets.surrogate(g, z, w, out)
    return out


@pytest.mark.parametrize("name", some(NAMES, every=2))
@given(data=st.data())
def test_projection_is_the_nearest_point(name, data):
    dim = data.draw(st.sampled_from(DIMS))
    domain = sets(dim)[name]
    z, other = data.draw(vectors(dim)), data.draw(vectors(dim))
    kept = z.copy()
    p, u = domain.project(z), domain.project(other)
    assert np.array_equal(z, kept)
    assert p is not z
    assert np.isfinite(p).all()
    assert domain.contains(p)
    assert np.linalg.norm(p) <= domain.reach(dim) * (1 + 1e-12)
    rounding = 64 * EPS * dim * max(1.0, np.abs(z).max(), np.abs(other).max())
    assert np.abs(domain.project(p) - p).max() <= rounding
    with np.errstate(over="ignore"):
        assert (z - p) @ (u - p) <= rounding * max(
            np.linalg.norm(z - p) + np.linalg.norm(u - p), 1.0
        )
    assert np.linalg.norm(p - u) <= np.linalg.norm(z - other) + rounding


@pytest.mark.parametrize("name", some(COMPILED, every=2))
@given(data=st.data())
def test_compiled_projection_gives_the_same_bits(name, data):
    dim = data.draw(st.sampled_from(DIMS))
    domain = sets(dim)[name]
    z = data.draw(vectors(dim))
    w = np.full(dim, np.nan)
    _sets.project(*domain._compiled(dim), z, w)
    assert np.array_equal(w, domain.project(z))


@pytest.mark.parametrize("name", some(NAMES, every=2))
@given(data=st.data())
def test_surrogate_dominates_and_does_not_grow(name, data):
    dim = data.draw(st.sampled_from(DIMS))
    domain = sets(dim)[name]
    moderate = st.floats(-20.0, 20.0)
    z, other = data.draw(vectors(dim, moderate)), data.draw(vectors(dim, moderate))
    g = data.draw(vectors(dim, st.floats(-3.0, 3.0).filter(lambda v: v == 0.0 or abs(v) > 1e-100)))
    w, u = domain.project(z), domain.project(other)
    out = surrogate(g, z, w)
    # the direction of z - w is known to about eps |z| / |z - w|, and trusted from |z - w| =
    # ROUNDING |z| on
    size, gap = norm(z) + norm(w), np.abs(z - w).max()
    doubt = _sets.ROUNDING + min(
        1.0, 8 * EPS * dim * size / max(gap, _sets.ROUNDING * size, 1e-300)
    )
    slack = norm(g) * (doubt * norm(w - u) + 1e-12 * (size + norm(u)))
    assert g @ (w - u) <= out @ (z - u) + slack
    assert norm(out) <= norm(g) * (1 + 1e-15)


@given(data=st.data())
def test_surrogate_removes_the_outward_part_only(data):
    dim = data.draw(st.sampled_from(DIMS))
    entries = st.floats(-20.0, 20.0)
    g, z, w = (data.draw(vectors(dim, entries)) for _ in range(3))
    assume(np.linalg.norm(z - w) > 1e-6)
    v = (z - w) / np.linalg.norm(z - w)
    expected = g - min(g @ v, 0.0) * v
    np.testing.assert_allclose(
        surrogate(g, z, w), expected, rtol=0, atol=1e-13 * (1 + np.abs(g).max())
    )
    assert np.array_equal(surrogate(g, z, z), g)
    aliased = g.copy()
    _sets.surrogate(aliased, z, w, aliased)
    assert np.array_equal(aliased, surrogate(g, z, w))


def test_surrogate_at_the_boundary_ignores_the_direction_of_rounding():
    rng = np.random.default_rng(0)
    domain = Ball(1.0, center=[1e3, -1e3, 0.0])
    worst = 0.0
    for _ in range(2000):
        direction = rng.standard_normal(3)
        z = np.asarray(domain.center) + direction / np.linalg.norm(direction) * (
            1 + EPS * rng.integers(-3, 4)
        )
        w = domain.project(z)
        g, u = rng.standard_normal(3), domain.project(rng.standard_normal(3) * 1e3)
        worst = max(worst, g @ (w - u) - surrogate(g, z, w) @ (z - u))
    assert worst < 1e-9


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", NAMES)
def test_huge_proposals(name, dim):
    domain = sets(dim)[name]
    rng = np.random.default_rng(dim)
    for _ in range(20):
        z = 1e150 * rng.choice([-1.0, 1.0, 0.5], dim)
        w = domain.project(z)
        assert np.isfinite(w).all()
        assert domain.contains(w)
        g = rng.standard_normal(dim)
        out = surrogate(g, z, w)
        assert np.isfinite(out).all()
        assert math.hypot(*out) <= math.hypot(*g) * (1 + 1e-15)


def test_projections_against_closed_forms():
    np.testing.assert_allclose(Ball(5.0).project([6.0, 8.0]), [3.0, 4.0], rtol=1e-15)
    np.testing.assert_allclose(
        Ball(1.0, center=[1.0, 0.0]).project([1.0, 3.0]), [1.0, 1.0], rtol=1e-15
    )
    np.testing.assert_array_equal(Box(-1.0, [1.0, math.inf]).project([-3.0, 9.0]), [-1.0, 9.0])
    np.testing.assert_allclose(Simplex().project([0.5, 0.4, -3.0]), [0.55, 0.45, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(Simplex(2.0).project([1e150, -1e150, 1e150]), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(Simplex(2.0).project(-7.0), [2.0])
    np.testing.assert_allclose(
        HalfSpace([3.0, 4.0], 5.0).project([6.0, 8.0]), [0.6, 0.8], rtol=1e-15
    )
    np.testing.assert_array_equal(HalfSpace([0.0, 1e-200], 1e-200).project([3.0, 4.0]), [3.0, 1.0])
    np.testing.assert_array_equal(HalfSpace([1e200, 0.0], 1e200).project([3.0, 4.0]), [1.0, 4.0])


def test_simplex_against_a_search_for_the_level():
    rng = np.random.default_rng(4)
    for dim in (2, 5, 40):
        z = rng.standard_normal(dim) * 2
        low, high = z.min() - 1.0, z.max()
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(z - middle, 0.0).sum() > 1.0 else (low, middle)
        np.testing.assert_allclose(Simplex().project(z), np.maximum(z - low, 0.0), atol=1e-14)


def test_contains_and_reach():
    assert Box(-1.0, 1.0).contains([1.0, -1.0])
    assert not Box([-math.inf, 0.0], [math.inf, 1.0]).contains([1e9, 1.5])
    assert Ball(1.0).contains([1.0 + 1e-10, 0.0])
    assert not Ball(1.0).contains([1.0 + 1e-6, 0.0])
    assert Ball(1.0).contains([1.1, 0.0], tolerance=0.2)
    assert Simplex().contains([0.5, 0.5])
    assert not Simplex().contains([0.5, 0.4])
    assert Everywhere().reach(3) == HalfSpace([1.0], 0.0).reach(1) == CLIPPED.reach(2) == math.inf
    assert Ball(2.0).reach(9) == 2.0
    assert Ball(2.0, center=[3.0, 4.0]).reach(2) == 7.0
    assert Box(-1.0, 0.5).reach(4) == 2.0
    assert Box(-math.inf, 0.5).reach(4) == math.inf
    assert Simplex(3.0).reach(5) == 3.0
    assert Projection(np.abs, radius=4.0).reach(2) == 4.0


@pytest.mark.parametrize(
    "domain",
    [
        Everywhere(),
        Ball(1.0, np.array([1.0, 2.0])),
        Box([0, 1], 3),
        Simplex(2),
        HalfSpace(np.ones(2), 1),
    ],
)
def test_sets_are_plain_values(domain):
    fields = dataclasses.asdict(domain)
    assert json.loads(json.dumps(fields)).keys() == fields.keys()
    again = type(domain)(**json.loads(json.dumps(fields)))
    assert again == domain
    assert hash(again) == hash(domain)
    domain.check(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        domain.radius = 3.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Ball(0.0), r"radius must be positive: got 0\.0; give"),
        (lambda: Ball(math.inf), "radius must be finite"),
        (lambda: Ball("wide"), "radius must be a number: got 'wide'"),
        (lambda: Ball(1.0, [0.0, math.nan]), r"center must be finite: got nan at index \(1,\)"),
        (lambda: Ball(1.0, np.ones((2, 2))), "center must be one-dimensional"),
        (
            lambda: Ball(1.0, [0.0, 1.0]).check(3),
            "center must have 3 values, one a coordinate: got 2",
        ),
        (lambda: Ball(1.0, [0.0, 1.0]).project([1.0]), "center must have 1 values"),
        (lambda: Box(1.0, 0.0), r"low must not be above high: got low 1\.0 and high 0\.0"),
        (lambda: Box(0.0, [1.0, -2.0]), r"got low 0\.0 and high -2\.0"),
        (lambda: Box("0", 1.0), "low must be numeric: got '0'"),
        (lambda: Box(0.0, np.datetime64("2026-01-01")), "high must be numeric.*convert dates"),
        (lambda: Box(math.inf, math.inf), "low must not be above high"),
        (lambda: Box(math.nan, 1.0), "low must be a number or a vector, without NaN"),
        (lambda: Box("a", 1.0), "low must be numeric: got 'a'"),
        (lambda: Box([0.0], [1.0, 2.0]), "low must have as many values as high: got 1 and 2"),
        (lambda: Box(0.0, [1.0, 2.0])._compiled(3), "high must have 3 values"),
        (lambda: Simplex(-1.0), r"total must be positive: got -1\.0"),
        (lambda: HalfSpace([0.0, 0.0], 1.0), "normal must not be 0"),
        (lambda: HalfSpace([1.0], math.inf), "offset must be finite"),
        (lambda: HalfSpace([1e-200], 1e200), "offset is too large for normal"),
        (
            lambda: HalfSpace([1.0], 1.0).reach(1) and HalfSpace([1.0], 1.0).check(2),
            "normal must have 2 values",
        ),
        (lambda: Projection(3.0), r"fn must be callable: got 3\.0"),
        (lambda: Projection(np.abs, radius=math.nan), "radius must be finite"),
        (
            lambda: Projection(lambda w: w[:1]).project([1.0, 2.0]),
            r"fn\(w\) must have shape \(2,\): got shape \(1,\)",
        ),
        (
            lambda: Projection(lambda w: w * math.inf).project([1.0, 2.0]),
            r"fn\(w\) must be finite: got inf",
        ),
        (lambda: Everywhere().check(0), "dim must be a positive whole number: got 0"),
        (
            lambda: Everywhere().project([1.0, math.nan]),
            r"w must be finite: got nan at index \(1,\)",
        ),
        (lambda: Everywhere().project(np.ones((2, 2))), r"w must have shape \(dim,\)"),
    ],
)
def test_bad_parameters(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_projection_function_cannot_touch_the_argument():
    def in_place(w):
        np.maximum(w, 0.0, out=w)
        return w

    z = np.array([-1.0, 2.0])
    assert np.array_equal(Projection(in_place).project(z), [0.0, 2.0])
    assert np.array_equal(z, [-1.0, 2.0])
    assert Projection(in_place)._compiled(2) is None


class Own(Domain):
    """A set of one's own, whose projection is a function."""

    def __init__(self, fn):
        self.fn = fn

    def reach(self, dim):
        return Box(0.0, 0.5).reach(dim)

    def project(self, w):
        return self.fn(w)


def test_a_domain_of_ones_own_cannot_touch_the_argument_or_return_anything():
    z = np.array([-1.0, 2.0])
    inside = Own(lambda w: np.clip(w, 0.0, 0.5, out=w))
    assert np.array_equal(inside.project(z), [0.0, 0.5])
    assert np.array_equal(z, [-1.0, 2.0])
    for build in (sp.Tracker, sp.MultiScale, sp.KernelFTRL):
        for value in ([np.nan, 0.0], [1.0, 2.0, 3.0], None):
            learner = build(2, domain=Own(lambda w, value=value: value))
            with pytest.raises(ValueError, match=r"Own\.project\(w\) must"):
                learner.predict()
            assert learner.rounds == 0
    plays = sp.play(sp.Tracker(2, domain=inside), -np.ones((40, 2))).plays
    expected = sp.play(sp.Tracker(2, domain=Box(0.0, 0.5)), -np.ones((40, 2))).plays
    np.testing.assert_allclose(plays, expected, rtol=1e-12)


class Static(Domain):
    """Projections that need no set, or name their arguments."""

    def reach(self, dim):
        return Box(0.0, 0.5).reach(dim)

    @staticmethod
    def project(w):
        return np.clip(w, 0.0, 0.5)

    def project_in_metric(self, w, metric):
        return self.project(w) + 0.0 * np.diag(metric)


def test_projections_of_ones_own_may_be_static_and_are_called_by_any_arguments():
    z, inside = np.array([-1.0, 2.0]), np.array([0.0, 0.5])
    np.testing.assert_array_equal(Static().project(z), inside)
    np.testing.assert_array_equal(Static().project_in_metric(w=z, metric=np.eye(2)), inside)
    with pytest.raises(ValueError, match=r"Static\.project_in_metric\(w\) must"):
        Static().project_in_metric(z, np.full((2, 2), np.nan))


def test_a_set_with_a_compiled_projection_takes_no_other():
    """Learners would play in the set that it is derived from."""

    class Narrower(Box):
        def check(self, dim):
            super().check(dim)

    np.testing.assert_array_equal(Narrower(0.0, 1.0).project([-1.0, 2.0]), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"project must stay that of Box, .*Slice; derive it"):

        class Slice(Narrower):
            def project(self, w):
                return super().project(w) * [1.0, 0.0]


def test_read_only_and_strided_arguments():
    z = np.arange(6.0)[::2]
    z.flags.writeable = False
    np.testing.assert_allclose(Ball(1.0).project(z), z / np.linalg.norm(z), rtol=1e-15)


def test_surrogate_of_a_gradient_along_the_normal_is_nothing():
    normal = np.array([1.0, 2.0, 3.0])
    domain = HalfSpace(normal, -1.0)
    for z in (np.zeros(3), np.array([0.1, 0.7, -0.2]), 1e6 * normal):
        # rounding would leave some 1e-17 of no meaning
        assert not surrogate(-normal, z, domain.project(z)).any()
    aside = surrogate(-normal + [1e-9, 0.0, 0.0], np.zeros(3), domain.project(np.zeros(3)))
    assert 1e-10 < np.abs(aside).max() < 1e-8  # what is small but there stays


def metrics(dim, condition, seed, count=15):
    """Metrics of that condition, and points at all distances to project in them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        axes, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
        yield (
            axes * np.geomspace(1.0, 1.0 / condition, dim) @ axes.T,
            rng.standard_normal(dim) * 10.0 ** rng.uniform(-1, 2),
        )


EXACT = {
    "ball": Ball(1.5),
    "simplex": Simplex(2.0),
    "box": Box(-1.0, 0.5),
    "point": Box(0.25, 0.25),
}


@pytest.mark.parametrize("dim", some([1, 2, 3, 4], every=2))
@pytest.mark.parametrize("name", [*EXACT, "ball off centre", "half-space"])
def test_projections_in_a_metric_are_the_minimum(name, dim):
    """Against every set of active sides in turn, and the multiplier of the ball."""
    domain = {**EXACT, **sets(dim)}[name]
    for condition in (1.0, 100.0, 1e4):
        for metric, w in metrics(dim, condition, seed=dim, count=15 if THOROUGH else 5):
            x = domain.project_in_metric(w, metric)
            assert domain.contains(x)
            np.testing.assert_allclose(
                x, twins.project_in_metric(domain, w, metric), rtol=0, atol=1e-9 * np.abs(w).max()
            )


@pytest.mark.parametrize(
    ("name", "dim"),
    some_of(["ball", "simplex", "box", "half-space", "ball off centre"], [1, 2, 3, 4], every=4),
)
def test_sets_known_by_their_projection_are_projected_on_in_a_metric(name, dim):
    exact = {**EXACT, **sets(dim)}[name]
    domain = Projection(exact.project)
    for condition in (1.0, 100.0, 1e4):
        for metric, w in metrics(dim, condition, seed=dim, count=5 if THOROUGH else 2):
            x, expected = domain.project_in_metric(w, metric), exact.project_in_metric(w, metric)
            assert np.array_equal(exact.project(x), x) or exact.contains(x)
            np.testing.assert_allclose(x, expected, rtol=0, atol=1e-8 * np.abs(w).max())


def test_a_metric_must_be_one():
    for metric, word in (
        (np.eye(2), "shape"),
        (-np.eye(3), "positive definite"),
        (np.full((3, 3), np.nan), "finite"),
    ):
        with pytest.raises(ValueError, match=f"metric must.* {word}"):
            Simplex().project_in_metric(np.zeros(3), metric)
    inside = np.array([0.2, 0.3, 0.5])
    assert np.allclose(Simplex().project_in_metric(inside, np.diag([1.0, 2.0, 3.0])), inside)


@pytest.mark.parametrize("condition", [1e2, 1e8, 1e12])
def test_box_projection_in_an_ill_conditioned_metric_meets_its_conditions(condition):
    """With the slope at the projection: 0 where a side leaves room, out of the box where not; a
    side may be open or closed up.
    """
    rng, low, high = np.random.default_rng(7), (-0.4, -1.0, 0.2, -np.inf), (0.3, 0.5, 0.2, 0.1)
    for _ in range(20):
        axes, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        metric = axes * np.geomspace(1.0, 1.0 / condition, 4) @ axes.T
        w = 2.0 * rng.standard_normal(4)
        x = Box(low, high).project_in_metric(w, metric)
        # in the coordinates in which the metric is the identity, so that nothing is lost
        sizes, axes = np.linalg.eigh(metric)
        A = (axes / np.sqrt(sizes)).T
        slope = A.T @ (A @ (x - w))
        free = (x > low) & (x < high)
        out = np.where(x <= low, -slope, slope)
        tiny = 1e-7 * np.linalg.norm(A) * np.linalg.norm(A @ (x - w))
        assert ((x >= low) & (x <= high)).all()
        assert np.abs(slope[free]).max(initial=0.0) <= tiny
        assert out[~free & (np.array(low) < high)].max(initial=0.0) <= tiny
