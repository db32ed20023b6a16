"""A run of Algorithm 2 beside the same FTRL on explicit operators."""

from dataclasses import dataclass

import numpy as np

import stillpoint as sp
from stillpoint.core.validation import Array
from stillpoint.kernels import Kernel
from stillpoint.lab.reproduce import runs
from stillpoint.losses.base import Loss
from stillpoint.potentials import ParameterFree

SMALL, DIM = 25, 2  # rounds and dimension


@dataclass
class Operators:
    """A run of KernelFTRL with Algorithm 2's potential beside FTRL on (d, T) matrices W_t."""

    plays: Array
    operators: list[Array]
    thetas: list[Array]
    sizes: list[float]
    variances: list[float]
    phi: Array
    hint: float
    learner: sp.KernelFTRL


def explicit_run(kernel: Kernel, loss: Loss, seed: int = 0) -> Operators:
    """FTRL with ψ_t(W) = Ψ_t(‖W‖), W_t = (m(‖θ‖, V)/‖θ‖)θ, held explicitly."""
    rng, phi = np.random.default_rng(seed), runs.features(kernel, SMALL)
    losses = loss.on(rng.standard_normal((SMALL, DIM)))
    learner = sp.KernelFTRL(
        DIM, lipschitz=20.0, kernel=kernel, potential=ParameterFree(1e3), memory="dense"
    )
    run = Operators(np.zeros((SMALL, DIM)), [], [], [], [], phi, learner.hint, learner)
    theta, V = np.zeros((DIM, SMALL)), 4.0 * learner.hint**2
    for t in range(SMALL):
        S = float(np.linalg.norm(theta))
        W = theta / S * ParameterFree(1e3).magnitude(S, V, learner.hint) if S > 0 else 0.0 * theta
        run.plays[t] = learner.predict()
        run.operators.append(W)
        run.thetas.append(theta)
        run.sizes.append(learner.memory.norm)
        run.variances.append(V)
        g = losses[t].gradient(run.plays[t])
        learner.update(g)
        theta = theta - np.outer(g, phi[t])
        V += float(np.linalg.norm(np.outer(g, phi[t]))) ** 2
    return run
