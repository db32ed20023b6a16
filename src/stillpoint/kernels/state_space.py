"""Markov kernels as state-space models (Hartikainen & Särkkä 2010).

k(s, t) = h' Cov(x_s, x_t) h + nugget·1[s = t]. x moves by x_t = F(Δ) x_s + noise of covariance
Q(Δ), with prior covariance P(t). Everything that streams (memory, norms, effective dimension) needs
only F, Q, P(t), h and the nugget, so a kernel that offers them runs at a cost flat in t.
"""

import math
from abc import ABC, abstractmethod
from math import factorial

import numpy as np
from scipy.special import gammainc

from stillpoint.core.allocation import claim
from stillpoint.core.validation import Array
from stillpoint.core.warning import warn


class StateSpace(ABC):
    """F(Δ), Q(Δ), P(t), h and the nugget of one kernel.

    Attributes
    ----------
    h : array of shape (P,)
        What reads the kernel's value off the state.
    diagonal : bool
        Whether F is diagonal, and given by its diagonal.
    stationary : bool
        Whether P(t) and the nugget are the same at every time.
    homogeneous : bool
        Whether the noise of a gap does not depend on where it starts.
    still : bool
        Whether it is stationary and no gap has any noise.
    min_gap : float
        Gaps below this are outside the accuracy that the form was built for.

    Notes
    -----
    k(s, t) = h'F(t − s)P(s)h for s < t, and h'P(t)h + nugget(t) for s = t, with P(t) =
    F(Δ)P(s)F(Δ)' + Q(Δ), Δ = t − s. Subclasses define `transition`, `noise` and `covariance`, and
    `nugget` where there is one.
    """

    h: Array
    diagonal: bool = False
    stationary: bool = True
    homogeneous: bool = True
    still: bool = False
    min_gap: float = 0.0

    @property
    def size(self) -> int:
        """Dimension P of the state."""
        return self.h.size

    @abstractmethod
    def transition(self, gap: float) -> Array:
        """F(gap), shape (P, P); shape (1, P), its diagonal, where `diagonal` holds."""

    @abstractmethod
    def noise(self, gap: float, start: float) -> Array:
        """Q = P(start + gap) − F P(start) F', shape (P, P), without cancellation for small gaps."""

    @abstractmethod
    def covariance(self, time: float) -> Array:
        """Prior covariance P(time), shape (P, P)."""

    def check_gap(self, gap: float) -> None:
        """Say so where the form is less accurate over a gap than stated."""
        if gap < self.min_gap * (1.0 - 1e-9):
            # few values, so that Python says each but once
            below = 2.0 ** math.floor(math.log2(gap)) if gap > 0.0 else 0.0
            warn(
                f"time gaps go below the kernel's min_gap {self.min_gap:g}, where its mixture is"
                f" less accurate than stated; build the kernel with min_gap={below:g}"
            )

    def gain(self, time: float) -> Array:
        """P(time) h, shape (P,): what one unit of gradient adds to the state."""
        return np.asarray(self.covariance(time) @ self.h)

    def gains(self, times: Array) -> Array:
        """P(t) h for many times, shape (n, P); (1, P) where it never changes."""
        return (
            self.gain(0.0)[None]
            if self.stationary
            else np.stack([self.gain(float(t)) for t in times])
        )

    def nugget(self, time: float) -> float:
        """Weight of the Dirac part at `time`."""
        return 0.0

    def nuggets(self, times: Array) -> Array:
        """The nugget at many times."""
        if self.stationary or type(self).nugget is StateSpace.nugget:
            return np.full(times.size, self.nugget(0.0))
        return np.array([self.nugget(float(t)) for t in times])

    def matrix(self, gap: float) -> Array:
        """F(gap) as a full (P, P) matrix, whatever form `transition` has."""
        f = self.transition(gap)
        return np.diag(f[0]) if self.diagonal else f

    def moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        """`transition` and `noise` of many gaps, one behind the other along the first axis."""
        pairs = list(zip(gaps.tolist(), starts.tolist(), strict=True))
        return np.stack([self.transition(gap) for gap, _ in pairs]), np.stack(
            [self.noise(gap, start) for gap, start in pairs]
        )

    def diagonal_moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        """Their diagonals, (n, P) each, where F is diagonal: then Q is as well."""
        transitions, noises = self.moves(gaps, starts)
        return transitions[:, 0], np.diagonal(noises, axis1=1, axis2=2)


