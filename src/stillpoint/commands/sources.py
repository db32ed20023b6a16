"""Where rows come from: one file, standard input or the files of a folder, and where a run is."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stillpoint.commands.errors import ColumnError, InputError, RowError, Stop, Stopped
from stillpoint.commands.formats import SUFFIXES, Batch, Reader, format_of, open_reader, suffix_of
from stillpoint.commands.lines import HEAD
from stillpoint.commands.packed import standard_input
from stillpoint.core.container import places


class Source:
    """Files one after the other, in batches of rows.

    Parameters
    ----------
    paths
        The files, in order; "-" is standard input.
    columns
        Called with the columns of a file and its path; returns those to read, in order, or refuses.
    stop
        Looked at while there is nothing to read.
    format, follow, words
        As for `open_reader`.
    named
        Whether messages about a row name its file.
    remedy
        What to do where a checkpoint is of another input.
    """

    def __init__(
        self,
        paths: Sequence[str],
        columns: Callable[[list[str], str], Sequence[str]],
        stop: Stop,
        *,
        format: str | None = None,
        follow: bool = False,
        named: bool = False,
        words: Sequence[str] = (),
        remedy: str = "give another --checkpoint folder",
    ) -> None:
        self.paths, self._columns, self._stop = list(paths), columns, stop
        self._format, self._follow, self._named, self._remedy = format, follow, named, remedy
        self._words = words
        self.index, self.row = 0, 0  # the file, and rows read of it
        self.ended = False
        self._reader: Reader | None = None
        self._before = 0  # bytes of the files behind

    def begin(self) -> None:
        """Find the columns of the one file there is, before its first row is asked for."""
        if self._open(patient=True) is None:
            raise InputError(
                f"the input must have a header and rows: got nothing in {self.name}; check the file"
            )

    def read(self, limit: int) -> Batch:
        """Return up to so many rows of one file; none at the end of all, or where none has come.

        A row that cannot be read is refused, with its number, when it is the first.
        """
        while not self.ended:
            reader = self._open()
            if reader is not None:
                try:
                    batch = reader.read(limit)
                except RowError as error:
                    raise self.refused(error) from None
                if batch.rows or not reader.ended:
                    self.row += batch.rows
                    return batch
            self._next()
        return Batch([], 0)

    def back(self, batch: Batch, rows: int) -> None:
        """Let all but the first rows of the batch just read come again."""
        assert self._reader is not None
        self._reader.back(batch, rows)
        self.row -= batch.rows - rows

    def refused(self, error: RowError) -> InputError:
        """Return the error for the row that comes next, with its number."""
        file = f"{self.name}, " if self._named else ""
        return InputError(f"{file}row {self.row + 1}: {error.what}")

    @property
    def name(self) -> str:
        """The file now read."""
        return self.paths[self.index]

    @property
    def gone(self) -> bool:
        """Whether it ended because it was deleted while it was followed."""
        return self._reader is not None and self._reader.gone

    @property
    def size(self) -> int | None:
        """Where the last row ends; None where that is not known."""
        if self._reader is not None and len(self.paths) == 1:
            return self._reader.size
        if self.paths == ["-"] or any(path.endswith((".parquet", ".pq")) for path in self.paths):
            return None
        return sum(Path(path).stat().st_size for path in self.paths)

    @property
    def position(self) -> int:
        """Where the next row begins."""
        return self._before + (self._reader.position if self._reader is not None else 0)

    def notes(self) -> list[str]:
        """Return what a person should know of what was read."""
        return self._reader.notes() if self._reader is not None else []

    def _open(self, patient: bool = False) -> Reader | None:
        """Return the reader of this file, at its first row; None for a file with nothing in it.

        patient: whether to be stopped while nothing comes is to be told as the run's end.
        """
        if self._reader is None:
            reader = open_reader(
                self.name,
                self._format,
                follow=self._follow,
                stop=self._stop,
                words=self._words,
            )
            try:
                while not self._begin(reader):
                    if patient and self._stop.signal:
                        raise Stopped("nothing was read")
                    self._stop.check()
                    if reader.ended:
                        reader.close()
                        return None
                reader.use(self._columns(reader.names, self.name))
            except ColumnError as error:
                reader.close()
                if len(reader.names) > 1:
                    raise
                # a line of a title has one cell, too
                raise InputError(f"{error}; leave out lines above the header, if any") from None
            except BaseException:
                reader.close()
                raise
            self._reader = reader
        return self._reader

    def _begin(self, reader: Reader) -> bool:
        """Find the columns of a file; errors name it, and the row where they are told by rows."""
        try:
            return reader.begin()
        except RowError as error:
            if format_of(self.name, self._format) == "jsonl":
                raise self.refused(error) from None
            raise self._of_file(error) from None
        except InputError as error:
            raise self._of_file(error) from None

    def _of_file(self, error: InputError) -> InputError:
        """Return an error about a header, with the file where there may be several."""
        known = not self._named or self.name in str(error)
        return error if known else InputError(f"{self.name}: {error}")

    def _next(self) -> None:
        self.ended = self.index + 1 == len(self.paths)
        # the last file stays open: where it ended is where a run goes on if it has grown
        if self.ended:
            return
        if self._reader is not None:
            self._before += self._reader.position
            self._reader.close()
        self._reader, self.row = None, 0
        self.index += 1

    def state(self) -> dict[str, Any]:
        """Return where it stands, for saving; position 0: nothing of this file was read."""
        names = [Path(path).name for path in self.paths[: self.index + 1]]
        if self._reader is None:
            return {"names": names, "row": 0, "position": 0, "head": 0, "fingerprint": []}
        position = self._reader.position
        head = min(HEAD, position)
        prints = self._reader.fingerprint(head, position)
        here = {"position": position, "head": head, "fingerprint": prints}
        passed = list(self._reader.passed)  # what a note is about
        return {"names": names, "row": self.row, **here, **({"passed": passed} if passed else {})}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a run stood; files may have joined behind."""
        names = [Path(path).name for path in self.paths[: len(state["names"])]]
        if self._named and names != state["names"]:
            other = next((a for a, b in zip(names, state["names"], strict=False) if a != b), "none")
            raise InputError(
                f"the files must be those of the checkpoint: got {other}; give new ones later"
                " names, or begin anew"
            )
        self.index = len(names) - 1
        self._before = sum(Path(path).stat().st_size for path in self.paths[: self.index])
        position, head = state["position"], state["head"]
        if position == 0:
            return
        reader = self._open()
        if reader is None:
            raise InputError(
                f"the input must be that of the checkpoint: got an empty {self.name}; begin anew"
            )
        reader.seek(position)
        prints = reader.fingerprint(head, position)
        pairs = zip(prints, state["fingerprint"], strict=False)
        if any(a != b for a, b in pairs if a is not None and b is not None):
            raise InputError(
                f"the input must be that of the checkpoint: got another content; {self._remedy}"
            )
        if passed := state.get("passed"):
            reader.passed = [str(name) for name in passed]
        self.row = state["row"]

    def close(self) -> None:
        """Close what is open."""
        if self._reader is not None:
            self._reader.close()


