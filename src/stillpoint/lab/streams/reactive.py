"""Adversaries that answer the play: losses and comparator exist only after a run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, count, positive, vector
from stillpoint.lab.streams.base import REPORTED, hindsight_steps
from stillpoint.losses import Absolute, Linear, LossStream, RoundLoss
from stillpoint.losses.base import Loss

# An answer is the target y or the linear gradient of the round, from the play and the answers so
# far, (n, dim); the comparator follows from all answers, (T, dim).
Answer = Callable[[np.random.Generator, Array, Array], Array]
Compare = Callable[[Array], Array]


class Game:
    """One run against an adversary. `losses`: the rounds answered so far; the rest are 0."""

    def __init__(self, stream: "ReactiveStream") -> None:
        self._stream, self._rng = stream, np.random.default_rng(stream.seed)
        self.losses: LossStream = stream.loss.on(np.zeros((stream.rounds, stream.dim)))
        self.played = 0

    def answer(self, index: int, w: ArrayLike) -> RoundLoss:
        """The loss of a round; the first time, `w` is the play that the adversary answers."""
        if index > self.played:
            raise ValueError(
                f"rounds must be played in order: got round {index} after {self.played} rounds;"
                " start a new game"
            )
        if index == self.played:
            play = vector("w", w, self._stream.dim)
            self.losses.y[index] = self._stream.answer(self._rng, play, self.losses.y[:index])
            self.played += 1
        return self.losses[index]

    @property
    def target(self) -> Array:
        """The comparator of this game, (T, dim); known when the last round is over."""
        if self.played < self._stream.rounds:
            raise ValueError(
                f"the comparator is known after the run: {self.played} of {self._stream.rounds}"
                " rounds were played"
            )
        return self._stream.compare(self.losses.y)


@dataclass(frozen=True, eq=False)
class ReactiveRound:
    """A round whose loss is settled by the first play it sees."""

    game: Game
    index: int

    def value(self, w: ArrayLike) -> float:
        """The loss of `w`."""
        return self.game.answer(self.index, w).value(w)

    def gradient(self, w: ArrayLike) -> Array:
        """A subgradient at `w`."""
        return self.game.answer(self.index, w).gradient(w)


@dataclass(eq=False)
class ReactiveStream:
    """An adversary as a stream: `sp.play(learner, stream)`, then `run.regret(stream.target)`.

    Iterating starts a new game from the seed; `game` is the latest, `target` its comparator.
    """

    name: str
    rounds: int
    dim: int
    loss: Loss
    answer: Answer
    compare: Compare
    seed: int
    note: str = ""
    radius: float = 1.0
    group: str = REPORTED
    lipschitz: float = 1.0

    def __post_init__(self) -> None:
        self.game = Game(self)

    def __len__(self) -> int:
        return self.rounds

    def __iter__(self) -> Iterator[ReactiveRound]:
        game = self.game = Game(self)
        return (ReactiveRound(game, index) for index in range(self.rounds))

    @property
    def losses(self) -> "ReactiveStream":
        """Itself: what `sp.play` takes."""
        return self

    @property
    def target(self) -> Array:
        """The comparator of the latest game."""
        return self.game.target

    def lipschitz_within(self, radius: float) -> float:
        """The bound on the gradient norms, at any radius."""
        return self.lipschitz

    @property
    def unit(self) -> float:
        """The size of the comparator's moves."""
        return self.radius

    @property
    def steps(self) -> Array:
        """The steps that OGD tuned in hindsight tries."""
        return hindsight_steps(self.unit, self.lipschitz)


def random_signs(T: int, seed: int, *, blocks: int = 10, radius: float = 1.0) -> ReactiveStream:
    """Linear losses with random signs, and the comparator −radius·sign(Σg) in each block.

    Every learner's mean regret is radius·ΣE|Σg|.
    """

    def answer(rng: np.random.Generator, w: Array, past: Array) -> Array:
        return rng.choice([-1.0, 1.0], 1)

    compare = partial(_best_per_block, _block(T, blocks), positive("radius", radius))
    note = (
        f"random signs in {blocks} blocks, the comparator is each block's best point of size"
        f" {radius:g}; Linear loss"
    )
    return ReactiveStream("random-signs", T, 1, Linear(), answer, compare, seed, note, radius)


