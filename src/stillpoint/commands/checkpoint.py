"""Checkpoints: one file of JSON and raw arrays under a checksum, replaced atomically; a lock that
dies with its process.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.commands.columns import show_names
from stillpoint.commands.options import InputError
from stillpoint.core import allocation, container
from stillpoint.core.codec import check_finite, check_state, decode_fields, encode_fields
from stillpoint.core.state import Restorable
from stillpoint.core.validation import under

VERSION, _KIND = 2, "track"
# how version 1 began; the checksum followed, and NaN stood in its JSON as such
_FIRST = b"stillpoint-track-1 "
FILES = NAME, _LOCK = "checkpoint.npz", "lock"


class Checkpoint:
    """A folder with the checkpoint of one run; held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(
                f"--checkpoint must be a folder: got the file {folder}; give another name"
            )
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / NAME
        taken = (
            f"--checkpoint must be free: another process holds {folder}; wait for it or use another"
        )
        self._lock = container.lock(folder / _LOCK, taken)

    def load(
        self, check: Callable[[dict[str, Any]], None] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Header and arrays; None where there is no checkpoint yet. check: what the run's own
        headers must pass.
        """
        if not self.path.exists():
            return None
        remedy = f"delete {self.folder} to begin anew"
        try:
            header, arrays = _read(self.path.read_bytes())
            if check is not None:
                check(header)
            return header, {**header["numbers"], **arrays}
        except container.Newer as error:
            raise InputError(
                f"the checkpoint must be of this version: got {self.path}, {error}; upgrade, or"
                f" {remedy}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"its header has no {error}" if isinstance(error, KeyError) else error
            raise InputError(
                f"the checkpoint must be whole: got {self.path}, {why}; {remedy}"
            ) from None

    def save(self, header: dict[str, Any], state: dict[str, Any]) -> None:
        """Replace the checkpoint; the old one stays if that fails."""
        arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
        numbers = encode_fields(
            {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
        )
        container.replace(
            self.path, *container.write(_KIND, VERSION, {**header, "numbers": numbers}, arrays)
        )

    def hand(self, part: Restorable, prefix: str, state: dict[str, Any]) -> None:
        """Restore a part of the run from what is under its prefix in the state that was loaded."""
        own = under(state, prefix)
        try:
            check_finite(part, own)
            with allocation.within(
                sum(value.nbytes for value in own.values() if isinstance(value, np.ndarray))
            ):
                part.restore(own)
            check_state(part.arrays(), own)
        except (
            Exception
        ) as error:  # a state that someone made up fails in as many ways as there are learners
            remedy = f"delete {self.folder} to begin anew"
            raise InputError(
                f"the checkpoint must be whole: got {self.path}, {error}; {remedy}"
            ) from None

    def close(self) -> None:
        """Give up the lock."""
        os.close(self._lock)


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header, its numbers as such, and arrays."""
    if not data.startswith(_FIRST):
        header, arrays = container.read(_KIND, VERSION, data)
        return {**header, "numbers": decode_fields(header["numbers"])}, arrays
    line, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != line[len(_FIRST) :]:
        raise ValueError("it does not match its checksum")
    return container.unzip(body, strict=False)


def same_command(now: dict[str, Any], before: dict[str, Any]) -> None:
    """Refuse to go on with a checkpoint of another command."""
    for name, value in now.items():
        if before.get(name) != value:
            raise InputError(
                f"{name} must be that of the checkpoint: got {_show(value)}, begun with"
                f" {_show(before.get(name))}; give another --checkpoint folder"
            )


def _show(value: Any) -> str:
    return show_names([*map(str, value)], ",") if isinstance(value, list) else str(value)
