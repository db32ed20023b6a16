"""What many tests run on: kernels, potentials, times. What is added here is tested all over."""

from dataclasses import dataclass

import numpy as np

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
