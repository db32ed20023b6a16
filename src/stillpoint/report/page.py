"""The report page: one HTML file that needs nothing else, with linked charts and plain words."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.report import answer
from stillpoint.report.ahead import cycle, shares
from stillpoint.report.changes import place
from stillpoint.report.charts import Charts
from stillpoint.report.data import weights
from stillpoint.report.facts import Facts
from stillpoint.report.history import History
from stillpoint.report.recent import Recent
from stillpoint.report.words import count, figure, near, percent, steps

if TYPE_CHECKING:
    from jinja2 import Template

_HORIZONS = 8  # in the table that is open
_SCRIPTS = ("numbers.js", "axis.js", "chart.js", "gestures.js")


def write_page(path: str | Path, history: History, summary: dict[str, Any], title: str) -> None:
    """Write the page of one run; sections whose data are missing are left out.

    Parameters
    ----------
    path : str or Path
        Where to write it.
    history : History
        The run; `columns()` has at most a few thousand buckets: row, rows, time, y_min, y_mean,
        y_max, forecast, lo, hi, covered, scored, width, "loss:<name>" (sums; ours is "stillpoint",
        a known truth's "truth"), "weight:<k>". A method `recent()`, if there is one, has the last
        rows one by one: row, time, y, forecast, lo, hi.
    summary : dict
        rows, rows_per_second, loss (name to mean), loss_rows (0: none was scored), coverage
        (target, achieved, scored, mean_width, misses, least_misses, most_misses), target, labels
        ("1": text), features, task, time_kind ("date": in seconds), certificate (label to number),
        certificate_note, certificate_curve (row, bound, measured), started, finished, source. Of a
        series also forecast (entries of time, at, forecast, lo, hi), total, horizons (entries of
        step, error, coverage and baselines), changes (row, start, before, after, words),
        components, relies_on (next and far: entries of name and share), seasons, unit_of_time. Of
        a run with alerts also alerts, see `stillpoint.report.alerts`.
    title : str
        The page's title.
    """
    page = Page(history, summary)
    assets = files("stillpoint.report") / "assets"
    text = _template().render(
        title=title,
        page=page,
        summary=summary,
        style=(assets / "page.css").read_text(encoding="utf-8"),
        script="\n".join((assets / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        # inside a script element only these characters could end it
        data=json.dumps(page.drawing(), separators=(",", ":"), allow_nan=False)
        .replace("<", "\\u003c")
        .replace("&", "\\u0026"),
    )
    Path(path).write_text(text, encoding="utf-8")


@functools.cache  # compiling it takes longer than most pages
def _template() -> Template:
    """The page's template."""
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("stillpoint.report", "assets")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(figure=figure, count=count, percent=percent, near=near, steps=steps)
    return environment.get_template("page.html")


class Page(Facts):
    """A run as the template needs it: facts for the words, rows for the tables, charts."""

    def __init__(self, history: History, summary: Mapping[str, Any]) -> None:
        super().__init__(history, summary)
        series = bool(self.ahead.entries) and len(self.x) > 0
        self.recent = Recent(history, self.columns, self.ahead) if series else None
        found = Charts(self, self.recent)
        self.charts, self.axes, self.drawn = found.charts, found.axes, found.drawn
        self.sentence = answer.sentence(self, self.recent)
        self.numbers = answer.numbers(self, self.recent)
        self.first = "ahead" if "ahead" in self.charts else "target"
        if self.recent is not None and self.first == "ahead":
            self.charts["ahead"]["table"] = self._forecast_table(self.recent)
            if self.recent.whole:
                self.charts.pop("target", None)  # the first chart has it all
        self._mark()

    def _mark(self) -> None:
        """Point out changes and alarms on the charts."""
        for change in self.changes:
            mark = {"at": change["at"], "text": str(change["number"])}
            self.axis.marks.append(mark)
            if self.recent is not None and self.recent.axis.kind == self.kind:
                near_now = place(change["given"], change["row"], self.recent.axis)
                if near_now > 0:
                    self.recent.axis.marks.append(mark | {"at": near_now})
        if not self.changes and self.change is not None:
            self.axis.marks.append({"at": self.change.bucket, "text": "largest change"})
        if self.alerts is not None:
            self.axis.alarms = self.alerts.marks(self.axis, recent=False)
            if self.recent is not None:
                self.recent.axis.alarms = self.alerts.marks(self.recent.axis, recent=True)

    @property
    def relies(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """What forecasts rely on: from the summary, else the weights at the end of the run."""
        if self.ahead.relies:
            return self.ahead.relies
        table = weights(self.columns)
        if len(table) < 2 or not table.shape[1] or not self.labels:
            return []
        last = [{"name": n, "share": w} for n, w in zip(self.labels, table[:, -1], strict=False)]
        found = shares(list(last))
        return [("at the end of the run", found)] if found else []

    @property
    def unbounded(self) -> str:
        """From which step on there is no interval, in words; "" where all have one."""
        ahead = self.recent.steps if self.recent is not None and self.coverage else []
        far = [s.step for s in ahead if math.isnan(s.hi)]
        if not far:
            return ""
        where = f"{steps(far[0], self.ahead.unit)} ahead{' and further' if len(far) > 1 else ''}"
        return f" There is none yet {where}: too few values have come."

    @property
    def last(self) -> str:
        """The time of the last row, or of the last bucket where single rows are not kept."""
        same = self.recent is not None and self.recent.axis.kind == self.kind
        return self.axis.text(self.recent.last if self.recent and same else float(self.x[-1]))

    @property
    def rivals(self) -> list[str]:
        """Baselines that horizons are compared with."""
        return list(dict.fromkeys(k for row in self.ahead.horizons for k in row["rivals"]))

    @property
    def horizons(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """A few horizons, nearer ones more densely; and all, if those are not."""
        rows = self.ahead.horizons
        picks = np.unique(np.geomspace(1.0, max(len(rows), 1), _HORIZONS).round().astype(int)) - 1
        few = [rows[i] for i in picks if i < len(rows)]
        return few, [] if len(few) == len(rows) else rows

    def _forecast_table(self, recent: Recent) -> dict[str, Any]:
        """All steps ahead, and their sum, as finely as half the narrowest interval."""
        widths = [s.hi - s.lo for s in recent.steps]
        scale = min((w / 2.0 for w in widths if w > 0.0), default=None)
        rows = [
            [
                recent.axis.text(s.x),
                count(s.step),
                *(near(v, scale) for v in (s.forecast, s.lo, s.hi)),
            ]
            for s in recent.steps
        ]
        total = self.ahead.total
        if total and not recent.waiting:
            parts = (near(total.get(k), scale) for k in ("forecast", "lo", "hi"))
            rows.append(["all together", "", *parts])
        head = "row" if recent.axis.kind == "row" else "time"
        return {"header": [head, "ahead", "forecast", "from", "to"], "rows": rows}

    def season(self, period: float) -> str:
        """A season in words."""
        return cycle(period, self.ahead.unit)[1]

    def drawing(self) -> dict[str, Any]:
        """What the script draws, in plain numbers."""
        return {
            "axes": {name: axis.drawing() for name, axis in self.axes.items()},
            "charts": [
                {key: value for key, value in chart.items() if key != "table"}
                for chart in self.charts.values()
            ],
        }
