"""`stillpoint fleet` with forecasters: rows to disk by key, then part by part to forecasts."""

import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from stillpoint.commands.arguments import periods
from stillpoint.commands.checkpoint import Checkpoint, counted, part
from stillpoint.commands.dates import REMEDY
from stillpoint.commands.errors import InputError, Stop, Stopped
from stillpoint.commands.fleet_job import FleetJob
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts import alerts, output, spill
from stillpoint.commands.forecasts.figures import figures, show
from stillpoint.commands.forecasts.intake import Intake
from stillpoint.commands.forecasts.player import KEPT, PartPlayer, hashes
from stillpoint.commands.formats import Batch
from stillpoint.commands.notes import unused_notes
from stillpoint.commands.session import Session, progress
from stillpoint.commands.sources import Source
from stillpoint.commands.summary import SUMMARY, write_summary
from stillpoint.core.container import Lock, lock, places
from stillpoint.core.jit import compiling
from stillpoint.fleet.series import plan
from stillpoint.fleet.series.parts import Part
from stillpoint.fleet.series.rows import Rows

ROWS, STATES = 1 << 20, 128 << 20  # of a part: rows, and bytes of forecasters and forecasts
_STEP = 64  # bytes of a forecast while it is written
WORK, SPILLED, _LOCK = ".work", "rows", ".forecasts.lock"
_NONE = list(alerts.Alerted())


