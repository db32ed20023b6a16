"""Checkpoints: one file of JSON and raw arrays under a checksum, replaced atomically; a lock that dies with its process."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.track.options import InputError

FORMAT = b"stillpoint-track-1 "
NAME, LOCK = "checkpoint.npz", "lock"


class Checkpoint:
    """A folder with the checkpoint of one run; held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--checkpoint must be a folder: got the file {folder}; give another name")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path = folder, folder / NAME
        self._lock = _locked(folder / LOCK)

    def load(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Header and arrays; None where there is no checkpoint yet."""
        if not self.path.exists():
            return None
        data = self.path.read_bytes()
        remedy = f"delete {self.folder} to begin anew"
        head, _, body = data.partition(b"\n")
        if not head.startswith(FORMAT):
            raise InputError(f"the checkpoint must be of this version: got {self.path}; {remedy}")
        if hashlib.sha256(body).hexdigest().encode() != head[len(FORMAT) :]:
            raise InputError(f"the checkpoint must be whole: {self.path} does not match its checksum; {remedy}")
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode())
            arrays = {key[6:]: file[key] for key in file.files if key.startswith("array.")}
        return header, {**header["numbers"], **arrays}

    def save(self, header: dict[str, Any], state: dict[str, Any]) -> None:
        """Replace the checkpoint; the old one stays if that fails."""
        arrays = {f"array.{key}": value for key, value in state.items() if isinstance(value, np.ndarray)}
        numbers = {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
        text = json.dumps({**header, "numbers": numbers}).encode()
        body = io.BytesIO()
        np.savez(body, header=np.frombuffer(text, dtype=np.uint8), **arrays)  # type: ignore[arg-type]
        content = body.getvalue()
        replace(self.path, FORMAT + hashlib.sha256(content).hexdigest().encode() + b"\n" + content)

    def close(self) -> None:
        """Give up the lock."""
        os.close(self._lock)


def replace(path: Path, content: bytes) -> None:
    """Write a file so that at every moment either the old one or the new one is there, whole."""
    temporary = path.with_name(f".{path.name}.part")  # one name: what a killed process leaves is overwritten, not piled up
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name, too, has to survive a power cut
    finally:
        os.close(folder)


def _locked(path: Path) -> int:
    import fcntl

    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InputError(f"--checkpoint must be free: another process holds {path.parent}; wait for it or use another") from None
    return lock


def same_command(now: dict[str, Any], before: dict[str, Any]) -> None:
    """Refuse to go on with a checkpoint of another command."""
    for name, value in now.items():
        if before.get(name) != value:
            raise InputError(
                f"{name} must be that of the checkpoint: got {_show(value)}, begun with {_show(before.get(name))}; "
                "give another --checkpoint folder"
            )


def _show(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
