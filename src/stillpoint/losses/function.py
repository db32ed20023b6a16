"""Losses of a user's own function, with gradients by automatic differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, real
from stillpoint.core.warning import warn
from stillpoint.losses._autodiff import Autodiff, choose, untraced

_CHECKED = 8  # rounds of a stream that are checked
_SCALES = (0.1, 1.0, 10.0)  # how far from a play points are drawn
_SLACK = 1e-9


@overload
def from_function(
    f: Callable[..., Any], *, backend: str | None = None, check: bool = True
) -> FunctionLoss: ...
@overload
def from_function(
    f: Sequence[Callable[..., Any]], *, backend: str | None = None, check: bool = True
) -> FunctionStream: ...
def from_function(
    f: Callable[..., Any] | Sequence[Callable[..., Any]],
    *,
    backend: str | None = None,
    check: bool = True,
) -> FunctionLoss | FunctionStream:
    """Make a loss of any function, differentiated automatically.

    Parameters
    ----------
    f
        f(w, *data), the loss of the play w, an array of shape (dim,), in a round with these data;
        or a sequence of functions f_t(w), one a round.
    backend : "jax", "torch" or "autograd"
        The package that differentiates. Default: the one whose functions f uses, or else the first
        that is installed. The library depends on none of them; without one this is refused.
    check
        Whether convexity is checked at points around the plays of the first rounds. Where it fails,
        a warning says so, once.

    Returns
    -------
    FunctionLoss or FunctionStream
        A loss, whose `on(*data)` makes the rounds of a stream; of a sequence, those rounds.

    Notes
    -----
    f must be made of functions that the package can follow (torch.abs, jnp.abs, or
    autograd.numpy's), all of which work in double precision. At a kink its gradient is the
    package's choice.
    """
    if callable(f):
        return FunctionLoss(f, choose(backend, f), check)
    functions = list(f) if isinstance(f, Iterable) else []
    if not functions or not all(map(callable, functions)):
        raise ValueError(
            f"f must be a function or functions, one a round: got {f!r}; pass f(w, *data)"
        )
    package, notice = choose(backend, functions[0]), _Notice(check)
    return FunctionStream(
        tuple(FunctionRound(FunctionLoss(each, package, check, notice), ()) for each in functions),
        None,
    )


class _Notice:
    """Whether convexity is still to be checked: it is warned of once."""

    def __init__(self, check: bool) -> None:
        self.left = _CHECKED if check else 0


class FunctionLoss:
    """A loss f(w, *data) with its gradient in w; build it with `from_function`."""

    def __init__(
        self,
        f: Callable[..., Any],
        package: Autodiff,
        check: bool = True,
        notice: _Notice | None = None,
    ) -> None:
        self.f, self._package = f, package
        self._notice = _Notice(check) if notice is None else notice

    def __repr__(self) -> str:
        return f"<FunctionLoss {self.name}, differentiated by {self.backend}>"

    @property
    def backend(self) -> str:
        """The package that differentiates."""
        return self._package.name

    @property
    def name(self) -> str:
        """What f is called."""
        return str(getattr(self.f, "__name__", type(self.f).__name__))

    def value(self, w: ArrayLike, *data: Any) -> float:
        """Return f(w, *data)."""
        return self._number(self._package.value(self.f, _play(w), data))

    def gradient(self, w: ArrayLike, *data: Any) -> Array:
        """Return the gradient in w, shape (dim,)."""
        play = _play(w)
        gradient = self._gradient(play, data)
        if self._notice.left:
            self._notice.left -= 1
            gap = self.convexity_gap(play, *data)
            if gap > 0.0:
                self._notice.left = 0
                warn(
                    f"{self.name} is not convex near the play {play}: by {gap:.3g} at points drawn"
                    " there; regret bounds need convex losses (check=False is silent)",
                    UserWarning,
                )
        return gradient

    def convexity_gap(self, w: ArrayLike, *data: Any) -> float:
        """Return by how much convexity fails at points drawn around w; 0 if no failure is found.

        Of pairs a, b at distances of 0.1, 1 and 10, the largest of f((a + b)/2) − (f(a) + f(b))/2
        and of f(a) + ⟨∇f(a), b − a⟩ − f(b), beyond rounding. Points where f is no number are left
        out.
        """
        play, rng, worst = _play(w), np.random.default_rng(0), 0.0
        for scale in _SCALES:
            for _ in range(2):
                a, b = play + scale * rng.standard_normal((2, play.size))
                try:
                    values = [self.value(point, *data) for point in (a, b, (a + b) / 2)]
                    slope = float(self._gradient(a, data) @ (b - a))
                except ValueError:
                    continue
                size = _SLACK * (1.0 + sum(map(abs, values)) + abs(slope))
                gaps = values[2] - (values[0] + values[1]) / 2, values[0] + slope - values[1]
                worst = max(worst, *(gap for gap in (*gaps, 0.0) if gap > size or gap == 0.0))
        return worst

    def on(self, *data: ArrayLike) -> FunctionStream:
        """Return the rounds of a stream.

        Parameters
        ----------
        data
            Arrays whose first axis is the round: round t is f(w, data_1[t], data_2[t], …).
        """
        if not data:
            raise ValueError(
                "data must have an array or more, a row a round: got none; for one function a"
                " round pass a list of them to from_function"
            )
        arrays = tuple(np.array(finite("data", part)) for part in data)
        lengths = [len(part) if part.ndim else 0 for part in arrays]
        if len(set(lengths)) > 1 or not lengths[0]:
            raise ValueError(
                f"data must be arrays with a row a round, as many each: got {lengths} rows; match"
                " their lengths"
            )
        rounds = tuple(
            FunctionRound(self, tuple(part[t] for part in arrays)) for t in range(lengths[0])
        )
        return FunctionStream(rounds, arrays)

    def _gradient(self, play: Array, data: tuple[Any, ...]) -> Array:
        try:
            value, gradient = self._package.value_and_gradient(self.f, play, data)
        except Exception as error:
            self._called(play, data, error)
            found = "a plain number" if untraced(error) else f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{self.name} must be made of what {self.backend} can differentiate: got {found};"
                f" use {self._package.functions}, or another backend"
            ) from error
        self._number(value)
        if gradient.shape != play.shape or not np.isfinite(gradient).all():
            raise ValueError(
                f"the gradient of {self.name} must be finite, of shape {play.shape}: got"
                f" {gradient}; keep plays where f is smooth"
            )
        return gradient

    def _called(self, play: Array, data: tuple[Any, ...], error: Exception) -> None:
        """Refuse an f that fails, or gives no number, without being followed, too."""
        try:
            value = self._package.value(self.f, play, data)
        except Exception as own:
            if type(own) is not type(error):
                return
            what = f"{self.name} must take a play and {len(data)} of data"
            raise ValueError(f"{what}: got {type(own).__name__}: {own}; try it alone") from own
        self._number(value)

    def _number(self, value: Any) -> float:
        found, remedy = value, "return the loss of the play"
        if value is not None:  # of which NumPy would make NaN
            found = real(f"what {self.name} returns", value, remedy)
            if found.size == 1 and math.isfinite(number := float(found.reshape(()))):
                return number
            remedy = "keep plays where it is" if found.size == 1 else "sum over what it adds up"
        raise ValueError(f"{self.name} must return a finite number: got {found}; {remedy}")


@dataclass(frozen=True, eq=False)
class FunctionRound:
    """The loss of one round, as a function of the play.

    Parameters
    ----------
    loss
        The function.
    data
        Its data in this round.
    """

    loss: FunctionLoss
    data: tuple[Any, ...]

    def value(self, w: ArrayLike) -> float:
        """Return the loss of the play `w`."""
        return self.loss.value(w, *self.data)

    def gradient(self, w: ArrayLike) -> Array:
        """Return the gradient at the play `w`, shape (dim,)."""
        return self.loss.gradient(w, *self.data)


@dataclass(frozen=True, eq=False, repr=False)
class FunctionStream:
    """The rounds of a stream: `sp.play(learner, stream)`.

    Parameters
    ----------
    rounds
        One loss each.
    data
        Arrays of which each round has a row; None where rounds have functions of their own.
    """

    rounds: tuple[FunctionRound, ...]
    data: tuple[Array, ...] | None

    def __repr__(self) -> str:
        return f"<FunctionStream of {self.rounds[0].loss.name}: rounds {len(self):,}>"

    def __len__(self) -> int:
        return len(self.rounds)

    def __getitem__(self, t: int) -> FunctionRound:
        return self.rounds[t]

    def __iter__(self) -> Iterator[FunctionRound]:
        return iter(self.rounds)

    def values(self, u: ArrayLike) -> Array:
        """Return the loss of a play in each round, shape (T,); u of shape (T, dim) or (dim,)."""
        plays = self._plays(u)
        return np.array([each.value(w) for each, w in zip(self.rounds, plays, strict=True)])

    def gradients(self, u: ArrayLike) -> Array:
        """Return the gradient of each round, shape (T, dim), at plays (T, dim) or (dim,).

        All rounds at once, where the package can map the function over rows (jax and torch can).
        """
        plays = self._plays(u)
        if self.data is not None:
            loss = self.rounds[0].loss
            found = loss._package.batch(loss.f, plays, self.data)
            if found is not None and np.isfinite(found[1]).all():
                return found[1]
        return np.stack(
            [each.loss._gradient(w, each.data) for each, w in zip(self.rounds, plays, strict=True)]
        )

    def _plays(self, u: ArrayLike) -> Array:
        plays = finite("u", u)
        if plays.ndim == 1:
            plays = np.broadcast_to(plays, (len(self), plays.size))
        if plays.ndim != 2 or len(plays) != len(self):
            raise ValueError(
                f"u must have shape ({len(self)}, dim) or (dim,): got {plays.shape}; pass one play"
                " a round, or one for all"
            )
        return np.array(plays)


def _play(w: ArrayLike) -> Array:
    play = np.array(finite("w", w), ndmin=1)
    if play.ndim != 1:
        raise ValueError(f"w must have shape (dim,): got {play.shape}; pass one play")
    return play
