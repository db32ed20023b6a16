"""The benchmark on real series as tables and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stillpoint.lab.bench.ratios import FLOOR
from stillpoint.lab.series.data import LONGEST, PLAIN
from stillpoint.lab.series.peers import FITS, SHORT_SEASON, WINDOW
from stillpoint.lab.series.rls import FORGETTING
from stillpoint.lab.series.scoring import COVERAGE, ORIGINS
from stillpoint.lab.streams.base import CHOSEN, REPORTED
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.series.bench import SeriesBench, SeriesFacts

_GROUPS = {
    REPORTED: "series on which nothing was chosen",
    CHOSEN: "series on which constants of the library were chosen",
}


def markdown(bench: SeriesBench) -> str:
    """The whole benchmark as Markdown."""
    rounds = bench.settings.get("rounds")
    cut = f"Series are cut to their first {rounds} rounds. " if rounds else ""
    rates = ", ".join(f"{rate:g}" for rate in FORGETTING)
    intro = (
        "# Real series\n\nSeries that other packages ship, forecast one step and one season ahead"
        f" (at most {LONGEST} rounds; {PLAIN} where there is no season). {cut}The first two fifths"
        " of a series are not scored; then every round counts one step ahead, and for the season"
        f" ahead all its steps, from {ORIGINS} rounds evenly spread over the rest. `stillpoint` is"
        " `sp.Forecaster` told nothing, `stillpoint, told` the same given the seasons; everybody"
        " else is given them too. Nobody is tuned on these series; river's constants and the form"
        " of LightGBM's features were picked from three to six tried on five or six others. * marks"
        " what was chosen in hindsight, which nobody can run: the best of several methods, for"
        " each series and measure. No series chose anything in `sp.Forecaster` but"
        " water, on which two rules for outliers were compared."
        " Series marked chosen were used when constants were set in other parts of the library that"
        " it is made of (aggregation, intervals); they are summed up apart.\n\nPeers: AR-RLS is"
        f" least squares on lags 1, 2, 3 and those of the seasons with forgetting {rates}; AutoETS"
        f" and AutoTheta are fitted {len(FITS)} times, MSTL at every origin, LightGBM (changes,"
        f" from lags and phases) {len(FITS)} times, all to the last {WINDOW} values; AutoETS is"
        f" given seasons up to {SHORT_SEASON}. Where a value is missing they get the last one seen."
        " Forecasts of river, AutoETS, AutoTheta and MSTL are kept within the range so far, widened"
        f" by itself on both sides.\n\nIntervals of {COVERAGE:.0%}, Winkler's score: width, and 20"
        " times what a value outside is away. Methods without intervals of their own one step ahead"
        " have those of a normal with their past errors. MASE: absolute error over that of the"
        " seasonal naive in the part that is not scored. µs a round: learning and forecasting one"
        " step ahead, several processes at once (`benchmarks/series_speed.py` times a forecaster"
        f" alone). A ratio below {FLOOR:g} counts as {FLOOR:g} in means.\n\n"
        f"`{bench.settings.get('command', 'stillpoint bench series')} --out DIR` makes"
        " this page and the raw scores.\n"
    )
    tail = ["## Notes", "", *(f"- {note}" for note in bench.notes), ""] if bench.notes else []
    return "\n".join([intro, *(grid.markdown() for grid in grids(bench)), *tail])


def grids(bench: SeriesBench) -> list[Grid]:
    """Means by group, methods, series, and everybody's errors."""
    from stillpoint.lab.series.bench import OURS, TOLD

    own = [name for name in (OURS, TOLD) if name in bench.methods]
    found = []
    for group, words in _GROUPS.items():
        if any(each.group == group for each in bench.series):
            found += [_means(bench, name, group, words) for name in own if bench.rivals()]
    found.append(_methods(bench))
    if own:
        found.append(_best_of_others(bench, own[0]))
    found += [
        _all_methods(bench, "mse1", "Mean squared error one step ahead"),
        _all_methods(bench, "mseh", "Mean squared error over a season"),
        _all_methods(bench, "winklerh", "Winkler's score over a season"),
        _about(bench.series),
    ]
    return found


