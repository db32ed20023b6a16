"""What `sp.track` refuses: one line with argument, value and remedy, in the words of Python."""

from datetime import date, datetime

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.frames.words import in_python

Y = np.arange(20.0)
DAYS = [date(2024, 1, day + 1) for day in range(20)]

DATA = {
    "none": (None, "data must be", "got None"),
    "a set": ({1, 2}, "data must be", "got {1, 2}"),
    "bytes": (b"y", "data must be", "got b'y'"),
    "a table": (np.zeros((3, 2)), "one-dimensional", "got shape (3, 2)", "dict of columns"),
    "no rows": ([], "data must have rows", "got none"),
    "no columns": ({}, "data must have columns", "got none"),
    "a number in a column": ({"y": 3.0}, "data must hold columns", "got 3.0 in 'y'"),
    "columns of two lengths": ({"y": [1.0, 2.0], "x": [1.0]}, "one length", "1 rows in 'x'"),
    "no file": ("nowhere.csv", "the input must exist", "got nowhere.csv", "check the path"),
    "words for rows": (["abc"], "a row must have cells", "got 'abc'"),
    "words after rows": ([1.0, "abc"], "row 1 (counted from 0)", "got 'abc'"),
    "words in the target": (
        {"y": ["low", "high"]},
        "row 0",
        "'y' must be numeric",
        'task="binary"',
    ),
    "complex numbers": (np.array([1.0 + 2.0j, 3.0]), "row 0", "must be numeric", "got (1+2j)"),
    "infinite": ({"y": [1.0, np.inf]}, "row 1", "column 'y' must be within", "got inf"),
}


def refused(*parts, call=sp.track, **arguments):
    with pytest.raises(ValueError, match=r".") as error:
        call(**arguments)
    said = str(error.value)
    assert "\n" not in said
    assert "--" not in said
    for part in parts:
        assert part in said, said


@pytest.mark.parametrize("case", DATA)
def test_data_that_cannot_be_read_are_refused(case):
    data, *parts = DATA[case]
    refused(*parts, data=data, target="y")


TABLE = {"day": DAYS, "price": Y, "sold": Y}
ARGUMENTS = {
    "a wrong target": ({"target": "sol"}, "target must be a column", "'sol'", "mean sold?"),
    "no target": ({"target": None}, "target must be given", "the columns are day, price, sold"),
    "a wrong time": ({"time": "dya"}, "time must be a column", "'dya'", "did you mean day?"),
    "the target for a time": ({"time": "sold"}, "time must not be the target"),
    "a wrong feature": ({"features": ["prize"]}, "features must be", "'prize'", "mean price?"),
    "a wrong column ahead": ({"known": "prize", "time": "day"}, "known must be", "mean price?"),
    "values ahead": ({"known": Y > 3.0}, "known must be names of columns: got", "and name that"),
    "a column that is not there": (
        {"known": "promo", "data": Y, "target": None},
        "known must be a feature: got 'promo'; there are no other columns",
    ),
    "no names ahead": ({"known": 3}, "known must be names of columns", "got 3"),
    "a task": ({"task": "bin"}, "task must be one of", "'bin'", "did you mean binary?"),
    "no steps": ({"horizon": 0, "time": "day"}, "horizon must be from 1 to 10,000", "got 0"),
    "half a step": ({"horizon": 1.5, "time": "day"}, "horizon must be a whole number", "1.5"),
    "a season": ({"season": "week", "time": "day"}, 'season must be "auto", None', "'week'"),
    "a short season": ({"season": [1], "time": "day"}, "season must be", "[24, 168]"),
    "level": ({"level": 0.99}, "level must fit the task: got 0.99 with task=", 'task="quantile"'),
    "coverage": ({"coverage": 90}, "coverage must be a number between", "got 90"),
    "dates as a feature": ({}, "column 'day' must be numeric", 'give time="day"'),
    "steps of a regression": (
        {"horizon": 3, "features": "price"},
        "horizon must be for a series",
        "features=()",
    ),
    "late and ahead": ({"horizon": 3, "delay": 2}, "horizon must be for a series", "delay=2"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_cannot_be_used_are_refused(case):
    given, *parts = ARGUMENTS[case]
    refused(*parts, **{"data": TABLE, "target": "sold", **given})


def test_times_that_do_not_increase_are_refused_with_the_remedy():
    times = {
        "sort the rows": [*DAYS[:5], DAYS[2], *DAYS[6:]],
        "drop duplicates": [*DAYS[:5], DAYS[4], *DAYS[6:]],
        "give every row its time": [*DAYS[:5], None, *DAYS[6:]],
    }
    for remedy, days in times.items():
        refused("row 5", "column 'time' must", remedy, data=Y, time=days)
    refused("got 2024-01-05", data=Y, time=[*DAYS[:5], DAYS[4], *DAYS[6:]])


def test_times_beside_data_that_have_columns_are_named():
    refused("time must be the name of a column", data=iter([{"y": 1.0}]), target="y", time=[1])
    refused('give time="time"', data={"time": DAYS, "y": Y}, target="y", time=DAYS)


def test_dates_with_and_without_a_zone_do_not_mix():
    days = [datetime(2024, 1, 1), datetime.fromisoformat("2024-01-02T00:00+00:00")]
    refused("row 1", "all have a time zone, or all have none", data=[1.0, 2.0], time=days)


def test_dates_in_text_may_be_in_another_form():
    days = [f"{day + 1:02}/02/2024" for day in range(12)]
    refused("could be %d/%m/%Y or", 'date_format="%d/%m/%Y"', data=Y[:1], time=days[:1])
    refused("date_format must have a year", data=Y[:12], time=days, date_format="%d/%m")
    result = sp.track(Y[:12], time=days, date_format="%d/%m/%Y", horizon=1)
    assert result.forecast["time"].tolist() == ["13/02/2024"]


def test_a_backtest_is_of_a_series_from_a_row_on():
    refused("start must be a row", "-1", call=sp.backtest, data=Y, start=-1)
    refused("start must be a row", "True", call=sp.backtest, data=Y, start=True)
    refused("horizon must be from 1 to 10,000", call=sp.backtest, data=Y, horizon=0)
    test = sp.backtest(Y, horizon=2)
    with pytest.raises(ValueError, match="measure must be one of rmse, mae"):
        test.plot(measure="rsme")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("add --task binary", 'add task="binary"'),
        ("--task must be one of", "task must be one of"),
        ("give --horizon 12", "give horizon=12"),
        ("name --time, or leave it out: --features ''", "name time, or leave it out: features=()"),
        ("give --date-format '%d/%m %H' or %m", 'give date_format="%d/%m %H" or %m'),
        ("--date-format must have a year", "date_format must have a year"),
        ("a-b -- c", "a-b -- c"),
    ],
)
def test_options_are_arguments_in_python(said, told):
    assert in_python(said) == told


@pytest.mark.parametrize("call", [sp.track, sp.backtest])
@pytest.mark.parametrize("data", [Y, Y.tolist()])
def test_a_horizon_is_no_name_of_a_target(call, data):
    refused("the name of a column: got 24", "horizon=24 by name", call=call, data=data, target=24)


@pytest.mark.parametrize("target", [Y, ["sold"], {"sold": Y}])
def test_values_are_no_name_of_a_target(target):
    refused("the name of a column: got", "name that", data=TABLE, target=target)
