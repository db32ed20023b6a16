"""Learners in an RKHS on a domain, with gradients of known or unknown scale.

What a learner proposes, z, is projected on the domain, or on a ball that grows by itself (erratum
E15). What it is fed is the gradient clipped to the largest one before it (Proposition
scale-free-olo) and turned: the part along z − w that points back to the domain is taken off, so
that regret on the domain is at most the learner's own (Cutkosky 2020).
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import LARGEST, SMALLEST
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, nonnegative, positive, under
from stillpoint.domains import Domain, Everywhere, _sets
from stillpoint.domains.base import as_domain
from stillpoint.learners import _constrained
from stillpoint.learners._constrained import AT
from stillpoint.learners.base import GradientLearner, check_lipschitz, most
from stillpoint.memory import Memory
from stillpoint.potentials import CAP
from stillpoint.regret.ledger import Ledger

NAMES = {"scalars": "stats"}  # of fields, in files


class ConstrainedLearner(GradientLearner):
    """A learner that proposes anywhere and plays in a domain.

    Parameters
    ----------
    dim : int
        Dimension of plays.
    lipschitz : float or None
        G ≥ ‖g_t‖. None: past gradients bound the next one, which is clipped (scale-free).
    kernel_bound : float
        max k(t,t) where known, else inf; with lipschitz it fixes the hint H = G√kernel_bound.
    domain : Domain or None
        Where plays may lie.
    radius_scale : float
        ε_D of the artificial ball, which is in use when neither bound is known.
    losses : bool
        The learner takes losses, not gradients: nothing is projected or clipped.
    """

    memory: Memory
    ledger: Ledger
    _kept = "memory"  # the attribute that holds what was learnt; its state is saved under this name

    def __init__(
        self,
        dim: int,
        lipschitz: float | None,
        kernel_bound: float,
        domain: Domain | None,
        radius_scale: float,
        losses: bool = False,
    ) -> None:
        super().__init__(dim)
        self.domain = as_domain(domain, self.dim)
        remedy = "give the largest gradient norm, or None"
        self.lipschitz = None if lipschitz is None else positive("lipschitz", lipschitz, remedy)
        self.kernel_bound = kernel_bound
        self.radius_scale = positive("radius_scale", radius_scale)

        if losses and not isinstance(self.domain, Everywhere):
            raise ValueError(
                "domain must be left out for a static learner that takes losses: got"
                f" {self.domain!r}; domains turn gradients, so use one that takes those"
            )
        reach, compiled = self.domain.reach(self.dim), self.domain._compiled(self.dim)
        self._fixed = self.lipschitz is not None and math.isfinite(kernel_bound)
        self._scale_free = self.lipschitz is None and not losses
        ball = self._scale_free and math.isinf(reach)
        self._rule = _constrained.Rule(
            fixed=self._fixed,
            scale_free=self._scale_free,
            radius_scale=self.radius_scale,
            ball=ball,
            unbounded=math.isinf(reach) and not ball,
            limit=math.inf if self.lipschitz is None else most(self.lipschitz),
            domain=_sets.Region(_sets.EVERYWHERE, np.zeros(0)) if compiled is None else compiled,
        )
        self._compiled = compiled is not None
        self._may_refuse_late = not self._compiled
        self._free = isinstance(self.domain, Everywhere) and not ball
        self._as_given = self._free and not self._scale_free  # what is fed are the true gradients
        self._scalars, self._proposal = zeros(len(AT)), zeros(self.dim)
        self._inner, self._ball = zeros(self.dim), zeros(1 + self.dim)
        if self.lipschitz is not None:
            self._scalars[AT.top] = self.lipschitz
        if self._fixed:
            self._scalars[AT.hint] = self._known_hint()

    def _known_hint(self) -> float:
        """H = G√max k(t, t)."""
        assert self.lipschitz is not None
        hint = self.lipschitz * math.sqrt(self.kernel_bound)
        if not SMALLEST <= hint <= LARGEST:
            ends = f"{SMALLEST:g} and {LARGEST:g}"
            raise ValueError(
                f"lipschitz·√max k(t, t) must be between {ends}: got {hint:g}; rescale losses or"
                " kernel"
            )
        return hint

    @property
    def _state(self) -> _constrained.State:
        return _constrained.State(self._scalars, self._proposal, self._inner)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        kept = {
            f"{self._kept}.{key}": value
            for key, value in getattr(self, self._kept).arrays().items()
        }
        return {**super().arrays(), **saved(self._state, NAMES), **kept}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        put_back(self._state, state, NAMES)
        getattr(self, self._kept).restore(under(state, f"{self._kept}."))

    @property
    def hint(self) -> float:
        """H_t: no gradient fed so far has ‖G‖ = ‖g‖√k(t,t) above it."""
        return float(self._scalars[AT.hint])

    @property
    def radius(self) -> float:
        """Radius of the ball that plays lie in now: the domain's, or the artificial one (E15)."""
        if not self._rule.ball:
            return self.domain.reach(self.dim)
        return float(_constrained.artificial_radius(self._scalars, self.radius_scale))

    def _constrain(self, saturated: bool) -> Array:
        """The play for the proposal in self._proposal."""
        if saturated and self._rule.unbounded:
            self._warn_saturated(CAP)
        if self._free:
            return self._proposal  # stands until the next proposal
        rule, w = self._rule, np.empty(self.dim)
        if rule.ball:
            self._ball[0] = self.radius
        _constrained.constrain(self._proposal, self._inner, w, self._ball, rule.ball, *rule.domain)
        return w if self._compiled else self.domain.project(self._inner)

    def _feed(self, g: Array, play: Array) -> Array:
        """What the learner is fed for the true gradient g."""
        if self._as_given:
            return g
        fed = np.empty(self.dim)
        _constrained.feed_round(
            self._scalars,
            self._proposal,
            self._inner,
            self._scale_free,
            not self._free,
            g,
            play,
            fed,
        )
        return fed

    def _check_gradient(self, g: Array, size: float) -> None:
        check_lipschitz(self.lipschitz, size, "raise lipschitz, or leave it out to learn the scale")

    def _settle(
        self,
        played: int,
        saturated: bool,
        squared_norms: Array,
        times: Array,
        first: int,
        out: dict[str, Array],
    ) -> int:
        """`_finish_block` for memory, too; squared_norms holds ‖θ‖² after each round."""
        if played:
            self.memory.squared_norm = float(squared_norms[played - 1])
            if self.ledger.shared:
                out["norms"][first : first + played] = np.sqrt(
                    np.maximum(squared_norms[:played], 0.0)
                )
        asked = squared_norms.size
        # the round that stopped the block has been predicted, so the memory stands there
        self.memory.time = float(times[first + min(played, asked - 1)])
        if saturated:
            self._warn_saturated(CAP)
        return self._finish_block(times, first, played, asked, out)

    def cost_of_scale(self, magnitude: float | None) -> float:
        """What clipping and artificial balls add to the bound.

        With top the largest gradient, M = `magnitude`, and D the radius now: top·(D + min(M, D)) on
        a bounded domain (Proposition scale-free-olo), and M·top·(M²/ε_D² + 1) more on an unbounded
        one (Proposition unconstrained-scale-free, erratum E15).
        """
        if not self._scale_free:
            return 0.0
        top = float(self._scalars[AT.top])
        if not self._rule.ball:
            reach = self.domain.reach(self.dim)
            size = reach if magnitude is None else nonnegative("magnitude", magnitude)
            return top * (reach + min(size, reach))
        if magnitude is None:
            raise ValueError(
                "magnitude must be given for a scale-free bound on an unbounded domain: got None;"
                " pass max‖u_t‖"
            )
        if not self.domain.contains(np.zeros(self.dim)):
            raise ValueError(
                f"domain must contain 0 for a scale-free bound: got {self.domain!r}; bound it, or"
                " shift it"
            )
        size = nonnegative("magnitude", magnitude)
        ratio = size / self.radius_scale  # `**` would raise where floats end
        return top * (self.radius + min(self.radius, size) + size * ratio * ratio + size)
