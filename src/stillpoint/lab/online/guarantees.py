"""What ensembles promise: pools against moving comparators, covers on every interval."""

import math

import numpy as np

from stillpoint.core.arithmetic import norm
from stillpoint.core.validation import count, nonnegative
from stillpoint.domains import Domain
from stillpoint.lab.online._bank import AT, Bank, Rule
from stillpoint.lab.online.base import Baseline
from stillpoint.lab.online.metas import FixedShare, Meta
from stillpoint.lab.online.schedules import Cover, LossCover, Pool, Schedule


class Guaranteed(Baseline):
    """The bounds of an `Ensemble`, from its parts and what its bank has measured."""

    schedule: Schedule
    meta: Meta
    domain: Domain
    gradients: str
    losses: str
    penalty: float
    order: int
    _rule: Rule
    _bank: Bank

    def bound(self, path_length: float = 0.0) -> float:
        """Bound on the regret so far of a pool, against every u_1..u_t in the domain.

        Parameters
        ----------
        path_length
            P = Σ‖u_t − u_{t−1}‖.

        Notes
        -----
        The least over base learners i of what the meta learner loses to i, what i loses to the
        comparator, (r² + 2R·P)/(2η_i) + (η_i/2)Σ‖g − guess‖² with R the largest norm in the domain
        and r = ‖w_1‖ + R, and the penalties of i beyond their mean. All of it is what this run has
        measured; convexity alone is used. With a penalty of order 1, λ times the switching cost
        Σ‖w_t − w_{t−1}‖ is bounded with the regret: RλΣ‖p_t − p_{t−1}‖₁ is added instead of the
        mean.
        """
        path = nonnegative("path_length", path_length)
        if not isinstance(self.schedule, Pool):
            raise ValueError(
                "bound is for pools of base learners: got a cover; call interval_bound(first, last)"
            )
        self._check_losses()
        bank, reach = self._bank, self._bounded_reach()
        if not self.observed:
            return 0.0
        start = float(norm(self._rule.start)) + reach
        each = [
            base.dynamic(path, float(square), start, reach)
            for base, square in zip(self.schedule.kinds, bank.row("square"), strict=True)
        ]
        moves = bank.row("penalties") - bank.clock[AT.penalties]
        if self.order == 1 and self.penalty > 0.0:
            moves = bank.row("penalties") + self.penalty * reach * bank.clock[AT.shift]
        return float((self.meta.to(bank, self._rule) + np.array(each) + moves).min())

    def _check_losses(self) -> None:
        """Refuse base learners and a meta learner whose bounds are of different losses."""
        if self.gradients == "play" and self.losses == "values":
            raise ValueError(
                "losses must be 'linear' for a bound where gradients are those at the play: got"
                " 'values', and what base learners lose on linear losses says nothing of theirs;"
                " pass losses='linear' or gradients='own'"
            )

    def _bounded_reach(self) -> float:
        """The largest norm in the domain, which must have one."""
        reach = self.domain.reach(self.dim)
        if math.isinf(reach):
            raise ValueError(
                f"domain must be bounded for a bound: got {self.domain!r}; pass sp.domains.Ball"
            )
        return reach

    def interval_bound(self, first: int, last: int) -> float:
        """Bound on the regret of a cover in the rounds first..last, from 1, against any fixed u.

        The interval is cut where base learners are born; on each piece the meta learner loses to
        the one that is born there, and that one to u.
        """
        if (
            not isinstance(self.schedule, Cover)
            or isinstance(self.schedule, LossCover)
            or self.schedule.every != 1.0
        ):
            raise ValueError(
                "interval_bound is for covers with a marker a round: got"
                f" {self.schedule!r}; pools have bound(path_length)"
            )
        first, last = rounds_of(first, last)
        if self.lipschitz is None or math.isinf(self.domain.reach(self.dim)):
            raise ValueError(
                "lipschitz and a bounded domain must be given for a bound: got"
                f" {self.lipschitz} and {self.domain!r}; pass them"
            )
        size, base = 2.0 * self.domain.reach(self.dim), self.schedule.base
        if base.curved and self.gradients == "play":
            raise ValueError(
                f"gradients must be 'own' for a bound: got 'play' for {base!r}, and the linear"
                " losses that it then sees do not curve; pass gradients='own'"
            )
        self._check_losses()
        if self.penalty > 0.0:
            raise ValueError(
                f"penalty must be 0 for a bound on intervals: got {self.penalty}, which the meta"
                " learner sees and no bound of a cover counts; leave it out"
            )
        if isinstance(self.meta, FixedShare) and not self.meta.range and self.losses == "linear":
            raise ValueError(
                f"losses must be 'values' for a bound: got 'linear' for {self.meta!r}, and linear"
                " ones are not exp-concave; pass losses='values', or give its range"
            )
        return sum(
            self.meta.on(at, length, rounds, at + rounds - 1)
            + base.static(rounds, self.lipschitz, size, self.dim)
            for at, length, rounds in self.schedule.pieces(first, last)
        )


def rounds_of(first: int, last: int) -> tuple[int, int]:
    """The ends of an interval of rounds, checked."""
    first, last = count("first", first), count("last", last)
    if first > last:
        raise ValueError(
            f"first and last must be rounds, from 1: got {first} and {last}; order them"
        )
    return first, last
