"""The charts of a run: curves by name, and the table behind each chart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillpoint.report import data
from stillpoint.report.axis import Axis
from stillpoint.report.data import OURS, TRUTH
from stillpoint.report.facts import Facts
from stillpoint.report.recent import Recent
from stillpoint.report.words import count, percent

# a baseline this many times above ours may leave the chart: it would flatten every other curve
_OFF_CHART = 3.0
_SHOW: dict[str, Any] = {"note": True, "strip": True}


class Charts:
    """All charts of a run, for the script.

    Attributes
    ----------
    axes : dict
        "run", the whole run in buckets; "recent", its last rows and the steps ahead; "steps", the
        horizons: those that a chart is on.
    charts : dict
        What each chart shows, by its name: its kind, axis, series and table.
    """

    def __init__(self, facts: Facts, recent: Recent | None) -> None:
        self._facts = facts
        self.axes = {"run": facts.axis}
        self.drawn = facts.axis.columns
        found: list[dict[str, Any]] = []
        if recent is not None and recent.axis.x.size > 1:
            self.axes["recent"] = recent.axis
            name, series = recent.chart(facts.target, facts.coverage.get("target"))
            found += [self._chart(name, series, axis="recent", height=380, clip=8, **_SHOW)]
        if len(facts.x) > 1:
            found += self._charts()
        self.charts = {chart["id"]: chart for chart in [*found, *self._reach()]}
        used = {chart["axis"] for chart in self.charts.values()}
        self.axes = {name: axis for name, axis in self.axes.items() if name in used}

    def _chart(
        self, key: str, series: list[dict[str, Any]], kind: str = "lines", **options: Any
    ) -> dict[str, Any]:
        """A chart with the table behind it; the template has its title and how to read it.

        With `clip`, outliers are cut where all values reach over more than so many times the range
        of nearly all; with `note`, the chart says what is cut; with `strip`, alarms are below it.
        """
        options.setdefault("axis", "run")
        axis = self.axes[options["axis"]]
        table = axis.table(series, options.get("format"), turn=kind == "heat")
        return {"id": key, "kind": kind, "series": series, "table": table, **options}

    def _charts(self) -> Iterator[dict[str, Any]]:
        yield from self._target()
        yield from self._loss_charts()
        yield from self._errors()
        yield from self._guarantees()
        yield from self._weights()
        share, window = data.coverage_in_windows(self._facts.columns)
        if self._facts.coverage and window:
            aim = float(self._facts.coverage["target"])
            chance = 1.96 * math.sqrt(max(aim * (1.0 - aim), 0.0) / window)
            for key, level in (
                ("aim", aim),
                ("aim_low", aim - chance),
                ("aim_high", min(aim + chance, 1.0)),
            ):
                self.drawn[key] = np.full(len(share), level)
            self.drawn["share"] = share
            series = [_band("what chance alone would give", "aim_low", "aim_high", "range")]
            series += [_line(f"asked for, {percent(aim)}", "aim", "bound")]
            series += [_line(f"coverage of the last {count(window)} rows", "share", "ours")]
            yield self._chart("coverage", series, format="percent", ceiling=1.0, height=220)

    def _target(self) -> Iterator[dict[str, Any]]:
        c, d = self._facts.columns, self.drawn
        d.update(
            {
                k: c[k]
                for k in ("y_min", "y_mean", "y_max", "forecast", "lo", "hi")
                if np.isfinite(c.get(k, np.nan)).any()
            }
        )
        series = []
        if "y_min" in d and "y_max" in d and self._facts.task != "binary":
            series.append(_band("range of the target", "y_min", "y_max", "range"))
        if "lo" in d and "hi" in d:
            series.append(_band("interval", "lo", "hi", "ours", "soft"))
        if "forecast" in d:
            series.append(_line("forecast", "forecast", "ours", "soft"))
        if "y_mean" in d:
            series.append(_line(self._facts.target, "y_mean", "target") | {"dots": True})
        if any("column" in s for s in series):
            first = "recent" not in self.axes
            yield self._chart("target", series, height=380 if first else 240, clip=3, **_SHOW)

    def _weights(self) -> Iterator[dict[str, Any]]:
        table, labels = data.weights(self._facts.columns), self._facts.labels
        if len(table) > 1:
            self.drawn.update({f"weight:{k}": values.round(4) for k, values in enumerate(table)})
            names = [*labels, *(f"expert {k + 1}" for k in range(len(labels), len(table)))]
            lines = [_line(names[k], f"weight:{k}", "") for k in range(len(table))]
            yield self._chart("weights", lines, "heat", format="percent")

    def _loss_charts(self) -> Iterator[dict[str, Any]]:
        sums = {
            name: np.cumsum(values) for name, values in data.losses(self._facts.columns).items()
        }
        if not sums:
            return
        self.drawn.update({f"sum:{name}": values for name, values in sums.items()})
        totals = {
            name: float(np.nan_to_num(values[-1], nan=np.inf)) for name, values in sums.items()
        }
        rivals = [name for name in sums if name not in (OURS, TRUTH)]
        styles = _styles(rivals) | {OURS: "ours", TRUTH: "truth"}
        fits = {
            name: "soft" if total > _OFF_CHART * totals.get(OURS, math.inf) else "core"
            for name, total in totals.items()
        }
        order = sorted(sums, key=lambda name: name == OURS)  # ours is drawn last, above the rest
        lines = [_line(n, f"sum:{n}", styles[n], fits[n]) for n in order]
        yield self._chart("losses", lines, floor=0.0, origin=True)
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

    def _errors(self) -> Iterator[dict[str, Any]]:
        """Error window by window: ours, the best baseline's and the truth's."""
        means, window = data.losses_in_windows(self._facts.columns)
        best = [row["name"] for row in self._facts.compared[:1]]
        names = [name for name in (*best, TRUTH, OURS) if name in means]
        if OURS not in names:
            return
        for name in names:
            self.drawn[f"error:{name}"] = self._facts.in_units(means[name])
        styles = _styles(best) | {OURS: "ours", TRUTH: "truth"}
        # a baseline far behind may leave the chart
        far = [row["name"] for row in self._facts.compared if row["saved"] > 1.0 - 0.5 / _OFF_CHART]
        series = [
            _line(name, f"error:{name}", styles[name], "soft" if name in far else "core")
            for name in names
        ]
        options: dict[str, Any] = {"floor": 0.0, "origin": True, "clip": 3, "note": True}
        yield self._chart("errors", series, height=220, window=window, **options)

    def _guarantees(self) -> Iterator[dict[str, Any]]:
        words = "at most, by the theorem", "at least, by the theorem", "misses beyond their share"
        misses = dict(zip(("at most", "at least", "excess"), words, strict=True))
        curves = {"bound": "certified at most", "measured": "measured"}
        for key, names, found in (
            ("misses", misses, data.drift_of_misses(self._facts.columns, self._facts.coverage)),
            ("certificate", curves, data.certificate_curve(self._facts.columns, self._facts.given)),
        ):
            self.drawn.update(found)
            styles = {name: "ours" if name in ("excess", "measured") else "bound" for name in names}
            series = [_line(names[name], name, styles[name]) for name in names if name in found]
            if series:
                yield self._chart(key, series, zero=True)

    def _reach(self) -> Iterator[dict[str, Any]]:
        """Error and coverage by how far ahead."""
        rows, ahead = self._facts.ahead.horizons, self._facts.ahead
        if len(rows) < 2:
            return
        step = np.array([row["step"] for row in rows])
        axis = self.axes["steps"] = Axis("step", step, step, np.ones(step.size), unit=ahead.unit)
        names = list(dict.fromkeys(name for row in rows for name in row["rivals"]))
        styles = _styles(names)
        for name in names:
            axis.columns[f"error:{name}"] = _column(row["rivals"].get(name) for row in rows)
        axis.columns["error"] = _column(row["error"] for row in rows)
        lines = [_line(name, f"error:{name}", styles[name]) | {"dots": True} for name in names]
        lines.append(_line(OURS, "error", "ours") | {"dots": True})
        yield self._chart("reach", lines, axis="steps", floor=0.0, origin=True, height=220)
        covered = _column(row["coverage"] for row in rows)
        if np.isfinite(covered).any():
            axis.columns["held"] = covered
            series = [_line("share covered", "held", "ours") | {"dots": True}]
            aim = self._facts.coverage.get("target")
            if aim is not None:
                axis.columns["asked"] = np.full(step.size, float(aim))
                series.insert(0, _line(f"asked for, {percent(aim)}", "asked", "bound"))
            options: dict[str, Any] = {"format": "percent", "ceiling": 1.0, "least": 0.2}
            yield self._chart("held", series, axis="steps", height=220, **options)


def _styles(names: list[str]) -> dict[str, str]:
    return {name: f"b{i % 4}" for i, name in enumerate(names)}


def _column(values: Any) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _line(name: str, column: str, style: str, fit: str = "core") -> dict[str, Any]:
    """A curve. fit: whether the chart makes room for all of it ("core") or may cut it ("soft")."""
    return {"name": name, "column": column, "style": style, "fit": fit}


def _band(name: str, low: str, high: str, style: str, fit: str = "core") -> dict[str, Any]:
    return {"name": name, "low": low, "high": high, "style": style, "fit": fit}
