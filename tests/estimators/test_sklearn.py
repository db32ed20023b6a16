"""Scikit-learn's faces: NaN, weights, coefficients over time, intervals, losses, tables."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import stillpoint as sp
from extras import package

pytestmark = pytest.mark.extra


@pytest.fixture(scope="module")
def sklearn():
    package("sklearn"), package("pandas")
    from stillpoint.estimators import sklearn as module

    return module


def moving(rounds=600, seed=0):
    """Targets whose first coefficient goes from 1 to 3, in units and origins of all kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal([100.0, -2.0, 0.0], [10.0, 0.5, 1e-3], (rounds, 3))
    slopes = np.stack([np.linspace(1, 3, rounds), np.full(rounds, -4.0), np.full(rounds, 2e3)], 1)
    return X, 50 + (X * slopes).sum(axis=1) + 0.3 * rng.standard_normal(rounds), slopes


def test_nan_in_rows_is_a_feature_not_seen(sklearn):
    X, y, _ = moving()
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = sklearn.TrackingRegressor().fit(holes, y)
    core = sp.TrackingForecaster(3, missing=True)
    core.track(holes, y)
    assert model.predict(holes[:20]).tolist() == core.peek_rows(holes[:20]).tolist()
    labels = y > np.median(y)
    proba = sklearn.TrackingClassifier().fit(holes, labels).predict_proba(holes)
    assert np.isfinite(proba).all()
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 3), np.inf))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_the_coefficients_make_the_forecast(sklearn, loss):
    X, y, slopes = moving()
    quantile = 0.8 if loss == "quantile" else None
    model = sklearn.TrackingRegressor(loss, quantile=quantile, path_every=150).fit(X, y)
    inner = X[np.abs(X - X.mean(axis=0)).max(axis=1, where=[True, False, False], initial=0) < 9]
    np.testing.assert_allclose(
        model.predict(inner), inner @ model.coef_ + model.intercept_, rtol=1e-6
    )
    assert model.coef_path_.shape == (4, 3)
    assert model.path_rows_.tolist() == [150, 300, 450, 600]
    np.testing.assert_allclose(model.coef_path_[-1], model.coef_, rtol=1e-12)
    assert model.intercept_path_[-1] == pytest.approx(model.intercept_)
    np.testing.assert_allclose(model.coef_path_[:, 0], slopes[149::150, 0], atol=0.35)
    plain = sklearn.TrackingRegressor(loss, quantile=quantile).fit(X, y)
    assert not hasattr(plain, "coef_path_")
    assert plain.predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(AttributeError):
        _ = sklearn.TrackingRegressor().coef_


def test_paths_go_on_and_begin_anew(sklearn):
    X, y, _ = moving(95)
    whole = sklearn.TrackingRegressor(path_every=10).fit(X[:90], y[:90])
    parts = sklearn.TrackingRegressor(path_every=10)
    for first, last in pairwise((0, 30, 34, 37, 64, 90)):
        parts.partial_fit(X[first:last], y[first:last])
    np.testing.assert_array_equal(parts.coef_path_, whole.coef_path_)
    np.testing.assert_array_equal(parts.path_rows_, whole.path_rows_)
    assert whole.fit(X[:25], y[:25]).path_rows_.tolist() == [10, 20]
    classifier = sklearn.TrackingClassifier(path_every=50).fit(X, np.arange(95) % 3)
    assert classifier.coef_path_.shape == (1, 3, 3)
    assert classifier.intercept_path_.shape == (1, 3)
    with pytest.raises(ValueError, match="path_every must be"):
        sklearn.TrackingRegressor(path_every=0).fit(X, y)


