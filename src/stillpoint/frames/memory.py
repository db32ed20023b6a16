"""`stillpoint track` without files: its rows, its learners and its figures, kept in memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.commands.errors import Stop
from stillpoint.commands.formats import Batch
from stillpoint.commands.history import History
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.session import Session
from stillpoint.commands.sources import Source
from stillpoint.commands.summary import plain
from stillpoint.commands.tracking import Track
from stillpoint.core.jit import compiling
from stillpoint.core.terminal import tell
from stillpoint.core.validation import Array
from stillpoint.frames.clock import Clock
from stillpoint.frames.given import Given
from stillpoint.frames.readers import MemorySource
from stillpoint.frames.words import in_python

NOWHERE = Path()  # where files would go; none is written


class MemoryTrack(Track):
    """A run of `track` whose predictions are kept, not written."""

    def __init__(self, options: TrackOptions, given: Given) -> None:
        super().__init__(options)
        self._given = given
        if given.reader is not None:
            self.no_rows = "data must have rows: got none; give at least one"
        self._told: list[tuple[Array, ...]] = []
        self._times: list[str] = []
        self._labels: list[str] = []
        self.told: list[dict[str, Any]] = []  # all alarms, changes with the sizes known by now
        self.banded = True

    def source(self, stop: Stop) -> Source:
        """See Job."""
        if self._given.reader is None:
            return super().source(stop)
        return MemorySource(self._given.reader, self._columns, stop)

    def _refuse(self) -> None:
        """Refuse nothing: no file is written."""

    def play(self, batch: Batch, row: int) -> bytes:
        """See Job."""
        rows, told, self.banded = self.forecast(batch, row)
        self._told.append((told.times, told.y, told.forecasts, told.lo, told.hi))
        self._times += rows.time_texts or ()
        self._labels += rows.y_texts or ()
        if self.alerts is not None:
            self.told = self.alerts.refined([*self.told, *self.alarms])
        return b""

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job."""
        summary = self._figures(session)
        notes = [*self._given.notes, *(in_python(note) for note in session.notes)]
        result: dict[str, Any] = plain({**summary, "notes": notes})
        return result

    def shown(self, summary: dict[str, Any]) -> dict[str, Any]:
        """See Track; there is no file with all alarms."""
        found = super().shown(summary)
        if "alerts" not in found:
            return found
        return {**found, "alerts": {**found["alerts"], "kept": "the result’s alerts"}}

    @property
    def run(self) -> History:
        """The run in buckets."""
        assert self.history is not None
        return self.history

    @property
    def times(self) -> list[str] | None:
        """The times of all rows, as text; None without."""
        return None if self.options.time is None else self._times

    @property
    def clock(self) -> Clock:
        """How the times are written."""
        return Clock(self.encoder.time_kind, self.encoder.date_form)

    def numbers(self) -> dict[str, Array]:
        """Return times, targets and what was told of all rows, in numbers."""
        parts = [np.concatenate(part) for part in zip(*self._told, strict=True)]
        return dict(zip(("time", "y", "forecast", "lo", "hi"), parts, strict=True))

    def columns(self) -> dict[str, Any]:
        """Return targets and what was told of all rows, as they are handed back."""
        found: dict[str, Any] = self.numbers()
        if self.options.task == "binary":
            found["y"] = np.array(self._labels, dtype=object)
        names = ("y", "forecast", "lo", "hi") if self.banded else ("y", "forecast")
        return {name: found[name] for name in names}


class MemorySession(Session):
    """A session that writes nothing."""

    def _write(self, text: bytes) -> None:
        """Write nothing: the job keeps what it tells."""


def play(job: MemoryTrack, progress: bool | None) -> dict[str, Any]:
    """Run a job from its first row to its summary.

    progress: None shows it on a terminal; in a notebook one line says that the first run compiles.
    """
    stop = Stop()  # Ctrl-C is Python's own here
    source = job.source(stop)
    try:
        bar = sys.stderr.isatty() if progress is None else progress
        session = MemorySession(job, source, stop, bar=bar)
        with _noted() if progress is None and _in_notebook() else nullcontext():
            session.play()
            return session.finish()
    finally:
        source.close()


def _in_notebook() -> bool:
    """Whether what goes to standard error is shown below a cell."""
    return type(sys.stderr).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def _noted() -> Iterator[None]:
    """Say once that something compiles, if anything does."""
    told: list[str] = []

    def compiles(name: str) -> None:
        if not told:
            tell("stillpoint: compiling, once; half a minute or so", err=True)
        told.append(name)

    with compiling(compiles):
        yield
