import bisect

import numpy as np
import pytest

from stillpoint.alerts import _ranks
from thorough import some

STREAMS = {
    "noise": lambda rng, T: rng.normal(size=T),
    "rising": lambda rng, T: np.arange(float(T)),
    "falling": lambda rng, T: -np.arange(float(T)),
    "constant": lambda rng, T: np.zeros(T),
    "a few values": lambda rng, T: rng.integers(0, 3, T).astype(float),
    "half of them equal": lambda rng, T: np.where(rng.random(T) < 0.5, 0.0, rng.normal(size=T)),
    "in bursts": lambda rng, T: np.repeat(rng.normal(size=T // 50 + 1), 50)[:T],
}


def new_window(most):
    return _ranks.window_in(np.zeros(_ranks.size(most)), most, np.zeros(2, np.int64))


@pytest.mark.parametrize("most", [1, 5, 130, 700])
@pytest.mark.parametrize("name", some(STREAMS, every=2))
def test_ranks_are_those_of_a_sorted_list_of_the_last_numbers(name, most):
    rng = np.random.default_rng(0)
    window, ordered, ring = new_window(most), [], []
    for t, value in enumerate(STREAMS[name](rng, 3000)):
        for each in (value, rng.normal()):
            assert _ranks.below(window, each) == bisect.bisect_left(ordered, each)
            assert _ranks.up_to(window, each) == bisect.bisect_right(ordered, each)
        if len(ring) == most:
            del ordered[bisect.bisect_left(ordered, ring.pop(0))]
        ring.append(value)
        bisect.insort(ordered, value)
        _ranks.insert(window, value)
        k = t * 7 % len(ordered)
        assert _ranks.smallest(window, k) == ordered[k]
    assert window.clock[_ranks.BY.filled] == min(most, 3000)


def test_a_window_put_in_order_anew_ranks_as_before_and_goes_on():
    rng = np.random.default_rng(1)
    window = new_window(500)
    for value in rng.normal(size=1700):
        _ranks.insert(window, value)
    other = new_window(500)
    other.arrived[:], other.clock[:] = window.arrived, window.clock
    _ranks.refill(other)
    for value in rng.normal(size=1700):
        assert _ranks.below(other, value) == _ranks.below(window, value)
        _ranks.insert(window, value)
        _ranks.insert(other, value)


def test_numbers_spread_evenly_have_the_ranks_of_a_uniform_law():
    window = new_window(200)
    _ranks.spread_evenly(window, 1000, 2.0)
    assert _ranks.below(window, 0.0) == 100
    assert _ranks.below(window, 1.0) == 150
    assert _ranks.below(window, 2.0) == 200
