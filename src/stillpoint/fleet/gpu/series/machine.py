"""Rounds of many series are written once, on the operations below: run on tensors, or written down
as a kernel.

A number has one entry a stream. Long blocks of a state are gone through by `each`, which is one
operation on all places in torch and a loop in a kernel; `when` asks about the clock, which all
streams of a call share.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from stillpoint.fleet.gpu.trace import Number, Traced, text, where

Index = Any  # int, Traced int, or Span
Whole = Any  # int or Traced int
Flag = Any  # bool or Traced
Places = dict[str, tuple[int, int]]  # where the numbers of a name begin, and how many there are
Put = tuple[str, Index, Number]
Fetch = Callable[[Index], Sequence[Number]]
Work = Callable[[Index, Sequence[Number]], tuple[Sequence[Put], Sequence[Number]]]


class Machine(ABC):
    """What a round may do.

    Parameters
    ----------
    places : dict
        The state.
    """

    def __init__(self, places: Places) -> None:
        self.places = places

    @abstractmethod
    def get(self, name: str, i: Index = 0) -> Number:
        """A number of the state."""

    @abstractmethod
    def put(self, name: str, value: Number, i: Index = 0) -> None:
        """Set a number of the state."""

    @abstractmethod
    def put_each(self, name: str, value: Number, i: Number) -> None:
        """Set a number of the state, at a place that may be another in each stream."""

    @abstractmethod
    def shared(self, table: str, row: Whole, i: Index) -> Number:
        """A number of a table that all streams share."""

    @abstractmethod
    def when(self, flag: Flag, body: Callable[[], None]) -> None:
        """Do this if the clock says so; what is computed inside stays inside."""

    @abstractmethod
    def each(self, count: int, fetch: Fetch, work: Work, sums: int) -> list[Number]:
        """Go through `count` places in any order, and sum.

        What `fetch` has read of place i is handed to `work`, which returns what to put and the
        terms of each sum.
        """

    @abstractmethod
    def walk(self, count: int, body: Callable[[Whole], None]) -> None:
        """Do body(0), body(1), … one after another; what is computed inside stays inside."""

    def row(self, name: str) -> list[Number]:
        """All numbers of a name."""
        return [self.get(name, i) for i in range(self.places[name][1])]

    def fill(self, name: str, values: Sequence[Number]) -> None:
        """Set all numbers of a name."""
        for i, value in enumerate(values):
            self.put(name, value, i)


def pick(flag: Flag, a: Number, b: Number) -> Number:
    """a if the clock says so, else b."""
    if isinstance(flag, Traced):
        return flag.trace.name(f"tl.where({flag.name}, {text(a)}, {text(b)})")
    return a if flag else b


def rest(x: Whole, n: int) -> Whole:
    """What is left of x ≥ 0 when it is divided by n."""
    return x.trace.name(f"{x.name} % {n}") if isinstance(x, Traced) else x % n


def times(x: Whole, n: int) -> Whole:
    """How often n goes into x ≥ 0."""
    return x.trace.name(f"{x.name} // {n}") if isinstance(x, Traced) else x // n


def double(x: Number) -> Number:
    """A float as a double."""
    return x.trace.name(f"{x.name}.to(tl.float64)") if isinstance(x, Traced) else x.double()


def single(x: Number) -> Number:
    """A double as a float."""
    return x.trace.name(f"{x.name}.to(tl.float32)") if isinstance(x, Traced) else x.float()


def no(flag: Number) -> Number:
    """Whether it does not hold."""
    return flag.trace.name(f"~{flag.name}") if isinstance(flag, Traced) else ~flag


class Span(int):
    """All places of a block at once: the offset of the first, and how many."""

    count: int

    @classmethod
    def of(cls, offset: int, count: int) -> "Span":
        """So many places from an offset on."""
        span = cls(offset)
        span.count = count
        return span

    def __add__(self, other: int) -> "Span":
        return Span.of(int(self) + other, self.count)


class OnTensors(Machine):
    """Rounds on tensors.

    Parameters
    ----------
    places : dict
        The state.
    state : Tensor of shape (places, streams)
        Its numbers.
    tables : dict of Tensor
        Tables (rows, numbers) that all streams share.
    """

    def __init__(self, places: Places, state: Any, tables: dict[str, Any]) -> None:
        super().__init__(places)
        self._numbers, self._tables = list(state.unbind(0)), tables
        self._zero = state.new_zeros(state.shape[1])

    @property
    def state(self) -> Any:
        """The numbers now."""
        import torch

        return torch.stack(self._numbers)

    def get(self, name: str, i: Index = 0) -> Number:
        """A number of the state."""
        first = self.places[name][0] + i
        if isinstance(i, Span):
            import torch

            return torch.stack(self._numbers[first : first + i.count])
        return self._numbers[first]

    def put(self, name: str, value: Number, i: Index = 0) -> None:
        """Set a number of the state."""
        first = self.places[name][0] + i
        if isinstance(i, Span):
            self._numbers[first : first + i.count] = value.unbind(0)
        else:
            self._numbers[first] = self._zero + value

    def put_each(self, name: str, value: Number, i: Number) -> None:
        """Set a number of the state, at a place of each stream's own."""
        for k, own in enumerate(self.row(name)):
            self.put(name, where(i == k, value, own), k)

    def shared(self, table: str, row: Whole, i: Index) -> Number:
        """A number of a table that all streams share."""
        numbers = self._tables[table][row]
        if isinstance(i, Span):
            return numbers[int(i) : int(i) + i.count, None]
        return numbers[i]

    def when(self, flag: Flag, body: Callable[[], None]) -> None:
        """Do this if the clock says so."""
        if flag:
            body()

    def each(self, count: int, fetch: Fetch, work: Work, sums: int) -> list[Number]:
        """Go through many places, and sum."""
        if not count:
            return [self._zero] * sums
        span = Span.of(0, count)
        put, terms = work(span, fetch(span))
        for name, i, value in put:
            self.put(name, value, i)
        return [term.sum(0) for term in terms]

    def walk(self, count: int, body: Callable[[Whole], None]) -> None:
        """Do body(0), body(1), … one after another."""
        for i in range(count):
            body(i)
