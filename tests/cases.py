"""What many tests run on: kernels, potentials, times. What is added here is tested all over."""

from dataclasses import dataclass

import numpy as np
import pytest

import naive
import stillpoint as sp
from stillpoint.kernels import (
    OU,
    Constant,
    Dirac,
    Gaussian,
    HorizonFree,
    IntegratedBrownian,
    InverseMultiquadric,
    Kernel,
    Matern32,
    Matern52,
    OUMixture,
    Periodic,
    Spline,
)
from stillpoint.potentials import AdaptiveQuadratic, Erfi, FreeGrad, ParameterFree, Quadratic

CONSISTENT = 1 / (2 * np.pi)

MARKOV = {
    "constant": Constant(2.0),
    "dirac": Dirac(0.7),
    "spline": Spline(),
    "spline offset": Spline(offset=3.0),
    "ou": OU(rate=0.1),
    "ou static": OU(rate=0.0, weight=2.0),
    "mixture": OUMixture([0.0, 0.01, 0.3, 2.0], [1.0, 0.5, 0.2, 0.1]),
    "matern32": Matern32(rate=0.2, weight=1.5),
    "matern52": Matern52(rate=0.3),
    "periodic": Periodic(12.0, smoothness=0.75),
    "quasi-periodic": Periodic(7.3, harmonics=3) * OU(0.02),
    "integrated": 1e-3 * IntegratedBrownian(),
    "integrated offset": 1e-3 * IntegratedBrownian(offset=2e3, slope=10.0),
    "structural": Spline(1.0) + 0.5 * Periodic(6.0) + Periodic(20.0, 1.0, 2) * Spline(2.0),
    "horizon-free": HorizonFree(),
    "horizon-free consistent": HorizonFree(taper=CONSISTENT),
    "sum": OU(0.1) + Matern32(0.2) + 2.0 * Dirac(),
    "product": OU(0.1) * Matern52(0.2),
    "growing product": Spline(1.0) * OU(0.05),
    "dirac product": (OU(0.1) + Dirac(0.5)) * (Spline(1.0) + Dirac(0.25)),
    "scaled": 3.0 * (Matern32(0.2) * Matern52(0.1)),
}
DENSE = {
    "gaussian": Gaussian(width=3.0),
    "inverse multiquadric": InverseMultiquadric(width=4.0),
    "horizon-free smooth": HorizonFree(taper=CONSISTENT, smoothness=2),
}
REGULAR = np.arange(1.0, 41.0)
IRREGULAR = np.cumsum(np.random.default_rng(0).exponential(size=40) + 0.02)
TIMES = {"regular": REGULAR, "irregular": IRREGULAR + 0.5}
POTENTIALS = [Quadratic(0.1), AdaptiveQuadratic(2.0), ParameterFree(), FreeGrad(0.5), Erfi(0.5)]
G = np.array([1, -0.5, 0.25, -1, 0.75, 0.1])  # of the golden vectors


@dataclass(frozen=True)
class Opaque(Kernel):
    """A kernel that hides its state space."""

    inner: Kernel

    def _value(self, s, t):
        return self.inner(s, t)

    @property
    def bound(self):
        return self.inner.bound


def targets(rounds, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((rounds, dim))


def features(kernel, when):
    values, vectors = np.linalg.eigh(kernel.gram(when))
    return vectors * np.sqrt(np.maximum(values, 0.0))


def respond(learner, gradient, times):
    """Plays at these times, and the gradients that answered them: gradient(t, play)."""
    plays, gradients = [], []
    for t, time in enumerate(times):
        plays.append(learner.predict(time=time))
        gradients.append(gradient(t, plays[-1]))
        learner.update(gradients[-1])
    return np.array(plays), np.array(gradients)


def drive(learner, gradients, times=None):
    """Plays of a learner that is given these gradients, whatever it plays."""
    times = [None] * len(gradients) if times is None else times
    return respond(learner, lambda t, play: gradients[t], times)[0]


def newton_steps(kernel, when, y, domain):
    """Plays of ExpConcave on ½‖w − y‖², which are those of its literal twin."""
    dim = y.shape[1]
    learner = sp.ExpConcave(dim, kernel=kernel, curvature=0.3, ridge=1.0, domain=domain)
    plays, _ = respond(learner, lambda t, w: w - y[t], when)

    def project(w, metric):
        return w if domain is None else naive.project_in_metric(domain, w, metric)

    twin = naive.exp_concave(features(kernel, when), lambda t, w: w - y[t], dim, 0.3, 1.0, project)
    assert np.abs(plays - twin).max() <= 1e-6 * np.abs(twin).max()
    return plays


def certified(model, K, y, forecasts, rel):
    """Whether a VAW forecaster's figures are those of its Gram matrix K, and its certificate holds:
    with equality at the ridge optimum.
    """
    lead, ridge = np.maximum(np.linalg.eigvalsh(K), 0.0), model.ridge
    assert model.log_det == pytest.approx(np.log1p(lead / ridge).sum(), rel=1e-9)
    assert model.effective_dimension == pytest.approx((lead / (lead + ridge)).sum(), rel=1e-9)
    own, rng = 0.5 * ((y - forecasts) ** 2).sum(), np.random.default_rng(1)
    best = np.linalg.solve(K + ridge * np.eye(len(y)), y)
    for dual in (best, rng.standard_normal(len(y)), 0.3 * best, 0.0 * best):
        radius = np.sqrt(max(dual @ K @ dual, 0.0))
        regret = own - 0.5 * ((y - K @ dual) ** 2).sum()
        assert regret <= model.certificate(radius) + 1e-9
        assert model.certificate(radius) <= model.bound(radius) + 1e-9
        if dual is best:
            assert regret == pytest.approx(model.certificate(radius), rel=rel)
