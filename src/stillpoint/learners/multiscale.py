"""MultiScale: the reduction in a direct sum of RKHSs, one OU kernel a time scale.

w_t = Σ_j w_t^j, level j being KernelFTRL(OU(a_j), Erfi(ε)) with a_0 = 0 and a_j = base^{1−j}, from
time base^{j−1} on. One gradient feeds all levels: O(d·log t) time and memory, and no horizon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, counted, finite, nonnegative, positive, stored
from stillpoint.domains import Domain
from stillpoint.learners import _multiscale
from stillpoint.learners.multiscale_rounds import MultiScaleRounds
from stillpoint.losses import LossStream
from stillpoint.losses._pointwise import Outputs
from stillpoint.memory.levels import LevelMemory
from stillpoint.potentials import Erfi
from stillpoint.regret.ledger import Ledger


@dataclass(frozen=True)
class Level:
    """A time scale: comparators that move on the scale 1/rate (rate 0: constants) from `start`."""

    rate: float
    start: float
    size: float  # S_j = ‖Σ g ⊗ φ_j‖ of what the level was fed
    variance: float  # V_j = Σ‖g‖² since its start
    # ‖w^j‖, its part of the open round's play; between rounds, the last factor times the sum since
    share: float


class MultiScale(MultiScaleRounds):
    """Online learner for gradients on every time scale at once, with a strict guarantee.

    With `lipschitz` = G it loses at most Σ_j budget·√(¾(V_j + G²)) to 0, whatever happens, where
    V_j = Σ‖g_t‖² since level j started.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    lipschitz : float, optional
        G ≥ ‖g_t‖. None learns it on the way: gradients are clipped to the largest one before, which
        costs up to that largest gradient times the radius of plays, also against 0.
    budget : float, default 0.1
        ε of every level, in units of the target: what may be lost, times √V, before anything is
        known. It is the only scale to choose.
    base : float, default 4
        Ratio of neighbouring time scales; 4 to 8 works well.
    domain : Domain, optional
        Where plays may lie.
    radius_scale : float, default 1
        ε_D of the ball that grows by itself where neither lipschitz nor a bounded domain is given
        (erratum E15).

    Notes
    -----
    `bound` is the guarantee: for every split u = Σ_j u^j with u^j = 0 before level j starts, with
    Φ of `Erfi` (α = ¾, z₀ = 4) and ℓ_j = log(2 + ‖u^j‖/ε),

        R(u) ≤ Σ_j [sup_S (S‖u^j‖ − Φ(V_j, S)) − ε√(αz₀)G]
             ≤ Σ_j [ε√(¾(V_j + G²)) + ‖u^j‖(√(6(V_j + 4G²)ℓ_j) + 12Gℓ_j)],

    hence Õ(√((M² + M·P_T)V)) without knowing T, M or P_T. `bound` is the first of the two; with
    lipschitz=None it is without −ε√(αz₀)G, a gain, and with the cost of clipping and of artificial
    balls.
    """

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float | None = None,
        budget: float = 0.1,
        base: float = 4.0,
        domain: Domain | None = None,
        radius_scale: float = 1.0,
    ) -> None:
        super().__init__(dim, lipschitz, 1.0, domain, radius_scale)
        self.potential = Erfi(positive("budget", budget, "give the scale of targets, such as 0.1"))
        self._parameters = self.potential.parameters
        self.memory = LevelMemory(base, self.dim)
        # the memory of the true gradients, where they are not what the learner is fed
        self._true = None if self._as_given else LevelMemory(base, self.dim)
        self.ledger = Ledger(self._true or self.memory, shared=self._as_given)
        self._coefficients = zeros(0)
        self._lay()

    @property
    def budget(self) -> float:
        """ε of every level."""
        return self.potential.scale

    @property
    def base(self) -> float:
        """The ratio of neighbouring time scales."""
        return self.memory.kernel.base

    @property
    def _may_refuse_time(self) -> bool:
        return False

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        names = ("dim", "lipschitz", "budget", "base", "domain", "radius_scale")
        return {name: getattr(self, name) for name in names}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), "coefficients": self._coefficients.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._coefficients = stored(state, "coefficients", None)
        memory, true = self.memory, self._true
        counted("coefficients", self._coefficients.size, memory.rates.size)
        if true is not None and (true.rates.size, true.time) != (memory.rates.size, memory.time):
            raise ValueError(
                "state 'ledger.memory' must be at the time of 'memory', with as many levels: got"
                f" {true.rates.size} at {true.time} for {memory.rates.size} at {memory.time}; save"
                " the learner again"
            )
        self._lay()

    def levels(self) -> list[Level]:
        """The time scales at work, the static one first: how much each has gathered and plays."""
        memory = self.memory
        used = np.abs(self._coefficients[: memory.rates.size])
        sizes = np.linalg.norm(memory.states, axis=1) * used
        columns = zip(memory.rates, memory.norms, memory.variances, sizes, strict=True)
        return [
            Level(float(rate), memory.starts(j), float(size), float(variance), float(share))
            for j, (rate, size, variance, share) in enumerate(columns)
        ]

    def certificate(self, radius: float | Sequence[float] | Array, *, group: bool = False) -> float:
        """Return the linearised regret so far against the worst u = Σ_j u^j within the radius.

        Parameters
        ----------
        radius : float or array
            One number B bounds √Σ_j‖u^j‖², the norm of the direct sum; one a level, B_j, bounds
            each ‖u^j‖.
        group : bool, default False
            B bounds Σ_j‖u^j‖ instead.

        Notes
        -----
        Exactly Σ⟨g, w⟩ + B√Σ_j S_j², Σ⟨g, w⟩ + Σ_j B_j S_j, and Σ⟨g, w⟩ + B·max_j S_j with `group`.
        """
        sizes = (
            self.ledger.memory.norms if isinstance(self.ledger.memory, LevelMemory) else np.zeros(0)
        )
        if group and np.ndim(radius) > 0:
            raise ValueError(
                f"radius must be one number with group=True: got {radius!r}; leave group out for"
                " one a level"
            )
        if np.ndim(radius) == 0:
            bound = nonnegative("radius", radius)
            worst = float(sizes.max(initial=0.0)) if group else self.ledger.memory.norm
            return self.ledger.linear_loss + bound * worst
        radii = finite("radius", radius)
        if radii.shape != sizes.shape or radii.min(initial=0.0) < 0.0:
            raise ValueError(
                f"radius must hold {sizes.size} numbers, one a level, none negative: got"
                f" {radius!r}; see levels()"
            )
        return self.ledger.linear_loss + float(radii @ sizes)

    def bound(self, norms: Sequence[float] | Array, magnitude: float | None = None) -> float:
        """Bound the regret so far against u = Σ_j u^j.

        Parameters
        ----------
        norms : array
            ‖u^j‖ of each level, the static one first; missing ones are 0. With lipschitz=None on an
            unbounded domain, those of the comparators projected on the artificial balls.
        magnitude : float, optional
            M = max‖u_t‖, needed with lipschitz=None.
        """
        given = np.atleast_1d(finite("norms", norms))
        count = self.memory.rates.size
        if given.ndim != 1 or given.size > count or given.min(initial=0.0) < 0.0:
            raise ValueError(
                f"norms must hold at most {count} numbers, one a level, none negative: got"
                f" {norms!r}; see levels()"
            )
        padded = np.append(given, np.zeros(count - given.size))
        # Erfi's bound leaves out a gain of −ε√(αz₀)h where the hint moved
        running = 0.0 if self._fixed else 1.0
        each = [
            self.potential.bound(float(n), float(v), self.hint, running)
            for n, v in zip(padded, self.memory.variances, strict=True)
        ]
        return float(sum(each)) + self.cost_of_scale(magnitude)

    def _can_compile(self) -> bool:
        """Whether the domain has a compiled form, and no round is open."""
        return not self._is_open and self._compiled

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play in compiled code up to the round where the next level starts."""
        memory = self.memory
        stop, decays = memory.block(times, first)
        if self._true is not None:
            self._true.start_due(float(times[first]))
        self._lay()
        assert self._round is not None
        self._coefficients = self._round.coefficients
        rows, squared_norms = slice(first, stop), np.empty(stop - first)
        n, saturated = _multiscale.play_rounds(
            self._state,
            self._rule,
            memory.state,
            decays,
            self._parameters,
            self._coefficients,
            losses.compiled.part(rows),
            Outputs(out["plays"][rows], out["losses"][rows], out["gradients"][rows]),
            squared_norms,
        )
        memory.diagonal = float(memory.rates.size)
        try:
            return self._settle(int(n), saturated, squared_norms, times, first, out)
        finally:
            self._lay()
