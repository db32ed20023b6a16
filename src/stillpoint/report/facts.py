"""What a run comes to: its axis, losses, coverage and certificates, for words and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.report import data
from stillpoint.report.data import OURS, TRUTH
from stillpoint.report.history import History, cleaned
from stillpoint.report.words import count, figure, moment, number, verdict

_BASELINES = {
    "last value": "repeating the last value",
    "running mean": "forecasting the average of everything so far",
    "normal quantile": "the quantile of a normal distribution fitted to everything so far",
    "full-history RLS": "a regression on the whole history that never forgets",
    "full-history logistic": "a logistic regression on the whole history that never forgets",
}
# the years 1 to 9999, in Unix seconds
_FIRST_DATE, _LAST_DATE = -62_135_596_800.0, 253_402_300_799.0


class Facts:
    """A run as it is told in words.

    Parameters
    ----------
    history : History
        The run in buckets.
    summary : mapping
        Its figures; `write_page` lists them.
    """

    def __init__(self, history: History, summary: Mapping[str, Any]) -> None:
        self.columns, self.given = cleaned(history, summary.get("loss_rows") != 0), summary
        self.loss_name = history.loss_name or "loss"
        self.task = str(summary.get("task") or history.task)
        self.labels = [str(label) for label in history.expert_labels]
        self.rows = int(number(summary.get("rows")) or np.nansum(self.columns["rows"]))
        self.target = str(summary.get("target") or "the target")
        self.source = Path(str(summary.get("source") or "")).name
        self.started, self.finished = (moment(summary.get(key)) for key in ("started", "finished"))
        self.kind, self.x = self._axis()
        # then dates need the hour
        self.short = self.kind == "date" and bool(self.x[-1] - self.x[0] < 4 * 86400)
        self.change = data.largest_change(self.columns, self.labels)
        self.hardest = data.hardest_stretch(self.columns)
        self.losses, self.coverage = self._losses(), self._coverage()

    def _axis(self) -> tuple[str, Array]:
        """What runs along the charts: time where it is there and increases, else the row."""
        row, time = self.columns["row"], self.columns.get("time")
        if (
            time is None
            or not time.size
            or (time == row).all()
            or not ((np.diff(time) >= 0.0).all() and time[-1] > time[0])
        ):
            return "row", row
        dates = (
            self.given.get("time_kind") == "date"
            and _FIRST_DATE <= time[0]
            and time[-1] < _LAST_DATE
        )
        return ("date" if dates else "number"), time

    def stamp(self, bucket: int) -> str:
        """The bucket's place on the axis."""
        x = float(self.x[bucket])
        if self.kind != "date":
            return count(x) if self.kind == "row" else figure(x, 4)
        at = datetime.fromtimestamp(x, UTC)
        return f"{at.day} {at:%b %Y %H:%M}" if self.short else f"{at.day} {at:%b %Y}"

    def when(self, bucket: int) -> str:
        """A place in the run, in words."""
        row = f"row {count(self.columns['row'][bucket])}"
        return (
            row
            if self.kind == "row"
            else f"{'time ' if self.kind == 'number' else ''}{self.stamp(bucket)} ({row})"
        )

    def _losses(self) -> list[dict[str, Any]]:
        """Mean loss by name: ours, baselines from the hardest to beat on, the truth."""
        total = max(float(np.nansum(self.columns["rows"])), 1.0)
        means = {
            name: float(values.sum()) / total for name, values in data.losses(self.columns).items()
        }
        stated = {str(name): number(mean) for name, mean in (self.given.get("loss") or {}).items()}
        means.update({name: mean for name, mean in stated.items() if mean is not None})
        # a forecaster that broke has no mean
        means = {name: mean for name, mean in means.items() if math.isfinite(mean)}
        ours = means.get(OURS)
        rows = []
        for name, mean in sorted(
            means.items(), key=lambda item: (item[0] == TRUTH, item[0] != OURS, item[1])
        ):
            comparable = name != OURS and ours is not None and mean > 0.0
            words = verdict(ours, mean) if comparable and ours is not None else ""
            saved = 1.0 - ours / mean if comparable and ours is not None else None
            rows.append(
                {
                    "name": name,
                    "mean": mean,
                    "saved": saved,
                    "verdict": words,
                    "words": _BASELINES.get(name, name),
                }
            )
        return rows

    @property
    def compared(self) -> list[dict[str, Any]]:
        """The baselines that words can compare with."""
        return [row for row in self.losses if row["verdict"] and row["name"] != TRUTH]

    @property
    def truth(self) -> float | None:
        """How many times the truth's loss ours is, where it is known."""
        means = {row["name"]: float(row["mean"]) for row in self.losses}
        return means[OURS] / means[TRUTH] if OURS in means and means.get(TRUTH, 0.0) > 0.0 else None

    def _coverage(self) -> dict[str, Any]:
        """The summary's figures of the intervals, completed from the columns; empty if none."""
        c, known = (
            self.columns,
            {k: v for k, v in (self.given.get("coverage") or {}).items() if number(v) is not None},
        )
        scored, covered = (
            float(np.nansum(c.get(name, np.zeros(1)))) for name in ("scored", "covered")
        )
        if scored > 0.0:
            known = {
                "scored": scored,
                "achieved": covered / scored,
                "misses": scored - covered,
            } | known
        if "target" not in known or "achieved" not in known:
            return {}
        if (
            "mean_width" not in known
            and self.task != "quantile"
            and np.isfinite(c.get("width", np.zeros(0))).any()
        ):
            known["mean_width"] = float(np.nanmean(c["width"]))
        if (
            "mean_width" in known
            and np.isfinite(c.get("y_min", np.zeros(0))).any()
            and "y_max" in c
        ):
            spread = float(np.nanmax(c["y_max"]) - np.nanmin(c["y_min"]))
            known |= {"of_range": known["mean_width"] / spread} if spread > 0.0 else {}
        return known

    @property
    def certificates(self) -> list[tuple[str, float]]:
        """Labels and numbers of the certificate; those about misses are the coverage's."""
        given = self.given.get("certificate")
        pairs = given.items() if isinstance(given, Mapping) else [("certificate", given)]
        found = [
            (str(label).removesuffix("at most").rstrip(", "), number(value))
            for label, value in pairs
        ]
        return [
            (label, value)
            for label, value in found
            if value is not None and not label.startswith("misses")
        ]
