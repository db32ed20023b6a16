"""Every streaming learner of curved losses against its dense engine: twelve kernels, regular and
irregular times, d = 1 and 3.
"""

import numpy as np
import pytest

import stillpoint as sp
from cases import IRREGULAR, MARKOV, REGULAR
from stillpoint.kernels import HorizonFree, Kernel
from stillpoint.kernels.base import Array
from thorough import some_of

NAMES = [
    "spline offset",
    "ou",
    "mixture",
    "matern32",
    "matern52",
    "periodic",
    "quasi-periodic",
    "integrated offset",
    "structural",
    "sum",
    "product",
    "horizon-free",
]
TIMES = {"regular": REGULAR, "irregular": IRREGULAR + 0.5}


class Hidden(Kernel):
    """A kernel whose state space nobody is told of."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel.markov()

    def _value(self, s: Array, t: Array) -> Array:
        return self.kernel._value(s, t)

    @property
    def bound(self) -> float:
        return self.kernel.bound


def vaw(kernel, dim, ridge, times):
    model = sp.KernelVAW(kernel=kernel, ridge=ridge, outputs=dim)
    plays = model.track(np.random.default_rng(0).standard_normal((times.size, dim)), times)
    return plays, model.certificate(1.0), model.log_det, model.effective_dimension


def contexts(kernel, dim, ridge, times):
    rng, model, plays = (
        np.random.default_rng(1),
        sp.TrackingVAW(dim, kernel=kernel, ridge=ridge),
        [],
    )
    for t in times:
        x = rng.standard_normal(dim)
        plays.append(model.predict(x, time=t))
        model.update(x, rng.standard_normal())
    return np.array(plays), model.certificate(1.0), model.log_det, model.effective_dimension


def newton(make):
    def run(kernel, dim, ridge, times):
        rng, model, plays = np.random.default_rng(2), make(kernel, dim, ridge), []
        for t in times:
            plays.append(model.predict(time=t))
            # the same gradients for both: unconstrained Newton steps on their own plays amplify the
            # last bit of either side
            model.update(0.5 * rng.standard_normal(dim))
        return np.array(plays), model.certificate(1.0), model.log_det, 0.0

    return run


def directional(kernel, dim, ridge, times):
    rng, plays = np.random.default_rng(3), []
    model = sp.Directional(
        dim,
        lipschitz=1.0,
        kernel=kernel,
        ridge=ridge,
        kernel_bound=float(kernel.diagonal(times).max()),
    )
    for t in times:
        plays.append(model.predict(time=t))
        g = rng.standard_normal(dim)
        model.update(g / np.linalg.norm(g))
    return np.array(plays), model.certificate(1.0), model.variance, 0.0


LEARNERS = {
    "KernelVAW": vaw,
    "TrackingVAW": contexts,
    "StronglyConvex": newton(
        lambda kernel, dim, ridge: sp.StronglyConvex(dim, kernel=kernel, curvature=0.5, ridge=ridge)
    ),
    "StronglyConvex in a ball": newton(
        lambda kernel, dim, ridge: sp.StronglyConvex(
            dim, kernel=kernel, curvature=0.5, ridge=ridge, domain=sp.domains.Ball(0.05)
        )
    ),
    "ExpConcave": newton(
        lambda kernel, dim, ridge: sp.ExpConcave(dim, kernel=kernel, curvature=0.1, ridge=ridge)
    ),
    "Directional": directional,
}


@pytest.mark.parametrize(
    ("learner", "name", "ridge", "dim", "times"),
    some_of(LEARNERS, NAMES, [0.01, 1.0], [1, 3], TIMES, every=6),
)
def test_streaming_equals_dense(learner, name, ridge, dim, times):
    run, kernel = (
        LEARNERS[learner],
        HorizonFree(min_gap=0.003) if name == "horizon-free" else MARKOV[name],
    )
    plays, *sums = run(kernel, dim, ridge, TIMES[times])
    twin, *others = run(Hidden(kernel), dim, ridge, TIMES[times])
    assert np.abs(plays - twin).max() <= 1e-9 * np.abs(twin).max()
    assert sums == pytest.approx(others, rel=1e-8)
