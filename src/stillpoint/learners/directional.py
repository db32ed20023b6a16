"""Directional: parameter-free FTRL in increasing norms (Theorem static-full-matrix), in an RKHS (Proposition full-matrix-bound).

Formula F7 with erratum E14: Σ_t = (λ + G0²)I + Σ_{s<t}G_s⊗G_s, V_t = 4 + Σ‖G_s‖²_{s,*}, N = ‖ΣG_s‖_{t,*},
w_t = −(x(N)/N)(Σ_t⁻¹ΣG_s)φ(t) with Algorithm 2's magnitude x. Other norms: `learners/norms.py`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stillpoint._validate import Array, nonnegative, positive, squared, under
from stillpoint.kernels import Kernel
from stillpoint.kernels.base import as_kernel
from stillpoint.learners.norms import Diagonal, FullMatrix, Norms
from stillpoint.memory import make_memory
from stillpoint.potentials import CAP, ParameterFree
from stillpoint.regret.ledger import Ledger
from stillpoint.rounds import GradientLearner, check_lipschitz

_MOST = 1e100
_NORMS: dict[str, Callable[[Kernel, int, float], Norms]] = {"full": FullMatrix, "diagonal": Diagonal}


class Directional(GradientLearner):
    """Regret that adapts to directions: Õ(√(d_eff((λ + G0²)‖U‖² + Σ⟨g_t, u_t⟩²))), small if u ⟂ g.

    dim: d. lipschitz: G ≥ ‖g_t‖. kernel: which paths are cheap; Constant() is the static theorem on R^d, full-matrix
        parameter-free learning. O((dim·P)²) a round for kernels with a state space, dense and O(t²) for others.
    ridge: λ. scale: ε, the size of play before anything is known.
    kernel_bound: max k(t,t), so that G0 = G√kernel_bound; stationary kernels know theirs, growing ones must be told it.
    norms: "full", the above; "diagonal", one weight a coordinate at O(dim·P) a round, Õ(√(Σ‖G‖²_{t,*} Σ_i weights_i‖u_i‖²));
        or a function of kernel, dim and floor = λ + G0² that builds a `stillpoint.learners.norms.Norms`.
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
        norms: str | Callable[[Kernel, int, float], Norms] = "full",
    ) -> None:
        super().__init__(dim)
        self.kernel = as_kernel("kernel", kernel)
        self.lipschitz = positive("lipschitz", lipschitz, "give the largest gradient norm")
        self.ridge, self.scale = positive("ridge", ridge, "give a number above 0, such as 1"), positive("scale", scale)
        self._told_bound, self._told_norms = kernel_bound, norms
        self.kernel_bound = kernel.bound if kernel_bound is None else positive("kernel_bound", kernel_bound)
        if not math.isfinite(self.kernel_bound):
            raise ValueError(f"kernel_bound must be given for a growing kernel: got None for {kernel!r}; pass max k(t, t)")
        build = _NORMS.get(norms) if isinstance(norms, str) else norms
        if not callable(build):
            raise ValueError(f"norms must be 'full', 'diagonal' or a function that builds some: got {norms!r}; leave it out")
        top = self.lipschitz * math.sqrt(self.kernel_bound)
        if top > _MOST:
            raise ValueError(
                f"lipschitz must be at most {_MOST:g}/√kernel_bound, so that squares are floats: got {lipschitz!r} with "
                f"kernel_bound {self.kernel_bound:g}; rescale the losses or the kernel"
            )
        self._floor = self.ridge + top * top
        self._potential = ParameterFree(self.scale * top)  # in the weighted geometry gradients have norm at most 1 (E14)
        self.norms = build(kernel, self.dim, self._floor)
        own = self.norms.memory
        self.ledger: Ledger = Ledger(make_memory(kernel, self.dim) if own is None else own, shared=own is not None)
        self.variance = 4.0

    @property
    def _picky(self) -> bool:
        return math.isinf(self.kernel.bound) or not self._started

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        names = ("dim", "lipschitz", "kernel", "ridge", "scale")
        return {**{name: getattr(self, name) for name in names}, "kernel_bound": self._told_bound, "norms": self._told_norms}

    def _propose(self, time: float) -> Array:
        if float(self.ledger.memory.kernel.diagonal(time)) > self.kernel_bound * (1.0 + 1e-9):
            raise ValueError(f"kernel_bound must be at least k(t, t): got {self.kernel_bound} at time {time}; raise it")
        self.norms.advance(time)
        size = math.sqrt(self.norms.square())
        if size == 0.0:
            return np.zeros(self.dim)
        m = self._potential.magnitude(size, self.variance, 1.0)
        if m >= CAP:
            self._warn_saturated(CAP)
        return m / size * self.norms.values()

    def _check_gradient(self, g: Array, size: float) -> None:
        check_lipschitz(self.lipschitz, size)

    def _learn(self, g: Array, play: Array) -> None:
        self.variance += self.norms.add(g)

    def bound(self, norm: float, alignment: float) -> float:
        """4εG0 + 6‖U‖_Σ max(√(V l), l), l = log(1 + ‖U‖_Σ/α), ‖U‖_Σ² = (λ + G0²)norm² + alignment (E14).

        alignment: ⟨U, (Σ − (λ + G0²)I)U⟩ of the norm now: Σ⟨g_t, u_t⟩² for "full", Σ_i(weights_i − λ − G0²)‖u_i‖² for "diagonal".
        """
        weighted = math.sqrt(self._floor * squared("norm", norm) + nonnegative("alignment", alignment))
        return self._potential.bound(weighted, self.variance, 1.0)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        norms = {f"norms.{key}": value for key, value in self.norms.arrays().items()}
        return {**super().arrays(), "variance": self.variance, **norms}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self.variance = float(state["variance"])
        self.norms.restore(under(state, "norms."))
