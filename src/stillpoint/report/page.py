"""The report page: one HTML file that needs nothing else, with linked charts, and says in plain
words how a run went.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.report import data
from stillpoint.report.data import OURS, TRUTH, Columns, History, number, plain

_THIN = "\u202f"  # a narrow space that never ends a line
_SUPER = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BASELINES = {
    "last value": "repeating the last value",
    "running mean": "forecasting the average of everything so far",
    "normal quantile": "the quantile of a normal distribution fitted to everything so far",
    "full-history RLS": "a regression on the whole history that never forgets",
    "full-history logistic": "a logistic regression on the whole history that never forgets",
}
# a baseline this many times above ours may leave the chart: it would flatten every other curve
_OFF_CHART = 3.0
_SAMPLES = 9  # rows of the table behind a chart
# the years 1 to 9999, in Unix seconds
_FIRST_DATE, _LAST_DATE = -62_135_596_800.0, 253_402_300_799.0


def write_page(path: str | Path, history: History, summary: dict[str, Any], title: str) -> None:
    """Write the page of one run; sections whose data are missing are left out.

    history: `columns()` of at most a few thousand buckets: row, rows, time, y_min, y_mean, y_max,
    forecast, lo, hi, covered, scored, width, "loss:<name>" (sums; ours is "stillpoint", a known
    truth's "truth"), "weight:<k>"; and its attributes.
    summary: rows, rows_per_second, loss (name to mean), loss_rows (0: none was scored), coverage
    (target, achieved, scored, mean_width, misses, least_misses, most_misses), target, labels ("1":
    text), features, task, time_kind ("date": in seconds), certificate (label to number),
    certificate_note, certificate_curve (row, bound, measured), started, finished, source.
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


def figure(value: Any, digits: int = 3) -> str:
    """A number for people: three significant digits, thin spaces between thousands; a dash for
    none.
    """
    x = number(value)
    if x is None or x == 0.0:
        return "–" if x is None else "0"
    size = int(f"{x:.{digits - 1}e}".partition("e")[2])
    if not -4 <= size < 9:
        text = (
            f"{x:.{digits - 1}e}".partition("e")[0]
            + f"{_THIN}×{_THIN}10{str(size).translate(_SUPER)}"
        )
    else:
        places = digits - 1 - size
        text = f"{round(x, places):,.{max(places, 0)}f}"
    return text.replace(",", _THIN).replace("-", "−")


def count(value: Any) -> str:
    """A whole number, in full."""
    x = number(value)
    return "–" if x is None else f"{round(x):,}".replace(",", _THIN).replace("-", "−")


def percent(value: Any) -> str:
    """A share as a percentage, to a tenth."""
    x = number(value)
    if x is None or abs(x) >= 100.0:
        return "–" if x is None else figure(100.0 * x) + "%"
    if 0.9995 <= x < 1.0:
        return "over 99.9%"  # 100% is all of it
    return f"{100.0 * x:.1f}".removesuffix(".0").replace("-", "−") + "%"


def _moment(value: Any) -> str:
    """A time in ISO's form as people write it; what is not one stays as it is."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return "" if value is None else str(value)
    return f"{at.day} {at:%b %Y %H:%M:%S}" + (
        " UTC" if at.utcoffset() is not None and not at.utcoffset() else ""
    )


def verdict(ours: float, theirs: float) -> str:
    """Our loss beside another, as words that go before its name."""
    ratio = ours / theirs
    if abs(ratio - 1.0) < 0.005:
        return "about the same error as"
    if ratio > 2.0:
        return f"about {figure(ratio, 2)} times the error of"
    # 100% less is no error at all
    share = "over 99" if 0.0 < ratio < 0.005 else f"about {abs(round(100.0 * (1.0 - ratio)))}"
    return f"{share}% {'less' if ratio < 1.0 else 'more'} error than"


class Page:
    """A run as the template needs it: facts for the words, rows for the tables, charts for the
    script.
    """

    def __init__(self, history: History, summary: Mapping[str, Any]) -> None:
        self.columns, self.given = data.cleaned(history, summary.get("loss_rows") != 0), summary
        self.loss_name = history.loss_name or "loss"
        self.task = str(summary.get("task") or history.task)
        self.labels = [str(label) for label in history.expert_labels]
        self.rows = int(number(summary.get("rows")) or np.nansum(self.columns["rows"]))
        self.target = str(summary.get("target") or "the target")
        self.source = Path(str(summary.get("source") or "")).name
        self.started, self.finished = (_moment(summary.get(key)) for key in ("started", "finished"))
        self.kind, self.x = self._axis()
        # then dates need the hour
        self.short = self.kind == "date" and bool(self.x[-1] - self.x[0] < 4 * 86400)
        self.change = data.largest_change(self.columns, self.labels)
        self.hardest = data.hardest_stretch(self.columns)
        self.losses, self.coverage = self._losses(), self._coverage()
        self.drawn: Columns = {}
        self.charts = list(self._charts()) if len(self.x) > 1 else []

    def _axis(self) -> tuple[str, Array]:
        """What runs along the charts: time where it is there, increases and is not the row's
        number, else the row.
        """
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
        """What the intervals did: the summary's figures, completed from the columns; empty if there
        were none.
        """
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

    def _chart(
        self, key: str, series: list[dict[str, Any]], kind: str = "lines", **options: Any
    ) -> dict[str, Any]:
        """A chart with the table behind it; the template has its title and how to read it."""
        lines = [s for s in series if "column" in s]
        picks = np.unique(np.linspace(0, len(self.x) - 1, _SAMPLES).round().astype(int))
        show = percent if options.get("format") == "percent" else figure
        rows = [[self.stamp(b), *(show(self.drawn[s["column"]][b]) for s in lines)] for b in picks]
        header = [
            {"date": "date", "number": "time", "row": "row"}[self.kind],
            *(s["name"] for s in lines),
        ]
        if kind == "heat":  # many curves: a line each, and a column a time
            header, *rows = (list(cells) for cells in zip(header, *rows, strict=True))
        table = {"header": header, "rows": rows}
        return {"id": key, "kind": kind, "series": series, "table": table, **options}

    def _charts(self) -> Iterator[dict[str, Any]]:
        c, d = self.columns, self.drawn
        d.update(
            {
                k: c[k]
                for k in ("y_min", "y_mean", "y_max", "forecast", "lo", "hi")
                if np.isfinite(c.get(k, np.nan)).any()
            }
        )
        series = []
        if "y_min" in d and "y_max" in d and self.task != "binary":
            series.append(_band("range of the target", "y_min", "y_max", "range"))
        if "lo" in d and "hi" in d:
            series.append(_band("interval", "lo", "hi", "ours", "soft"))
        if "forecast" in d:
            series.append(_line("forecast", "forecast", "ours", "soft"))
        if "y_mean" in d:
            series.append(_line(self.target, "y_mean", "target") | {"dots": True})
        if any("column" in s for s in series):
            yield self._chart("target", series)
        yield from self._loss_charts()
        yield from self._guarantees()
        table = data.weights(c)
        if len(table) > 1:
            d.update({f"weight:{k}": values.round(4) for k, values in enumerate(table)})
            names = [
                *self.labels,
                *(f"expert {k + 1}" for k in range(len(self.labels), len(table))),
            ]
            lines = [_line(names[k], f"weight:{k}", "") for k in range(len(table))]
            yield self._chart("weights", lines, "heat", format="percent")
        share, window = data.coverage_in_windows(c)
        if self.coverage and window:
            aim = float(self.coverage["target"])
            chance = 1.96 * math.sqrt(max(aim * (1.0 - aim), 0.0) / window)
            for key, level in (
                ("aim", aim),
                ("aim_low", aim - chance),
                ("aim_high", min(aim + chance, 1.0)),
            ):
                d[key] = np.full(len(share), level)
            d["share"] = share
            series = [_band("what chance alone would give", "aim_low", "aim_high", "range")]
            series += [_line(f"target, {percent(aim)}", "aim", "bound")]
            series += [_line(f"coverage of the last {count(window)} rows", "share", "ours")]
            yield self._chart("coverage", series, format="percent", ceiling=1.0)

    def _loss_charts(self) -> Iterator[dict[str, Any]]:
        sums = {name: np.cumsum(values) for name, values in data.losses(self.columns).items()}
        if not sums:
            return
        self.drawn.update({f"sum:{name}": values for name, values in sums.items()})
        totals = {
            name: float(np.nan_to_num(values[-1], nan=np.inf)) for name, values in sums.items()
        }
        rivals = [name for name in sums if name not in (OURS, TRUTH)]
        styles = {name: f"b{i % 4}" for i, name in enumerate(rivals)} | {
            OURS: "ours",
            TRUTH: "truth",
        }
        fits = {
            name: "soft" if total > _OFF_CHART * totals.get(OURS, math.inf) else "core"
            for name, total in totals.items()
        }
        order = sorted(sums, key=lambda name: name == OURS)  # ours is drawn last, above the rest
        yield self._chart(
            "losses",
            [_line(n, f"sum:{n}", styles[n], fits[n]) for n in order],
            floor=0.0,
            origin=True,
        )
        best = [
            name for name in sorted(rivals, key=totals.__getitem__) if math.isfinite(totals[name])
        ][:1]
        against = {name: f"against the best baseline ({name})" for name in best}
        against |= {name: "against the truth" for name in sums if name == TRUTH}
        if OURS in sums and against:
            self.drawn.update({f"over:{name}": sums[OURS] - sums[name] for name in against})
            series = [
                _line(words, f"over:{name}", "truth" if name == TRUTH else "ours")
                for name, words in against.items()
            ]
            yield self._chart("regret", series, zero=True)

    def _guarantees(self) -> Iterator[dict[str, Any]]:
        words = "at most, by the theorem", "at least, by the theorem", "misses beyond their share"
        misses = dict(zip(("at most", "at least", "excess"), words, strict=True))
        curves = {"bound": "certified at most", "measured": "measured"}
        for key, names, found in (
            ("misses", misses, data.drift_of_misses(self.columns, self.coverage)),
            ("certificate", curves, data.certificate_curve(self.columns, self.given)),
        ):
            self.drawn.update(found)
            styles = {name: "ours" if name in ("excess", "measured") else "bound" for name in names}
            series = [_line(names[name], name, styles[name]) for name in names if name in found]
            if series:
                yield self._chart(key, series, zero=True)

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


def _line(name: str, column: str, style: str, fit: str = "core") -> dict[str, Any]:
    """A curve. fit: whether the chart makes room for all of it ("core") or may cut it ("soft")."""
    return {"name": name, "column": column, "style": style, "fit": fit}


def _band(name: str, low: str, high: str, style: str, fit: str = "core") -> dict[str, Any]:
    return {"name": name, "low": low, "high": high, "style": style, "fit": fit}
