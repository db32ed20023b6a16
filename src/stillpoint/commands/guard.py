"""A run must not write over what it reads: outputs that are the input under some name are refused
before any file is touched.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from stillpoint.commands.lines import standard_input
from stillpoint.commands.options import InputError
from stillpoint.core.container import places


def spare(source: str, option: str, folder: Path | None, names: Sequence[str]) -> None:
    """Refuse a folder in which the input is one of the files that a run writes or deletes; links
    count as what they lead to.
    """
    if folder is None:
        return
    given = standard_input() if source == "-" else source
    for path in [folder / name for name in names]:
        # some are written beside their place, then moved there; beside what it leads to, if that is
        # a link
        for written in (path, path.with_name(f".{path.name}.part"), places(path)[1]):
            if _same(given, written):
                what = (
                    f"got {'standard input' if source == '-' else source}, and the run writes or"
                    f" deletes {written}"
                )
                raise InputError(
                    f"{option} must not overwrite the input: {what}; give another {option} folder"
                )


def spare_folder(source: str, option: str, folder: Path | None) -> None:
    """Refuse a folder that is the input's own: what is written there would be read by the
    next run.
    """
    if folder is not None and _same(source, folder):
        raise InputError(
            f"{option} must not be the folder of the input: got {folder}; give another {option}"
            " folder"
        )


def spare_tree(source: str, option: str, folder: Path | None, name: str) -> None:
    """Refuse a folder that holds the input somewhere in a tree which a run deletes."""
    if folder is not None and Path(source).resolve().is_relative_to((folder / name).resolve()):
        raise InputError(
            f"{option} must not delete the input: got {source}, and the run replaces"
            f" {folder / name}; give another {option}"
        )


def _same(given: str | int, path: Path) -> bool:
    """Whether both are one file; given: its path, or its number."""
    try:
        return os.path.samefile(given, path)
    except OSError:  # one of them is not there (yet)
        return isinstance(given, str) and os.path.realpath(given) == os.path.realpath(path)
