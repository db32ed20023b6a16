"""The report page: one HTML file that needs nothing else, with linked charts and plain words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from stillpoint.report.charts import Charts
from stillpoint.report.data import plain
from stillpoint.report.facts import Facts
from stillpoint.report.history import History
from stillpoint.report.words import count, figure, percent


def write_page(path: str | Path, history: History, summary: dict[str, Any], title: str) -> None:
    """Write the page of one run; sections whose data are missing are left out.

    Parameters
    ----------
    path : str or Path
        Where to write it.
    history : History
        The run; `columns()` has at most a few thousand buckets: row, rows, time, y_min, y_mean,
        y_max, forecast, lo, hi, covered, scored, width, "loss:<name>" (sums; ours is "stillpoint",
        a known truth's "truth"), "weight:<k>".
    summary : dict
        rows, rows_per_second, loss (name to mean), loss_rows (0: none was scored), coverage
        (target, achieved, scored, mean_width, misses, least_misses, most_misses), target, labels
        ("1": text), features, task, time_kind ("date": in seconds), certificate (label to number),
        certificate_note, certificate_curve (row, bound, measured), started, finished, source.
    title : str
        The page's title.
    """
    from jinja2 import Environment, PackageLoader

    page = Page(history, summary)
    assets = files("stillpoint.report") / "assets"
    loader = PackageLoader("stillpoint.report", "assets")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(figure=figure, count=count, percent=percent)
    text = environment.get_template("page.html").render(
        title=title,
        page=page,
        summary=summary,
        style=(assets / "page.css").read_text(encoding="utf-8"),
        script=(assets / "page.js").read_text(encoding="utf-8"),
        # inside a script element only these characters could end it
        data=json.dumps(page.drawing(), separators=(",", ":"), allow_nan=False)
        .replace("<", "\\u003c")
        .replace("&", "\\u0026"),
    )
    Path(path).write_text(text, encoding="utf-8")


class Page(Facts):
    """A run as the template needs it: facts for the words, rows for the tables, charts."""

    def __init__(self, history: History, summary: Mapping[str, Any]) -> None:
        super().__init__(history, summary)
        found = Charts(self)
        self.charts, self.drawn = found.charts, found.drawn

    def drawing(self) -> dict[str, Any]:
        """What the script draws, in plain numbers."""
        axis = {"x": self.x, "row": self.columns["row"], "rows": self.columns["rows"]}
        return {
            "kind": self.kind,
            **{name: plain(values, 15) for name, values in axis.items()},
            "columns": {name: plain(values, 7) for name, values in self.drawn.items()},
            "charts": [
                {key: value for key, value in chart.items() if key != "table"}
                for chart in self.charts
            ],
            "marks": []
            if self.change is None
            else [{"at": self.change.bucket, "text": "largest change"}],
        }
