"""Rows of one file, standard input or all files of a folder, one after the other in the order of
their names.
"""

from pathlib import Path
from typing import Any

from stillpoint.commands.batches import Batch, Reader
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.lines import HEAD
from stillpoint.commands.options import SUFFIXES, InputError, Options, RowError
from stillpoint.commands.readers import open_reader
from stillpoint.commands.stop import Stop


class Files:
    """The inputs, and where in them a run is."""

    def __init__(self, options: FleetOptions, stop: Stop) -> None:
        self.options, self._stop = options, stop
        self.paths = inputs(options.source)
        self.index, self.row = 0, 0  # the file, and rows read of it
        self.ended = False
        self._reader: Reader | None = None
        self._before = 0  # bytes of the files behind

    def read(self, limit: int) -> Batch:
        """Up to so many rows of one file; none at the end of all. A row that cannot be read is
        refused when it is the first.
        """
        while not self.ended:
            reader = self._open()
            if reader is not None:
                try:
                    batch = reader.read(limit)
                except RowError as error:
                    raise InputError(f"{self.name}, row {self.row + 1}: {error.what}") from None
                if batch.rows:
                    self.row += batch.rows
                    return batch
                if not reader.ended:
                    return batch
            self._next()
        return Batch([() for _ in self.options.columns], 0)

    @property
    def name(self) -> str:
        """The file now read."""
        return self.paths[self.index]

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where that says nothing of the rows to come."""
        if self.options.source == "-" or any(
            path.endswith((".parquet", ".pq")) for path in self.paths
        ):
            return None
        return sum(Path(path).stat().st_size for path in self.paths)

    @property
    def position(self) -> int:
        """Bytes read."""
        return self._before + (self._reader.position if self._reader is not None else 0)

    def _open(self) -> Reader | None:
        """The reader of this file, at its first row; None for a file with nothing in it."""
        if self._reader is None:
            reader = open_reader(
                Options(self.name, self.options.target, self.options.out), self._stop
            )
            try:
                while not reader.begin():
                    self._stop.check()
                    if reader.ended:
                        reader.close()
                        return None
                self.options.check(reader.names, self.name)
                reader.use(self.options.columns)
            except BaseException:
                reader.close()
                raise
            self._reader = reader
        return self._reader

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
        """Where it stands, for saving."""
        own = {"names": [Path(path).name for path in self.paths[: self.index + 1]], "row": self.row}
        if self._reader is None:
            return {**own, "position": None}
        head = min(HEAD, self._reader.position)
        prints = self._reader.fingerprint(head, self._reader.position)
        return {**own, "position": self._reader.position, "head": head, "fingerprint": prints}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a run stood; files may have joined behind."""
        names = [Path(path).name for path in self.paths[: len(state["names"])]]
        if names != state["names"]:
            other = next((a for a, b in zip(names, state["names"], strict=False) if a != b), "none")
            raise InputError(
                f"the files must be those of the checkpoint: got {other}; give new ones later"
                " names, or begin anew"
            )
        self.index, self.row = len(names) - 1, state["row"]
        self._before = (
            sum(Path(path).stat().st_size for path in self.paths[: self.index])
            if self.options.source != "-"
            else 0
        )
        if state["position"] is None:
            return
        reader = self._open()
        if reader is None:
            raise InputError(
                f"the input must be that of the checkpoint: got an empty {self.name}; begin anew"
            )
        reader.seek(state["position"])
        pairs = zip(
            reader.fingerprint(state["head"], state["position"]), state["fingerprint"], strict=True
        )
        if any(a != b for a, b in pairs if a is not None and b is not None):
            raise InputError(
                "the input must be that of the checkpoint: got another content; give another"
                " --checkpoint folder"
            )

    def close(self) -> None:
        """Close what is open."""
        if self._reader is not None:
            self._reader.close()


def inputs(source: str) -> list[str]:
    """The files of a source: itself, or those in the folder whose format is known, by name."""
    path = Path(source)
    if not path.is_dir():
        return [source]
    found = sorted(
        str(file)
        for file in path.iterdir()
        if file.suffix.lower() in SUFFIXES and not file.name.startswith((".", "_"))
    )
    if not found:
        raise InputError(
            f"the folder must hold CSV, JSON-lines or Parquet files: got none in {source}; check"
            " the path"
        )
    return found
