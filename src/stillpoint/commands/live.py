"""Runs that do not end: predictions to standard output, and files that are kept up to date."""

import json
import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stillpoint.commands.formats import Batch
from stillpoint.commands.predicted import METRICS
from stillpoint.commands.session import Session
from stillpoint.commands.sink import finite_or_null
from stillpoint.commands.summary import OURS, plain
from stillpoint.commands.tracking import Track
from stillpoint.core.container import replace
from stillpoint.core.terminal import tell_json

if TYPE_CHECKING:
    from stillpoint.commands.options import TrackOptions

EVERY = 5.0  # seconds between looks at the files of a run that is followed
# what Prometheus is told, and of what kind it is
_TOLD = {
    "rows_total": ("counter", "Rows forecast."),
    "targets_total": ("counter", "Rows whose target was known."),
    "error": ("gauge", "Root mean squared error of the next row; mean loss of other tasks."),
    "coverage": ("gauge", "Share of targets inside their intervals."),
    "changes_total": ("counter", "Changes of level, spread, slope or season."),
    "anomalies_total": ("counter", "Rows that did not fit, told by --alerts."),
    "anomalies_bound": ("gauge", "How many of them there can be by now at most, on any data."),
    "anomaly_p": ("gauge", "How often a row is as unusual as the last one: a share of rows."),
    "alert_changes_total": ("counter", "Changes of the target, told by --alerts."),
    "change_evidence": ("gauge", "A stream without change gets as far once in so many rows."),
    "seconds_behind": ("gauge", "Seconds since the last row, by its time if that is a date."),
}


class FollowedTrack(Track):
    """A run that is followed: its summary, forecast and metrics are written on the way."""

    more = (METRICS,)

    def __init__(self, options: "TrackOptions") -> None:
        super().__init__(options)
        self._looked, self._came, self._rows, self._written = time.monotonic(), 0.0, 0, 0

    def idle(self, session: Session) -> None:
        """See Job."""
        now = time.monotonic()
        if session.rows > self._rows:
            self._rows, self._came = session.rows, now
        if now - self._looked < EVERY or not session.rows:
            return
        self._looked, notes = now, list(session.notes)
        summary = {**self._figures(session), "complete": False}
        told, session.notes[:] = list(session.notes), notes
        if self._rows > self._written:
            self._write(summary, told, drawn=False)
            self._written = self._rows
        self._measure(summary)

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job."""
        summary = super().finish(session)
        self._measure(summary)
        return summary

    def _measure(self, summary: dict[str, Any]) -> None:
        """Write metrics.prom."""
        loss, late = summary["loss"].get(OURS), time.monotonic() - self._came
        if loss is not None and summary["loss_name"] == "squared error":
            loss = math.sqrt(loss)
        if self.encoder.time_kind == "date":
            late = datetime.now(UTC).timestamp() - self.encoder.last_time
        alerts = summary.get("alerts", {})
        found = {
            "rows_total": summary["rows"],
            "targets_total": summary["targets"],
            "error": loss,
            "coverage": summary.get("coverage", {}).get("achieved"),
            "changes_total": len(summary["changes"]) if "changes" in summary else None,
            "anomalies_total": alerts.get("anomalies"),
            "anomalies_bound": alerts.get("bound"),
            "anomaly_p": alerts.get("p"),
            "alert_changes_total": alerts.get("changes"),
            "change_evidence": alerts.get("evidence"),
            "seconds_behind": round(late, 3),
        }
        replace(self.options.out / METRICS, metrics(found, self.options.target).encode())


def metrics(found: dict[str, Any], target: str) -> str:
    """Return numbers as Prometheus reads them; those that are None are left out."""
    label = target.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    lines = []
    for name, value in found.items():
        if value is not None:
            kind, words = _TOLD[name]
            lines += [f"# HELP stillpoint_{name} {words}", f"# TYPE stillpoint_{name} {kind}"]
            lines.append(f'stillpoint_{name}{{target="{label}"}} {float(value)!r}')
    return "\n".join(lines) + "\n"


class StreamedTrack(Track):
    """A run whose predictions go to standard output, an object of JSON a row, and nowhere else."""

    header = b""

    def _refuse(self) -> None:
        """Refuse nothing: no file is written."""

    def play(self, batch: Batch, row: int) -> bytes:
        """See Job."""
        rows, told, banded = self.forecast(batch, row)
        lines, alarms = [], self.alarms[::-1]
        for i in range(told.y.size):
            y = told.y[i] if rows.y_texts is None else rows.y_texts[i] or None
            one: dict[str, Any] = {"row": row + i, "y": y, "forecast": told.forecasts[i]}
            if rows.time_texts is not None:
                one = {"row": row + i, "time": rows.time_texts[i], **one}
            if banded:
                one |= {"lo": told.lo[i], "hi": told.hi[i]}
            lines.append(json.dumps({name: finite_or_null(value) for name, value in one.items()}))
            while alarms and alarms[-1]["row"] == row + i:
                lines.append(json.dumps(alarms.pop()))
        return ("\n".join(lines) + "\n").encode()

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job; the summary is not written."""
        result: dict[str, Any] = plain({**self._figures(session), "files": []})
        return result


class StreamedSession(Session):
    """A session that writes to standard output, at once."""

    def _write(self, text: bytes) -> None:
        tell_json(text.decode().removesuffix("\n"))
