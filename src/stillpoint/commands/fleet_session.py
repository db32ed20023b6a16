"""The local engine: batches from the files through a fleet into predictions.csv, checkpoints on the
way, a summary at the end.
"""

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.commands import fleet_cells
from stillpoint.commands.batches import Batch
from stillpoint.commands.checkpoint import same_command
from stillpoint.commands.fleet_files import Files
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.fleet_summary import SUMMARY, Account, write_summary
from stillpoint.commands.held import Holder
from stillpoint.commands.options import InputError
from stillpoint.commands.progress import progress
from stillpoint.commands.sink import Sink, cell, check, quoted
from stillpoint.commands.stop import Stop
from stillpoint.core.container import places
from stillpoint.core.validation import Array
from stillpoint.fleet.rows import Played

BATCH = 1 << 16  # rows
EVERY = 0.5  # seconds between checkpoints, at least
SHARE = 10.0  # … and so many times what the last one took


class FleetSink(Sink):
    """predictions.csv of many streams."""

    def __init__(self, options: FleetOptions, columns: Sequence[str], length: int | None) -> None:
        names = [
            options.key,
            *(
                name
                for name in (options.time, options.target, options.forecast)
                if name is not None
            ),
            *columns,
            "rejected",
        ]
        self.header = (",".join(map(quoted, names)) + "\n").encode()
        super().__init__(options.out / "predictions.csv", length)

    def rows(
        self, texts: Sequence[Sequence[str]], numbers: Sequence[Array], played: Played
    ) -> None:
        """Write a batch: columns of text, columns of numbers, plays and reasons."""
        columns = [
            *texts,
            *(list(map(cell, column.tolist())) for column in (*numbers, *played.plays)),
        ]
        if not played.rejected:
            self._write((",\n".join(map(",".join, zip(*columns, strict=True))) + ",\n").encode())
            return
        reasons = [""] * played.losses.size
        for row, reason in played.rejected.items():
            reasons[row] = quoted(reason)
        self._write(("\n".join(map(",".join, zip(*columns, reasons, strict=True))) + "\n").encode())


