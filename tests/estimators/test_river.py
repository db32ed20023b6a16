"""River's faces: a series with its features and dates, rows in data frames, what is missing."""

import datetime
import math
import pickle

import numpy as np
import pytest

import stillpoint as sp
from extras import package

pytestmark = pytest.mark.extra


@pytest.fixture(scope="module")
def river():
    package("river"), package("pandas")
    from stillpoint.estimators import river as module

    return module


def stream(rounds=120, seed=0):
    """A series that leans on two features, one of them sometimes missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds + 4, 2))
    y = 10 + 3 * X[:rounds, 0] + np.cumsum(0.1 * rng.standard_normal(rounds))
    X[::9, 1] = np.nan
    y[40:43] = np.nan
    return X, y


def named(row):
    return {"a": float(row[0]), "b": None if np.isnan(row[1]) else float(row[1])}


def test_a_series_with_features_known_ahead_is_forecast_as_by_the_core(river):
    X, y = stream()
    model = river.Forecaster(4, pool="small")
    for row, value in zip(X, y, strict=False):
        model.learn_one(None if np.isnan(value) else value, named(row))
    before = pickle.dumps(model)
    said = model.forecast(3, [named(row) for row in X[-4:-1]])
    core = sp.Forecaster(4, features=2, pool="small")
    core.track(y, X[:-1])
    assert said == core.predict(X[-4:-1], horizon=3).tolist()
    bands = model.forecast(3, [named(row) for row in X[-4:-1]], with_interval=True)
    lo, hi = core.interval(X[-4:-1], horizon=3)
    assert [band.lower for band in bands] == lo.tolist()
    assert [band.upper for band in bands] == hi.tolist()
    assert pickle.dumps(model) == before


def test_features_count_many_steps_ahead_only_where_they_are_known_ahead(river):
    X, y = stream(200, seed=1)
    off = {}
    for ahead in (True, False):
        model, errors = river.Forecaster(4, known_ahead=ahead, pool="small"), []
        for t, value in enumerate(y):
            if t > 100 and not np.isnan(y[t : t + 4]).any() and t + 4 <= y.size:
                said = model.forecast(4, [named(row) for row in X[t : t + 4]])
                errors.append(np.abs(said - y[t : t + 4]))
            model.learn_one(value, named(X[t]))
        off[ahead] = np.mean(errors, axis=0)
    assert (off[True][1:] < 0.7 * off[False][1:]).all()


def test_a_date_among_the_features_is_the_clock(river):
    package("river")
    from river import datasets, metrics, time_series

    rows = [(x, y) for x, y in datasets.AirlinePassengers()]
    model, core = river.Forecaster(12), sp.Forecaster(12)
    for x, y in rows:
        model.learn_one(y, x)
    core.track([y for _, y in rows], times=np.array([x["month"] for x, _ in rows], "M8[s]"))
    assert model.forecast(12) == core.predict(horizon=12).tolist()
    # months later: what lies between is passed over
    later = [{"month": datetime.datetime(1961, month, 1)} for month in (4, 5, 6)]
    assert np.allclose(model.forecast(3, later), core.predict(horizon=6)[3:], rtol=0.03)
    scores = time_series.evaluate(
        datasets.AirlinePassengers(), river.Forecaster(3), metrics.MAE(), horizon=3
    ).get()
    assert len(scores) == 3
    assert max(scores) < 20.0  # SNARIMAX in river's documentation is off by 30 and more
    with pytest.raises(ValueError, match="must have one date"):
        river.Forecaster().learn_one(1.0, {"from": later[0]["month"], "to": later[1]["month"]})


def test_refused_rounds_of_a_series_leave_the_model_as_it_was(river):
    model = river.Forecaster(3, pool="small")
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=t) for t in range(30)]
    for t, when in enumerate(days[:20]):
        model.learn_one(t % 7, {"when": when, "price": t % 3})
    before = pickle.dumps(model)
    good = {"when": days[20], "price": 1.0}
    for y, x, message in [
        ("high", good, "y must be a number"),
        (good, 1.0, "y must be a number.*the value comes first"),
        (1e200, good, "y must be at most"),
        (1.0, {"price": 1.0}, "must hold the time 'when'"),
        (1.0, {**good, "when": days[3]}, "time must increase"),
        (1.0, {**good, "when": 7.0}, "time must increase"),
        (1.0, {**good, "price": "low"}, "encode categories"),
        (1.0, [1.0], "x must be a dict"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.learn_one(y, x)
        assert pickle.dumps(model) == before
    for horizon, xs, message in [
        (4, None, "horizon must be at most 3"),
        (2, [good], "xs must have one row a step"),
        (1, [{**good, "price": "low"}], "encode categories"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.forecast(horizon, xs)
        assert pickle.dumps(model) == before
    assert river.Forecaster().forecast(2) == [0.0, 0.0]


def frame(rounds=90, seed=2):
    """Features that join late, vanish and are missing, and a target of three kinds."""
    rng = np.random.default_rng(seed)
    pandas = package("pandas")
    X = pandas.DataFrame(rng.standard_normal((rounds, 4)), columns=["a", "b", 3, "d"])
    X.loc[:19, "b"] = np.nan
    X.loc[50:, 3] = np.nan
    X.loc[30:40, "a"] = np.nan
    X["when"] = np.datetime64("2026-01-01") + np.arange(rounds).astype("m8[h]").cumsum()
    X.index = X.index + 1000
    y = X["d"] * 2 + rng.standard_normal(rounds)
    return X, y


@pytest.mark.parametrize("time", [None, "when"])
@pytest.mark.parametrize("absent", ["mean", "zero"])
@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_many_rows_are_learnt_and_answered_as_one_by_one(river, name, time, absent):
    X, y = frame()
    X = X if time else X.drop(columns="when")
    if name == "TrackingClassifier":  # the third label comes late
        y = np.where(y > 1, "high", np.where((y < -1) & (np.arange(len(y)) > 45), "low", "mid"))
        y = package("pandas").Series(y, index=X.index)
    one, many = (getattr(river, name)(time=time, absent=absent) for _ in range(2))
    for x, target in zip(X.to_dict("records"), y.tolist(), strict=True):
        one.learn_one(x, target)
    for part in (slice(0, 31), slice(31, 31), slice(31, 90)):
        many.learn_many(X.iloc[part], y.iloc[part])
    np.testing.assert_equal(many.arrays(), one.arrays())
    probe = X.iloc[-1:] if time else X
    asked = probe.to_dict("records")
    said = many.predict_many(probe)
    assert said.index.equals(probe.index)
    assert said.tolist() == [one.predict_one(x) for x in asked]
    if name == "TrackingClassifier":
        table = many.predict_proba_many(probe)
        assert table.to_dict("records") == [one.predict_proba_one(x) for x in asked]


def test_a_refused_batch_leaves_the_model_as_it_was(river):
    X, y = frame()
    model = river.TrackingRegressor(time="when")
    model.learn_many(X[:50], y[:50])
    before = pickle.dumps(model)
    words = X[50:].assign(new=["red"] * 40)
    later = X[50:].assign(new=1.0)
    for rows, targets, message in [
        (words, y[50:], r"x\['new'\] must be a number: got 'red'"),
        (later, y[50:89], "y must have one target a row"),
        (later, y[50:].where(y[50:] > 0), "y must"),
        (later[::-1], y[50:], "times must not go back"),
        (later.drop(columns="when"), y[50:], "X must hold the time 'when'"),
        (later.assign(new=1e200), y[50:], r"x\['new'\] must be within"),
        (later.assign(new=later["when"]), y[50:], "name it as the clock"),
        (later.to_numpy(), y[50:], "X must be a data frame"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.learn_many(rows, targets)
        assert pickle.dumps(model) == before


def test_polars_in_polars_out(river):
    polars = package("polars")
    X, y = frame()
    numbers = X.drop(columns="when").rename(columns=str)
    ours = polars.DataFrame({name: numbers[name].to_numpy() for name in numbers})
    model, same = river.TrackingRegressor(), river.TrackingRegressor()
    model.learn_many(ours, polars.Series("y", y.to_numpy()))
    same.learn_many(numbers, y)
    said = model.predict_many(ours)
    assert isinstance(said, polars.Series)
    assert said.to_list() == same.predict_many(numbers).tolist()


@pytest.mark.parametrize("absent", ["mean", "zero"])
def test_none_and_nan_are_features_that_are_not_there(river, absent):
    rng = np.random.default_rng(5)
    models = [river.TrackingRegressor(absent=absent) for _ in range(4)]
    for _ in range(60):
        a, b, y = rng.standard_normal(3).tolist()
        gone = rng.random() < 0.3
        rows = [{"a": a} if gone else {"a": a, "b": b} for _ in range(4)]
        if gone:
            rows[1]["b"], rows[2]["b"] = None, math.nan
            rows[3]["b"] = package("pandas").NA
        for model, x in zip(models, rows, strict=True):
            model.learn_one(x, y)
    for model in models[1:]:
        np.testing.assert_equal(model.arrays(), models[0].arrays())


def test_losses_go_by_name_too(river):
    rows = [({"a": t % 5}, float(t % 3)) for t in range(60)]
    for name, loss in [
        ("absolute_error", sp.losses.Absolute()),
        ("huber", sp.losses.Huber()),
        ("squared_error", None),
    ]:
        both = river.TrackingRegressor(loss=name), river.TrackingRegressor(loss=loss)
        for model in both:
            for x, y in rows:
                model.learn_one(x, y)
        assert both[0].predict_one({"a": 2}) == both[1].predict_one({"a": 2})
    with pytest.raises(ValueError, match="loss must be one of"):
        river.TrackingRegressor(loss="square")
    with pytest.raises(ValueError, match="loss must say which quantile"):
        river.TrackingRegressor(loss="quantile")


def test_features_of_rounds_after_a_gap_are_those_of_their_dates(river):
    """Rounds that wait have times of their own, which tell in which slots they are."""
    rng = np.random.default_rng(0)
    days = np.flatnonzero(rng.random(150) < 0.7)
    X = rng.standard_normal((150, 1))
    y = 10 - 5 * X[:, 0] + 0.3 * rng.standard_normal(150)
    model, start = river.Forecaster(4, season=None), datetime.datetime(2024, 1, 1)
    for day in days:
        x = {"t": start + datetime.timedelta(days=int(day)), "a": float(X[day, 0])}
        model.learn_one(y[day], x)
    core = sp.Forecaster(4, season=None, features=1)
    times = np.datetime64("2024-01-01", "us") + days * np.timedelta64(1, "D")
    core.track(y[days], X[days], times)
    assert model.forecast(4) == core.predict(horizon=4).tolist()


def test_the_time_is_no_feature_where_both_name_it(river):
    model = river.Forecaster(2, features=("a", "t"), time="t")
    for t in range(5):
        model.learn_one(1.0 * t, {"a": 2.0, "t": t})
    assert len(model.forecast(2)) == 2
