"""What must not break a learner: hostile but legal input, and input that is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stillpoint as sp
from persisted import CORE, LATER, keys, label, parameters, x
from stillpoint import checks
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.forecasters import TrackingProbabilities
from stillpoint.kernels import OU, Constant, Gaussian, HorizonFree, OUMixture, Spline
from stillpoint.lab.baselines.conformal.base import RadiusTracker
from stillpoint.learners import GradientLearner
from stillpoint.potentials import AdaptiveQuadratic, Erfi, FreeGrad, ParameterFree, Quadratic
from thorough import THOROUGH, some, some_of

MAKERS = {
    "tracker": lambda dim: sp.Tracker(dim),
    "tracker certified": lambda dim: sp.Tracker(dim, certify=OU(0.1)),
    "tracker certified dense": lambda dim: sp.Tracker(dim, certify=Gaussian(5.0), domain=Ball(0.5)),
    "tracker half-space": lambda dim: sp.Tracker(
        dim, domain=HalfSpace(np.ones(dim), -0.5), certify=HorizonFree()
    ),
    "tracker simplex": lambda dim: sp.Tracker(dim, domain=Simplex()),
    "multi-scale told": lambda dim: sp.MultiScale(dim, lipschitz=1.0),
    "multi-scale box": lambda dim: sp.MultiScale(dim, domain=Box(0.2, 0.7)),
    "multi-scale half-space": lambda dim: sp.MultiScale(
        dim, lipschitz=1.0, domain=HalfSpace(np.ones(dim), -0.5)
    ),
    "kernel half-space": lambda dim: sp.KernelFTRL(
        dim, kernel=OU(0.1), potential=Erfi(), domain=HalfSpace(np.ones(dim), -0.5)
    ),
    "kernel simplex": lambda dim: sp.KernelFTRL(
        dim, lipschitz=1.0, kernel=Gaussian(3.0), potential=Erfi(), domain=Simplex()
    ),
}


@pytest.mark.parametrize("name", some(MAKERS, every=2))
def test_configurations_conform(name):
    checks.check_learner(MAKERS[name])


def test_cancelling_gradients_do_not_look_like_a_bad_kernel():
    rng = np.random.default_rng(0)
    for kernel in (Gaussian(1e9), Constant()):
        for _ in range(50):
            learner = sp.KernelFTRL(1, kernel=kernel, potential=Erfi(), memory="dense")
            large = 1e6 * rng.random(3)
            for g in (*large, -large.sum(), *(1e-6 * rng.standard_normal(4))):
                learner.update(g)
            assert np.isfinite(learner.certificate(1.0))


def test_a_refused_time_moves_nothing():
    def make():
        kernel = Spline() + OU(0.5)
        return sp.KernelFTRL(
            1, lipschitz=1.0, kernel=kernel, kernel_bound=8.0, domain=Ball(1.0), potential=Erfi()
        )

    learner, twin = make(), make()
    for g in (0.5, -0.2, 0.3):
        learner.update(g)
        twin.update(g)
    with pytest.raises(ValueError, match="kernel_bound"):
        learner.predict(time=5000.0)
    for each in (learner, twin):
        each.predict(time=5.0)
        each.update(0.4)
    assert learner.certificate(1.0) == twin.certificate(1.0)
    tracker = sp.Tracker(1, certify=Spline())
    with pytest.raises(ValueError, match="shift the times"):
        tracker.predict(time=-3.0)
    tracker.update(1.0)
    assert tracker.rounds == 1


def test_a_refused_round_of_a_compiled_stream_keeps_the_account():
    x = np.ones((200, 1))
    x[150] = -1.0
    losses = sp.losses.Log().on(x=x)
    for make in (
        lambda: sp.KernelFTRL(1, kernel=OU(0.1), domain=Box(0.5, 2.0)),
        lambda: sp.Tracker(1, domain=Box(0.5, 2.0)),
        lambda: sp.MultiScale(1, domain=Box(0.5, 2.0)),
        lambda: sp.lab.baselines.OGD(1, step=0.1, domain=Box(0.5, 2.0)),
    ):
        learner = make()
        with pytest.raises(ValueError, match="g must be finite"):
            sp.play(learner, losses)
        assert learner.rounds == 150
        learner.update(0.5)  # the round is open, and can be given what it lacked
        assert learner.rounds == 151


@pytest.mark.parametrize("scale", some([1e-300, 1e-200, 1e-150, 1e-80, 1e80, 1e149], every=2))
@pytest.mark.parametrize(
    "potential", [Quadratic(0.1), AdaptiveQuadratic(1.0), ParameterFree(), FreeGrad(), Erfi()]
)
def test_any_scale_of_gradients_gives_finite_plays_and_bounds(potential, scale):
    rng = np.random.default_rng(1)
    learners = [
        sp.KernelFTRL(2, kernel=OU(0.1), potential=potential),
        sp.Tracker(2),
        sp.MultiScale(2),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(60):
            g = rng.standard_normal(2)
            for learner in learners:
                learner.update(scale * g / np.linalg.norm(g))
                assert np.isfinite(learner.predict()).all()
        assert np.isfinite(learners[1].bound(1.0, 1.0))
        assert np.isfinite(learners[2].bound([1.0], magnitude=1.0))
        if potential.running_hints:
            assert np.isfinite(learners[0].bound(1.0, magnitude=1.0))
    with pytest.raises(ValueError, match=r"norm at most 1e\+150.*rescale"):
        learners[1].update([1e200, 0.0])


def test_bounds_before_the_first_round():
    assert sp.Tracker(1).bound(0.0, 1.0) == 0.0
    assert sp.KernelFTRL(1, lipschitz=1.0, kernel=OU(0.1)).bound(0.0) >= 0.0
    assert sp.MultiScale(1, lipschitz=1.0).bound([]) == 0.0


def test_norms_are_those_of_the_space_that_streams():
    kernel, times, u = HorizonFree(), 0.01 * np.arange(1, 201), np.ones(200)
    learner = sp.KernelFTRL(1, lipschitz=1.0, kernel=kernel, potential=ParameterFree(1e-9))
    with pytest.warns(RuntimeWarning, match="min_gap"):
        sp.play(learner, -np.ones((200, 1)), times=times)
    assert learner.certificate(sp.regret.rkhs_norm(kernel, u, times)) >= 200.0


@pytest.mark.parametrize("domain", [HalfSpace([1.0], 0.0), Box(-np.inf, 0.0)])
def test_saturation_warns_on_any_unbounded_domain(domain):
    for learner in (
        sp.KernelFTRL(1, lipschitz=1.0, kernel=Constant(), potential=Erfi(), domain=domain),
        sp.MultiScale(1, lipschitz=1.0, domain=domain),
    ):
        with pytest.warns(RuntimeWarning, match="saturated"):
            sp.play(learner, np.ones((5000, 1)))


def test_comparators_must_lie_in_the_domain():
    with pytest.raises(ValueError, match="magnitude must be within the domain"):
        sp.Tracker(1, domain=Ball(1.0)).bound(0.0, 100.0)


def test_times_too_large_to_tell_apart_are_named():
    learner = sp.KernelFTRL(1, kernel=HorizonFree())
    learner.update(0.5, time=1e17)
    with pytest.raises(ValueError, match="rescale times"):
        learner.update(0.5)


def test_a_combination_survives_a_time_that_one_member_refuses():
    members = [sp.lab.baselines.OGD(1, step=0.1), sp.KernelFTRL(1, kernel=Spline())]
    learner = sp.lab.baselines.Hedge(members)
    with pytest.raises(ValueError, match="shift the times"):
        learner.predict(time=-1.0)
    learner.predict(time=1.0)
    learner.update(0.5)
    assert [each.rounds for each in members] == [1, 1]


def test_a_projection_that_raises_can_be_retried():
    fail = [True]

    def project(w):
        if fail[0]:
            raise RuntimeError("flaky")
        return np.clip(w, -1.0, 1.0)

    learner = sp.KernelFTRL(
        1, lipschitz=1.0, kernel=OU(0.1), potential=Erfi(), domain=Projection(project)
    )
    twin = sp.KernelFTRL(
        1,
        lipschitz=1.0,
        kernel=OU(0.1),
        potential=Erfi(),
        domain=Projection(lambda w: np.clip(w, -1.0, 1.0)),
    )
    with pytest.raises(RuntimeError, match="flaky"):
        learner.predict()
    fail[0] = False
    for g in (1.0, -0.5, 0.25):
        assert np.allclose(learner.predict(), twin.predict())
        learner.update(g)
        twin.update(g)


@pytest.mark.parametrize("taper", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("accuracy", [2e-3, 1e-4, 1e-8])
def test_mixture_accuracy_at_the_ends_of_what_is_allowed(taper, accuracy):
    for gap in (1.0, 0.3, 0.1, 0.03, 0.01):
        kernel = HorizonFree(taper=taper, accuracy=accuracy, min_gap=gap)
        lags = gap * np.unique(np.concatenate([np.arange(1, 30), np.logspace(1.5, 7, 30)]))
        assert np.abs(kernel.mixture()(lags, 0.0) / kernel._contour(lags) - 1).max() < accuracy


@pytest.mark.parametrize(
    "bad", [np.array([1j, 1.0]), np.ma.masked_array([1.0, 2.0], mask=[0, 1]), [10**400, 1.0]]
)
def test_gradients_that_are_not_plain_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="g must be"):
        sp.Tracker(2).update(bad)


def test_what_play_accepts():
    assert len(sp.play(sp.Tracker(1), [[1.0], [2.0]])) == 2
    for bad in (None, 5, ["a", "b"]):
        with pytest.raises(ValueError, match="losses"):
            sp.play(sp.Tracker(1), bad)


def test_saving_numpy_numbers_and_loading_strangers(tmp_path):
    sp.save(
        sp.KernelFTRL(1, kernel=OU(np.float32(0.1)), potential=Erfi(np.float64(2.0))),
        tmp_path / "a",
    )
    assert sp.load(tmp_path / "a").kernel.rate == pytest.approx(0.1, rel=1e-6)
    np.save(tmp_path / "b.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"sp\.save wrote"):
        sp.load(tmp_path / "b.npy")


def test_group_certificates_take_one_radius():
    learner = sp.MultiScale(1, lipschitz=1.0)
    learner.update(0.5)
    with pytest.raises(ValueError, match="one number with group"):
        learner.certificate([1.0, 1.0], group=True)


def test_mixture_kernels_certify_a_tracker_on_long_streams():
    y = np.sin(np.arange(5000) / 200) + 0.2 * np.random.default_rng(0).standard_normal(5000)
    kernel = OUMixture([0.1, 0.01], [1.0, 1.0])
    learner = sp.Tracker(1, certify=kernel)
    run = sp.play(learner, sp.losses.Absolute().on(y))
    target = np.sin(np.arange(5000) / 200)
    assert run.regret(target)[-1] <= learner.certificate(sp.regret.rkhs_norm(kernel, target))


@pytest.mark.parametrize("text", ["5", b"5", np.str_("5")])
def test_text_is_not_a_number(text):
    """A column that nobody converted must not slip in as numbers."""
    for call in (
        lambda: sp.KernelForecaster().update(text),
        lambda: sp.KernelForecaster().track([text, text]),
        lambda: sp.KernelVAW().track(np.array([text, 1.0], dtype=object)),
        lambda: sp.Tracker(dim=2).update([text, text]),
        lambda: sp.kernels.OU(rate=text),
    ):
        with pytest.raises(ValueError, match=r"must be (numeric|a number|plain real numbers)"):
            call()


# where an infinite play is an answer: everything, as the guards of coverage give it
INFINITE = (
    "IntervalTracker",
    "QuantileTracker",
    "Wrapped",
    "conformal.ACI",
    "conformal.Betting",
    "conformal.WindowACI",
)
# where NaN stands for what is missing
MISSING = (
    *("engine.history", "engine.scalars", "engine.bands.said", "engine.watch.waiting"),
    *("timing.X", "scalars", "history"),
)
rng = np.random.default_rng(5)
STREAMS = {
    "constant": np.full(60, 0.7),
    "alternating": 0.7 * (-1.0) ** np.arange(60),
    "zeros of both signs": np.array([0.0, -0.0] * 30),
    "denormals": 5e-324 * rng.integers(-1000, 1000, 60),
    "tiny": 1e-150 * rng.standard_normal(60),
    "smaller and smaller": 10.0 ** np.linspace(149, -320, 60),
    "larger and larger": 10.0 ** np.linspace(-320, 149, 60) * rng.choice([-1.0, 1.0], 60),
    "jumps of scale": rng.choice([1e-150, 1e-75, 1e-9, 1.0, 1e9, 1e70], 60)
    * rng.standard_normal(60),
    "a spike in silence": np.where(np.arange(60) == 30, 1e74, 0.0),
    "silence between spikes": np.where(np.arange(60) % 20 == 0, -1e99, 1e-200),
    "huge": np.where(np.arange(60) % 3, 1e149, -1e149),
}


def feed(name, learner, t, value):
    """A round with this number in gradient, target, score or context, or skipped where it is
    refused; returns the play.
    """
    both = np.array([value, -0.5 * value])
    if isinstance(learner, GradientLearner):
        play, close = learner.predict(), lambda: learner.update(both)
    elif isinstance(learner, sp.Fleet):
        some = keys(t)
        play, close = (
            learner.predict(some),
            lambda: learner.update(some, np.tile(both, (len(some), 1))),
        )
    elif isinstance(learner, sp.IntervalTracker):
        play, close = learner.predict(0.5 if t % 3 else 0.0), lambda: learner.update(value)
    elif isinstance(learner, RadiusTracker):
        learner.update(abs(value))
        return learner.predict()
    elif isinstance(learner, sp.Anomalies | sp.Changes):
        play, close = len(learner.records), lambda: learner.update(value)
    elif name in ("Wrapped", "TrackingForecaster", "TrackingVAW", "baselines.FLHVAW") or isinstance(
        learner, TrackingProbabilities
    ):
        features = both if t % 2 and abs(value) <= 1e100 else x(t)
        target = label(t) if isinstance(learner, TrackingProbabilities) else value
        play, close = learner.predict(features), lambda: learner.update(features, target)
    else:
        play, close = learner.predict(), lambda: learner.update(value)
    try:
        close()
    except ValueError:
        learner.skip(keys(t)) if isinstance(learner, sp.Fleet) else learner.skip()
    return play


def feed_all(name, values):
    """Play a stream: no play is NaN, nor infinite where nobody said so."""
    learner = CORE[name].build()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # saturation, and overflow on the way to what is checked here
        warnings.simplefilter("ignore")
        for t, value in enumerate(values):
            play = np.ravel(np.asarray(feed(name, learner, t, float(value)), dtype=float))
            assert not np.isnan(play).any(), (t, value)
            assert name in INFINITE or np.isfinite(play).all(), (t, value)
    state = learner.arrays()
    for key, part in state.items():
        floats = isinstance(part, np.ndarray) and part.dtype.kind == "f" and key not in MISSING
        assert not (floats and np.isnan(part).any()), key


@pytest.mark.parametrize(
    ("name", "stream"),
    some_of([name for name in CORE if THOROUGH or name not in LATER], STREAMS, every=6),
)
def test_hostile_streams_leave_every_learner_with_finite_plays(name, stream):
    feed_all(name, STREAMS[stream])


ANY = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [
        0.0,
        -0.0,
        5e-324,
        1e-308,
        1e-160,
        1e-150,
        1e-75,
        1.0,
        -1.0,
        1e74,
        1e75,
        1e99,
        1e100,
        1e149,
        1e150,
    ]
)


@pytest.mark.parametrize("name", some(parameters(CORE), every=2))
@settings(max_examples=100 if THOROUGH else 8)
@given(values=st.lists(ANY, min_size=1, max_size=40))
def test_any_numbers_leave_every_learner_with_finite_plays(name, values):
    feed_all(name, values)
