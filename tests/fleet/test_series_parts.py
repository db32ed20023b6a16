"""Parts of fleets of series: states in one piece, times of rounds to come."""

from datetime import UTC, datetime

import numpy as np
import pytest

from stillpoint.commands.moments import Coming
from stillpoint.fleet.series.flat import flatten, unflatten
from stillpoint.fleet.series.parts import Part, Settings
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.series.rows import Rows
from stillpoint.fleet.series.times import ahead
from stillpoint.series.weeks import Week

DAY = 86_400.0


def test_arrays_of_any_kind_come_back_from_one_piece():
    given = {
        "bytes": np.arange(3, dtype=np.uint8),
        "none": np.empty((0, 4)),
        "turned": np.arange(6.0).reshape(3, 2)[:, ::-1],
        "words": np.array(["é", "longer"]),
        "one": np.array(3.5),
    }
    header, found = unflatten(b"".join(flatten({"rows": 7}, given)))
    assert header == {"rows": 7}
    assert list(found) == list(given)
    for name, value in given.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)


def rows(start, stop, keys=("a", "é")):
    values = np.sin(np.arange(start, stop)) + 5.0
    n = stop - start
    times = np.tile(np.arange(float(start), stop), len(keys))
    return Rows(list(keys), np.full(len(keys), n), times, np.tile(values, len(keys)))


@pytest.mark.parametrize("flat", [True, False])
def test_a_part_goes_on_from_its_state(flat):
    plan, settings = Plan(True, False, 1.0, None, (7.0,), 3, "as told"), Settings()
    whole, first = Part(settings, plan), Part(settings, plan)
    whole.play(rows(0, 20))
    whole.play(rows(20, 30, ("a", "b")))
    first.header = {"rows": 40}
    first.play(rows(0, 20))
    data = b"".join(first.flat() if flat else first.pack())
    again = Part(settings, plan, data)
    assert again.header == {"rows": 40}
    again.play(rows(20, 30, ("a", "b")))
    assert again.keys == whole.keys
    for own, other in zip(again.ahead()[1], whole.ahead()[1], strict=True):
        np.testing.assert_array_equal(own, other)
    assert again.ahead(["b"])[0].tolist() == [1]
    assert again.result() == whole.result()
    with pytest.raises(ValueError, match="other forecasters"):
        Part(Settings(coverage=0.8), plan, data)


@pytest.mark.parametrize(
    ("texts", "gap"),
    [
        (["2024-02-27"], DAY),
        (["2024-02-27 06:30"], 900.0),
        (["2023-11-30", "2023-12-31", "2024-01-31"], 31 * DAY),
        (["2024-01-05", "2024-02-05"], 31 * DAY),
        (["2023-12-31"], 7 * DAY),
    ],
)
def test_times_to_come_are_those_of_single_series(texts, gap):
    latest = [datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for text in texts]
    plan = Plan(True, True, gap, None, (), 5, "none")
    found = ahead(plan, np.array([[np.nan, *latest]] * 2), clocked=":" in texts[0])
    coming = Coming(texts, True, gap)
    for step, time in enumerate(found[1].tolist(), 1):
        assert datetime.fromtimestamp(time, UTC).replace(tzinfo=None) == coming.moment(step)


def test_weekends_are_left_out_where_weeks_have_none():
    week = Week(0.0, np.array([True, True, False, False, True, True, True]))  # from a Thursday on
    plan = Plan(True, True, DAY, week, (5.0,), 3, "none")
    friday = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    days = [datetime.fromtimestamp(t, UTC).day for t in ahead(plan, np.array([[friday]]), False)[0]]
    assert days == [4, 5, 6]
    numbers = Plan(True, False, 0.5, None, (), 2, "none")
    assert ahead(numbers, np.array([[3.0]])).tolist() == [[3.5, 4.0]]
