"""What a run comes to: its axis, losses, coverage and certificates, for words and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.report import data
from stillpoint.report.ahead import Ahead
from stillpoint.report.alerts import Alerts
from stillpoint.report.axis import Axis, grain, places
from stillpoint.report.changes import changes
from stillpoint.report.data import OURS, TRUTH
from stillpoint.report.history import History, cleaned
from stillpoint.report.paces import worded
from stillpoint.report.words import moment, number, verdict

_BASELINES = {
    "last value": "repeating the last value",
    "running mean": "forecasting the average of everything so far",
    "normal quantile": "the quantile of a normal distribution fitted to everything so far",
    "full-history RLS": "a regression on the whole history that never forgets",
    "full-history logistic": "a logistic regression on the whole history that never forgets",
}
# losses that are squares of errors: their roots are in the target's units
_SQUARES = {"squared error": 1.0, "half squared error": 2.0}
_VACUOUS = 0.5  # a promise that half of the rows may miss says nothing


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
        self.labels = worded([str(label) for label in history.expert_labels])
        self.rows = int(number(summary.get("rows")) or np.nansum(self.columns["rows"]))
        self.target = str(summary.get("target") or "the target")
        self.source = Path(str(summary.get("source") or "")).name
        self.started, self.finished = (moment(summary.get(key)) for key in ("started", "finished"))
        self.ahead = Ahead(summary)
        self.axis = self._axis()
        self.kind, self.x = self.axis.kind, self.axis.x
        self.change = data.largest_change(self.columns, self.labels)
        hard = data.hardest_stretch(self.columns)
        self.hardest = (hard[0], self._ratio(hard[1])) if hard else None
        self.changes = changes(summary.get("changes"), self.axis, self.ahead.unit)
        told: Any = summary.get("alerts")
        asked = isinstance(told, Mapping)
        self.alerts = Alerts(told, self.axis, self.ahead.unit) if asked else None
        self.error_name = (
            "root mean squared error" if self.loss_name in _SQUARES else f"mean {self.loss_name}"
        )
        self.losses, self.coverage = self._losses(), self._coverage()

    def _axis(self) -> Axis:
        """What runs along the charts of the whole run."""
        c, unit = self.columns, self.ahead.unit
        kind, x = places(c["row"], c.get("time"), self.given.get("time_kind") == "date")
        span = float(x[-1] - x[0]) if x.size else 0.0
        fine = grain(unit, span, span / max(self.rows - 1, 1)) if kind == "date" else "day"
        return Axis(kind, x, c["row"], c["rows"], fine, unit, self.ahead.zone)

    def stamp(self, bucket: int) -> str:
        """The bucket's place on the axis."""
        return self.axis.stamp(bucket)

    def when(self, bucket: int) -> str:
        """A place in the run, in words."""
        return self.axis.when(bucket)

    def _losses(self) -> list[dict[str, Any]]:
        """Error by name: ours, baselines from the hardest to beat on, the truth.

        Mean losses; the roots of squared ones, which are in the target's units.
        """
        total = max(float(data.targets(self.columns).sum()), 1.0)
        means = {
            name: float(values.sum()) / total for name, values in data.losses(self.columns).items()
        }
        stated = {str(name): number(mean) for name, mean in (self.given.get("loss") or {}).items()}
        means.update({name: mean for name, mean in stated.items() if mean is not None})
        # a forecaster that broke has no mean
        means = {name: mean for name, mean in means.items() if math.isfinite(mean)}
        means = {name: float(self.in_units(mean)) for name, mean in means.items()}
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
                    "words": self.baseline(name),
                }
            )
        return rows

    def in_units(self, mean: Any) -> Any:
        """Mean losses as errors: roots of squared ones, which are in the target's units."""
        if self.loss_name not in _SQUARES:
            return mean
        return np.sqrt(np.maximum(_SQUARES[self.loss_name] * mean, 0.0))

    def _ratio(self, losses: float) -> float:
        """A ratio of mean losses as one of errors."""
        return math.sqrt(losses) if self.loss_name in _SQUARES else losses

    def baseline(self, name: str) -> str:
        """What a baseline does, in words."""
        return self.ahead.baseline(name) or _BASELINES.get(name, name)

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
        if known.get("most_misses", 0.0) > _VACUOUS * known.get("scored", math.inf):
            known = {k: v for k, v in known.items() if k not in ("most_misses", "least_misses")}
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
