"""One run of a command: read, play, write, save checkpoints on the way, and sum up at the end."""

import gc
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stillpoint.commands import checkpoint as saved
from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.errors import InputError, RowError, ShrunkError, Stop, Stopped
from stillpoint.commands.formats import Batch
from stillpoint.commands.options import Options
from stillpoint.commands.sink import Files, Growing
from stillpoint.commands.sources import Source
from stillpoint.commands.summary import answer
from stillpoint.core.jit import compiling
from stillpoint.core.terminal import console

EVERY = 0.5  # seconds between checkpoints
SLOWER = 20.0  # … and so many times more for every second that the last one took
PREDICTIONS = "predictions.csv"


class Job(ABC):
    """What a command makes of rows; a Session reads them, and writes and saves what it says."""

    options: Options
    header: bytes  # the first line of predictions.csv
    grows: Sequence[str] = ()  # files beside it that grow with the rows
    stale: Sequence[str]  # files of an earlier run that would not belong to new predictions
    no_rows: str  # what to say of an input without rows
    lasting = False  # whether a finished run is left as it is when the command is given again

    @abstractmethod
    def source(self, stop: Stop) -> Source:
        """Open the input, once it is sure that no output is one of its files."""

    @property
    @abstractmethod
    def limit(self) -> int:
        """How many rows to read and play together."""

    @abstractmethod
    def play(self, batch: Batch, row: int) -> bytes:
        """Predict and learn rows from number `row` on; return what to write of them.

        RowError for a row that cannot be used: then nothing has changed.
        """

    def beside(self) -> Sequence[bytes]:
        """Return what the rows just played add to each of `grows`."""
        return ()

    @abstractmethod
    def command(self) -> dict[str, Any]:
        """Return what must not change between a run and its continuation."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the state, for saving: plain JSON, and arrays and numbers."""

    @abstractmethod
    def check(self, header: dict[str, Any]) -> None:
        """Refuse a checkpoint's header that no run of this command has written."""

    @abstractmethod
    def restore(self, checkpoint: Checkpoint, header: dict[str, Any], state: Any) -> None:
        """Restore what `state` returned."""

    def earlier(self) -> dict[str, Any] | None:
        """Return the summary of a finished run; None where it is to be summed up anew."""
        return None

    def idle(self, session: "Session") -> None:  # noqa: B027
        """Do what is due between batches."""

    @abstractmethod
    def finish(self, session: "Session") -> dict[str, Any]:
        """Write the summary and all that goes with it; return it."""

    @abstractmethod
    def show(self, summary: dict[str, Any]) -> None:
        """Show the summary on the terminal."""


