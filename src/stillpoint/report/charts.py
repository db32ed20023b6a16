"""The charts of a run: curves by name, and the table behind each chart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillpoint.report import data
from stillpoint.report.data import OURS, TRUTH
from stillpoint.report.facts import Facts
from stillpoint.report.history import Columns
from stillpoint.report.words import count, figure, percent

# a baseline this many times above ours may leave the chart: it would flatten every other curve
_OFF_CHART = 3.0
_SAMPLES = 9  # rows of the table behind a chart


class Charts:
    """All charts of a run, for the script.

    Attributes
    ----------
    drawn : dict
        The curves, by the names that charts know them by.
    charts : list
        What each chart shows: its kind, its series and its table. A run of one bucket has none.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.drawn: Columns = {}
        self.charts = list(self._charts()) if len(facts.x) > 1 else []

    def _chart(
        self, key: str, series: list[dict[str, Any]], kind: str = "lines", **options: Any
    ) -> dict[str, Any]:
        """A chart with the table behind it; the template has its title and how to read it."""
        lines = [s for s in series if "column" in s]
        picks = np.unique(np.linspace(0, len(self._facts.x) - 1, _SAMPLES).round().astype(int))
        show = percent if options.get("format") == "percent" else figure
        rows = [
            [self._facts.stamp(b), *(show(self.drawn[s["column"]][b]) for s in lines)]
            for b in picks
        ]
        header = [
            {"date": "date", "number": "time", "row": "row"}[self._facts.kind],
            *(s["name"] for s in lines),
        ]
        if kind == "heat":  # many curves: a line each, and a column a time
            header, *rows = (list(cells) for cells in zip(header, *rows, strict=True))
        table = {"header": header, "rows": rows}
        return {"id": key, "kind": kind, "series": series, "table": table, **options}

    def _charts(self) -> Iterator[dict[str, Any]]:
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
            yield self._chart("target", series)
        yield from self._loss_charts()
        yield from self._guarantees()
        table = data.weights(c)
        if len(table) > 1:
            d.update({f"weight:{k}": values.round(4) for k, values in enumerate(table)})
            names = [
                *self._facts.labels,
                *(f"expert {k + 1}" for k in range(len(self._facts.labels), len(table))),
            ]
            lines = [_line(names[k], f"weight:{k}", "") for k in range(len(table))]
            yield self._chart("weights", lines, "heat", format="percent")
        share, window = data.coverage_in_windows(c)
        if self._facts.coverage and window:
            aim = float(self._facts.coverage["target"])
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
            ("misses", misses, data.drift_of_misses(self._facts.columns, self._facts.coverage)),
            ("certificate", curves, data.certificate_curve(self._facts.columns, self._facts.given)),
        ):
            self.drawn.update(found)
            styles = {name: "ours" if name in ("excess", "measured") else "bound" for name in names}
            series = [_line(names[name], name, styles[name]) for name in names if name in found]
            if series:
                yield self._chart(key, series, zero=True)


def _line(name: str, column: str, style: str, fit: str = "core") -> dict[str, Any]:
    """A curve. fit: whether the chart makes room for all of it ("core") or may cut it ("soft")."""
    return {"name": name, "column": column, "style": style, "fit": fit}


def _band(name: str, low: str, high: str, style: str, fit: str = "core") -> dict[str, Any]:
    return {"name": name, "low": low, "high": high, "style": style, "fit": fit}
