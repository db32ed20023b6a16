"""Directional: full-matrix parameter-free FTRL in an RKHS as a Kalman filter (Proposition full-matrix-bound).

Formula F7 with erratum E14: Σ_t = (λ + G0²)I + Σ_{s<t}G_s⊗G_s, V_t = 4 + Σ‖G_s‖²_{s,*}, N = ‖ΣG_s‖_{t,*},
w_t = −(x(N)/N)(Σ_t⁻¹ΣG_s)φ(t) with Algorithm 2's magnitude x.
"""

import math
from typing import Any

import numpy as np

from stillpoint._validate import Array, nonnegative, positive
from stillpoint.filters.belief import Belief
from stillpoint.kernels import Kernel
from stillpoint.learners.base import GradientLearner
from stillpoint.memory import make_memory
from stillpoint.potentials import CAP, ParameterFree
from stillpoint.regret.ledger import Ledger


class Directional(GradientLearner):
    """Regret that adapts to directions: Õ(√(d_eff((λ + G0²)‖U‖² + Σ⟨g_t, u_t⟩²))), small if u ⟂ g.

    dim: d. lipschitz: G ≥ ‖g_t‖. kernel: a Markov kernel on time. ridge: λ. scale: ε, the size of play before anything is known.
    kernel_bound: max k(t,t), so that G0 = G√kernel_bound; stationary kernels know theirs, growing ones must be told it.
    """

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float,
        kernel: Kernel,
        ridge: float = 1.0,
        scale: float = 1.0,
        kernel_bound: float | None = None,
    ) -> None:
        super().__init__(dim)
        if not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernel: got {kernel!r}; use one of sp.kernels")
        self.kernel, self.lipschitz = kernel, positive("lipschitz", lipschitz, "give the largest gradient norm")
        self.ridge, self.scale = positive("ridge", ridge, "give a number above 0, such as 1"), positive("scale", scale)
        self._told_bound = kernel_bound
        self.kernel_bound = kernel.bound if kernel_bound is None else positive("kernel_bound", kernel_bound)
        if not math.isfinite(self.kernel_bound):
            raise ValueError(f"kernel_bound must be given for a growing kernel: got None for {kernel!r}; pass max k(t, t)")
        top = self.lipschitz * math.sqrt(self.kernel_bound)
        self._noise = self.ridge + top * top
        self._potential = ParameterFree(self.scale * top)  # in the weighted geometry gradients have norm at most 1 (E14)
        self._belief = Belief(kernel, self.dim, 1)
        self.ledger: Ledger = Ledger(make_memory(kernel, self.dim), shared=False)
        self.variance, self._square = 4.0, 0.0

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        names = ("dim", "lipschitz", "kernel", "ridge", "scale")
        return {**{name: getattr(self, name) for name in names}, "kernel_bound": self._told_bound}

    def _propose(self, time: float) -> Array:
        belief = self._belief
        if float(belief.kernel.diagonal(time)) > self.kernel_bound * (1.0 + 1e-9):
            raise ValueError(f"kernel_bound must be at least k(t, t): got {self.kernel_bound} at time {time}; raise it")
        belief.advance(time)
        size = math.sqrt(max(self._square, 0.0))
        if size == 0.0:
            return np.zeros(self.dim)
        m = self._potential.magnitude(size, self.variance, 1.0)
        if m >= CAP:
            self._warn_saturated(CAP)
        values = belief.M[:, 0].reshape(self.dim, belief.space.size) @ belief.space.h
        return np.asarray(m / size * values)

    def _check_gradient(self, g: Array, size: float) -> None:
        if size > self.lipschitz * (1.0 + 1e-9):
            raise ValueError(f"g must have norm at most lipschitz = {self.lipschitz}: got norm {size}; raise lipschitz")

    def _learn(self, g: Array, play: Array) -> None:
        belief = self._belief
        H = belief.direction(g)
        gain, variance = belief.gain(H)
        variance += belief.nugget * float(g @ g)
        mu, nu = float(H @ belief.M[:, 0]), variance / self._noise
        self.variance += nu
        self._square += (nu - 2.0 * mu - mu * mu) / (1.0 + nu)  # 1 − (1+μ)²/(1+ν) without the cancellation
        belief.correct(gain, variance + self._noise, np.array([-1.0 - mu]))

    def bound(self, norm: float, alignment: float) -> float:
        """4εG0 + 6‖U‖_Σ max(√(V l), l), ‖U‖_Σ² = (λ + G0²)norm² + alignment, alignment = Σ⟨g_t, u_t⟩² (E14)."""
        weighted = math.sqrt(self._noise * nonnegative("norm", norm) ** 2 + nonnegative("alignment", alignment))
        return self._potential.bound(weighted, self.variance, 1.0)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        belief = {f"belief.{key}": value for key, value in self._belief.arrays().items()}
        return {**super().arrays(), "variance": self.variance, "square": self._square, **belief}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self.variance, self._square = float(state["variance"]), float(state["square"])
        self._belief.restore({key[7:]: value for key, value in state.items() if key.startswith("belief.")})
