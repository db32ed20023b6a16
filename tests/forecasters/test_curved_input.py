"""Hostile input for curved learners: curvatures, units, times, ridges. Aggregating forecasters have
theirs beside them.
"""

import numpy as np
import pytest

import stillpoint as sp
from cases import Opaque, targets
from stillpoint import checks
from stillpoint.domains import Ball
from stillpoint.kernels import OU, Constant, Gaussian, Spline
from stillpoint.regret import rkhs_norm
from thorough import some, some_of


@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)])
@pytest.mark.parametrize("curvature", some([1e-3, 1.0, 1e3], every=2))
def test_no_gradient_contradicts_a_curvature(kernel, curvature):
    """Any g at any play is that of a loss with the curvature, so a refusal would be a false alarm;
    certificates hold on them.
    """
    rng, rounds = np.random.default_rng(8), 60
    u = np.column_stack([np.sin(np.arange(rounds) / 9), np.cos(np.arange(rounds) / 7)])
    gram = kernel.gram(np.arange(1.0, rounds + 1.0))
    u = gram @ np.linalg.solve(gram + 0.1 * np.eye(rounds), u)
    norm = rkhs_norm(kernel, u, method="dense")
    for learner in (
        sp.StronglyConvex(2, kernel=kernel, curvature=curvature),
        sp.ExpConcave(2, kernel=kernel, curvature=curvature),
        sp.ExpConcave(2, kernel=kernel, curvature=curvature, domain=Ball(2.0)),
    ):
        regret = 0.0
        for t in range(rounds):
            w, g = learner.predict(), 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(2)
            step = u[t] - w
            bend = step @ step if isinstance(learner, sp.StronglyConvex) else (g @ step) ** 2
            # the loss is 0 at w, this at u, and its gradient at w is g
            regret -= g @ step + curvature / 2 * bend
            learner.update(g)
        assert regret <= learner.certificate(norm) * (1 + 1e-9)


def test_curvature_times_the_gap_may_exceed_one():
    """½(w − y)² on |w| ≤ C, |y| ≤ Y: β = 1/(C + Y)² is right on all of the domain, and β⟨g, x − y⟩
    reaches 2C/(C + Y).
    """
    C, Y = 2.0, 0.5
    beta, w = 1 / (C + Y) ** 2, np.linspace(-C, C, 41)
    x, z, y = np.meshgrid(w, w, np.linspace(-Y, Y, 11))
    gap = (x - y) * (x - z)
    assert (0.5 * (x - y) ** 2 - 0.5 * (z - y) ** 2 <= gap - beta / 2 * gap**2 + 1e-12).all()
    assert beta * gap.max() == pytest.approx(2 * C / (C + Y))
    learner = sp.ExpConcave(1, kernel=OU(0.01), curvature=beta, domain=Ball(C))
    for t in range(100):
        learner.update(learner.predict() - (Y if t % 40 < 20 else -Y))


@pytest.mark.parametrize("kernel", [Constant(), Opaque(Constant())])
def test_curvature_that_drowns_in_the_gradients_is_named(kernel):
    learner, twin = (sp.ExpConcave(2, kernel=kernel, curvature=1.0) for _ in range(2))
    for each in (learner, twin):
        each.update([1e12, 0.0])  # the first may be as long as it likes: all is known about it
        each.predict()
    with pytest.raises(
        ValueError, match=r"curvature must not drown in the gradients: got 1\.0 .*lower curvature"
    ):
        learner.update([1e12, 0.0])
    assert checks._same(learner, twin)
    learner.update([1.0, 1.0])
    model = sp.TrackingVAW(2, kernel=kernel)
    model.update([1e9, 0.0], 1.0)
    model.predict([1e9, 0.0])
    before = model.arrays()
    with pytest.raises(ValueError, match="ridge must not drown in the contexts: got 1"):
        model.update([1e9, 0.0], 1.0)
    assert all(np.array_equal(value, before[key]) for key, value in model.arrays().items())
    model.skip()
    # in units that fit there is nothing to refuse, and kernels that forget never know a direction
    # that well
    fits = [
        sp.ExpConcave(2, kernel=kernel, curvature=1e-24),
        sp.ExpConcave(2, kernel=OU(0.1), curvature=1.0),
    ]
    for learner in fits:
        for _ in range(20):
            learner.update([1e12, 0.0])
        assert np.isfinite(learner.predict()).all()
    # W ← W − A⁻¹G with A = 1 + t, G = 1 in units of 1e12
    steps = np.cumsum(1.0 / (1.0 + np.arange(1, 21)))
    assert fits[0].predict()[0] == pytest.approx(-1e12 * steps[-1], rel=1e-9)


@pytest.mark.parametrize("make", [sp.StronglyConvex, sp.ExpConcave])
@pytest.mark.parametrize(
    ("curvature", "ridge"),
    [(1e-320, 1.0), (1e150, 1.0), (1.0, 1e300), (1e80, 1e-80), (1e12, 1e-300)],
)
def test_curvatures_that_floats_cannot_hold_are_named(make, curvature, ridge):
    with pytest.raises(
        ValueError, match=r"curvature must be between .*ridge/curvature: got .*rescale the losses"
    ):
        make(1, kernel=OU(0.1), curvature=curvature, ridge=ridge)


