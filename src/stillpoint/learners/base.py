"""What every gradient learner does the same way: plays, gradients, the ledger of certificates."""

from __future__ import annotations

import math
from abc import abstractmethod
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import claim
from stillpoint.core.arithmetic import LARGEST, norm, usable_norm
from stillpoint.core.learner import Learner
from stillpoint.core.state import rollback_on_error
from stillpoint.core.validation import (
    Array,
    count,
    finite,
    nonnegative,
    number,
    stored,
    under,
    vector,
)
from stillpoint.core.warning import warn
from stillpoint.losses import LossStream
from stillpoint.losses.stream import LossLike, as_loss
from stillpoint.regret.ledger import Ledger

_FLOAT = np.dtype(np.float64)
_REMEDY = "call skip() for a round without a usable gradient"


def most(lipschitz: float) -> float:
    """The largest norm that passes for one of at most `lipschitz`: rounding is forgiven."""
    return lipschitz * (1.0 + 1e-9)


def check_lipschitz(lipschitz: float | None, size: float, remedy: str = "raise lipschitz") -> None:
    """Raise ValueError if a gradient of norm `size` is above `lipschitz`, where that is known."""
    if lipschitz is not None and size > most(lipschitz):
        raise ValueError(
            f"g must have norm at most lipschitz = {lipschitz}: got norm {size}; {remedy}"
        )


