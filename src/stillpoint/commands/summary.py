"""Summaries: JSON for files, tables for the terminal."""

import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.commands.errors import say
from stillpoint.core.container import replace
from stillpoint.core.terminal import console, tell, tell_json

if TYPE_CHECKING:
    from stillpoint.commands.engine import Engine
    from stillpoint.commands.history import History
    from stillpoint.core.validation import Array

SUMMARY = "summary.json"
OURS = "stillpoint"  # what the package's own forecasts are called


def readable(path: str) -> str:
    """Return a path as text that can be written, also where its bytes are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def write_summary(out: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """Write summary.json; return what it holds."""
    result: dict[str, Any] = plain(summary)
    replace(out / SUMMARY, (_text(result) + "\n").encode())
    return result


def read_summary(out: Path) -> dict[str, Any] | None:
    """Return what summary.json holds; None where it is no longer JSON."""
    with suppress(ValueError):
        before: dict[str, Any] = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
        return before
    return None


def answer(
    summary: dict[str, Any],
    out: Path,
    show: Callable[[dict[str, Any]], None],
    notes: Sequence[str] = (),
    *,
    print_json: bool,
    quiet: bool,
) -> None:
    """Tell what a run came to: notes, then JSON or a table, or nothing."""
    for note in notes:
        say(f"note: {note}", 0)
    if print_json:
        tell_json(_text(summary))
    elif not quiet:
        show(summary)
        tell(f"wrote {', '.join(str(out / name) for name in summary['files'])}")


def _text(summary: dict[str, Any]) -> str:
    return json.dumps(summary, indent=2, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return JSON without infinities: null stands for them, and "not_finite" says where."""
    gone: list[str] = []

    def walk(item: Any, name: str) -> Any:
        if isinstance(item, dict):
            return {
                key: walk(inner, f"{name}.{key}" if name else str(key))
                for key, inner in item.items()
            }
        if isinstance(item, list | tuple):
            return [walk(inner, f"{name}[{i}]") for i, inner in enumerate(item)]
        if isinstance(item, np.generic):
            item = item.item()
        if isinstance(item, float) and not math.isfinite(item):
            gone.append(name)
            return None
        return item

    result = walk(value, "")
    return {**result, "not_finite": gone} if gone else result


def figures(engine: "Engine", history: "History") -> dict[str, Any]:
    """Return losses, coverage, certificates and weights of a run of `track`."""
    from stillpoint.commands._rows import BUCKET
    from stillpoint.intervals import QuantileTracker
    from stillpoint.intervals._experts import MEMORIES, SCALED, SIGNED, STEPS

    rows = engine.loss_rows
    loss = {
        name: history.total(len(BUCKET) + j) / rows if rows else None
        for j, name in enumerate(engine.names)
    }
    result: dict[str, Any] = {
        "loss_name": engine.loss_name,
        "loss": loss,
        "loss_rows": engine.loss_rows,
    }
    # promises are about targets learnt at once
    promised = engine.part.certificate() if engine.delay == 0 else {}
    own = float(rows) if engine.part.relative else history.total(len(BUCKET))
    # more than was lost at all says nothing
    certificate = {label: value for label, value in promised.items() if value < own}
    if engine.delay:
        what = "none about losses" if engine.promises else "none"
        result["certificate_note"] = (
            f"{what}: the promises are for targets learnt at once, not {engine.delay} rows later"
        )
    elif len(certificate) < len(promised):
        beyond = "; ".join(
            f"{label} {value:.4g}" for label, value in promised.items() if value >= own
        )
        result["certificate_note"] = (
            f"nothing yet where a bound is above all that was lost, {own:.4g} ({beyond})"
        )
    if engine.band is not None:
        result["coverage"] = _coverage(engine, history)
        if "most_misses" in result["coverage"]:
            least, most = engine.band.miss_bound()
            certificate |= {"misses at least": float(least), "misses at most": float(most)}
    result["certificate"] = certificate
    result["weights"] = _by_name(engine.part.labels, engine.part.weights())
    if engine.band is not None:
        steps = SIGNED if isinstance(engine.band, QuantileTracker) else STEPS
        labels = [f"memory {n:g}" for n in MEMORIES] + [f"step {step:g}" for step in steps[SCALED:]]
        result["interval_weights"] = _by_name(labels, engine.band.weights)
    return result


def _by_name(labels: Sequence[str], weights: "Array") -> dict[str, float]:
    """Weights of experts by name."""
    pairs = zip(labels, weights, strict=True)
    return {label: float(value) for label, value in pairs if math.isfinite(value)}


