"""What a run of `track` came to: its figures and notes."""

from typing import TYPE_CHECKING, Any

import stillpoint
from stillpoint.commands import outlook
from stillpoint.commands.engine import Engine
from stillpoint.commands.notes import (
    ahead_notes,
    band_notes,
    known_notes,
    late_notes,
    outlier_notes,
    planned_notes,
    shared_notes,
    sign_notes,
    slot_notes,
    target_notes,
)
from stillpoint.commands.plans import word_notes
from stillpoint.commands.series import Series
from stillpoint.commands.session import Session, now
from stillpoint.commands.summary import figures, readable

if TYPE_CHECKING:
    from stillpoint.commands.tracking import Track


def totals(job: "Track", session: Session) -> dict[str, Any]:
    """Return all of the summary but its notes, which the session gets, and its files."""
    engine, history, encoder = job.engine, job.history, job.encoder
    assert engine is not None
    assert history is not None
    o, notes = job.options, session.notes
    head: dict[str, Any] = {
        "version": stillpoint.__version__,
        "source": readable(o.source),
        "task": o.task,
        "target": o.target,
        "time": o.time,
        "time_kind": encoder.time_kind,
        "features": list(job.features),
        "columns": encoder.feature_names if job.features else [],
        "delay": o.delay,
        "rows": session.rows,
        "targets": job.targets,
        "complete": not session.stop.signal,
    }
    if o.task == "quantile":
        head["level"] = o.level
    if o.task == "binary":
        head["labels"] = encoder.label_names
    if isinstance(engine, Series):
        result = {**head, **outlook.figures(engine, history, job.recent)}
        notes += ahead_notes(job.ahead, engine.horizon) if job.targets else ()
        notes += planned_notes(job.ahead, job.features, o.known or ()) if job.targets else ()
        notes += known_notes(o.known, result["steps_without_known"], engine.horizon)
        notes += slot_notes(engine.intake.repeated, session.rows)
        notes += word_notes(encoder, engine.plan)
    else:
        result = {**head, **figures(engine, history)}
        notes += shared_notes(job.shared)
    notes += outlier_notes(history.columns(), result["loss"].get("stillpoint"), engine.loss_name)
    notes += target_notes(job.targets, isinstance(engine, Series) and engine.moved)
    if "coverage" in result:
        result["coverage"] |= {"infinite": job.infinite, "empty": job.empty}
    if isinstance(engine, Engine) and engine.band is not None and job.targets:
        kind = "quantile" if o.task == "quantile" else "interval"
        notes += band_notes(kind, o.delay, job.ahead, engine.promises)
        notes += late_notes(o.delay if engine.series else 0)
    notes += [*o.notes(job.names), *encoder.notes()]
    notes += session.source.notes() if o.features is None else ()  # else they were named
    if isinstance(engine, Series) and o.task != "quantile":
        notes += sign_notes(history.columns(), result["forecast"], job.targets, o.nonnegative)
    if job.alerts is not None:
        result["alerts"] = job.alerts.figures()
    times = {"started": session.started, "finished": now()}
    return {**result, "rows_per_second": session.rate, **times}
