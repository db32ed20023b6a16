"""Frames of pandas, polars and PyArrow: results of their kind, index, types and time zone."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from tracked import floats, run

pytestmark = pytest.mark.extra
N, H = 80, 4


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(7)
    week = 6.0 * np.cos(2 * np.pi * np.arange(N) / 7)
    price, promo = rng.choice([1.0, 1.5], N), rng.choice(["off", "flyer"], N)
    sold = (60 - 8 * price + week + rng.normal(0, 1, N)).round(3)
    day = [date(2024, 1, 1) + timedelta(i) for i in range(N)]
    return {"day": day, "price": price, "promo": promo, "sold": sold}


def frames(kind, columns):
    if kind == "pandas":
        pandas = package("pandas")
        frame = pandas.DataFrame(columns)
        return frame.assign(day=pandas.to_datetime(frame["day"]))
    if kind == "polars":
        return package("polars").DataFrame(columns)
    return package("pyarrow").table(columns)


def listed(frame, name):
    values = frame[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("known", [None, ("price",)])
def test_a_frame_has_the_numbers_of_its_file(columns, tmp_path, kind, known):
    frame = frames(kind, columns)
    if known is None:
        columns = {name: columns[name] for name in ("day", "sold")}
        frame = frames(kind, columns)
    result = sp.track(frame, "sold", time="day", horizon=H, known=known or ())
    source = str(tmp_path / "s.csv")
    if kind == "pandas":
        frame.to_csv(source, index=False)
    elif kind == "polars":
        frame.write_csv(source)
    else:
        package("pyarrow.csv").write_csv(frame, source)
    rows, summary = run(
        source, tmp_path / "o", target="sold", time="day", horizon=H, known=known or ()
    )
    assert type(result.predictions) is type(frame)
    for name in ("forecast", "lo", "hi"):
        np.testing.assert_array_equal(listed(result.predictions, name), floats(rows[name]))
    own = ("source", "started", "finished", "rows_per_second", "files", "notes")
    assert {key: value for key, value in result.summary.items() if key not in own} == {
        key: value for key, value in summary.items() if key not in own
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_results_have_the_kind_and_the_types_of_the_data(columns, kind):
    frame = frames(kind, columns)
    result = sp.track(frame, "sold", time="day", horizon=H)
    for table in (result.predictions, result.forecast, result.changes):
        assert type(table) is type(frame)
    assert listed(result.predictions, "y") == listed(frame, "sold")
    assert listed(result.predictions, "time") == listed(frame, "day")
    when = listed(result.forecast, "time")
    assert [str(at)[:10] for at in when] == [str(date(2024, 3, 21 + i)) for i in range(H)]
    if kind == "pandas":
        assert result.forecast["time"].dtype == frame["day"].dtype
        assert (result.predictions.index == frame.index).all()
    elif kind == "polars":
        assert result.forecast.schema["time"] == frame.schema["day"]
    else:
        assert result.forecast.schema.field("time").type == frame.schema.field("day").type
    table = sp.backtest(frame, "sold", H, time="day").table
    assert type(table) is type(frame)
    assert set(listed(table, "method")) >= {"stillpoint", "last value", "seasonal naive"}


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York", "+02:00"])
@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_an_index_of_dates_is_the_time_and_goes_on(columns, zone, unit):
    pandas = package("pandas")
    index = pandas.date_range("2024-03-28", periods=N, freq="h", tz=zone, name="hour", unit=unit)
    frame = pandas.DataFrame({"sold": columns["sold"]}, index=index)
    result = sp.track(frame, "sold", horizon=H, season=7)
    pandas.testing.assert_index_equal(result.predictions.index, index)
    assert list(result.predictions) == ["y", "forecast", "lo", "hi"]
    expected = pandas.date_range(index[-1], periods=H + 1, freq="h", name="hour", unit=unit)[1:]
    pandas.testing.assert_index_equal(result.forecast.index, expected)
    assert result.forecast.index.freq == index.freq
    assert result.summary["time"] == "hour"
    series = sp.track(frame["sold"], horizon=H, season=7)
    pandas.testing.assert_frame_equal(series.predictions, result.predictions)
    pandas.testing.assert_frame_equal(series.forecast, result.forecast)


@pytest.mark.parametrize("freq", ["D", "W-SUN", "ME", "MS", "QE", "YE", "15min"])
def test_frequencies_are_kept(columns, freq):
    pandas = package("pandas")
    index = pandas.date_range("2020-01-31", periods=40, freq=freq)
    forecast = sp.track(pandas.Series(columns["sold"][:40], index=index), horizon=H).forecast
    expected = pandas.date_range(index[-1], periods=H + 1, freq=freq)[1:]
    pandas.testing.assert_index_equal(forecast.index, expected)
    assert forecast.index.freq == index.freq


def test_days_keep_their_time_of_day_where_clocks_change(columns):
    pandas = package("pandas")
    index = pandas.date_range("2024-01-10 06:00", periods=N, freq="D", tz="Europe/Berlin")
    forecast = sp.track(pandas.Series(columns["sold"], index=index), horizon=7).forecast
    assert [str(at) for at in forecast.index[[2, 3]]] == [
        "2024-04-01 06:00:00+02:00",
        "2024-04-02 06:00:00+02:00",
    ]
    index = index.shift(-3)
    forecast = sp.track(pandas.Series(columns["sold"], index=index), horizon=7).forecast
    assert forecast.index.hour.tolist() == [6] * 7


def test_periods_and_series_may_be_times_beside_an_array(columns):
    pandas = package("pandas")
    months = pandas.period_range("2018-01", periods=N, freq="M")
    when = sp.track(columns["sold"], time=months, horizon=2).forecast["time"]
    assert when.astype(str).tolist() == ["2024-09-01", "2024-10-01"]
    frame = pandas.DataFrame({"sold": columns["sold"]})
    with pytest.raises(ValueError, match=r"^time must be the name of a column: got [^\n]*$"):
        sp.track(frame, "sold", time=pandas.Series(columns["day"]))


def test_periods_go_on_as_periods(columns):
    pandas = package("pandas")
    index = pandas.period_range("2018-01", periods=N, freq="M", name="month")
    result = sp.track(pandas.Series(columns["sold"], index=index), horizon=3)
    pandas.testing.assert_index_equal(
        result.forecast.index, pandas.period_range(index[-1] + 1, periods=3, freq="M", name="month")
    )
    pandas.testing.assert_index_equal(result.predictions.index, index)


def test_dates_of_python_stay_dates_of_python(columns):
    pandas = package("pandas")
    days, coming = columns["day"], [date(2024, 3, 21), date(2024, 3, 22)]
    indexed = pandas.DataFrame({"sold": columns["sold"]}, index=pandas.Index(days, name="day"))
    result = sp.track(indexed, "sold", horizon=2)
    assert result.forecast.index.tolist() == coming
    assert result.forecast.index.name == "day"
    pandas.testing.assert_index_equal(result.predictions.index, indexed.index)
    column = sp.track(indexed.reset_index(), "sold", time="day", horizon=2)
    assert column.forecast["time"].tolist() == coming
    assert column.predictions["forecast"].tolist() == result.predictions["forecast"].tolist()


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_zones_and_units_of_columns_are_kept_where_clocks_change(columns, kind):
    pandas = package("pandas")
    hours = pandas.date_range("2024-03-28", periods=N, freq="h", tz="Europe/Berlin", unit="ns")
    frame = frames(kind, {"hour": hours, "sold": columns["sold"]})
    forecast = sp.track(frame, "sold", time="hour", horizon=H, season=7).forecast
    schema = (lambda f, name: f.schema[name]) if kind == "polars" else lambda f, n: f[n].type
    assert schema(forecast, "time") == schema(frame, "hour")
    expected = pandas.date_range(hours[-1], periods=H + 1, freq="h")[1:]
    assert [pandas.Timestamp(at) for at in listed(forecast, "time")] == expected.tolist()


def test_zones_that_narwhals_cannot_read_are_those_of_all_results(columns):
    pandas = package("pandas")
    hours = pandas.date_range("2024-11-01", periods=N, freq="h", tz="America/New_York")
    frame = pandas.DataFrame({"hour": hours, "sold": columns["sold"]})
    frame.loc[60, "sold"] += 900.0
    result = sp.track(frame, "sold", time="hour", horizon=H, season=7, alerts=0.1)
    expected = pandas.date_range(hours[-1], periods=H + 1, freq="h")[1:]
    assert result.forecast["time"].tolist() == expected.tolist()
    assert hours[60] in result.alerts.anomalies["time"].tolist()
    tables = result.forecast, result.predictions, result.changes, *result.alerts
    assert {table["time"].dtype for table in tables} == {hours.dtype}


@pytest.mark.parametrize("freq", ["M", "Q", "W-SUN", "D"])
def test_periods_in_a_column_are_times_as_those_of_an_index_are(columns, freq):
    pandas = package("pandas")
    when = pandas.period_range("2020-01-06", periods=40 + H, freq=freq, name="when")
    frame = pandas.DataFrame({"when": when[:40], "sold": columns["sold"][:40]})
    result = sp.track(frame, "sold", time="when", horizon=H)
    assert result.forecast["time"].tolist() == when[40:].tolist()
    assert result.forecast["time"].dtype == result.changes["time"].dtype == when.dtype
    other = sp.track(frame.set_index("when"), "sold", horizon=H).forecast
    assert result.forecast["forecast"].tolist() == other["forecast"].tolist()


def test_columns_without_any_value_are_features_that_are_missing(columns):
    pyarrow = package("pyarrow")
    frame = frames("pyarrow", columns).append_column("none", pyarrow.nulls(N))
    result = sp.track(frame, "sold", time="day", horizon=H, features=["none", "price"])
    assert result.forecast.num_rows == H


def test_other_indexes_are_kept_and_numbered_ones_go_on(columns):
    pandas = package("pandas")
    sold = pandas.Series(columns["sold"])
    assert sp.track(sold, horizon=3).forecast.index.tolist() == [N, N + 1, N + 2]
    named = sold.set_axis([f"row {i}" for i in range(N)])
    result = sp.track(named, horizon=3)
    assert result.predictions.index.tolist() == named.index.tolist()
    assert result.forecast.index.tolist() == [0, 1, 2]
    part = sold.where(sold.index < N - 2)
    assert sp.track(part, horizon=3).forecast.index.tolist() == [N - 2, N - 1, N]


def test_dates_of_an_index_that_are_no_times_are_noted(columns):
    pandas = package("pandas")
    frame = pandas.DataFrame({"sold": columns["sold"]}, index=[str(day) for day in columns["day"]])
    result = sp.track(frame, "sold", horizon=H)
    assert "pandas.to_datetime(data.index)" in result.summary["notes"][0]
    assert result.predictions.index.equals(frame.index)
    words = pandas.Series(columns["sold"], index=[f"row {i}" for i in range(N)])
    assert sp.track(words, horizon=H).summary["notes"] == []


@pytest.mark.parametrize("zone", [None, timezone(timedelta(hours=2))])
def test_dates_of_python_in_a_column_go_on_as_such(columns, zone):
    pandas, H = package("pandas"), 2
    clocks = [datetime(day.year, day.month, day.day, 8, tzinfo=zone) for day in columns["day"]]
    for given in (columns["day"], clocks):
        times = pandas.Series(given, dtype=object)
        frame = pandas.DataFrame({"day": times, "sold": columns["sold"]})
        when = sp.track(frame, "sold", time="day", horizon=H).forecast["time"]
        assert when.dtype == object
        assert when.to_list() == [given[-1] + timedelta(i + 1) for i in range(H)]


def test_a_column_named_as_time_goes_before_the_index(columns):
    pandas = package("pandas")
    frame = pandas.DataFrame(
        {"sold": columns["sold"], "n": np.arange(N)},
        index=pandas.date_range("2024-01-01", periods=N),
    )
    result = sp.track(frame, "sold", time="n", horizon=3)
    assert result.forecast["time"].tolist() == [N, N + 1, N + 2]
    assert result.predictions["time"].tolist() == list(range(N))
    pandas.testing.assert_index_equal(result.predictions.index, frame.index)


def test_missing_values_of_every_kind_are_missing(columns):
    pandas, polars, arrow = package("pandas"), package("polars"), package("pyarrow")
    y = [None if i % 9 == 4 else int(v) for i, v in enumerate(columns["sold"])]
    expected = sp.track(y, horizon=H).predictions["forecast"].tolist()
    for data in (
        pandas.Series(y, dtype="Int64"),
        pandas.Series(y, dtype="float64"),
        pandas.Series(y, dtype=object),
        pandas.Series(y, dtype="int64[pyarrow]"),
        polars.Series(y),
        arrow.chunked_array([y]),
        polars.DataFrame({"y": y}),
    ):
        assert listed(sp.track(data, horizon=H).predictions, "forecast") == expected
    told = sp.track(polars.DataFrame({"y": y})).predictions
    assert told["y"].null_count() == y.count(None)


def test_categories_words_and_flags_are_read_as_in_a_file(columns):
    pandas, polars = package("pandas"), package("polars")
    open_ = np.arange(N) % 3 > 0
    frame = pandas.DataFrame({**columns, "open": open_}).drop(columns="day")
    expected = sp.track({**columns, "open": open_}, "sold", features=["price", "promo", "open"])
    for data in (
        frame,
        frame.astype({"promo": "category"}),
        frame.astype({"promo": "string", "open": "boolean"}),
        polars.from_pandas(frame),
        polars.from_pandas(frame).cast({"promo": polars.Categorical}),
    ):
        result = sp.track(data, "sold", features=["price", "promo", "open"])
        assert listed(result.predictions, "forecast") == expected.predictions["forecast"].tolist()


def test_columns_may_be_numbered(columns):
    pandas = package("pandas")
    frame = pandas.DataFrame(np.column_stack([columns["price"], columns["sold"]]))
    result = sp.track(frame, 1, features=())
    assert result.summary["target"] == "1"
    assert listed(result.predictions, "y") == columns["sold"].tolist()


def test_data_are_left_as_they_were(columns):
    pandas = package("pandas")
    frame = frames("pandas", columns).set_index("day")
    before = frame.copy(deep=True)
    result = sp.track(frame, "sold")
    result.predictions.iloc[:] = 0.0
    pandas.testing.assert_frame_equal(frame, before)


def test_what_is_wrong_with_a_frame_is_said_in_one_line(columns):
    pandas, polars = package("pandas"), package("polars")
    frame = frames("pandas", columns).set_index("day")
    autumn = pandas.date_range("2025-10-25", periods=200, freq="h", tz="Europe/Berlin")
    autumn = autumn.tz_localize(None)
    for data, parts in (
        (frame[["sold"]].iloc[::-1], ("the index must increase", "2024-03-19", "sort_index()")),
        (
            pandas.concat([frame[["sold"]]] * 2).sort_index(),
            ("row 1", "the index must increase", "drop duplicates"),
        ),
        (
            frame[["sold"]].set_axis(autumn[: len(frame)], axis=0),
            ("row 27", "02:00", 'set back then, give data.tz_localize(ZONE, ambiguous="infer")'),
        ),
        (pandas.concat([frame, frame], axis=1), ("each column once", "'price' twice")),
        (
            frame.set_index("promo", append=True),
            ("the index must have one level", "got 2", "reset_index()"),
        ),
        (polars.LazyFrame(columns), ("in memory", "LazyFrame", "collect()")),
        (frame.iloc[:0], ("data must have rows",)),
        (frame.rename(columns={"sold": "sales"}), ("target must be a column", "'sold'")),
        (frame.assign(sold="many"), ("row 0", "must be numeric", "'many'")),
    ):
        with pytest.raises(ValueError, match=r".") as error:
            sp.track(data, "sold")
        assert "\n" not in str(error.value)
        for part in parts:
            assert part in str(error.value)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_dates_that_are_whole_numbers_go_on_as_such(columns, kind):
    days = [int(f"{day:%Y%m%d}") for day in columns["day"]]
    frame = package(kind).DataFrame({"day": days, "sold": columns["sold"]})
    result = sp.track(frame, "sold", time="day", horizon=3)
    assert listed(result.forecast, "time") == [20240321, 20240322, 20240323]
    assert result.summary["unit_of_time"] == "day"
