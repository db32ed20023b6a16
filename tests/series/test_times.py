"""Times as people have them, and what is said about those that cannot be taken."""

import datetime

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from thorough import some

T = 60
Y = wavy(T, (7.0,), level=10.0)
DAYS = np.datetime64("2024-01-01") + np.arange(T)
DATES = [datetime.date(2024, 1, 1) + datetime.timedelta(t) for t in range(T)]
NOONS = [datetime.datetime(2024, 1, 1, 12) + datetime.timedelta(t) for t in range(T)]
UTC = [noon.replace(tzinfo=datetime.UTC) for noon in NOONS]
FORMS = {
    "days": DAYS,
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "dates": DATES,
    "datetimes": NOONS,
    "aware datetimes": UTC,
    "tuple": tuple(NOONS),
    "text": [str(day) for day in DAYS],
    "array of text": np.array([noon.isoformat() for noon in NOONS]),
    "text with zones": [noon.isoformat() for noon in UTC],
}


def small():
    return sp.Forecaster(3, pool="small")


def with_pandas(name):
    pd = pytest.importorskip("pandas")
    index = pd.date_range("2024-01-01", periods=T)
    return {
        "index": index,
        "series": pd.Series(index),
        "zone": index.tz_localize("UTC"),
        "series with a zone": pd.Series(index.tz_localize("UTC")),
        "local": index.tz_localize("Europe/Berlin"),  # 31 March is beyond the last
        "periods": pd.period_range("2024-01-01", periods=T, freq="D"),
        "series of periods": pd.Series(pd.period_range("2024-01-01", periods=T, freq="D")),
        "text": pd.Series([str(day) for day in DAYS]),
        "timestamps": list(index),
    }[name]


PANDAS = (
    "index",
    "series",
    "zone",
    "series with a zone",
    "local",
    "periods",
    "series of periods",
    "text",
    "timestamps",
)


@pytest.fixture(scope="module")
def wanted():
    return small().track(Y, times=DAYS, horizon=3)


def assert_taken(times, wanted):
    model, single = small(), small()
    np.testing.assert_array_equal(model.track(Y, times=times, horizon=3), wanted)
    assert model._engine.calendar == (7.0, 365.25)
    for t, (value, time) in enumerate(zip(Y[:20], list(times), strict=False)):
        np.testing.assert_array_equal(single.predict(horizon=3, time=time), wanted[t])
        single.update(value)
    rest = list(times)[20:]
    np.testing.assert_array_equal(single.track(Y[20:], times=rest, horizon=3), wanted[20:])


@pytest.mark.parametrize("form", some(FORMS, every=2))
def test_dates_come_in_many_forms(form, wanted):
    assert_taken(FORMS[form], wanted)


@pytest.mark.parametrize("form", some(PANDAS))
def test_dates_come_as_pandas_has_them(form, wanted):
    assert_taken(with_pandas(form), wanted)


def test_months_may_be_written_as_years_and_months():
    months = [f"{2000 + t // 12}-{t % 12 + 1:02}" for t in range(T)]
    model = small()
    model.track(Y, times=months)
    assert model._engine.calendar == (12.0,)


@pytest.mark.parametrize("form", [*FORMS, *(f"pandas {name}" for name in PANDAS)])
@pytest.mark.parametrize("back", [0, 2])
def test_a_time_that_is_not_later_is_named_with_its_row_and_a_remedy(form, back):
    times = with_pandas(form[7:]) if form.startswith("pandas ") else FORMS[form]
    times = list(times)
    times[9] = times[8 - back]
    model = small()
    remedy = "sort the rows by time" if back else "keep one row a time"
    with pytest.raises(ValueError, match=r"times must increase: got .* in row 9 after") as caught:
        model.track(Y, times=times)
    said = str(caught.value)
    assert f"{times[9]} in row 9 after {times[8]} in row 8; {remedy}" in said
    assert "\n" not in said
    assert not model._started
    model.track(Y[:9], times=times[:9])
    with pytest.raises(ValueError, match=rf"time must increase: got 2024-01-0.*; {remedy}"):
        model.predict(time=times[9])
    with pytest.raises(ValueError, match=rf"times must increase: .* in row 0 after.*; {remedy}"):
        model.track(Y[9:], times=times[9:])
    assert model.rounds == 9


def test_numbers_that_are_not_later_are_named_with_their_row_too():
    model = small()
    with pytest.raises(ValueError, match=r"got 3.0 in row 2 after 3.0 in row 1; keep one row"):
        model.track([1.0, 2.0, 3.0], times=[2.0, 3.0, 3.0])
    with pytest.raises(ValueError, match=r"got 1 in row 2 after 3 in row 1; sort the rows"):
        model.track([1.0, 2.0, 3.0], times=[2, 3, 1])


MIXED = {
    "a number among dates": [DATES[0], 3.0],
    "a date among numbers": [3.0, DATES[0]],
    "a zone among none": [NOONS[0], UTC[1]],
    "nothing": [DATES[0], None],
    "text that is no date": ["2024-01-01", "soon"],
    "lengths": [[1.0], [2.0, 3.0]],
    "bytes": [b"2024-01-01", b"2024-01-02"],
}


@pytest.mark.parametrize("name", MIXED)
def test_what_cannot_be_taken_is_refused_in_one_line(name):
    model = small()
    with pytest.raises(ValueError, match=r"^times must .*: got .*; ") as caught:
        model.track([1.0, 2.0], times=MIXED[name])
    assert "\n" not in str(caught.value)
    assert not model._started


@pytest.mark.parametrize("stop", [5, 15, 16, 40])
def test_rows_in_bulk_whose_times_are_left_out_are_as_far_apart_as_one_by_one(stop):
    times = 3600.0 * np.cumsum(1.0 + 0.1 * noise(T))
    bulk, single = small(), small()
    bulk.track(Y[:stop], times=times[:stop])
    single.track(Y[:stop], times=times[:stop])
    said = []
    for value in Y[stop:]:
        said.append(single.predict(horizon=3))
        single.update(value)
    np.testing.assert_array_equal(bulk.track(Y[stop:], horizon=3), said)
    assert bulk.time == single.time


def test_a_time_that_is_refused_leaves_a_round_opened_without_one_as_it_was():
    model = small()
    for t in range(5):
        model.predict(time=float(t))
        model.update(Y[t])
    model.predict()
    before, refused = model.arrays(), (np.nan, np.inf, 4.0, -1.0)
    for time in refused:
        with pytest.raises(ValueError, match="time must"):
            model.predict(time=time)
        for name, value in model.arrays().items():
            np.testing.assert_array_equal(value, before[name])
    assert model.predict(time=6.5) == model.predict()


@pytest.mark.parametrize("wrong", ["NaT", "2024-02-01"])
def test_times_of_rows_to_come_are_checked_too(wrong):
    model, X = sp.Forecaster(3, features=1, pool="small"), noise(T)[:, None]
    times = DAYS.copy()
    times[-2] = np.datetime64(wrong)
    with pytest.raises(ValueError, match="times must"):
        model.track(Y[:-3], X, times)
    numbers = np.arange(float(T))
    numbers[-1] = np.inf
    with pytest.raises(ValueError, match="times must be finite"):
        model.track(Y[:-3], X, numbers)
    assert not model._started
