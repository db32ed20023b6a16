"""What `track` tells of a series: what comes next, how far ahead it is good, what has changed."""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from stillpoint.alerts.change import Change
from stillpoint.commands._rows import BUCKET
from stillpoint.commands._scores import SUM, Scores
from stillpoint.commands.ahead import Ahead
from stillpoint.commands.beside import NAIVE
from stillpoint.commands.engine import MEAN
from stillpoint.commands.history import History
from stillpoint.commands.moments import Coming
from stillpoint.commands.recents import Recent
from stillpoint.commands.series import Series
from stillpoint.report.changes import verb
from stillpoint.series import Forecaster
from stillpoint.series.spacing import unit

_LEAST = 0.005  # of a share that is told
_SHOWN, _CHANGES = 8, 3  # horizons and changes shown on the terminal
# what an expert's name begins with, and what it relies on
_WORDS = (
    ("last value", "the last value"),
    ("seasons that drift", "seasons that change"),
    ("level with deviations", "a slow level, and deviations that die out"),
    ("slow level", "a level that moves slowly"),
    ("level", "a level that moves fast"),
    ("trend", "a trend"),
    ("phases", "averages by phase of the season"),
    ("effects of features", "what the other columns have done so far"),
    ("autoregression waves", "memory of the last values, curved"),
    ("autoregression", "memory of the last values"),
)


def figures(engine: Series, history: History, recent: Recent) -> dict[str, Any]:
    """Return losses, coverage, certificates and weights of a series, and what comes next."""
    rows, ahead = engine.beside.loss_rows, engine.ahead()
    model = ahead.model
    loss = {
        name: history.total(len(BUCKET) + j) / rows if rows else None
        for j, name in enumerate(engine.beside.names)
    }
    scored, covered = history.total(BUCKET.scored), history.total(BUCKET.covered)
    widths = history.total(BUCKET.width_count)
    coverage: dict[str, Any] = {
        "target": engine.target_share,
        "scored": int(scored),
        "misses": int(scored - covered),
        "achieved": covered / scored if scored else None,
    }
    if not engine.level:
        coverage["mean_width"] = history.total(BUCKET.width) / widths if widths else None
    certificate = {}
    account = {name: float(part.ravel()[0]) for name, part in model._bands.account(1).items()}
    # the theorem is about rounds: not about rows that share one, nor about ends that were moved
    if not engine.level and account["seen"] >= scored - 1.0 and not engine.moved:
        # whole ends may hold a value where there was none, and one that was not whole came as the
        # first; ends at 0 may hold 0
        whole = engine.intake.was_whole
        least = 0.0 if whole or engine.nonnegative else account["least"]
        most = account["most"] + (whole and not engine.intake.whole)
        if most < account["seen"]:
            coverage |= {"least_misses": least, "most_misses": most}
            certificate = {"misses at least": least, "misses at most": most}
    weights = ahead.tellers[0].weights
    return {
        "loss_name": engine.loss_name,
        "loss": loss,
        "loss_rows": rows,
        "coverage": coverage,
        "certificate": certificate,
        "weights": weights[1] if weights else {},
        **outlook(engine, ahead, recent),
    }


def outlook(engine: Series, ahead: Ahead, recent: Recent) -> dict[str, Any]:
    """Return the keys of summary.json that only a series has."""
    model, H = ahead.model, engine.horizon
    coming = recent.coming(engine)
    gap = engine.slots.gap or engine.plan.gap if engine.plan.dated else None
    times = _times(ahead, coming, recent.texts, H)
    rows = zip(times, *(part.tolist() for part in ahead.told), strict=True)
    weights = [teller.weights for teller in ahead.tellers]
    components = ahead.tellers[0].components()
    raised = float(ahead.told.forecast[0]) - sum(components.values())
    if engine.nonnegative and ahead.told.forecast[0] == 0.0 and raised > 0.0:
        components["kept at 0"] = raised
    return {
        "learner": "Forecaster",
        "horizon": H,
        "seasons": model.seasons,
        "unit_of_time": unit(gap),
        "utc_offset": None if coming is None else coming.utc_offset,
        "whole_numbers": engine.intake.whole,
        "forecast": [
            {
                "step": h,
                "time": time,
                "at": None if coming is None or time is None else coming.number(time),
                "forecast": f,
                "lo": low,
                "hi": high,
            }
            for h, (time, f, low, high) in enumerate(rows, 1)
        ],
        "steps_without_known": ahead.lacks,
        "repeated": engine.intake.repeated,
        "total": {name: float(end[0]) for name, end in ahead.total._asdict().items()},
        "horizons": horizons(ahead.scores, bool(engine.level), NAIVE in engine.beside.names),
        "changes": [_change(change, model, ahead, coming) for change in model.changes],
        "components": components,
        "relies_on": {
            "next": relies_on(weights[0][min(weights[0])]) if weights[0] else [],
            "far": relies_on(weights[1][max(weights[1])]) if weights[1] else [],
        },
    }


def _times(ahead: Ahead, coming: Coming | None, texts: list[str], H: int) -> list[str | None]:
    """Times of the steps ahead: those of rows that have come, then those that would."""
    if coming is None:
        return [None] * H
    places = ahead.places.tolist()
    n = min(len(places), len(texts))
    known = dict(zip(places[len(places) - n :], texts[len(texts) - n :], strict=True))
    # the last row is the last that has come ahead, or the one before all of them
    last = places[-1] if places else -1
    found: list[str | None] = []
    for h in range(H):
        with suppress(OverflowError, ValueError):  # years have four digits
            found.append(known.get(h) or coming.text(h - last))
    return found + [None] * (H - len(found))


