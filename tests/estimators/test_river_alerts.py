"""River's faces of alerts: its own checks, the learners behind them, its filters and ensembles."""

import itertools
import pickle

import numpy as np
import pytest

import stillpoint as sp
from extras import package

pytestmark = pytest.mark.extra


@pytest.fixture(scope="module")
def river():
    package("river")
    from stillpoint.estimators import river as module

    return module


def series(rows=400, seed=0):
    """A season in noise, missing values as None and NaN, and two that do not fit."""
    rng = np.random.default_rng(seed)
    y = (5 + np.sin(2 * np.pi * np.arange(rows) / 12) + 0.2 * rng.standard_normal(rows)).tolist()
    for t in rng.integers(0, rows, rows // 20).tolist():
        y[t] = None if t % 2 else float("nan")
    y[rows // 2], y[rows - 20] = 9.0, -2.0
    return y


def rows_of(count, odd=(), seed=0):
    """Features, of which the first tells the target, which is off by 20 deviations at odd rows."""
    rng = np.random.default_rng(seed)
    for t in range(count):
        a, b, noise = rng.standard_normal(3).tolist()
        yield {"a": a, "b": b}, 10.0 + 5.0 * a + 0.1 * noise + 2.0 * (t in odd)


def missing(y):
    return y is None or y != y


class Told:
    """A regressor that says what the row holds."""

    def predict_one(self, x):
        return x["said"]

    def learn_one(self, x, y):
        if x.get("refuse"):
            raise ValueError("no")


# anomalies


@pytest.mark.parametrize("place", [0, 1])
def test_the_anomaly_detector_passes_rivers_checks(river, place):
    checks = package("river.checks")
    arguments = list(river.Anomalies._unit_test_params())[place]
    model = river.Anomalies(**arguments)
    assert not model._unit_test_skips()
    checks.check_estimator(model)


@pytest.mark.parametrize(
    "name",
    [
        "learn_one",
        "no_state_aliasing_with_input",
        "clone_is_independent",
        "bounded_memory_growth",
    ],
)
def test_the_anomaly_detector_passes_checks_on_data(river, name):
    """Those that do not ask for a prediction: river runs them for other kinds of models only."""
    common = package("river.checks.common")
    from river import datasets

    if not hasattr(common, f"check_{name}"):
        pytest.skip("this river has no such check")
    rows = list(datasets.TrumpApproval().take(400))
    for model in (
        river.Anomalies(period=1, regressor=river.TrackingRegressor(), grace_period=20),
        river.Anomalies(),
    ):
        getattr(common, f"check_{name}")(model, rows)


def test_what_river_weighs_of_a_detector_is_the_detector(river):
    """It walks over all that a model can reach: compiled functions lead to the whole compiler."""
    model = river.Anomalies()
    for y in series(100):
        model.learn_one({}, y)
    assert model._raw_memory_usage < 1_500_000


def test_scores_are_p_values_of_the_learner_and_change_nothing(river):
    y = series(200)
    model, same = river.Anomalies(rate=0.01), sp.Anomalies(rate=0.01)
    detected = []
    for t, value in enumerate(y):
        before = pickle.dumps(model) if t % 10 < 2 else None
        said = model.score_one(None, value)
        assert before is None or pickle.dumps(model) == before
        assert model.score_one({"any": "thing"}, value) == said
        model.learn_one(None, value)
        if missing(value):
            same.skip()
            assert said == 0.0
        else:
            found = same.update(value)
            assert said == 1.0 - same.p
            assert model.anomaly_detected == (found is not None)
            if found is not None:
                detected.append(t)
                assert model.anomaly == found
        assert (model.alarms, model.alarm_bound()) == (same.alarms, same.alarm_bound())
    assert 100 in detected
    assert model.anomaly.row == detected[-1] < len(y) - 1
    assert not model.anomaly_detected


def test_an_anomaly_detector_that_knows_features_finds_what_they_reveal(river):
    """2 is little beside the targets' deviation of 5, and much beside what features leave open."""
    odd, core = 500, sp.Anomalies()
    model = river.Anomalies(regressor=river.TrackingRegressor())
    regressor, found = river.TrackingRegressor(), []
    for t, (x, y) in enumerate(rows_of(900, [odd])):
        forecast = regressor.predict_one(x) if t >= 100 else np.nan
        assert model.score_one(x, y) == (0.0 if t < 100 else 1.0 - core.score(y, forecast=forecast))
        model.learn_one(x, y)
        regressor.learn_one(x, y)
        record = core.update(y, forecast=forecast)
        assert model.anomaly_detected == (record is not None)
        found += [] if record is None else [record.row]
    assert odd in found
    assert len(found) <= 3
    assert odd not in [each.row for each in without(rows_of(900, [odd]))]


def without(rows):
    """Alarms of targets whose features are not known."""
    mean = sp.VariationForecaster()
    return sp.Anomalies(forecaster=mean).track([y for _, y in rows])[1]


def test_the_first_errors_of_a_regressor_do_not_hide_anomalies(river):
    found = {}
    for grace in (0, 100):
        detector = river.Anomalies(regressor=river.TrackingRegressor(), grace_period=grace)
        for t, (x, y) in enumerate(rows_of(600, [550])):
            assert t >= grace or detector.score_one(x, y) == 0.0
            detector.learn_one(x, y)
        found[grace] = detector.anomaly is not None and detector.anomaly.row == 550
    assert found == {0: False, 100: True}


def test_rows_that_the_anomaly_detector_refuses_leave_no_trace(river):
    told = river.Anomalies(regressor=Told(), grace_period=0)
    own = river.Anomalies()
    for t in range(30):
        told.learn_one({"said": t % 5 or None}, t % 3)  # None: nothing is forecast
        own.learn_one(None, t % 3)
    for model in (told, own):
        before = pickle.dumps(model)
        for x, y, message in [
            ({"said": 1.0}, "high", "y must be a number"),
            ({"said": 1.0}, np.inf, "y must be finite"),
            ({"said": 1.0}, 1e100, "y must be at most"),
            ({"said": 1.0}, [1.0], "y must be a number"),
            ({"said": np.inf}, 1.0, "scale the features"),
            ({"said": 1.0, "refuse": True}, 1.0, "no"),
        ]:
            if model is told or message.startswith("y"):
                with pytest.raises(ValueError, match=message):
                    model.learn_one(x, y)
                if message != "no":
                    with pytest.raises(ValueError, match=message):
                        model.score_one(x, y)
            assert pickle.dumps(model) == before
    for arguments, message in [
        ({"rate": 0.9}, "rate must be"),
        ({"period": 0}, "period must be"),
        ({"grace_period": -1}, "grace_period must"),
        ({"regressor": sp.Forecaster()}, "regressor must be a model of river"),
    ]:
        with pytest.raises(ValueError, match=message):
            river.Anomalies(**arguments)


def test_detectors_that_are_cloned_begin_anew_and_pickled_go_on(river):
    rows = list(rows_of(300, (250,)))
    model = river.Anomalies(rate=0.01, regressor=river.TrackingRegressor(), grace_period=50)
    fresh = pickle.dumps(model.clone())
    for x, y in rows[:200]:
        model.learn_one(x, y)
    assert pickle.dumps(model.clone()) == fresh
    again = pickle.loads(pickle.dumps(model))
    for x, y in rows[200:]:
        assert again.score_one(x, y) == model.score_one(x, y)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert again.anomaly == model.anomaly is not None


def test_only_regressors_of_this_library_are_saved_with_their_detector(river, tmp_path):
    from river import linear_model

    sp.save(river.Anomalies(regressor=river.TrackingRegressor()), tmp_path / "ours")
    assert isinstance(sp.load(tmp_path / "ours").regressor, river.TrackingRegressor)
    with pytest.raises(ValueError, match="regressor must be one of this library"):
        sp.save(river.Anomalies(regressor=linear_model.LinearRegression()), tmp_path / "theirs")


def filtered(model, rows):
    """Rows that a filter calls unusual, each before it is learnt."""
    found = []
    for t, (x, y) in enumerate(rows):
        if model.classify(model.score_one(x, y)):
            found.append(t)
        model.learn_one(x, y)
    return found


def test_a_threshold_filter_finds_unusual_rows_and_keeps_them_from_its_detector(river):
    from river import anomaly

    odd, rows = (500, 501, 502, 1500), 5000
    detector = river.Anomalies(regressor=river.TrackingRegressor())
    found = filtered(anomaly.ThresholdFilter(detector, threshold=0.999), rows_of(rows, odd))
    assert set(odd) <= set(found)
    assert len(found) <= len(odd) + detector.rate * rows + 3 * np.sqrt(detector.rate * rows)
    assert detector._core.rounds == rows - len(found)
    assert detector.alarms == 0


def test_a_threshold_of_0_999_is_beyond_what_a_stretch_alone_can_reach(river):
    """Else a protected detector whose last rows have left the long run would hold all rows back."""
    core = sp.Anomalies()
    y = np.random.default_rng(0).standard_normal(6000)
    core.track(np.append(y, np.full(10, 100.0)), np.zeros(6010))
    assert core.p_level < 1 / 4999
    assert 0.001 < core.score(0.0, forecast=0.0) < 0.002


@pytest.mark.parametrize("protects", [True, False])
def test_a_quantile_filter_holds_its_share_back(river, protects):
    from river import anomaly

    odd = (1000, 1001, 1002, 1500)
    detector = river.Anomalies(regressor=river.TrackingRegressor())
    model = anomaly.QuantileFilter(detector, q=0.99, protect_anomaly_detector=protects)
    found = np.array(filtered(model, rows_of(4000, odd)))
    assert set(odd) <= set(found.tolist())
    late = np.sum(found >= 500)
    assert 0.003 < late / 3500 < 0.02
    assert detector._core.rounds == (4000 - len(found) if protects else 4000)
    if not protects:  # what it learns is told, and once
        alarms = [anomaly.row for anomaly in detector._core.records]
        assert [row for row in alarms if 1000 <= row <= 1100] == [1000]


def test_in_a_pipeline_what_does_not_fit_is_not_learnt_by_the_model_behind(river):
    from river import anomaly, linear_model, preprocessing

    odd = tuple(range(1000, 1100, 5))
    rows = [(x, y + 40.0 * (t in odd)) for t, (x, y) in enumerate(rows_of(1100))]

    def model():
        return preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1)

    detector = river.Anomalies(regressor=river.TrackingRegressor())
    guarded = anomaly.ThresholdFilter(detector, threshold=0.999) | model()
    plain, errors = model(), {True: [], False: []}
    for t, (x, y) in enumerate(rows):
        if t > 1000 and t not in odd:
            for part, each in ((True, guarded), (False, plain)):
                errors[part].append(abs(each.predict_one(x) - y))
        guarded.learn_one(x, y)
        plain.learn_one(x, y)
    assert np.mean(errors[True]) < 0.2
    assert np.mean(errors[False]) > 5 * np.mean(errors[True])


# changes


def test_the_drift_detector_passes_rivers_checks(river):
    """All but that of tags, which are of estimators; detectors of drift are none in river."""
    checks = package("river.checks")
    passed = []
    for check in checks.yield_checks(river.Changes()):
        if check.__name__ != "check_tags":
            check(river.Changes(every=500).clone())
            passed.append(check.__name__)
    assert len(passed) >= 9


def jumps(seed=0):
    """Levels 0, 2 and 0 in noise, and a gap, as 600 rows each."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0.0, 2.0, 0.0], 600) + rng.standard_normal(1800)
    y[700:720] = np.nan
    return y


def test_drift_is_what_the_learner_declares(river):
    y = jumps()
    detector, same, found = river.Changes(every=1000), sp.Changes(every=1000), []
    for t, value in enumerate(y.tolist()):
        detector.update(None if value != value and t % 2 else value)
        change = None
        if value != value:
            same.skip()
        else:
            change = same.update(value)
        assert detector.drift_detected == (change is not None)
        assert detector.evidence == same.evidence
        assert detector.change == (same.records or [None])[-1]
        found += [detector.change] if detector.drift_detected else []
    kinds = [(each.kind, each.row) for each in found]
    assert [kind for kind, _ in kinds][:1] == ["level up"]
    assert 600 <= kinds[0][1] < 650
    assert "level down" in [kind for kind, row in kinds if 1200 <= row < 1250]
    # sizes are measured further: not the one in the row that declared it
    assert detector.change.row == found[-1].row
    assert detector.change.after != found[-1].after


def test_a_warning_may_come_before_drift_and_never_with_it(river):
    warned = 0
    for seed in range(5):
        detector, last = river.Changes(), False
        for value in np.append(jumps(seed)[:600], 0.5 + np.abs(jumps(seed)[:600])).tolist():
            last = detector.warning_detected
            detector.update(value)
            assert not (detector.warning_detected and detector.drift_detected)
            assert detector.warning_detected == (1000.0 <= detector.evidence < 15_000.0)
            if detector.drift_detected:
                warned += last
                break
    assert warned >= 3


def test_changes_are_found_in_zeros_and_ones_and_wandering_is_none(river):
    """The errors of a classifier; and noise that leans on its past, which is no drift."""
    from river import drift

    rng = np.random.default_rng(0)
    wrong = np.append(rng.random(1000) < 0.2, rng.random(1000) < 0.8).astype(int).tolist()
    detector = river.Changes()
    found = [t for t, each in enumerate(wrong) if detector.update(each) or detector.drift_detected]
    assert len(found) >= 1
    assert 1000 <= found[0] < 1040
    assert detector._core.records[0].kind == "level up"
    wander, noise = [0.0], rng.standard_normal(10_000).tolist()
    for each in noise:
        wander.append(0.8 * wander[-1] + each)
    alarms = {}
    for model in (river.Changes(), drift.ADWIN()):
        alarms[type(model).__name__] = sum(
            model.update(y) or model.drift_detected for y in wander[1:]
        )
    assert alarms["Changes"] <= 3
    assert alarms["ADWIN"] >= 20


def switched(rows=3000, seed=0):
    """Two classes, whose rule is turned round in the middle."""
    rng = np.random.default_rng(seed)
    for t in range(rows):
        a, b = rng.standard_normal(2).tolist()
        yield {"a": a, "b": b}, bool((a + b > 0.0) != (t >= rows // 2))


@pytest.mark.parametrize("background", [True, False])
def test_a_classifier_is_retrained_when_its_errors_change(river, background):
    from river import drift, naive_bayes

    plain = naive_bayes.GaussianNB()
    model = drift.DriftRetrainingClassifier(
        naive_bayes.GaussianNB(), river.Changes(), train_in_background=background
    )
    right = {"plain": 0, "retrained": 0}
    for t, (x, y) in enumerate(switched()):
        for name, each in (("plain", plain), ("retrained", model)):
            right[name] += t >= 1500 and each.predict_one(x) == y
            each.learn_one(x, y)
    assert right["retrained"] > 0.85 * 1500
    assert right["plain"] < 0.6 * 1500
    assert 1500 <= model.drift_detector._core.records[0].row < 1550


def test_forests_change_trees_by_it(river):
    from river import forest

    model = forest.ARFClassifier(
        n_models=3,
        seed=0,
        drift_detector=river.Changes(every=2000),
        warning_detector=river.Changes(every=200),
    )
    right = 0
    for t, (x, y) in enumerate(switched(2400)):
        if t == 1200:
            assert model.n_drifts_detected() <= 2
        right += t >= 1600 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert model.n_drifts_detected() >= 3
    assert right > 0.85 * 800


def test_values_that_the_drift_detector_refuses_leave_no_trace(river):
    detector = river.Changes()
    for value in itertools.islice(jumps().tolist(), 650):
        detector.update(value)
    before = pickle.dumps(detector)
    for bad in ("5", np.inf, [1.0], 1j, 1e200):
        with pytest.raises(ValueError, match="x must be"):
            detector.update(bad)
        assert pickle.dumps(detector) == before
    assert pickle.dumps(detector.clone()) == pickle.dumps(river.Changes())
    with pytest.raises(ValueError, match="every must be"):
        river.Changes(every=0)
