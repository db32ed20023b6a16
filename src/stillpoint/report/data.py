"""Curves that the report page draws, from a run in buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.intervals.base import promise
from stillpoint.report.history import Columns

OURS, TRUTH = "stillpoint", "truth"
_STEADY = 0.2  # the share of weight that has to move before it is called a change


def losses(columns: Columns) -> Columns:
    """Sums of losses a bucket by name, ours first, the truth last."""
    found = {name.partition(":")[2]: v for name, v in columns.items() if name.startswith("loss:")}
    return dict(sorted(found.items(), key=lambda item: (item[0] == TRUTH, item[0] != OURS)))


def weights(columns: Columns) -> Array:
    """Mean weights, (experts, buckets)."""
    count = 0
    while f"weight:{count}" in columns:
        count += 1
    rows = [np.nan_to_num(columns[f"weight:{k}"]) for k in range(count)]
    return np.array(rows).reshape(count, len(columns["row"]))


def drift_of_misses(columns: Columns, coverage: Mapping[str, Any]) -> Columns:
    """D = misses − αT by bucket, and the theorem's band if it is what this run was promised."""
    share = coverage.get("target")
    if (
        "scored" not in columns
        or "covered" not in columns
        or share is None
        or not 0.0 < share < 1.0
    ):
        return {}
    seen = np.cumsum(np.nan_to_num(columns["scored"]))
    if not seen.size or seen[-1] == 0:
        return {}
    alpha, T = 1.0 - share, seen[-1]
    result = {
        "excess": np.cumsum(np.nan_to_num(columns["scored"] - columns["covered"])) - alpha * seen
    }
    most, least = coverage.get("most_misses"), coverage.get("least_misses")
    # with a radius a side, each side keeps its own promise at α/2 and misses add up
    for sides in (1, 2):
        low, high = (sides * misses for misses in promise(1.0 - alpha / sides, seen))
        if most is not None and abs(min(high[-1], T) - most) < 1.5:
            result["at most"] = high - alpha * seen
            if sides == 1 and (least is None or least > 0.0):
                result["at least"] = low - alpha * seen
            break
    return result


def coverage_in_windows(columns: Columns) -> tuple[Array, int]:
    """Share covered in the last W scored rows, and W; empty for runs too short to have windows."""
    if "scored" not in columns or "covered" not in columns:
        return np.zeros(0), 0
    found, window = _windows(np.nan_to_num(columns["scored"]), [columns["covered"]])
    return (found[0], window) if window else (np.zeros(0), 0)


def losses_in_windows(columns: Columns) -> tuple[Columns, int]:
    """Mean losses of the last W rows with a target by name, and W; empty for runs too short."""
    known = losses(columns)
    found, window = _windows(targets(columns), list(known.values()))
    return (dict(zip(known, found, strict=True)), window) if window else ({}, 0)


def targets(columns: Columns) -> Array:
    """How many rows of each bucket have a target; all, where that is not told."""
    return np.nan_to_num(columns.get("targets", columns["rows"]))


def _windows(rows: Array, sums: list[Array]) -> tuple[list[Array], int]:
    """Means over the last W rows of what has these sums a bucket, and W."""
    seen = np.concatenate([[0.0], np.cumsum(rows)])
    if seen[-1] < 100:
        return [], 0
    window = int(max(50, _round_figure(seen[-1] / 30.0)))
    first = np.searchsorted(seen, seen[1:] - window, side="right") - 1
    full = first >= 0
    first = np.maximum(first, 0)
    count = seen[1:] - seen[first]
    found = []
    for values in sums:
        held = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values))])
        empty = np.full(len(count), np.nan)
        found.append(np.divide(held[1:] - held[first], count, out=empty, where=full & (count > 0)))
    return found, window


def _round_figure(value: float) -> float:
    base: float = 10.0 ** np.floor(np.log10(value))
    return max(m * base for m in (1.0, 2.0, 5.0) if m * base <= value * 1.001)


@dataclass(frozen=True)
class Change:
    """Where most weight moved within a short time: from which label to which, and what share."""

    bucket: int
    left: str
    joined: str
    share: float


def largest_change(columns: Columns, labels: Sequence[str]) -> Change | None:
    """The largest move of weight between neighbouring windows.

    The first tenth, in which weights merely settle, does not count.
    """
    table = weights(columns)
    B = table.shape[1]
    if len(table) < 2 or B < 20:
        return None
    window = max(3, B // 40)
    sums = np.concatenate([np.zeros((len(table), 1)), np.cumsum(table, axis=1)], axis=1)
    # means[:, b] covers buckets b … b + window − 1
    means = (sums[:, window:] - sums[:, :-window]) / window
    first = max(0, B // 10 - window)
    moves = means[:, first + window :] - means[:, first:-window]
    if not moves.shape[1]:
        return None
    sizes = 0.5 * np.abs(moves).sum(axis=0)
    best = int(sizes.argmax())
    if sizes[best] < _STEADY:
        return None
    name = [str(labels[k]) if k < len(labels) else f"expert {k + 1}" for k in range(len(table))]
    move = moves[:, best]
    return Change(
        first + window + best,
        name[int(move.argmin())],
        name[int(move.argmax())],
        float(sizes[best]),
    )


def hardest_stretch(columns: Columns) -> tuple[int, float] | None:
    """The bucket of our largest loss in the stretch whose mean loss was largest, and how many times
    its median that mean was.

    None if it never stood out.
    """
    ours, rows = columns.get(f"loss:{OURS}"), targets(columns)
    if ours is None or len(ours) < 40:
        return None
    window = max(3, len(ours) // 40)
    kernel = np.ones(window)
    count = np.convolve(rows, kernel, "valid")
    local = np.divide(
        np.convolve(np.nan_to_num(ours), kernel, "valid"),
        count,
        out=np.zeros(len(count)),
        where=count > 0,
    )
    first = len(ours) // 10
    usual = float(np.median(local[first:]))
    best = first + int(local[first:].argmax())
    if usual <= 0.0 or local[best] <= 1.5 * usual:
        return None
    inside = slice(best, best + window)  # a single row far off is in every stretch around it
    each = np.nan_to_num(ours[inside]) / np.maximum(rows[inside], 1.0)
    return best + int(each.argmax()), float(local[best] / usual)


def certificate_curve(columns: Columns, summary: Mapping[str, Any]) -> Columns:
    """The certificate over time, "bound" and "measured", at the last row of each bucket."""
    inside = summary.get("certificate")
    given = summary.get("certificate_curve") or (
        inside.get("certificate_curve") if isinstance(inside, Mapping) else None
    )
    if not isinstance(given, Mapping):
        return {}
    curves = {
        name: np.array(given[name], dtype=float).ravel()
        for name in ("bound", "measured")
        if given.get(name) is not None
    }
    at = np.array(given.get("row", columns["row"]), dtype=float).ravel()
    ends = columns["row"] + columns["rows"] - 1.0
    curves = {
        name: v for name, v in curves.items() if v.size == at.size > 0 and np.isfinite(v).any()
    }
    if "bound" not in curves:
        return {}
    good = {name: np.isfinite(v) for name, v in curves.items()}
    return {
        name: np.interp(ends, at[good[name]], v[good[name]], left=np.nan)
        for name, v in curves.items()
    }
