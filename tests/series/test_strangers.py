"""What people who come with other libraries' habits and data pass in."""

import datetime
import math

import numpy as np
import pytest
from series_twins import noise, wavy

import stillpoint as sp
from children import in_threads
from stillpoint.core import persist

T = 80
Y = wavy(T, (7.0,), level=10.0)
DAYS = np.datetime64("2024-01-01") + np.arange(T)


def small(**options):
    return sp.Forecaster(3, pool="small", **options)


def test_numbers_of_another_byte_order_are_the_same_numbers():
    np.testing.assert_array_equal(small().track(Y.astype(">f8")), small().track(Y))
    X = noise(2 * T, 3).reshape(T, 2)
    swapped = small(features=2).track(Y, X.astype(">f8"))
    np.testing.assert_array_equal(swapped, small(features=2).track(Y, X))


@pytest.mark.parametrize("at", [3, 5, 14])
def test_a_huge_gap_among_the_first_times_is_no_longer_than_a_later_one(at):
    times = np.arange(float(T))
    times[at:] += 1e13
    model = small(season=[7])
    assert np.isfinite(model.track(Y, times=times)).all()
    assert model._engine.history.rounds < 2 * T


@pytest.mark.parametrize("at", [5, 20])
def test_a_told_season_keeps_its_phase_over_a_gap_before_it_is_in_use(at):
    y = wavy(7000 + T, (28.0,), level=10.0)
    places = np.append(np.arange(at), np.arange(at, T) + 28 * 200)
    model = small(season=[28])
    model.track(y[places], times=places.astype(float))
    assert model.seasons == [28.0]
    kept = model._engine.history.values
    gap = np.flatnonzero(np.isnan(kept))
    assert gap.size
    assert gap.size % 28 == 0


NO_TIMES = {
    "NaT": np.datetime64("NaT"),
    "text": "yesterday",
    "a number as text": "12",
    "a timedelta": datetime.timedelta(1),
}


@pytest.mark.parametrize("name", NO_TIMES)
def test_what_is_no_time_is_refused(name):
    model, time = small(), NO_TIMES[name]
    before = model.arrays()
    with pytest.raises(ValueError, match=r"times? must be .*;"):
        model.predict(time=time)
    with pytest.raises(ValueError, match=r"times must be .*;"):
        model.track([1.0, 2.0], times=[time, time])
    assert not model._started
    assert before.keys() == model.arrays().keys()


def test_a_missing_date_is_named_by_its_place():
    days = DAYS.copy()
    days[5] = np.datetime64("NaT")
    with pytest.raises(ValueError, match=r"times must be finite: got nan at index \(5,\)"):
        small().track(Y, times=days)


@pytest.mark.parametrize("times", [None, np.arange(1.0, 21.0)])
def test_dates_after_rounds_without_them_are_refused(times):
    model, twin = small(), small()
    model.track(Y[:20], times=times)
    twin.track(Y[:20], times=times)
    with pytest.raises(ValueError, match="times must be numbers, as in the rounds before"):
        model.track(Y[20:], times=DAYS[20:])
    with pytest.raises(ValueError, match="time must be numbers, as in the rounds before"):
        model.predict(time=datetime.date(2024, 1, 1))
    np.testing.assert_array_equal(model.track(Y[20:]), twin.track(Y[20:]))


def test_one_season_may_be_an_array_without_axes_and_no_text():
    assert small(season=np.array(7)).config["season"] == [7.0]
    with pytest.raises(ValueError, match="season must be periods"):
        small(season=b"auto")


@pytest.mark.parametrize("names", [np.array(["a", "b"]), ("a", "b"), {"a": 1, "b": 2}])
def test_names_of_features_may_come_in_any_container_and_be_saved(names):
    model = small(features=names)
    assert persist.unpack(persist.pack(model)).features == ["a", "b"]


