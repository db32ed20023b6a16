"""What the seeds of one learner on one stream come to; and numbers as CSV."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stillpoint.lab.comparison.cell import CurveRow


@dataclass(frozen=True)
class Summary:
    """A learner on a stream at one horizon: means over the seeds that did not fail, and spreads.

    Parameters
    ----------
    learner, stream, horizon
        Names, and T.
    told
        What the learner is told.
    seeds, failed
        How many seeds there are, and how many of them failed.
    regret, loss, adaptive, switching, us
        Regret, total loss, regret on the worst interval, Σ‖w_t − w_{t−1}‖ and the median of µs a
        round; None where no seed has one.
    regret_sd, loss_sd, adaptive_sd, switching_sd
        Standard deviations over seeds; 0 for one seed.
    """

    learner: str
    told: str
    stream: str
    horizon: int
    seeds: int
    failed: int
    regret: float | None
    regret_sd: float | None
    loss: float | None
    loss_sd: float | None
    adaptive: float | None
    adaptive_sd: float | None
    switching: float | None
    switching_sd: float | None
    us: float | None


def summarise(rows: Sequence[CurveRow], told: str) -> Summary:
    """Sum up the seeds of one learner, stream and horizon."""
    first, played = rows[0], [row for row in rows if not row.error]
    numbers: dict[str, float | None] = {}
    for name in ("regret", "loss", "adaptive", "switching"):
        values = [value for row in played if (value := getattr(row, name)) is not None]
        numbers[name] = float(np.mean(values)) if values else None
        numbers[f"{name}_sd"] = _spread(values)
    times = [row.us for row in played]
    return Summary(
        first.learner,
        told,
        first.stream,
        first.horizon,
        seeds=len(rows),
        failed=len(rows) - len(played),
        **numbers,
        us=float(np.median(times)) if times else None,
    )


def _spread(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """Write a table as CSV; returns the file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path