def against(
    T: int, seed: int, *, blocks: int = 10, radius: float = 1.0, factor: float = 1.0
) -> ReactiveStream:
    """Linear losses whose gradients point away from the play, `factor` times larger in each block.

    Hence ⟨g, w⟩ ≥ 0: a learner loses by every move, and whatever the plays are, its regret is at
    least radius·Σ|Σg| against each block's best point −radius·sign(Σg). At a play of 0 the sign is
    drawn. With a factor above 1, all that was learned before the last blocks counts for little.
    """
    block, factor = _block(T, blocks), positive("factor", factor)
    last = (T - 1) // block

    def answer(rng: np.random.Generator, w: Array, past: Array) -> Array:
        drawn = rng.choice([-1.0, 1.0])
        size = factor ** (len(past) // block - (last if factor > 1.0 else 0))
        return np.array([size * (np.sign(w[0]) or drawn)])

    compare = partial(_best_per_block, block, positive("radius", radius))
    grow = "" if factor == 1.0 else f", {factor:g} times larger in each"
    note = f"gradients that point away from the play, {blocks} blocks{grow}; Linear loss"
    return ReactiveStream("against", T, 1, Linear(), answer, compare, seed, note, radius)


def orthogonal(
    T: int, seed: int, *, dim: int = 2, blocks: int = 10, radius: float = 1.0
) -> ReactiveStream:
    """Linear losses with unit gradients orthogonal to their block's sum and never against the play.

    Hence ⟨g, w⟩ ≥ 0 and ‖Σg‖ = √block: every learner whatsoever has regret at least radius·Σ√block
    against −radius·Σg/‖Σg‖.
    """
    if count("dim", dim) < 2:
        raise ValueError(f"dim must be 2 or more: got {dim}; on a line use random_signs")
    block = _block(T, blocks)

    def answer(rng: np.random.Generator, w: Array, past: Array) -> Array:
        g, total = rng.standard_normal(dim), past[len(past) - len(past) % block :].sum(axis=0)
        # twice: one pass leaves rounding behind when g is nearly parallel to the sum
        for _ in range(2):
            g -= total * (g @ total) / max(total @ total, 1e-300)
            g /= np.linalg.norm(g)
        return -g if g @ w < 0.0 else g

    compare = partial(_best_per_block, block, positive("radius", radius))
    note = (
        f"unit gradients orthogonal to their sum and never against the play, {blocks} blocks, d ="
        f" {dim}; Linear loss"
    )
    return ReactiveStream("orthogonal", T, dim, Linear(), answer, compare, seed, note, radius)


def fleeing(T: int, seed: int, *, blocks: int = 10, radius: float = 1.0) -> ReactiveStream:
    """A target at ±c that changes sides when a play comes within c/4 of it; absolute loss.

    It does so at most once a block.

    c is drawn from [radius/2, radius]. The comparator is the target: a learner fast enough to catch
    it makes it move.
    """
    block, radius = _block(T, blocks), positive("radius", radius)

    def answer(rng: np.random.Generator, w: Array, past: Array) -> Array:
        if len(past) == 0:
            return np.asarray(rng.choice([-1.0, 1.0], 1) * rng.uniform(radius / 2, radius))
        here, before = past[-1], past[max(len(past) - len(past) % block - 1, 0)]
        caught = here[0] == before[0] and abs(w[0] - here[0]) < abs(here[0]) / 4
        return np.asarray(-here if caught else here)

    note = (
        f"a target at ±c that jumps to the other side when approached, once in each of {blocks}"
        " blocks; Absolute loss"
    )
    return ReactiveStream("fleeing", T, 1, Absolute(), answer, np.copy, seed, note, radius)


def _block(T: int, blocks: int) -> int:
    return -(-count("T", T) // count("blocks", blocks))


def _best_per_block(block: int, radius: float, g: Array) -> Array:
    """The point of norm `radius` with the least linear loss in each block."""
    sums = np.add.reduceat(g, range(0, len(g), block), axis=0)
    points = -radius * sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
    return np.repeat(points, block, axis=0)[: len(g)]
