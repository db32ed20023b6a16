"""Mixtures of exponentials for filters: equal rates merged, coordinates for tiny ridges."""

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.kernels.state_algebra import Multiplied, Summed, Weighted
from stillpoint.kernels.state_space import Exponentials, StateSpace


class SumCoordinates(StateSpace):
    """The same kernel with state (f, x_2, …, x_J), f = Σ_j x_j and x_1 the slowest component.

    Where components are nearly collinear and the ridge tiny, the variance of f is far below that of
    each x_j: here it is an entry of the covariance, not what is left when large entries cancel. F =
    [[φ_1, δ'], [0, diag φ]] with φ_j = e^{−a_jΔ} and δ_j = φ_j − φ_1.
    """

    def __init__(self, parts: Exponentials) -> None:
        order = np.argsort(parts.rates)
        self.rates, self.weights, self.dirac = parts.rates[order], parts.weights[order], parts.dirac
        self.h, self.min_gap = np.eye(parts.size)[0], parts.min_gap

    def transition(self, gap: float) -> Array:
        """φ and δ side by side, shape (1, 2J): compiled loops need no more."""
        fall = np.exp(-self.rates * gap)
        return np.concatenate([fall, fall[0] * np.expm1((self.rates[0] - self.rates) * gap)])[
            None, :
        ]

    def noise(self, gap: float, start: float) -> Array:
        return self._summed(-self.weights * np.expm1(-2.0 * self.rates * gap))

    def covariance(self, time: float) -> Array:
        return self._summed(self.weights)

    @staticmethod
    def _summed(variances: Array) -> Array:
        matrix = np.diag(variances)
        matrix[0] = matrix[:, 0] = variances
        matrix[0, 0] = variances.sum()
        return matrix

    def nugget(self, time: float) -> float:
        return self.dirac

    def matrix(self, gap: float) -> Array:
        """F as a full matrix."""
        fall, along = np.split(self.transition(gap)[0], 2)
        full = np.diag(fall)
        full[0, 1:] = along[1:]
        return full


def merged(space: StateSpace) -> StateSpace:
    """The same kernel with one component a rate, where it is a mixture of exponentials."""
    found = _exponentials(space)
    if found is None:
        return space
    rates, places = np.unique(found.rates, return_inverse=True)
    small = Exponentials(rates, np.bincount(places, found.weights).astype(np.float64), found.dirac)
    small.min_gap = space.min_gap
    return small


def _exponentials(space: StateSpace) -> Exponentials | None:
    """Sums, products and multiples of exponentials are exponentials."""
    if isinstance(space, Exponentials):
        return space
    if isinstance(space, Weighted):
        base = _exponentials(space.base)
        return base and Exponentials(
            base.rates, space.weight * base.weights, space.weight * base.dirac
        )
    if isinstance(space, Summed):
        parts = [_exponentials(part) for part in space.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        rates, weights = (
            np.concatenate([getattr(part, name) for part in known]) for name in ("rates", "weights")
        )
        return Exponentials(rates, weights, sum(part.dirac for part in known))
    if isinstance(space, Multiplied):
        left, right = _exponentials(space.left), _exponentials(space.right)
        if left is None or right is None:
            return None
        rates = np.add.outer(left.rates, right.rates).ravel()
        return Exponentials(rates, np.outer(left.weights, right.weights).ravel(), space.nugget(0.0))
    return None
