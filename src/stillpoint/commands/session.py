"""One run: batches from the reader through the learners into the files, checkpoints on the way,
summary and report at the end.
"""

import json
import os
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import stillpoint
from stillpoint.commands.batches import Batch, Reader
from stillpoint.commands.checkpoint import same_command
from stillpoint.commands.encode import Encoder, Rows
from stillpoint.commands.engine import Engine
from stillpoint.commands.header import check_header
from stillpoint.commands.held import Holder
from stillpoint.commands.history import History
from stillpoint.commands.lines import HEAD
from stillpoint.commands.notes import band_notes
from stillpoint.commands.options import FILES, PARQUET, InputError, Options, RowError
from stillpoint.commands.progress import progress
from stillpoint.commands.room import check_room, rows_at_once
from stillpoint.commands.sink import Sink, check
from stillpoint.commands.stop import Stop
from stillpoint.core.container import places, replace

BATCH = 4096  # rows
EVERY = 0.5  # seconds between checkpoints
SLOWER = 20.0  # … and so many times more for every second that the last one took


class Session(Holder):
    """A run of the command, from the beginning or from its checkpoint."""

    def __init__(self, options: Options, reader: Reader, stop: Stop, bar: bool) -> None:
        super().__init__()
        self.options, self.reader, self.stop, self.bar = options, reader, stop, bar
        self.features = options.columns(reader.names)
        if options.predictions == "parquet":
            from stillpoint.commands.parquet import load

            load("--predictions parquet")
        self.encoder = Encoder(options, self.features)
        self.reader.use(self.encoder.names)
        self.rows, self.targets, self.notes = 0, 0, list[str]()
        self.engine: Engine | None = None
        self.history: History | None = None
        self._timed = [0, 0.0]  # rows and seconds, without the first batch, which compiles
        # intervals without end, without content; rows since the last target
        self._infinite, self._empty, self._ahead = 0, 0, 0
        self._started, self._finished, self._fresh = _now(), False, False
        self._saved, self._pause = time.monotonic(), EVERY
        self._hold(options.checkpoint)

    @property
    def predictions(self) -> Path:
        """Where the predictions go."""
        return self.options.out / FILES[0]

    def play(self) -> None:
        """Read, forecast and write until the input ends or a stop is asked for."""
        with ExitStack() as stack:
            advance = progress(stack, self.reader.size if self.bar else None, self.bar)
            first = True
            while not self.stop.signal:
                begun = time.perf_counter()
                batch = self._read()
                if batch.rows == 0:
                    if self.reader.ended:
                        if self.reader.gone:
                            self.notes.append(
                                "the input was deleted: there is nothing more to follow; start"
                                " again on a new one"
                            )
                        return
                    self._commit(self._pause)
                    continue
                self._batch(batch)
                if not first:
                    self._timed[0] += batch.rows
                    self._timed[1] += time.perf_counter() - begun
                first = False
                advance(self.rows, self.reader.position)
                self._commit(self._pause)

    def _read(self) -> Batch:
        try:
            return self.reader.read(self._limit())
        except RowError as error:
            self._commit(0.0)
            raise InputError(f"row {self.rows + 1}: {error.what}") from None

    def _limit(self) -> int:
        """Rows of the next batch. Before the first, which tells words from numbers, every column
        may be a feature.
        """
        dim = len(self.features) if self.engine is None else self.encoder.dim
        return rows_at_once(self.options.task, len(self.encoder.names), dim, BATCH)

    def _batch(self, batch: Batch) -> None:
        while True:  # rows before a bad one are good for use; the next batch begins with it
            try:
                rows = self.encoder.encode(batch)
                break
            except RowError as error:
                self.reader.back(batch, error.index)
                if error.index == 0:
                    self._commit(0.0)
                    raise InputError(f"row {self.rows + 1}: {error.what}") from None
                batch = batch.head(error.index)
        self._learn(rows)

    def _learn(self, rows: Rows) -> None:
        row = self.rows + 1
        engine, history = self._learners(rows.pieces[0][2])
        forecasts, lo, hi, losses, shares = engine.run(rows, row)
        T, banded = forecasts.size, engine.band is not None
        times = np.arange(row, row + T, dtype=np.float64) if np.isnan(rows.times[0]) else rows.times
        if self._sink is None:
            self._sink = Sink(self.predictions, self._length)
            # files of an earlier run would not belong to these predictions
            if self._length is None:
                for name in (*FILES[1:], PARQUET):
                    places(self.options.out / name)[0].unlink(missing_ok=True)
        self._sink.add(row, rows, forecasts, lo, hi, banded)
        history.add(row, times, rows.y, forecasts, lo, hi, banded, losses, shares)
        if banded:
            self._infinite += int((np.isinf(hi) & (hi > 0)).sum())
            self._empty += int((lo > hi).sum())
        known = np.flatnonzero(~np.isnan(rows.y))
        self._ahead = T - 1 - int(known[-1]) if known.size else self._ahead + T
        self.rows, self.targets, self._fresh = (
            self.rows + T,
            self.targets + int((~np.isnan(rows.y)).sum()),
            True,
        )
        self._length = self._sink.length

    def _learners(self, dim: int) -> tuple[Engine, History]:
        if self.engine is None or self.history is None:
            check_room(
                self.options.task, self.encoder.base, "category" in (self.encoder.kinds or ())
            )
            self.engine = Engine(self.options, dim, series=not self.features)
            self.history = History(
                self.options.task, self.engine.loss_name, self.engine.names, self.engine.part.labels
            )
        return self.engine, self.history

    def finish(self) -> dict[str, Any]:
        """Write summary and report, and close the checkpoint; a run that was finished before is
        left as it is.
        """
        files = [self.options.out / name for name in FILES[1:]]
        self._cut()
        written = (
            [*files, self.predictions.with_suffix(".parquet")]
            if self.options.predictions == "parquet"
            else files
        )
        if self._finished and not self._fresh and all(file.exists() for file in written):
            with suppress(ValueError):  # a summary that is no longer JSON is written anew
                before: dict[str, Any] = json.loads(files[0].read_text(encoding="utf-8"))
                return before
        self._commit(0.0)
        if self._sink is not None and self.checkpoint is None:
            self._sink.sync()
        figures = self._figures()
        if self.options.predictions == "parquet":
            from stillpoint.commands.parquet import to_parquet

            to_parquet(
                self.predictions, self.encoder.time_kind == "date", self.options.task == "binary"
            )
            if self.checkpoint is None:
                # with a checkpoint the rows to come are appended to it
                places(self.predictions)[0].unlink()
        try:
            drawn = self._page(figures)
        except OSError:
            self._write_summary(figures, drawn=False)
            raise
        summary = self._write_summary(figures, drawn)
        self._finished = not self.stop.signal
        self._fresh = True
        self._commit(0.0)
        return summary

    def _figures(self) -> dict[str, Any]:
        """What the run came to: all of the summary but its notes and files."""
        from stillpoint.commands.summary import figures

        assert self.engine is not None
        assert self.history is not None
        o, rows, seconds = self.options, *self._timed
        head: dict[str, Any] = {
            "version": stillpoint.__version__,
            "source": o.source,
            "task": o.task,
            "target": o.target,
            "time": o.time,
            "time_kind": self.encoder.time_kind,
            "features": list(self.features),
            "columns": self.encoder.feature_names if self.features else [],
            "delay": o.delay,
            "rows": self.rows,
            "targets": self.targets,
            "complete": not self.stop.signal,
        }
        if o.task == "quantile":
            head["level"] = o.level
        if o.task == "binary":
            head["labels"] = self.encoder.label_names
        result = {**head, **figures(self.engine, self.history)}
        if "coverage" in result:
            result["coverage"] |= {"infinite": self._infinite, "empty": self._empty}
        if self.engine.band is not None and self.targets:
            self.notes += band_notes(
                "quantile" if o.task == "quantile" else "interval", o.delay, self._ahead
            )
        self.notes += [*o.notes(self.reader.names), *self.encoder.notes()]
        self.notes += self.reader.notes() if o.features is None else ()  # else they were named
        return {
            **result,
            "rows_per_second": rows / seconds if seconds else None,
            "started": self._started,
            "finished": _now(),
        }

    def _write_summary(self, figures: dict[str, Any], drawn: bool) -> dict[str, Any]:
        from stillpoint.commands.summary import plain

        first = PARQUET if self.options.predictions == "parquet" else FILES[0]
        summary: dict[str, Any] = plain(
            {**figures, "notes": self.notes, "files": [first, *FILES[1 : 2 + drawn]]}
        )
        replace(
            self.options.out / FILES[1],
            (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode(),
        )
        return summary

    def _page(self, figures: dict[str, Any]) -> bool:
        """Draw the page; returns whether it is there. A note says why where it is not."""
        from stillpoint.commands.summary import plain

        assert self.history is not None
        path, temporary = places(self.options.out / FILES[2])
        try:
            from stillpoint.report.page import write_page

            write_page(
                temporary,
                self.history,
                plain({**figures, "notes": self.notes}),
                f"Forecasting {self.options.target}",
            )
            os.replace(temporary, path)
        except OSError as error:
            self.notes.append(
                f"report.html was left out: {error.strerror or error}; run the command again"
            )
            raise
        except Exception as error:  # a page that cannot be drawn must not lose the numbers
            self.notes.append(
                f"report.html was left out: {type(error).__name__}: {error}; reinstall stillpoint"
            )
            return False
        finally:
            temporary.unlink(missing_ok=True)
        return True

    def _command(self) -> dict[str, Any]:
        """What must not change between a run and its continuation."""
        o = self.options
        own = {
            "--target": o.target,
            "--time": o.time,
            "--features": list(self.features),
            "--task": o.task,
            "--delay": o.delay,
        }
        places = {"--format": o.kind, "--out": str(o.out.resolve()), "--predictions": o.predictions}
        return {
            **own,
            "--level": o.level,
            "--coverage": o.coverage,
            **places,
            "the columns": self.reader.names,
        }

    def _commit(self, every: float) -> None:
        """Bring what is new to the disk, predictions first, if that is `every` seconds old."""
        if self.checkpoint is None or not self._fresh or time.monotonic() - self._saved < every:
            return
        begun = time.monotonic()
        assert self.engine is not None
        assert self.history is not None
        if self._sink is not None:
            self._length = self._sink.sync()
        head = min(HEAD, self.reader.position)
        header = {
            "command": self._command(),
            "position": self.reader.position,
            "head": head,
            "fingerprint": self.reader.fingerprint(head, self.reader.position),
            "length": self._length,
            "rows": self.rows,
            "targets": self.targets,
            "counts": [self._infinite, self._empty, self._ahead],
            "encoder": self.encoder.state(),
            "timed": self._timed,
            "started": self._started,
            "finished": self._finished,
        }
        history = {f"history.{name}": value for name, value in self.history.arrays().items()}
        self.checkpoint.save(
            header, {**history, **{f"engine.{name}": v for name, v in self.engine.arrays().items()}}
        )
        self._saved, self._fresh = time.monotonic(), False
        # many features take long to save
        self._pause = EVERY * max(1.0, SLOWER * (self._saved - begun))

    def _resume(self) -> None:
        stored = self.checkpoint.load(check_header) if self.checkpoint is not None else None
        if self.checkpoint is None or stored is None:
            return
        header, state = stored
        same_command(self._command(), header["command"])
        self._length, position = header["length"], header["position"]
        check(self.predictions, header["length"])
        self.reader.seek(position)
        prints = self.reader.fingerprint(header["head"], position)
        pairs = zip(prints, header["fingerprint"], strict=False)  # checkpoints of old have fewer
        if any(a != b for a, b in pairs if a is not None and b is not None):
            remedy = "replay a pipe from its start, or give another --checkpoint folder"
            raise InputError(
                f"the input must be that of the checkpoint: got another content; {remedy}"
            )
        self.encoder.restore(header["encoder"])
        engine, history = self._learners(self.encoder.dim)
        self.checkpoint.hand(engine, "engine.", state)
        self.checkpoint.hand(history, "history.", state)
        self.rows, self.targets, self._timed = header["rows"], header["targets"], header["timed"]
        # checkpoints of old have two
        self._infinite, self._empty, self._ahead = (*header["counts"], 0)[:3]
        self._started, self._finished = header["started"], header["finished"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
