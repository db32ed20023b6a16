"""Forecasts of a + b·y are a + b times those of y; what is refused leaves the state alone."""

import datetime
import math

import numpy as np
import pytest
from rounds_cases import CASES, H, build, interactive
from series_twins import noise, wavy

import stillpoint as sp
from thorough import some_of

SEASONS = {"told": [4, 12], "found": "auto", "none": None}
PERIODS = {"told": (4.0, 12.0), "found": (12.0,), "none": ()}


def moved(y, a, b, **options):
    """Forecasts of y, and what those of a + b·y are in its units."""
    one, two = sp.Forecaster(H, **options), sp.Forecaster(H, **options)
    said = one.track(y, horizon=H)
    other = (two.track(a + b * y, horizon=H) - a) / b
    assert one.seasons == two.seasons
    first = int(np.argmin(np.isnan(y))) + 1  # before the first value 0 is said
    return said[first:], other[first:], one


@pytest.mark.parametrize(
    ("name", "pool", "factor"),
    some_of(SEASONS, ["full", "middle", "small"], [1e-6, 1.0 / 3.0, 4e7], every=4),
)
def test_of_positive_values_the_unit_does_not_matter(name, pool, factor):
    y = np.exp(0.2 * wavy(300, PERIODS[name]))
    y[100:104] = np.nan
    said, other, model = moved(y, 0.0, factor, season=SEASONS[name], pool=pool)
    assert model._engine.state.clock[4]  # logarithms are taken
    np.testing.assert_allclose(other, said, rtol=0, atol=1e-8 * np.nanstd(y))


MOVED = {"shift": (-2e3, 1.0), "small": (-7.0, 0.01), "large": (-5e5, 40.0)}


@pytest.mark.parametrize(
    ("name", "pool", "by"), some_of(SEASONS, ["full", "middle", "small"], MOVED, every=4)
)
def test_of_other_values_neither_unit_nor_origin_matters(name, pool, by):
    shift, factor = MOVED[by]
    y = wavy(300, PERIODS[name])
    y[100:104], y[0] = np.nan, -3.0  # none of the two series is positive
    said, other, model = moved(y, shift, factor, season=SEASONS[name], pool=pool)
    assert not model._engine.state.clock[4]
    np.testing.assert_allclose(other, said, rtol=0, atol=1e-8 * np.nanstd(y))


def test_without_waves_the_sign_does_not_matter_either():
    y = wavy(300, (12.0,)) - 5.0
    said, other, _ = moved(y, -50.0, -3.0, pool="small", season=[12])
    np.testing.assert_allclose(other, said, rtol=0, atol=1e-8 * np.std(y))


def test_a_history_that_begins_with_a_missing_value_is_replayed_alike_in_any_unit():
    y = wavy(9400, ()) - 60.0
    y[5000:] *= 30.0  # the unit is outgrown: all is built anew at round 9114
    y[850:1000] = np.nan  # what is kept begins in a gap
    one, two = (sp.Forecaster(1, season=None, pool="full") for _ in range(2))
    said, other = one.track(y), (two.track(0.3 * y - 40.0) + 40.0) / 0.3
    assert one._engine.builds == two._engine.builds == 3
    np.testing.assert_allclose(other[1:], said[1:], rtol=0, atol=1e-8 * np.nanstd(y))


