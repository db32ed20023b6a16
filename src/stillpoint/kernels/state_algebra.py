"""State spaces of sums, products and multiples of kernels."""

import numpy as np
from scipy.linalg import block_diag

from stillpoint.core.allocation import claim
from stillpoint.core.validation import Array
from stillpoint.kernels.state_space import StateSpace


class Summed(StateSpace):
    """The state of k1 + k2: both states side by side."""

    def __init__(self, parts: tuple[StateSpace, ...]) -> None:
        self.parts = parts
        self.h = np.concatenate([part.h for part in parts])
        self.diagonal = all(part.diagonal for part in parts)
        self.stationary = all(part.stationary for part in parts)
        self.homogeneous = all(part.homogeneous for part in parts)
        self.still = all(part.still for part in parts)
        self.min_gap = max(part.min_gap for part in parts)

    def transition(self, gap: float) -> Array:
        if self.diagonal:
            return np.concatenate([part.transition(gap) for part in self.parts], axis=1)
        return np.asarray(block_diag(*[part.matrix(gap) for part in self.parts]))

    def noise(self, gap: float, start: float) -> Array:
        return np.asarray(block_diag(*[part.noise(gap, start) for part in self.parts]))

    def covariance(self, time: float) -> Array:
        return np.asarray(block_diag(*[part.covariance(time) for part in self.parts]))

    def gain(self, time: float) -> Array:
        return np.concatenate([part.gain(time) for part in self.parts])

    def nugget(self, time: float) -> float:
        return sum(part.nugget(time) for part in self.parts)


def _kron(a: Array, b: Array) -> Array:
    claim((a.size, b.size))  # products of products: a short text may stand for any number of states
    return np.asarray(np.kron(a, b), dtype=np.float64)


class Multiplied(StateSpace):
    """The state of k1·k2: Kronecker products.

    Q = Q1⊗A2 + A1⊗Q2 + Q1⊗Q2 with A = F P F', which has no cancellation.
    """

    def __init__(self, left: StateSpace, right: StateSpace) -> None:
        self.left, self.right = left, right
        self.h = _kron(left.h, right.h)
        self.diagonal = left.diagonal and right.diagonal
        self.stationary = left.stationary and right.stationary
        self.still = left.still and right.still
        # Q is A1⊗Q2 where the left is still, whose A never changes
        self.homogeneous = (
            self.stationary
            or (left.still and right.homogeneous)
            or (right.still and left.homogeneous)
        )
        self.min_gap = max(left.min_gap, right.min_gap)

    def transition(self, gap: float) -> Array:
        if self.diagonal:
            return _kron(self.left.transition(gap), self.right.transition(gap))
        return _kron(self.left.matrix(gap), self.right.matrix(gap))

    def noise(self, gap: float, start: float) -> Array:
        (a1, q1), (a2, q2) = self._split(self.left, gap, start), self._split(self.right, gap, start)
        return _kron(q1, a2) + _kron(a1, q2) + _kron(q1, q2)

    @staticmethod
    def _split(part: StateSpace, gap: float, start: float) -> tuple[Array, Array]:
        f = part.matrix(gap)
        return f @ part.covariance(start) @ f.T, part.noise(gap, start)

    def covariance(self, time: float) -> Array:
        return _kron(self.left.covariance(time), self.right.covariance(time))

    def gain(self, time: float) -> Array:
        return _kron(self.left.gain(time), self.right.gain(time))

    def nugget(self, time: float) -> float:
        left, right = self.left, self.right
        smooth_left, smooth_right = (float(part.h @ part.gain(time)) for part in (left, right))
        return left.nugget(time) * (smooth_right + right.nugget(time)) + smooth_left * right.nugget(
            time
        )


class Weighted(StateSpace):
    """The state of c·k: every covariance times c."""

    def __init__(self, base: StateSpace, weight: float) -> None:
        self.base, self.weight = base, weight
        self.h, self.diagonal = base.h, base.diagonal
        self.stationary = base.stationary
        self.homogeneous = base.homogeneous
        self.still = base.still
        self.min_gap = base.min_gap

    def transition(self, gap: float) -> Array:
        return self.base.transition(gap)

    def noise(self, gap: float, start: float) -> Array:
        return self.weight * self.base.noise(gap, start)

    def covariance(self, time: float) -> Array:
        return self.weight * self.base.covariance(time)

    def gain(self, time: float) -> Array:
        return self.weight * self.base.gain(time)

    def nugget(self, time: float) -> float:
        return self.weight * self.base.nugget(time)
