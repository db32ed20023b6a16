"""Functions that are no kernels are refused where a variance shows it, and nothing has moved."""

import copy

import numpy as np
import pytest

import stillpoint as sp
from states import same
from stillpoint.kernels import StationaryKernel


class Step(StationaryKernel):
    """1 within three rounds and −1 beyond."""

    def _lag(self, r):
        return np.where(r < 3.0, 1.0, -1.0)


class Hole(StationaryKernel):
    """A formula that divides 0 by 0 five rounds apart."""

    def _lag(self, r):
        return np.where(r == 5.0, np.nan, np.exp(-r))


@pytest.mark.parametrize(
    ("kernel", "rounds"), [(Step(), 3), (Hole(), 5)], ids=["indefinite", "nan"]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: sp.KernelVAW(kernel=kernel),
        lambda kernel: sp.StronglyConvex(1, kernel=kernel, curvature=1.0),
    ],
    ids=["targets", "gradients"],
)
def test_what_is_no_kernel_is_refused_when_a_variance_falls_below_zero(make, kernel, rounds):
    learner = make(kernel)
    for _ in range(rounds):
        learner.update(1.0)
    before = copy.copy(learner)
    with pytest.raises(ValueError, match="kernel must be positive definite: got a variance of"):
        learner.predict()
    assert same(learner, before)