class GradientLearner(Learner):
    """Play w_t in R^dim, then be told a subgradient g_t of the loss there.

    `predict(time)` opens a round and returns its play; called again before `update` it returns the
    same play. `update(g)` closes the round, `skip()` closes it without feedback. Times default to
    the last one + 1, from 1. Bad input raises ValueError and leaves the learner as it was.
    Gradients of norm below 1e-150 count as 0: their squares are near where floats end.
    """

    ledger: Ledger | None = None
    # whether a gradient may be refused after `_check_gradient` has let it pass, and whether that
    # shows before anything is learnt
    _may_refuse_gradient = False
    _refuses_unchanged = False

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = count("dim", dim)
        claim(self.dim)  # here, so that not even a domain is asked about a made-up dimension
        self._warned = False

    @property
    def _may_refuse_time(self) -> bool:
        """Whether `_propose` may refuse a time: a kernel, one before the first it lives on."""
        return not self._started

    def _propose(self, time: float) -> Array:
        """Move to `time` and return the play, (dim,). Not needed with an `_open` of one's own."""
        raise NotImplementedError(f"{type(self).__name__} proposes nothing")

    @abstractmethod
    def _check_gradient(self, g: Array, size: float) -> None:
        """Raise ValueError if the learner cannot take g, of norm `size`."""

    def _learn(self, g: Array, play: Array) -> None:
        """Take in the gradient of the open round. Not needed with a `_close` of one's own."""
        raise NotImplementedError(f"{type(self).__name__} learns nothing")

    def predict(self, time: float | None = None) -> Array:
        """Return the play for the coming round.

        Parameters
        ----------
        time : float, optional
            When the round is, for irregular streams; the last one + 1 if left out.

        Returns
        -------
        array of shape (dim,)
        """
        play: Array = self._begin(time) if time is not None or not self._is_open else self._answer
        return play.copy()

    def update(self, g: ArrayLike, time: float | None = None) -> None:
        """Learn from a subgradient at the play of the open round.

        Parameters
        ----------
        g : array of shape (dim,)
            The subgradient; with dim 1 a plain number will do.
        time : float, optional
            When the round is; a round is opened there if none is open.
        """
        gradient = self._accept(g)
        if time is not None and (self._is_open or self._started):
            self._refuse_late(time)
        if self._may_refuse_gradient and not (self._is_open and self._refuses_unchanged):
            with rollback_on_error(self):
                self._take(gradient, time)
        else:
            self._take(gradient, time)

    def _take(self, gradient: Array, time: float | None) -> None:
        """Learn from a gradient that `_accept` has let pass."""
        if not self._is_open:
            self._begin(time)
        self._end(gradient)

    def _open(self, when: float, x: None) -> Array:
        ledger = self.ledger
        if ledger is None or ledger.shared:
            return self._propose(when)
        if not self._started:
            # a kernel may refuse a time before the first it lives on
            ledger.memory.kernel.diagonal(when)
        play = self._propose(when)
        ledger.advance(when)
        return play

    def _close(self, feedback: Array | None) -> None:
        if feedback is None:
            return
        ledger, play = self.ledger, self._answer
        # a memory of its own may refuse the gradient, so it goes first; a shared one is filled by
        # `_learn`
        if ledger is not None and not ledger.shared:
            ledger.record(feedback, play)
        self._learn(feedback, play)
        if ledger is not None and ledger.shared:
            ledger.record(feedback, play)

    @property
    def takes_losses(self) -> bool:
        """Whether `update_loss` uses more of a loss than its gradient at the play."""
        return False

    def update_loss(self, loss: LossLike, time: float | None = None) -> None:
        """Learn from the loss of the open round.

        The same as `update` with the gradient at the play, except for learners that can use more
        (`takes_losses`).

        Parameters
        ----------
        loss : object with value(w) and gradient(w)
            Such as `Absolute().on(y)[t]`.
        time : float, optional
            When the round is.
        """
        as_loss(loss)
        # what is wrong with a loss shows once the round is open: one that this call opened must not
        # stay so
        with nullcontext() if self._is_open else rollback_on_error(self):
            self.update(loss.gradient(self.predict(time)))

    def _accept(self, g: ArrayLike) -> Array:
        """A copy of g that the learner can take, or ValueError."""
        if type(g) is np.ndarray and g.shape == (self.dim,) and g.dtype is _FLOAT:
            gradient = g.copy()
        else:
            gradient = np.array(vector("g", g, self.dim, _REMEDY))
        size = float(usable_norm(gradient))
        if not math.isfinite(size):
            finite("g", gradient, _REMEDY)
            raise ValueError(
                f"g must have norm at most {LARGEST:g}: got norm {norm(gradient)}; rescale the"
                " losses"
            )
        self._check_gradient(gradient, size)
        return gradient

    def _refuse_late(self, time: float) -> None:
        if time == self.time if self._is_open else number("time", time) > self.time:
            return
        raise ValueError(
            f"time must be that of the open round: got {time} while the last round is at"
            f" {self.time}; {type(self).__name__} takes feedback in order, so skip() rounds whose"
            " feedback is late"
        )

    def certificate(self, radius: float) -> float:
        """Return the linearised regret so far against the worst comparator with ‖U‖ ≤ radius.

        Exactly Σ⟨g_s, w_s⟩ + radius·‖Σ g_s⊗φ(τ_s)‖, in the norm of the kernel that is run: where
        `HorizonFree` streams that is its mixture, whose norm is within its accuracy of the kernel's
        own. Comparators outside a domain count, too.
        """
        if self.ledger is None:
            raise ValueError(
                f"{type(self).__name__} keeps no certificate: name a kernel to measure comparators"
                " by, certify=..."
            )
        return self.ledger.certificate(nonnegative("radius", radius))

    @property
    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: floats, and arrays that are copies."""
        play = {"play": self._answer.copy()} if self._is_open else {}
        ledger = (
            {}
            if self.ledger is None
            else {f"ledger.{key}": value for key, value in self.ledger.arrays().items()}
        )
        clock = {
            "rounds": self.rounds,
            "time": self.time,
            "started": self._started,
            "warned": self._warned,
        }
        return {**clock, **play, **ledger}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state that `arrays` returned, in a learner built from the same `config`."""
        self.rounds = int(state["rounds"])
        self.time = float(state["time"])
        self._started = bool(state["started"])
        self._warned, self._is_open = bool(state["warned"]), "play" in state
        self._answer = stored(state, "play", self.dim) if self._is_open else None
        if self.ledger is not None:
            self.ledger.restore(under(state, "ledger."))

    def _can_compile(self) -> bool:
        """Whether `_play_block` can take over now."""
        return False

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play a block of rounds from `first` on in compiled code; returns how many.

        Writes plays, losses, gradients and, with a ledger, linear (running Σ⟨g, w⟩) and norms into
        the rows of `out`: the numbers that predict and update would give. A round whose gradient is
        refused is left open, and raises.
        """
        raise NotImplementedError(f"{type(self).__name__} has no compiled form")

    def _finish_block(
        self, times: Array, first: int, played: int, asked: int, out: dict[str, Array]
    ) -> int:
        """Enter `played` rounds of a block in ledger, clock and `out`.

        A round that stopped the block is opened, and its gradient refused.
        """
        done = slice(first, first + played)
        if self.ledger is not None:
            self.ledger.replay(
                times[done],
                out["gradients"][done],
                out["plays"][done],
                out["linear"][done],
                out["norms"][done],
            )
        self.rounds += played
        if played:
            self.time, self._started = float(times[first + played - 1]), True
        if played < asked:
            self.time, self._started = float(times[first + played]), True
            self._answer, self._is_open = out["plays"][first + played].copy(), True
            if self.ledger is not None:
                self.ledger.advance(self.time)
            self.update(out["gradients"][first + played])  # raises, naming what is wrong with it
        return played

    def _warn_saturated(self, cap: float) -> None:
        """Say, once, that plays have stopped growing."""
        if not self._warned:
            self._warned = True
            warn(
                f"the play saturated at {cap:g}: the gradients never turn; give a bounded domain=,"
                " such as sp.domains.Ball(radius), where the learner has one, or check the sign of"
                " the gradients"
            )
