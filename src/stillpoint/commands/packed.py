"""Inputs as files and pipes, and gzip on the way in."""

import os
import sys
import zlib

from stillpoint.commands.errors import InputError

GZIP, PACKED = b"\x1f\x8b", 1 << 14  # how it begins, and bytes to unpack at once
_BROKEN = "gzip data must be whole: {}; pack the file again"


class Unpacked:
    """Blocks of gzip, one member after the other, as they were before they were packed."""

    def __init__(self) -> None:
        self._part = zlib.decompressobj(wbits=31)

    def add(self, block: bytes) -> tuple[bytes, str]:
        """Return what a block unpacks to, and what is wrong with it; an empty one is the end."""
        found = []
        if not block and not self._part.eof:
            return b"", _BROKEN.format("it ends too early")
        try:
            while block:
                if self._part.eof:
                    self._part = zlib.decompressobj(wbits=31)
                found.append(self._part.decompress(block))
                block = self._part.unused_data
        except zlib.error as error:
            return b"".join(found), _BROKEN.format(f"got {error}")
        return b"".join(found), ""


def standard_input() -> int:
    """Return the number of standard input."""
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by what is not a file
        return 0


def open_file(source: str, follow: bool) -> int:
    """Open a file or a named pipe; return its number."""
    # a named pipe must not hold up Ctrl-C until somebody writes to it; only on Linux select tells
    # "nobody yet" from the end
    waits = not follow and sys.platform != "linux"
    try:
        return os.open(source, os.O_RDONLY | (0 if waits else os.O_NONBLOCK))
    except FileNotFoundError:
        what = f"exist: got {source}; check the path, or give - for standard input"
    except PermissionError:
        what = f"be readable: got {source}; check its permissions"
    raise InputError(f"the input must {what}")
