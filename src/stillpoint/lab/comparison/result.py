"""The result of a comparison: what each learner lost, as rows, summaries, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.core.extras import require
from stillpoint.core.validation import Array, finite
from stillpoint.lab.bench.tables import ordered
from stillpoint.lab.cells import grouped
from stillpoint.lab.comparison import captions, tables
from stillpoint.lab.comparison.cell import CurveRow
from stillpoint.lab.comparison.summary import Summary, summarise, write_csv

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("regret", "loss", "adaptive", "switching", "us")
_CURVES = {"regret": "regrets", "loss": "losses", "adaptive": "intervals"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Cells of a comparison, in order; what `sp.lab.compare` returns.

    Parameters
    ----------
    rows
        One per cell, with its curves.
    told
        What each learner is told.
    played
        How many cells were played now, not found in the folder.
    """

    rows: list[CurveRow]
    told: dict[str, str]
    played: int

    def __repr__(self) -> str:
        learners, streams = len(self.told), len(ordered(row.stream for row in self.rows))
        failed = len(self.failures)
        return (
            f"<Comparison of {learners} learners on {streams} streams: {len(self.rows)} cells"
            f"{f', {failed} failed' if failed else ''}>"
        )

    def _repr_markdown_(self) -> str:
        return self.markdown()

    @property
    def failures(self) -> list[CurveRow]:
        """The cells that failed."""
        return [row for row in self.rows if row.error]

    def summaries(self) -> list[Summary]:
        """One `Summary` for each horizon, stream and learner."""
        return [summarise(rows, self.told[key[0]]) for key, rows in grouped(self.rows).items()]

    def markdown(self, measure: str | None = None) -> str:
        """Tables as Markdown: one a stream and horizon; of one `measure`, streams as columns."""
        return "\n".join(grid.markdown() for grid in self._grids(measure))

    def latex(self, measure: str | None = None) -> str:
        r"""The same as LaTeX tables, for `\usepackage{booktabs}`; the least of a column is bold."""
        return "\n".join(tables.latex(grid) for grid in self._grids(measure))

    def _grids(self, measure: str | None) -> list[tables.Table]:
        if measure is None:
            return tables.by_stream(self.summaries())
        return [tables.crossed(self.summaries(), _known("measure", measure, MEASURES))]

    def to_csv(self, path: str | Path) -> Path:
        """Write the summaries as CSV; returns the file."""
        summaries = [asdict(summary) for summary in self.summaries()]
        return write_csv(
            Path(path), list(summaries[0]), [list(each.values()) for each in summaries]
        )

    def curves(
        self, stream: str | None = None, horizon: int | None = None, *, measure: str = "regret"
    ) -> tuple[Array, dict[str, Array]]:
        """The curves of one stream and horizon.

        Parameters
        ----------
        stream, horizon
            Which; may be left out where there is one stream, and for the longest horizon.
        measure : "regret", "loss" or "adaptive", default "regret"
            What grows: regret and loss with rounds, the worst interval's regret with its length.

        Returns
        -------
        tuple
            The rounds or lengths, shape (n,), and each learner's curves, shape (seeds, n). Learners
            that failed with every seed are left out.
        """
        curve_of = _curve(_known("measure", measure, tuple(_CURVES)))
        name, rounds = self._stream(stream), self._horizon(horizon)
        groups: dict[str, list[tuple[float, ...]]] = {}
        at: tuple[float, ...] = ()
        for row in self.rows:
            if row.stream == name and row.horizon == rounds and (curve := curve_of(row)):
                groups.setdefault(row.learner, []).append(curve)
                at = row.at
        if not groups:
            rows = [row for row in self.rows if (row.stream, row.horizon) == (name, rounds)]
            failed = all(row.error for row in rows)
            why = "all failed; see `failures`" if failed else "no comparator; draw measure='loss'"
            raise ValueError(f"{name} at T = {rounds} has no curve of {measure}: {why}")
        found = {learner: np.array(curves) for learner, curves in groups.items()}
        if measure == "adaptive":
            sizes = np.arange(next(iter(found.values())).shape[1])
            return np.ldexp(1.0, sizes), found
        return np.array(at), found

    def ends(
        self, stream: str | None = None, *, measure: str = "regret"
    ) -> tuple[Array, dict[str, Array]]:
        """The last values at each horizon, as `curves` returns them: how regret grows with T.

        They differ from a curve over rounds for learners that are told T. Learners that did not
        finish with the same seeds at every horizon are left out.
        """
        name = self._stream(stream)
        _known("measure", measure, MEASURES)
        horizons = ordered(row.horizon for row in self.rows)
        groups: dict[str, dict[int, dict[int, float]]] = {}
        for row in self.rows:
            value = None if row.error else getattr(row, measure)
            if row.stream == name and value is not None:
                groups.setdefault(row.learner, {}).setdefault(row.horizon, {})[row.seed] = value
        whole = {
            learner: np.array([list(by[horizon].values()) for horizon in horizons]).T
            for learner, by in groups.items()
            if len({tuple(by.get(horizon, ())) for horizon in horizons}) == 1
        }
        if not whole:
            raise ValueError(
                f"{name} has no {measure} of the same seeds at every horizon; see `failures`"
            )
        return np.array(horizons, dtype=float), whole

    def plot(
        self,
        stream: str | None = None,
        horizon: int | None = None,
        *,
        measure: str = "regret",
        over: str = "rounds",
        band: str | tuple[float, float] = "sd",
        log: bool | str = False,
        slopes: float | Sequence[float] = (),
        ax: Axes | None = None,
        path: str | Path | None = None,
    ) -> Axes:
        """Draw one curve a learner: the mean over seeds ± one standard deviation, or quantiles.

        Parameters
        ----------
        stream, horizon
            Which; may be left out where there is one stream, and for the longest horizon.
        measure : "regret", "loss" or "adaptive", default "regret"
            "adaptive" is drawn over lengths of intervals.
        over : "rounds" or "horizon", default "rounds"
            Within the runs of one horizon, or the ends of the runs of all horizons.
        band
            "sd" for the mean ± one standard deviation, or two quantiles such as (0.1, 0.9), around
            the median.
        log : bool, "x" or "y", default False
            Logarithmic axes; True for both.
        slopes
            Powers p: dashed lines that grow as T^p, 0.5 for √T.
        ax
            Axes to draw on; default: those of a new figure.
        path
            Also saves the figure there, as PDF, SVG or PNG by its suffix, and beside it what it
            shows as CSV, under the same name.

        Returns
        -------
        matplotlib.axes.Axes
            Shown by notebooks; its `figure` can be saved.
        """
        require("matplotlib", "Comparison.plot", "plot")
        from stillpoint.report import figures

        if log not in (False, True, "x", "y"):
            raise ValueError(f"log must be True, False, 'x' or 'y': got {log!r}; choose one")
        quantiles = captions.band_of(band)
        ends = _known("over", over, ("rounds", "horizon")) == "horizon"
        at, groups = (
            self.ends(stream, measure=measure)
            if ends
            else self.curves(stream, horizon, measure=measure)
        )
        axes = figures.new_axes() if ax is None else ax
        lengths = measure == "adaptive" and not ends
        figures.draw_groups(
            axes,
            groups,
            says={"adaptive": "regret on the worst interval"}.get(measure, measure),
            log_x=log in (True, "x"),
            log_y=log in (True, "y"),
            slopes=finite("slopes", slopes).ravel().tolist(),
            at=at,
            over="length of the interval" if lengths else "T" if ends else "rounds",
            band=quantiles,
        )
        name, rounds = self._stream(stream), None if ends else self._horizon(horizon)
        rows = [r for r in self.rows if r.stream == name and rounds in (None, r.horizon)]
        missing = captions.left_out(rows, groups, measure, same=ends)
        if missing:
            axes.set_title(missing, fontsize="small")
        if path is not None:
            figures.save_figure(axes.figure, Path(path))
            body = [
                [learner, f"{x:.17g}", len(curves), *(f"{part[i]:.17g}" for part in parts)]
                for learner, curves in groups.items()
                for parts in [
                    (figures.centre(curves, quantiles), *figures.edges(curves, quantiles))
                ]
                for i, x in enumerate(at)
            ]
            header = ["learner", "length" if lengths else over, "seeds", "centre", "low", "high"]
            write_csv(Path(path).with_suffix(".csv"), header, body)
        return axes

    def save(self, folder: str | Path, *, slopes: float | Sequence[float] = (0.5,)) -> list[Path]:
        """Write tables (Markdown, LaTeX, CSV), and a log-log figure a stream and horizon with data.

        Returns the files. Figures show regret, or loss where there is no comparator; curves without
        a positive value are drawn on a linear axis.
        """
        require("matplotlib", "Comparison.save", "plot")
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        files = [where / "table.md", where / "table.tex"]
        files[0].write_text(self.markdown(), encoding="utf-8")
        files[1].write_text(self.latex(), encoding="utf-8")
        files.append(self.to_csv(where / "table.csv"))
        for stream, horizon in ordered((row.stream, row.horizon) for row in self.rows):
            rows = [r for r in self.rows if (r.stream, r.horizon) == (stream, horizon)]
            kept = [measure for measure in ("regret", "loss") if any(map(_curve(measure), rows))]
            if not kept:
                continue
            path = captions.new_file(where, stream, f"-{horizon}.pdf", files)
            _, groups = self.curves(stream, horizon, measure=kept[0])
            log = all((curves.mean(axis=0) > 0.0).any() for curves in groups.values())
            self.plot(
                stream, horizon, measure=kept[0], log=True if log else "x",
                slopes=slopes if log else (), path=path,
            )  # fmt: skip
            files += [path, path.with_suffix(".csv")]
        return files

    def _stream(self, stream: str | None) -> str:
        names = ordered(row.stream for row in self.rows)
        if stream is None and len(names) == 1:
            return names[0]
        if stream not in names:
            raise ValueError(f"stream must be one of {', '.join(names)}: got {stream!r}; name one")
        return stream

    def _horizon(self, horizon: int | None) -> int:
        known = ordered(row.horizon for row in self.rows)
        if horizon is not None and horizon not in known:
            raise ValueError(
                f"horizon must be one of {', '.join(map(str, known))}: got {horizon!r}; choose one"
            )
        return max(known) if horizon is None else horizon


def _curve(measure: str) -> Callable[[CurveRow], tuple[float, ...]]:
    return attrgetter(_CURVES[measure])


def _known(name: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}: got {value!r}; choose one")
    return str(value)
