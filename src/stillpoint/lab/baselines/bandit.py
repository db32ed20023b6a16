"""Bandit feedback for any gradient learner: values of the loss at one or two points a round.

With x the learner's play and s uniform on the sphere, the point z + δs, z = (1 − δ/r)x, is played,
and (d/δ)(f(z + δs) − b)s (Flaxman, Kalai & McMahan 2005) or (d/(2δ))(f(z + δs) − f(z − δs))s
(Agarwal, Dekel & Xiao 2010) estimates the gradient at z of f smoothed over a ball of radius δ. As
the mean of s is 0, b may be anything known before: the last value (Zhang et al. 2022) tells the
size of the loss from its slope.
"""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core import learner as rounds
from stillpoint.core.learner import Learner, not_finite_in
from stillpoint.core.state import rollback_on_error
from stillpoint.core.validation import Array, finite, number, positive, under
from stillpoint.domains import Ball
from stillpoint.lab.baselines import _bandit
from stillpoint.lab.baselines._directions import direction
from stillpoint.lab.baselines.ogd import OGD
from stillpoint.lab.online.base import BLOCK, Baseline
from stillpoint.lab.online.ensemble import Ensemble
from stillpoint.learners import Tracker
from stillpoint.learners.base import GradientLearner
from stillpoint.losses import LossStream
from stillpoint.losses._pointwise import Outputs
from stillpoint.losses.stream import LossLike, as_loss

_MOST_SEEDS = 1 << 20


