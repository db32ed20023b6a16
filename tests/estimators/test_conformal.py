"""Intervals and label sets around any model of river and scikit-learn."""

import pickle

import numpy as np
import pytest

import stillpoint as sp
from extras import package

pytestmark = pytest.mark.extra

NAMES = ["ConformalRegressor", "ConformalQuantiles", "ConformalClassifier"]


def faces(kind):
    package(kind)
    return __import__(f"stillpoint.estimators.{kind}", fromlist=["x"])


class Told:
    """A model that says what the row holds under a name, in river's way."""

    def __init__(self, name):
        self.name = name

    def predict_one(self, x):
        return x[self.name]

    def predict_proba_one(self, x):
        return x[self.name]

    def learn_one(self, x, y):
        if x.get("refuse"):
            raise ValueError("no")


def column(place):
    """A fitted model of scikit-learn that says what is in that column."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    model.coef_, model.intercept_ = np.eye(3)[place], 0.0
    model.n_features_in_ = 3
    return FrozenEstimator(model)


@pytest.mark.parametrize("name", NAMES)
def test_river_conformance(name):
    checks = package("river.checks")
    kind = getattr(faces("river"), name)
    model = kind(**next(iter(kind._unit_test_params())))
    assert not model._unit_test_skips()
    checks.check_estimator(model)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conformance(name):
    checks = package("sklearn.utils.estimator_checks")
    from sklearn.linear_model import Ridge
    from sklearn.naive_bayes import GaussianNB

    make = getattr(faces("sklearn"), name)
    models = [Ridge()] * (2 if name == "ConformalQuantiles" else 1)
    checks.check_estimator(make(*([GaussianNB()] if name == "ConformalClassifier" else models)))


def uneven(rounds, seed=0):
    """Noise that grows with x, and is four times as much from the middle on."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 2.0, rounds)
    spread = x * np.where(np.arange(rounds) < rounds // 2, 1.0, 4.0)
    return x, spread, 3 * x + spread * rng.standard_normal(rounds)


def test_intervals_around_a_regressor_are_the_trackers():
    x, _, y = uneven(1500)
    river = faces("river").ConformalRegressor(Told("f"), coverage=0.8)
    same = sp.IntervalTracker(0.8)
    lo, hi = same.track(3 * x, y)
    for t in range(1500):
        band = river.predict_one({"f": 3 * x[t]}, with_interval=True)
        assert (band.lower, band.upper) == (lo[t], hi[t])
        assert river.predict_one({"f": 3 * x[t]}) == 3 * x[t]
        river.learn_one({"f": 3 * x[t]}, y[t])
    assert river.tracker.misses == same.misses
    X = np.stack([3 * x, x, y], axis=1)
    model = faces("sklearn").ConformalRegressor(column(0), coverage=0.8, calibration=0.5)
    model.fit(X[:600], y[:600])
    tail = sp.IntervalTracker(0.8)
    tail.track(3 * x[300:600], y[300:600])
    expected = [tail.peek(forecast) for forecast in 3 * x[600:610]]
    np.testing.assert_allclose(model.predict_interval(X[600:610]), expected, rtol=1e-12)
    model.partial_fit(X[600:], y[600:])
    tail.track(3 * x[600:], y[600:])
    assert model.intervals_.misses == tail.misses


@pytest.mark.parametrize("kind", ["river", "sklearn"])
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_quantiles_too_near_or_too_far_apart_are_set_right(kind, factor):
    """A score of the wrong sign would make the wide ones wider; one that is cut off at 0 could
    never make them narrower.
    """
    x, _, y = uneven(3000)
    reach = factor * 1.645 * x  # would be right at 1, in the first half
    X = np.stack([3 * x - reach, 3 * x + reach, x], axis=1)
    raw = np.abs(y - 3 * x) <= reach
    assert abs(raw.mean() - 0.9) > 0.15 or raw[:1500].mean() > 0.99
    lo, hi = np.empty(3000), np.empty(3000)
    if kind == "river":
        model = faces("river").ConformalQuantiles(Told("a"), Told("b"), coverage=0.9)
        for t in range(3000):
            row = {"a": X[t, 0], "b": X[t, 1]}
            band = model.predict_one(row, with_interval=True)
            lo[t], hi[t] = band.lower, band.upper
            model.learn_one(row, y[t])
        tracker, first = model.tracker, 0
    else:
        model = faces("sklearn").ConformalQuantiles(column(0), column(1), coverage=0.9)
        model.fit(X[:500], y[:500])
        for t in range(500, 3000, 10):
            part = slice(t, t + 10)
            lo[part], hi[part] = model.predict_interval(X[part]).T
            model.partial_fit(X[part], y[part])
        tracker, first = model.scores_, 500
    inside = (lo <= y) & (y <= hi)
    for part in (inside[first:1500], inside[1500:]):
        assert abs(part.mean() - 0.9) < 0.035
    # as wide for each x as the quantiles say, up to what is added to all
    finite = np.isfinite(hi - lo)
    finite[:first] = False
    added = (hi - lo - 2 * reach)[finite]
    assert (added[200:900] < 0).all() if factor > 1 else (added[200:900] > 0).all()
    least, most = tracker.miss_bound()
    assert least <= tracker.misses <= most
    if kind == "river":
        assert 0 <= tracker.misses - np.sum(~inside) <= 1  # all is covered at first


def sharp(rounds, seed=0):
    """Three labels, and probabilities that are far too sure; from the middle on they are drawn
    from others.
    """
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([1.0, 1.0, 1.0], rounds)
    labels = np.array([rng.choice(3, p=p) for p in true])
    said = true**3 / (true**3).sum(axis=1, keepdims=True)
    late = np.arange(rounds) >= rounds // 2
    said[late] = 0.5 * said[late] + 0.5 * rng.dirichlet([1.0, 1.0, 1.0], int(late.sum()))
    return said, labels


@pytest.mark.parametrize("coverage", [0.4, 0.8, 0.95])
def test_label_sets_cover_their_share_whatever_the_probabilities(coverage):
    """At 0.4 less than the likeliest label: a rule that always takes that one covers 0.6."""
    said, labels = sharp(3000)
    model = faces("river").ConformalClassifier(Told("p"), coverage=coverage)
    inside, size = [], []
    for p, label in zip(said, labels.tolist(), strict=True):
        row = {"p": dict(enumerate(p))}
        found = model.predict_set_one(row)
        inside.append(label in found)
        size.append(len(found))
        if 0 < len(found) < 3:  # the likelier ones
            assert min(p[list(found)]) >= max(np.delete(p, list(found)))
        model.learn_one(row, label)
    for part in (inside[:1500], inside[1500:]):
        assert abs(np.mean(part) - coverage) < 0.035
    assert size[:2] == [3, 3]
    assert np.mean(size[10:]) < 3 * coverage
    least, most = model.tracker.miss_bound()
    assert least <= model.tracker.misses <= most


def test_label_sets_around_a_classifier_of_scikit_learn():
    sklearn = faces("sklearn")
    pandas = package("pandas")
    from sklearn.frozen import FrozenEstimator
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(1)
    names = np.array(["ant", "bee", "cow"])
    y = rng.integers(0, 3, 3000)
    X = pandas.DataFrame(y[:, None] + 1.2 * rng.standard_normal((3000, 2)), columns=["u", "v"])
    X["w"] = X["u"]  # counted twice: the probabilities are too sure
    model = sklearn.ConformalClassifier(GaussianNB(), coverage=0.8)
    model.fit(X[:1000], names[y[:1000]])
    sets = model.predict_set(X[1000:])
    assert sets.shape == (2000, 3)
    assert abs(sets[np.arange(2000), y[1000:]].mean() - 0.8) < 0.03
    table = model.set_output(transform="pandas").predict_set(X[1000:])
    assert list(table.columns) == names.tolist()
    assert table.index.equals(X.index[1000:])
    np.testing.assert_array_equal(table.to_numpy(), sets)
    # a label that was not in fit is in no set: a score of 1
    stranger = sklearn.ConformalClassifier(GaussianNB(), coverage=0.8)
    stranger.fit(X[:300], names[y[:300] % 2])
    stranger.estimator_ = FrozenEstimator(stranger.estimator_)
    before = stranger.scores_.misses
    stranger.partial_fit(X[:5], np.full(5, "cow"))
    assert stranger.scores_.misses >= before + 4


def test_what_is_refused_leaves_scores_and_models_as_they_were():
    river, sklearn = faces("river"), faces("sklearn")
    models = [
        river.ConformalRegressor(Told("f")),
        river.ConformalQuantiles(Told("f"), Told("g")),
    ]
    for model in models:
        for t in range(20):
            model.learn_one({"f": t % 3, "g": t % 3 + 1}, float(t % 4))
        before = pickle.dumps(model)
        for x, y in [
            ({"f": 1.0, "g": 2.0}, np.nan),
            ({"f": 1.0, "g": 2.0}, "high"),
            ({"f": np.inf, "g": 2.0}, 1.0),
            ({"f": 1.0, "g": 2.0, "refuse": True}, 1.0),
        ]:
            with pytest.raises(ValueError, match=r"must be|no"):
                model.learn_one(x, y)
            assert pickle.dumps(model) == before
    X = np.random.default_rng(0).random((60, 3))
    model = sklearn.ConformalRegressor(sklearn.TrackingRegressor()).fit(X, X[:, 0])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X, X[:5, 0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], X[:, 0])
    assert pickle.dumps(model) == before
    for arguments, message in [
        ({"calibration": 1.5}, "calibration must be a share"),
        ({"coverage": 2.0}, "coverage must be between"),
        ({"coverage": [0.5, 0.9]}, "coverage must be one number"),
    ]:
        with pytest.raises(ValueError, match=message):
            sklearn.ConformalRegressor(column(0), **arguments).fit(X, X[:, 0])


