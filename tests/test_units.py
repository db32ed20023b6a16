"""No forecast, interval or quantile depends on where zero is or on units: those of a + b·y are
a + b times those of y, whatever b < 0 swaps included.

Before its first value a forecaster says 0, which is no statement about the stream; rows from the
second on are compared. KernelVAW and TrackingVAW, the paper's algorithms, shrink towards 0 by
definition and are not among them.
"""

import numpy as np
import pytest
from tests import extras

import stillpoint as sp
from stillpoint.kernels import OU
from stillpoint.losses import Absolute, Huber, Pinball
from thorough import some, some_of

T = 300
RNG = np.random.default_rng(11)
X = RNG.normal(size=(T, 3)) * [1.0, 10.0, 0.1] + [0.0, 100.0, 3.0]
WALK = 0.2 * np.cumsum(RNG.normal(size=T)) + np.sin(np.arange(T) / 15) + 2.0 * (np.arange(T) > 170)
Y = WALK + 0.5 * RNG.normal(size=T)
LINEAR = Y + X @ [1.0, -0.1, 5.0]
CENTRES = np.append(0.0, Y[:-1])  # forecasts that intervals are around
GAPS = np.cumsum(RNG.exponential(size=T))

MAPS = [
    (0.0, -1.0),
    (1e3, 1.0),
    (1e3, -3.0),
    (-1e3, 0.1),
    (1e9, 1e6),
    (1e9, -1e6),
    (-1e-3, 1e-6),
    (1e-3, -1e-6),
]
AFFINE = pytest.mark.parametrize(("a", "b"), MAPS)


def with_gaps(y):
    return np.where(np.arange(T) % 13 == 5, np.nan, y)


def pinball(y, negative):
    return sp.TrackingForecaster(3, loss=Pinball(0.2 if negative else 0.8)).track(X, y)


# the forecasts of rows, given targets and whether b is negative
FORECASTS = {
    "KernelForecaster": lambda y, _: sp.KernelForecaster().track(y),
    "KernelForecaster, times and gaps": lambda y, _: sp.KernelForecaster().track(
        with_gaps(y), GAPS
    ),
    "KernelForecaster, late": lambda y, _: sp.KernelForecaster().track(y, delay=5)[5:],
    "KernelForecaster, Vovk": lambda y, _: sp.KernelForecaster(
        aggregation="vovk", share=0.01
    ).track(y),
    "KernelForecaster, exponential": lambda y, _: sp.KernelForecaster(
        aggregation="exponential"
    ).track(y),
    "KernelForecaster, kernels": lambda y, _: sp.KernelForecaster(
        [OU(0.1)], ridges=[1.0, 9.0]
    ).track(y),
    "VariationForecaster": lambda y, _: sp.VariationForecaster().track(y),
    "VariationForecaster, times and gaps": lambda y, _: sp.VariationForecaster().track(
        with_gaps(y), GAPS
    ),
    "VariationForecaster, late": lambda y, _: sp.VariationForecaster().track(y, delay=5)[5:],
    "TrackingForecaster": lambda y, _: sp.TrackingForecaster(3).track(X, y),
    "TrackingForecaster, late": lambda y, _: sp.TrackingForecaster(3).track(X, y, delay=5)[5:],
    "TrackingForecaster, absolute": lambda y, _: sp.TrackingForecaster(3, loss=Absolute()).track(
        X, y
    ),
    "TrackingForecaster, pinball": pinball,
    "QuantileTracker": lambda y, negative: sp.QuantileTracker(0.1 if negative else 0.9).track(y),
    "QuantileTracker, median": lambda y, _: sp.QuantileTracker(0.5).track(with_gaps(y)),
    "QuantileTracker, late": lambda y, negative: sp.QuantileTracker(0.1 if negative else 0.9).track(
        y, delay=5
    )[5:],
}


