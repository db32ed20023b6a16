"""Learners beside each other: copies of them, and whether two are in the same state."""

import numpy as np


def copy(model):
    """A learner built anew from the config and the arrays of another."""
    twin = type(model)(**model.config)
    twin.restore({key: np.array(value) for key, value in model.arrays().items()})
    return twin


def same(a, b):
    """Whether two learners have the same state, bit for bit; NaN is the same as NaN."""
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(
        np.array_equal(left[key], right[key], equal_nan=True) for key in left
    )


def check_same(ours, theirs):
    """Fail, by the name of what differs, where two saved states are not the same."""
    assert ours.keys() == theirs.keys()
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