def _coverage(engine: "Engine", history: "History") -> dict[str, Any]:
    from stillpoint.commands._rows import BUCKET

    band, result = engine.band, {"target": engine.target_share}
    assert band is not None
    scored, covered = history.total(BUCKET.scored), history.total(BUCKET.covered)
    misses = scored - covered
    # the tracker's own count, which its theorem is about: a quantile's leaves out the first target
    if engine.promises:
        scored, misses = float(band.seen), float(band.misses)
        least, most = band.miss_bound()
        if most < scored:  # at first it could be all of them
            result |= {"least_misses": least, "most_misses": most}
    result |= {
        "scored": int(scored),
        "misses": int(misses),
        "achieved": 1.0 - misses / scored if scored else None,
    }
    number = history.total(BUCKET.width_count)
    if engine.task != "quantile":
        result["mean_width"] = history.total(BUCKET.width) / number if number else None
    return result


def show_track(summary: dict[str, Any]) -> None:
    """Show what `track` came to."""
    from rich.table import Table

    name, loss = summary["loss_name"], summary["loss"]
    series = "horizon" in summary and summary["task"] != "quantile"
    rows = "1 row" if summary["rows"] == 1 else f"{summary['rows']:,} rows"
    what = "forecast as a series" if series else summary["task"]
    table = Table(title=f"{summary['target']}: {rows}, {what}")
    for i, head in enumerate(("forecaster", f"mean {name}", "ours is less by")):
        table.add_column(head, justify="right" if i else "left")
    for who, value in loss.items():
        ours = loss[OURS]
        saved = (
            ""
            if who == OURS or value is None or ours is None or value <= 0.0
            else f"{100.0 * (1.0 - ours / value):.1f}%"
        )
        table.add_row(who, "–" if value is None else f"{value:.6g}", saved)
    console().print(table)
    coverage = summary.get("coverage")
    if coverage and coverage["achieved"] is not None:
        text = f"coverage {100 * coverage['achieved']:.2f}% for {100 * coverage['target']:g}% asked"
        if coverage.get("mean_width") is not None:
            text += f", mean width {coverage['mean_width']:.6g}"
        if "most_misses" in coverage:
            least, most = coverage["least_misses"], coverage["most_misses"]
            text += (
                f"; {coverage['misses']:,} outside, certified {math.ceil(least):,} to"
                f" {math.floor(most):,}"
            )
        tell(text)
    if "alerts" in summary:
        tell(_alerts(summary["alerts"]))
    for label, value in summary["certificate"].items():
        if not label.startswith("misses"):
            told = "infinite" if value is None else f"{value:,.4g}"
            tell(f"{label}: {told}")
    if "1" in summary.get("labels", {}):
        tell(f"forecasts are probabilities of {summary['labels']['1']!r}")
    rate = summary.get("rows_per_second")
    if rate:
        tell(f"{rate:,.0f} rows a second")


def show_fleet(summary: dict[str, Any]) -> None:
    """Show what `fleet` came to."""
    from rich.table import Table

    name = summary["loss_name"]
    tell(
        f"{summary['target']}: {summary['rows']:,} rows of {summary['keys']:,} keys,"
        f" {summary['learner']}"
    )
    table = Table()
    for i, head in enumerate(
        (
            "worst keys",
            "targets",
            f"mean {name}" if name != "misses" else "share of misses",
            "rejected",
        )
    ):
        table.add_column(head, justify="right" if i else "left")
    for row in summary["worst"]:
        table.add_row(
            str(row["key"]), f"{row['targets']:,}", f"{row['loss']:.6g}", f"{row['rejected']:,}"
        )
    loss = "–" if summary["loss"] is None else f"{summary['loss']:.6g}"
    table.add_section()
    table.add_row("all keys", f"{summary['targets']:,}", loss, f"{summary['rejected']['rows']:,}")
    console().print(table)
    coverage = summary.get("coverage")
    if coverage and coverage["achieved"] is not None:
        text = f"coverage {100 * coverage['achieved']:.2f}% for {100 * coverage['asked']:g}% asked"
        tell(text)
    for reason, rows in summary["rejected"]["reasons"].items():
        tell(f"rejected: {_rows(rows)}, because {reason}")
    for row in summary["rejected"]["keys"][:3]:
        tell(f"  key {row['key']}: {_rows(row['rows'])}")
    rate = summary.get("rows_per_second")
    if rate:
        tell(f"{rate:,.0f} rows a second")


def _alerts(found: dict[str, Any]) -> str:
    """What was told on the way."""
    rows, changes = found["anomalies"], found["changes"]
    unusual = "1 unusual row" if rows == 1 else f"{rows:,} unusual rows"
    moved = "1 change" if changes == 1 else f"{changes:,} changes"
    most = math.floor(found["bound"])
    return (
        f"alerts: {unusual}, at most {most:,} on any data; {moved}, a false one in"
        f" {found['every']:,.0f} rows or more"
    )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
