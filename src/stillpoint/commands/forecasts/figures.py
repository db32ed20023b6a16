"""What `stillpoint fleet` says of forecasters at the end: errors beside simple forecasts."""

import math
import sys
from collections import Counter
from typing import Any, Protocol

import stillpoint
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.forecasts import output
from stillpoint.commands.forecasts.alerts import in_words
from stillpoint.commands.moments import SET_BACK
from stillpoint.commands.summary import SUMMARY, readable
from stillpoint.core.terminal import console, tell
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.series.scores import OURS, merged
from stillpoint.series.spacing import unit

LATE = "time must be after what was learnt in an earlier run"
_SHOWN = 5  # worst keys on the terminal
_HOUR = 3600.0 + 1.0  # in seconds, and what rounding adds


class Counted(Protocol):
    """Rows that were read, why some were not taken, and whether dates are known to have a zone."""

    rows: int
    reasons: Counter[str]
    zoned: bool | None


class Ran(Protocol):
    """A run: its rows and seconds, and what is to be told of it."""

    rows: int
    seconds: float
    notes: list[str]


def figures(
    options: FleetOptions,
    plan: Plan,
    intake: Counted,
    results: list[dict[str, Any]],
    session: Ran,
) -> dict[str, Any]:
    """Return the summary of a run whose parts came to these results."""
    o, found = options, merged(results, plan.period > 0)
    late, repeated, empty = (
        sum(result[name] for result in results) for name in ("late", "repeated", "empty")
    )
    reasons = dict(intake.reasons.most_common()) | ({LATE: late} if late else {})
    head: dict[str, Any] = {"version": stillpoint.__version__}
    for name in ("source", "engine", "learner", "pool", "key", "target", "time"):
        head[name] = getattr(o, name)
    head["source"] = readable(o.source)
    covered = found.pop("covered")
    folders = [output.FORECASTS, *([output.PREDICTIONS] if o.predictions else []), SUMMARY]
    folders[-1:-1] = [] if o.alerts is None else [output.ALERTS]
    rate = session.rows / session.seconds if session.seconds else None
    if (scaled := found["errors"][OURS]["scaled"]) is not None and scaled > 1.0:
        session.notes.append(
            f"forecasts were worse than the last value, by {100 * (scaled - 1):.3g}% for the usual"
            " key; look at the worst keys, tell --season, or take the last value"
        )
    if blank := found["valueless_keys"]:
        session.notes.append(
            f"{blank:,} of {found['keys']:,} keys have no value yet, and no forecast; fill in"
            f" {o.target!r}, or drop their rows"
        )
    if repeated:
        session.notes.append(
            f"{repeated:,} rows were of a slot in which their key had a later row, which counts;"
            " add them up first if they are parts of a sum"
            + (f"; {SET_BACK}" if _local_hours(plan, intake) else "")
        )
    return {
        **head,
        "complete": True,
        "rows": intake.rows,
        **found,
        "coverage": {"asked": o.coverage, "achieved": covered},
        "horizon": plan.horizon,
        "season": list(plan.season),
        "season_source": plan.source,
        "gap": plan.gap if plan.timed else None,
        "gap_unit": unit(plan.gap) if plan.dated else None,
        "empty": empty,
        "repeated": repeated,
        "rejected": {"rows": sum(reasons.values()), "reasons": reasons},
        "parts": len(results),
        "bytes_per_key": max(result["bytes"] for result in results),
        "peak_memory": peak_memory() if o.engine == "local" else None,
        "seconds": session.seconds,
        "rows_per_second": rate,
        "files": folders,
    }


def _local_hours(plan: Plan, intake: Counted) -> bool:
    """Whether slots are so short, and times such, that some come twice when clocks go back."""
    return plan.dated and plan.gap <= _HOUR and not intake.zoned


def peak_memory() -> int | None:
    """Return the most bytes that this process has held; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def show(summary: dict[str, Any]) -> None:
    """Show a summary on the terminal."""
    from rich.table import Table

    scored, asked = summary["scored"], summary["coverage"]["asked"]
    season = ", ".join(f"{m:g}" for m in summary["season"]) or "none"
    tell(
        f"{summary['target']}: {summary['rows']:,} rows of {summary['keys']:,} keys, forecast"
        f" {summary['horizon']} ahead; seasons: {season} ({summary['season_source']})"
    )
    table = Table(title=f"{scored['rounds']:,} rounds of {scored['keys']:,} keys")
    for i, head in enumerate(("forecast", "rmse", "mae", "of last value", "best for keys")):
        table.add_column(head, justify="right" if i else "left")
    for name, error in summary["errors"].items():
        table.add_row(
            name,
            _number(error["rmse"]),
            _number(error["mae"]),
            "–" if error["scaled"] is None else f"{error['scaled']:.3f}",
            "–" if error["best_of_keys"] is None else f"{100 * error['best_of_keys']:.1f}%",
        )
    console().print(table)
    tell(f"errors are of {scored['what']}; of last value: by key, the geometric mean")
    if summary["coverage"]["achieved"] is not None:
        reached = 100 * summary["coverage"]["achieved"]
        tell(f"coverage {reached:.2f}% of the next round for {100 * asked:g}% asked")
    if "alerts" in summary:
        tell(in_words(summary["alerts"]))
    for one in summary["worst"][:_SHOWN]:
        if one["ratio"] > 1.0:
            tell(f"  key {one['key']}: {one['ratio']:.3g} times the error of its simple forecast")
    for reason, rows in summary["rejected"]["reasons"].items():
        tell(f"rejected: {rows:,} {'row' if rows == 1 else 'rows'}, because {reason}")
    rate, memory = summary["rows_per_second"], summary["peak_memory"]
    told = [f"{summary['bytes_per_key']:,} bytes a key"]
    told += [f"{rate:,.0f} rows a second"] if rate else []
    told += [f"{memory / 2**20:,.0f} MiB of memory at most"] if memory else []
    tell("; ".join(told))


def _number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.6g}"
