"""Intervals around forecasters of any make."""

import numpy as np
import pytest
from slow_twins import same

from states import copy
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.forecasters.tracking_vaw import TrackingVAW
from stillpoint.intervals import IntervalTracker


class River:
    def __init__(self):
        self.total, self.n, self.learnt = 0.0, 0, []

    def predict_one(self, x):
        return x["level"] + self.total / max(self.n, 1)

    def learn_one(self, x, y):
        self.total, self.n = self.total + y - x["level"], self.n + 1
        self.learnt.append((x["level"], y))


class NotFittedError(ValueError):
    pass


class Sklearn:
    def __init__(self):
        self.mean = None

    def predict(self, X):
        assert X.shape == (1, 2)
        if self.mean is None:
            raise NotFittedError("call partial_fit")
        return np.array([self.mean])

    def partial_fit(self, X, y):
        assert X.shape == (1, 2)
        assert y.shape == (1,)
        if y[0] > 100:
            raise ValueError("too large for me")
        self.mean = float(y[0])


def test_wraps_models_of_any_make():
    rng = np.random.default_rng(11)
    levels, noise = np.arange(300) / 10, rng.standard_normal(300)
    model = River()
    band = IntervalTracker(0.9).wrap(model)
    plain = IntervalTracker(0.9)
    twin = River()
    for level, z in zip(levels, noise, strict=True):
        x = {"level": level}
        assert band.predict(x) == plain.predict(twin.predict_one(x))
        band.learn_one(x, level + z)
        plain.update(level + z)
        twin.learn_one(x, level + z)
    assert model.learnt == twin.learnt
    assert same(band.tracker, plain)

    band = IntervalTracker([0.5, 0.9]).wrap(Sklearn())
    assert [end.tolist() for end in band.predict([1.0, 2.0])] == [
        [-np.inf, -np.inf],
        [np.inf, np.inf],
    ]
    band.update([1.0, 2.0], 5.0)
    assert band.predict([1.0, 2.0])[0][0] < 5.0

    forecaster = TrackingForecaster(1)
    band = IntervalTracker(0.9).wrap(forecaster)
    for t in range(100):
        band.update([t / 10], 2.0 * t)
    assert forecaster.rounds == band.tracker.rounds == 100

    before = forecaster.arrays()["means"].copy()
    lo, hi = band.peek([3.0])
    assert lo < band.peek([4.0])[0] < hi + 20.0
    np.testing.assert_array_equal(forecaster.arrays()["means"], before)
    band.update([10.0], 200.0)  # no round was opened
    with pytest.raises(ValueError, match=r"model must have peek\(x\)"):
        IntervalTracker(0.9).wrap(TrackingVAW(1)).peek([1.0])

    band = IntervalTracker(0.9).wrap(lambda x: 3.0 * x)
    assert band.predict(2.0) == (-np.inf, np.inf)
    band.skip()
    band.update(2.0, 7.0)
    assert band.tracker.rounds == 2
    lo, hi = band.predict(2.0)
    assert lo < 6.0 < hi


def test_wrapped_models_refuse_bad_input_unchanged():
    band = IntervalTracker(0.9).wrap(Sklearn())
    band.update([0.0, 0.0], 1.0)
    band.predict([0.0, 0.0])
    before = copy(band.tracker)
    with pytest.raises(ValueError, match="y must be finite"):
        band.update([0.0, 0.0], np.nan)
    with pytest.raises(ValueError, match="too large for me"):
        band.update([0.0, 0.0], 101.0)
    assert same(band.tracker, before)
    with pytest.raises(ValueError, match="model must forecast"):
        IntervalTracker().wrap(3.0)
    river = IntervalTracker().wrap(River())
    river.predict({"level": 1.0})
    with pytest.raises(ValueError, match="forecast must be that of the open round"):
        river.update({"level": 2.0}, 0.0)


def test_a_model_that_refused_a_target_may_be_given_the_next_one_with_the_same_row():
    """Scikit-learn's cannot be put back, so only the tracker is: the round must be opened again
    before anything learns.
    """
    band, twin, row = (
        IntervalTracker(0.9).wrap(Sklearn()),
        IntervalTracker(0.9).wrap(Sklearn()),
        [0.0, 0.0],
    )
    for each in (band, twin):
        each.update([1.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="too large for me"):
        band.update(row, 101.0)
    assert not band.tracker.is_open
    for each in (band, twin):
        each.update(row, 5.0)
    assert same(band.tracker, twin.tracker)
    assert band.predict(row) == twin.predict(row)
    assert band.tracker.is_open


class Frame(np.ndarray):
    """As much of a data frame as wrapping looks at."""

    columns = ("a", "b")


def test_wrapped_models_keep_the_names_of_tables():
    seen = []

    class Model(Sklearn):
        def predict(self, X):
            seen.append(type(X))
            return super().predict(X)

    band = IntervalTracker(0.9).wrap(Model())
    row = np.array([[1.0, 2.0]]).view(Frame)
    band.update(row, 1.0)
    assert band.peek(row) == band.predict(row)
    assert seen == [Frame] * 3
    for x, message in (
        ({"a": 1.0, "b": 2.0}, r"x must be a row of numbers or of a data frame: got .*; pass list"),
        (np.zeros((3, 2)).view(Frame), "x must have one row: got 3"),
        (["red", 1.0], "x must be numeric"),
    ):
        with pytest.raises(ValueError, match=message):
            IntervalTracker(0.9).wrap(Model()).predict(x)
