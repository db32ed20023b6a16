"""Rounds of the VAW forecasters: missing ones, whole streams, saving, and what is refused."""

import numpy as np
import pytest

import stillpoint as sp
from cases import MARKOV, TIMES
from stillpoint.kernels import OU, Gaussian, HorizonFree, Matern32, Spline
from thorough import some


def test_missing_observations_only_move_time():
    a, b = sp.KernelVAW(kernel=OU(0.1)), sp.KernelVAW(kernel=OU(0.1))
    for v in (1.0, -0.5):
        a.update(v)
        b.update(v)
    for _ in range(3):
        a.skip()
    a.predict()
    assert a.predict() == pytest.approx(b.predict(time=6.0), rel=1e-13)
    assert (a.rounds, a.time) == (5, 6.0)
    assert a.variance > 0.0


def test_forecasters_with_contexts_save(tmp_path):
    X = np.random.default_rng(11).standard_normal((40, 2))
    y = X @ [1.0, -2.0] + 0.1
    for model in (sp.TrackingVAW(2, kernel=OU(0.05), ridge=0.5), sp.TrackingForecaster(2)):
        for x, v in zip(X[:20], y[:20], strict=True):
            model.update(x, v)
        sp.save(model, tmp_path / "model")
        loaded = sp.load(tmp_path / "model")
        for x, v in zip(X[20:], y[20:], strict=True):
            assert model.predict(x) == loaded.predict(x)
            model.update(x, v)
            loaded.update(x, v)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernels": [OU(0.1), Spline(1.0)], "ridges": [0.5, 2.0]},
        {"aggregation": "vovk", "share": 0.01},
    ],
)
def test_forecaster_saves(options, tmp_path):
    y = np.sin(np.arange(60) / 7)
    model = sp.KernelForecaster(**options)
    for v in y[:30]:
        model.update(v)
    sp.save(model, tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    for v in y[30:]:
        assert model.predict() == loaded.predict()
        model.update(v)
        loaded.update(v)


def test_forecasters_save(tmp_path):
    model = sp.KernelVAW(kernel=Matern32(0.2), ridge=0.5, outputs=2)
    for t in range(10):
        model.update([np.sin(t), np.cos(t)])
    model.predict()
    sp.save(model, tmp_path / "vaw")
    loaded = sp.load(tmp_path / "vaw")
    for t in range(10, 20):
        assert np.array_equal(model.predict(), loaded.predict())
        model.update([np.sin(t), np.cos(t)])
        loaded.update([np.sin(t), np.cos(t)])
    assert model.certificate(1.0) == loaded.certificate(1.0)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: sp.KernelVAW(OU(0.1)), "belief.covariance"),
        (lambda: sp.KernelVAW(HorizonFree()), "grid.gains"),
        (lambda: sp.TrackingVAW(2), "belief.state"),
        (sp.KernelForecaster, "mean"),
        (sp.VariationForecaster, "clock"),
        (lambda: sp.TrackingForecaster(2), "covariances"),
    ],
)
def test_states_are_checked_and_not_spread(build, name):
    model, y = build(), np.arange(1.0, 8.0)
    model.track(*([np.ones((7, 2))] if hasattr(model, "dim") else []), y)
    state = model.arrays()
    model.restore(state)
    for wrong in (state[name].ravel()[:1], state[name].astype(np.float32)):
        with pytest.raises(ValueError, match=f"state '{name.split('.')[-1]}' must"):
            model.restore({**state, name: wrong})


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_extreme_and_constant_targets(scale):
    model = sp.KernelVAW()
    for _ in range(500):
        assert np.isfinite(model.predict())
        model.update(scale)
    # a constant is almost free for Spline(offset=1): the forecast approaches it up to the shrinkage
    # λ/(λ + v)
    assert 0.3 * scale < model.predict() < scale


def opened(model, *arguments):
    model.predict(*arguments)
    return model


