"""Fleets of interval trackers whose targets come late, number for number as single ones."""

import math

import numpy as np
import pytest

import stillpoint as sp
from thorough import some

OPTIONS = [{}, {"two_sided": True}, {"coverage": (0.5, 0.9)}, {"empty": False}]
T, DELAY = 120, 3


def streams(seed=0):
    """Forecasts and targets (rows, keys); some targets are missing."""
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.standard_normal((T, 3)), axis=0)
    return np.vstack([np.zeros((1, 3)), y[:-1]]), np.where(rng.random((T, 3)) < 0.1, np.nan, y)


def late(fleet, keys, forecasts, y, rows):
    """Every key's round is predicted; then that of `DELAY` rows before is closed."""
    out = []
    for t in rows:
        out.append(np.array(fleet.predict(keys, forecasts[t])))
        if t >= DELAY:
            target = y[t - DELAY]
            known = np.isfinite(target)
            fleet.update(
                [key for key, is_in in zip(keys, known, strict=True) if is_in], target[known]
            )
            fleet.skip([key for key, is_in in zip(keys, known, strict=True) if not is_in])
    return np.array(out)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("options", some(OPTIONS, every=2))
def test_a_fleet_is_its_single_trackers_bit_for_bit(options, threads, tmp_path):
    forecasts, y = streams()
    keys = ["a", "b", "c"]
    fleet = sp.Fleet(sp.IntervalTracker, delay=DELAY, threads=threads, **options)
    found = [late(fleet, keys, forecasts, y, range(50))]
    sp.save(fleet, tmp_path / "fleet")
    fleet = sp.load(tmp_path / "fleet")
    found.append(late(fleet, keys, forecasts, y, range(50, T)))
    plays = np.concatenate(found)
    for i, key in enumerate(keys):
        single = sp.IntervalTracker(delay=DELAY, **options)
        lo, hi = single.track(forecasts[:, i], y[:, i])
        np.testing.assert_array_equal(plays[:, 0, i], lo)
        np.testing.assert_array_equal(plays[:, 1, i], hi)
        own = fleet.learner(key)
        for name, value in single.arrays().items():
            np.testing.assert_array_equal(own.arrays()[name], value)
        np.testing.assert_array_equal(own.miss_bound(), single.miss_bound())
        other = sp.Fleet(sp.IntervalTracker, delay=DELAY, **options)
        other.adopt("new", single)
        np.testing.assert_array_equal(other.predict(["new"], [5.0]), fleet.predict([key], [5.0]))
        assert own.open_rounds == DELAY


def test_rounds_out_of_order_are_refused_unchanged():
    fleet = sp.Fleet(sp.IntervalTracker, delay=1)
    with pytest.raises(ValueError, match=r"y must belong to an open round.*'a'"):
        fleet.update(["a"], [1.0])
    fleet.predict(["a", "b"], [0.0, 1.0])
    fleet.predict(["a"], [2.0])
    before = fleet.arrays()
    for call, message in (
        (lambda: fleet.predict(["b", "a"], [0.0, 1.0]), "2 open, the most with delay=1"),
        (lambda: fleet.predict(["b"], [math.nan]), "forecasts must be finite"),
        (lambda: fleet.predict(["b"]), "forecasts must be given"),
        (lambda: fleet.update(["a", "b"], [math.inf, 1.0]), "y must be finite"),
        (lambda: fleet.predict(["b"], [0.0], time=3.0), "time must be left out"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    for name, value in fleet.arrays().items():
        np.testing.assert_array_equal(value, before[name])
    gentle = sp.Fleet(sp.IntervalTracker, delay=1, on_bad="skip")
    for _ in range(2):
        gentle.predict(["a"], [0.0])
    lo, hi = gentle.predict(["a", "b"], [0.0, 1.0])
    assert math.isnan(lo[0])
    assert hi[1] == math.inf
    assert [key for key, _ in gentle.rejected] == ["a"]
    gentle.skip(["a", "b"])
    gentle.skip(["b"])  # a round that nobody opened
    assert gentle.learner("b").rounds == 2


def test_devices_take_no_delay():
    from stillpoint.fleet.gpu.programs.intervals import IntervalProgram

    with pytest.raises(ValueError, match="delay must be 0 on a device: got 3"):
        IntervalProgram(sp.IntervalTracker(delay=3))
