"""Increasing norms for parameter-free FTRL (Theorem static-full-matrix, erratum E14).

The theorem plays W_t = argmin ⟨Σ_{s<t}G_s, W⟩ + Ψ_t(‖W‖_t) in any sequence of norms ‖W‖_t² = ⟨W,
Σ_tW⟩ that does not fall. With θ_t = −Σ_{s<t}G_s that is W_t = (x(N)/N)Σ_t⁻¹θ_t, N = ‖θ_t‖_{t,*}, so
three things are asked of a norm: (Σ_t⁻¹θ_t)φ(t), N², and ‖G_t‖²_{t,*}. Here Σ_t ≥ floor·I with
floor = λ + G0², so that ‖G_t‖_{t,*} ≤ 1 (E14), whatever the scale of gradients and kernel. Where G0
is not known, Σ_t grows by gradients in units of the hint H_s ≥ ‖G_s‖ of their round, floor = λ + 1:
‖G_t‖_{t,*} ≤ H_t.
"""

from typing import Any, Protocol

import numpy as np

from stillpoint.beliefs.directions import directions
from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, stored, under
from stillpoint.kernels import Kernel
from stillpoint.memory import Memory, make_memory


class Norms(Protocol):
    """What `Directional` needs of ‖W‖_t² = ⟨W, Σ_tW⟩.

    Σ_t must not fall, and never be below floor·I.
    """

    @property
    def memory(self) -> Memory | None:
        """The memory of ΣG_s, where the norms keep one: the certificate then shares it."""

    def advance(self, time: float) -> None:
        """Move to a later time t."""

    def values(self) -> Array:
        """(Σ_t⁻¹θ_t)φ(t), shape (dim,), θ_t = −Σ_{s<t}G_s."""

    def square(self) -> float:
        """‖θ_t‖²_{t,*} = ⟨θ_t, Σ_t⁻¹θ_t⟩."""

    def add(self, g: Array, unit: float = 1.0) -> float:
        """Take in G_t = g⊗φ(t), which may move Σ on by G_t/unit.

        Parameters
        ----------
        g : array of shape (dim,)
            The gradient.
        unit : float
            The hint H_t, given with lipschitz=None only.

        Returns
        -------
        float
            ‖G_t/unit‖²_{t,*}, of the norm before.
        """

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""


class FullMatrix:
    """Σ_t = floor·I + Σ_{s<t}G_s⊗G_s/unit_s² on the RKHS.

    A Kalman filter with noise `floor` that observes the path along each gradient: O((dim·P)²) a
    round, or dense.

    Parameters
    ----------
    track : bool
        Keep the effective dimension of the gradients, for one more covariance.

    Attributes
    ----------
    trace : float
        Σ‖G_s/unit_s‖², of the gradients' Gram matrix.
    """

    memory = None

    def __init__(self, kernel: Kernel, dim: int, floor: float, track: bool = False) -> None:
        self.floor = floor
        self._belief = directions(kernel, dim, floor, track=track)
        self._square, self.trace = 0.0, 0.0

    def advance(self, time: float) -> None:
        """Predict."""
        self._belief.advance(time)

    def values(self) -> Array:
        """The posterior mean: targets are −unit."""
        return self._belief.values()

    def square(self) -> float:
        """Summed by `add`."""
        return max(self._square, 0.0)

    def add(self, g: Array, unit: float = 1.0) -> float:
        """Observe −unit along g/unit."""
        self.trace += self._belief.prior(g / unit)
        mu, variance = self._belief.look(g / unit)
        nu = variance / self.floor
        # unit² − (unit+μ)²/(1+ν), no cancellation
        self._square += (unit * unit * nu - 2.0 * unit * mu - mu * mu) / (1.0 + nu)
        self._belief.observe(variance + self.floor, -unit - mu)
        return nu

    def effective_dimension(self) -> float:
        """Tr K(K + floor·I)⁻¹, K the Gram matrix of the gradients, where tracked or dense."""
        return self._belief.effective_dimension()

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            "square": self._square,
            "trace": self.trace,
            **{f"belief.{key}": value for key, value in self._belief.arrays().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self._square, self.trace = float(state["square"]), float(state["trace"])
        self._belief.restore(under(state, "belief."))


class Diagonal:
    """Σ_t = diag_i(floor + Σ_{s<t}k(s,s)g_{s,i}²/unit_s²)⊗I: each coordinate at its own scale.

    O(dim·P) a round, for any kernel.

    Attributes
    ----------
    weights : array of shape (dim,)
        floor + Σ_{s<t}k(s,s)g_{s,i}²/unit_s², so that ‖U‖_t² = Σ_i weights_i‖u_i‖², u_i the
        coordinates of the comparator.
    """

    def __init__(self, kernel: Kernel, dim: int, floor: float) -> None:
        self.memory = make_memory(kernel, dim)
        self.weights: Array = full(dim, floor)
        self._squares: Array = zeros(dim)  # ‖θ_i‖² of each coordinate

    def advance(self, time: float) -> None:
        """Move the memory."""
        self.memory.advance(time)

    def values(self) -> Array:
        """θ(t) by coordinate, weighed."""
        return -self.memory.pull / self.weights

    def square(self) -> float:
        """Σ_i‖θ_i‖²/weights_i."""
        pull, diagonal = self.memory.pull, self.memory.diagonal
        # ‖θ_i‖ ≥ |θ_i(t)|/√k(t,t) in every RKHS: a correction here only undoes rounding
        least = pull * pull / diagonal if diagonal > 0.0 else np.zeros_like(pull)
        return float((np.maximum(self._squares, least) / self.weights).sum())

    def add(self, g: Array, unit: float = 1.0) -> float:
        """Each ‖θ_i‖² grows as ‖θ‖² does in the memory (Lemma hs-sum-norm)."""
        rise, own = 2.0 * g * self.memory.pull, self.memory.diagonal * g * g
        self.memory.add(g)  # first: it may refuse
        step = own / unit / unit
        dual = float((step / self.weights).sum())
        self._squares += rise + own
        self.weights += step
        return dual

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        memory = {f"memory.{key}": value for key, value in self.memory.arrays().items()}
        return {"weights": self.weights.copy(), "squares": self._squares.copy(), **memory}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.weights, self._squares = (
            stored(state, name, self.weights.size) for name in ("weights", "squares")
        )
        self.memory.restore(under(state, "memory."))
