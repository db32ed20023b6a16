"""The benchmark of alerts as tables and Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stillpoint.lab.alerts.anomalies import KINDS as ANOMALIES
from stillpoint.lab.alerts.introduction import introduction
from stillpoint.lab.alerts.laws import LAWS, UNSEEN
from stillpoint.lab.alerts.peers import OURS
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.alerts.bench import AlertsBench
    from stillpoint.lab.alerts.summary import Delays

_SHOWN = ("normal", "AR .8")  # laws whose changes are on the terminal, for all methods


def markdown(bench: AlertsBench) -> str:
    """The whole benchmark as Markdown."""
    picture = ["![False alarms against delay](alerts.png)\n"] if bench.found else []
    tail = ["## Notes", "", *(f"- {note}" for note in bench.notes), ""] if bench.notes else []
    tables = [grid.markdown() for grid in grids(bench)]
    return "\n".join([introduction(bench.settings), *picture, *tables, *tail])


def grids(bench: AlertsBench) -> list[Grid]:
    """Targets, false alarms, changes by kind, what ours says of them, anomalies, and the laws."""
    found = [_targets(bench)] if bench.targets() else []
    if bench.clean:
        found += [_false_alarms(bench), *_changes(bench)]
    if bench.quiet:
        found += [*_rates(bench), *_means(bench), *_anomalies(bench)]
    return [*found, _laws(bench)]


def _targets(bench: AlertsBench) -> Grid:
    said = {True: "met", False: "missed", None: "reported only"}
    rows = [
        [each.name, each.law, _number(each.measured), _number(each.limit), said[each.met]]
        for each in bench.targets()
    ]
    return Grid("Targets", ["target", "law", "measured", "limit", ""], rows)


def _false_alarms(bench: AlertsBench) -> Grid:
    cells = {(each.law, each.method): each for each in bench.false_alarms}
    methods = _methods(bench)
    rows = []
    for law in bench.settings["laws"]:
        some = [cells[law, method] for method in methods]
        rows.append([_named(law), *(_with_error(each.alarms, each.error) for each in some)])
    us = {m: np.median([e.us for e in bench.false_alarms if e.method == m]) for m in methods}
    rows.append(["µs a row", *(f"{us[method]:.3g}" for method in methods)])
    streams = [cells[bench.settings["laws"][0], method].streams for method in methods]
    rows.append(["streams", *map(str, streams)])
    return Grid("False changes in 10 000 rows (standard error)", ["law", *methods], rows)


def _changes(bench: AlertsBench) -> list[Grid]:
    """For each row of the change: everybody in two laws, each method in all, and what ours says."""
    found = []
    starts = sorted({each.start for each in bench.delays}, reverse=True)
    shown = [law for law in bench.settings["laws"] if law in _SHOWN]
    for start in starts:
        found += [_all_methods(bench, law, start, deep=start != starts[0]) for law in shown]
        for method in _methods(bench):
            found.append(_by_law(bench, method, start, "found; median delay (mean)", _delay))
        for title, cell in (
            ("begin stated less the true one, median (of its size)", _late),
            ("size stated over the true one, median (distance from 1)", _share),
            ("called by the right kind, of those found", _right),
        ):
            found.append(_by_law(bench, OURS, start, title, cell))
    return found


def _all_methods(bench: AlertsBench, law: str, start: int, *, deep: bool) -> Grid:
    """A line a kind, a column a method."""
    methods, rows = _methods(bench), []
    for kind in _kinds(bench, law):
        cells = [bench.delay(law, method, kind, start) for method in methods]
        rows.append([kind, *("–" if cell is None else _delay(cell) for cell in cells)])
    title = f"{_named(law)}, change in row {start}: found; median delay (mean)"
    return Grid(title, ["change", *methods], rows, deep=deep)


def _by_law(
    bench: AlertsBench, method: str, start: int, title: str, cell: Callable[[Delays], str]
) -> Grid:
    """A line a kind, a column a law."""
    names = bench.settings["laws"]
    kinds = dict.fromkeys(kind for law in names for kind in _kinds(bench, law))
    rows = []
    for kind in kinds:
        some = [bench.delay(law, method, kind, start) for law in names]
        rows.append([kind, *("" if each is None else cell(each) for each in some)])
    header = ["change", *map(_named, names)]
    return Grid(f"{method}, change in row {start}: {title}", header, rows, deep=True)


def _rates(bench: AlertsBench) -> list[Grid]:
    found = []
    methods = list(dict.fromkeys(each.method for each in bench.rates))
    cells = {(each.law, each.method, each.rate): each for each in bench.rates}
    for rate in dict.fromkeys(each.rate for each in bench.rates):
        rows = []
        for law in bench.settings["laws"]:
            some = [cells[law, method, rate] for method in methods]
            told = [f"{_with_error(e.flagged, e.flagged_error)}; {e.alarms:.1f}" for e in some]
            rows.append([_named(law), *told])
        us = {m: np.median([e.us for e in bench.rates if e.method == m]) for m in methods}
        rows.append(["µs a row, both rates", *(f"{us[method]:.3g}" for method in methods)])
        first = bench.settings["laws"][0]
        rows.append(["streams", *(str(cells[first, m, rate].streams) for m in methods)])
        title = f"Rate {rate:g}: rows flagged in 10 000 (standard error); alarms"
        found.append(Grid(title, ["law", *methods], rows))
    return found


def _anomalies(bench: AlertsBench) -> list[Grid]:
    """For each rate and kind a line a law, a column a method."""
    found = []
    methods = list(dict.fromkeys(each.method for each in bench.shares))
    cells = {(e.rate, e.kind, e.law, e.method): e for e in bench.shares}
    for rate in dict.fromkeys(each.rate for each in bench.shares):
        for kind in ANOMALIES:
            rows = []
            for law in bench.settings["laws"]:
                some = [cells[rate, kind.name, law, method] for method in methods]
                rows.append([_named(law), *(f"{e.flagged:.0%}; {e.alarmed:.0%}" for e in some)])
            title = f"{kind.name} sd, rate {rate:g}: flagged; alarm"
            found.append(Grid(title, ["law", *methods], rows, deep=True))
    return found


def _means(bench: AlertsBench) -> list[Grid]:
    """For each rate a line a kind, a column a method: means over laws."""
    found = []
    methods = list(dict.fromkeys(each.method for each in bench.shares))
    for rate in dict.fromkeys(each.rate for each in bench.shares):
        rows = []
        for kind in ANOMALIES:
            cells = []
            for method in methods:
                at = (rate, kind.name, method)
                some = [e for e in bench.shares if (e.rate, e.kind, e.method) == at]
                flagged, alarmed = ([getattr(e, n) for e in some] for n in ("flagged", "alarmed"))
                cells.append(f"{np.mean(flagged):.0%}; {np.mean(alarmed):.0%}")
            rows.append([f"{kind.name} sd", *cells])
        title = f"Rate {rate:g}, mean over {len(bench.settings['laws'])} laws: flagged; alarm"
        found.append(Grid(title, ["anomaly", *methods], rows))
    return found


def _laws(bench: AlertsBench) -> Grid:
    rows = [[name, LAWS[name].group, LAWS[name].description] for name in bench.settings["laws"]]
    return Grid("Laws", ["law", "group", "noise"], rows, deep=True)


def _methods(bench: AlertsBench) -> list[str]:
    return list(dict.fromkeys(each.method for each in bench.false_alarms))


def _kinds(bench: AlertsBench, law: str) -> list[str]:
    return list(dict.fromkeys(each.kind for each in bench.delays if each.law == law))


def _named(law: str) -> str:
    return f"{law} ({UNSEEN})" if LAWS[law].group == UNSEEN else law


def _delay(cell: Delays) -> str:
    if cell.median is None or cell.mean is None:
        return f"{cell.found:.0%}"
    return f"{cell.found:.0%}; {cell.median:.0f} ({cell.mean:.0f})"


def _late(cell: Delays) -> str:
    return "–" if cell.late is None else f"{cell.late:+.0f} ({cell.late_error:.0f})"


def _share(cell: Delays) -> str:
    return "–" if cell.share is None else f"{cell.share:.2f} ({cell.share_error:.2f})"


def _right(cell: Delays) -> str:
    return "–" if cell.right is None else f"{cell.right:.0%}"


def _with_error(value: float, error: float | None) -> str:
    return f"{_number(value)}" if error is None else f"{_number(value)} ({_number(error)})"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10.0 else f"{value:.1f}"
