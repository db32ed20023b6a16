"""The belief of `Belief` for kernels without a state space: every observation is kept, O(t²) a round.

The mean is a sum f = Σ_s β_s k(s, ·); observing at t, or shifting f(t), adds a multiple of the posterior covariance
k(t, ·) − Σ_s c_s k(s, ·), c = (K + R)⁻¹k_t, so both learners that share a covariance run on it unchanged.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from stillpoint._validate import Array
from stillpoint.filters.belief import SharedBelief
from stillpoint.kernels import Kernel


class DenseBelief:
    """Gaussian belief about `outputs` functions of time with noise variance `noise`, from a growing Cholesky factor."""

    def __init__(self, kernel: Kernel, outputs: int, noise: float) -> None:
        self.kernel, self.noise, self.outputs = kernel, noise, outputs
        self.time, self.variance = -np.inf, 0.0
        self.mean: Array = np.zeros(outputs)
        self._knots, self._beta = np.zeros(0), np.zeros((0, outputs))  # where the mean has weights
        self._seen, self._factor = np.zeros(0), np.zeros((0, 0))  # where there were observations
        self._row, self._weights = np.zeros(0), np.zeros(0)

    def advance(self, time: float) -> None:
        """Move to a later time: mean and variance there."""
        column = self.kernel(self._seen, time)
        self._row = solve_triangular(self._factor, column, lower=True) if column.size else column
        self._weights = solve_triangular(self._factor.T, self._row, lower=False) if column.size else column
        self.variance = max(float(self.kernel.diagonal(time)) - float(self._row @ self._row), 0.0)
        self.mean = self.kernel(self._knots, time) @ self._beta
        self.time = time

    def shift(self, amount: Array) -> None:
        """Add amount times the posterior covariance with f(time)."""
        # knots and observations are both in order, so the observations' knots can be looked up
        self._beta[np.searchsorted(self._knots, self._seen)] -= np.outer(self._weights, amount)
        if self._knots.size == 0 or self._knots[-1] != self.time:
            self._knots = np.append(self._knots, self.time)
            self._beta = np.vstack([self._beta, np.zeros((1, self.outputs))])
        self._beta[-1] += amount

    def observe(self, S: float, innovation: Array) -> None:
        """Learn from an observation of total variance S = variance + noise."""
        self.shift(innovation / S)
        n = self._seen.size
        grown = np.zeros((n + 1, n + 1))
        grown[:n, :n], grown[n, :n], grown[n, n] = self._factor, self._row, np.sqrt(S)
        self._factor, self._seen = grown, np.append(self._seen, self.time)

    def effective_dimension(self) -> float:
        """Tr K(K + R)⁻¹ = n − R·Tr(K + R)⁻¹."""
        n = self._seen.size
        inverse = solve_triangular(self._factor, np.eye(n), lower=True) if n else np.zeros((0, 0))
        return n - self.noise * float((inverse**2).sum())

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        names = ("time", "variance", "mean", "_knots", "_beta", "_seen", "_factor", "_row", "_weights")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        for name, value in state.items():
            setattr(self, name, np.array(value) if isinstance(value, np.ndarray) else float(value))


def shared_belief(kernel: Kernel, outputs: int, noise: float) -> SharedBelief | DenseBelief:
    """Streaming where the kernel has a state space, dense otherwise."""
    return SharedBelief(kernel, outputs) if kernel.state_space() is not None else DenseBelief(kernel, outputs, noise)
