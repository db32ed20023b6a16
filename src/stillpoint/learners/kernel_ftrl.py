"""KernelFTRL: the paper's reduction (Algorithm 1) with a potential; errata E1–E3, E15.

w_t = −(m(S_t, V_t)/S_t)·Σ_{s<t} k(s,t) g_s with S_t = ‖Σ_{s<t} g_s ⊗ φ(s)‖ and
V_t = offset·h² + Σ_{s<t}‖g_s‖²k(s,s). Algorithm 2 is the potential `ParameterFree`.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core import arithmetic
from stillpoint.core.validation import Array, nonnegative, number, positive, vector
from stillpoint.domains import Domain
from stillpoint.kernels import HorizonFree, Kernel
from stillpoint.kernels.base import as_kernel
from stillpoint.learners import _constrained, _kernel_ftrl
from stillpoint.learners._constrained import AT
from stillpoint.learners.constrained import ConstrainedLearner
from stillpoint.learners.static import LossLearner, StaticLearner, Sums
from stillpoint.losses import Linear, LossStream
from stillpoint.losses._pointwise import Outputs
from stillpoint.losses.stream import LossLike
from stillpoint.memory import make_memory
from stillpoint.memory.streaming import BLOCK, StreamingMemory
from stillpoint.potentials import CAP, ParameterFree, Potential
from stillpoint.potentials._magnitudes import Formula
from stillpoint.regret.ledger import Ledger


class KernelFTRL(ConstrainedLearner):
    """Static learning in the RKHS of a kernel, hence dynamic regret against every u_t = u(τ_t).

    The time that a round takes does not grow with t for Markov kernels.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    lipschitz : float, optional
        The bound G on ‖g_t‖ in Proposition kernelized-pf. None learns it on the way (scale-free):
        past gradients bound the next one, which is clipped, and plays stay in `domain`, or in a
        ball that grows by itself.
    kernel : Kernel, optional
        Which targets are cheap; None is HorizonFree(), the paper's. In practice try OUMixture, or
        `Tracker`.
    potential : Potential, StaticLearner or LossLearner, optional
        How far to go. None is ParameterFree(), Algorithm 2; Erfi() moves sooner. A `LossLearner`,
        such as `learners.ProximalDescent`, gets losses from `update_loss` or `sp.play`; it needs no
        `lipschitz`, and has no domain.
    kernel_bound : float, optional
        max k(t,t); stationary kernels know theirs. With it and `lipschitz` the hint H ≥
        ‖g_t‖√k(t,t) is fixed at lipschitz·√kernel_bound, else it is a running maximum.
    domain : Domain, optional
        Where plays may lie; by projection of plays and of gradients.
    memory : {"auto", "dense", "streaming"}, default "auto"
        How the past is summed; "auto" streams where the kernel has a state space.
    radius_scale : float, default 1
        ε_D of the artificial ball (erratum E15); used only with lipschitz=None and an unbounded
        domain.

    Examples
    --------
    >>> import stillpoint as sp
    >>> kernel, potential = sp.kernels.OU(rate=0.1), sp.potentials.Erfi()
    >>> learner = sp.KernelFTRL(dim=1, lipschitz=1.0, kernel=kernel, potential=potential)
    >>> for y in (1.0, 1.1, 0.9, 1.0, 1.2, 1.1, 0.9, 1.0):
    ...     w = learner.predict()
    ...     learner.update(np.sign(w - y))
    >>> learner.predict().round(3), round(learner.certificate(radius=1.0), 3)
    (array([0.508]), 5.502)
    """

    _loss: LossLike | None = None  # of the round that `update_loss` is closing

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float | None = None,
        kernel: Kernel | None = None,
        potential: Potential | StaticLearner | LossLearner | None = None,
        kernel_bound: float | None = None,
        domain: Domain | None = None,
        memory: str = "auto",
        radius_scale: float = 1.0,
    ) -> None:
        self.kernel = as_kernel("kernel", HorizonFree() if kernel is None else kernel)
        self.potential = ParameterFree() if potential is None else potential
        if not isinstance(self.potential, Potential | StaticLearner | LossLearner):
            raise ValueError(
                f"potential must be a potential or a static learner: got {potential!r}; use"
                " sp.potentials"
            )
        self._formula: Formula | None = None  # the compiled form
        if (
            isinstance(self.potential, Potential)
            and self.potential.code is not None
            and type(self.potential).magnitude is Potential.magnitude  # none of a subclass's own
        ):
            own = self.potential.parameters, self.potential.offset
            self._formula = Formula(self.potential.code, *own)
        known = (
            self.kernel.bound if kernel_bound is None else positive("kernel_bound", kernel_bound)
        )
        if known < self.kernel.bound * (1.0 - 1e-9) and math.isfinite(self.kernel.bound):
            raise ValueError(
                f"kernel_bound must be at least max k(t, t) = {self.kernel.bound}: got"
                f" {kernel_bound}; leave it out"
            )
        super().__init__(dim, lipschitz, known, domain, radius_scale, self.takes_losses)
        self._config = {
            "dim": self.dim,
            "lipschitz": self.lipschitz,
            "kernel": self.kernel,
            "potential": self.potential,
            "kernel_bound": kernel_bound,
            "domain": self.domain,
            "memory": memory,
            "radius_scale": self.radius_scale,
        }
        self._may_refuse_late |= self._formula is None
        self._may_refuse_gradient = not isinstance(self.potential, Potential)
        self._growing = self._fixed and math.isinf(self.kernel.bound)
        self.memory = make_memory(self.kernel, self.dim, memory)
        shared = self._as_given and isinstance(self.potential, Potential)
        self.ledger = Ledger(
            self.memory if shared else make_memory(self.kernel, self.dim, memory), shared
        )
        self._may_refuse_late |= self.ledger.may_refuse
        self._may_refuse_gradient |= self.ledger.may_refuse

    @property
    def _may_refuse_time(self) -> bool:
        return self._growing or not self._started

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return dict(self._config)

    @property
    def variance(self) -> float:
        """V_t = offset·h² + Σ_{s<t}‖G_s‖² of the fed gradients.

        For a `LossLearner`, the sum of what its `learn` returned.
        """
        offset = self.potential.offset if isinstance(self.potential, Potential) else 0.0
        return offset * self.hint * self.hint + float(self._scalars[AT.variance])

    @property
    def _count(self) -> float:
        return 0.0 if self._fixed else 4.0 + float(self._scalars[AT.scaled])

    def _propose(self, time: float) -> Array:
        if self._growing:
            self._check_diagonal(np.array([time]))
        self.memory.advance(time)
        memory = self.memory
        if self._formula is not None:
            saturated = _kernel_ftrl.propose_round(
                self._scalars,
                self._proposal,
                self._fixed,
                memory.squared_norm,
                memory.pull,
                memory.diagonal,
                *self._formula,
            )
        else:
            saturated = self._propose_in_python(self._proposal)
        return self._constrain(saturated)

    def _propose_in_python(self, z: Array) -> bool:
        _constrained.raise_hint(self._scalars, self._fixed, self.memory.diagonal)
        sums = self._sums()
        if not isinstance(self.potential, Potential):
            own = self.potential.play(sums)
            z[:] = vector("the static learner's play", own, self.dim, "check its play method")
            return False
        m = 0.0
        if sums.size > 0.0:
            m = self.potential.magnitude(sums.size, self.variance, sums.hint, sums.count)
            m = number("potential.magnitude", m, "saturate it at sp.potentials.CAP")
        z[:] = -(m / sums.size) * sums.pull if m != 0.0 else 0.0
        return m >= CAP

    def _sums(self) -> Sums:
        memory = self.memory
        size = float(_kernel_ftrl.true_size(memory.squared_norm, memory.pull, memory.diagonal))
        variance = float(self._scalars[AT.variance])
        return Sums(
            memory.pull, size, variance, self.hint, self._count, memory.diagonal, memory.time
        )

    def _check_diagonal(self, times: Array) -> None:
        top = float(self.kernel.diagonal(times).max())
        if top > self.kernel_bound * (1.0 + 1e-9):
            raise ValueError(
                f"kernel_bound must be at least k(t, t): got {self.kernel_bound} but k = {top};"
                " raise it"
            )

    def _learn(self, g: Array, play: Array) -> None:
        fed = self._feed(g, play)
        if isinstance(self.potential, Potential):
            square = self.memory.add(fed)
        elif isinstance(self.potential, LossLearner):
            loss = Linear().on(fed[None, :])[0] if self._loss is None else self._loss
            square = nonnegative(
                "what the static learner's learn returns",
                self.potential.learn(loss, self.memory, self._sums()),
            )
        else:
            square = self.memory.diagonal * float(arithmetic.dot(fed, fed))
            self.potential.store(fed, self.memory, self._sums())
        _constrained.observe(self._scalars, self._fixed, self._scale_free, square, g)

    @property
    def takes_losses(self) -> bool:
        """Whether the static learner takes losses; a gradient then stands for a linear one."""
        return isinstance(self.potential, LossLearner) and not isinstance(self.potential, Potential)

    def update_loss(self, loss: LossLike, time: float | None = None) -> None:
        """Learn from the loss of the open round: an object with value(w) and gradient(w).

        A static learner that takes losses is given the loss, others the gradient at the play.
        """
        self._loss = loss if self.takes_losses else None
        try:
            super().update_loss(loss, time)
        finally:
            self._loss = None

    def bound(self, norm: float, magnitude: float | None = None) -> float:
        """Bound the regret so far against comparators in the domain.

        Parameters
        ----------
        norm : float
            ‖U‖, the comparator's RKHS norm. With lipschitz=None on an unbounded domain, that of the
            comparators projected on the artificial balls.
        magnitude : float, optional
            M = max‖u_t‖, needed with lipschitz=None.

        Notes
        -----
        Propositions kernelized-pf, scale-free-olo and unconstrained-scale-free (E15).
        """
        norm = nonnegative("norm", norm)
        if (
            isinstance(self.potential, Potential)
            and not self._fixed
            and not self.potential.running_hints
        ):
            raise ValueError(
                f"{type(self.potential).__name__} has no bound with running hints; give lipschitz"
                " and kernel_bound, or use Erfi"
            )
        return self.potential.bound(
            norm, self.variance, self.hint, self._count
        ) + self.cost_of_scale(magnitude)

    def _can_compile(self) -> bool:
        """Whether kernel, potential and domain all have a compiled form, and no round is open."""
        return (
            isinstance(self.memory, StreamingMemory)
            and self._formula is not None
            and self._compiled
            and not self._is_open
        )

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play a block of rounds in compiled code."""
        memory = self.memory
        assert isinstance(memory, StreamingMemory)
        assert self._formula is not None
        rows = slice(first, min(first + BLOCK, times.size))
        when = times[rows]
        if self._growing:
            self._check_diagonal(when)
        tables, squared_norms = memory.tables(when), np.empty(when.size)
        n, saturated = _kernel_ftrl.play_rounds(
            self._state,
            self._rule,
            memory.state,
            tables,
            self._formula,
            losses.compiled.part(rows),
            Outputs(out["plays"][rows], out["losses"][rows], out["gradients"][rows]),
            memory.squared_norm,
            squared_norms,
        )
        memory.diagonal = float(tables.diagonals[min(n, when.size - 1)])
        return self._settle(int(n), saturated, squared_norms, times, first, out)
