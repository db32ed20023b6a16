"""What learners of device fleets have in common: columns of numbers, and a round in two halves."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any

from stillpoint.fleet.gpu.trace import Number, Pair, dot, inverse, larger, rsqrt, size

State = dict[str, Number]  # columns, and what the first half of a round hands to the second
LARGEST = 1e30  # of feedback: beyond it a stream's round is skipped, as for NaN


class Program(ABC):
    """A learner as named columns, one entry a stream, all 0 for a new stream but for `begin`.

    `propose` opens a round: it returns what is played. `learn` closes it. Both change the state in
    place, are run on tensors or traced to a kernel, and may leave in it what is no column.
    """

    columns: tuple[str, ...]
    gone: tuple[str, ...] = ()  # columns that states saved by older versions have besides
    come: tuple[str, ...] = ()  # those that such states may lack
    begin: dict[str, float]
    inputs = 1  # numbers that a round is fed with
    outputs = 1  # numbers that it plays
    first = 0.0  # what the first round plays
    kernels: dict[Any, Any]  # those made so far, by loss
    # of the length of what a round is fed with, where the learner assumes one
    limit: float | None = None

    def __init__(self) -> None:
        self.kernels = {}

    @abstractmethod
    def for_rounds(self, rounds: int) -> "Program":
        """The program with room for so many rounds of a stream; it keeps the columns there were."""

    @abstractmethod
    def propose(self, s: State) -> tuple[Number, ...]:
        """The play of round s["rounds"] + 1."""

    @abstractmethod
    def learn(self, s: State, fed: Sequence[Number]) -> None:
        """Take in what the round brought.

        That is zeros, which change nothing that a gradient changes, where s["good"] does not hold.
        """


def names(name: str, count: int) -> tuple[str, ...]:
    """Columns name0, name1, …"""
    return tuple(f"{name}{i}" for i in range(count))


def pairs(*columns: str) -> tuple[str, ...]:
    """Columns of a pair each: its high part and, under name~, its low one."""
    return tuple(part for name in columns for part in (name, f"{name}~"))


def pair(s: State, name: str) -> Pair:
    """A pair from its columns."""
    return Pair(s[name], s[f"{name}~"])


def put(s: State, name: str, value: Pair) -> None:
    """A pair into its columns."""
    s[name], s[f"{name}~"] = value


def length(v: Sequence[Number]) -> Number:
    """‖v‖, whose square need not be a float."""
    if len(v) == 1:
        return size(v[0])
    top = reduce(larger, map(size, v))
    over = inverse(larger(top, 1e-37))
    scaled = [x * over for x in v]
    square = larger(dot(scaled, scaled), 1e-37)
    return top * (square * rsqrt(square))


def into_ball(square: Number) -> Number:
    """The factor that brings a vector of this squared length into the unit ball; 1 inside."""
    return rsqrt(larger(square, 1.0))