class Forecasts(FleetJob):
    """Forecasters of many keys, played in parts, and what they have come to.

    A run reads rows, then plays them part by part; a later one of the same checkpoint reads what
    came since and goes on from the states that were kept.
    """

    header, stale, lasting = b"", (SUMMARY, output.ALERTS), True

    def __init__(self, options: FleetOptions) -> None:
        output.refuse_without_parquet(options.forecasts, options.predictions)
        super().__init__(options)
        self.intake = Intake(options)
        self.folder: Path = options.checkpoint or options.out / WORK
        self.spill = spill.Spill(self.folder / SPILLED, options.time is not None)
        self.plan: plan.Plan | None = None
        self.parts, self.runs = 0, 0  # how many parts there are; runs that are over
        self.closed = False  # whether rows of this run are all there, and parts are being played
        self.alerted = alerts.Alerted()

    def play(self, batch: Batch, row: int) -> bytes:
        """See Job; nothing is written of a row before its key is played."""
        self.spill.add(*self.intake.read(batch))
        return b""

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """See Job."""
        own = {name: getattr(self, name) for name in ("parts", "runs", "closed")}
        told = None if self.plan is None else self.plan.header()
        intake, files = self.intake.state(), self.spill.files
        kept = {"plan": told, "alerted": list(self.alerted)}
        return {**own, "intake": intake, "files": files, **kept}, {}

    def check(self, header: dict[str, Any]) -> None:
        """See Job."""
        Intake.check(part(header, "intake", dict))
        for name in ("parts", "runs", "files"):
            counted(name, header[name])
        part(header, "closed", bool)
        alerts.restored(header.get("alerted", _NONE))
        if header["plan"] is not None:
            plan.restored(part(header, "plan", dict))

    def restore(self, checkpoint: Checkpoint, header: dict[str, Any], state: Any) -> None:
        """See Job."""
        self.intake.restore(header["intake"])
        for name in ("parts", "runs", "closed"):
            setattr(self, name, header[name])
        self.spill.files = header["files"]
        self.alerted = alerts.restored(header.get("alerted", _NONE))
        self.plan = None if header["plan"] is None else plan.restored(header["plan"])

    def earlier(self) -> dict[str, Any] | None:
        """See Job; None where a file is gone."""
        names = (output.name_of(i, str(self.options.forecasts)) for i in range(self.parts))
        files = [self.options.out / output.FORECASTS / name for name in names]
        files += [] if self.options.alerts is None else [self.options.out / output.ALERTS]
        if all(file.exists() for file in files):
            with suppress(ValueError, OSError):
                text = (self.options.out / SUMMARY).read_text(encoding="utf-8")
                before: dict[str, Any] = json.loads(text)
                return before
        return None

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job: play all parts, sum up, and make ready for the rows of a later run."""
        if session.stop.signal:
            raise Stopped(f"{session.rows:,} rows were read, and none was played")
        assert isinstance(session, ForecastSession)
        begun = time.perf_counter()
        if not self.closed:
            self._close()
            session.keep()
        results = self._play(session)
        session.seconds += time.perf_counter() - begun
        assert self.plan is not None
        found = alerts.write(self.options, results, self.alerted, self.intake.numbers)
        told = figures(self.options, self.plan, self.intake, results, session)
        told |= alerts.figures(self.options, found)
        session.notes += unused_notes(self.unused)
        if session.compiled:
            told["rows_per_second"] = None
        summary = write_summary(self.options.out, told)
        self.runs, self.closed, self.spill.files, self.alerted = self.runs + 1, False, 0, found
        return summary

    def _close(self) -> None:
        """Tell the plan and the parts from the rows of the first run, which are all there."""
        if self.plan is not None:
            self.closed = True
            return
        rows, keys = self.spill.size()
        if rows == 0:
            (reason, _), *_ = self.intake.reasons.most_common(1)
            got, _, remedy = self.intake.first.get(reason, "").rpartition("; ")
            why = f"{reason}: got {got}" if got else reason
            raise InputError(
                f"the input must have rows that can be used: got none of {self.intake.rows:,} in"
                f" {self.options.source}, mostly because {why};"
                f" {REMEDY if 'ISO date' in reason else remedy or 'check the columns'}"
            )
        dated = self.intake.kind == "date"
        o = self.options
        self.plan = plan.plan(
            self._sample(rows),
            timed=o.time is not None,
            dated=dated,
            season=periods(o.season),
            horizon=o.horizon,
        )
        each = Part(o.settings, self.plan).bytes_per_key + _STEP * self.plan.horizon
        each += 8 * (self.plan.period + self.plan.recent)
        self.parts = max(1, math.ceil(rows / ROWS), math.ceil(keys * each / STATES))
        for folder in (output.FORECASTS, output.PREDICTIONS):  # of another run
            for path in (self.options.out / folder).glob("part-*"):
                path.unlink()
        self.closed = True

    def _sample(self, rows: int) -> Rows:
        """Return the rows of keys with most of them, of the first part that has any."""
        parts = max(1, math.ceil(rows / ROWS))
        for number in range(parts):
            found = self.spill.load(*hashes(number, parts))
            if found.keys:
                break
        return plan.sample(found)

    def _play(self, session: "ForecastSession") -> list[dict[str, Any]]:
        """Play the parts that are not played yet; return what each comes to."""
        assert self.plan is not None
        own = self.options, self.plan, self.intake, self.spill
        player, done = PartPlayer(*own, self.folder, self.parts, self.runs), [0]
        with ExitStack() as stack:
            tell = progress(stack, self.parts if session.bar else None, session.bar)
            tell(f"0 of {self.parts:,} parts", 0)

            def compiles(name: str) -> None:
                session.compiled = True
                tell("compiling, once", done[0])

            stack.enter_context(compiling(compiles))

            def one(number: int) -> dict[str, Any] | None:
                if session.stop.signal:
                    return None
                result = player.play(number)
                done[0] += 1
                tell(f"{done[0]:,} of {self.parts:,} parts", done[0])
                return result

            if self.options.threads == 1:
                found = list(map(one, range(self.parts)))
            else:
                with ThreadPoolExecutor(self.options.threads) as pool:
                    found = list(pool.map(one, range(self.parts)))
        results = [result for result in found if result is not None]
        if len(results) < self.parts:
            raise Stopped(f"{len(results):,} of {self.parts:,} parts were played")
        return results

    def tidy(self) -> None:
        """Delete rows that were played, and states of earlier runs."""
        if not self.closed and not self.spill.files:
            self.spill.clear()
            kept = f"-{self.runs}"
            for path in (self.folder / KEPT).glob("*"):
                if not path.name.endswith(kept):
                    path.unlink()

    def show(self, summary: dict[str, Any]) -> None:
        """See Job."""
        show(summary)


class ForecastSession(Session):
    """A session that writes nothing by row, and saves itself whenever rows go to disk."""

    job: Forecasts

    def __init__(self, job: Forecasts, source: Source, stop: Stop, bar: bool = False) -> None:
        self._lock: Lock | None = None
        self.compiled = False  # a rate would be that of the compiler
        super().__init__(job, source, stop, bar)

    def play(self) -> None:
        """Finish what an earlier run has begun to play, then read."""
        if self.job.closed:
            self._hold()
            self.job.finish(self)
            self._finished = True
            self.keep()
            self.job.tidy()
        super().play()

    def finish(self) -> dict[str, Any]:
        """See Session."""
        if self.rows:
            self._hold()
        summary = super().finish()
        self.job.tidy()
        return summary

    def _sum_up(self) -> dict[str, Any]:
        """See Session; the job has a bar of its own, of its parts."""
        return self.job.finish(self)

    def keep(self) -> None:
        """Save where the run stands."""
        self._fresh = True
        self._commit(0.0)

    def _commit(self, every: float) -> None:
        if every and not self.job.spill.full:
            return
        self.job.spill.flush()
        super()._commit(0.0)

    def _write(self, text: bytes) -> None:
        self._hold()
        self._files.first.length = 0

    def _cut(self) -> None:
        """Cut nothing: no file grows by rows."""

    def _hold(self) -> None:
        """Hold the folder of outputs, so that parts of two runs cannot mix."""
        if self._lock is not None:
            return
        out = self.job.options.out
        out.mkdir(parents=True, exist_ok=True)
        taken = f"--out must be free: another process is writing {out}; wait for it or use another"
        self._lock = lock(out / _LOCK, taken)
        if self._files.first.length is None:
            for name in self.job.stale:
                places(out / name)[0].unlink(missing_ok=True)
            self.job.spill.clear()

    def close(self) -> None:
        """See Session; without a checkpoint nothing stays of what was kept on the way."""
        super().close()
        if self._lock is not None:
            if self.checkpoint is None:
                shutil.rmtree(self.job.folder, ignore_errors=True)
            (self.job.options.out / _LOCK).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None
