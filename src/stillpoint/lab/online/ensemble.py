"""Ensembles: base learners, a meta learner and a schedule as parts to combine.

Most algorithms for changing environments are one: base learners with several steps (`Pool`), or
started on many intervals (`Cover`), each play, and the play is their mean in the weights of a meta
learner that sees what each has lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from stillpoint.core.arithmetic import norm
from stillpoint.core.state import put_back, rollback_on_error, saved
from stillpoint.core.validation import Array, nonnegative, number, vector
from stillpoint.domains import Domain
from stillpoint.domains.base import as_domain
from stillpoint.lab.online import _ensemble
from stillpoint.lab.online._bank import AT
from stillpoint.lab.online._bases import second_step
from stillpoint.lab.online.base import block
from stillpoint.lab.online.building import HINTS, check_clock, make_bank, make_rule
from stillpoint.lab.online.guarantees import Guaranteed
from stillpoint.lab.online.metas import Meta
from stillpoint.lab.online.schedules import Pool, Schedule
from stillpoint.losses import LossStream
from stillpoint.losses.stream import LossLike, as_loss


class Ensemble(Guaranteed):
    """A mean of base learners, in the weights of a meta learner.

    Parameters
    ----------
    dim
        The dimension of plays.
    schedule
        Which base learners live when: a `Pool` or a `Cover`.
    meta
        How they are weighed.
    domain
        Where plays may lie; one with a compiled projection.
    lipschitz
        G ≥ ‖g_t‖ at every point of the domain; larger gradients are refused.
    gradients : "play" or "own", default "play"
        Base learners step along the gradient at the play, or each along that at its own play. The
        second must be shown the loss itself (`update_loss`, `sp.play`).
    losses : "linear" or "values", default "linear"
        The meta learner sees ⟨g_t, x_{t,i}⟩, or f_t(x_{t,i}), for which it must be shown the loss.
    hints : "none", "last", "ahead" or "best", default "none"
        What the meta learner expects: nothing; ⟨g_t, ·⟩; ⟨∇f_t(x̄_{t+1}), ·⟩ at x̄_{t+1} =
        Σp_{t,i}x_{t+1,i}; β_t times that, β_t learnt by exponential weights from Σ‖g − M‖² against
        Σ‖g‖².
    penalty, order
        λ‖x_{t,i} − x_{t−1,i}‖^order is added to losses and hints.

    Notes
    -----
    Parts of this folder have codes, and run in one compiled loop. With a part of your own, all of
    it runs in Python, by the same formulas.
    """

    def __init__(
        self,
        dim: int,
        *,
        schedule: Schedule,
        meta: Meta,
        domain: Domain | None = None,
        lipschitz: float | None = None,
        gradients: str = "play",
        losses: str = "linear",
        hints: str = "none",
        penalty: float = 0.0,
        order: int = 1,
    ) -> None:
        super().__init__(dim, lipschitz=lipschitz)
        for name, part, kind in (("schedule", schedule, Schedule), ("meta", meta, Meta)):
            if not isinstance(part, kind):
                raise ValueError(
                    f"{name} must be one of sp.lab.online: got {part!r}; build it from its parts"
                )
        given: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
            ("gradients", gradients, ("play", "own")),
            ("losses", losses, ("linear", "values")),
            ("hints", hints, tuple(HINTS)),
            ("order", order, (1, 2)),
        )
        for name, value, choices in given:
            if value not in choices:
                raise ValueError(f"{name} must be one of {choices}: got {value!r}; choose one")
        self.schedule, self.meta = schedule, meta
        self.domain = as_domain(domain, self.dim)
        self.gradients, self.losses, self.hints = gradients, losses, hints
        self.penalty, self.order = nonnegative("penalty", penalty), int(order)
        self._rule, self._bank = make_rule(self), make_bank(self)
        self._own_parts = schedule.code is None or meta.code is None
        self._own_parts |= any(base.code is None for base in schedule.kinds)
        self._may_refuse_gradient = self._own_parts
        schedule.fill(self._bank, self._rule)
        if isinstance(schedule, Pool):
            self._bank.clock[AT.top] = schedule.places
        self._go_on()

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {
            "dim": self.dim,
            "schedule": self.schedule,
            "meta": self.meta,
            "domain": self.domain,
            "lipschitz": self.lipschitz,
            "gradients": self.gradients,
            "losses": self.losses,
            "hints": self.hints,
            "penalty": self.penalty,
            "order": self.order,
        }

    @property
    def weights(self) -> Array:
        """The weight of each place in the coming round, or the open one; they sum to 1."""
        return self._bank.row("weight").copy()

    @property
    def plays(self) -> Array:
        """The play of each place, shape (places, dim); those without weight may be old."""
        return self._bank.x.copy()

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), **saved(self._bank)}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        check_clock(state["clock"], self.schedule.places)
        super().restore(state)
        put_back(self._bank, state)

    # rounds

    @property
    def takes_losses(self) -> bool:
        """Whether it must be shown the loss itself."""
        return self.gradients == "own" or self.losses == "values" or self.hints in ("ahead", "best")

    def _propose(self, time: float) -> Array:
        w = np.empty(self.dim)
        _ensemble.mix(self._bank, w)
        return w

    def _check_gradient(self, g: Array, size: float) -> None:
        if self.takes_losses:
            raise ValueError(
                "g is not enough for a learner that looks at losses elsewhere: got one gradient;"
                " call update_loss(loss), or build it to see gradients at the play only"
            )
        super()._check_gradient(g, size)

    def _step(self, g: Array, play: Array) -> None:
        nothing = np.empty((1, self.dim))
        if self._own_parts:
            self._learn_in_python(g, play, 0.0, np.zeros(1), nothing, None)
        else:
            _ensemble.learn(self._bank, self._rule, g, play, 0.0, np.zeros(1), nothing)

    def update_loss(self, loss: LossLike, time: float | None = None) -> None:
        """Close the round with its loss, an object with value(w) and gradient(w)."""
        if not self.takes_losses:
            super().update_loss(loss, time)
            return
        as_loss(loss)
        if time is not None and (self._is_open or self._started):
            self._refuse_late(time)
        # what is wrong with a loss shows once the round is open, or at a second query, half learnt
        late = self._own_parts or self.hints in ("ahead", "best")
        late |= any(base.queries for base in self.schedule.kinds)
        with rollback_on_error(self) if late or not self._is_open else nullcontext():
            self._learn_loss(loss, self.predict(time))
        self.observed += 1
        self._closed()

    def _learn_loss(self, loss: LossLike, w: Array) -> None:
        """Ask a loss for all that can be refused, then learn."""
        g, value = self._asked(loss, w), number("loss.value", loss.value(w.copy()))
        bank, places = self._bank, self.schedule.places
        values, gradients = np.zeros(places), np.zeros((places, self.dim))
        if self.gradients == "own" or self.losses == "values":
            for i in np.flatnonzero(bank.row("alive")).tolist():
                gradients[i] = self._asked(loss, bank.x[i])
                values[i] = number("loss.value", loss.value(bank.x[i].copy()))
        self._learn_in_python(g, w, value, values, gradients, loss)

    def _asked(self, loss: LossLike, point: Array) -> Array:
        """The gradient of a loss at a point, or ValueError."""
        g = np.array(vector("loss.gradient", loss.gradient(point.copy()), self.dim))
        if not _ensemble.usable(self._rule, 0.0, g):
            raise ValueError(
                f"loss.gradient must have norm at most {self._limit}: got {float(norm(g))}; raise"
                " lipschitz, or rescale the losses"
            )
        return g

    def _learn_in_python(
        self, g: Array, w: Array, value: float, values: Array, gradients: Array, loss: Any
    ) -> None:
        """Close a round stage by stage; see `_ensemble`."""
        bank, rule, z = self._bank, self._rule, np.empty((2, self.dim))
        losses = np.zeros(self.schedule.places)
        _ensemble.judge(bank, rule, g, w, value, values, losses)
        mean = _ensemble.mean_loss(bank, rule, g, w, value, losses)
        self.meta.learn(bank, rule, losses, float(mean))
        bases: Sequence[Any] = self.schedule.kinds
        for i in np.flatnonzero(bank.row("alive")).tolist():
            base = bases[i if isinstance(self.schedule, Pool) else 0]
            own = gradients[i] if rule.own else g
            settled = self._settled(i, own) if base.code is None else nullcontext()
            with settled:
                base.move(bank, rule, i, own)
            if base.queries:
                expected = np.array(loss.gradient(bank.y[i].copy()), dtype=float)
                _ensemble.tame(expected)
                second_step(bank, rule, i, expected, z)
        ahead = np.zeros(self.dim)
        if rule.hints >= _ensemble.AHEAD:
            _ensemble.mix(bank, z[0])
            ahead = np.array(loss.gradient(z[0].copy()), dtype=float)
            _ensemble.tame(ahead)
        _ensemble.expect(bank, rule, g, ahead)
        self._go_on()

    @contextmanager
    def _settled(self, i: int, g: Array) -> Iterator[None]:
        """See to what the move of a base learner of one's own need not: domain, sums, penalty."""
        bank, before = self._bank, self._bank.x[i].copy()
        age, square = bank.row("age")[i] + 1.0, bank.row("square")[i]
        square += ((g - bank.guess[i]) ** 2).sum()
        yield
        bank.x[i] = self.domain.project(bank.x[i])
        # set, not added to: a move that calls that of `Base` has counted them
        bank.row("age")[i], bank.row("square")[i] = age, square
        bank.row("penalty")[i] = self.penalty * float(norm(bank.x[i] - before)) ** self.order

    def _go_on(self) -> None:
        """Go on to the next round."""
        if not self._own_parts:
            _ensemble.advance(self._bank, self._rule, np.empty(self.schedule.places))
            return
        before = self._bank.row("weight").copy()
        self.schedule.advance(self._bank, self._rule)
        self.meta.weigh(self._bank, self._rule)
        if isinstance(self.schedule, Pool) and self._bank.clock[AT.round] > 1.0:
            self._bank.clock[AT.shift] += np.abs(self._bank.row("weight") - before).sum()

    def _can_compile(self) -> bool:
        """Whether all parts are compiled, and no round is open."""
        return not (self._own_parts or self._is_open)

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play a block of rounds in compiled code; see `GradientLearner._play_block`."""
        rounds, outputs = block(losses, first, out)
        played = int(_ensemble.play_rounds(self._bank, self._rule, rounds, outputs))
        if not self.takes_losses or played == outputs.losses.size:
            return self._after_block(played, times, first, out)
        self.observed += played
        self._finish_block(times, first, played, played, out)
        self.predict(float(times[first + played]))
        self.update_loss(losses[first + played])  # raises, naming what is wrong with it
        return played
