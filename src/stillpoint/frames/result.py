"""What `sp.track` returns: predictions, forecasts, figures and changes, in the caller's kind."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stillpoint.commands.summary import OURS
from stillpoint.core.container import check_place
from stillpoint.core.extras import require
from stillpoint.frames.given import Given
from stillpoint.frames.memory import MemoryTrack
from stillpoint.frames.view import View, change_place, view
from stillpoint.frames.words import alarms, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHANGES = ("kind", "before", "after", "words")
_P = ("p", "p_forecast", "p_level")
_ALERTS = {
    "anomaly": ("row", "value", "expected", "lo", "hi", *_P, "sign"),
    "change": ("row", "start", "kind", "before", "after", "evidence"),
}


class Alerts(NamedTuple):
    """The alerts of `sp.track(…, alerts=RATE)`; frames are of the kind that was given.

    Attributes
    ----------
    anomalies : frame or dict of arrays
        Rows that do not fit: `time`, `row`, counted from 0, `value`, `expected`, `lo`, `hi`, `p`,
        `p_forecast`, `p_level` and `sign`, as in `stillpoint.alerts.Anomaly`.
    changes : frame or dict of arrays
        Changes of the target: `time` and `row`, in which it was declared, `start_time` and `start`,
        where it began, `kind`, `before`, `after` and `evidence`, as in `stillpoint.alerts.Change`.
    """

    anomalies: Any
    changes: Any


class Tracked:
    """The result of `sp.track`; frames are of the kind that was given.

    Attributes
    ----------
    predictions : frame or dict of arrays
        One row for each of the data, with its index: `time` (unless that is the index), `y`,
        `forecast`, `lo`, `hi`. Each forecast was made before its `y` was looked at.
    forecast : frame, dict of arrays or None
        The steps after the last target: `step`, `time` (or as the index), `forecast`, `lo`, `hi`.
        None for a regression, which does not look beyond the rows it is given.
    changes : frame or dict of arrays
        Where level, spread, slope or season moved: `row`, counted from 0, `time`, `kind`,
        `before`, `after`, and `words`.
    alerts : Alerts or None
        Rows that do not fit and changes of the target, if `alerts` was given.
    summary : dict
        What the command writes to summary.json.
    """

    def __init__(self, given: Given, job: MemoryTrack, summary: dict[str, Any]) -> None:
        self._given, self._job, self.summary = given, job, summary

    @cached_property
    def predictions(self) -> Any:
        """Forecasts and intervals of the data's rows."""
        job = self._job
        return self._given.kind.rows(job.columns(), job.times, job.clock, job.options.target)

    @cached_property
    def forecast(self) -> Any:
        """Forecasts and intervals of the steps after the last target."""
        steps = self.summary.get("forecast")
        if steps is None:
            return None
        numbers = {
            name: np.array([np.nan if step[name] is None else step[name] for step in steps])
            for name in ("forecast", "lo", "hi")
        }
        infinite = {"lo": -np.inf, "hi": np.inf}
        for name, end in infinite.items():
            numbers[name][np.isnan(numbers[name])] = end
        columns = {"step": np.arange(1, len(steps) + 1), **numbers}
        times = [step["time"] for step in steps]
        rows = self.summary["rows"] - self._job.ahead
        when = None if None in times else times
        return self._given.kind.ahead(columns, when, self._job.clock, rows)

    @cached_property
    def changes(self) -> Any:
        """Where level, spread, slope or season moved."""
        found, x = self.summary.get("changes", []), self._job.numbers()["time"]
        clock = self._job.clock
        rows = np.array([change_place(change, x, clock) for change in found], dtype=np.int64)
        columns: dict[str, Any] = {"row": rows}
        for name in _CHANGES:
            text = name in ("kind", "words")
            values = [change[name] for change in found]
            columns[name] = np.array(values, dtype=object if text else np.float64)
        times = [change["time"] for change in found]
        given = None if None in times or self._job.times is None else times
        return self._given.kind.table(columns, given, clock)

    @cached_property
    def alerts(self) -> Alerts | None:
        """Rows that do not fit, and changes of the target, as two frames."""
        if self._job.alerts is None:
            return None
        return Alerts(*(self._alarms_of_kind(kind, names) for kind, names in _ALERTS.items()))

    def _alarms_of_kind(self, kind: str, names: tuple[str, ...]) -> Any:
        """The alarms of a kind; rows are counted from 0."""
        job = self._job
        found = [each for each in job.told if each["alert"] == kind]
        columns: dict[str, Any] = {}
        for name in names:
            values = [each[name] for each in found]
            if name in ("row", "start"):
                columns[name] = np.array(values, dtype=np.int64) - 1
            elif name in ("kind", "sign"):
                columns[name] = np.array(values, dtype=object if name == "kind" else np.int64)
            else:
                given = [np.nan if value is None else value for value in values]
                columns[name] = np.array(given, dtype=np.float64)
        for name, end in {"lo": -np.inf, "hi": np.inf}.items():
            if name in columns:
                columns[name][np.isnan(columns[name])] = end
        if job.times is None:
            return self._given.kind.table(columns)
        at = {"time": "row", "start_time": "start"}
        times = {
            name: [job.times[row] for row in columns[row_name].tolist()]
            for name, row_name in at.items()
            if row_name in columns
        }
        return self._given.kind.table(columns, times["time"], job.clock, times.get("start_time"))

    @cached_property
    def _view(self) -> View:
        return view(self._job, self.summary)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the last rows, the steps ahead with their intervals, changes, and alerts.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; None makes a figure of its own, which notebooks show.

        Returns
        -------
        matplotlib.axes.Axes
            Their `figure` can be saved.
        """
        require("matplotlib", "Tracked.plot", "plot")
        from stillpoint.frames.plots import plot_view

        return plot_view(self._view, ax)

    def report(self, path: str | Path) -> Path:
        """Write the page that `stillpoint track` writes; return its path."""
        from stillpoint.report.page import write_page

        check_place(Path(path))
        summary, title = self._job.shown(self.summary), f"Forecasting {self._job.options.target}"
        write_page(path, self._job.run, summary, title)
        return Path(path)

    def _repr_html_(self) -> str:
        from stillpoint.frames.notebook import page

        return page(self._view, self.summary)

    def __repr__(self) -> str:
        s = self.summary
        parts = [f"{s['target']}: {counted(s['rows'], 'row')}"]
        if "horizon" in s:
            seasons = ", ".join(f"{m:g}" for m in s["seasons"])
            parts.append(f"{counted(s['horizon'], 'step')} ahead")
            parts.append(f"seasons {seasons}" if seasons else "no season")
        else:  # and no forecast beyond the rows
            parts.append(f"{s['task']}, of the next row")
        error = s["loss"].get(OURS)
        if error is not None:
            squared = s["loss_name"] == "squared error"
            name, value = ("RMSE", error**0.5) if squared else (s["loss_name"], error)
            parts.append(f"{name} {value:.4g}")
        covered = s.get("coverage", {}).get("achieved")
        if covered is not None:
            parts.append(f"coverage {covered:.1%}")
        changes = len(s.get("changes", []))
        if changes:
            parts.append(counted(changes, "change"))
        if "alerts" in s:
            parts.append(alarms(s["alerts"]))
        if s["notes"]:
            parts.append(f"{counted(len(s['notes']), 'note')} in summary['notes']")
        return f"<Tracked {'; '.join(parts)}>"