class Session:
    """A run, from the beginning or from its checkpoint; `close` it, whatever happens."""

    def __init__(self, job: Job, source: Source, stop: Stop, bar: bool = False) -> None:
        self.job, self.source, self.stop, self.bar = job, source, stop, bar
        self.predictions: Path = job.options.out / PREDICTIONS
        self.rows, self.notes = 0, list[str]()
        self.seconds, self.started = 0.0, now()
        self._timed = [0, 0.0]  # rows and seconds, without the first batch, which compiles
        self._finished, self._fresh = False, False
        self._saved, self._pause = time.monotonic(), EVERY
        self._files = Files(job.options.out, PREDICTIONS, job.header, job.grows)
        folder = job.options.checkpoint
        self.checkpoint = None if folder is None else Checkpoint(folder)
        try:
            self._resume()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                self._cut()
            self.close()
            raise

    @property
    def rate(self) -> float | None:
        """Rows a second, without the first batch."""
        rows, seconds = self._timed
        return rows / seconds if seconds else None

    def play(self) -> None:
        """Read, predict, learn and write until the input ends or a stop is asked for."""
        with ExitStack() as stack:
            source, first = self.source, True
            tell = progress(stack, source.size if self.bar else None, self.bar)
            stack.enter_context(compiling(lambda name: tell("compiling, once", source.position)))
            while not self.stop.signal:
                begun = time.perf_counter()
                with _uncollected():
                    rows = self._play(self._read())
                if rows:
                    spent = time.perf_counter() - begun
                    self.seconds += spent
                    if not first:
                        self._timed = [self._timed[0] + rows, self._timed[1] + spent]
                    first = False
                    tell(f"{self.rows:,} rows", source.position)
                elif source.ended:
                    if source.gone:
                        self.notes.append(
                            "the input was deleted: there is nothing more to follow; start again"
                            " on a new one"
                        )
                    return
                self._commit(self._pause)
                self.job.idle(self)

    def _read(self) -> Batch:
        try:
            return self.source.read(self.job.limit)
        except ShrunkError:
            raise
        except InputError:
            self._commit(0.0)
            raise

    def _play(self, batch: Batch) -> int:
        """Play a batch and write it; return of how many rows. The next begins with a bad one."""
        bad: InputError | None = None  # what is wrong with the row after the batch
        while batch.rows:
            try:
                text = self.job.play(batch, self.rows + 1)
                break
            except RowError as error:
                self.source.back(batch, error.index)
                refused = self.source.refused(error)
                if error.index == 0:
                    self._commit(0.0)
                    raise (error.undecided and bad) or refused from None
                bad, batch = refused, batch.head(error.index)
        else:
            return 0
        self._write(text)
        self.rows += batch.rows
        self._fresh, self._finished = True, False
        return batch.rows

    def _write(self, text: bytes) -> None:
        """Append to the predictions, then to what grows beside them."""
        self._files.write(text, self.job.beside(), self.job.stale)

    def finish(self) -> dict[str, Any]:
        """Bring all to the disk and sum up; return the summary."""
        self._cut()
        if self.rows == 0:
            if self.stop.signal:
                raise Stopped("no row was read")
            raise InputError(self.job.no_rows)
        if self._finished and not self._fresh and (before := self.job.earlier()) is not None:
            return {**before, "rows_per_second": None}  # nothing was played
        self._commit(0.0)
        if self.checkpoint is None:
            self._files.each(Growing.sync)
        summary = self._sum_up()
        if self.job.lasting:
            self._finished, self._fresh = not self.stop.signal, True
            self._commit(0.0)
        return summary

    def _sum_up(self) -> dict[str, Any]:
        """Let the job sum up; what is looked for then, as changes of a series, may compile, too."""
        with ExitStack() as stack:
            tell = progress(stack, None, self.bar)
            tell(f"{self.rows:,} rows, summing up", 0)
            stack.enter_context(compiling(lambda name: tell("compiling, once", 0)))
            return self.job.finish(self)

    def _cut(self) -> None:
        """See Growing."""
        self._files.each(Growing.cut)

    def _commit(self, every: float) -> None:
        """Bring what is new to the disk, predictions first, if that is `every` seconds old."""
        if self.checkpoint is None or not self._fresh or time.monotonic() - self._saved < every:
            return
        begun = time.monotonic()
        self._files.each(Growing.sync)
        own, state = self.job.state()
        header = {
            "command": self.job.command(),
            **self.source.state(),
            **self._files.state(),
            "rows": self.rows,
            "timed": self._timed,
            "seconds": self.seconds,
            "started": self.started,
            "finished": self._finished,
            **own,
        }
        self.checkpoint.save(header, state)
        self._saved, self._fresh = time.monotonic(), False
        # much that is learnt takes long to save: most of the time is for rows
        self._pause = EVERY * max(1.0, SLOWER * (self._saved - begun))

    def _resume(self) -> None:
        stored = None if self.checkpoint is None else self.checkpoint.load(self._check)
        if self.checkpoint is None or stored is None:
            return
        header, state = stored
        saved.same_command(self.job.command(), header["command"])
        self._files.resume(header)
        self.source.restore(header)
        self.job.restore(self.checkpoint, header, state)
        self.rows, self._timed, self.seconds = header["rows"], header["timed"], header["seconds"]
        self.started, self._finished = header["started"], header["finished"]

    def _check(self, header: dict[str, Any]) -> None:
        """Refuse a header that no run of this command has written; others are told as such."""
        if not saved.differing(self.job.command(), saved.part(header, "command", dict)):
            saved.check_header(header, len(self.job.grows))
            self.job.check(header)

    def close(self) -> None:
        """Close what is open."""
        self._files.each(Growing.close)
        if self.checkpoint is not None:
            self.checkpoint.close()


def run(
    job: Job, stop: Stop, *, print_json: bool, quiet: bool, kind: type[Session] = Session
) -> None:
    """Run a job from its input to its summary; Stopped where that was asked for on the way."""
    with ExitStack() as stack:
        source = job.source(stop)
        stack.callback(source.close)
        session = kind(job, source, stop, bar=not quiet and sys.stderr.isatty())
        stack.callback(session.close)
        session.play()
        summary = session.finish()
    answer(summary, job.options.out, job.show, session.notes, print_json=print_json, quiet=quiet)
    if stop.signal:
        raise Stopped(f"stopped after {session.rows:,} rows; all files are whole")


def progress(stack: ExitStack, size: int | None, bar: bool) -> Callable[[str, int], None]:
    """Show how far a run is, by bytes where the size is known; the caller tells text and place."""
    if not bar:
        return lambda text, position: None
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    progress = stack.enter_context(Progress(*columns, console=console(err=True), transient=True))
    task = progress.add_task("0 rows", total=size)
    return lambda text, position: progress.update(task, completed=position, description=text)


def now() -> str:
    """Return the time of day, for a summary."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no cycles in a batch: it makes and drops a tuple a row, and looking takes long."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
