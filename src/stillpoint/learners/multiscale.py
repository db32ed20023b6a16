"""MultiScale: the reduction in a direct sum of RKHSs, one OU kernel a time scale.

w_t = Σ_j w_t^j, level j being KernelFTRL(OU(a_j), Erfi(ε)) with a_0 = 0 and a_j = base^{1−j}, from
time base^{j−1} on. One gradient feeds all levels: O(d·log t) time and memory, and no horizon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, counted, finite, nonnegative, positive, stored
from stillpoint.domains import Domain
from stillpoint.learners import _multiscale
from stillpoint.learners.constrained import ConstrainedLearner
from stillpoint.losses import LossStream
from stillpoint.losses._pointwise import Outputs
from stillpoint.memory.levels import LevelMemory
from stillpoint.potentials import CAP, Erfi
from stillpoint.regret.ledger import Ledger


_FLOAT = np.dtype(np.float64)
_LAID = frozenset({"_held", "_round", "_play", "_given"})  # parts of one array, which copies lay anew


@dataclass(frozen=True)
class Level:
    """A time scale: comparators that move on the scale 1/rate (rate 0: constants) from `start`."""

    rate: float
    start: float
    size: float  # S_j = ‖Σ g ⊗ φ_j‖ of what the level was fed
    variance: float  # V_j = Σ‖g‖² since its start
    share: float  # ‖w^j‖, its part of the last play


class MultiScale(ConstrainedLearner):
    """Online learner for gradients on every time scale at once, with a strict guarantee.

    With `lipschitz` it loses at most Σ_j budget·√(αU_j) to 0, whatever happens.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    lipschitz : float, optional
        G ≥ ‖g_t‖. None learns it on the way: gradients are clipped to the largest one before, which
        costs up to that largest gradient times the radius of plays, also against 0.
    budget : float
        ε of every level, in units of the target: what may be lost, times √V, before anything is
        known. The one scale it has.
    base : float
        Ratio of neighbouring time scales; 4 to 8 works well.
    domain : Domain, optional
        Where plays may lie.
    radius_scale : float
        ε_D of the ball that grows by itself where neither lipschitz nor a bounded domain is given
        (erratum E15).

    Notes
    -----
    `bound` is the guarantee: for every split u = Σ_j u^j with u^j = 0 before level j starts,
    R(u) ≤ Σ_j [ε√(αV) + ‖u^j‖√(4αV log(1 + ‖u^j‖/ε))], hence Õ(√((M² + M·P_T)V)) without knowing T,
    M or P_T.
    """

    memory: LevelMemory

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
        self._round: _multiscale.Round | None = None
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
        counted("coefficients", self._coefficients.size, self.memory.rates.size)
        memory, true = self.memory, self._true
        if true is not None and (true.squares.size, true.time) != (
            memory.squares.size,
            memory.time,
        ):
            raise ValueError(
                "state 'ledger.memory' must be at the time of 'memory', with as many levels: got"
                f" {true.squares.size} at {true.time} for {memory.squares.size} at {memory.time};"
                " save the learner again"
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
        group : bool
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

    def _lay(self) -> None:
        """Lay all that a round reads and writes into one array, where that is not so already.

        The state's arrays are parts of it: compiled code gets the one, not each of them.
        """
        memory, true = self.memory, self._true
        if self._round is None or not (
            memory.squares is self._round.levels.squares
            and (true is None or true.squares is self._round.true.squares)
        ):
            count, rule = memory.rates.size, self._rule
            plan = _multiscale.Places(
                dim=self.dim,
                levels=count,
                true=0 if true is None else count,
                fixed=rule.fixed,
                scale_free=rule.scale_free,
                ball=rule.ball,
                constrained=not self._free,
                kind=rule.domain.kind,
                sides=rule.domain.parameters.size,
            )
            self._plan = np.array(plan, dtype=np.int64)
            self._held = zeros(_multiscale.length(self._plan))
            self._round = parts = _multiscale.places(self._plan, self._held)
            parts.limits[:] = rule.limit, rule.radius_scale
            parts.domain[:] = rule.domain.parameters
            parts.potential[:] = self._parameters
            for into, own in zip(parts.own, self._state, strict=True):
                into[:] = own
            self._scalars, self._proposal, self._inner = parts.own
            parts.coefficients[: self._coefficients.size] = self._coefficients
            self._coefficients = parts.coefficients
            self._play, self._given = parts.play, parts.given
            memory.lay(parts.levels)
            if true is not None:
                true.lay(parts.true)
            self._gap = np.nan
        if self._is_open:
            self._play[:] = self._answer

    def __getstate__(self) -> dict[str, Any]:
        # pickles and deep copies do not keep that one array is a part of another
        return {name: value for name, value in vars(self).items() if name not in _LAID}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._round = None
        self._lay()

    def _open(self, when: float, x: None) -> Array:
        memory, true = self.memory, self._true
        gap = when - memory.time
        if gap != self._gap or when >= memory.next_start:
            decays = memory.move(when)
            if true is not None:
                true.move(when)
            self._lay()
            self._round.factors[:], self._gap = decays, gap
        memory.time = when
        if true is not None:
            true.time = when
        if _multiscale.open_round(self._plan, self._held) and self._rule.unbounded:
            self._warn_saturated(CAP)
        if not self._compiled:
            self._play[:] = self.domain.project(self._inner)
        return self._play

    def _propose(self, time: float) -> Array:
        return self._open(time, None)

    def update(self, g: ArrayLike, time: float | None = None) -> None:
        """Tell the learner a subgradient at the play of the open round.

        Parameters
        ----------
        g : array of shape (dim,)
            The subgradient; with dim 1 a plain number will do.
        time : float, optional
            When the round is; opens it where none is open.
        """
        # what most calls are like, checked and learnt from at once
        if self._is_open and time is None and type(g) is np.ndarray and g.dtype is _FLOAT:
            if g.shape == self._given.shape and self._took(g):
                self._closed()
                return
        super().update(g, time)

    def _took(self, g: Array) -> bool:
        """Learn from g, or return False if it cannot be taken: then nothing has changed."""
        self._given[:] = g
        taken, linear, total, true = _multiscale.close_round(self._plan, self._held)
        if taken:
            self.ledger.linear_loss += linear
            self.memory.squared_norm = total
            if self._true is not None:
                self._true.squared_norm = true
        return taken

    def _close(self, feedback: Array | None) -> None:
        if feedback is not None:
            self._took(feedback)

    def _learn(self, g: Array, play: Array) -> None:
        self._took(g)

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
