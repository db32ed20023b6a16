"""Files of learners, damaged in any way, checksums right or wrong: refused with ValueError, or a
learner that plays or refuses.

Three kinds of damage: any bytes at all; bytes of a good file changed, with or without checksums
made right again; and whole values of the JSON and whole arrays put in place of others, under a
right checksum. Checkpoints of `stillpoint track` alike.
"""

import contextlib
import io
import json
import struct
import warnings
import zipfile
import zlib
from hashlib import sha256

import numpy as np

import persisted
from source import Source
from stillpoint.commands.checkpoint import _read
from stillpoint.core import container, persist

NAMES = sorted(persisted.CORE)
PLAYED = 9
VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2,
    10**6,
    2**62,
    2**70,
    0.5,
    -1.5,
    1e300,
    "",
    "x",
    "Tracker",
    "Fleet",
    [],
    [1],
    {},
    {"tuple": []},
    {"float": "nan"},
    {"float": "inf"},
    {"int": "0xff"},
    {"numpy": "<f8", "value": 1.0},
    {"part": "kernels.OU", "fields": {"rate": 0.1}},
    {"learner": "Tracker", "config": {"dim": 1}},
    {"part": "kernels.Constant", "fields": {}},
    {"numpy": "O", "value": 1},
)
FILES: dict[str, bytes] = {}


class Found(Exception):
    """What a fuzzer looks for."""


def file(name: str) -> bytes:
    """A good file of that learner, after some rounds; with an open round where it has such."""
    if name not in FILES:
        case = persisted.CORE[name]
        learner = case.build()
        persisted.play(case, learner, 0, PLAYED)
        FILES[name] = persist.pack(learner)
    return FILES[name]


def changed(source: Source, data: bytes) -> bytes:
    """Some bytes set, cut out, doubled or blanked."""
    result = bytearray(data)
    for _ in range(1 + source.byte() % 4):
        if not result:
            break
        at = (source.byte() << 16 | source.byte() << 8 | source.byte()) % len(result)
        kind, size = source.byte() % 5, 1 + source.byte() % 40
        if kind == 0:
            result[at] = source.byte()
        elif kind == 1:
            del result[at : at + size]
        elif kind == 2:
            result[at:at] = result[at : at + size]
        elif kind == 3:
            result[at : at + size] = bytes(min(size, len(result) - at))
        else:
            result[at] ^= 1 << source.byte() % 8
    return bytes(result)


def sealed(body: bytes, kind: str = "learner", version: int = persist.FORMAT) -> bytes:
    """Checksums of the zip's members and of the file made right, so that what is behind them is
    met.
    """
    content = bytearray(body)
    with contextlib.suppress(Exception), zipfile.ZipFile(io.BytesIO(body)) as archive:
        for info in archive.infolist():
            start = info.header_offset
            names, extra = struct.unpack("<HH", content[start + 26 : start + 30])
            begin = start + 30 + names + extra
            code = struct.pack("<I", zlib.crc32(content[begin : begin + info.file_size]))
            content[start + 14 : start + 18] = code
            at = content.find(b"PK\x01\x02")
            while at >= 0:
                if struct.unpack("<I", content[at + 42 : at + 46])[0] == start:
                    content[at + 16 : at + 20] = code
                at = content.find(b"PK\x01\x02", at + 4)
    return f"stillpoint {kind} {version} {sha256(content).hexdigest()}\n".encode() + bytes(content)


def planted(source: Source, tree, depth: int = 0):
    """The JSON with one value, somewhere in it, put in place of another."""
    if isinstance(tree, dict | list) and tree and (depth == 0 or source.byte() % 4):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = source.pick(keys)
        if source.byte() % 16 == 0:
            return (
                {k: v for k, v in tree.items() if k != key}
                if isinstance(tree, dict)
                else [*tree, *tree]
            )
        copy = dict(tree) if isinstance(tree, dict) else list(tree)
        copy[key] = planted(source, tree[key], depth + 1)
        return copy
    return (
        source.number() if source.byte() % 4 == 0 else json.loads(json.dumps(source.pick(VALUES)))
    )


def turned(source: Source, array: np.ndarray) -> np.ndarray:
    """An array with another value, type or shape."""
    kind = source.byte() % 8
    if kind < 4 and array.size and array.dtype.kind in "fiu":
        copy = array.copy()
        value = source.number()
        with np.errstate(all="ignore"):
            if kind == 0 or array.dtype.kind != "f":
                value = value if np.isfinite(value) and abs(value) < 2**62 else 2.0**62
            copy.reshape(-1)[source.byte() % array.size] = (
                np.array(value).astype(array.dtype) if array.dtype.kind != "u" else 1
            )
            if kind == 3:
                copy[...] = copy.reshape(-1)[source.byte() % array.size]
        return copy
    shapes = (
        array[:0],
        array[None],
        array.reshape(-1),
        np.concatenate([array.reshape(-1)] * 2),
        np.zeros(3),
        np.array("x"),
    )
    return np.ascontiguousarray(
        source.pick((*shapes, array.astype(np.float32), np.zeros((2, 3), np.int64)))
    )


def one(data: bytes) -> None:
    """One execution."""
    source = Source(data)
    style = source.byte()
    name = source.pick(NAMES)
    if style < 16:
        what = data[2:] if style % 2 else b"stillpoint learner 2 " + data[2:]
    elif style < 64:
        what = changed(source, file(name))
    elif style < 112:
        body = file(name).partition(b"\n")[2]
        at = body.find(b'{"learner"')
        stop = body.find(b"PK", at)
        text = (
            body[:at] + changed(source, body[at:stop]) + body[stop:]
            if style % 2
            else changed(source, body)
        )
        what = sealed(text)
    else:
        header, arrays = container.read("learner", persist.FORMAT, file(name))
        if style % 2 and arrays:
            key = source.pick(sorted(arrays))
            arrays = {**arrays, key: turned(source, arrays[key])}
        else:
            header = planted(source, header)
        try:
            what = b"".join(container.write("learner", persist.FORMAT, header, arrays))
        except (ValueError, TypeError):  # what cannot be written cannot be read either
            return
    if style % 8 == 3:
        checkpoint(what.replace(b"stillpoint learner", b"stillpoint track", 1))
    try:
        learner = persist.unpack(what)
    except ValueError:
        return
    except Exception as error:
        raise Found(f"{name}: unpack: {type(error).__name__}: {error}") from error
    try:
        again = persist.unpack(persist.pack(learner))
        if persist.pack(again) != persist.pack(learner):
            raise Found(f"{name}: what was loaded is saved and loaded as something else")
    except ValueError as error:
        raise Found(f"{name}: what was loaded cannot be saved and loaded: {error}") from error
    case = next(
        (
            case
            for key, case in persisted.CORE.items()
            if key.rpartition(".")[2] == type(learner).__name__
        ),
        None,
    )
    # a number that never was may give any answer or none, and neither crash nor hang
    if case is not None:
        with contextlib.suppress(
            ValueError,
            ArithmeticError,
            np.linalg.LinAlgError,
            IndexError,
            KeyError,
            TypeError,
            AttributeError,
        ):
            persisted.play(case, learner, PLAYED, PLAYED + 3)


def checkpoint(data: bytes) -> None:
    """The checkpoint's own reader."""
    try:
        _read(data)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ):  # what `Checkpoint.load` turns into one line
        return
    except Exception as error:
        raise Found(f"checkpoint: {type(error).__name__}: {error}") from error


def setup() -> None:
    """Warnings are no findings: overflow of numbers that never were."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name in NAMES:
        file(name)