def horizons(scores: Scores, quantile: bool, seasonal: bool) -> list[dict[str, Any]]:
    """Return error, simple errors, coverage and width by steps ahead; errors are roots of means.

    They are of the later rows, half of them to three quarters.
    """
    found = []
    for step, sums in zip(scores.steps.tolist(), scores.sums.tolist(), strict=True):
        rows = sums[SUM.rows]

        def error(place: int, sums: list[float] = sums, rows: float = rows) -> float | None:
            mean = sums[place] / rows if rows else None
            return mean if mean is None or quantile else math.sqrt(mean)

        found.append(
            {
                "step": step,
                "rows": int(rows),
                "error": error(SUM.error),
                "last value": error(SUM.last),
                NAIVE: error(SUM.naive) if seasonal else None,
                MEAN: None if quantile else error(SUM.mean),
                "coverage": sums[SUM.covered] / rows if rows else None,
                "width": sums[SUM.width] / sums[SUM.widths] if sums[SUM.widths] else None,
            }
        )
    return found


def _change(
    change: Change, model: Forecaster, ahead: Ahead, coming: Coming | None
) -> dict[str, Any]:
    """Return a change with its time, and in words; rows count from 1, empty slots among them."""
    what, up = verb(change.kind)
    # sizes are of stretches that may hold further changes: told where they go the same way
    if (change.after > change.before) == up:
        apart = change.after - change.before
        ends = [_figure(size, apart=apart) for size in (change.before, change.after)]
        what = f"{what} from {ends[0]} to {ends[1]}"
    time, at, when = None, None, f"in row {change.start + 1:,}"
    if coming is not None:
        history, places = model._engine.history, ahead.places
        # slots from the last row to where it was
        last = history.before + history.rounds + (int(places[-1]) if places.size else -1)
        away = change.start - last
        time, when = coming.text(away), coming.words(away)
        at = coming.number(time)
    return {
        "row": change.row + 1,
        "start": change.start + 1,
        "time": time,
        "at": at,
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
        "words": f"{what} {when}",
    }


def _figure(value: float, digits: int = 3, apart: float = 0.0) -> str:
    """Return a number as people write it, with so many digits or all before the point, and as many
    as tell it from one so far `apart`.
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(abs(value)))
    if apart:
        digits = min(max(digits, 1 + size - math.floor(math.log10(abs(apart)))), 15)
    if not -4 <= size < 12:
        return f"{value:.{digits}g}"
    text = f"{value:,.{max(digits - 1 - size, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def relies_on(weights: dict[str, float]) -> list[dict[str, Any]]:
    """Return what a forecast relies on in plain words, the most first."""
    shares: dict[str, float] = {}
    for name, weight in weights.items():
        words = plain_words(name)
        shares[words] = shares.get(words, 0.0) + max(weight, 0.0)
    whole = sum(shares.values()) or 1.0
    pairs = sorted(shares.items(), key=lambda pair: -pair[1])
    return [
        {"name": words, "share": share / whole} for words, share in pairs if share >= _LEAST * whole
    ]


def plain_words(expert: str) -> str:
    """Return what an expert relies on, from its name."""
    name, log = expert.removesuffix(", logarithms"), expert.endswith(", logarithms")
    name = name.partition(" (")[0]
    if name.endswith(" rounds ago"):
        words = f"the value {name.removesuffix(' rounds ago')} rows before"
    elif name.startswith("autoregression") and "season" in name:
        words = "memory of a season ago"
    else:
        words = next((words for start, words in _WORDS if name.startswith(start)), name)
    return f"{words}, in proportion" if log else words


def show_series(summary: dict[str, Any]) -> None:
    """Show how far ahead forecasts are good, and what comes next, on the terminal."""
    from rich.table import Table

    from stillpoint.core.terminal import console, tell

    scored = [row for row in summary["horizons"] if row["rows"]]
    columns = ("error", "last value", NAIVE, MEAN, "coverage", "width")
    names = [name for name in columns if any(row[name] is not None for row in scored)]
    if scored:
        error = "" if summary["task"] == "quantile" else "; error: RMSE"
        last = f"{scored[0]['rows']:,} rows" if scored[0]["rows"] > 1 else "row"
        table = Table(title=f"by steps ahead, in the last {last}{error}")
        for name in ("steps", *names):
            table.add_column(name, justify="right")
        places = np.unique(np.linspace(0, len(scored) - 1, _SHOWN).round().astype(int))
        for row in (scored[i] for i in places):
            cells = ["–" if row[name] is None else f"{row[name]:.4g}" for name in names]
            if row["coverage"] is not None and "coverage" in names:
                cells[names.index("coverage")] = f"{100.0 * row['coverage']:.1f}%"
            table.add_row(str(row["step"]), *cells)
        console().print(table)
    seasons = ", ".join(f"{m:g}" for m in summary["seasons"])
    changes = len(summary["changes"])
    found = "no change" if not changes else "1 change" if changes == 1 else f"{changes:,} changes"
    found += f", the last {_CHANGES} of them" if changes > _CHANGES else ""
    tell(f"seasons: {seasons or 'none found'}; {found}")
    for change in summary["changes"][-_CHANGES:]:
        tell(f"  {change['words']}")
    first = summary["forecast"][0]
    at = f" ({first['time']})" if first["time"] else ""
    tell(f"next{at}: {_between(first)}; all {summary['horizon']}: {_between(summary['total'])}")


def _between(row: dict[str, Any]) -> str:
    ends = [row[name] for name in ("lo", "hi")]
    if not all(end is not None and math.isfinite(end) for end in ends):
        return _figure(row["forecast"], 4)
    apart = (ends[1] - ends[0]) / 20.0  # two digits of half the width, as on the page
    told = [_figure(value, 4, apart) for value in (row["forecast"], *ends)]
    return f"{told[0]}, from {told[1]} to {told[2]}"
