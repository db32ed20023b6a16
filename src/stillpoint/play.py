"""Play a learner on a stream of losses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.arithmetic import running_dot
from stillpoint.core.learner import untimed
from stillpoint.core.validation import Array, finite, increasing, number, shown, vector
from stillpoint.losses import Linear, LossStream
from stillpoint.run import Run

_SKIP = "leave rounds without a usable gradient out"


class Playable(Protocol):
    """What `play` needs of a learner.

    `predict` may take the `time` of the round; the learner may also have `dim`, and the `time` of
    its last round.
    """

    def predict(self) -> Any:
        """The play of the coming round."""

    def update(self, g: Any) -> None:
        """Its gradient."""


@runtime_checkable
class Compiled(Protocol):
    """A learner that may have a compiled loop over rounds; see `GradientLearner`."""

    def _can_compile(self) -> bool: ...

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int: ...


def play(
    learner: Playable,
    losses: LossStream | ArrayLike | Iterable[Any],
    *,
    times: ArrayLike | None = None,
    label: str | None = None,
    progress: bool = False,
) -> Run:
    """Play a learner on a stream of losses and record what happens.

    Parameters
    ----------
    learner
        Anything with `predict()`, which returns an array (dim,), and `update(g)`; where predict
        takes a `time`, it is given that of the round.
    losses
        A `LossStream` (`sp.losses.Absolute().on(y)`), an array (T, dim) of gradients of linear
        losses, or any iterable of objects with `value(w)` and `gradient(w)`.
    times
        When each round is; default: the stream's own, else one apart.
    label
        What the run is called in figures; default: the learner's class.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Run
        The plays, losses and gradients, with the curves that follow from them.

    Notes
    -----
    Built-in losses run in compiled code where the learner has it, with the same numbers as predict
    and update would give. Learners that take losses are given them, others the gradients.
    """
    if isinstance(learner, type) or not all(
        callable(getattr(learner, name, None)) for name in ("predict", "update")
    ):
        # an object by its type: its address would differ from cell to cell of an experiment
        given = shown(learner) if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise ValueError(
            f"learner must have predict() and update(g): got {given}; build one, such as"
            " sp.Tracker(dim=1)"
        )
    stream: LossStream | list[Any]
    if isinstance(losses, LossStream):
        stream = losses
    elif isinstance(losses, np.ndarray):
        stream = Linear().on(losses)
    else:
        stream = _rounds(losses)
    last, dim = float(getattr(learner, "time", 0.0)), int(getattr(learner, "dim", 0))
    dim = dim or getattr(stream, "dim", 0)
    if isinstance(stream, LossStream) and stream.dim != dim:
        raise ValueError(
            f"losses must have the learner's dimension {dim}: got {stream.dim}; match dim"
            " and the data"
        )
    rounds = len(stream)
    if times is None and isinstance(stream, LossStream):
        times = stream.times
    when = untimed(last, rounds) if times is None else increasing("times", times)
    if when.shape != (rounds,):
        raise ValueError(
            f"times must hold one time a round: got {when.size} for {rounds} rounds; match their"
            " lengths"
        )
    if rounds and last >= when[0] and getattr(learner, "rounds", 0):
        raise ValueError(
            f"times must come after the learner's last round at {last}: got {when[0]}; shift them"
        )

    if not dim:  # only its plays tell
        dim = np.size(_predict(learner)(when[0] if rounds else last + 1.0))
    out = {"losses": np.empty(rounds), "linear": np.empty(rounds), "norms": np.full(rounds, np.nan)}
    out["plays"] = np.empty((rounds, dim))
    out["gradients"] = np.empty((rounds, dim))
    with _progress(rounds, progress) as advance:
        if (
            isinstance(learner, Compiled)
            and isinstance(stream, LossStream)
            and learner._can_compile()
        ):
            done = 0
            while done < rounds:
                n = learner._play_block(stream, when, done, out)
                done += n
                advance(n)
        else:
            _play_interactively(learner, stream, when, out, advance)
    if getattr(learner, "ledger", None) is None:
        running_dot(out["gradients"], out["plays"], 0.0, out["linear"])
    called = type(learner).__name__ if label is None else label
    return Run(times=when, stream=stream, label=called, **out)


def _rounds(losses: Any) -> LossStream | list[Any]:
    """Objects with value and gradient as they are; numbers as the gradients of linear losses."""
    try:
        rounds = list(losses)
    except TypeError:
        raise ValueError(
            f"losses must be a stream of rounds: got {losses!r}; build one with sp.losses, .on(y)"
        ) from None
    if all(hasattr(each, "gradient") and hasattr(each, "value") for each in rounds):
        return rounds
    return Linear().on(
        finite("losses", rounds, "pass a LossStream, gradients, or objects with value and gradient")
    )


def _play_interactively(
    learner: Playable, stream: Any, when: Array, out: dict[str, Array], advance: Any
) -> None:
    ledger, takes_losses = getattr(learner, "ledger", None), getattr(learner, "takes_losses", False)
    predict = _predict(learner)
    # losses of one's own may write on what they are given
    given: Callable[[Any], Any] = (lambda w: w) if isinstance(stream, LossStream) else copy
    for i, loss in enumerate(stream):
        w = predict(when[i])
        if np.size(w) != out["plays"].shape[1]:
            raise ValueError(
                f"losses must have the learner's dimension {np.size(w)}: got"
                f" {out['plays'].shape[1]}; match its plays and the data"
            )
        g = loss.gradient(given(w))
        out["plays"][i], out["gradients"][i] = w, vector("loss.gradient(w)", g, np.size(w), _SKIP)
        out["losses"][i] = number("loss.value(w)", loss.value(given(w)), "return one finite number")
        if takes_losses:
            learner.update_loss(loss)  # type: ignore[attr-defined]
        else:
            learner.update(g)
        if ledger is not None:
            out["linear"][i], out["norms"][i] = ledger.linear_loss, ledger.memory.norm
        advance(1)


def _predict(learner: Playable) -> Callable[[float], Any]:
    """Its `predict` of a round at a time, which is passed on if there is an argument for it."""
    predict: Any = learner.predict
    parameters = inspect.signature(predict).parameters.values()
    if any(each.name == "time" or each.kind is each.VAR_KEYWORD for each in parameters):
        return lambda time: predict(time=float(time))
    return lambda time: predict()


@contextmanager
def _progress(rounds: int, show: bool) -> Iterator[Any]:
    """A bar on the terminal, or nothing."""
    if not show:
        yield lambda n: None
        return
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task("playing", total=rounds)
        yield lambda n: bar.advance(task, n)
