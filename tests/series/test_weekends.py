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
