"""Rounds of device fleets are written once, on the numbers below: run on torch tensors, or traced
to the source of a kernel.

A number is a float32 tensor with one entry a stream, or a `Traced` one that writes down what is
done to it. Python's loops over coordinates, experts or levels are unrolled by either; what differs
from stream to stream is chosen by `where`, not by branches.
"""

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

Number = Any  # torch.Tensor | Traced | float: the same operators and functions work on each


class Trace:
    """Lines of a kernel, in the order of the operations."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, str] = {}

    def name(self, expression: str) -> "Traced":
        """The value of an expression; the same one again is not computed again."""
        if expression not in self._known:
            self._known[expression] = f"v{len(self._known)}"
            self.lines.append(f"{self._known[expression]} = {expression}")
        return Traced(self, self._known[expression])


class Traced:
    """A number that a kernel will have: its name there."""

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace, self.name = trace, name

    def _with(self, sign: str, other: Number, swap: bool = False) -> "Traced":
        a, b = (text(other), self.name) if swap else (self.name, text(other))
        return self.trace.name(f"{a} {sign} {b}")

    def __add__(self, other: Number) -> "Traced":
        return self._with("+", other)

    def __radd__(self, other: Number) -> "Traced":
        return self._with("+", other, swap=True)

    def __sub__(self, other: Number) -> "Traced":
        return self._with("-", other)

    def __rsub__(self, other: Number) -> "Traced":
        return self._with("-", other, swap=True)

    def __mul__(self, other: Number) -> "Traced":
        return self._with("*", other)

    def __rmul__(self, other: Number) -> "Traced":
        return self._with("*", other, swap=True)

    def __truediv__(self, other: Number) -> "Traced":
        return self._with("/", other)

    def __neg__(self) -> "Traced":
        return self._with("-", 0.0, swap=True)

    def __lt__(self, other: Number) -> "Traced":
        return self._with("<", other)

    def __le__(self, other: Number) -> "Traced":
        return self._with("<=", other)

    def __gt__(self, other: Number) -> "Traced":
        return self._with(">", other)

    def __ge__(self, other: Number) -> "Traced":
        return self._with(">=", other)

    def __and__(self, other: "Traced") -> "Traced":
        return self._with("&", other)

    def __or__(self, other: "Traced") -> "Traced":
        return self._with("|", other)


def text(number: Number) -> str:
    """How a kernel writes a number."""
    if isinstance(number, Traced):
        return number.name
    return (
        f'float("{number}")'
        if math.isinf(number)
        else f"({number!r})"
        if number < 0
        else repr(number)
    )


def _call(name: str, *args: Number) -> Number:
    """A function of Triton's where an argument is traced, of torch's otherwise."""
    for arg in args:
        if isinstance(arg, Traced):
            return arg.trace.name(f"tl.{name}({', '.join(map(text, args))})")
    import torch

    return getattr(torch, name)(*args)


def where(condition: Number, a: Number, b: Number) -> Number:
    """a where the condition holds, b elsewhere."""
    return _call("where", condition, a, b)


def exp(x: Number) -> Number:
    """e^x."""
    return _call("exp", x)


def log(x: Number) -> Number:
    """Natural logarithm."""
    return _call("log", x)


def rsqrt(x: Number) -> Number:
    """1/√x."""
    return _call("rsqrt", x)


def size(x: Number) -> Number:
    """|x|."""
    return _call("abs", x)


def larger(x: Number, y: Number) -> Number:
    """The larger of a number and another, or a constant."""
    return (
        x.clamp(min=y)
        if isinstance(y, float) and not isinstance(x, Traced)
        else _call("maximum", x, y)
    )


def smaller(x: Number, y: Number) -> Number:
    """The smaller of a number and another, or a constant."""
    return (
        x.clamp(max=y)
        if isinstance(y, float) and not isinstance(x, Traced)
        else _call("minimum", x, y)
    )


def inverse(x: Number) -> Number:
    """1/x of a positive number, to two or three roundings: on a GPU a fraction of what dividing
    costs.
    """
    root = _call("rsqrt", x)
    return root * root


def remainder(a: Number, b: Number, c: Number) -> Number:
    """a − b·c, rounded once."""
    if isinstance(a, Traced):
        return _call("fma", -b, c, a)
    return (a.double() - b.double() * c.double()).to(a.dtype)


def total(terms: Sequence[Number]) -> Number:
    """Their sum, in order."""
    return reduce(add, terms)


def dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    """⟨a, b⟩."""
    return total([x * y for x, y in zip(a, b, strict=True)])


class Pair(NamedTuple):
    """A number and what rounding took from it (Kahan 1965): what adds up over all rounds of a
    stream.

    A product that is added has a rounding error of its own; these add up as a random walk, and no
    sum ever comes to a standstill.
    """

    high: Number
    low: Number

    def plus(self, x: Number) -> "Pair":
        """The sum with a number."""
        more = x + self.low
        high = self.high + more
        return Pair(high, more - (high - self.high))

    def step(self, x: Number, rest: Number) -> "Pair":
        """The sum with a number that is itself given as a float and what is missing from it."""
        return Pair(self.high, self.low + rest).plus(x)

    def times(self, x: Number) -> "Pair":
        """The product with a number, exact where that is a power of two; else good to a float's
        rounding.
        """
        return Pair(self.high * x, self.low * x)

    def within(self, least: Number, most: Number) -> "Pair":
        """Kept within limits, up to half a rounding of them."""
        return Pair(smaller(larger(self.high, least), most), self.low)


def choose(condition: Number, a: Pair, b: Pair) -> Pair:
    """`where` for pairs."""
    return Pair(where(condition, a.high, b.high), where(condition, a.low, b.low))
