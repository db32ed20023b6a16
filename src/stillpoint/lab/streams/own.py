"""Losses of one's own as a stream: any that `sp.play` takes, with a comparator or without."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, finite, positive
from stillpoint.lab.streams.base import Stream, largest_slope, largest_slope_within
from stillpoint.lab.streams.reactive import ReactiveStream
from stillpoint.losses import Linear, LossStream
from stillpoint.losses.function import FunctionStream

_LOSSES = (
    "a LossStream, an array of gradients, the rounds of from_function, or objects with value and"
    " gradient"
)


class OwnStream:
    """What `make(T, seed)` returns to `sp.lab.compare` where losses are functions of one's own.

    Parameters
    ----------
    losses
        What `sp.play` takes: a `LossStream`, an array (T, dim) of gradients, the rounds of
        `sp.losses.from_function`, or a sequence of objects with `value(w)` and `gradient(w)`.
    target
        The comparator that regret is against, (T, dim), or (T,) where dim is 1. Default: none, and
        then there is no regret, only loss.
    dim
        The dimension of plays; needed where neither the losses nor a target tell it.
    lipschitz
        G, for learners that are told it. Default: that of built-in losses, else infinite, which
        such learners refuse.
    radius
        D, the largest norm of comparators, for learners that are told it. Default: that of the
        target, else infinite, which such learners refuse.
    """

    unit = 1.0

    def __init__(
        self,
        losses: Any,
        target: ArrayLike | None = None,
        *,
        dim: int | None = None,
        lipschitz: float | None = None,
        radius: float | None = None,
    ) -> None:
        rounds = _rounds(losses)
        if rounds is None:
            raise ValueError(f"losses must be what sp.play takes: got {losses!r}; pass {_LOSSES}")
        self.losses: LossStream | FunctionStream | list[Any] = rounds
        self.target = None if target is None else finite("target", target)
        if self.target is not None and self.target.ndim == 1:
            self.target = self.target[:, None]
        known = getattr(self.losses, "dim", None)
        if known is None and self.target is not None and self.target.ndim == 2:
            known = self.target.shape[1]
        if known is None and dim is None:
            raise ValueError(
                "dim must be given for losses that do not tell it: got None; pass"
                " OwnStream(losses, dim=...), or a target"
            )
        self.dim = count("dim", known if dim is None else dim)
        if known not in (None, self.dim):
            raise ValueError(f"dim must be that of the losses, {known}: got {dim}; leave it out")
        if self.target is not None and self.target.shape != (len(self), self.dim):
            raise ValueError(
                f"target must have shape {(len(self), self.dim)}: got {self.target.shape}; give one"
                " point a round"
            )
        self._slope = None if lipschitz is None else positive("lipschitz", lipschitz)
        self._radius = None if radius is None else positive("radius", radius)

    def __repr__(self) -> str:
        return f"<OwnStream of {self.losses!r}, dimension {self.dim}>"

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def lipschitz(self) -> float:
        """A bound on gradient norms at every play; infinite where none is known."""
        return self.lipschitz_within(math.inf)

    def lipschitz_within(self, radius: float) -> float:
        """A bound on gradient norms in a ball of that radius; infinite where none is known."""
        if self._slope is not None:
            return self._slope
        if not isinstance(self.losses, LossStream):
            return math.inf
        if math.isinf(radius):
            return largest_slope(self.losses)
        return largest_slope_within(self.losses, radius)

    @property
    def radius(self) -> float:
        """The largest norm of comparators; infinite where it is not known."""
        if self._radius is not None:
            return self._radius
        if self.target is None:
            return math.inf
        return float(np.linalg.norm(self.target, axis=1).max())

    def values(self, u: Array) -> Array:
        """The loss of plays, (T, dim), in each round, shape (T,)."""
        if isinstance(self.losses, list):
            return np.array([loss.value(w) for loss, w in zip(self.losses, u, strict=True)])
        return self.losses.values(u)


def as_stream(made: Any) -> Stream | ReactiveStream | OwnStream:
    """What a `make(T, seed)` returned, as a stream."""
    if isinstance(made, Stream | ReactiveStream | OwnStream):
        return made
    rounds = _rounds(made)
    if rounds is None:  # named by its type, so that all cells fail in the same words
        raise ValueError(
            f"make must return a stream, or losses that sp.play takes: got a {type(made).__name__};"
            f" return {_LOSSES}, or with a comparator OwnStream(losses, target)"
        )
    return OwnStream(rounds)


def _rounds(losses: Any) -> LossStream | FunctionStream | list[Any] | None:
    """The losses of each round; None where these are no losses."""
    if isinstance(losses, np.ndarray):
        return Linear().on(losses)
    if isinstance(losses, LossStream | FunctionStream):
        return losses
    try:
        rounds = list(losses)
    except TypeError:
        rounds = []
    if rounds and all(hasattr(each, "value") and hasattr(each, "gradient") for each in rounds):
        return rounds
    return None
