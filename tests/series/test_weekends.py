"""Changes beside a day and a week: what weekends look like before the week is known."""

import numpy as np
import pytest

import stillpoint as sp


def hours(seed, weeks):
    """A day and a week of hours, in noise of deviation 3."""
    t = np.arange(168 * weeks)
    left = np.random.default_rng(seed).normal(0.0, 3.0, t.size)
    return 100.0 + 20.0 * np.sin(t * np.pi / 12) + 10.0 * (t // 24 % 7 < 5) + left


@pytest.mark.parametrize("pool", ["full", "small"])
def test_weekends_are_no_changes_once_the_week_has_come_twice(pool):
    first = 0
    for seed in range(3):
        model = sp.Forecaster(season=[24, 168], pool=pool)
        model.track(hours(seed, 2))  # eight rows fewer than it takes
        first += len(model.changes)
        model.track(hours(seed, 3)[336:])
        assert not model.changes
    assert first > 0


def test_changes_are_the_same_whenever_they_are_asked_for(tmp_path):
    y = hours(5, 5)
    y[600:] += 12.0
    whole = sp.Forecaster(season=[24, 168], pool="small")
    whole.track(y)
    asked = sp.Forecaster(season=[24, 168], pool="small")
    for start in range(0, y.size, 50):
        asked.track(y[start : start + 50])
        assert isinstance(asked.changes, list)
        if start % 150 == 0:
            sp.save(asked, tmp_path / "model.npz")
            asked = sp.load(tmp_path / "model.npz")
    assert asked.changes == whole.changes
    assert [(each.kind, abs(each.start - 600) < 7) for each in whole.changes][:1] == [
        ("level up", True)
    ]


def test_a_level_that_jumps_while_the_week_is_unknown_is_no_week():
    t, found = np.arange(840), 0
    for seed, at in enumerate((100, 150, 170, 200, 250) * 2):
        y = 20.0 + 2.0 * np.sin(np.pi * t / 12) + np.random.default_rng(seed).normal(size=t.size)
        y[at:] += 6.0
        model = sp.Forecaster(season=[24, 168], pool="small")
        model.track(y)
        found += any(abs(each.start - at) < 8 for each in model.changes)
        # none later, when the wave that a jump leaves beside a line would be taken off its rows
        assert all(each.start < at + 60 for each in model.changes)
    assert found >= 8


@pytest.mark.parametrize("scale", [1e-165, 1e-300])
def test_tiny_values_outlive_the_look_at_the_week(scale):
    y = hours(3, 3) * scale
    model = sp.Forecaster(season=[24, 168], pool="small")
    model.track(y)
    assert model.changes == []
    assert np.isfinite(model.predict())
