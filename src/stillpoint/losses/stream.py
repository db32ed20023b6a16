"""The rounds of a stream: one loss of the play each."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, positive, vector
from stillpoint.losses import _pointwise

if TYPE_CHECKING:
    from stillpoint.losses.base import Loss


class LossLike(Protocol):
    """The loss of a round, as a function of the play: `RoundLoss`, or an object of your own."""

    def value(self, w: Array) -> float:
        """The loss of w."""

    def gradient(self, w: Array) -> Array:
        """A subgradient at w."""


def as_loss(loss: Any) -> LossLike:
    """Return a learner's argument `loss`, made sure to have a value and a gradient."""
    if not (callable(getattr(loss, "value", None)) and callable(getattr(loss, "gradient", None))):
        raise ValueError(
            f"loss must have value(w) and gradient(w): got {loss!r}; pass a member of"
            " Absolute().on(y), or such"
        )
    return loss  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class RoundLoss:
    """The loss of one round, as a function of the play: a member of a `LossStream`.

    Parameters
    ----------
    stream : LossStream
        The rounds it is one of.
    index : int
        Which of them, counted from 0.
    """

    stream: "LossStream"
    index: int

    def value(self, w: ArrayLike) -> float:
        """Return the loss of the play `w`."""
        return self.stream.defined(float(_pointwise.loss(*self._round(w))))

    def gradient(self, w: ArrayLike) -> Array:
        """Return a subgradient at the play `w`, shape (dim,); at a kink, the family's choice."""
        result = np.empty(self.stream.dim)
        self.stream.defined(float(_pointwise.evaluate(*self._round(w), result)))
        return result

    def implicit_gradient(self, w: ArrayLike, step: float) -> Array:
        """Return the subgradient g at the proximal point, shape (dim,).

        w − step·g = argmin ‖v − w‖²/2 + step·ℓ(v). It is the gradient at w of the Moreau envelope
        of ℓ, and one at w itself in the limit of small steps.
        """
        result = np.empty(self.stream.dim)
        _pointwise.implicit(*self._round(w), positive("step", step), result)
        return result

    def _round(self, w: ArrayLike) -> tuple[int, float, int, Array, Array, Array]:
        code, parameter, y, x, mode = self.stream.compiled
        row = x[self.index] if mode == _pointwise.FEATURES else y[self.index]
        play = np.require(vector("w", w, self.stream.dim), requirements=["C", "W"])
        return code, parameter, mode, y[self.index], row, play


@dataclass(frozen=True, eq=False, repr=False)
class LossStream:
    """The losses of rounds 0, 1, …, T−1; build it with `Loss.on`.

    Parameters
    ----------
    loss : Loss
        The family.
    y : array of shape (T, k)
        The targets.
    x : array of shape (T, dim)
        The features; (0, dim) where there are none.
    mode : int
        How a play predicts, a constant of `_pointwise`.
    times : array of shape (T,), optional
        None for rounds one apart.
    """

    loss: "Loss"
    y: Array
    x: Array
    mode: int
    times: Array | None = None

    @property
    def dim(self) -> int:
        """The dimension of a play."""
        return int(self.x.shape[1])

    @property
    def compiled(self) -> _pointwise.Rounds:
        """The rounds as compiled functions take them."""
        return _pointwise.Rounds(self.loss.code, self.loss.parameter, self.y, self.x, self.mode)

    def __repr__(self) -> str:
        return f"<LossStream of {self.loss}: rounds {len(self):,}, dimension {self.dim}>"

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, t: int) -> RoundLoss:
        if not -len(self) <= t < len(self):
            raise IndexError(
                f"round {t} is not in the stream: it has {len(self)} rounds, counted from 0"
            )
        return RoundLoss(self, t % len(self))

    def __iter__(self) -> Iterator[RoundLoss]:
        return (RoundLoss(self, t) for t in range(len(self)))

    def values(self, u: ArrayLike) -> Array:
        """Return the loss of a comparator in each round.

        Parameters
        ----------
        u : array
            Shape (T, dim), one play a round, or (T,) when dim is 1; shape (dim,), one play for all
            rounds.
        """
        plays = finite("u", u)
        if self.dim == 1 and plays.shape in ((), (len(self),)):
            plays = plays.reshape(-1, 1)
        if plays.shape not in ((self.dim,), (1, self.dim), (len(self), self.dim)):
            raise ValueError(
                f"u must have shape ({len(self)}, {self.dim}) or ({self.dim},): got shape"
                f" {plays.shape}; pass one play a round, or one for all"
            )
        code, parameter, y, x, mode = self.compiled
        out = np.empty(len(self))
        _pointwise.losses(
            code,
            parameter,
            mode,
            y,
            x,
            np.array(np.broadcast_to(plays, (len(self), self.dim))),
            out,
        )
        self.defined(float(out.sum()))
        return out

    def defined(self, value: float) -> float:
        """Return `value`, or raise where it is NaN.

        That is a log loss outside its domain, or a loss whose terms are beyond all floats.
        """
        if math.isnan(value):
            if self.loss.code == _pointwise.LOG:
                raise ValueError(
                    "p must be positive for the log loss: got 0 or less; keep plays where p > 0"
                )
            name = type(self.loss).__name__
            raise ValueError(
                f"the {name} loss must be a number: got an overflow; rescale plays, features and"
                " targets"
            )
        return value