def inputs(source: str) -> list[str]:
    """Return the files of a source: itself, or those of a folder whose format is known, by name."""
    path = Path(source)
    if not path.is_dir():
        return [source]
    found = sorted(
        str(file)
        for file in path.iterdir()
        if suffix_of(file) in SUFFIXES and not file.name.startswith((".", "_"))
    )
    if not found:
        raise InputError(
            f"the folder must hold CSV, JSON-lines or Parquet files: got none in {source}; check"
            " the path"
        )
    return found


def refuse_overwriting_input(
    source: str, option: str, folder: Path | None, names: Sequence[str]
) -> None:
    """Refuse a folder in which the input is one of the files that a run writes or deletes.

    Links count as what they lead to. It is asked before any file is touched.
    """
    if folder is None:
        return
    given = standard_input() if source == "-" else source
    for path in [folder / name for name in names]:
        # some are written beside their place, then moved there; beside what it leads to, if that is
        # a link
        real, part = places(path)
        lock = real.with_name(f".{real.name}.lock")
        for written in (path, path.with_name(f".{path.name}.part"), part, lock):
            if _same(given, written):
                what = (
                    f"got {'standard input' if source == '-' else source}, and the run writes or"
                    f" deletes {written}"
                )
                raise InputError(
                    f"{option} must not overwrite the input: {what}; give another {option} folder"
                )


def refuse_folder_of_input(source: str, option: str, folder: Path | None) -> None:
    """Refuse a folder that is the input's own: the next run would read what is written there."""
    if source != "-" and folder is not None and _same(source, folder):
        raise InputError(
            f"{option} must not be the folder of the input: got {folder}; give another {option}"
            " folder"
        )


def refuse_deleting_input(source: str, option: str, folder: Path | None, name: str) -> None:
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
