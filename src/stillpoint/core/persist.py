"""Save and load learners: one versioned file of raw arrays and JSON, written atomically; loading
executes no code.
"""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core import allocation, container
from stillpoint.core.codec import (
    check_finite,
    check_state,
    decode_fields,
    encode,
    encode_fields,
    migrate,
)
from stillpoint.core.registry import (
    Missing,
    Savable,
    from_files,
    in_files,
    learner_class,
    learner_name,
)

__all__ = ["FORMAT", "Savable", "load", "pack", "save", "unpack"]

FORMAT = 2  # 1 was an npz without a first line
_KIND = "learner"
_FIRST = b"PK\x03\x04"  # how files of format 1 begin


def pack(learner: Savable) -> bytes:
    """`learner` as bytes, those of the file that `save` writes."""
    return b"".join(_content(learner))


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """A learner from what `pack` returned; it goes on exactly where the packed one stood."""
    return _unpack(
        bytes(data),
        "data must be what stillpoint.core.persist.pack returned: this is not",
        "pack the learner again",
    )


def save(learner: Savable, path: str | os.PathLike[str]) -> None:
    """Write `learner` to `path`, replacing what is there only once the new file is whole and on
    disk.
    """
    container.check_place(Path(path))
    container.replace(
        Path(path), *_content(learner), mark=f".{os.getpid()}.{threading.get_ident()}"
    )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a learner that `save` wrote; it continues exactly where the saved one stopped."""
    problem = f"path must be a file that sp.save wrote: got {path}"
    remedy = "save the learner again, or load a copy of the file"
    if Path(path).is_dir():
        raise ValueError(f"{problem}, and it is a folder; name the file in it")
    if not Path(path).exists():
        raise FileNotFoundError(f"{problem}, and there is none; check the path")
    with Path(path).open("rb") as file:
        start = file.read(len(container.MAGIC))
        # not to read all of some other large file
        if not (container.is_one(start) or start.startswith(_FIRST)):
            raise ValueError(f"{problem}, and it has another beginning; {remedy}")
        data = start + file.read()
    return _unpack(data, problem, remedy)


def _content(learner: Savable) -> tuple[bytes, memoryview]:
    name, state = learner_name(learner), learner.arrays()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    scalars = {
        key: encode(value) for key, value in state.items() if not isinstance(value, np.ndarray)
    }
    header = {
        "learner": name,
        "config": encode_fields(in_files(type(learner), learner.config)),
        "scalars": scalars,
    }
    return container.write(_KIND, FORMAT, header, arrays)


def _unpack(data: bytes, problem: str, remedy: str) -> Any:
    try:
        if data.startswith(_FIRST):
            header, arrays = container.unzip(data, strict=False)
            if header.get("format") != 1:
                raise container.Newer(
                    f"it has format {header.get('format')}, and the newest known without a checksum"
                    " is 1"
                )
            header = migrate(header)
        else:
            header, arrays = container.read(_KIND, FORMAT, data)
        with allocation.within(len(data)):  # a size in the file may be any number
            return _build(header, arrays)
    except container.Newer as error:
        raise ValueError(f"{problem}, and {error}; upgrade stillpoint") from None
    except Missing as error:
        raise ValueError(f"{problem}, and {error}") from None
    except (
        Exception
    ) as error:  # restoring what someone made up fails in as many ways as there are learners
        reason = (
            str(error)
            if type(error) in (ValueError, allocation.NoRoom)
            else f"{type(error).__name__}: {error}"
        )
        raise ValueError(f"{problem}, and {reason}; {remedy}") from None


def _build(header: dict[str, Any], arrays: container.Arrays) -> Any:
    name, scalars = header["learner"], decode_fields(header["scalars"])
    kind = learner_class(name)
    learner = kind(**from_files(kind, decode_fields(header["config"])))
    state = {**scalars, **arrays}
    if hasattr(learner, "migrated"):  # what was saved by an older version, as this one would
        state = learner.migrated(state)
    check_finite(learner, state)
    learner.restore(
        {
            key: value.copy() if isinstance(value, np.ndarray) else value
            for key, value in state.items()
        }
    )
    check_state(learner.arrays(), state)
    return learner
