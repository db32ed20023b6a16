"""TrackingVAW against dense matrices; guarantees."""

import numpy as np
import pytest

from cases import certified
from states import copy, same
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.forecasters.tracking_vaw import TrackingVAW
from stillpoint.kernels import OU, Dirac, Matern32, OUMixture, Spline
from thorough import some_of
from tracking_cases import contexts

KERNELS = {
    "ou": OU(0.1),
    "spline": Spline(1.0),
    "matern": Matern32(3.0),
    "mixture": OUMixture([0.01, 0.3], [1.0, 0.5]),
    "nugget": OU(0.1) + 0.3 * Dirac(),
}
REGULAR = np.arange(1.0, 81.0)
TIMES = {
    "regular": REGULAR,
    "irregular": np.cumsum(np.random.default_rng(5).exponential(size=80)) + 0.5,
}


@pytest.mark.parametrize(
    ("name", "times", "dim", "ridge"), some_of(KERNELS, TIMES, [1, 3], [0.1, 1.0, 20.0], every=6)
)
def test_vaw_is_its_dense_twin_and_certified(name, times, dim, ridge):
    (x, y), tau, kernel = contexts(dim), TIMES[times], KERNELS[name]
    K = (x @ x.T) * kernel.gram(tau)
    model, plays, variances = TrackingVAW(dim, kernel=kernel, ridge=ridge), [], []
    for row, time, target in zip(x, tau, y, strict=True):
        plays.append(model.predict(row, time))
        variances.append(model.variance)
        model.update(row, target)
    for t in range(len(y)):
        A = K[: t + 1, : t + 1] + ridge * np.eye(t + 1)
        assert plays[t] == pytest.approx(
            K[t, : t + 1] @ np.linalg.solve(A, np.append(y[:t], 0.0)), abs=1e-9
        )
        B = K[:t, :t] + ridge * np.eye(t)
        assert variances[t] == pytest.approx(
            K[t, t] - K[t, :t] @ np.linalg.solve(B, K[:t, t]), rel=1e-9, abs=1e-9
        )
    certified(model, K, y, np.array(plays), rel=1e-9)


def test_vaw_coefficients_follow_and_default_kernel():
    x, _ = contexts(2, 400)
    model = TrackingVAW(2)
    for row in x:
        model.update(row, row @ [1.0, -2.0])
    np.testing.assert_allclose(model.coefficients, [1.0, -2.0], atol=0.01)
    assert model.rounds == 400
    assert model.time == 400.0


def test_vaw_missing_rounds_are_dense_ones_left_out():
    x, y = contexts(2, 40)
    model, kernel, kept = TrackingVAW(2, kernel=OU(0.1)), OU(0.1), []
    for t in range(40):
        if t % 3 == 1:
            model.skip()
        elif t % 3 == 2:
            model.predict(x[t])
            model.skip()
        else:
            K = (x[[*kept, t]] @ x[[*kept, t]].T) * kernel.gram(np.array([*kept, t], float))
            dense = K[-1] @ np.linalg.solve(K + np.eye(len(K)), np.append(y[kept], 0.0))
            assert model.predict(x[t]) == pytest.approx(dense, abs=1e-9)
            model.update(x[t], y[t])
            kept.append(t)


@pytest.mark.parametrize("opened", [False, True])
def test_vaw_refuses_bad_input_unchanged(opened):
    x, y = contexts(2)
    model = TrackingVAW(2, kernel=OU(0.1))
    for row, target in zip(x[:9], y, strict=False):
        model.update(row, target)
    if opened:
        first = model.predict(x[9])
        assert model.predict(x[9]) == first
    before = copy(model)
    calls = [
        (lambda: model.update(x[9], np.nan), "y must be finite"),
        (lambda: model.update(x[9], "a"), "y must be a number"),
        (lambda: model.update(x[9], 1e200), "y must be within"),
        (lambda: model.update([np.inf, 0.0], 0.0), "x must be finite"),
        (lambda: model.predict([1.0, 2.0, 3.0]), r"x must have shape \(2,\)"),
        (lambda: model.predict([1e200, 0.0]), "x must be within"),
        (lambda: model.predict(x[9], time=3.0), "time must"),
        (lambda: model.skip(time=3.0), "time must"),
        (lambda: model.certificate(-1.0), "radius must not be negative"),
    ]
    if opened:
        calls.append((lambda: model.update(x[10], 0.0), "x must be that of the open round"))
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert same(model, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim"),
        ({"dim": 2, "ridge": 0.0}, "ridge"),
        ({"dim": 2, "kernel": "ou"}, "kernel must be a kernel"),
    ],
)
def test_vaw_refuses_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        TrackingVAW(**arguments)


@pytest.mark.parametrize("size", [1e12, 1e-12, 0.0])
def test_vaw_extreme_targets(size):
    x, y = contexts(2)
    plain, scaled = TrackingVAW(2), TrackingVAW(2)
    for row, target in zip(x, y, strict=True):
        assert scaled.predict(row) == pytest.approx(size * plain.predict(row), rel=1e-9)
        plain.update(row, target)
        scaled.update(row, size * target)


@pytest.mark.parametrize("size", [1e7, 1e-7])
def test_vaw_extreme_contexts(size):
    """⟨w, x⟩ is unchanged when x grows by c, w shrinks by it and so does the ridge's share: λ times
    c².
    """
    x, y = contexts(2)
    plain, scaled = TrackingVAW(2), TrackingVAW(2, ridge=size * size)
    wild = TrackingVAW(2, kernel=OU(1e-3))
    for row, target in zip(x, y, strict=True):
        assert scaled.predict(size * row) == pytest.approx(plain.predict(row), rel=1e-9)
        plain.update(row, target)
        scaled.update(size * row, target)
        assert np.isfinite(wild.predict(size**3 * row))
        wild.update(size**3 * row, target)
    assert np.isfinite([wild.certificate(1.0), wild.log_det, wild.effective_dimension]).all()


@pytest.mark.parametrize(
    "make", [lambda: TrackingVAW(2, kernel=Matern32(3.0)), lambda: TrackingForecaster(2)]
)
def test_restored_models_go_on_bit_for_bit(make):
    x, y = contexts(2)
    model = make()
    for t in range(40):
        model.update(x[t], y[t])
    for opened in (False, True):
        if opened:
            model.predict(x[40])
        twin = copy(model)
        assert same(model, twin)
        for t in range(40, 50):
            assert model.predict(x[t]) == twin.predict(x[t])
            model.update(x[t], y[t])
            twin.update(x[t], y[t])
        assert same(model, twin)
        model = make()
        for t in range(40):
            model.update(x[t], y[t])
