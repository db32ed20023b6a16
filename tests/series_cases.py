"""What forecasters of a series refuse."""

import math

import numpy as np
import pytest


def check_refusals(model, opened, own):
    """Play 20 rounds, perhaps open the next: bad input is then refused, the state left alone.

    own: calls that only this model refuses, each with its message.
    """
    model.track(np.sin(np.arange(20) / 4.0))
    if opened:
        model.predict()
    before = model.arrays()
    calls = [
        *[
            (lambda bad=bad: model.update(bad), "y must be")
            for bad in (math.nan, math.inf, "x", None, [1.0, 2.0], 1e80)
        ],
        *[(lambda bad=bad: model.predict(bad), "time must") for bad in (20.0, 3.0, math.nan)],
        *[
            (lambda bad=bad: model.track(bad), "y must")
            for bad in ([1.0, math.inf], [[1.0]], ["x"], [1j], 1.0, [1e80])
        ],
        *own,
    ]
    if not opened:
        bad_times = ([19.0, 21.0], [21.0, 21.0], [22.0, 21.0], [21.0], [21.0, math.nan])
        calls += [(lambda bad=bad: model.track([1.0, 2.0], bad), "time") for bad in bad_times]
    else:
        calls.append((lambda: model.track([1.0]), "open at 21.0"))
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()
    for key, value in model.arrays().items():
        np.testing.assert_array_equal(value, before[key])