class Exponentials(StateSpace):
    """Σ_j weights_j e^{−rates_j |s−t|} + nugget·1[s = t]; rate 0 is a constant component."""

    diagonal = True

    def __init__(self, rates: Array, weights: Array, nugget: float = 0.0) -> None:
        self.rates, self.weights, self.dirac = rates, weights, nugget
        self.h = np.ones(rates.size)
        self.still = not rates.any()

    def transition(self, gap: float) -> Array:
        return np.exp(-self.rates * gap)[None, :]

    def noise(self, gap: float, start: float) -> Array:
        # expm1, not 1 − exp: slow components lose every digit otherwise
        return np.diag(-self.weights * np.expm1(-2.0 * self.rates * gap))

    def diagonal_moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        # no (n, P, P) on the way: each of many gaps may be another
        x = np.multiply.outer(gaps, self.rates)
        return np.exp(-x), -self.weights * np.expm1(-2.0 * x)

    def covariance(self, time: float) -> Array:
        return np.diag(self.weights)

    def gain(self, time: float) -> Array:
        return self.weights

    def nugget(self, time: float) -> float:
        return self.dirac


class Brownian(StateSpace):
    """offset + min(s, t): a random walk started with variance `offset`."""

    diagonal = True
    stationary = False

    def __init__(self, offset: float) -> None:
        self.offset = offset
        self.h = np.ones(1)

    def transition(self, gap: float) -> Array:
        return np.ones((1, 1))

    def noise(self, gap: float, start: float) -> Array:
        return np.array([[gap]])

    def moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        return np.ones((gaps.size, 1, 1)), gaps[:, None, None]

    def covariance(self, time: float) -> Array:
        return np.array([[self.offset + time]])

    def gains(self, times: Array) -> Array:
        return self.offset + times[:, None]


class IntegratedBrownianState(StateSpace):
    """The integral of a random walk, with its slope: state (f, f'), and white noise in f''.

    At time 0 the two are independent, of variances `offset` and `slope`.
    """

    stationary = False

    def __init__(self, offset: float, slope: float) -> None:
        self.offset, self.slope = offset, slope
        self.h = np.eye(2)[0]

    def transition(self, gap: float) -> Array:
        return np.array([[1.0, gap], [0.0, 1.0]])

    def noise(self, gap: float, start: float) -> Array:
        return np.asarray(self.moves(np.array([gap]), np.array([start]))[1][0])

    def moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        transitions = np.tile(np.eye(2), (gaps.size, 1, 1))
        transitions[:, 0, 1] = gaps
        across = gaps * gaps / 2.0
        noises = np.stack([gaps * gaps * gaps / 3.0, across, across, gaps], axis=-1)
        return transitions, noises.reshape(-1, 2, 2)

    def covariance(self, time: float) -> Array:
        value, across = self.gain(time)
        return np.array([[value, across], [across, self.slope + time]])

    def gain(self, time: float) -> Array:
        return np.asarray(self.gains(np.array([time]))[0])

    def gains(self, times: Array) -> Array:
        values = self.offset + times * times * (self.slope + times / 3.0)
        return np.stack([values, times * (self.slope + times / 2.0)], axis=-1)