def test_probabilities_that_are_no_numbers_are_refused_before_the_classifier_learns():
    river, sklearn = faces("river"), faces("sklearn")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Lost(ClassifierMixin, BaseEstimator):
        """Of rows that begin with 2 it has no idea."""

        def fit(self, X, y):
            self.classes_, self.learnt = np.unique(y), 0
            return self

        def partial_fit(self, X, y):
            self.learnt += len(y)

        def predict_proba(self, X):
            sure = np.where(np.asarray(X)[:, 0] == 2.0, np.nan, 0.5)
            return np.column_stack([sure, sure])

    X = np.random.default_rng(0).random((60, 3))
    model = sklearn.ConformalClassifier(Lost()).fit(X, X[:, 0] > 0.5)
    learnt, rounds = model.estimator_.learnt, model.scores_.rounds
    with pytest.raises(ValueError, match="probabilities must be finite: got nan"):
        model.partial_fit(np.full((2, 3), 2.0), [True, False])
    assert (model.estimator_.learnt, model.scores_.rounds) == (learnt, rounds)
    one = river.ConformalClassifier(Told("f"))
    for x in ({"f": {True: np.nan}}, {"f": {True: np.nan}, "refuse": True}):
        with pytest.raises(ValueError, match=r"probability must be .*: got nan; scale the feat"):
            one.learn_one(x, True)
    assert one.tracker.rounds == 0