class Table:
    """A stand-in for a pandas table."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def test_columns_in_another_order_than_the_features_are_refused():
    X = noise(2 * T, 3).reshape(T, 2)
    model = small(features=["price", "rain"])
    with pytest.raises(ValueError, match=r"X must have the features \['price', 'rain'\]"):
        model.track(Y, Table(X, ["rain", "price"]))
    said = model.track(Y, Table(X, ["price", "rain"]))
    np.testing.assert_array_equal(said, small(features=2).track(Y, X))


def test_features_that_were_not_announced_are_counted_in_the_remedy():
    with pytest.raises(ValueError, match="build it with features=2,"):
        small().track(Y, np.ones((T, 2)))
    with pytest.raises(ValueError, match="pass horizon=24"):
        small().predict(24)


def test_lists_of_lists_of_several_lengths_are_refused_by_name():
    with pytest.raises(ValueError, match="y must be numeric"):
        small().track([[1.0], [2.0, 3.0]])


@pytest.mark.parametrize("values", [0, 9, 60])
@pytest.mark.parametrize("loss", [sp.losses.Absolute(), sp.losses.Pinball(0.05)])
def test_components_of_a_quantile_sum_to_it(values, loss):
    model = small(loss=loss)
    model.track(Y[:values])
    parts = model.components()
    assert math.isclose(sum(parts.values()), model.predict(), rel_tol=1e-12)
    assert values < 60 or parts["quantile"] != 0.0


@pytest.mark.parametrize("values", [0, 1, 9, 10, 11])
def test_components_have_a_slope_from_the_first_round_on(values):
    model = small(features=1)
    model.track(Y[:values])
    parts = model.components()
    assert {"level", "slope", "features", "memory"} <= parts.keys()
    assert math.isclose(sum(parts.values()), model.predict())


def test_threads_that_play_one_forecaster_each_do_not_see_each_other():
    series = [wavy(600, (7.0,), level=level) for level in (10.0, 1000.0)]
    models = [small(season=[7]) for _ in series]
    wanted = [small(season=[7]).track(y) for y in series]
    said = [np.empty(600) for _ in series]

    def play(k):
        for t, value in enumerate(series[k]):
            said[k][t] = models[k].predict()
            models[k].update(value)

    in_threads(play, [(0,), (1,)], every=1e-6)
    np.testing.assert_array_equal(said, wanted)


@pytest.mark.parametrize("stop", [0, 1, 9, 15, 16, 40])
def test_a_round_left_open_at_its_time_counts_once_in_bulk(stop):
    times = 60.0 * np.cumsum(np.tile([1.0, 1.1, 0.8, 2.0, 0.4], T // 5))
    wanted = small(season=[7]).track(Y, times=times, horizon=3, intervals=True)
    model = small(season=[7])
    model.track(Y[:stop], times=times[:stop])
    model.predict(time=times[stop])
    model.track(Y[stop : stop + 2], times=times[stop : stop + 2])
    stop, model = stop + 2, persist.unpack(persist.pack(model))
    model.predict(time=times[stop])
    said = model.track(Y[stop:], times=times[stop:], horizon=3, intervals=True)
    for one, two in zip(said, wanted, strict=True):
        np.testing.assert_array_equal(one, two[stop:])


def test_features_of_an_open_round_are_named_when_others_are_passed():
    model = small(features=1)
    model.predict([1.5])
    with pytest.raises(ValueError, match=r"x must be .*: got \[\[2.5\]\], open \[\[1.5\]\]; call"):
        model.update(3.0, x=[2.5])


def test_rows_of_changes_count_the_slots_before_the_first_value_too():
    y = np.append(noise(200, 5), 9.0 + noise(200, 6))
    y[:6] = np.nan
    kept = np.delete(np.arange(400), [2, 9])
    starts = []
    for rows in (np.arange(400), kept):
        model = small(season=None)
        model.track(y[rows], times=rows.astype(float))
        starts.append([change.start for change in model.changes])
    assert starts[0] == starts[1]
    assert abs(starts[0][0] - 200) <= 2


@pytest.mark.parametrize("late", [4, 20])
def test_a_missing_value_in_a_slot_does_not_undo_the_one_before_it(late):
    times, y = np.arange(30.0), 10.0 + noise(30, 7)
    times[late], y[late] = times[late - 1] + 0.1, np.nan
    model = small(season=None)
    model.track(y, times=times)
    assert y[late - 1] in model._engine.history.values


@pytest.mark.parametrize(
    ("name", "ours"), [("fit", r"track\(y\)"), ("forecast", "predict"), ("learn_one", "update")]
)
def test_names_of_other_libraries_say_what_they_are_here(name, ours):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; it is {ours}"):
        getattr(small(), name)
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        _ = small().colour


def test_a_number_in_the_place_of_features_is_asked_whether_it_is_a_horizon():
    with pytest.raises(ValueError, match=r"got 3; .* pass horizon=3"):
        small().predict(3)


def test_what_takes_many_lines_is_told_by_its_kind():
    table = np.array([["a", "b"]] * 60)
    with pytest.raises(ValueError, match=r"^y must be numeric: got a ndarray of shape \(60, 2\);"):
        small().track(table)
    with pytest.raises(ValueError, match=r"^y must be a number: got '\w{198}…; call skip"):
        small().update("a" * 999)
