"""What a run came to: a summary for JSON and the report, and a table for the terminal."""

import math
from typing import Any

import numpy as np

from stillpoint.commands import _rows
from stillpoint.commands.engine import OURS, Engine, expert_weights
from stillpoint.commands.history import History
from stillpoint.core.terminal import console, tell
from stillpoint.intervals import QuantileTracker
from stillpoint.intervals._experts import MEMORIES, SCALED, SIGNED, STEPS


def figures(engine: Engine, history: History) -> dict[str, Any]:
    """Losses, coverage, certificates and weights of a run."""
    rows = engine.loss_rows
    loss = {
        name: history.total(_rows.FIELDS + j) / rows if rows else None
        for j, name in enumerate(engine.names)
    }
    result: dict[str, Any] = {
        "loss_name": engine.loss_name,
        "loss": loss,
        "loss_rows": engine.loss_rows,
    }
    # promises are about targets learnt at once
    promised = engine.part.certificate() if engine.delay == 0 else {}
    own = float(rows) if engine.part.relative else history.total(_rows.FIELDS)
    # more than was lost at all says nothing
    certificate = {label: value for label, value in promised.items() if value < own}
    if engine.delay:
        result["certificate_note"] = (
            f"none: the promises are for targets learnt at once, not {engine.delay} rows later"
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
    result["weights"] = expert_weights(engine.part.labels, engine.part.weights())
    if engine.band is not None:
        steps = SIGNED if isinstance(engine.band, QuantileTracker) else STEPS
        labels = [f"memory {n:g}" for n in MEMORIES] + [f"step {step:g}" for step in steps[SCALED:]]
        result["interval_weights"] = expert_weights(labels, engine.band.weights)
    return result


def _coverage(engine: Engine, history: History) -> dict[str, Any]:
    band, result = engine.band, {"target": engine.target_share}
    assert band is not None
    scored, covered = history.total(_rows.SCORED), history.total(_rows.COVERED)
    misses = scored - covered
    # the tracker's own account, which its theorem is about: a quantile's leaves out the first
    # target
    if engine.delay == 0:
        scored, misses = float(band.seen), float(band.misses)
        least, most = band.miss_bound()
        if most < scored:  # at first it could be all of them
            result |= {"least_misses": least, "most_misses": most}
    result |= {
        "scored": int(scored),
        "misses": int(misses),
        "achieved": 1.0 - misses / scored if scored else None,
    }
    number = history.total(_rows.WIDTH_COUNT)
    if engine.task != "quantile":
        result["mean_width"] = history.total(_rows.WIDTH) / number if number else None
    return result


def plain(value: Any) -> Any:
    """JSON without infinities: null stands for a number that is not finite, and "not_finite" says
    which they are.
    """
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


def show(summary: dict[str, Any]) -> None:
    """The table on the terminal."""
    from rich.table import Table

    name, loss = summary["loss_name"], summary["loss"]
    table = Table(title=f"{summary['target']}: {summary['rows']:,} rows, {summary['task']}")
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
    for label, value in summary["certificate"].items():
        if not label.startswith("misses"):
            told = "infinite" if value is None else f"{value:,.4g}"
            tell(f"{label}: {told}")
    if "1" in summary.get("labels", {}):
        tell(f"forecasts are probabilities of {summary['labels']['1']!r}")
    rate = summary.get("rows_per_second")
    if rate:
        tell(f"{rate:,.0f} rows a second")
