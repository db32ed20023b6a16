"""`stillpoint track` on rows: encode, forecast, learn, keep a history; figures at the end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.commands import checkpoint as saved
from stillpoint.commands._rows import Forecasts
from stillpoint.commands.checkpoint import Checkpoint, check_encoder, counted, part
from stillpoint.commands.encode import Encoder, Rows
from stillpoint.commands.engine import Engine
from stillpoint.commands.errors import InputError, Stop
from stillpoint.commands.formats import Batch, format_of
from stillpoint.commands.history import History
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.outlook import show_series
from stillpoint.commands.plans import (
    Plan,
    Shared,
    asked,
    marks,
    plan,
    saved_plan,
    saved_shared,
    why_no_series,
)
from stillpoint.commands.predicted import (
    ALERTS,
    FORECAST,
    METRICS,
    REPORT,
    draw_page,
    text_of,
    write_forecast,
)
from stillpoint.commands.recents import Recent
from stillpoint.commands.room import check_room, rows_at_once
from stillpoint.commands.series import Series
from stillpoint.commands.session import PREDICTIONS, Job, Session
from stillpoint.commands.sources import Source, refuse_overwriting_input
from stillpoint.commands.summary import SUMMARY, read_summary, show_track, write_summary
from stillpoint.commands.totals import totals
from stillpoint.core.container import places

if TYPE_CHECKING:
    from stillpoint.commands import alarms

BATCH = 4096  # rows
PARQUET = "predictions.parquet"


class Track(Job):
    """The learners of one stream, and what they have come to."""

    header = b"row,time,y,forecast,lo,hi\n"
    stale: Sequence[str] = (SUMMARY, REPORT, PARQUET, FORECAST, ALERTS, METRICS)
    more: Sequence[str] = ()  # files beside those of every run
    lasting = True

    def __init__(self, options: TrackOptions) -> None:
        self.options: TrackOptions = options
        self.no_rows = (
            f"the input must have rows: got a header only in {options.source}; check the file"
        )
        self.features: tuple[str, ...] = ()
        self.names: list[str] = []  # of all columns
        self.encoder = Encoder(options, ())
        self.engine: Engine | Series | None = None
        self.recent = Recent()
        self.history: History | None = None
        self.targets = 0
        # intervals without end, without content; rows since the last target
        self.infinite, self.empty, self.ahead = 0, 0, 0
        self.shared: Shared | None = None  # rows but for which this would be a series
        self.alerts: alarms.Alerts | None = None
        self.alarms: list[dict[str, Any]] = []  # of the rows just played
        if options.alerts is not None:
            from stillpoint.commands.alarms import Alerts

            self.alerts, self.grows = Alerts(options), (ALERTS,)

    def source(self, stop: Stop) -> Source:
        """See Job; the columns are known, and no output is the input, before a file is touched."""
        o = self.options
        remedy = "replay a pipe from its start, or give another --checkpoint folder"
        source = Source(
            [o.source], self._columns, stop, format=o.format, follow=o.follow, remedy=remedy
        )
        source.begin()
        return source

    def _columns(self, names: list[str], file: str) -> Sequence[str]:
        o = self.options
        self._refuse()
        self.features, self.names = o.columns(names), names
        if self.options.predictions == "parquet":
            from stillpoint.commands.parquet import load

            load("--predictions parquet")
        self.encoder = Encoder(self.options, self.features)
        return self.encoder.names

    def _refuse(self) -> None:
        """Refuse an input that the run would overwrite."""
        o = self.options
        refuse_overwriting_input(o.source, "--out", o.out, (PREDICTIONS, *self.stale))
        refuse_overwriting_input(o.source, "--checkpoint", o.checkpoint, saved.FILES)

    @property
    def limit(self) -> int:
        """See Job. Before the first batch, which tells words from numbers, all may be features."""
        if isinstance(self.engine, Series):
            return min(BATCH, self.engine.at_once)
        dim = len(self.features) if self.engine is None else self.encoder.dim
        return rows_at_once(self.options.task, len(self.encoder.names), dim, BATCH)

    def play(self, batch: Batch, row: int) -> bytes:
        """See Job."""
        rows, told, banded = self.forecast(batch, row)
        return text_of(row, rows, told.forecasts, (told.lo, told.hi) if banded else None)

    def forecast(self, batch: Batch, row: int) -> tuple[Rows, Forecasts, bool]:
        """Forecast and learn rows from number `row` on: what was read, what was told of them.

        The last says whether intervals are among that.
        """
        rows = self.encoder.encode(batch)
        engine, history = self._learners(rows.pieces[0][2], self._plan(rows))
        if isinstance(engine, Series):
            engine.know(marks(self.encoder, engine.plan, self.options.known))
        forecasts, lo, hi, losses, shares = engine.run(rows, row)
        T, banded = forecasts.size, isinstance(engine, Series) or engine.band is not None
        if isinstance(engine, Series) and rows.time_texts is not None:
            self.recent.form = self.encoder.date_form
            self.recent.add(rows.time_texts, batch.columns[1][0], engine.horizon)
        times = np.arange(row, row + T, dtype=np.float64) if np.isnan(rows.times[0]) else rows.times
        told = Forecasts(times, rows.y, forecasts, lo, hi, losses, shares)
        history.add(row, told, banded)
        if banded:
            self.infinite += int((np.isinf(hi) & (hi > 0)).sum())
            self.empty += int((lo > hi).sum())
        known = np.flatnonzero(~np.isnan(rows.y))
        self.ahead = T - 1 - int(known[-1]) if known.size else self.ahead + T
        self.targets += known.size
        if self.alerts is not None:
            steps = engine.steps if isinstance(engine, Series) else None
            self.alarms = self.alerts.run(row, rows.y, forecasts, rows.time_texts, steps)
        return rows, told, banded

    def beside(self) -> Sequence[bytes]:
        """See Job: the alarms, if they are wanted."""
        return () if self.alerts is None else (self.alerts.lines(self.alarms),)

    def _plan(self, rows: Rows) -> Plan | None:
        """Return how to forecast a series, from its first rows; None where it is none."""
        o, encoder = self.options, self.encoder
        if self.engine is not None:
            return None
        numbers, words = len(encoder.numeric), len(encoder.categories)
        words = max(words, 1) if "category" in (encoder.kinds or ()) else 0
        why, self.shared = why_no_series(o, numbers + words, rows.times, rows.time_texts)
        if why and o.series_only:
            raise InputError(f"{o.series_only[0]} must be for a series: {why}")
        if why:
            return None
        return plan(o, rows.times, encoder.time_kind == "date", numbers, words)

    def _learners(self, dim: int, plan: Plan | None) -> tuple[Engine | Series, History]:
        o = self.options
        if (self.engine is None or self.history is None) and plan is not None:
            apart = not {*self.features} <= {*(o.known or ())}
            self.engine, self.encoder.ties = Series(o, plan, apart), False
            self.history = History(o.task, self.engine.loss_name, self.engine.beside.names, [])
        elif self.engine is None or self.history is None:
            words = "category" in (self.encoder.kinds or ())
            check_room(self.options.task, self.encoder.base, words)
            self.engine = Engine(o, dim, series=not self.features)
            labels = self.engine.part.labels
            self.history = History(o.task, self.engine.loss_name, self.engine.names, labels)
        return self.engine, self.history

    def command(self) -> dict[str, Any]:
        """See Job."""
        o = self.options
        names = ("task", "delay", "level", "coverage", "predictions")
        return {
            **asked(o),
            "--target": o.target,
            "--time": o.time,
            "--features": list(self.features),
            **{f"--{name}": getattr(o, name) for name in names},
            "--format": format_of(o.source, o.format),
            "--alerts": o.alerts,
            "--out": str(o.out.resolve()),
            "the columns": self.names,
        }

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """See Job."""
        assert self.engine is not None
        assert self.history is not None
        header = {
            "targets": self.targets,
            "counts": [self.infinite, self.empty, self.ahead],
            "encoder": self.encoder.state(),
        }
        if isinstance(self.engine, Series):
            header["series"] = {"plan": list(self.engine.plan), **self.recent.state()}
        if self.shared is not None:
            header["shared"] = list(self.shared)
        arrays = {f"history.{name}": value for name, value in self.history.arrays().items()}
        arrays |= {f"engine.{name}": value for name, value in self.engine.arrays().items()}
        if self.alerts is not None:
            header["alerts"] = self.alerts.state()
            arrays |= {f"alerts.{name}": value for name, value in self.alerts.arrays().items()}
        return header, arrays

    def check(self, header: dict[str, Any]) -> None:
        """See Job."""
        counted("targets", header["targets"])
        counts = part(header, "counts", list)
        if len(counts) != 3:
            raise ValueError("its header counts or times otherwise than a run does")
        for number in counts:
            counted("counts", number)
        check_encoder(part(header, "encoder", dict), len(self.features))
        if saved_plan(header) is not None:
            Recent().restore(header["series"])
        saved_shared(header)
        if self.alerts is not None:
            self.alerts.check(part(header, "alerts", dict))

    def restore(self, checkpoint: Checkpoint, header: dict[str, Any], state: Any) -> None:
        """See Job."""
        self.encoder.restore(header["encoder"])
        plan = saved_plan(header)
        if plan is not None:
            self.recent.restore(header["series"])
            self.recent.form = self.encoder.date_form
        engine, history = self._learners(self.encoder.dim, plan)
        checkpoint.hand(engine, "engine.", state)
        checkpoint.hand(history, "history.", state)
        if self.alerts is not None:
            checkpoint.hand(self.alerts, "alerts.", state)
            self.alerts.restore_state(header["alerts"])
        self.targets, self.shared = header["targets"], saved_shared(header)
        self.infinite, self.empty, self.ahead = header["counts"]

    def earlier(self) -> dict[str, Any] | None:
        """See Job; None where a file is gone, or the summary is no longer JSON."""
        own = [PARQUET] if self.options.predictions == "parquet" else []
        own += [FORECAST] if isinstance(self.engine, Series) else []
        there = all((self.options.out / name).exists() for name in (SUMMARY, REPORT, *own))
        return read_summary(self.options.out) if there else None

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job."""
        assert self.history is not None
        o, summary = self.options, self._figures(session)
        if self.options.predictions == "parquet":
            from stillpoint.commands.parquet import to_parquet

            dates, labels = self.encoder.time_kind == "date", self.options.task == "binary"
            to_parquet(session.predictions, dates, labels)
            if session.checkpoint is None:
                # with a checkpoint the rows to come are appended to it
                places(session.predictions)[0].unlink()
        try:
            drawn = draw_page(o, self.history, self.shown(summary), session.notes)
        except OSError:
            self._write(summary, session.notes, drawn=False)
            raise
        return self._write(summary, session.notes, drawn)

    def _figures(self, session: Session) -> dict[str, Any]:
        """Return what the run came to: all of the summary but its notes and files."""
        return totals(self, session)

    def shown(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Return a summary with what the page has beyond it."""
        if self.alerts is None:
            return summary
        alerts = summary["alerts"] | self.alerts.shown(self.encoder.number)
        return summary | {"alerts": alerts}

    def _write(self, summary: dict[str, Any], notes: list[str], drawn: bool) -> dict[str, Any]:
        first = PARQUET if self.options.predictions == "parquet" else PREDICTIONS
        own = [FORECAST] if isinstance(self.engine, Series) else []
        if own:
            write_forecast(self.options.out / FORECAST, summary["forecast"])
        files = [first, *own, *self.grows, SUMMARY, *([REPORT] if drawn else []), *self.more]
        return write_summary(self.options.out, {**summary, "notes": notes, "files": files})

    def show(self, summary: dict[str, Any]) -> None:
        """See Job."""
        show_track(summary)
        if "horizons" in summary:
            show_series(summary)
