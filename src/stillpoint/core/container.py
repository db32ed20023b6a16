"""The one file format for what is kept: a line with kind, version and checksum, then raw arrays and
JSON; nothing is executed.

`stillpoint KIND VERSION SHA256` and a newline; the rest, which the checksum is of, is an
uncompressed npz, with the JSON as the bytes of its member `header` and every array as `array.NAME`.
"""

import errno
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MAGIC = b"stillpoint "
KINDS = "biufU"  # of arrays: numbers, truth values and text, never objects, which would be pickled
_LONGEST = 128  # of the first line
# how a file system says that it has no locks
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
_READERS: dict[
    tuple[int, int], Callable[[io.BytesIO], tuple[tuple[int, ...], bool, np.dtype[Any]]]
] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}

Arrays = dict[str, NDArray[Any]]


class Newer(ValueError):
    """A file of a later version than is known here."""


def write(
    kind: str, version: int, header: dict[str, Any], arrays: Arrays
) -> tuple[bytes, memoryview]:
    """The first line and the rest. The header must be strict JSON: no infinities or NaN."""
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise ValueError(
                f"state must be numbers or text: got {array.dtype} for {name!r}; convert it first"
            )
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    body = io.BytesIO()
    np.savez(body, header=text, **{f"array.{name}": array for name, array in arrays.items()})  # type: ignore[arg-type]
    content = body.getbuffer()
    return MAGIC + f"{kind} {version} {hashlib.sha256(content).hexdigest()}\n".encode(), content


def is_one(start: bytes) -> bool:
    """Whether a file that begins so can be one."""
    return start.startswith(MAGIC)


def read(kind: str, version: int, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Inverse of `write`, for what it wrote at this version; ValueError says what is wrong with all
    else.
    """
    line, found, _ = data[:_LONGEST].partition(b"\n")
    words = line.split(b" ")
    if (
        not found
        or len(words) != 4
        or words[:2] != [MAGIC.strip(), kind.encode()]
        or not words[2].isdigit()
    ):
        raise ValueError("it has another beginning")
    body = memoryview(data)[len(line) + 1 :]
    if words[2] != str(version).encode():
        if int(words[2]) > version:
            raise Newer(f"it has version {words[2].decode()}, and {version} is the newest known")
        raise ValueError(f"it has version {words[2].decode()}, and only {version} is known")
    if hashlib.sha256(body).hexdigest().encode() != words[3]:
        raise ValueError("it does not match its checksum")
    return unzip(bytes(body), strict=True)


def unzip(body: bytes, strict: bool) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of an npz; memory is bounded by its length. strict: NaN and Infinity are
    not JSON.
    """
    try:
        members = _members(body)
        header = json.loads(
            members.pop("header").tobytes(), parse_constant=_refuse if strict else None
        )
    # zipfile, numpy and json meet damage with a dozen kinds of error, and all mean the same
    except Exception as error:
        raise ValueError(f"it cannot be read ({type(error).__name__}: {error})") from None
    if not isinstance(header, dict):
        raise ValueError(f"it must have a header of names and values: got {type(header).__name__}")
    return header, {name.removeprefix("array."): array for name, array in members.items()}


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _members(body: bytes) -> Arrays:
    with zipfile.ZipFile(io.BytesIO(body)) as file:
        infos = file.infolist()
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("a member is compressed")  # a few bytes could become any number
        if sum(info.file_size for info in infos) > len(body):
            raise ValueError("members are longer than the file")
        if len({info.filename for info in infos}) < len(infos):
            raise ValueError("a member is there twice")
        return {
            info.filename.removesuffix(".npy"): _array(file.read(info), len(body)) for info in infos
        }


def _array(content: bytes, longest: int) -> NDArray[Any]:
    """An array from the bytes of an npy file. numpy's own reader makes room for whatever the shape
    says before it looks.
    """
    file = io.BytesIO(content)
    shape, fortran, dtype = _READERS[npy.read_magic(file)](file)
    raw = memoryview(content)[file.tell() :]
    if dtype.kind not in KINDS or dtype.hasobject or not 0 < dtype.itemsize <= longest:
        raise ValueError(f"an array has type {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != raw.nbytes:
        raise ValueError(f"an array of {raw.nbytes} bytes has shape {shape}")
    if dtype.kind == "b" and raw.nbytes and np.frombuffer(raw, np.uint8).max() > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    # a copy, which can be written to
    flat = np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))
    array = flat.reshape(shape, order="F" if fortran else "C")
    if dtype.kind == "U":
        array.tolist()  # meets code points that there are not
    return array


def check_place(path: Path) -> None:
    """Refuse a path, given in Python, at which no file can be written."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path must lie in a folder that exists: got {path}; make the folder {path.parent}"
            " first"
        )
    if path.is_dir():
        raise IsADirectoryError(
            f"path must be that of a file: got the folder {path}; name a file in it"
        )


def replace(path: Path, *content: bytes | memoryview, mark: str = "") -> None:
    """Write a file so that at every moment either the old one or the new one is there, whole.

    mark: what tells the temporary files of writers apart that may meet.
    """
    with replacing(path, mark) as temporary, temporary.open("wb") as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, mark: str = "") -> Iterator[Path]:
    """Where to write what is to take the place of a file, once it is whole and on the disk.

    If that fails the old file stays, and nothing of the new one.
    """
    real, temporary = places(path, mark)
    try:
        yield temporary
        os.replace(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(real.parent)


def places(path: Path, mark: str = "") -> tuple[Path, Path]:
    """Where a file is to be replaced, and the one beside it to write first, with this mark in its
    name.

    What a link leads to is replaced, and the link stays. What a killed process leaves is
    overwritten, not piled up.
    """
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real, real.with_name(f".{real.name}{mark}.part")


_HELD: set["Lock"] = set()  # a lock that nobody keeps is held none the less


class Lock:
    """A lock on the file `path`, made if it is not there, until `close` or the process's end.

    Parameters
    ----------
    path
        The file of the lock; it is no other file, and stays when the lock is given up.
    message
        What to say, as a ValueError, where another process holds it.

    Notes
    -----
    On a file system without locks nothing is held: to refuse would say that some other process
    were there.
    """

    def __init__(self, path: Path, message: str) -> None:
        import filelock  # takes long to import

        self._held = filelock.FileLock(path, timeout=0, thread_local=False)
        try:
            self._held.acquire()
            _HELD.add(self)
        except filelock.Timeout:
            raise ValueError(message) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise

    def close(self) -> None:
        """Give up the lock."""
        _HELD.discard(self)
        self._held.release()


def lock(path: Path, message: str) -> Lock:
    """Hold `path` until it is closed or the process ends; ValueError where another process does."""
    return Lock(path, message)


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk: they, too, have to survive a power cut."""
    if os.name != "posix":  # folders cannot be opened elsewhere
        return
    try:
        folder = os.open(path, os.O_RDONLY)
    except PermissionError:  # one may be allowed to write into a folder and not to list it
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