def test_variances_that_floats_cannot_hold_are_refused():
    """A kernel of weight 1e200 and a context of 1e100: nothing of it may enter the filter."""
    kernel = 1e200 * OU(0.1)
    model, twin = sp.TrackingVAW(1, kernel=kernel), sp.TrackingVAW(1, kernel=kernel)
    for each in (model, twin):
        each.predict([1e100])
    with pytest.raises(
        ValueError,
        match=r"ridge must not drown in the contexts: got 1\.0 and x of prior variance inf",
    ):
        model.update([1e100], 1.0)
    learner = sp.ExpConcave(1, kernel=kernel, curvature=1.0)
    with pytest.raises(ValueError, match="curvature must not drown"):
        learner.update(1e100)
    for norms in ("full", "diagonal"):
        for lipschitz, weight in ((1e200, 1.0), (1e100, 1e200), (1.0, 1e300)):
            with pytest.raises(
                ValueError,
                match=r"lipschitz must be at most 1e\+100/√kernel_bound.*rescale the losses",
            ):
                sp.Directional(1, lipschitz=lipschitz, kernel=OU(0.1, weight), norms=norms)
    for each in (model, twin):
        each.skip()
        each.update([1.0], 1.0)
    assert model.predict([1.0]) == twin.predict([1.0])
    assert np.isfinite([model.certificate(1.0), learner.certificate(1.0)]).all()


CURVED = {
    "strongly convex": lambda kernel, c, **o: sp.StronglyConvex(
        2, kernel=kernel, curvature=1.0, **o
    ),
    "exp-concave": lambda kernel, c, **o: sp.ExpConcave(
        2, kernel=kernel, curvature=0.25 / c**2, **o
    ),
    "directional": lambda kernel, c, **o: sp.Directional(
        2, kernel=kernel, lipschitz=9 * c, kernel_bound=70.0, **o
    ),
    "diagonal": lambda kernel, c, **o: sp.Directional(
        2, kernel=kernel, lipschitz=9 * c, kernel_bound=70.0, norms="diagonal", **o
    ),
}


@pytest.mark.parametrize(
    ("name", "kernel", "c"),  # c is 1.1e12 or its inverse
    some_of(
        CURVED, [OU(0.1), Spline(1.0), Constant(), Gaussian(3.0)], [2.0**40, 2.0**-40], every=4
    ),
)
def test_extreme_and_constant_targets_only_change_the_units(name, c, kernel):
    """Plays follow the units of the targets, Directional's those of `scale`; powers of two, so that
    rounding does as well.
    """
    given = {"ridge": c * c, "scale": c} if "d" == name[0] else {}
    for y in (targets(60, 2, 9), np.ones((60, 2)), np.zeros((60, 2))):
        plain, scaled = CURVED[name](kernel, 1.0), CURVED[name](kernel, c, **given)
        for row in y:
            w, z = plain.predict(), scaled.predict()
            np.testing.assert_allclose(z, c * w, rtol=1e-9, atol=1e-15 * c)
            plain.update(w - row)
            scaled.update(z - c * row)
        assert np.isfinite([scaled.certificate(c), scaled.certificate(0.0)]).all()


@pytest.mark.parametrize("c", [1e12, 1e-12])
def test_dense_forecasters_on_extreme_and_constant_targets(c):
    for y in (targets(40, 1, 10)[:, 0], np.ones(40)):
        plain, scaled = sp.KernelVAW(kernel=Gaussian(3.0)), sp.KernelVAW(kernel=Gaussian(3.0))
        np.testing.assert_allclose(scaled.track(c * y), c * plain.track(y), rtol=1e-9)
        with_x, with_cx = (sp.TrackingVAW(1, kernel=Gaussian(3.0)) for _ in range(2))
        for v in y:
            assert with_cx.predict(1.0) == pytest.approx(c * with_x.predict(1.0), rel=1e-9)
            with_x.update(1.0, v)
            with_cx.update(1.0, c * v)


@pytest.mark.parametrize("kernel", [OU(0.1), Gaussian(3.0)])
def test_duplicated_times_are_refused_unchanged(kernel):
    models = [CURVED[name](kernel, 1.0) for name in CURVED]
    models += [
        sp.KernelVAW(kernel=kernel),
        sp.TrackingVAW(1, kernel=kernel),
        sp.KernelForecaster(),
        sp.KernelForecaster(kernels=kernel),
    ]
    for model in models:
        x = ([1.0],) if isinstance(model, sp.TrackingVAW) else ()
        for time in (1.0, 2.5):
            model.predict(*x, time=time)
            model.update(*x, [0.5, 0.5] if model in models[:4] else 0.5)
        before = {key: np.array(value) for key, value in model.arrays().items()}
        for time in (2.5, 1.0):
            with pytest.raises(ValueError, match="time must"):
                model.predict(*x, time=time)
        assert all(np.array_equal(value, before[key]) for key, value in model.arrays().items())
        assert np.isfinite(model.predict(*x, time=np.nextafter(2.5, 3.0))).all()


@pytest.mark.parametrize("ridge", [0.0, -1.0, float("nan"), float("inf")])
def test_ridges_that_are_not_positive_are_named(ridge):
    calls = [
        lambda: sp.KernelVAW(ridge=ridge),
        lambda: sp.TrackingVAW(1, ridge=ridge),
        lambda: sp.KernelForecaster(ridges=[1.0, ridge]),
        *(lambda name=name: CURVED[name](OU(0.1), 1.0, ridge=ridge) for name in CURVED),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="ridge"):
            call()