class LocalRun(Holder):
    """A run of the command on this machine, from the beginning or from its checkpoint."""

    def __init__(self, options: FleetOptions, stop: Stop, bar: bool) -> None:
        super().__init__()
        self.options, self.stop, self.bar = options, stop, bar
        self.player, self.account, self.files = options.player(), Account(), Files(options, stop)
        self.time_kind = ""
        # whether times are dates with a time zone; not known before the first
        self.zoned: bool | None = None
        self._sink: FleetSink | None
        # timed: rows and seconds without the first batch, which compiles
        self._seconds, self._timed = 0.0, [0, 0.0]
        self._fresh, self._saved, self._pause = False, time.monotonic(), EVERY
        self._hold(options.checkpoint)

    @property
    def predictions(self) -> Path:
        """Where the predictions go."""
        return self.options.out / "predictions.csv"

    def play(self) -> None:
        """Read, predict, learn and write until the input ends or a stop is asked for."""
        with ExitStack() as stack:
            size = self.files.size if self.bar else None
            advance = progress(stack, size, self.bar)
            first = True
            while not self.stop.signal:
                begun = time.perf_counter()
                try:
                    with _uncollected():
                        batch = self.files.read(BATCH)
                        if batch.rows:
                            self._batch(batch)
                except InputError:
                    self._commit(0.0)
                    raise
                if batch.rows == 0 and self.files.ended:
                    return
                spent = time.perf_counter() - begun
                self._seconds += spent
                if not first:
                    self._timed = [self._timed[0] + batch.rows, self._timed[1] + spent]
                first = False
                advance(self.account.rows, self.files.position)
                self._commit(self._pause)

    def _batch(self, batch: Batch) -> None:
        o, columns, reasons = self.options, list(batch.columns), fleet_cells.Reasons()
        keys, y = (
            fleet_cells.keys(columns.pop(0)),
            fleet_cells.floats(columns.pop(0), o.target, reasons),
        )
        texts, numbers, told = [_texts(keys)], [y], {}
        if o.time is not None:
            given = columns.pop(0)
            self.time_kind = self.time_kind or fleet_cells.time_kind(given)
            if self.zoned is None and self.time_kind == "date":
                self.zoned = fleet_cells.zoned(given)
            told["times"] = fleet_cells.times(given, o.time, self.time_kind, self.zoned, reasons)
            texts.append(_texts(given))
        if o.forecast is not None:
            told["forecasts"] = fleet_cells.floats(columns.pop(0), o.forecast, reasons)
            numbers.append(told["forecasts"])
        played = self.player.play(keys, y, **told)
        played.rejected.update(reasons)  # what a cell held says more than that it was not a number
        if self._sink is None:
            self._sink = FleetSink(o, self.player.columns, self._length)
            if self._length is None:
                # that of an earlier run would not belong to these predictions
                places(o.out / SUMMARY)[0].unlink(missing_ok=True)
        self._sink.rows(texts, numbers, played)
        self.account.add(played)
        self._length, self._fresh = self._sink.length, True

    def finish(self) -> dict[str, Any]:
        """Bring all to the disk; returns the summary."""
        self._cut()
        if self.account.rows == 0:
            if self.stop.signal:
                raise KeyboardInterrupt
            raise InputError(
                f"the input must have rows: got none in {self.options.source}; check the file"
            )
        self._commit(0.0)
        if self._sink is not None and self.checkpoint is None:
            self._sink.sync()
        rows, seconds = self._timed
        rate = rows / seconds if seconds else None
        tail = {
            "seconds": self._seconds,
            "rows_per_second": rate,
            "files": ["predictions.csv", SUMMARY],
        }
        return write_summary(
            self.options, not self.stop.signal, {**self.account.figures(self.player), **tail}
        )

    def _commit(self, every: float) -> None:
        """Bring what is new to the disk, predictions first, if that is `every` seconds old."""
        if self.checkpoint is None or not self._fresh or time.monotonic() - self._saved < every:
            return
        begun = time.monotonic()
        if self._sink is not None:
            self._length = self._sink.sync()
        header = {
            "command": self.options.command(),
            "files": self.files.state(),
            "length": self._length,
            "account": self.account.state(),
            "time_kind": self.time_kind,
            "zoned": self.zoned,
            "seconds": self._seconds,
        }
        learners = np.frombuffer(self.player.pack(), np.uint8)
        self.checkpoint.save(header, {"learners": learners, **self.account.arrays()})
        self._saved, self._fresh = time.monotonic(), False
        # large fleets take long to save: most of the time is for rows
        self._pause = max(EVERY, SHARE * (self._saved - begun))

    def _resume(self) -> None:
        stored = self.checkpoint.load() if self.checkpoint is not None else None
        if stored is None:
            return
        header, state = stored
        same_command(self.options.command(), header["command"])
        self._length = header["length"]
        check(self.predictions, header["length"])
        self.files.restore(header["files"])
        self.player.unpack(state["learners"].tobytes())
        self.account.restore(header["account"], state)
        self.time_kind, self._seconds = header["time_kind"], header["seconds"]
        self.zoned = header.get("zoned")  # checkpoints of old have none

    def close(self) -> None:
        """Close what is open."""
        self.files.close()
        super().close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """A batch makes and drops a tuple a row: looking through them for cycles, of which there are
    none, takes long.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _texts(column: Any) -> list[str]:
    """Cells as they are to be written."""
    if isinstance(column, np.ndarray):
        return list(map(str, column.tolist()))
    texts = ["" if item is None else item if type(item) is str else str(item) for item in column]
    joined = "".join(texts)
    if not any(mark in joined for mark in ',"\n\r'):
        return texts
    return list(map(quoted, texts))
