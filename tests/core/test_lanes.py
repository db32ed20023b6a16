"""Vectors of lanes in compiled code, and named tuples by reference."""

from typing import NamedTuple

import numpy as np
import pytest

from stillpoint.core._lanes import exponential, logarithm, within
from stillpoint.core.jit import njit
from stillpoint.core.lane_tiles import gather, scatter
from stillpoint.core.lanes import (
    LANES,
    block,
    floor,
    get,
    least,
    most,
    nearest,
    put,
    root,
    size,
    some,
    spread,
    where,
)
from stillpoint.core.reference import refer


class Pair(NamedTuple):
    """What is referred to."""

    values: np.ndarray
    factor: float


@njit(cache=False)
def arithmetic(w, out):
    w = block(w)
    a, b = get(w, 0), get(w, 1)
    inside = (a > 0.0) & (b <= 1.0) | ~(a != b)
    put(out, 0, (a + b) * 2.0 - a / b)
    put(out, 1, where(inside, a, -1.0))
    put(out, 2, least(a, b))
    put(out, 3, most(a, 0.5))
    put(out, 4, root(size(a)))
    put(out, 5, floor(a) + nearest(b))
    put(out, 6, within(a, spread(-0.5), spread(0.5)))
    put(out, 7, 1.0 if some(a > 1e9) else 2.0)


def test_arithmetic_goes_lane_by_lane():
    w, out = np.random.default_rng(1).normal(size=(2, LANES)), np.empty((8, LANES))
    w[:, 0] = 0.25
    arithmetic(w, out)
    a, b = w
    inside = (a > 0.0) & (b <= 1.0) | (a == b)
    assert 0 < inside.sum() < LANES
    expected = [
        (a + b) * 2.0 - a / b,
        np.where(inside, a, -1.0),
        np.minimum(a, b),
        np.maximum(a, 0.5),
        np.sqrt(np.abs(a)),
        np.floor(a) + np.rint(b),
        np.clip(a, -0.5, 0.5),
        np.full(LANES, 2.0),
    ]
    np.testing.assert_array_equal(out, expected)


@njit(cache=False)
def functions(w, out):
    put(out, 0, exponential(get(w, 0)))
    put(out, 1, logarithm(get(w, 1)))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0, 300.0])
def test_exponentials_and_logarithms_are_exact_to_the_last_places(scale):
    w, out = scale * np.random.default_rng(2).normal(size=(2, LANES)), np.empty((2, LANES))
    w = np.clip(w, -690.0, 690.0)
    w[1] = np.exp(w[1])
    functions(w, out)
    np.testing.assert_allclose(out[0], np.exp(w[0]), rtol=1e-15)
    np.testing.assert_allclose(out[1], np.log(w[1]), rtol=1e-15, atol=1e-16)


def test_logarithms_of_numbers_with_few_digits_are_right():
    w, out = np.full((2, LANES), 5e-324), np.empty((2, LANES))
    functions(w, out)
    np.testing.assert_allclose(out[1], np.log(5e-324), rtol=1e-15)


@njit(cache=False)
def there_and_back(table, keys, w, other):
    for i in (0, 3):
        gather(table, keys, i, w, i)
        scatter(other, keys, i, w, i)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiles_of_rows_become_lanes_and_rows_again(dtype):
    table = np.random.default_rng(3).normal(size=(20, 11)).astype(dtype)
    keys, w = np.array([3, 0, 19, 7, 8, 4, 11, 2]), np.zeros((11, LANES))
    other = np.zeros_like(table)
    there_and_back(table, keys, w, other)
    np.testing.assert_array_equal(w, table[keys].T)
    np.testing.assert_array_equal(other[keys], table[keys])
    assert not np.delete(other, keys, axis=0).any()


@njit(cache=False)
def doubled(pair):
    p = refer(pair)
    for i in range(p.values.size):
        p.values[i] *= p.factor
    return p.factor


def test_fields_are_read_and_written_through_a_reference():
    values = np.arange(4.0)
    assert doubled(Pair(values, 2.0)) == 2.0
    np.testing.assert_array_equal(values, 2.0 * np.arange(4.0))
