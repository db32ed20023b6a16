"""Predict, then learn: players over one stream, the first quarter unscored."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array, count
from stillpoint.lab.bench.contenders import complaint
from stillpoint.lab.real.players import Entrant, Player
from stillpoint.lab.streams.real.base import REGRESSION, RealStream

FLOOR = 1e-4  # probabilities are raised to it, everybody's alike: one round can cost 9.2 at most
_SHORTEST = 20
_WARM = 3  # rounds of a throwaway player, so that compilation is not timed


@dataclass(frozen=True)
class Score:
    """How one player did on one stream.

    Attributes
    ----------
    rounds
        Played; the first quarter of them is not scored.
    loss
        Mean squared error over the variance of the first quarter's targets, or log loss; None if
        the player failed or was not finite.
    errors
        Share of wrong classes.
    us
        µs a round, divided by the number of settings where there are several.
    starred
        The setting was chosen in hindsight.
    note
        Why there is no loss.
    missing
        Because the player's package is not installed.
    """

    stream: str
    player: str
    rounds: int
    loss: float | None
    errors: float | None = None
    us: float | None = None
    setting: str = ""
    starred: bool = False
    note: str = ""
    missing: bool = False


def prequential(player: Player, X: Array, y: NDArray[Any]) -> tuple[Array, float]:
    """Forecasts of all rounds, each made before its target was shown, and the seconds that took."""
    forecasts: list[Any] = []
    start = perf_counter()
    for x, target in zip(X, y.tolist(), strict=True):
        forecasts.append(player.predict(x))
        player.learn(x, target)
    return np.asarray(forecasts, dtype=np.float64), perf_counter() - start


def squared_loss(forecasts: Array, y: Array) -> Array:
    """Mean squared error over the variance of the first quarter's targets, one per setting.

    The first quarter is not scored.
    """
    first = scored_from(y)
    unit = float(y[:first].var())
    if not unit > 0.0:
        raise ValueError(
            f"y must vary in its first quarter: got {y[0]} throughout; give a stream that does"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(
            ((forecasts.reshape(y.size, -1) - y[:, None])[first:] ** 2).mean(axis=0) / unit
        )


def log_loss(probabilities: Array, y: NDArray[Any]) -> tuple[Array, Array]:
    """Mean log loss and share of wrong classes after the first quarter, one a setting."""
    first = scored_from(y)
    p = probabilities.reshape(y.size, -1, probabilities.shape[-1])[first:]
    right = y[first:, None]
    wrong = (p.argmax(axis=2) != right).mean(axis=0)
    raised = np.maximum(p, FLOOR)
    own = np.take_along_axis(raised, right[:, :, None], axis=2)[:, :, 0] / raised.sum(axis=2)
    return -np.log(own).mean(axis=0), wrong


def scored_from(y: NDArray[Any]) -> int:
    """The first round that counts."""
    if y.size < _SHORTEST:
        raise ValueError(
            f"y must have {_SHORTEST} rounds or more: got {y.size}; a quarter of them is not scored"
        )
    return int(y.size) // 4


def compete(
    stream: RealStream, players: Sequence[Entrant], rounds: int | None = None
) -> tuple[list[Score], dict[str, Array]]:
    """Play everybody over the first `rounds` of the stream.

    Returns scores, and the forecasts of those that play one setting.

    A player with several settings leaves its best in hindsight, starred, and its last by itself if
    it has a plain name. One that fails, or whose package is missing, leaves a score that says why.
    """
    T = len(stream) if rounds is None else min(len(stream), count("rounds", rounds))
    X, y = np.ascontiguousarray(stream.X[:T]), stream.y[:T]
    scored_from(y)
    scores: list[Score] = []
    kept: dict[str, Array] = {}
    for each in players:
        if stream.task not in each.tasks or (each.series and not stream.period):
            continue
        if not _installed(each.needs):
            note = f"{each.needs} is not there; pip install 'stillpoint[real]'"
            scores.append(Score(stream.name, each.name, T, None, note=note, missing=True))
            continue
        try:
            prequential(each.build(stream), X[:_WARM], y[:_WARM])
            forecasts, seconds = prequential(each.build(stream), X, y)
            scores += _score(stream, each, forecasts, y, 1e6 * seconds / T)
            if not each.settings:
                kept[each.name] = forecasts
        # one player's fault must not cost the run of all others; the score keeps it
        except Exception as failure:
            scores.append(Score(stream.name, each.name, T, None, note=complaint(failure)))
    return scores, kept


def best_setting(losses: Array) -> int:
    """The least loss; settings that are not finite never win."""
    return int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))


def _score(
    stream: RealStream, each: Entrant, forecasts: Array, y: NDArray[Any], us: float
) -> list[Score]:
    wrong: Array | None = None
    if stream.task == REGRESSION:
        losses = squared_loss(forecasts, y)
    else:
        losses, wrong = log_loss(forecasts, y)

    def one(k: int, name: str, starred: bool) -> Score:
        loss = float(losses[k]) if np.isfinite(losses[k]) else None
        errors = float(wrong[k]) if wrong is not None and loss is not None else None
        setting = each.settings[k] if each.settings else ""
        note = "" if loss is not None else "not finite"
        return Score(
            stream.name, name, int(y.size), loss, errors, us / losses.size, setting, starred, note
        )

    if not each.settings:
        return [one(0, each.name, False)]
    scores = [one(best_setting(losses), each.name, True)]
    return [*scores, one(losses.size - 1, each.plain, False)] if each.plain else scores


def _installed(module: str) -> bool:
    """Whether a module can be imported; none can always."""
    return not module or find_spec(module) is not None
