"""The river and scikit-learn faces: their own conformance suites, and what people with drifting
data do with them.
"""

import collections
import copy
import datetime
import math
import pickle
import time

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


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier", "Forecaster"])
def test_river_conformance(name):
    checks = package("river.checks")
    model = getattr(faces("river"), name)()
    assert not model._unit_test_skips()
    checks.check_estimator(model)


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conformance(name):
    checks = package("sklearn.utils.estimator_checks")
    # rows are a stream: weights that are shuffled with their rows make another one
    shuffled = {"check_sample_weight_equivalence_on_dense_data": "the order of rows counts"}
    checks.check_estimator(getattr(faces("sklearn"), name)(), expected_failed_checks=shuffled)


def test_the_regressors_are_the_core():
    X, y = drifting()
    core = sp.TrackingForecaster(3)
    expected = core.track(X, y)
    river, model = faces("river").TrackingRegressor(), faces("sklearn").TrackingRegressor()
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        forecast = river.predict_one(x)
        assert forecast == pytest.approx(expected[t], rel=1e-9, abs=1e-9)
        river.learn_one(x, target)
    model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    probe = X[:5] + 0.5
    assert model.predict(probe) == pytest.approx(
        [river.predict_one(x) for x in dicts(probe)], rel=1e-12
    )
    assert model.fit(X, y).predict(probe) == pytest.approx(
        [river.predict_one(x) for x in dicts(probe)], rel=1e-12
    )


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
    ours = evaluate.progressive_val_score(
        datasets.TrumpApproval(), regressor(), metrics.MAE()
    ).get()
    model = preprocessing.StandardScaler() | river.linear_model.LinearRegression()
    theirs = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get()
    assert ours < 0.25 * theirs
    late = evaluate.progressive_val_score(
        datasets.TrumpApproval(), regressor(), metrics.MAE(), delay=7
    )
    assert math.isfinite(late.get())
    pipeline = compose.Select("gallup", "ipsos") | faces("river").TrackingRegressor()
    assert (
        evaluate.progressive_val_score(datasets.TrumpApproval(), pipeline, metrics.MAE()).get()
        < theirs
    )
    score = evaluate.progressive_val_score(
        datasets.Phishing(), faces("river").TrackingClassifier(), metrics.Accuracy()
    ).get()
    assert score > 0.9


def test_in_scikit_learn_pipelines_and_time_splits():
    package("sklearn")
    from sklearn.model_selection import TimeSeriesSplit, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    X, y = drifting()
    model = make_pipeline(
        PolynomialFeatures(2, include_bias=False), faces("sklearn").TrackingRegressor()
    )
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
        assert model.predict_one(shuffled) == pytest.approx(
            plain.predict_one(x), rel=1e-9, abs=1e-9
        )
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
        model.learn_one(
            {"a": centres[label] + rng.standard_normal(), "b": rng.standard_normal()}, label
        )
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
    assert by_day.predict_one(
        {**probe, "t": start + datetime.timedelta(days=200)}
    ) == pytest.approx(expected, rel=1e-9)
    assert by_second.predict_one({**probe, "t": 1e6 + 100}) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="time"):
        by_day.learn_one({**probe, "t": start}, 1.0)


def test_dates_of_every_kind(monkeypatch):
    """Dates without a zone do not depend on the machine's; they would go back when its
    clocks do.
    """
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        half = datetime.timedelta(minutes=30)
        X, y = drifting(200)
        for start in (datetime.datetime(2026, 3, 29), datetime.datetime(2026, 10, 25)):
            stamps = [start + i * half for i in range(200)]
            kinds = [
                stamps,
                [np.datetime64(when) for when in stamps],
                [when.replace(tzinfo=datetime.UTC) for when in stamps],
            ]
            forecasts = []
            for times in kinds:
                model = faces("river").TrackingRegressor(time="t")
                for x, when, target in zip(dicts(X), times, y, strict=True):
                    model.learn_one({**x, "t": when}, target)
                forecasts.append(model.predict_one({**dicts(X)[0], "t": times[-1]}))
            plain = faces("river").TrackingRegressor()
            for x, target in zip(dicts(X), y, strict=True):
                plain.learn_one(x, target)
            assert forecasts == pytest.approx([plain.predict_one(dicts(X)[0])] * 3, rel=1e-9)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_rows_of_every_kind_of_dict_and_number():
    X, y = drifting(60)
    models = [faces("river").TrackingRegressor() for _ in range(3)]
    for x, target in zip(dicts(X), y, strict=True):
        counted = collections.defaultdict(float, x)
        models[0].learn_one(x, target)
        models[1].learn_one(counted, np.float32(target) if target == np.float32(target) else target)
        models[2].learn_one({name: np.float64(value) for name, value in x.items()}, target)
        assert list(counted) == list(x)
    sparse = collections.defaultdict(float, {"a": 1.0, "z": 2.0, "y": 3.0})
    answers = [model.predict_one(sparse) for model in models]
    assert answers == [models[0].predict_one({"a": 1.0})] * 3
    assert list(sparse) == ["a", "z", "y"]
    whole = {"c": True, "a": 1, "b": np.int64(2)}
    assert models[0].predict_one(whole) == models[0].predict_one({"a": 1.0, "b": 2.0, "c": 1.0})