def test_log_odds_lean_as_the_labels_do(sklearn):
    rng = np.random.default_rng(3)
    X = rng.normal(5, 2, (2000, 2))
    odds = 1.5 * (X[:, 0] - 5) - 0.5 * (X[:, 1] - 5)
    y = rng.random(2000) < 1 / (1 + np.exp(-odds))
    model = sklearn.TrackingClassifier().fit(X, y)
    assert model.coef_.shape == (1, 2)
    np.testing.assert_allclose(model.coef_[0], [1.5, -0.5], atol=0.25)
    # probabilities are a mixture, close to that of the mean log-odds
    said = 1 / (1 + np.exp(-(X @ model.coef_[0] + model.intercept_[0])))
    assert np.abs(said - model.predict_proba(X)[:, 1]).max() < 0.05


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_weights_of_one_change_nothing_and_rows_of_weight_zero_are_not_there(sklearn, name):
    X, y, _ = moving(200)
    y = y if name == "TrackingRegressor" else (y > np.median(y)).astype(int) + (y > y.mean() + 20)
    make = getattr(sklearn, name)
    ask = "predict" if name == "TrackingRegressor" else "predict_proba"
    plain = getattr(make().fit(X, y), ask)(X)
    ones = getattr(make().fit(X, y, sample_weight=np.ones(200)), ask)(X)
    np.testing.assert_array_equal(plain, ones)
    kept = np.arange(200) % 3 > 0
    some = getattr(make().fit(X, y, sample_weight=kept.astype(float)), ask)(X)
    np.testing.assert_array_equal(some, getattr(make().fit(X[kept], y[kept]), ask)(X))
    for weights, message in [
        (np.zeros(200), "zero for all"),
        (np.full(200, -1.0), "sample_weight must be from 0"),
        (np.full(200, np.nan), "sample_weight must be from 0"),
        (np.ones(100), "sample_weight must have shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            make().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("name", ["TrackingRegressor", "TrackingClassifier"])
def test_a_heavy_row_counts_as_many(sklearn, name):
    """To the filter that does not drift; for the mixture, rows that come again are easy ones."""
    from stillpoint.estimators.sklearn.base import in_units

    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(150)
    y = y if name == "TrackingRegressor" else y > 0
    heavy = rng.choice([1, 4], 150)

    def slopes(*rows, **weights):
        core = getattr(sklearn, name)().fit(*rows, **weights).core_
        return in_units(core._state.means, core._state.features)[0][0]

    repeated = slopes(X.repeat(heavy, axis=0), y.repeat(heavy))
    off = np.abs(repeated - slopes(X, y, sample_weight=heavy)).max()
    assert off < 0.2 * np.abs(repeated - slopes(X, y)).max()


def test_weights_by_the_noise_make_better_coefficients(sklearn):
    off = {True: [], False: []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, noise = rng.standard_normal((300, 2)), rng.choice([0.1, 3.0], 300)
        y = X @ [1.0, -1.0] + noise * rng.standard_normal(300)
        for weighs in off:
            weights = (0.1 / noise) ** 2 if weighs else None
            model = sklearn.TrackingRegressor().fit(X, y, sample_weight=weights)
            off[weighs].append(np.abs(model.coef_ - [1.0, -1.0]).max())
    assert np.mean(off[True]) < 0.4 * np.mean(off[False])


def test_intervals_cover_their_share_while_the_noise_changes(sklearn):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((2000, 2))
    noise = np.where(np.arange(2000) < 1000, 1.0, 5.0)
    y = X @ [1.0, 2.0] + noise * rng.standard_normal(2000)
    model = sklearn.TrackingRegressor(coverage=[0.5, 0.9]).fit(X[:500], y[:500])
    inside = []
    for first in range(500, 2000, 5):
        part = slice(first, first + 5)
        ends = model.predict_interval(X[part])
        assert ends.shape == (5, 2, 2)
        inside.append((ends[:, 0] <= y[part, None]) & (y[part, None] <= ends[:, 1]))
        model.partial_fit(X[part], y[part])
    covered = np.concatenate(inside).mean(axis=0)
    np.testing.assert_allclose(covered, [0.5, 0.9], atol=0.03)
    # a radius that is not followed would cover a third of what comes after the change
    assert abs(np.concatenate(inside)[600:].mean(axis=0)[1] - 0.9) < 0.03
    same = sp.IntervalTracker([0.5, 0.9])
    same.track(sp.TrackingForecaster(2).track(X, y), y)
    assert model.intervals_.misses.tolist() == same.misses.tolist()
    with pytest.raises(ValueError, match="coverage must be given"):
        sklearn.TrackingRegressor().fit(X, y).predict_interval(X)


def test_intervals_that_are_asked_for_later_begin_with_the_next_rows(sklearn):
    X, y, _ = moving(300)
    model = sklearn.TrackingRegressor().fit(X[:100], y[:100]).set_params(coverage=0.9)
    with pytest.raises(ValueError, match="coverage must be given for intervals, and before"):
        model.predict_interval(X)
    model.partial_fit(X[100:], y[100:])
    assert model.intervals_.seen == 200
    assert np.isfinite(model.predict_interval(X[:1])).all()


def test_names_of_losses(sklearn):
    X, y, _ = moving(100)
    for name, quantile, loss in [
        ("absolute_error", None, sp.losses.Absolute()),
        ("huber", None, sp.losses.Huber()),
        ("quantile", 0.9, sp.losses.Pinball(0.9)),
    ]:
        named = sklearn.TrackingRegressor(name, quantile=quantile).fit(X, y).predict(X)
        assert named.tolist() == sklearn.TrackingRegressor(loss).fit(X, y).predict(X).tolist()
    for arguments, message in [
        ({"loss": "mse"}, "loss must be one of"),
        ({"loss": "quantile"}, "which quantile"),
        ({"quantile": 0.5}, "quantile must be left out"),
    ]:
        with pytest.raises(ValueError, match=message):
            sklearn.TrackingRegressor(**arguments).fit(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_answers_as_tables(sklearn, kind):
    library, pandas = package(kind), package("pandas")
    from sklearn.base import clone

    X, y, _ = moving(60)
    frame = pandas.DataFrame(X, columns=list("abc"), index=np.arange(60) * 10)
    if kind == "polars":
        frame = library.DataFrame({name: frame[name].to_numpy() for name in "abc"})
    model = sklearn.TrackingRegressor(coverage=0.9).set_output(transform=kind)
    model = clone(model).fit(frame, y)
    plain = sklearn.TrackingRegressor(coverage=0.9).fit(X, y)
    said, ends = model.predict(frame), model.predict_interval(frame)
    assert isinstance(said, library.Series)
    assert isinstance(ends, library.DataFrame)
    assert list(ends.columns) == ["lo", "hi"]
    np.testing.assert_array_equal(ends.to_numpy(), plain.predict_interval(X))
    np.testing.assert_array_equal(said.to_numpy(), plain.predict(X))
    if kind == "pandas":
        assert said.index.equals(frame.index)
    assert model.score(frame, y) == plain.score(X, y)
    labels = np.where(y > np.median(y), "up", "down")
    classifier = sklearn.TrackingClassifier().set_output(transform=kind).fit(frame, labels)
    assert list(classifier.predict_proba(frame).columns) == ["down", "up"]
    assert set(classifier.predict(frame).to_list()) <= {"up", "down"}
    assert isinstance(classifier.set_output(transform="default").predict(frame), np.ndarray)
    with pytest.raises(ValueError, match="transform must be"):
        model.set_output(transform="arrow")


def test_paths_and_intervals_survive_saving(sklearn, tmp_path):
    X, y, _ = moving(90)
    model = sklearn.TrackingRegressor("huber", coverage=[0.5, 0.9], path_every=20).fit(X, y)
    sp.save(model, tmp_path / "model")
    loaded = sp.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[:15], y[:15])
    np.testing.assert_array_equal(loaded.coef_path_, model.coef_path_)
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    band = sklearn.TrackingRegressor(coverage=0.9).fit(X, y)
    before = pickle.dumps(band)
    with pytest.raises(ValueError, match="y must be"):
        band.partial_fit(X, np.full(90, 1e200))
    assert pickle.dumps(band) == before


def test_intervals_are_of_the_coverage_that_rows_were_learnt_with(sklearn, tmp_path):
    X, y, _ = moving(200)
    model = sklearn.TrackingRegressor(coverage=[0.5, 0.95]).fit(X[:150], y[:150])
    wide = model.predict_interval(X[:5])[:, :, 1]
    model.set_params(coverage=0.95)
    with pytest.raises(ValueError, match=r"coverage must be given for intervals, and before fit"):
        model.predict_interval(X[:5])
    sp.save(model, tmp_path / "changed")
    again = sp.load(tmp_path / "changed")
    assert np.array_equal(again.predict(X[:5]), model.predict(X[:5]))
    assert not np.array_equal(model.partial_fit(X[150:], y[150:]).predict_interval(X[:5]), wide)
    assert model.intervals_.seen == 50
    plain = sklearn.TrackingRegressor().fit(X, y).set_params(coverage=0.9)
    sp.save(plain, tmp_path / "later")
    assert not hasattr(sp.load(tmp_path / "later"), "intervals_")


def test_times_are_dates_of_any_kind(sklearn):
    import pandas as pd

    X, y, _ = moving(60)
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    at = np.arange(60) * 3600.0 + hours[0].timestamp()
    expected = sklearn.TrackingRegressor().fit(X, y, times=at).predict(X)
    for times in (hours, hours.tz_localize("UTC"), list(hours.to_pydatetime()), hours.to_numpy()):
        found = sklearn.TrackingRegressor().fit(X, y, times=times).predict(X)
        assert np.array_equal(found, expected)
    for weights in (np.ones(60), np.arange(60) > 0):
        with pytest.raises(ValueError, match=r"times must have shape \(60,\): got \(59,\)"):
            sklearn.TrackingRegressor().fit(X, y, sample_weight=weights, times=at[1:])
