"""Sktime's face: its own conformance suite, updates that are no refits, columns known ahead."""

import warnings

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from thorough import THOROUGH

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def make():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package("sktime.forecasting.base")
    from stillpoint.estimators import sktime

    return lambda **options: sktime.Forecaster(**{"pool": "small", **options})


@pytest.fixture(scope="module")
def sales():
    """A season of 12, a price, and values that are missing."""
    pandas = package("pandas")
    rng = np.random.default_rng(0)
    months = pandas.period_range("2012-01", periods=150, freq="M")
    X = pandas.DataFrame({"price": rng.choice([1.0, 1.3], 150), "ads": rng.random(150)}, months)
    season = 8 * np.cos(2 * np.pi * np.arange(150) / 12)
    y = 60 + season - 30 * X["price"] + rng.standard_normal(150)
    y.iloc[50:53] = np.nan
    return y.rename("sold"), X


def test_sktime_conformance(make):
    checks = package("sktime.utils.estimator_checks")
    # left out: a hundred combinations of indices, which come again with columns, and two thirds of
    # the time with these and with updates in turn
    out = ["test_predict_time_index"]
    if not THOROUGH:
        out += ["test_predict_time_index_with_X", "test_update_predict_predicted_index"]
    found = checks.check_estimator(make(), verbose=False, tests_to_exclude=out)
    assert len(found) > 200
    assert {name: end for name, end in found.items() if end != "PASSED"} == {}


@pytest.mark.parametrize("dated", [True, False])
def test_updates_in_any_portions_come_to_the_same_as_one_fit(make, sales, dated):
    y, X = sales if dated else (part.reset_index(drop=True) for part in sales)
    whole = make().fit(y[:140], X[:140], fh=range(1, 7))
    parts = make().fit(y[:40], X[:40], fh=range(1, 7))
    for first, last in [(40, 41), (41, 42), (42, 100), (100, 103), (103, 140)]:
        parts.update(y[first:last], X[first:last])
    coming = X[140:146]
    said = whole.predict(X=coming)
    assert said.name == "sold"
    assert said.index.equals(coming.index)
    assert said.tolist() == parts.predict(X=coming).tolist()
    assert whole.predict_interval(X=coming).equals(parts.predict_interval(X=coming))
    core = sp.Forecaster(6, features=2, pool="small", coverage=[0.9])
    times = y.index[:140].to_timestamp().to_numpy() if dated else None
    core.track(y[:140].to_numpy(), X[:146].to_numpy(), times=times)
    assert said.tolist() == core.predict(coming.to_numpy(), horizon=6).tolist()


def test_steps_that_are_left_out_are_missing_values(make, sales):
    y, _ = (part.reset_index(drop=True) for part in sales)
    gaps, holes = make().fit(y[:90].drop([20, 21, 60]), fh=[1, 2]), y.copy()
    holes[[20, 21, 60, 95, 96]] = np.nan
    gaps.update(y[90:100].drop([95, 96]))
    assert gaps.predict().tolist() == make().fit(holes[:100], fh=[1, 2]).predict().tolist()
    with pytest.raises(ValueError, match="steps are 1"):
        gaps.update(y[99:].set_axis(range(10**8, 10**8 + 51)))


def test_periods_that_are_left_out_are_steps_of_the_calendar(make):
    pandas = package("pandas")
    days = pandas.period_range("2024-01-01", periods=7 * 20 - 2, freq="D")  # up to a Friday
    days = days[days.dayofweek < 5]
    y = pandas.Series(100.0 * days.dayofweek, days, dtype=float)
    y += np.random.default_rng(0).normal(size=y.size)
    whole, parts = make().fit(y, fh=range(1, 8)), make().fit(y[:40], fh=range(1, 8))
    parts.update(y[40:43])
    said = parts.update(y[43:]).predict()
    assert said.tolist() == whole.predict().tolist()
    weekdays = said[said.index.dayofweek < 5]
    assert weekdays.index[0].strftime("%a") == "Mon"
    assert weekdays.to_numpy() == pytest.approx(100.0 * np.arange(5.0), abs=30.0)
    past = whole.predict(fh=y.index[60:])
    assert past.index.equals(y.index[60:])
    assert np.abs(past - y[60:]).median() < 30.0
    far = pandas.period_range(days[-1] + 2 * 10**6, periods=1, freq="D")
    with pytest.raises(ValueError, match="steps are 1"):
        whole.update(pandas.Series([1.0], far))