def test_copies_go_their_own_way():
    X, y = drifting(80)
    for name, targets in (
        ("TrackingRegressor", y),
        ("TrackingClassifier", (y > y.mean()).tolist()),
    ):
        model = getattr(faces("river"), name)()
        for x, target in zip(dicts(X[:40]), targets, strict=False):
            model.learn_one(x, target)
        twins = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
        before = pickle.dumps(model)
        for x, target in zip(dicts(X[40:]), targets[40:], strict=True):
            for twin in twins:
                twin.learn_one(x, target)
        assert pickle.dumps(model) == before
        assert twins[0].predict_one(dicts(X)[0]) == twins[1].predict_one(dicts(X)[0])
        assert not model.clone()._columns.names


def test_rejected_rows_leave_the_model_as_it_was():
    X, y = drifting(50)
    regressor, classifier = (
        faces("river").TrackingRegressor(time="t"),
        faces("river").TrackingClassifier(),
    )
    for t, (x, target) in enumerate(zip(dicts(X), y, strict=True)):
        regressor.learn_one({**x, "t": t}, target)
        classifier.learn_one(x, target > 0)
    good = {**dicts(X[:1])[0], "t": 60.0}
    for x, target, message in [
        ({**good, "a": "red"}, 1.0, r"x\['a'\] must be a number: got 'red'"),
        ({**good, "new": math.inf}, 1.0, r"x\['new'\] must be within"),
        ({**good, "a": datetime.date(2026, 1, 1)}, 1.0, "name it as the clock .* time='a'"),
        ({**good, "a": np.timedelta64(5, "s")}, 1.0, "must be a number: got the duration"),
        ({**good, "t": np.timedelta64(90, "ns")}, 1.0, r"x\['t'\] must be a number or a date"),
        ({**good, "t": 3, "new": 1.0}, 1.0, "time"),
        ({**good, "t": "noon"}, 1.0, r"x\['t'\] must be a number or a date"),
        ({"a": 1.0}, 1.0, "must hold the time"),
        ({**good, "new": 1.0}, math.nan, "y must be"),
        ({**good, "new": 1.0}, "high", "y must be"),
        ({**good, "new": 1.0}, "5", "y must be a number: got '5'"),
        ({**good, "new": 1.0}, 1e200, "y must be within"),
        ({**good, "a": 10**400}, 1.0, r"x\['a'\] must be within"),
        ({**good, "a": 1e200}, 1.0, r"x\['a'\] must be within .*: got 1e\+200; rescale"),
        ([1.0, 2.0], 1.0, "x must be a dict of features by name"),
    ]:
        before = pickle.dumps(regressor)
        with pytest.raises(ValueError, match=message):
            regressor.learn_one(x, target)
        assert pickle.dumps(regressor) == before
    before = pickle.dumps(classifier)
    missing = package("pandas").NA
    for x, label in [
        ({"a": "red"}, True),
        ({"a": 1.0, "new": 2.0}, None),
        ({"a": math.inf}, True),
        ({"a": 1.0, "new": 2.0}, missing),
        ({"a": 1.0}, ["up"]),
        ({"a": 1.0}, np.array([1, 0])),
    ]:
        with pytest.raises(ValueError, match="must be"):
            classifier.learn_one(x, label)
        assert pickle.dumps(classifier) == before
    timed = faces("river").TrackingClassifier(time="t")
    for t, x in enumerate(dicts(X)):
        timed.learn_one({**x, "t": t}, t % 2)
    before = pickle.dumps(timed)
    with pytest.raises(ValueError, match="time must not go back"):
        timed.learn_one({**good, "t": 3}, "a label that was never seen")
    assert pickle.dumps(timed) == before
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
    with pytest.raises(
        ValueError, match=r"classes must be those of the first call, \[0, 1\]: got \[0, 1, 2\]"
    ):
        model.partial_fit(X, [0, 1] * 10, classes=[0, 1, 2])
    assert pickle.dumps(model) == before
    model.partial_fit(X, [0, 1] * 10, classes=[1, 0])


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_scikit_learn_models_outlive_a_failed_fit(name):
    X, y = drifting(50)
    pandas = package("pandas")
    model = getattr(faces("sklearn"), name)().fit(
        pandas.DataFrame(X, columns=list("abc")), y > y.mean()
    )
    before = pickle.dumps(model)
    for rows, targets in [
        (1e200 * np.hstack([X, X]), y > y.mean()),
        (pandas.DataFrame(X, columns=list("uvw")), np.full(50, np.nan)),
        (np.hstack([X, X]), np.full(50, "3.5") if name == "TrackingRegressor" else y),
        (X[:, :2], y[:20]),
    ]:
        with pytest.raises(ValueError, match=r"must be|NaN|Unknown label type|inconsistent"):
            model.fit(rows, targets)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_scikit_learn_models_know_times(name):
    X, y = drifting(100)
    targets = y > y.mean()
    make = getattr(faces("sklearn"), name)
    days = np.datetime64("2026-01-01") + np.arange(100)
    burst = np.where(np.arange(100) % 10 == 0, 50.0, 1.0).cumsum()
    answer = "predict" if name == "TrackingRegressor" else "predict_proba"
    plain, daily, bursts = (
        getattr(make().fit(X, targets, times=times), answer)(X) for times in (None, days, burst)
    )
    np.testing.assert_allclose(daily, plain, rtol=1e-9)
    assert not np.allclose(bursts, plain, rtol=1e-4)
    days[50] = np.datetime64("NaT")
    refused = (
        (days, "times must be finite"),
        (burst[::-1], "times must not go back"),
        (burst[:9], "times must have"),
    )
    for times, message in refused:
        with pytest.raises(ValueError, match=message):
            make().fit(X, targets, times=times)