BAD_CALLS = {
    "a horizon beyond its own": (lambda m: m.predict(horizon=H + 1), "horizon must be at most 4"),
    "no steps": (lambda m: m.predict(horizon=0), "horizon must be"),
    "half a step": (lambda m: m.predict(horizon=1.5), "horizon must be"),
    "a horizon in bulk": (lambda m: m.track([1.0], horizon=H + 1), "horizon must be at most 4"),
    "an infinite value": (lambda m: m.update(math.inf), "y must be finite"),
    "a missing value": (lambda m: m.update(math.nan), r"skip\(\)"),
    "a word": (lambda m: m.update("x"), "y must be"),
    "nothing": (lambda m: m.update(None), "y must be"),
    "two values": (lambda m: m.update([1.0, 2.0]), "y must be"),
    "a huge value": (lambda m: m.update(1e80), "y must be at most"),
    "an infinite value in bulk": (lambda m: m.track([1.0, math.inf]), "y must be"),
    "a huge value in bulk": (lambda m: m.track([1.0, -1e80]), "y must be at most"),
    "a table": (lambda m: m.track([[1.0]]), "y must be one-dimensional"),
    "one number in bulk": (lambda m: m.track(1.0), "y must be one-dimensional"),
    "words": (lambda m: m.track(["x"]), "y must be"),
    "complex numbers": (lambda m: m.track([1j]), "y must be"),
    "a time before": (lambda m: m.predict(time=3.0), "time must"),
    "a date before": (lambda m: m.predict(time=datetime.date(1969, 1, 1)), "time must"),
    "a time that is none": (lambda m: m.predict(time=math.nan), "time must"),
    "times that fall": (lambda m: m.track([1.0, 2.0], times=[900.0, 800.0]), "must"),
    "too few times": (lambda m: m.track([1.0, 2.0], times=[900.0]), "must"),
    "features": (lambda m: m.predict([1.0, 2.0]), "x must be left out"),
    "features in bulk": (lambda m: m.track([1.0], X=[[1.0]]), "X must be left out"),
}


@pytest.mark.parametrize("opened", [False, True])
def test_what_is_refused_leaves_the_state_alone(opened):
    model, y = build(CASES["told"]), CASES["told"][1]
    model.track(y[:150])
    if opened:
        model.predict()
    before, twin = model.arrays(), sp.Forecaster(H, season=[4, 12])
    twin.track(y[:150])
    for call, (act, message) in BAD_CALLS.items():
        with pytest.raises(ValueError, match=message):
            act(model)
        after = model.arrays()
        assert before.keys() == after.keys()
        for name, value in before.items():
            np.testing.assert_array_equal(after[name], value, err_msg=f"{call}: {name}")
    np.testing.assert_array_equal(interactive(model, y[150:170]), interactive(twin, y[150:170]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"season": "weekly"}, "season must be periods"),
        ({"season": [1]}, "season must be 2 rounds or more"),
        ({"season": 0}, "season must be 2 rounds or more"),
        ({"season": -7}, "season must be 2 rounds or more"),
        ({"season": [math.nan]}, "season must be finite"),
        ({"season": [math.inf]}, "season must be finite"),
        ({"season": [24, 24.0]}, "season must name each period once"),
        ({"season": [24, "x"]}, "season must be a number"),
        ({"season": 5000}, "season must be at most 4092"),
        ({"season": 1j}, "season must be periods"),
        ({"pool": "large"}, "pool must be"),
        ({"pool": None}, "pool must be"),
        ({"pool": ["full"]}, "pool must be"),
        ({"horizon": 0}, "horizon must be"),
        ({"horizon": 2.5}, "horizon must be"),
        ({"horizon": "day"}, "horizon must be"),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_built_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        sp.Forecaster(**options)
    assert ";" in str(caught.value)  # what, then what to do


def test_seasons_may_be_given_in_any_order_and_kind():
    y = wavy(300, (4.0, 12.0), level=9.0)
    said = [
        sp.Forecaster(2, season=season).track(y, horizon=2)
        for season in ([4, 12], (12, 4.0), np.array([12, 4]), {4, 12})
    ]
    for other in said[1:]:
        np.testing.assert_array_equal(other, said[0])


@pytest.mark.parametrize(
    "season", [np.array([12, 4]), {4, 12}, iter([4, 12])], ids=["array", "set", "iterator"]
)
def test_however_seasons_were_given_the_forecaster_can_be_saved(season, tmp_path):
    sp.save(sp.Forecaster(2, season=season), tmp_path / "model")
    assert sp.load(tmp_path / "model").config["season"] == [4.0, 12.0]


def test_three_seasons_of_any_length_are_taken():
    y = wavy(500, (2.0, 7.5, 30.0), level=9.0) + 0.1 * noise(500)
    model = sp.Forecaster(40, season=[2, 7.5, 30])
    assert np.isfinite(model.track(y, horizon=40)).all()
    assert model.seasons == [2.0, 7.5, 30.0]
