"""Argument checks whose messages name the argument, the value and the remedy."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.array import Array as Array

_NOT_NUMBERS = str, bytes, np.datetime64, np.timedelta64  # of which `float` takes some
_LINE = 200  # characters of a value that an error shows
_FEW = 16  # up to here Python looks at floats faster than NumPy does


def shown(value: Any) -> str:
    """Return a value as errors show it, in one line: by kind and shape where it takes more."""
    text = repr(value)
    if "\n" not in text and len(text) <= _LINE:
        return text
    shape = np.shape(value) if hasattr(value, "shape") else ()
    kind = type(value).__name__
    if shape:
        return f"a {kind} of shape {shape}"
    text = " ".join(text.split())
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


def number(name: str, value: Any, remedy: str = "give a finite number") -> float:
    """Return `value` as a finite float; text is not a number, even where it looks like one, and
    neither is a date.
    """
    if type(value) is float and math.isfinite(value):  # most are
        return value
    try:
        if isinstance(value, _NOT_NUMBERS):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number: got {shown(value)}; {remedy}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite: got {value!r}; {remedy}")
    return result


def positive(name: str, value: Any, remedy: str = "give a number above 0") -> float:
    """Return `value` as a finite float above 0."""
    result = number(name, value, remedy)
    if result <= 0.0:
        raise ValueError(f"{name} must be positive: got {value!r}; {remedy}")
    return result


def nonnegative(name: str, value: Any, remedy: str = "give 0 or a number above it") -> float:
    """Return `value` as a finite float, 0 or above."""
    result = number(name, value, remedy)
    if result < 0.0:
        raise ValueError(f"{name} must not be negative: got {value!r}; {remedy}")
    return result


def squared(name: str, value: Any) -> float:
    """The square of a finite float, 0 or above; infinite where floats end, which `**` would make an
    OverflowError.
    """
    result = nonnegative(name, value)
    return result * result


def count(name: str, value: Any, remedy: str = "give a whole number, 1 or more") -> int:
    """Return `value` as an int, 1 or more; beyond 2⁵³ arithmetic in floats would not be that of
    whole numbers.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not 1 <= value <= 1 << 53
    ):
        raise ValueError(f"{name} must be a positive whole number: got {value!r}; {remedy}")
    return int(value)


def real(name: str, value: ArrayLike, remedy: str) -> Array:
    """Return `value` as a float64 array; NaN and infinity may be in it."""
    # what most calls pass, and every round pays for
    if type(value) is np.ndarray and value.dtype.char == "d" and value.dtype.isnative:
        return value
    wanted = "numeric"
    try:
        given = np.asarray(value)
        if np.ma.isMaskedArray(value) or given.dtype.kind == "c":
            wanted = "plain real numbers"
            raise TypeError
        if given.dtype.kind in "US" or (
            given.dtype.kind == "O" and any(isinstance(one, str | bytes) for one in given.flat)
        ):
            raise TypeError  # text that looks like numbers is a column nobody has converted
        # as numbers they would be days or nanoseconds, whichever unit they happen to have
        if given.dtype.kind in "mM":
            remedy = "convert dates to seconds first"
            raise TypeError
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {wanted}: got {shown(value)}; {remedy}") from None


def finite(name: str, value: ArrayLike, remedy: str = "drop or repair such entries") -> Array:
    """Return `value` as a float64 array without NaN or infinity."""
    result = real(name, value, remedy)
    if result.ndim == 1 and result.size <= _FEW and all(map(math.isfinite, result.tolist())):
        return result
    if not np.isfinite(result).all():
        bad = np.argwhere(~np.isfinite(result))[0]
        where = "" if result.ndim == 0 else f" at index {tuple(int(i) for i in bad)}"
        raise ValueError(f"{name} must be finite: got {result[tuple(bad)]}{where}; {remedy}")
    return result


def vector(
    name: str, value: ArrayLike, dim: int, remedy: str = "drop or repair such entries"
) -> Array:
    """Return `value` as a finite float64 vector of shape (dim,); with dim 1 a plain number
    will do.
    """
    if dim == 1 and isinstance(value, float):
        return np.array([number(name, value, remedy)])
    result = finite(name, value, remedy)
    if dim == 1 and result.ndim == 0:
        result = result.reshape(1)
    if result.shape != (dim,):
        raise ValueError(
            f"{name} must have shape ({dim},): got shape {result.shape}; pass one value a"
            " coordinate"
        )
    return result


def stored(
    state: dict[str, Any], name: str, *shape: int | None, dtype: Any = np.float64
) -> NDArray[Any]:
    """Return a copy of that array of a saved state, made sure of type and shape; None stands for
    any length.

    Compiled loops trust lengths: what a damaged file holds must not get as far as that.
    """
    value = state[name]
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise ValueError(
            f"state {name!r} must be an array of {np.dtype(dtype)}: got {_brief(value)}; save the"
            " learner again"
        )
    if value.ndim != len(shape) or any(
        want not in (None, got) for want, got in zip(shape, value.shape, strict=True)
    ):
        wanted = "×".join("n" if want is None else str(want) for want in shape)
        raise ValueError(
            f"state {name!r} must have shape {wanted}: got {value.shape}; save the learner again"
        )
    return np.array(value)


def under(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return what a saved state holds under a prefix, by the names without it."""
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}


def counted(name: str, value: float, most: float) -> None:
    """Make sure that a saved number which compiled loops count or index by is whole, 0 or more and
    at most this.
    """
    if not (0.0 <= value <= most and value == math.floor(value)):
        raise ValueError(
            f"state {name!r} must be a whole number from 0 to {most:g}: got {value}; save the"
            " learner again"
        )


def waiting(delay: Any, first: Any, rows: int) -> tuple[int, int]:
    """Return `delay` and `first` of a bulk pass over so many rows as ints that go together."""
    for name, given in (("delay", delay), ("first", first)):
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not (whole and 0 <= given <= 1 << 53):
            raise ValueError(
                f"{name} must be a whole number, 0 or more: got {given!r}; give a number of rows"
            )
    if first > min(delay, rows):
        raise ValueError(
            f"first must be at most delay ({delay}) and the rows passed ({rows}): got {first}; pass"
            " again only rows whose targets have not been learnt"
        )
    return int(delay), int(first)


def _brief(value: Any) -> str:
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def increasing(name: str, value: ArrayLike) -> Array:
    """Return `value` as a strictly increasing float64 vector of times."""
    result = finite(name, value, "drop rounds without a time")
    if result.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional: got shape {result.shape}; pass one time a round"
        )
    steps = np.diff(result)
    if (steps <= 0.0).any():
        i = int(np.argmax(steps <= 0.0))
        raise ValueError(
            f"{name} must increase: got {result[i + 1]} after {result[i]}; sort the stream"
        )
    return result
