"""The beliefs of `Belief` for any Gram matrix: every observation is kept, O(t²) a round.

What can be observed are points (τ, a), and a Gram function gives the prior covariance of two of
them: k(s, t) where all outputs share one function of time, k(s, t)⟨a, b⟩ for directions of a
vector, k(s, t)κ(x, z) for contexts. The mean is a sum Σ_p β_p φ(p) over knots; learning from a
point q, or shifting the mean there, adds a multiple of its posterior covariance φ(q) − Σ_s c_s
φ(p_s), c = (K + R)⁻¹k_q: one more knot, and other weights on those that were observed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from stillpoint.beliefs.belief import SharedBelief
from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel

Gram = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Product:
    """The Gram function k(s, t)·inner(a, b) on points (τ, a), shape (n, 1 + dim).

    inner is ⟨a, b⟩ unless another is given. (No closure: learners are pickled.)
    """

    kernel: Kernel
    inner: Gram | None = None

    def __call__(self, p: Array, q: Array) -> Array:
        """The prior covariances of points, shape (n, m)."""
        a, b = p[:, 1:], q[:, 1:]
        kernel, inner = self.kernel, self.inner
        return kernel(p[:, :1], q[:, 0]) * (a @ b.T if inner is None else inner(a, b))


class PointBelief:
    """Gaussian belief about functions of points, from a growing Cholesky factor.

    Parameters
    ----------
    gram : function of two arrays of points (n, 1 + dim) and (m, 1 + dim)
        Their prior covariances, shape (n, m).
    dim : int
        Coordinates of a point besides its time.
    outputs : int
        How many functions share the covariance.
    noise : float
        Variance of what is added to a value that is observed.
    """

    _saved: tuple[str, ...] = ("time", "_knots", "_beta", "_seen", "_factor", "_point", "_row")

    def __init__(self, gram: Gram, dim: int, outputs: int, noise: float) -> None:
        self.noise, self.time, self._gram = noise, -np.inf, gram
        self._knots: Array = zeros((0, 1 + dim))  # where the mean has weights
        self._beta: Array = zeros((0, outputs))
        self._seen: NDArray[np.int64] = zeros(0, dtype=np.int64)  # which of the knots were observed
        self._factor = zeros((0, 0))  # Cholesky factor of K + R over those
        # the point last looked at, and L⁻¹k there
        self._point, self._row = zeros((1, 1 + dim)), zeros((0, 1))

    def _posterior(self, points: Array) -> tuple[Array, Array, Array]:
        """Mean (n, outputs) and covariance (n, n) at n points, and the rows L⁻¹k for `_add`."""
        rows = self._solve(self._gram(self._knots[self._seen], points))
        return (
            self._gram(points, self._knots) @ self._beta,
            self._gram(points, points) - rows.T @ rows,
            rows,
        )

    def _look(self, a: Array) -> tuple[Array, float]:
        """Mean and variance at the point (time, a), which is remembered for `_learn`.

        The variance is as rounding, or what is no kernel, has left it: perhaps below 0.
        """
        point = np.append(self.time, a)[None, :]
        mean, covariance, row = self._posterior(point)
        self._point, self._row = point, row
        return mean[0], float(covariance[0, 0])

    def _add(self, point: Array, row: Array, amount: Array) -> None:
        """Add amount (outputs,) times the posterior covariance with a point; `row` is its L⁻¹k."""
        self._beta[self._seen] -= self._solve(row, transposed=True) * amount
        self._knots, self._beta = np.vstack([self._knots, point]), np.vstack([self._beta, amount])

    def _learn(self, S: float, innovation: Array) -> None:
        """Learn from an observation of total variance S at the point last looked at."""
        self._add(self._point, self._row, innovation / S)
        n = self._seen.size
        grown = np.zeros((n + 1, n + 1))
        grown[:n, :n], grown[n, :n], grown[n, n] = self._factor, self._row[:, 0], np.sqrt(S)
        self._factor, self._seen = grown, np.append(self._seen, len(self._knots) - 1)

    def _solve(self, right: Array, transposed: bool = False) -> Array:
        """L⁻¹right, or L'⁻¹right."""
        if right.size == 0:
            return right
        return np.asarray(
            solve_triangular(
                self._factor, right, lower=True, trans=int(transposed), check_finite=False
            )
        )

    def effective_dimension(self) -> float:
        """Tr K(K + R)⁻¹ = n − R·Tr(K + R)⁻¹ of the observations so far, O(t³)."""
        n = self._seen.size
        return n - self.noise * float((self._solve(np.eye(n)) ** 2).sum())

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            name: np.array(getattr(self, name)) if name != "time" else self.time
            for name in self._saved
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        knots = stored(state, "_knots", None, self._knots.shape[1])
        seen = stored(state, "_seen", None, dtype=np.int64)
        if seen.size and not 0 <= seen.min() <= seen.max() < len(knots):
            raise ValueError(
                f"state '_seen' must count knots, {len(knots)} of them: got {seen}; save the"
                " learner again"
            )
        self._knots, self._beta = knots, stored(state, "_beta", len(knots), self._beta.shape[1])
        self._seen, self._factor = seen, stored(state, "_factor", seen.size, seen.size)
        self._point = stored(state, "_point", 1, knots.shape[1])
        self._row = stored(state, "_row", None, 1)
        # that of the last look, which may be before the last observation
        if seen.size - len(self._row) not in (0, 1):
            raise ValueError(
                f"state '_row' must have {seen.size} entries, or one less: got {len(self._row)};"
                " save it again"
            )
        self.time = float(state["time"])


class DenseBelief(PointBelief):
    """Functions of time that share one covariance, as `SharedBelief`: every point is (τ, 1)."""

    _saved = (*PointBelief._saved, "mean", "variance")

    def __init__(self, kernel: Kernel, outputs: int, noise: float) -> None:
        super().__init__(Product(kernel), 1, outputs, noise)
        self.kernel, self.variance = kernel, 0.0
        self.mean: Array = zeros(outputs)

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self.mean, self.variance = stored(state, "mean", self.mean.size), float(state["variance"])

    def advance(self, time: float) -> None:
        """Move to a later time: mean and variance there."""
        before = self.time, self._point, self._row
        self.time = time
        try:
            mean, variance = self._look(np.ones(1))
            explained = float(self._row[:, 0] @ self._row[:, 0])
            if not variance >= -1e-6 * (variance + explained):  # NaN is not, either
                raise ValueError(
                    f"kernel must be positive definite: got a variance of {variance} at t = {time};"
                    " check the kernel, or raise the ridge where it is below 1e-12 of k(t, t)"
                )
        except Exception:  # a kernel of one's own may fail by itself
            self.time, self._point, self._row = before
            raise
        self.mean, self.variance = mean, max(variance, 0.0)

    def prior_variance(self) -> float:
        """k(t, t) at the present time."""
        return float(self.kernel.diagonal(self.time))

    def shift(self, amount: Array) -> None:
        """Add amount times the posterior covariance with f(time)."""
        self._add(self._point, self._row, amount)

    def observe(self, S: float, innovation: Array) -> None:
        """Learn from an observation of total variance S = variance + noise."""
        self._learn(S, innovation)


def shared_belief(kernel: Kernel, outputs: int, noise: float) -> SharedBelief | DenseBelief:
    """Streaming where the kernel has a state space, dense otherwise."""
    return (
        SharedBelief(kernel, outputs, noise)
        if kernel.state_space() is not None
        else DenseBelief(kernel, outputs, noise)
    )
