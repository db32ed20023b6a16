"""Times to come, and the spacing of those that were."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from stillpoint.commands.moments import Coming, season_of, set_back, zone_like
from stillpoint.series.spacing import DAY, steps_of, unit
from stillpoint.series.weeks import Week


@pytest.mark.parametrize(
    ("gap", "name", "steps", "season"),
    [
        (3600.0, "hour", 24, 24),
        (DAY, "day", 7, 7),
        (7 * DAY, "week", 52, 52),
        (31 * DAY, "month", 12, 12),
        (91 * DAY, "quarter", 4, 4),
        (365 * DAY, "year", 10, 0),
        (900.0, None, 10, 96),
        (60.0, "minute", 10, 1440),
        (None, None, 10, 0),
    ],
)
def test_the_spacing_of_rows_tells_a_season(gap, name, steps, season):
    assert (unit(gap), steps_of(gap), season_of(gap)) == (name, steps, season)


@pytest.mark.parametrize(
    ("texts", "gap", "expected"),
    [
        (["2023-11-30", "2023-12-31", "2024-01-31"], 31 * DAY, ["2024-02-29", "2024-03-31"]),
        (["2023-11-30", "2023-12-30", "2024-01-30"], 31 * DAY, ["2024-02-29", "2024-03-30"]),
        (["2023-11-01", "2023-12-01"], 30 * DAY, ["2024-01-01", "2024-02-01"]),
        (["2023-09-30", "2023-12-31"], 92 * DAY, ["2024-03-31", "2024-06-30"]),
        (["2023-11-30", "2023-12-29", "2024-01-31"], 31 * DAY, ["2024-02-29", "2024-03-29"]),
        (["2023-10-31", "2023-11-29", "2023-12-29"], 31 * DAY, ["2024-01-31", "2024-02-29"]),
        (["2023-11-14", "2023-12-12", "2024-01-11"], 30 * DAY, ["2024-02-12", "2024-03-12"]),
        (["2023-11-28", "2023-12-26", "2024-01-23"], 28 * DAY, ["2024-02-20", "2024-03-19"]),
        (["2022-01-01", "2023-01-01"], 365 * DAY, ["2024-01-01", "2025-01-01"]),
        (["2024-02-27", "2024-02-28"], DAY, ["2024-02-29", "2024-03-01"]),
        (["20240227", "20240228"], DAY, ["20240229", "20240301"]),
        (["2024-02-28 23:30"], 1800.0, ["2024-02-29 00:00", "2024-02-29 00:30"]),
        (["2024-02-28T23:00:00.000Z"], 3600.0, ["2024-02-29T00:00:00.000Z"]),
        (["2024-03-30T23:00+01:00"], 3600.0, ["2024-03-31T00:00+01:00"]),
        (["2024-03-30 12"], DAY, ["2024-03-31 12"]),
    ],
)
def test_times_to_come_are_written_as_those_before(texts, gap, expected):
    coming = Coming(texts, True, gap)
    assert [coming.text(k + 1) for k in range(len(expected))] == expected
    assert coming.text(0) == texts[-1]


def test_days_keep_their_time_of_day_and_hours_their_distance_where_clocks_change():
    days = Coming(
        ["2024-03-29 00:00:00+01:00", "2024-03-30 00:00:00+01:00"], True, DAY, "Europe/Berlin"
    )
    assert [days.text(k) for k in (1, 2)] == [
        "2024-03-31 00:00:00+01:00",
        "2024-04-01 00:00:00+02:00",
    ]
    hour = Coming(["2024-03-31 01:00:00+01:00"], True, 3600.0, "Europe/Berlin")
    assert hour.text(1) == "2024-03-31 03:00:00+02:00"
    assert Coming(["2024-03-30"], True, DAY, "Nowhere/Else").text(1) == "2024-03-31"


def test_weekdays_keep_their_time_of_day_where_clocks_change():
    # midnights of New York are at 4 and at 5 o'clock of universal time
    weekdays = Week(4.5 * 3600.0, np.array([True, True, False, False, True, True, True]))
    texts = ["2025-10-30 00:00:00-04:00", "2025-10-31 00:00:00-04:00"]
    autumn = Coming(texts, True, DAY, "America/New_York", weekdays)
    assert [autumn.text(k) for k in (-1, 0, 1, 2)] == [
        *texts,
        "2025-11-03 00:00:00-05:00",
        "2025-11-04 00:00:00-05:00",
    ]
    winter = Coming(["2025-11-04 00:00:00-05:00"], True, DAY, "America/New_York", weekdays)
    assert [winter.text(k) for k in (-3, -2, -1)] == [*texts, "2025-11-03 00:00:00-05:00"]
    spring = Coming(["2025-03-07 00:00:00-05:00"], True, DAY, "America/New_York", weekdays)
    assert spring.text(1) == "2025-03-10 00:00:00-04:00"


def test_hours_of_weekdays_keep_their_distance_where_clocks_change():
    weekdays = Week(0.0, np.repeat([True, True, False, False, True, True, True], 24))
    hours = Coming(["2025-10-31 19:00:00-04:00"], True, 3600.0, "America/New_York", weekdays)
    # phases of a week are those of universal time, Friday's last and Monday's first
    assert hours.text(1) == "2025-11-02 19:00:00-05:00"


def test_numbers_go_on_as_numbers():
    assert Coming(["7", "8"], False, 1.0).text(2) == "10"
    assert Coming(["0.1", "0.2"], False, 0.1).text(1) == "0.3"
    assert Coming(["7"], False, 1.0).words(1) == "at 8"


def test_times_are_told_in_words():
    texts = [str(date(2024, 3, 1) + timedelta(i)) for i in range(3)]
    assert Coming(texts, True, DAY).words(0) == "on 3 March 2024"
    assert Coming(["2024-02-01", "2024-03-01"], True, 30 * DAY).words(-1) == "in February 2024"
    assert Coming(["2023-01-01", "2024-01-01"], True, 365 * DAY).words(1) == "in 2025"
    hour = datetime(2024, 3, 3, 7).isoformat()
    assert Coming([hour], True, 3600.0).words(1) == "on 3 March 2024, 08:00"


def test_a_zone_is_told_by_how_its_clocks_were_changed():
    spring = ["2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00"]
    autumn = ["2023-10-29T00:00+02:00", "2023-10-30T00:00+01:00"]
    name = zone_like([*autumn, *spring])
    coming = Coming(["2024-10-26T00:00+02:00"], True, DAY, name)
    assert [coming.text(k) for k in (1, 2)] == ["2024-10-27T00:00+02:00", "2024-10-28T00:00+01:00"]
    assert zone_like([]) is None
    assert zone_like(["2024-03-31T00:00+01:23", "2024-04-01T00:00+02:46"]) is None


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("2025-10-26T02:00", True),  # Berlin
        ("2025-10-26T01:30", True),  # London
        ("2025-11-02T01:59", True),  # New York
        ("2025-03-30T02:30", False),  # an hour that Berlin left out
        ("2025-06-15T02:00", False),
        ("2025-10-26T02:00+01:00", False),
    ],
)
def test_hours_that_clocks_show_twice_are_known(text, twice):
    assert set_back(datetime.fromisoformat(text)) == twice
