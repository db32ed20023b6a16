"""One cell of a comparison: a play with its curves, adaptive regret, switching cost and time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.bench.contenders import Contender, attempted, facts_of
from stillpoint.lab.store import SweepRow
from stillpoint.lab.streams.own import OwnStream, as_stream
from stillpoint.lab.streams.reactive import ReactiveStream
from stillpoint.lab.streams.registry import AnyStream, Spec
from stillpoint.learners import GradientLearner
from stillpoint.losses import Absolute, Huber, LossStream, Pinball, Squared
from stillpoint.losses import _pointwise as p
from stillpoint.losses.function import FunctionRound, FunctionStream
from stillpoint.play import play
from stillpoint.regret.adaptive import AdaptiveRegret, adaptive_regret

_POINTS = 100  # of each kind: spaced evenly, and by equal factors
_WARM = 4  # rounds played before the clock starts, so that nothing is compiled on it
_FORECAST = (Squared, Absolute, Pinball, Huber)  # whose predictions are on the scale of targets


@dataclass(frozen=True)
class CurveRow(SweepRow):
    """One cell with its curves.

    Parameters
    ----------
    adaptive
        The largest regret on an interval of the geometric cover; None where no best play is known.
    switching
        Σ‖w_t − w_{t−1}‖; None for learners that forecast and have no play.
    at
        Rounds, counted from 1, at which the curves are kept.
    regrets, losses
        Regret and total loss after these rounds; no regrets where there is no comparator.
    intervals
        The largest regret on an interval of length 2^k, for each k.
    """

    types: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("adaptive", "switching"), "float64"),
        **dict.fromkeys(("at", "regrets", "losses", "intervals"), "curve"),
    }

    adaptive: float | None = None
    switching: float | None = None
    at: tuple[float, ...] = ()
    regrets: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    intervals: tuple[float, ...] = ()

    @property
    def us(self) -> float:
        """µs a round."""
        return self.seconds / self.at[-1] * 1e6


@dataclass(frozen=True, eq=False)
class _Played:
    """What a learner did: losses, and plays with their gradients where it has plays."""

    losses: Array
    seconds: float
    plays: Array | None = None
    gradients: Array | None = None


def kept_rounds(rounds: int) -> Array:
    """The rounds, from 1, at which curves are kept: dense enough on linear and on log axes."""
    even = np.linspace(1.0, rounds, min(_POINTS, rounds)).astype(np.int64)
    by_factors = np.geomspace(1.0, rounds, min(_POINTS, rounds)).astype(np.int64)
    return np.union1d(np.union1d(even, by_factors), [rounds])


def play_cell(player: Contender, spec: Spec, horizon: int, seed: int) -> CurveRow:
    """Play one cell; what is raised is kept as text."""
    from stillpoint import __version__

    key = player.name, player.assumes, spec.name, horizon, seed
    found, error, warning = attempted(lambda: _measured(player, spec, horizon, seed))
    measures = found or {"regret": None, "loss": None, "seconds": 0.0}
    return CurveRow(*key, **measures, version=__version__, error=error, warning=warning)


def _measured(player: Contender, spec: Spec, horizon: int, seed: int) -> dict[str, Any]:
    stream = as_stream(spec.make(horizon, seed))
    facts = facts_of(stream, seed)
    if isinstance(stream.losses, LossStream | FunctionStream):
        _play(player.build(facts), _first(stream.losses, _WARM))
    played = _play(player.build(facts), stream.losses)
    at, totals = kept_rounds(played.losses.size), np.cumsum(played.losses)
    regrets = _regrets(played, stream)
    if not math.isfinite(end := float((totals if regrets is None else regrets)[-1])):
        raise ValueError(f"{'loss' if regrets is None else 'regret'} must be finite: got {end}")
    adaptive = _adaptive(played, stream, facts.radius)
    return {
        "regret": None if regrets is None else end,
        "loss": float(totals[-1]),
        "seconds": played.seconds,
        "adaptive": None if adaptive is None else adaptive.largest,
        "switching": None if played.plays is None else _path(played.plays),
        "at": tuple(at.astype(float).tolist()),
        "regrets": () if regrets is None else tuple(regrets[at - 1].tolist()),
        "losses": tuple(totals[at - 1].tolist()),
        "intervals": () if adaptive is None else tuple(adaptive.worst.tolist()),
    }


def _regrets(played: _Played, stream: AnyStream | OwnStream) -> Array | None:
    """Against the stream's comparator, after each round; None where it has none."""
    target = stream.target
    if target is None:
        return None
    judge = stream if isinstance(stream, OwnStream) else _fixed(stream)
    return np.cumsum(played.losses - judge.values(target))


def _fixed(stream: AnyStream) -> LossStream:
    """The losses, an adversary's as it has answered."""
    return stream.game.losses if isinstance(stream, ReactiveStream) else stream.losses


def _play(learner: Any, losses: Any) -> _Played:
    """Play a gradient learner, or track with a forecaster of the targets."""
    if hasattr(learner, "track") and not isinstance(learner, GradientLearner):
        return _track(learner, losses)
    start = perf_counter()
    run = play(learner, losses)
    return _Played(run.losses, perf_counter() - start, run.plays, run.gradients)


def _track(learner: Any, losses: Any) -> _Played:
    if (
        not isinstance(losses, LossStream)
        or losses.mode == p.VECTOR
        or not isinstance(losses.loss, _FORECAST)
    ):
        raise ValueError(
            f"streams must have targets for {type(learner).__name__}, which forecasts them: got"
            f" {losses!r}; leave that learner out"
        )
    y = losses.y[:, 0]
    rows = (losses.x, y) if losses.mode == p.FEATURES else (y,)
    start = perf_counter()
    forecasts = learner.track(*rows, times=losses.times)
    seconds = perf_counter() - start
    return _Played(np.asarray(losses.loss.value(forecasts, y)), seconds)


def _first(
    losses: LossStream | FunctionStream, rounds: int
) -> LossStream | tuple[FunctionRound, ...]:
    if isinstance(losses, FunctionStream):
        return losses.rounds[:rounds]
    times = None if losses.times is None else losses.times[:rounds]
    x = losses.x[:rounds] if losses.mode == p.FEATURES else losses.x
    return LossStream(losses.loss, losses.y[:rounds], x, losses.mode, times)


def _path(plays: Array) -> float:
    return float(np.linalg.norm(np.diff(plays, axis=0), axis=1).sum())


def _adaptive(
    played: _Played, stream: AnyStream | OwnStream, radius: float
) -> AdaptiveRegret | None:
    """Against any fixed play where one is best; else in the ball; else linearised, in the ball."""
    losses = stream.losses if isinstance(stream, OwnStream) else _fixed(stream)
    nothing = np.empty((len(losses), 0))
    plays, gradients = (
        nothing if part is None else part for part in (played.plays, played.gradients)
    )
    for reach, linear in ((None, False), (radius, False), (radius, True)):
        if linear and played.gradients is None:
            return None
        try:
            return adaptive_regret(played.losses, losses, plays, gradients, None, reach, linear)
        except ValueError:
            continue
    return None
