"""Arrays in one piece of bytes, for stores that have checksums of their own."""

import json
from typing import Any

import numpy as np

from stillpoint.core.container import Arrays

_ALIGN = 8


def flatten(header: dict[str, Any], arrays: Arrays) -> list[bytes | memoryview]:
    """Return JSON and arrays in pieces: a length, JSON with a list of arrays, then raw numbers."""
    told = [[name, value.dtype.str, list(value.shape)] for name, value in arrays.items()]
    head = json.dumps([header, told], allow_nan=False).encode()
    head += b" " * (-len(head) % _ALIGN)
    pieces: list[bytes | memoryview] = [len(head).to_bytes(_ALIGN, "little"), head]
    for value in arrays.values():
        raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        pieces += [raw.data, b"\0" * (-raw.size % _ALIGN)]
    return pieces


def unflatten(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Inverse of `flatten`, of its pieces put together; arrays are views of the data."""
    start = _ALIGN + int.from_bytes(data[:_ALIGN], "little")
    header, told = json.loads(data[_ALIGN:start])
    arrays: Arrays = {}
    for name, kind, shape in told:
        count = int(np.prod(shape, dtype=np.int64))
        dtype = np.dtype(kind)
        arrays[name] = np.frombuffer(data, dtype, count, start).reshape(shape)
        start += dtype.itemsize * count + -(dtype.itemsize * count) % _ALIGN
    return header, arrays