def test_known_columns_are_relied_on_many_steps_ahead(make, sales):
    y, X = sales
    model, off = make().fit(y[:100], X[:100], fh=range(1, 7)), []
    for t in range(100, 144):
        off.append((model.predict(X=X[t : t + 6]) - y[t : t + 6]).abs().to_numpy())
        model.update(y[t : t + 1], X[t : t + 1])
    assert np.mean(off, axis=0).max() < 2.0  # the price alone moves them by 9
    # only some steps, and only their rows: what is between is not known
    some, rows = make().fit(y[:144], X[:144], fh=[1, 3]), X.iloc[[144, 146]]
    said = some.predict(X=rows)
    assert said.index.equals(rows.index)
    assert np.abs(said - y.iloc[[144, 146]]).max() < 4.0


def test_past_points_are_what_was_forecast_of_them(make, sales):
    y, _ = sales
    model = make().fit(y[:100])
    core = sp.Forecaster(1, pool="small", coverage=[0.9])
    said, lo, hi = core.track(
        y[:100].to_numpy(), times=y.index.to_timestamp().to_numpy()[:100], intervals=True
    )
    past = model.predict(fh=y.index[60:100])
    assert past.tolist() == said[60:].tolist()
    table = model.predict_interval(fh=y.index[60:100], coverage=0.9)
    assert table["sold", 0.9, "lower"].tolist() == lo[60:, 0].tolist()
    assert table["sold", 0.9, "upper"].tolist() == hi[60:, 0].tolist()


def test_any_coverage_may_be_asked_for(make, sales):
    y, _ = sales
    model = make().fit(y[:120], fh=[1, 2])
    before = model.predict()
    table = model.predict_interval(coverage=[0.5, 0.9, 0.8])
    widths = [table["sold", c, "upper"] - table["sold", c, "lower"] for c in (0.5, 0.8, 0.9)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()
    assert model.predict().equals(before)
    middle = model.predict_quantiles(alpha=[0.5])
    assert middle["sold", 0.5].tolist() == before.tolist()
    inside = []
    for t in range(120, 150):
        band = model.predict_interval(coverage=0.5)["sold", 0.5].iloc[0]
        inside.append(band["lower"] <= y.iloc[t] <= band["upper"])
        model.update(y[t : t + 1])
    assert 0.3 < np.mean(inside) < 0.7


def test_values_that_are_known_already_are_not_learnt_again(make, sales):
    y, _ = sales
    model, same = make().fit(y[:100], fh=[1]), make().fit(y[:100], fh=[1])
    model.update(y[90:110])  # a window that slides
    same.update(y[100:110])
    assert model.predict().tolist() == same.predict().tolist()
    model.update(y[110:115], update_params=False)  # time goes on, and nothing is learnt
    assert model.cutoff[0] == y.index[114]
    later = model.predict()
    assert later.index[0] == y.index[115]
    # six steps ahead of what was learnt last
    far = make().fit(y[:100], fh=range(1, 13)).update(y[100:110]).predict()
    assert later.iloc[0] == far.iloc[5]


def test_dates_with_a_zone_and_the_forecaster_inside(make):
    pandas = package("pandas")
    hours = pandas.date_range("2024-03-25", periods=24 * 14, freq="h", tz="UTC")
    y = pandas.Series(10 + 5 * np.cos(2 * np.pi * np.arange(hours.size) / 24), hours)
    model = make().fit(y, fh=[1, 24])
    assert model.to_forecaster().seasons[0] == 24.0
    said = model.predict()
    assert said.index[0] == hours[-1] + pandas.Timedelta("1h")
    assert said.to_numpy() == pytest.approx([15.0, y.iloc[-1]], abs=0.5)


def test_what_cannot_be_is_refused(make, sales):
    y, _ = sales
    with pytest.raises(ValueError, match="loss must say which quantile"):
        make(loss="quantile").fit(y)
    with pytest.raises(ValueError, match="pool must be"):
        make(pool="huge").fit(y)