class Bandit(Learner):
    """A gradient learner that is told values of the loss only.

    `predict()` plays a point, `queries` has all points of the round, and `update(values)` takes
    the loss at each. `sp.play` does so by itself.

    Parameters
    ----------
    learner
        A new gradient learner; it belongs to the bandit from here on. It need not be told more
        than it ever is: `Bandit(sp.Tracker(d))` is told nothing.
    points
        1 or 2: how many values a round has.
    explore
        δ in the first round; δ_t = explore/t^¼ with one point, explore/√t with two, so that no
        horizon is needed. Default: `inner`, or 1.
    inner
        r, where plays must stay in the learner's domain: the radius of a ball around 0 inside it.
        δ_t is at most r/2 then. Default: that of the learner's domain where it is such a ball,
        else nothing is held back.
    baseline
        Whether the last value is subtracted, with one point; the first round then only tells it.
    seed
        Of the directions.
    """

    def __init__(
        self,
        learner: GradientLearner,
        *,
        points: int = 1,
        explore: float | None = None,
        inner: float | None = None,
        baseline: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(learner, GradientLearner) or learner.rounds or learner._is_open:
            raise ValueError(
                f"learner must be a new gradient learner: got {learner!r}; build it anew"
            )
        if learner.takes_losses:
            raise ValueError(
                f"learner must do with gradients: got {learner!r}, which must be shown losses;"
                " build it to see gradients at the play only"
            )
        if isinstance(points, bool) or points not in (1, 2):
            raise ValueError(f"points must be 1 or 2: got {points!r}; choose one")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MOST_SEEDS:
            raise ValueError(
                f"seed must be a whole number from 0 to {_MOST_SEEDS - 1}: got {seed!r}; give one"
            )
        self.learner, self.points, self.seed = learner, int(points), seed
        self.dim, self.baseline = learner.dim, bool(baseline)
        self._given = (explore, inner)
        domain = getattr(learner, "domain", None)
        if inner is None and isinstance(domain, Ball) and not np.any(domain.center):
            inner = domain.radius
        self.inner = None if inner is None else positive("inner", inner)
        self.explore = positive("explore", (self.inner or 1.0) if explore is None else explore)
        self._power = -0.25 if self.points == 1 else -0.5
        self.observed = 0
        self._last = 0.0  # the last value

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew, once the learner in it is."""
        explore, inner = self._given
        return {
            "learner": self.learner,
            "points": self.points,
            "explore": explore,
            "inner": inner,
            "baseline": self.baseline,
            "seed": self.seed,
        }

    def exploration(self) -> float:
        """δ of the coming round, or the open one."""
        return float(_bandit.width(self.explore, self._power, self._room, self.observed + 1.0))

    @property
    def _room(self) -> float:
        """r, infinite where nothing is held back."""
        return math.inf if self.inner is None else self.inner

    @property
    def takes_losses(self) -> bool:
        """`sp.play` shows it the losses; it asks for values only."""
        return True

    @property
    def queries(self) -> Array:
        """The points of the open round, shape (points, dim); opens one if none is."""
        return np.array(self._begin())

    def predict(self, time: float | None = None) -> Array:
        """The play of the coming round: the first of its points, shape (dim,)."""
        return np.array(self._begin(time)[0])

    def _open(self, when: float, x: None) -> Array:
        play, points, s = self.learner.predict(when), np.empty((2, self.dim)), np.empty(self.dim)
        delta, room = self.exploration(), self._room
        _bandit.look_around(play, delta, room, self.seed, self.rounds, s, points[0], points[1])
        return points[: self.points]

    def update(self, values: ArrayLike, time: float | None = None) -> None:
        """Tell the loss at each of the points: a number, or two."""
        told = np.atleast_1d(finite("values", values, "call skip() for a round without a value"))
        if told.shape != (self.points,):
            raise ValueError(
                f"values must be {self.points}, one a point: got shape {told.shape}; evaluate the"
                " loss at `queries`"
            )
        # the learner may refuse the estimate, once the round is open
        with nullcontext() if self._is_open else rollback_on_error(self):
            self._begin(time)
            self._end(told)

    def update_loss(self, loss: LossLike, time: float | None = None) -> None:
        """Ask a loss for its values at the points."""
        as_loss(loss)
        with nullcontext() if self._is_open else rollback_on_error(self):
            points = self._begin(time)
            self.update([number("loss.value", loss.value(each.copy())) for each in points])

    def _close(self, feedback: Array | None) -> None:
        if feedback is None:
            self.learner.skip()
            return
        if self.points == 2:
            change = 0.5 * float(feedback[0] - feedback[1])
        else:
            change = float(feedback[0]) - (self._last if self.baseline else 0.0)
        if self.points == 1 and self.baseline and self.observed == 0:
            self.learner.skip()
        else:
            g, s = np.empty(self.dim), np.empty(self.dim)
            direction(self.seed, self.rounds, s)
            _bandit.estimate(change, self.exploration(), self._room, s, g)
            self.learner.update(g)
        self._last = float(feedback[0])
        self.observed += 1

    # in bulk

    def _can_compile(self) -> bool:
        """Whether there is a loop for the learner inside, and no round is open."""
        inside = self.learner
        known = type(inside) in (OGD, Ensemble, Tracker)
        return known and not self._is_open and inside.ledger is None and inside._can_compile()

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play a block of rounds in compiled code; see `GradientLearner._play_block`."""
        inside = self.learner
        asked = min(BLOCK, times.size - first)
        if self.points == 1 and self.baseline and self.observed == 0:
            asked, played = 1, 0  # the round that the learner skips
        else:
            if isinstance(inside, Tracker):
                asked = inside._until_due(asked)
            played = self._play_compiled(losses, slice(first, first + asked), out)
            inside._finish_block(times, first, played, played, out)
            if isinstance(inside, Baseline):
                inside.observed += played
        if played:
            self.rounds += played
            self.observed += played
            self.time, self._started = float(times[first + played - 1]), True
        if played < asked:
            at = first + played
            loss, w = losses[at], self.predict(float(times[at]))
            out["plays"][at], out["gradients"][at] = w, loss.gradient(w)
            out["losses"][at] = loss.value(w)
            self.update_loss(loss)  # raises, naming what is wrong with it, but for a first round
            played += 1
        return played

    def _play_compiled(self, losses: LossStream, rows: slice, out: dict[str, Array]) -> int:
        """Play rounds up to one that cannot be learnt from; returns how many."""
        inside = self.learner
        rule = _bandit.Rule(
            self.explore, self._power, self._room, self.points, int(self.baseline), self.seed
        )
        memory = _bandit.Memory(
            *(np.array([float(n)]) for n in (self.observed, self.rounds, self._last))
        )
        results = Outputs(*(out[name][rows] for name in Outputs._fields))
        told = rule, memory, losses.compiled.part(rows), results
        if isinstance(inside, Tracker):
            n = _bandit.play_tracker(inside._state, inside._bank, inside._region, *told)
            inside._warn_if_saturated()
        elif isinstance(inside, Ensemble):
            n = _bandit.play_ensemble(inside._bank, inside._rule, *told)
        else:
            assert isinstance(inside, OGD)
            n = _bandit.play_ogd(inside._state, inside._rule, inside.observed, *told)
        self._last = float(memory.last[0])
        return int(n)

    # saving

    @property
    def _not_finite(self) -> frozenset[str]:
        return not_finite_in("learner.", self.learner)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        clock = {"rounds": self.rounds, "time": self.time, "started": self._started}
        inside = {f"learner.{name}": value for name, value in self.learner.arrays().items()}
        own = {"observed": self.observed, "last": self._last, "open": self._is_open}
        return {**clock, **own, **inside}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.learner.restore(under(state, "learner."))
        self.rounds, self.observed = int(state["rounds"]), int(state["observed"])
        self.time, self._started = float(state["time"]), bool(state["started"])
        self._last, self._is_open = float(state["last"]), False
        self._answer = None
        if state["open"]:
            self._opened(self.time, self._open(self.time, None))

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state saved by an older version, as this one would."""
        return rounds.migrate_parts({"learner.": self.learner}, state)