def test_scores_in_bulk_are_those_one_by_one():
    from stillpoint.estimators.conformal import ScoreQuantile

    scores = np.random.default_rng(2).standard_normal(50)
    one, many = ScoreQuantile(0.8), ScoreQuantile(0.8)
    single = []
    for score in scores:
        single.append(one.quantile)
        one.learn(score)
    bulk = [many.learn_many(scores[:1]), many.learn_many(scores[1:1]), many.learn_many(scores[1:7])]
    assert np.concatenate([*bulk, many.learn_many(scores[7:])]).tolist() == single
    assert many.quantile == one.quantile


def test_a_model_of_another_library_is_refused_before_the_first_row():
    river = faces("river")
    for make in (river.ConformalRegressor, river.ConformalClassifier):
        with pytest.raises(ValueError, match=r"must be a model of river with predict_.*got None"):
            make(None)


def test_a_label_that_comes_late_is_in_no_set_and_hurts_nobody():
    """Also where the classifier learns on, which refuses labels that it does not know."""
    sklearn = faces("sklearn")
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    y[80:] = 2
    model = sklearn.ConformalClassifier(GaussianNB()).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.scores_.seen == 29
    model.partial_fit(X[:3], [2, 2, 2])
    assert model.scores_.seen == 32
    theirs = GaussianNB().fit(X[:70], y[:70]).partial_fit(X[70:80], y[70:80])
    assert np.array_equal(model.estimator_.predict_proba(X), theirs.predict_proba(X))