def _means(bench: SeriesBench, own: str, group: str, words: str) -> Grid:
    """A row a rival: geometric means of ours over it."""
    from stillpoint.lab.series.bench import MEASURES

    rows = []
    for name, rival in bench.rivals().items():
        far = bench.ratios(own, rival, "mseh", group)
        ahead = f"{sum(value < 1.0 for value in far)} of {len(far)}"
        means = [_ratio(bench.mean(own, rival, measure, group)) for measure in MEASURES]
        rows.append([name, *means, ahead, _ratio(max(far) if far else None)])
    number = sum(each.group == group for each in bench.series)
    header = ["other", "MSE 1", "MAE 1", "Winkler 1", "MSE season", "MAE season", "Winkler season"]
    return Grid(
        f"{own} over others: geometric means on {number} {words}",
        [*header, "ahead", "worst"],
        rows,
    )


def _methods(bench: SeriesBench) -> Grid:
    """A row a method: scaled error, coverage and cost."""
    rows = []
    for name in bench.methods:
        scores = [each for each in bench.played() if each.method == name]
        cells = []
        for measure in ("mase1", "maseh", "coverage1", "coverageh"):
            values = [getattr(each, measure) for each in scores]
            known = [value for value in values if value is not None]
            cells.append(f"{np.mean(known):.3f}" if known else "–")
        costs = [each.us for each in scores if each.us is not None]
        cells.append(f"{np.median(costs):.3g}" if costs else "–")
        rows.append([name, str(len(scores)), *cells])
    header = ["method", "series", "MASE 1", "MASE season", "coverage 1", "coverage season"]
    return Grid("Means over all series", [*header, "µs a round (median)"], rows)


def _best_of_others(bench: SeriesBench, own: str) -> Grid:
    """A row a series: ours and the best of the others."""
    rows = []
    for each in bench.series:
        score = bench.find(each.name, own)
        cells = [each.name, each.group, str(each.rounds), str(each.horizon)]
        for ending in ("1", "h"):
            best = _best(bench, each.name, f"mse{ending}")
            mine = getattr(score, f"mse{ending}") if score else None
            least = bench.figure(each.name, [best], f"mse{ending}") if best else None
            over = mine / least if mine is not None and least else None
            cells += [_number(mine), best or "–", _ratio(over)]
        cells += [_ratio(score.coverage1 if score else None)]
        rows.append([*cells, _ratio(score.coverageh if score else None)])
    header = ["series", "group", "T", "H", "MSE 1", "best other*", "ours / it"]
    header += ["MSE season", "best other*", "ours / it", "coverage 1", "coverage season"]
    return Grid(f"By series: {own}", header, rows)


def _best(bench: SeriesBench, series: str, measure: str) -> str | None:
    figures = {name: bench.figure(series, [name], measure) for name in bench.others()}
    known = {name: value for name, value in figures.items() if value is not None}
    return min(known, key=lambda name: known[name]) if known else None


def _all_methods(bench: SeriesBench, measure: str, title: str) -> Grid:
    rows = [
        [each.name, *(_number(bench.figure(each.name, [m], measure)) for m in bench.methods)]
        for each in bench.series
    ]
    return Grid(title, ["series", *bench.methods], rows, deep=True)


def _about(series: Sequence[SeriesFacts]) -> Grid:
    rows = [
        [
            each.name,
            each.description,
            each.every,
            str(each.rounds),
            str(each.missing),
            ", ".join(map(str, each.seasons)) or "–",
            each.package,
        ]
        for each in series
    ]
    header = ["series", "what it is", "every", "T", "missing", "seasons", "package"]
    return Grid("The series", header, rows, deep=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