class Rotations(StateSpace):
    """Σ_k weights_k cos(2πk(s − t)/period): one undamped rotation a harmonic, no noise at all."""

    still = True

    def __init__(self, period: float, weights: Array) -> None:
        claim((2 * weights.size, 2 * weights.size))  # a file may ask for any number of harmonics
        self.period, self.weights = period, weights
        self.h = np.tile([1.0, 0.0], weights.size)

    def transition(self, gap: float) -> Array:
        # in turns, so that nothing is lost over many periods: fmod is exact
        orders = np.arange(1.0, self.weights.size + 1.0)
        angles = 2.0 * np.pi * (orders * (math.fmod(gap, self.period) / self.period) % 1.0)
        full, first = np.diag(np.repeat(np.cos(angles), 2)), 2 * np.arange(self.weights.size)
        full[first, first + 1] = -np.sin(angles)
        full[first + 1, first] = np.sin(angles)
        return full

    def noise(self, gap: float, start: float) -> Array:
        return np.zeros((self.size, self.size))

    def covariance(self, time: float) -> Array:
        return np.diag(np.repeat(self.weights, 2))

    def gain(self, time: float) -> Array:
        return self.h * np.repeat(self.weights, 2)


class MaternState(StateSpace):
    """Matérn-(P − ½) for P = 2, 3 with state (f, f'/ν, f''/ν²).

    The state has no unit, so no gap or rate is special. (d/dt + ν)^P f = white noise. With x =
    ν·gap and N = A + I nilpotent, F = e^{−x} Σ_n (xN)^n/n! and Q = q ∫_0^x v(s) v(s)' e^{−2s} ds,
    where v(s) = Σ_n (sN)^n e_P/n! is a polynomial: each entry is a sum of regularised incomplete
    gamma functions, never a difference P − F P F' of nearly equal matrices.
    """

    def __init__(self, rate: float, weight: float, size: int) -> None:
        self.rate, self.weight = rate, weight
        self.h = np.eye(size)[0]
        companion = {2: [[0, 1], [-1, -2]], 3: [[0, 1, 0], [0, 0, 1], [-1, -3, -3]]}[size]
        nilpotent = np.array(companion, dtype=float) + np.eye(size)
        self._powers = [np.linalg.matrix_power(nilpotent, n) / factorial(n) for n in range(size)]
        self._prior = {2: np.eye(2), 3: np.array([[1, 0, -1 / 3], [0, 1 / 3, 0], [-1 / 3, 0, 1]])}[
            size
        ]
        # coefficients of v(s), one row a power of s
        kick = np.array([power[:, -1] for power in self._powers])
        self._orders = np.arange(2.0 * size - 1.0)
        self._moments = np.array([factorial(n) / 2.0 ** (n + 1) for n in range(2 * size - 1)])
        products = [[np.convolve(kick[:, i], kick[:, j]) for j in range(size)] for i in range(size)]
        # of q·v(s)v(s)', by powers of s
        self._kicks = weight * {2: 4.0, 3: 16.0 / 3.0}[size] * np.array(products)

    def transition(self, gap: float) -> Array:
        return np.asarray(self._transitions(np.array([gap]))[0])

    def noise(self, gap: float, start: float) -> Array:
        return np.asarray(self._noises(np.array([gap]))[0])

    def moves(self, gaps: Array, starts: Array) -> tuple[Array, Array]:
        return self._transitions(gaps), self._noises(gaps)

    def _transitions(self, gaps: Array) -> Array:
        # e^{−1000} is 0, and powers of x stay finite
        x = np.minimum(self.rate * gaps, 1e3)[:, None, None]
        return np.asarray(np.exp(-x) * sum(x**n * power for n, power in enumerate(self._powers)))

    def _noises(self, gaps: Array) -> Array:
        integrals = self._moments * gammainc(self._orders + 1.0, 2.0 * self.rate * gaps[:, None])
        return np.asarray((self._kicks * integrals[:, None, None, :]).sum(axis=-1))

    def covariance(self, time: float) -> Array:
        return self.weight * self._prior
