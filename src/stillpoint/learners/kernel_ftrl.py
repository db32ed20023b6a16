"""KernelFTRL: the paper's reduction (Algorithm 1) with a potential (Algorithm 2 is `ParameterFree`; errata E1–E3, E15).

w_t = −(m(S_t, V_t)/S_t)·Σ_{s<t} k(s,t) g_s, S_t = ‖Σ_{s<t} g_s ⊗ φ(s)‖, V_t = offset·h² + Σ_{s<t}‖g_s‖²k(s,s).
"""

import math
import warnings
from typing import Any

import numpy as np

from stillpoint import _hot as arithmetic
from stillpoint._validate import Array, finite, nonnegative, positive
from stillpoint.domains import Domain, Everywhere
from stillpoint.domains import _hot as domain_hot
from stillpoint.kernels import HorizonFree, Kernel
from stillpoint.learners import _hot, bulk
from stillpoint.learners.base import GradientLearner
from stillpoint.learners.static import StaticLearner, Sums
from stillpoint.losses import LossStream
from stillpoint.memory import make_memory
from stillpoint.potentials import CAP, ParameterFree, Potential
from stillpoint.regret.ledger import Ledger


class KernelFTRL(GradientLearner):
    """Static learning in the RKHS of `kernel`, hence dynamic regret against every u_t = u(τ_t), at O(1) in t for Markov kernels.

    dim: d, the dimension of plays.
    lipschitz: the bound G on ‖g_t‖ in Proposition kernelized-pf; None learns it on the way (scale-free, formula F3): past
        gradients bound the next one, which is clipped, and plays stay in `domain`, or in a ball that grows by itself.
    kernel: which targets are cheap; HorizonFree() is the paper's. In practice try OUMixture, or `Tracker`.
    potential: how far to go, or any `StaticLearner`. ParameterFree() is Algorithm 2; Erfi() moves sooner.
    kernel_bound: max k(t,t); stationary kernels know theirs. With it and `lipschitz` the hint is fixed (F1), else running (F2).
    domain: where plays may lie (default: everywhere); by the gradient-modifying projection (MATH section 4).
    memory: "dense", "streaming", or "auto" to choose by kernel.
    radius_scale: ε_D of the artificial ball (erratum E15); used only with lipschitz=None and an unbounded domain.

    >>> import stillpoint as sp
    >>> learner = sp.KernelFTRL(dim=1, lipschitz=1.0, kernel=sp.kernels.OU(rate=0.1), potential=sp.potentials.Erfi())
    >>> for y in (1.0, 1.1, 0.9, 1.0, 1.2, 1.1, 0.9, 1.0):
    ...     w = learner.predict()
    ...     learner.update(np.sign(w - y))
    >>> learner.predict().round(3), round(learner.certificate(radius=1.0), 3)
    (array([0.508]), 5.502)
    """

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float | None = None,
        kernel: Kernel | None = None,
        potential: Potential | StaticLearner | None = None,
        kernel_bound: float | None = None,
        domain: Domain | None = None,
        memory: str = "auto",
        radius_scale: float = 1.0,
    ) -> None:
        super().__init__(dim)
        self.kernel = HorizonFree() if kernel is None else kernel
        self.potential = ParameterFree() if potential is None else potential
        self.domain = Everywhere() if domain is None else domain
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel: got {kernel!r}; use one of sp.kernels")
        if not isinstance(self.potential, Potential | StaticLearner):
            raise ValueError(f"potential must be a potential or a static learner: got {potential!r}; use sp.potentials")
        if not isinstance(self.domain, Domain):
            raise ValueError(f"domain must be a domain: got {domain!r}; use one of sp.domains")
        self.domain.check(self.dim)
        self.lipschitz = (
            None if lipschitz is None else positive("lipschitz", lipschitz, "give the largest gradient norm, or None")
        )
        self.kernel_bound = self.kernel.bound if kernel_bound is None else positive("kernel_bound", kernel_bound)
        self.radius_scale = positive("radius_scale", radius_scale)
        self._config = {
            "dim": self.dim, "lipschitz": self.lipschitz, "kernel": self.kernel, "potential": self.potential,
            "kernel_bound": kernel_bound, "domain": self.domain, "memory": memory, "radius_scale": self.radius_scale,
        }  # fmt: skip

        self._scale_free = self.lipschitz is None
        self._fixed = not self._scale_free and math.isfinite(self.kernel_bound)
        self._growing = self._fixed and math.isinf(self.kernel.bound)
        self._reach = self.domain.reach(self.dim)
        self._ball_on = self._scale_free and math.isinf(self._reach)
        self._compiled_domain = self.domain.hot(self.dim)
        self._free = isinstance(self.domain, Everywhere) and not self._ball_on
        self._stats = np.zeros(_hot.SIZE)
        if self.lipschitz is not None:
            self._stats[_hot.TOP] = self.lipschitz
            if self._fixed:
                self._stats[_hot.HINT] = self.lipschitz * math.sqrt(self.kernel_bound)
        self.memory = make_memory(self.kernel, self.dim, memory)
        as_given = self._free and not self._scale_free and isinstance(self.potential, Potential)
        self.ledger: Ledger = Ledger(self.memory if as_given else make_memory(self.kernel, self.dim, memory), shared=as_given)
        self._proposal, self._inner = np.zeros(self.dim), np.zeros(self.dim)
        self._ball = np.zeros(1 + self.dim)
        self._warned = False

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return dict(self._config)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        memory = {f"memory.{key}": value for key, value in self.memory.arrays().items()}
        own = {"stats": self._stats, "proposal": self._proposal, "inner": self._inner, "warned": self._warned}
        return {**super().arrays(), **own, **memory}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._stats[:], self._proposal[:], self._inner[:] = state["stats"], state["proposal"], state["inner"]
        self._warned = bool(state["warned"])
        self.memory.restore({key[7:]: value for key, value in state.items() if key.startswith("memory.")})

    @property
    def hint(self) -> float:
        """H_t: no gradient fed so far has ‖G‖ = ‖g‖√k(t,t) above it."""
        return float(self._stats[_hot.HINT])

    @property
    def variance(self) -> float:
        """V_t = offset·h² + Σ_{s<t}‖G_s‖² of the fed gradients."""
        offset = self.potential.offset if isinstance(self.potential, Potential) else 0.0
        return offset * self.hint**2 + float(self._stats[_hot.VARIANCE])

    @property
    def radius(self) -> float:
        """Radius of the ball that plays lie in now: the domain's, or the artificial one that grows (E15)."""
        return float(_hot.artificial_radius(self._stats, self.radius_scale)) if self._ball_on else self._reach

    @property
    def _count(self) -> float:
        return 0.0 if self._fixed else 4.0 + float(self._stats[_hot.COUNT])

    def _propose(self, time: float) -> Array:
        self._check_diagonal(np.array([time]))
        self.memory.advance(time)
        memory, z, w = self.memory, self._proposal, np.empty(self.dim)
        if isinstance(self.potential, Potential) and self.potential.code is not None:
            saturated = _hot.propose(
                self._stats, self._fixed, memory.squared_norm, memory.pull, memory.diagonal,
                self.potential.code, self.potential.parameters, self.potential.offset, z,
            )  # fmt: skip
        else:
            saturated = self._propose_in_python(z)
        if saturated and self._free:
            self._warn()
        if self._ball_on:
            self._ball[0] = self.radius
        if self._compiled_domain is not None:
            _hot.constrain(z, self._inner, w, self._ball, self._ball_on, *self._compiled_domain)
        else:
            _hot.constrain(z, self._inner, w, self._ball, self._ball_on, domain_hot.EVERYWHERE, np.zeros(0))
            w = self.domain.project(self._inner)
        return w

    def _propose_in_python(self, z: Array) -> bool:
        _hot.raise_hint(self._stats, self._fixed, self.memory.diagonal)
        sums = self._sums()
        if not isinstance(self.potential, Potential):
            z[:] = finite("the static learner's play", self.potential.play(sums), "check its play method")
            return False
        m = 0.0
        if sums.size > 0.0:
            m = self.potential.magnitude(sums.size, self.variance, sums.hint, sums.count)
            if not math.isfinite(m):
                raise ValueError(f"potential gave a magnitude that is not finite: got {m}; saturate it at sp.potentials.CAP")
        z[:] = -(m / sums.size) * sums.pull if m != 0.0 else 0.0
        return m >= CAP

    def _sums(self) -> Sums:
        memory = self.memory
        size = float(_hot.true_size(memory.squared_norm, memory.pull, memory.diagonal))
        variance = float(self._stats[_hot.VARIANCE])
        return Sums(memory.pull, size, variance, self.hint, self._count, memory.diagonal)

    def _check_diagonal(self, times: Array) -> None:
        if self._growing:
            top = float(self.kernel.diagonal(times).max())
            if top > self.kernel_bound * (1.0 + 1e-9):
                raise ValueError(f"kernel_bound must be at least k(t, t): got {self.kernel_bound} but k = {top}; raise it")

    @property
    def _limit(self) -> float:
        return math.inf if self.lipschitz is None else self.lipschitz * (1.0 + 1e-9)

    def _check_gradient(self, g: Array) -> None:
        size = float(arithmetic.norm(g))
        if size > self._limit:
            raise ValueError(
                f"g must have norm at most lipschitz = {self.lipschitz}: got norm {size}; "
                "raise lipschitz, or leave it out to learn the scale"
            )

    def _learn(self, g: Array, play: Array) -> None:
        fed = g.copy()
        if self._scale_free:
            _hot.clip(g, self._stats[_hot.TOP], fed)
        if not self._free:
            domain_hot.surrogate(fed, self._inner, play, fed)
            domain_hot.surrogate(fed, self._proposal, self._inner, fed)
        if isinstance(self.potential, Potential):
            square = self.memory.add(fed)
        else:
            square = self.memory.diagonal * float(arithmetic.dot(fed, fed))
            self.potential.store(fed, self.memory, self._sums())
        _hot.observe(self._stats, self._fixed, self._scale_free, square, g)

    def bound(self, norm: float, magnitude: float | None = None) -> float:
        """What the theorem promises now against every comparator with ‖U‖ = norm (Propositions kernelized-pf, scale-free-olo).

        magnitude: M = max‖u_t‖, needed with lipschitz=None. On an unbounded domain `norm` is then that of the comparators
        projected on the artificial balls (unconstrained-scale-free, corrected by E15).
        """
        nonnegative("norm", norm)
        if isinstance(self.potential, Potential) and not self._fixed and not self.potential.running_hints:
            raise ValueError(
                f"{type(self.potential).__name__} has no bound with running hints; give lipschitz and kernel_bound, or use Erfi"
            )
        base = self.potential.bound(norm, self.variance, self.hint, self._count)
        if not self._scale_free:
            return base
        top = float(self._stats[_hot.TOP])
        if not self._ball_on:
            size = self._reach if magnitude is None else nonnegative("magnitude", magnitude)
            return base + top * (self._reach + min(size, self._reach))
        if magnitude is None:
            raise ValueError("magnitude must be given for a scale-free bound on an unbounded domain: got None; pass max‖u_t‖")
        if not self.domain.contains(np.zeros(self.dim)):
            raise ValueError(f"domain must contain 0 for a scale-free bound: got {self.domain!r}; bound it, or shift it")
        size = nonnegative("magnitude", magnitude)
        cut_off = top * (size**3 / self.radius_scale**2 + size)
        return base + top * (self.radius + min(self.radius, size)) + cut_off

    def can_compile(self) -> bool:
        """Whether kernel, potential and domain all have a compiled form, and no round is open."""
        return bulk.can_compile(self)

    def play_block(self, losses: LossStream, times: Array, first: int, out: dict[str, Array]) -> int:
        """Play a block of rounds in compiled code; see `GradientLearner.play_block`."""
        return bulk.play_block(self, losses, times, first, out)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the play saturated at {CAP:g}: the gradients never turn; give a bounded domain=, such as "
                "sp.domains.Ball(radius), or check the sign of the gradients",
                RuntimeWarning,
                stacklevel=5,
            )
