"""Configurations and states as strict JSON: every value comes back equal and of the same type, or
is refused.
"""

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from stillpoint.core.container import Newer
from stillpoint.core.registry import (
    Foreign,
    from_files,
    in_files,
    learner_class,
    learner_name,
    part_names,
    parts,
)

_PLAIN_INT = 1 << 63  # beyond it readers of JSON differ, and Python itself limits the digits


def encode(value: Any) -> Any:
    """Numbers, text, lists, tuples, parts of the library (frozen dataclasses) and learners, these
    by their `config` alone.
    """
    if isinstance(value, np.generic):
        if value.dtype.kind != "U" and (value.dtype.kind not in "biuf" or value.dtype.itemsize > 8):
            raise ValueError(
                f"the learner cannot be saved: got {value!r} of type {value.dtype}; use Python's"
                " numbers or text"
            )
        return {"numpy": value.dtype.str, "value": encode(value.item())}
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if -_PLAIN_INT <= value < _PLAIN_INT else {"int": hex(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is list:
        return [encode(item) for item in value]
    if type(value) is tuple:
        return {"tuple": [encode(item) for item in value]}
    if is_dataclass(value) and not isinstance(value, type) and type(value) in part_names():
        given = {
            field.name: encode(getattr(value, field.name))
            for field in fields(value)
            if not field.name.startswith("_")
        }
        return {"part": part_names()[type(value)], "fields": given}
    if not isinstance(value, type) and hasattr(value, "arrays") and hasattr(value, "config"):
        name = learner_name(value)
        return {"learner": name, "config": encode_fields(in_files(type(value), value.config))}
    raise Foreign(
        f"the learner cannot be saved: got {value!r}, which is not a built-in part; keep it in your"
        " own code"
    )


def encode_fields(values: dict[str, Any]) -> dict[str, Any]:
    """`encode` for each of some named values."""
    return {name: encode(value) for name, value in values.items()}


def decode(value: Any) -> Any:
    """Inverse of `encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(item) for item in items)
        case {"int": str(digits), **rest} if not rest:
            return int(digits, 16)
        case {"float": "inf" | "-inf" | "nan" as word, **rest} if not rest:
            return float(word)
        case {"numpy": str(kind), "value": item, **rest} if not rest:
            return _scalar(kind, decode(item))
        case {"part": str(name), "fields": dict(given), **rest} if not rest and name in parts():
            return parts()[name](**decode_fields(given))
        case {"learner": str(name), "config": dict(config), **rest} if not rest:
            of = learner_class(name)
            return of(**from_files(of, decode_fields(config)))
        case {"part": str(name), "fields": dict(), **rest} if not rest:
            raise Newer(f"it holds the part {name!r}, which this version does not know")
    raise ValueError(f"it holds {str(value)[:80]}, which this version does not know")


def decode_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Inverse of `encode_fields`."""
    return {name: decode(value) for name, value in values.items()}


def _scalar(kind: str, item: Any) -> Any:
    dtype = np.dtype(kind)
    if dtype.kind == "U" and isinstance(item, str):
        return np.str_(item)
    if dtype.kind in "biuf" and isinstance(item, bool | int | float):
        return dtype.type(item)
    raise ValueError(f"it holds {item!r} as {dtype}")


def migrate(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a file of format 1 as one of format 2: there, tuples were lists, and infinities
    stood as they are.
    """
    return {**header, "config": {name: _tuples(value) for name, value in header["config"].items()}}


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return {"tuple": [_tuples(item) for item in value]}
    if isinstance(value, dict) and set(value) == {"part", "fields"}:
        return {
            "part": value["part"],
            "fields": {name: _tuples(item) for name, item in value["fields"].items()},
        }
    return value


def check_finite(learner: Any, given: dict[str, Any]) -> None:
    """Refuse a state with infinities or NaN that no such learner comes to; `learner` is a
    new one.
    """
    declared: frozenset[str] = getattr(learner, "_not_finite", frozenset())
    odd = [name for name, value in given.items() if name not in declared and not _finite(value)]
    new = learner.arrays() if odd else {}
    for name in odd:
        if name not in new or not _same(new[name], given[name]):
            raise ValueError(
                f"its state is infinite or NaN at {name!r}, where that of such a learner is finite"
            )


def _finite(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def check_state(restored: dict[str, Any], given: dict[str, Any]) -> None:
    """Make sure that nothing of a state was passed over, spread or cast on the way in."""
    if set(restored) != set(given):
        names = ", ".join(sorted(set(restored) ^ set(given)))
        raise ValueError(f"its state has other parts than that of such a learner: {names}")
    for name, value in restored.items():
        other = given[name]
        if type(other) is int and not -_PLAIN_INT <= other < _PLAIN_INT:
            raise ValueError(f"its state counts beyond 64 bits at {name!r}")
        if not _same(value, other):
            raise ValueError(f"its state does not fit such a learner at {name!r}")


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        return (
            value.dtype == other.dtype
            and value.shape == other.shape
            and value.tobytes() == other.tobytes()
        )
    return (
        not isinstance(value, np.ndarray)
        and not isinstance(other, np.ndarray)
        and bool(_plain(value) == _plain(other))
    )


def _plain(value: Any) -> Any:
    """`encode`, for numbers without their numpy type, which learners do not keep."""
    return encode(value.item() if isinstance(value, np.generic) else value)
