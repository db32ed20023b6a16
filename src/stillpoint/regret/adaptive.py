"""Adaptive regret: the worst interval of a run, against the best fixed play on it.

Hazan & Seshadhri (2007); strongly adaptive, for each length of its own, Daniely et al. (2015).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import Array, positive
from stillpoint.losses import LossStream
from stillpoint.losses import _pointwise as p
from stillpoint.regret._adaptive import halve, slide

Starts = NDArray[np.integer[Any]]  # where intervals begin, from 0
_QUANTILES = (p.ABSOLUTE, p.PINBALL)
_CENTRED = (p.SQUARED, p.ABSOLUTE, p.PINBALL, p.HUBER)  # best between least and largest target


@dataclass(frozen=True, eq=False)
class AdaptiveRegret:
    """The worst interval of each length.

    Parameters
    ----------
    lengths
        Lengths of intervals, increasing, shape (K,).
    worst
        max over the intervals of a length of Σℓ_t(w_t) − min_u Σℓ_t(u), shape (K,).
    first
        The first round of that interval, counted from 1, shape (K,).
    geometric
        Whether only [i·2^k, (i + 1)·2^k − 1] were looked at, of which every interval is made;
        else every interval of each length was.
    """

    lengths: Array
    worst: Array
    first: Array
    geometric: bool

    @property
    def largest(self) -> float:
        """The largest of all."""
        return float(self.worst.max())

    def __repr__(self) -> str:
        kind = "geometric" if self.geometric else "all"
        cells = (f"{int(n)}: {w:.4g}" for n, w in zip(self.lengths, self.worst, strict=True))
        return f"<AdaptiveRegret on {kind} intervals: {', '.join(cells)}>"


def adaptive_regret(
    losses: Array,
    stream: Any,
    plays: Array,
    gradients: Array,
    lengths: Sequence[int] | None,
    radius: float | None,
    linear: bool,
) -> AdaptiveRegret:
    """See `Run.adaptive_regret`."""
    rounds = losses.size
    if rounds == 0:
        raise ValueError("adaptive_regret needs a round or more: got none; play some first")
    if radius is not None:
        radius = positive("radius", radius)
    geometric = lengths is None
    if lengths is None:
        lengths = [1 << k for k in range((rounds + 1).bit_length() - 1)]
    if not isinstance(lengths, Iterable):
        raise ValueError(f"lengths must be a list: got {lengths!r}; give [{lengths!r}]")
    asked = sorted({_length(each, rounds) for each in lengths})
    if not asked:
        raise ValueError("lengths must not be empty: got none; leave it out for powers of 2")
    earned = (gradients * plays).sum(axis=1) if linear else losses
    total = np.append(0.0, np.cumsum(earned))
    best = _Linear(gradients, radius) if linear else _judge(stream, radius)
    worst, first = [], []
    for length in asked:
        # intervals of the cover begin at multiples of their length, rounds being counted from 1
        starts = (
            np.arange(length - 1, rounds - length + 1, length)
            if geometric
            else np.arange(rounds - length + 1)
        )
        regrets = total[starts + length] - total[starts] - best.on(starts, length)
        at = int(np.argmax(regrets))
        worst.append(float(regrets[at]))
        first.append(int(starts[at]) + 1)
    return AdaptiveRegret(
        np.array(asked, float), np.array(worst), np.array(first, float), geometric
    )


def _length(length: Any, rounds: int) -> int:
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
        raise ValueError(f"lengths must be whole numbers from 1: got {length!r}; give rounds")
    if length > rounds:
        raise ValueError(f"lengths must be at most {rounds}, the rounds: got {length}; drop it")
    return int(length)


def _judge(stream: Any, radius: float | None) -> "_Linear | _Squared | _Regression | _Scalar":
    remedy = "pass linear=True and a radius, for linearised regret"
    if not isinstance(stream, LossStream):
        raise ValueError(
            f"adaptive_regret needs a stream of built-in losses: got {type(stream).__name__};"
            f" {remedy}"
        )
    code = stream.loss.code
    if code == p.LINEAR:
        return _Linear(stream.y * stream.x if stream.mode == p.FEATURES else stream.y, radius)
    if stream.mode == p.SCALAR and code != p.SQUARED:
        return _Scalar(stream, radius)
    if code != p.SQUARED or (stream.mode == p.FEATURES and radius is not None):
        raise ValueError(
            f"adaptive_regret has no best play for {stream!r}"
            f"{' in a ball' if radius is not None else ''}; {remedy}"
        )
    return _Regression(stream) if stream.mode == p.FEATURES else _Squared(stream, radius)


class _Linear:
    """Σ⟨g_t, u⟩, least at −radius·Σg/‖Σg‖."""

    def __init__(self, g: Array, radius: float | None) -> None:
        if radius is None:
            raise ValueError("radius must be given for linear losses: got None; pass max‖u‖")
        self.radius = radius
        self.sums = np.concatenate([np.zeros((1, g.shape[1])), np.cumsum(g, axis=0)])

    def on(self, starts: Starts, length: int) -> Array:
        """The least loss on intervals of a length."""
        part = self.sums[starts + length] - self.sums[starts]
        return np.asarray(-self.radius * np.linalg.norm(part, axis=1))


class _Squared:
    """½Σ‖u − y_t‖², least at the mean, or the point of the ball next to it."""

    def __init__(self, stream: LossStream, radius: float | None) -> None:
        self.radius, self.centre = radius, stream.y.mean(axis=0)
        y = stream.y - self.centre  # differences of smaller sums
        self.sums = np.concatenate([np.zeros((1, y.shape[1])), np.cumsum(y, axis=0)])
        self.squares = np.append(0.0, np.cumsum((y**2).sum(axis=1)))

    def on(self, starts: Starts, length: int) -> Array:
        """The least loss on intervals of a length."""
        mean = (self.sums[starts + length] - self.sums[starts]) / length
        squares = self.squares[starts + length] - self.squares[starts]
        least = 0.5 * np.maximum(squares - length * (mean**2).sum(axis=1), 0.0)
        if self.radius is not None:
            beyond = np.linalg.norm(mean + self.centre, axis=1) - self.radius
            least += 0.5 * length * np.maximum(beyond, 0.0) ** 2
        return np.asarray(least)


class _Regression:
    """½Σ(⟨u, x_t⟩ − y_t)², least where XᵀXu = Xᵀy."""

    def __init__(self, stream: LossStream) -> None:
        x, y = stream.x, stream.y[:, 0]
        dim = x.shape[1]
        gram = np.cumsum(x[:, :, None] * x[:, None, :], axis=0)
        self.gram = np.concatenate([np.zeros((1, dim, dim)), gram])
        self.cross = np.concatenate([np.zeros((1, dim)), np.cumsum(x * y[:, None], axis=0)])
        self.squares = np.append(0.0, np.cumsum(y**2))

    def on(self, starts: Starts, length: int) -> Array:
        """The least loss on intervals of a length."""
        gram, cross = (part[starts + length] - part[starts] for part in (self.gram, self.cross))
        squares = self.squares[starts + length] - self.squares[starts]
        u = np.einsum("nij,nj->ni", np.linalg.pinv(gram, rcond=1e-10, hermitian=True), cross)
        return np.asarray(0.5 * np.maximum(squares - (u * cross).sum(axis=1), 0.0))


class _Scalar:
    """Σℓ(u, y_t) in one dimension, by halving, or quantiles where every interval is asked for."""

    def __init__(self, stream: LossStream, radius: float | None) -> None:
        self.code, self.parameter = stream.loss.code, stream.loss.parameter
        self.y, self.radius = np.ascontiguousarray(stream.y[:, 0]), radius
        if radius is None and self.code not in _CENTRED:
            raise ValueError(
                f"radius must be given for {type(stream.loss).__name__}, whose best play may be"
                " anywhere: got None; pass max|u|"
            )

    def on(self, starts: Starts, length: int) -> Array:
        """The least loss on intervals of a length."""
        every = starts.size == self.y.size - length + 1
        reach = math.inf if self.radius is None else self.radius
        if every and length > 1 and self.code in _QUANTILES:
            return self._slide(length, reach)
        low, high = -reach, reach
        if self.code in _CENTRED:
            low, high = (float(np.clip(f(self.y), -reach, reach)) for f in (np.min, np.max))
        elif self.code == p.LOG:
            low = float(np.finfo(np.float64).tiny)
        out = np.empty(starts.size)
        halve(self.code, self.parameter, self.y, starts.astype(float), length, low, high, out)
        return out

    def _slide(self, length: int, reach: float) -> Array:
        level, unit = (0.5, 2.0) if self.code == p.ABSOLUTE else (self.parameter, 1.0)
        order = np.argsort(self.y, kind="stable")
        ranks = np.empty(self.y.size)
        ranks[order] = np.arange(self.y.size)
        middle = float(self.y.mean())  # sums of differences lose less
        out, room = np.empty(self.y.size - length + 1), self.y.size + 1
        slide(
            self.y - middle, self.y[order] - middle, ranks, length, level,
            max(-reach, -1e300) - middle, min(reach, 1e300) - middle, out,
            np.zeros(room), np.zeros(room),
        )  # fmt: skip
        return np.asarray(unit * np.maximum(out, 0.0))