def later(model):
    model.track([1.0, 2.0])
    return model


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: sp.KernelVAW(ridge=0.0), "ridge"),
        (lambda: sp.KernelVAW(ridge=-1.0), "ridge"),
        (lambda: sp.KernelVAW(ridge=1e-320), "ridge must be between 1e-100 and"),
        (lambda: sp.TrackingVAW(1, ridge=1e300), "ridge must be between 1e-100 and"),
        (lambda: sp.KernelVAW(outputs=0), "outputs"),
        (lambda: sp.KernelVAW().update(1e200), r"y must be within ±1e\+100: got 1e\+200; rescale"),
        (
            lambda: sp.KernelVAW().track([1.0, -1e200]),
            r"y must be within ±1e\+100: got -1e\+200; rescale",
        ),
        (lambda: sp.KernelVAW().track(1.0), "y must have 1 columns"),
        (lambda: sp.KernelVAW(outputs=2).track(np.ones(4)), "y must have 2 columns"),
        (
            lambda: opened(sp.KernelVAW(), 1.0).track([1.0]),
            r"y must begin with a new round: got it while .* open at 1\.0",
        ),
        (
            lambda: opened(sp.TrackingVAW(1), [1.0]).track([[1.0]], [1.0]),
            "X must begin with a new round: got it while",
        ),
        (
            lambda: sp.TrackingVAW(2).track([[1.0]], [1.0]),
            r"X must have shape \(T, 2\) .* got \(1, 1\) for \(1,\)",
        ),
        (
            lambda: sp.KernelVAW().track([1.0, 2.0], [3.0]),
            "times must be as many as the rounds: got 1 for 2",
        ),
        (
            lambda: later(sp.KernelVAW()).track([1.0], [2.0]),
            r"time must increase: got 2\.0 after 2\.0",
        ),
        (lambda: sp.KernelVAW().update(np.nan), "y must be finite"),
        (lambda: sp.KernelVAW().update([1.0, 2.0]), "y must have shape"),
        (lambda: sp.KernelVAW().certificate(-1.0), "radius"),
        (lambda: sp.StronglyConvex(1, kernel=OU(0.1), curvature=0.0), "curvature"),
        (
            lambda: sp.ExpConcave(2, kernel=OU(0.1), curvature=1.0, domain=3.0),
            "domain must be a domain: got 3.0",
        ),
        (
            lambda: sp.StronglyConvex(2, kernel=OU(0.1), curvature=1.0, domain=[-1, 1]),
            "domain must be a domain",
        ),
        (lambda: sp.Directional(1, lipschitz=1.0, kernel=Spline()), "kernel_bound must be given"),
        (lambda: sp.Directional(1, lipschitz=1.0, kernel=OU(0.1)).update(2.0), "lipschitz"),
    ],
)
def test_bad_input_is_named(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def test_times_must_increase():
    model = sp.KernelVAW(kernel=OU(0.1))
    model.predict(time=3.0)
    with pytest.raises(ValueError, match="open round"):
        model.predict(time=4.0)
    model.update(1.0)
    with pytest.raises(ValueError, match=r"time must increase: got 3\.0 after 3\.0"):
        model.predict(time=3.0)
    spline = sp.KernelVAW(kernel=Spline())
    with pytest.raises(ValueError, match="shift the times"):
        spline.predict(time=-1.0)
    assert spline.predict() == 0.0


def test_default_times_are_those_of_calls():
    """Also where steps of 1 round, and where rounding swallows them."""
    bulk, single = sp.KernelVAW(kernel=OU(0.1)), sp.KernelVAW(kernel=OU(0.1))
    for model in (bulk, single):
        model.predict(time=0.1)
        model.skip()
    bulk.track(np.ones(40))
    for _ in range(40):
        single.update(1.0)
    assert bulk.time == single.time
    late = sp.KernelVAW(kernel=OU(0.1))
    late.predict(time=2.0**53 - 2)
    late.update(1.0)
    with pytest.raises(
        ValueError, match=r"time must increase: got steps of 1 .* start nearer to 0"
    ):
        late.track(np.ones(6))
    assert late.rounds == 1


def test_arrays_that_may_not_be_written_to_are_not_compiled_for():
    """Such as those of pandas columns: loops compiled for them would take seconds, and be
    the same.
    """
    from stillpoint.forecasters._kernel_forecaster import track as ridges
    from stillpoint.forecasters._variation import track as starts
    from stillpoint.forecasters._vaw import diagonal_rounds, scalar_rounds

    y, when = np.sin(np.arange(20.0)), np.arange(20.0) ** 1.5 + 1.0
    locked, then = y.copy(), when.copy()
    locked.flags.writeable = then.flags.writeable = False
    mixture = sp.kernels.OUMixture((0.1, 0.2), (1.0, 1.0))
    runs = [
        (scalar_rounds, lambda y, t: sp.KernelVAW().track(y, t)),
        (diagonal_rounds, lambda y, t: sp.KernelVAW(kernel=mixture).track(y, t)),
        (
            diagonal_rounds,
            lambda y, t: sp.TrackingVAW(1, kernel=mixture).track(y[:, None], y, t),
        ),
        (ridges, lambda y, t: sp.KernelForecaster().track(y, t)),
        (starts, lambda y, t: sp.VariationForecaster().track(y, t)),
    ]
    for loop, run in runs:
        expected, known = run(y, when), len(loop.signatures)
        assert np.array_equal(run(locked, then), expected)
        assert len(loop.signatures) == known


def test_streams_without_rounds_change_nothing():
    for model in (sp.KernelVAW(), sp.KernelVAW(kernel=Gaussian(2.0)), sp.KernelVAW(outputs=3)):
        y = np.zeros((0, 3)) if model.outputs == 3 else np.zeros(0)
        assert model.track(y).shape == y.shape
        assert model.track(y, []).shape == y.shape
        assert model.rounds == 0
    assert sp.TrackingVAW(2).track(np.zeros((0, 2)), []).shape == (0,)


def test_on_the_dirac_kernel_rounds_share_nothing():
    """k(s, t) = 2·1[s = t] has a state space without components: forecasts are 0, and only the
    account grows.
    """
    y, kernel = np.arange(1.0, 31.0), sp.kernels.Dirac(2.0)
    bulk, single = sp.KernelVAW(kernel=kernel, ridge=0.5), sp.KernelVAW(kernel=kernel, ridge=0.5)
    assert np.array_equal(bulk.track(y), np.zeros(30))
    for v in y:
        assert single.predict() == 0.0
        single.update(v)
    X = np.random.default_rng(0).standard_normal((30, 2))
    assert np.array_equal(sp.TrackingVAW(2, kernel=kernel).track(X, y), np.zeros(30))
    for model in (bulk, single):
        assert model.effective_dimension == pytest.approx(30 * 2.0 / 2.5)
        assert model.log_det == pytest.approx(30 * np.log(5.0))
        assert model.certificate(0.0) == pytest.approx(0.5 * 0.8 * y @ y)
    for learner in (
        sp.StronglyConvex(2, kernel=kernel, curvature=1.0),
        sp.ExpConcave(2, kernel=kernel, curvature=1.0),
    ):
        for g in X:
            assert np.array_equal(learner.predict(), np.zeros(2))
            learner.update(g)


@pytest.mark.parametrize(
    "kernel", [sp.kernels.OUMixture((0.1, 0.2, 0.4), (1.0,) * 3), Gaussian(3.0)]
)
def test_a_state_taken_out_stays_as_it_was(kernel):
    """Later rounds do not write into it, and it replaces whatever the model it is given to had, the
    uniform grid included.
    """
    calls, bulk, y = (
        sp.KernelVAW(kernel=kernel),
        sp.KernelVAW(kernel=kernel),
        np.sin(np.arange(30.0)),
    )
    for v in y[:10]:
        calls.update(v)
    state = calls.arrays()
    copies = {key: np.array(value) for key, value in state.items()}
    rest = [(calls.predict(), calls.update(v))[0] for v in y[10:]]
    assert all(np.array_equal(value, state[key]) for key, value in copies.items())
    bulk.track(y)
    bulk.restore(state)
    np.testing.assert_allclose(bulk.track(y[10:]), rest, rtol=1e-10)


@pytest.mark.parametrize("times", some(TIMES, every=2))
@pytest.mark.parametrize(
    "name", ["spline offset", "mixture", "matern32", "integrated", "structural", "dirac product"]
)
def test_context_streams_give_the_same_numbers(name, times, tmp_path):
    rng, when = np.random.default_rng(12), TIMES[times]
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    bulk, single = (sp.TrackingVAW(3, kernel=MARKOV[name], ridge=0.5) for _ in range(2))
    forecasts = bulk.track(X[:15], y[:15], when[:15])
    sp.save(bulk, tmp_path / "model")
    bulk = sp.load(tmp_path / "model")
    forecasts = np.append(forecasts, bulk.track(X[15:], y[15:], when[15:]))
    for t in range(40):
        assert single.predict(X[t], time=when[t]) == pytest.approx(
            forecasts[t], rel=1e-11, abs=1e-13
        )
        single.update(X[t], y[t])
    for value in ("log_det", "effective_dimension", "rounds", "time", "variance", "coefficients"):
        assert getattr(bulk, value) == pytest.approx(getattr(single, value), rel=1e-10)
    assert bulk.certificate(1.0) == pytest.approx(single.certificate(1.0), rel=1e-11)


def test_context_streams_refuse_what_rounds_refuse():
    model = sp.TrackingVAW(2)
    before = model.arrays()
    for X, y, message in [
        (np.ones((3, 2)), np.ones(4), "X must have shape"),
        (np.full((3, 2), np.nan), np.ones(3), "X must be finite"),
        (np.full((3, 2), 1e101), np.ones(3), "X must be within"),
        (np.ones((3, 2)), np.full(3, np.inf), "y must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.track(X, y)
    with pytest.raises(ValueError, match="times must"):
        model.track(np.ones((2, 2)), np.ones(2), [1.0])
    assert all(np.array_equal(value, model.arrays()[key]) for key, value in before.items())


def test_long_contexts_in_a_stream_go_the_long_way():
    """Compiled rounds stop before a context so long that `update` must look at it; the numbers are
    those of calls.
    """
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((300, 2)), rng.standard_normal(300)
    X[290] *= 1e9
    bulk, single = sp.TrackingVAW(2), sp.TrackingVAW(2)
    forecasts = bulk.track(X, y)
    for t in range(300):
        assert single.predict(X[t]) == pytest.approx(forecasts[t], rel=1e-7)
        single.update(X[t], y[t])