def test_intervals_around_models_of_river_and_scikit_learn():
    package("river"), package("sklearn")
    pandas = package("pandas")
    from river import linear_model, preprocessing
    from sklearn.linear_model import LinearRegression, SGDRegressor

    X, y = drifting(400)
    frame = pandas.DataFrame(X, columns=list("abc"))
    scaled = preprocessing.StandardScaler() | linear_model.LinearRegression()
    for model, rows in [
        (scaled, dicts(X)),
        (faces("river").TrackingRegressor(), dicts(X)),
        (SGDRegressor(), list(X)),
        (LinearRegression().fit(frame, y), [frame.iloc[[i]] for i in range(400)]),
        (LinearRegression().fit(frame, y), [frame.iloc[i] for i in range(400)]),
        (faces("sklearn").TrackingRegressor(), [frame.iloc[[i]] for i in range(400)]),
    ]:
        band, hits = sp.IntervalTracker(0.9).wrap(model), 0
        for row, target in zip(rows, y, strict=True):
            lo, hi = band.predict(row)
            hits += lo <= target <= hi
            band.update(row, target)
        assert abs(hits / 400 - 0.9) < 0.03


@pytest.mark.parametrize("kind", ["river", "sklearn"])
@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
@pytest.mark.parametrize("known", [0, 1, 3])
def test_restored_states_leave_nothing_of_what_was_learnt_since(kind, name, known):
    """`restore` undoes `arrays` in a model that went on: fewer features, labels or names, or
    nothing learnt at all.
    """
    X, y = drifting(60)
    y = y if name == "TrackingRegressor" else np.arange(60) % 3

    def learn(model, width, first, last):
        if kind == "river":
            for x, target in zip(dicts(X[first:last, :width]), y[first:last].tolist(), strict=True):
                model.learn_one(x, target)
        else:
            labels = {} if name == "TrackingRegressor" else {"classes": [0, 1, 2]}
            model.partial_fit(X[first:last, :width], y[first:last], **labels)

    went_on, fresh = (getattr(faces(kind), name)() for _ in range(2))
    if known:
        learn(fresh, known, 0, 20)
    learn(went_on, 3, 20, 60)
    if kind == "sklearn":
        went_on.feature_names_in_ = np.array(list("abc"), dtype=object)
    went_on.restore(copy.deepcopy(fresh.arrays()))
    np.testing.assert_equal(went_on.arrays(), fresh.arrays())
    assert set(vars(went_on)) == set(vars(fresh))
    for model in (went_on, fresh):
        learn(model, known or 2, 20, 40)
    np.testing.assert_equal(went_on.arrays(), fresh.arrays())


@pytest.mark.parametrize("kind", ["river", "sklearn"])
@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_a_state_that_is_refused_leaves_the_model_as_it_was(kind, name):
    X, _ = drifting(20)
    model, label = getattr(faces(kind), name)(), np.arange(20) % 2
    if kind == "river":
        for x, target in zip(dicts(X), label.tolist(), strict=True):
            model.learn_one(x, target)
    else:
        model.fit(X, label)
    before = copy.deepcopy(model.arrays())
    with pytest.raises(ValueError, match=r"save the model again|save the learner again"):
        model.restore({**before, "names": ["a", "a", "b"], "features": ["a"]})
    np.testing.assert_equal(model.arrays(), before)
