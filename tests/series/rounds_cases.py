"""Series for rounds of Forecaster, and how they are played."""

import math

import numpy as np
from series_twins import noise, wavy

import stillpoint as sp

H = 4


def _told():
    y = wavy(300, (4.0, 12.0), level=12.0)
    y[40:47], y[120], y[280:] = np.nan, np.nan, np.nan
    return {"season": [4, 12]}, y


def _found():
    y = wavy(330, (12.0,), level=15.0)
    y[noise(330) > 1.5] = np.nan
    return {}, y


def _logs_end():
    y = wavy(300, (6.0,), level=9.0)
    y[150], y[151], y[220] = 0.0, -2.0, -1.0
    return {"season": 6}, y


def _late_start():
    y = np.full(200, np.nan)
    y[7:60:3], y[60:] = 3.0, 3.0 + wavy(140, (5.0,)) ** 2
    return {"season": [5]}, y


def _jumps():
    y = wavy(300, ())
    y[100], y[180:] = 1e5, y[180:] + 400.0
    return {"season": None}, y


def _not_whole():
    return {"season": [7.5], "pool": "middle"}, wavy(260, (7.5,), level=11.0)


def _small():
    y = wavy(280, (7.0,), level=11.0)
    y[100:130] = np.nan
    return {"season": [7], "pool": "small"}, y


def _long():
    # the history is trimmed, and the unit is outgrown
    T = 10_500
    y = wavy(T, (), level=30.0)
    y[::97] = np.nan
    y[5000:] = 40.0 * y[5000:]
    return {"pool": "small"}, y


CASES = {
    "told": _told(),
    "found": _found(),
    "logs end": _logs_end(),
    "late start": _late_start(),
    "jumps": _jumps(),
    "not whole": _not_whole(),
    "small": _small(),
}
LONG = _long()


def build(case):
    """A new forecaster of a case."""
    return sp.Forecaster(H, **case[0])


def step(model, value, horizon=H):
    """One round; returns its forecasts."""
    said = model.predict(horizon=horizon)
    if math.isnan(value):
        model.skip()
    else:
        model.update(value)
    return said


def interactive(model, y, horizon=H):
    """All rounds, one by one."""
    return np.array([step(model, value, horizon) for value in y])


def assert_same_state(one, two, *, but=("history",)):
    """All that would be saved is the same to the bit; histories may hold more than they use."""
    first, second = one.arrays(), two.arrays()
    assert first.keys() == second.keys()
    for name in first:
        if not name.endswith(but):
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)