@AFFINE
@pytest.mark.parametrize("name", some(FORECASTS, every=2))
def test_forecasts_and_quantiles_of_a_plus_by_are_a_plus_b_times_those_of_y(name, a, b):
    y = LINEAR if name.startswith("Tracking") else Y
    plain = FORECASTS[name](y, False)[1:]
    moved = FORECASTS[name](a + b * y, b < 0)[1:]
    np.testing.assert_allclose((moved - a) / b, plain, rtol=1e-9, atol=1e-9)
    assert np.isfinite(plain).all()


def series(y, pool, **settings):
    model = sp.Forecaster(5, pool=pool, coverage=[0.5, 0.9], **settings)
    forecasts, lo, hi = model.track(with_gaps(y), horizon=5, intervals=True)
    return forecasts[1:], lo[1:], hi[1:], model.total()


SEASONAL = Y + 3.0 * np.cos(2 * np.pi * np.arange(T) / 7)
# Forecaster has experts of logarithms where all values are positive: a + b·y must not be
NOT_POSITIVE = [(0.0, -1.0), (-1e3, 1.0), (-1e3, -3.0), (-1e9, 1e6), (-1e9, -1e6), (-1e-3, 1e-6)]


# its waves of the last two values, in the other pools, have a phase: what goes up is not what goes
# down
@pytest.mark.parametrize(
    ("pool", "a", "b"),
    [
        (pool, *map_)
        for pool in ("small", "full")
        for map_ in NOT_POSITIVE
        if pool == "small" or map_[1] > 0
    ],
)
def test_series_without_logarithms_know_units_but_no_zero(pool, a, b):
    y = SEASONAL - SEASONAL[1]  # a zero among the first values: no logarithm is ever taken
    plain, lo, hi, (total, *_) = series(y, pool, season=[7])
    moved, *ends, (moved_total, *_) = series(a + b * y, pool, season=[7])
    np.testing.assert_allclose((moved - a) / b, plain, rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(two_ends(*ends, a, b), (lo, hi), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert (moved_total - 5 * a) / b == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("b", some([1e-100, 1e-6, 0.1, 3.0, 1e9, 1e70], every=2))
def test_positive_series_know_units(b):
    plain, lo, _, _ = series(10.0 + SEASONAL, "full")
    moved, ours, _, _ = series(b * (10.0 + SEASONAL), "full")
    assert (SEASONAL > -9.0).all()
    np.testing.assert_allclose(moved / b, plain, rtol=1e-6)
    np.testing.assert_allclose(ours / b, lo, rtol=1e-6, atol=1e-6)


@AFFINE
def test_huber_follows_units_with_its_own_width(a, b):
    plain = sp.TrackingForecaster(3, loss=Huber(0.5)).track(X, LINEAR)[1:]
    model = sp.TrackingForecaster(3, loss=Huber(0.5 * abs(b)))
    moved = model.track(X, a + b * LINEAR)[1:]
    np.testing.assert_allclose((moved - a) / b, plain, rtol=1e-9, atol=1e-9)


@AFFINE
@pytest.mark.parametrize(
    "build",
    [sp.KernelForecaster, lambda: sp.KernelForecaster([OU(0.1)], ridges=[1.0, 9.0])],
    ids=["splines", "kernels"],
)
def test_variance_bound_and_weights_know_units_but_no_zero(build, a, b):
    plain, moved = build(), build()
    plain.track(Y)
    moved.track(a + b * Y)
    assert moved.variance == pytest.approx(b * b * plain.variance, rel=1e-9)
    assert moved.bound(0) == pytest.approx(b * b * plain.bound(0), rel=1e-9)
    np.testing.assert_allclose(moved.weights, plain.weights, rtol=1e-7, atol=1e-9)


def two_ends(lo, hi, a, b):
    """The interval in the units of y."""
    low, high = (np.asarray(lo) - a) / b, (np.asarray(hi) - a) / b
    return (low, high) if b > 0 else (high, low)


INTERVALS = {
    "one side": {},
    "two sides": {"two_sided": True},
    "never empty": {"empty": False},
    "several": {"coverage": [0.5, 0.9]},
}


@AFFINE
@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_of_a_plus_by_are_a_plus_b_times_those_of_y(name, delay, a, b):
    plain, moved = (sp.IntervalTracker(**INTERVALS[name], delay=delay) for _ in "ab")
    plain, moved = (
        plain.track(CENTRES, with_gaps(Y)),
        moved.track(a + b * CENTRES, a + b * with_gaps(Y)),
    )
    for ours, theirs in zip(two_ends(*moved, a, b), plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        assert np.isfinite(theirs).mean() > 0.9


@AFFINE
def test_levels_of_a_fan_turn_over_with_the_stream(a, b):
    levels = [0.1, 0.5, 0.9]
    plain = sp.QuantileTracker(levels).track(Y)[1:]
    moved = (sp.QuantileTracker(levels).track(a + b * Y)[1:] - a) / b
    np.testing.assert_allclose(moved[:, :: 1 if b > 0 else -1], plain, rtol=1e-9, atol=1e-9)


@AFFINE
def test_intervals_around_a_model_follow_the_model(a, b):
    ends = []
    for y in (LINEAR, a + b * LINEAR):
        band = sp.IntervalTracker().wrap(sp.TrackingForecaster(3))
        rows = []
        for x, target in zip(X[:120], y, strict=False):
            rows.append(band.predict(x))
            band.update(x, target)
        ends.append(np.array(rows[2:]).T)
    for ours, theirs in zip(two_ends(*ends[1], a, b), ends[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("learner", "moved"),
    some_of(["KernelForecaster", "QuantileTracker", "IntervalTracker"], range(len(MAPS)), every=6),
)
def test_fleets_follow_units_key_by_key(learner, moved):
    a, b = MAPS[moved]
    quantile, interval = learner == "QuantileTracker", learner == "IntervalTracker"

    def run(y, negative):
        config = {"level": 0.1 if negative else 0.9} if quantile else {}
        many = sp.Fleet(learner, **config)
        rows, out = np.column_stack([y, y[::-1], np.roll(y, 40)]), []
        for t in range(1, T):
            keys = ["a", "b", "late"] if t >= 20 else ["a", "b"]
            around = (rows[t - 1, : len(keys)],) if interval else ()
            plays = many.predict(keys, *around)
            if t not in (1, 20):  # first rounds
                out.append(plays)
            many.update(keys, rows[t, : len(keys)])
        return out

    for plain, moved in zip(run(Y, False), run(a + b * Y, b < 0), strict=True):
        if interval:
            for ours, theirs in zip(two_ends(*moved, a, b), plain, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_allclose((moved - a) / b, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.extra
@AFFINE
def test_rivers_regressor_follows_units(a, b):
    extras.package("river")
    from stillpoint.estimators.river import TrackingRegressor

    out = []
    for y in (LINEAR, a + b * LINEAR):
        model, rows = TrackingRegressor(), []
        for x, target in zip(X[:150].tolist(), y.tolist(), strict=False):
            named = dict(zip("uvw", x, strict=True))
            rows.append(model.predict_one(named))
            model.learn_one(named, target)
        out.append(np.array(rows[1:]))
    np.testing.assert_allclose((out[1] - a) / b, out[0], rtol=1e-9, atol=1e-9)


@pytest.mark.extra
@AFFINE
def test_scikit_learns_regressor_follows_units(a, b):
    extras.package("sklearn")
    from stillpoint.estimators.sklearn import TrackingRegressor

    plain = TrackingRegressor().fit(X[:200], LINEAR[:200]).predict(X[200:])
    moved = TrackingRegressor().fit(X[:200], a + b * LINEAR[:200]).predict(X[200:])
    np.testing.assert_allclose((moved - a) / b, plain, rtol=1e-9, atol=1e-9)
