"""The river and scikit-learn faces: their own conformance suites, and what people with drifting data do with them."""

import datetime
import math
import pickle

import numpy as np
import pytest

import stillpoint as sp
from extras import package

pytestmark = pytest.mark.extra


def faces(kind):
    package(kind)
    return __import__(f"stillpoint.estimators.{kind}", fromlist=["x"])


def drifting(rounds=400, dim=3, seed=0):
    """Rows, targets and the coefficients that jump half-way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(5.0, 2.0, (rounds, dim))
    w = np.where(np.arange(rounds)[:, None] < rounds // 2, 1.0, -2.0) * np.arange(1, dim + 1)
    return X, (X * w).sum(axis=1) + 0.1 * rng.standard_normal(rounds)


def dicts(X, names="abcdefgh"):
    return [dict(zip(names, row.tolist(), strict=False)) for row in X]


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_river_conformance(name):
    checks = package("river.checks")
    model = getattr(faces("river"), name)()
    assert not model._unit_test_skips()
    checks.check_estimator(model)


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conformance(name):
    checks = package("sklearn.utils.estimator_checks")
    checks.check_estimator(getattr(faces("sklearn"), name)())


def test_the_regressors_are_the_core():
    X, y = drifting()
    core = sp.TrackingForecaster(3)
    expected = core.forecast_stream(X, y)
    river, model = faces("river").TrackingRegressor(), faces("sklearn").TrackingRegressor()
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        forecast = river.predict_one(x)
        assert forecast == pytest.approx(expected[t], rel=1e-9, abs=1e-9)
        river.learn_one(x, target)
    model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    probe = X[:5] + 0.5
    assert model.predict(probe) == pytest.approx([river.predict_one(x) for x in dicts(probe)], rel=1e-12)
    assert model.fit(X, y).predict(probe) == pytest.approx([river.predict_one(x) for x in dicts(probe)], rel=1e-12)


def test_the_classifiers_agree():
    X, y = drifting()
    labels = np.where(y > np.median(y), "up", "down")
    river, model = faces("river").TrackingClassifier(), faces("sklearn").TrackingClassifier()
    right = 0
    for x, label in zip(dicts(X), labels, strict=True):
        right += river.predict_one(x) == label
        river.learn_one(x, label)
    assert right / len(y) > 0.8
    model.partial_fit(X, labels, classes=["up", "down"])
    assert model.classes_.tolist() == ["down", "up"]
    ours = model.predict_proba(X[:5])
    theirs = [river.predict_proba_one(x) for x in dicts(X[:5])]
    assert np.allclose(ours, [[p["down"], p["up"]] for p in theirs], rtol=1e-9)


def test_in_pipelines_and_progressive_validation():
    river = package("river")
    from river import compose, datasets, evaluate, metrics, preprocessing

    regressor = faces("river").TrackingRegressor
    ours = evaluate.progressive_val_score(datasets.TrumpApproval(), regressor(), metrics.MAE()).get()
    model = preprocessing.StandardScaler() | river.linear_model.LinearRegression()
    theirs = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get()
    assert ours < 0.25 * theirs
    late = evaluate.progressive_val_score(datasets.TrumpApproval(), regressor(), metrics.MAE(), delay=7)
    assert math.isfinite(late.get())
    pipeline = compose.Select("gallup", "ipsos") | faces("river").TrackingRegressor()
    assert evaluate.progressive_val_score(datasets.TrumpApproval(), pipeline, metrics.MAE()).get() < theirs
    score = evaluate.progressive_val_score(
        datasets.Phishing(), faces("river").TrackingClassifier(), metrics.Accuracy()
    ).get()  # fmt: skip
    assert score > 0.9


def test_in_scikit_learn_pipelines_and_time_splits():
    package("sklearn")
    from sklearn.model_selection import TimeSeriesSplit, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    X, y = drifting()
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), faces("sklearn").TrackingRegressor())
    scores = cross_validate(model, X[:200], y[:200], cv=TimeSeriesSplit(4))["test_score"]
    assert scores.min() > 0.99
    pandas = package("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"))
    fitted = faces("sklearn").TrackingRegressor().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["c", "b", "a"]])


def test_features_come_go_and_trade_places():
    X, y = drifting(300)
    model, plain = (faces("river").TrackingRegressor() for _ in range(2))
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        shuffled = {name: x[name] for name in ("cab" if t % 2 else "bca")}
        assert model.predict_one(shuffled) == pytest.approx(plain.predict_one(x), rel=1e-9, abs=1e-9)
        model.learn_one(shuffled, target)
        plain.learn_one(x, target)
    before = model.predict_one({"a": 5.0, "b": 5.0, "c": 5.0})
    assert model.predict_one({"a": 5.0, "b": 5.0, "c": 5.0, "new": 1e9}) == before
    assert math.isfinite(model.predict_one({}))
    model.learn_one({"new": 1.0}, 3.0)
    assert math.isfinite(model.predict_one({"new": 2.0, "a": 1.0}))


def test_sparse_counts_read_absent_features_as_zero():
    rng = np.random.default_rng(3)
    model = faces("river").TrackingRegressor(absent="zero")
    for _ in range(300):
        words = {f"word{i}": 1 for i in rng.choice(8, 3, replace=False)}
        model.learn_one(words, float("word0" in words) * 4.0)
    assert model.predict_one({"word0": 1, "word1": 1, "word2": 1}) == pytest.approx(4.0, abs=0.1)
    assert model.predict_one({"word3": 1, "word1": 1, "word2": 1}) == pytest.approx(0.0, abs=0.1)


def test_labels_arrive_one_by_one():
    rng = np.random.default_rng(4)
    model = faces("river").TrackingClassifier()
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    centres = {"x": 0.0, "y": 5.0, "z": -5.0}
    for label in ["x"] * 10 + ["y"] * 10 + ["z"] * 10 + list(rng.choice(list(centres), 300)):
        model.learn_one({"a": centres[label] + rng.standard_normal(), "b": rng.standard_normal()}, label)
        p = model.predict_proba_one({"a": 0.0, "b": 0.0})
        assert sum(p.values()) == pytest.approx(1.0)
    assert model.predict_one({"a": 5.0, "b": 0.0}) == "y"
    assert model.predict_one({"a": -5.0, "b": 0.0}) == "z"


def test_times_scale_the_drift():
    X, y = drifting(200)
    start = datetime.datetime(2026, 1, 1)
    by_round, by_day, by_second = (
        faces("river").TrackingRegressor(),
        *(faces("river").TrackingRegressor(time="t") for _ in range(2)),
    )
    for i, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        by_round.learn_one(x, target)
        by_day.learn_one({**x, "t": start + datetime.timedelta(days=i)}, target)
        by_second.learn_one({**x, "t": 1e6 + 0.5 * i}, target)
    probe = {"a": 5.0, "b": 4.0, "c": 3.0}
    expected = by_round.predict_one(probe)
    assert by_day.predict_one({**probe, "t": start + datetime.timedelta(days=200)}) == pytest.approx(expected, rel=1e-9)
    assert by_second.predict_one({**probe, "t": 1e6 + 100}) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="time"):
        by_day.learn_one({**probe, "t": start}, 1.0)


def test_rejected_rows_leave_the_model_as_it_was():
    X, y = drifting(50)
    regressor, classifier = faces("river").TrackingRegressor(time="t"), faces("river").TrackingClassifier()
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        regressor.learn_one({**x, "t": t}, target)
        classifier.learn_one(x, target > 0)
    good = {**dicts(X[:1])[0], "t": 60.0}
    for x, target, message in [
        ({**good, "a": "red"}, 1.0, r"x\['a'\] must be a number: got 'red'"),
        ({**good, "new": math.nan}, 1.0, r"x\['new'\] must be within"),
        ({**good, "a": None}, 1.0, r"x\['a'\] must be a number"),
        ({**good, "t": 3, "new": 1.0}, 1.0, "time"),
        ({**good, "t": "noon"}, 1.0, r"x\['t'\] must be a number or a date"),
        ({"a": 1.0}, 1.0, "must hold the time"),
        ({**good, "new": 1.0}, math.nan, "y must be"),
        ({**good, "new": 1.0}, "high", "y must be"),
    ]:
        before = pickle.dumps(regressor)
        with pytest.raises(ValueError, match=message):
            regressor.learn_one(x, target)
        assert pickle.dumps(regressor) == before
    before = pickle.dumps(classifier)
    for x, label in [({"a": "red"}, True), ({"a": 1.0, "new": 2.0}, None), ({"a": math.inf}, True)]:
        with pytest.raises(ValueError, match="must be"):
            classifier.learn_one(x, label)
    assert pickle.dumps(classifier) == before
    with pytest.raises(ValueError, match="absent must be 'mean' or 'zero'"):
        faces("river").TrackingRegressor(absent="none")


def test_scikit_learn_labels_must_be_announced():
    X, _ = drifting(20)
    model = faces("sklearn").TrackingClassifier()
    with pytest.raises(ValueError, match="classes must be given"):
        model.partial_fit(X, [0, 1] * 10)
    model.partial_fit(X, [0, 1] * 10, classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"y must hold the labels \[0, 1\]: got .*2"):
        model.partial_fit(X, [0, 2] * 10)
    assert pickle.dumps(model) == before
