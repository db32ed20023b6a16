"""A run in buckets of consecutive rows, as the report page is drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, real

Columns = dict[str, Array]
_LAST = 512  # rows that are kept one by one


class History(Protocol):
    """A run in buckets of consecutive rows; `write_page` lists the columns."""

    expert_labels: list[str]
    loss_name: str
    task: str

    def columns(self) -> Columns:
        """Arrays of one value a bucket."""


@dataclass
class ArrayHistory:
    """A `History` held in memory."""

    expert_labels: list[str]
    loss_name: str
    task: str
    data: Columns
    last: Columns = field(default_factory=dict)

    def columns(self) -> Columns:
        """Arrays of one value a bucket."""
        return self.data

    def recent(self) -> Columns:
        """Arrays of one value a row, of the last rows."""
        return self.last


def history_from_arrays(
    y: ArrayLike,
    forecast: ArrayLike | None = None,
    lo: ArrayLike | None = None,
    hi: ArrayLike | None = None,
    losses: Mapping[str, ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    *,
    time: ArrayLike | None = None,
    expert_labels: Sequence[str] = (),
    loss_name: str = "loss",
    task: str = "regression",
    buckets: int = 2000,
) -> ArrayHistory:
    """Gather arrays of T rows in buckets.

    Parameters
    ----------
    y : array of shape (T,)
        Targets, NaN where missing.
    forecast, lo, hi : arrays of shape (T,), optional
        Forecasts, and the ends of intervals.
    losses : mapping from names to arrays of shape (T,), optional
        Losses; ours is "stillpoint", a known truth's "truth".
    weights : array of shape (T, experts), optional
        Weights of the experts, which `expert_labels` names.
    time : array of shape (T,), optional
        When each row was.
    loss_name, task : str
        What the page calls them.
    buckets : int, default 2000
        How many buckets at most.
    """
    target = _rows("y", y)
    T = target.size
    B = min(max(1, int(buckets)), T)
    starts = np.arange(B, dtype=np.int64) * T // max(B, 1)
    data: Columns = {"row": starts.astype(float), "rows": np.diff(starts, append=T).astype(float)}
    known = np.isfinite(target).astype(float)
    data["targets"] = np.add.reduceat(known, starts) if B else np.zeros(0)
    if time is not None:
        data["time"] = _rows("time", time, T)[starts]
    data["y_min"] = _reduce(np.minimum, target, starts, np.inf)
    data["y_max"] = _reduce(np.maximum, target, starts, -np.inf)
    data["y_mean"] = _mean(target, starts)
    if forecast is not None:
        data["forecast"] = _mean(_rows("forecast", forecast, T), starts)
    if lo is not None and hi is not None:
        low, high = _rows("lo", lo, T), _rows("hi", hi, T)
        scored = np.isfinite(target) & ~np.isnan(low) & ~np.isnan(high)
        data["lo"], data["hi"], data["width"] = (
            _mean(value, starts) for value in (low, high, _width(low, high))
        )
        data["scored"] = np.add.reduceat(scored.astype(float), starts) if B else np.zeros(0)
        inside = scored & (low <= target) & (target <= high)
        data["covered"] = np.add.reduceat(inside.astype(float), starts) if B else np.zeros(0)
    for name, values in (losses or {}).items():
        loss = _rows("losses", values, T)
        data[f"loss:{name}"] = (
            np.add.reduceat(np.where(np.isnan(loss), 0.0, loss), starts) if B else np.zeros(0)
        )
    shares = (
        np.zeros((T, 0))
        if weights is None
        else real("weights", weights, "give shape (rows, experts)")
    )
    if shares.ndim != 2 or len(shares) != T:
        raise ValueError(
            f"weights must have shape ({T}, experts): got {shares.shape}; give one row a round"
        )
    for k in range(shares.shape[1]):
        data[f"weight:{k}"] = _mean(shares[:, k], starts)
    labels = [str(label) for label in expert_labels] or [
        f"expert {k + 1}" for k in range(shares.shape[1])
    ]
    if len(labels) != shares.shape[1]:
        raise ValueError(
            f"expert_labels must be {shares.shape[1]} names: got {len(labels)}; give one a column"
            " of weights"
        )
    rows = {"y": y, "time": time, "forecast": forecast, "lo": lo, "hi": hi}
    last = {k: _rows(k, values, T)[-_LAST:] for k, values in rows.items() if values is not None}
    last["row"] = np.arange(T, dtype=float)[-_LAST:]
    return ArrayHistory(labels, loss_name, task, data, last)


def _rows(name: str, value: ArrayLike, rows: int | None = None) -> Array:
    result = real(name, value, "give one number a row")
    if result.ndim != 1 or rows not in (None, result.size):
        raise ValueError(
            f"{name} must have shape ({'rows' if rows is None else rows},): got {result.shape};"
            " give one value a row"
        )
    return result


def _width(low: Array, high: Array) -> Array:
    with np.errstate(invalid="ignore"):
        width: Array = np.maximum(high - low, 0.0)  # the empty set, lo > hi, is 0 wide
    return width


def _mean(values: Array, starts: Any) -> Array:
    """Mean of the finite values of each bucket; NaN where there is none."""
    if not starts.size:
        return np.zeros(0)
    good = np.isfinite(values)
    count = np.add.reduceat(good.astype(float), starts)
    total = np.add.reduceat(np.where(good, values, 0.0), starts)
    mean: Array = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    return mean


def _reduce(rule: np.ufunc, values: Array, starts: Any, start: float) -> Array:
    if not starts.size:
        return np.zeros(0)
    result: Array = rule.reduceat(np.where(np.isfinite(values), values, start), starts)
    result[~np.isfinite(result)] = np.nan
    return result


def cleaned(history: History, scored: bool = True) -> Columns:
    """The history's columns as float arrays of one length, infinities as NaN: no chart has either.

    scored: whether any forecast was held against a target; if not, losses of 0 would read as no
    error and are left out.
    """
    given = {
        name: values
        for name, values in history.columns().items()
        if scored or not name.startswith("loss:")
    }
    columns = {name: np.array(values, dtype=float).ravel() for name, values in given.items()}
    size = len(columns.get("row", next(iter(columns.values()), np.zeros(0))))
    columns = {
        name: np.where(np.isfinite(v), v, np.nan) for name, v in columns.items() if v.size == size
    }
    columns.setdefault("rows", np.ones(size))
    columns.setdefault("row", np.cumsum(columns["rows"]) - columns["rows"])
    return columns
