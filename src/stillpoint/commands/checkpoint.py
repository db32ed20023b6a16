"""Checkpoints: one file of JSON and raw arrays under a checksum, replaced atomically, locked."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.commands.errors import InputError, show_names
from stillpoint.commands.lines import HEAD
from stillpoint.core import allocation, container
from stillpoint.core.codec import check_finite, check_state, decode_fields, encode_fields
from stillpoint.core.state import Restorable
from stillpoint.core.validation import under

VERSION, _KIND = 2, "track"
# how version 1 began; the checksum followed, and NaN stood in its JSON as such
_FIRST = b"stillpoint-track-1 "
FILES = NAME, _LOCK = "checkpoint.npz", "lock"
_MOST = 1 << 62
# options that have no default: left out, there is none
_NONE = ("--time", "--known", "--nonnegative", "--alerts", "--forecast", "--predictions")


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
        """Return header and arrays; None where there is no checkpoint yet.

        check: what the run's own headers must pass.
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
        # a state that someone made up fails in as many ways as there are learners
        except Exception as error:
            remedy = f"delete {self.folder} to begin anew"
            raise InputError(
                f"the checkpoint must be whole: got {self.path}, {error}; {remedy}"
            ) from None

    def close(self) -> None:
        """Give up the lock."""
        self._lock.close()


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header, its numbers as such, and arrays."""
    if not data.startswith(_FIRST):
        header, arrays = container.read(_KIND, VERSION, data)
        return {**header, "numbers": decode_fields(header["numbers"])}, arrays
    line, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != line[len(_FIRST) :]:
        raise ValueError("it does not match its checksum")
    return container.unzip(body, strict=False)


def differing(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the options that are not those of before."""
    return [name for name, value in now.items() if before.get(name) != value]


def same_command(now: dict[str, Any], before: dict[str, Any]) -> None:
    """Refuse to go on with a checkpoint of another command, or of the same with other options."""
    ours, theirs = _command(now), _command(before)
    if theirs not in (ours, ""):
        raise InputError(
            f"--checkpoint must be one of stillpoint {ours}: got one of stillpoint {theirs}; give"
            " another --checkpoint folder"
        )
    for name in differing(now, before):
        got, begun = _show(name, now[name]), _show(name, before.get(name))
        raise InputError(
            f"{name} must be that of the checkpoint: got {got}, begun with {begun}; give another"
            " --checkpoint folder"
        )


def _command(options: dict[str, Any]) -> str:
    """Return which command has these options; "" where none has."""
    if "--key" in options:
        return "fleet"
    return "track" if "--target" in options else ""


def _show(name: str, value: Any) -> str:
    if value is None:
        return "none" if name in _NONE else "the default"
    return show_names([*map(str, value)], ",") if isinstance(value, list) else str(value)


def check_header(header: dict[str, Any], grows: int = 0) -> None:
    """Make sure of the names and types that every run with a source saves.

    grows: how many files grow beside the predictions.

    ValueError names what is wrong: a run that trusts it must not meet a word where it counts.
    Whether they fit the input, the run itself finds out.
    """
    part(header, "command", dict)
    for name in ("row", "position", "length", "rows"):
        counted(name, header[name], _MOST)
    counted("head", header["head"], HEAD)
    lengths = header.get("lengths", [])
    if type(lengths) is not list or len(lengths) != grows:
        raise ValueError(f"its header holds {str(lengths)[:40]!r} as lengths of {grows} files")
    for length in lengths:
        counted("lengths", length, _MOST)
    ends = header.get("ends", [None] * (grows + 1))  # checkpoints of old have none
    known = type(ends) is list and all(one is None or isinstance(one, str) for one in ends)
    if not known or len(ends) != grows + 1:
        raise ValueError(f"its header holds {str(ends)[:40]!r} as ends of {grows + 1} files")
    prints, timed = part(header, "fingerprint", list), part(header, "timed", list)
    if len(timed) != 2 or not all(one is None or isinstance(one, str) for one in prints):
        raise ValueError("its header counts or times otherwise than a run does")
    if not all(isinstance(name, str) for name in part(header, "names", list)):
        raise ValueError("its header has files without a name")
    counted("timed", timed[0], _MOST)
    for seconds in (timed[1], header["seconds"]):
        if type(seconds) not in (int, float) or not 0.0 <= seconds < float("inf"):
            raise ValueError(f"its header holds {seconds!r} as seconds")
    if type(header.get("passed", [])) is not list:
        raise ValueError(f"its header holds {header['passed']!r} as keys that were passed over")
    part(header, "started", str)
    part(header, "finished", bool)


def check_encoder(state: dict[str, Any], features: int) -> None:
    """Make sure of the encoder of so many features: kinds, categories, labels, the last time."""
    kinds, labels, last = state["kinds"], part(state, "labels", dict), state["last_time"]
    if kinds is not None and (
        not isinstance(kinds, list)
        or len(kinds) != features
        or not {*map(str, kinds)} <= {"number", "category"}
    ):
        raise ValueError(f"its header holds {kinds!r} as the kinds of {features} columns")
    categories = part(state, "categories", list)
    for pair in categories:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
            raise ValueError(f"its header holds {pair!r} as a category")
        counted("categories", pair[0], features - 1)
    if len({tuple(pair) for pair in categories}) < len(categories):
        raise ValueError("its header holds a category twice")
    if (
        len(labels) > 2
        or {*labels.values()} != {*range(2)} & {*labels.values()}
        or len({*labels.values()}) < len(labels)
    ):
        raise ValueError(f"its header holds {labels!r} as labels")
    spelled = state.get("spelled", {})  # checkpoints of old have none
    if (
        not isinstance(spelled, dict)
        or not {*spelled} <= {*labels}
        or not {*map(type, spelled.values())} <= {str}
    ):
        raise ValueError(f"its header holds {spelled!r} as the spelling of labels")
    if last is not None and (type(last) not in (int, float) or not abs(last) < float("inf")):
        raise ValueError(f"its header holds {last!r} as the last time")
    if part(state, "time_kind", str) not in ("", "row", "date", "number"):
        raise ValueError(f"its header holds {state['time_kind']!r} as the kind of times")
    part(state, "full", bool)
    for name in ("date_form", "date_open"):  # checkpoints of old have none
        if not isinstance(state.get(name, ""), str | None):
            raise ValueError(f"its header holds {state[name]!r} as {name!r}")
    if state.get("zoned") not in (None, False, True):  # checkpoints of old have none
        raise ValueError(f"its header holds {state['zoned']!r} as whether dates have a time zone")


def part(tree: dict[str, Any], name: str, kind: type) -> Any:
    """Return what a header has under a name; ValueError where it is of another kind."""
    value = tree[name]
    if type(value) is not kind:
        raise ValueError(f"its header holds {str(value)[:40]!r} as {name!r}")
    return value


def counted(name: str, value: Any, most: int = _MOST) -> None:
    """Refuse what is no count up to `most`."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"its header holds {str(value)[:40]!r} as {name!r}")
