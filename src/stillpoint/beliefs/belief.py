"""Gaussian beliefs about functions of time: exact for Markov kernels, at a cost flat in t.

The same object serves every learner of curved losses: VAW and strongly convex losses observe the
value h'x of one state shared by all outputs; exp-concave, directional and contextual ones observe a
direction a⊗h of dim states.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.beliefs import _kalman
from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, stored
from stillpoint.kernels import Kernel
from stillpoint.kernels.state_space import Exponentials, StateSpace
from stillpoint.kernels.sum_coordinates import SumCoordinates, merged

TINY = 1e-6  # noise below this part of k(t, t) needs sum coordinates, or digits go


class Belief:
    """A kernel's state at the present time: mean M (blocks·P, outputs) and covariance C.

    Parameters
    ----------
    kernel : Kernel
        One with a state space, of P components.
    blocks : int
        How many copies of it there are, with one covariance (blocks·P, blocks·P).
    outputs : int
        How many functions share that covariance.
    """

    def __init__(self, kernel: Kernel, blocks: int, outputs: int) -> None:
        space = kernel.state_space()
        if space is None:
            raise ValueError(
                f"kernel must have a state space: got {kernel!r}; use OU, OUMixture, Spline or"
                " Matérn kernels"
            )
        self.kernel, self.blocks = kernel.markov(), blocks
        self.space: StateSpace = self._coordinates(merged(space))
        size = blocks * self.space.size
        self.M: Array = zeros((size, outputs))
        self.C: Array = zeros((size, size))
        self.time = -np.inf
        self.nugget = 0.0
        self.scratch, self._none = np.empty((size, size)), zeros((size, 0))
        self.spread: Array | None = None  # covariance of the filter's error on noise-free targets
        self.dimension = 0.0
        self._level = float(self.kernel.diagonal(0.0)) if space.stationary else np.nan
        self._gap, self._moves = np.nan, (np.empty((0, 0)), np.empty((0, 0)))

    def _coordinates(self, space: StateSpace) -> StateSpace:
        return space

    def prior_variance(self) -> float:
        """k(t, t) at the present time."""
        if self.space.stationary:
            return self._level
        h = self.space.h
        return float(h @ self.space.covariance(self.time) @ h) + self.nugget

    def advance(self, time: float) -> None:
        """Move to a later time: predict."""
        if math.isfinite(self.time):
            gap = time - self.time
            if gap != self._gap or not self.space.homogeneous:
                self.space.check_gap(gap)
                self._gap, self._moves = (
                    gap,
                    (self.space.transition(gap), self.space.noise(gap, self.time)),
                )
            _kalman.propagate(self.C, self.M, *self._moves, self.scratch)
            if self.spread is not None:
                _kalman.propagate(self.spread, self._none, *self._moves, self.scratch)
        else:
            self.C[:] = np.kron(np.eye(self.blocks), self.space.covariance(time))
            if self.spread is not None:
                self.spread[:] = self.C
        self.arrived(time, self.space.nugget(time))

    @property
    def state(self) -> _kalman.State:
        """What compiled rounds work on, where the effective dimension is tracked."""
        assert self.spread is not None
        return _kalman.State(self.C, self.M, self.spread)

    def arrived(self, time: float, nugget: float) -> None:
        """Note the present time and the nugget there, after a move or rounds of compiled code."""
        self.time, self.nugget = time, nugget

    def moves(self, times: Array) -> _kalman.Moves:
        """What compiled rounds at `times` need."""
        gaps, starts, which = self._kinds(times)
        return _kalman.Moves(*self.space.moves(gaps, starts), which, self.space.nuggets(times))

    def diagonal_moves(self, times: Array) -> _kalman.Moves:
        """`moves` where F is diagonal: only the diagonals, for all blocks."""
        gaps, starts, which = self._kinds(times)
        falls, kicks = (
            np.tile(own, self.blocks) for own in self.space.diagonal_moves(gaps, starts)
        )
        return _kalman.Moves(falls, kicks, which, self.space.nuggets(times))

    def _kinds(self, times: Array) -> tuple[Array, Array, NDArray[np.int64]]:
        """The gaps before rounds at `times`: each kind once, where one starts, and which precedes.

        At the first round of all there is nothing to move: the belief is set to the prior there,
        and which is −1.
        """
        fresh = int(not math.isfinite(self.time))
        if fresh:
            self.advance(float(times[0]))
        # itself before the first of all: a gap of 0 that nobody looks up
        before = np.append(self.time, times[:-1])
        gaps = times - before
        if gaps[fresh:].size:
            self.space.check_gap(float(gaps[fresh:].min()))
        # noise depends on where the gap starts, so each round has its own
        if not self.space.homogeneous:
            first = np.arange(times.size)
            which = first.copy()
        elif (gaps[fresh:] == gaps[-1]).all():  # the common case, without a sort
            first, which = np.array([times.size - 1]), np.zeros(times.size, dtype=np.int64)
        else:
            _, first, which = np.unique(gaps, return_index=True, return_inverse=True)
        if fresh:
            which[0] = -1
        return gaps[first], before[first], which

    def direction(self, a: Array) -> Array:
        """a⊗h: the state's coordinates of the functional ⟨a, f(t)⟩."""
        return np.multiply.outer(a, self.space.h).ravel()  # np.kron, which takes ten times as long

    def gain(self, H: Array) -> tuple[Array, float]:
        """(C H, H'C H): what observing H moves, and the variance it shows, less the nugget."""
        g = np.empty(H.size)
        return g, float(_kalman.gain(self.C, H, g))

    def correct(self, g: Array, S: float, innovation: Array) -> None:
        """Learn from an observation with gain g, total variance S and this innovation."""
        _kalman.correct(self.C, self.M, g, S, innovation)

    def track_dimension(self) -> None:
        """Keep what the effective dimension needs, one more covariance, from the first round on."""
        self.spread = zeros(self.C.shape)

    def dimension_step(self, H: Array, g: Array, S: float, nugget: float) -> float:
        """This round's addition to the effective dimension of the observations."""
        assert self.spread is not None
        return float(_kalman.spread(self.spread, g, S, H, nugget, np.empty(H.size)))

    def effective_dimension(self) -> float:
        """Tr K(K + R)⁻¹ of the observations so far, exactly, where tracked."""
        return self.dimension

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        spread = {} if self.spread is None else {"spread": self.spread.copy()}
        return {
            "state": self.M.copy(),
            "covariance": self.C.copy(),
            "time": self.time,
            "nugget": self.nugget,
            **spread,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.M[:] = stored(state, "state", *self.M.shape)
        self.C[:] = stored(state, "covariance", *self.C.shape)
        self.arrived(float(state["time"]), float(state["nugget"]))
        if self.spread is not None:
            self.spread[:] = stored(state, "spread", *self.C.shape)


class SharedBelief(Belief):
    """Functions of time that share one covariance: mean (outputs,) and variance of their values.

    noise : float
        Variance of what is added to a value that is observed.
    """

    def __init__(self, kernel: Kernel, outputs: int, noise: float) -> None:
        self.noise = noise
        super().__init__(kernel, 1, outputs)
        self.value_first = (
            np.array_equal(self.space.h, np.eye(1, self.space.size)[0]) and self.space.size > 0
        )
        self.mean: Array = zeros(outputs)
        self.variance = 0.0
        self.gain_now: Array = zeros(self.space.size)
        self.track_dimension()

    def _coordinates(self, space: StateSpace) -> StateSpace:
        if (
            isinstance(space, Exponentials)
            and space.size > 1
            and self.noise < TINY * space.weights.sum()
        ):
            return SumCoordinates(space)
        return space

    def advance(self, time: float) -> None:
        """Move to a later time: mean and variance there."""
        super().advance(time)
        self.gain_now, variance = self.gain(self.space.h)
        self.variance, self.mean = variance + self.nugget, self.M.T @ self.space.h

    def shift(self, amount: Array) -> None:
        """Add amount times the posterior covariance with f(time)."""
        self.M += np.outer(self.gain_now, amount)

    def observe(self, S: float, innovation: Array) -> None:
        """Learn from an observation of total variance S = variance + noise."""
        if not self.value_first:
            self.dimension += self.dimension_step(self.space.h, self.gain_now, S, self.nugget)
            self.correct(self.gain_now, S, innovation)
            return
        assert self.spread is not None
        g, noise = self.gain_now, self.noise + self.nugget
        self.dimension += _kalman.spread_value(
            self.spread, g, S, self.space.h, self.nugget, np.empty(g.size), noise
        )
        _kalman.correct_value(self.C, self.M, g, S, innovation, noise)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        own = {
            "mean": self.mean,
            "variance": self.variance,
            "dimension": self.dimension,
            "gain": self.gain_now,
        }
        return {**super().arrays(), **own}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self.mean = stored(state, "mean", self.mean.size)
        self.gain_now = stored(state, "gain", self.gain_now.size)
        self.variance, self.dimension = float(state["variance"]), float(state["dimension"])
