"""The learners of a task: forecasts, intervals around them, and simple forecasts beside them."""

from abc import ABC, abstractmethod
from statistics import NormalDist
from typing import Any

import numpy as np

from stillpoint.commands import _rows
from stillpoint.commands._rows import Rule
from stillpoint.commands.encode import Rows
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.summary import OURS
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import Array, counted, stored, under
from stillpoint.forecasters import (
    TrackingForecaster,
    TrackingProbabilities,
    VariationForecaster,
    _linear,
    _logistic,
)
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.losses import Pinball

LAST, MEAN = "last value", "running mean"
_NONE: Array = np.zeros(0)


class Part(ABC):
    """A learner of the library on rows."""

    names: tuple[str, ...]  # of the baselines that come out of it
    labels: list[str]  # of its experts
    core: Any
    # whether certificates count average rows' errors, of which a run has as many as rows
    relative = False

    @abstractmethod
    def run(
        self, X: Array, y: Array, times: Array, first: int, delay: int
    ) -> tuple[Array, Array, Array]:
        """Forecast the rows from `first` on, and learn those before the last `delay`.

        Returns forecasts (T,), those of the baselines (names, T), and weights (T, labels).
        """

    @abstractmethod
    def certificate(self) -> dict[str, float]:
        """Return what the core promises about its loss so far."""

    @abstractmethod
    def weights(self) -> Array:
        """Return weights (labels,) in the coming round."""


class Linear(Part):
    """TrackingForecaster, beside its filter without drift."""

    relative = True

    def __init__(self, dim: int, level: float | None) -> None:
        loss = None if level is None else Pinball(level)
        self.core = TrackingForecaster(dim, loss=loss, missing=True)
        self.names = ("full-history RLS",)
        self.labels = _paces(100.0 * _linear.RATES**0.5, "%", " of noise")

    def run(
        self, X: Array, y: Array, times: Array, first: int, delay: int
    ) -> tuple[Array, Array, Array]:
        """See Part."""
        forecasts, still, shares = self.core._track(X, y, times, delay, first, True)
        return forecasts, still[None], shares

    def certificate(self) -> dict[str, float]:
        """Return what ML-Poly, which forecasts turn into, has lost to the best filter.

        That is the regret it keeps, in running mean losses.
        """
        regret = max(float(self.core._state.table[_linear.ROW.regret].max()), 0.0)
        return {"lost to the best of its drift settings, in average rows' error, at most": regret}

    def weights(self) -> Array:
        """See Part."""
        return np.array(self.core.weights)


class Logistic(Part):
    """TrackingProbabilities of two classes, beside its filter without drift."""

    def __init__(self, dim: int) -> None:
        self.core = TrackingProbabilities(dim, classes=2, missing=True)
        self.names = ("full-history logistic",)
        self.labels = _paces(_logistic.RATES**0.5, "", " log-odds")

    def run(
        self, X: Array, y: Array, times: Array, first: int, delay: int
    ) -> tuple[Array, Array, Array]:
        """See Part."""
        probabilities, still, shares = self.core._track(X, y, times, delay, first, True)
        return probabilities[:, 1].copy(), still[None], shares

    def certificate(self) -> dict[str, float]:
        """Return the bound on log loss, whatever the data."""
        return {"log loss more than the best read-out's, at most": float(self.core.bound())}

    def weights(self) -> Array:
        """See Part; the two read-outs of a filter count together."""
        return np.array(self.core.weights.reshape(2, -1).sum(axis=0))


class Series(Part):
    """VariationForecaster: a target and its times, nothing else."""

    def __init__(self) -> None:
        self.core = VariationForecaster()
        self.names, self.labels = (), ["mixture", "specialists"]

    def run(
        self, X: Array, y: Array, times: Array, first: int, delay: int
    ) -> tuple[Array, Array, Array]:
        """See Part; X is not read."""
        forecasts, mixture = self.core._track(y, times, delay, first)
        none = np.empty((0, forecasts.size))
        return forecasts, none, np.column_stack([mixture, 1.0 - mixture])

    def certificate(self) -> dict[str, float]:
        """Return twice the core's bounds, which are on half squares."""
        pieces = {"one constant": 1, "ten constants in turn": 10}
        return {
            f"squared error more than the best {name}'s, at most": 2.0 * self.core.bound(n)
            for name, n in pieces.items()
        }

    def weights(self) -> Array:
        """See Part."""
        weights = self.core.weights
        mixture = float(weights[0]) if weights.size else 1.0  # none before the first round
        return np.array([mixture, 1.0 - mixture])


class Engine:
    """All that learns, for a task; rows go in by `run`, in order, cut anywhere.

    Targets are learnt `delay` rows after their own; rows that wait are kept here.
    """

    def __init__(self, options: TrackOptions, dim: int, series: bool) -> None:
        self.task, self.delay, self.level = options.task, options.delay, options.shares.level
        self.series = series and self.task in ("regression", "interval")
        self.part: Part = Series() if self.series else self._tracking(dim)
        self.band: IntervalTracker | QuantileTracker | None = None
        self.target_share: float | None = None
        if self.task != "binary":
            self.target_share = self.level if self.task == "quantile" else options.shares.coverage
            self.band = (
                QuantileTracker(self.level)
                if self.task == "quantile"
                else IntervalTracker(options.shares.coverage, delay=self.delay)
            )
        self._rule = {"binary": Rule.LABELS, "quantile": Rule.QUANTILE}.get(self.task, Rule.NUMBERS)
        self._factor = NormalDist().inv_cdf(self.level)
        self._simple, self.loss_rows = np.zeros(5), 0
        third = "normal quantile" if self.task == "quantile" else MEAN
        self.names = [OURS, LAST, third, *self.part.names]
        named = {"binary": "log loss", "quantile": "pinball loss"}
        self.loss_name = named.get(self.task, "squared error")
        width = 1 if self.series else dim
        self._X, self._y, self._times, self._forecasts = np.zeros((0, width)), _NONE, _NONE, _NONE

    def _tracking(self, dim: int) -> Part:
        return (
            Logistic(dim)
            if self.task == "binary"
            else Linear(dim, self.level if self.task == "quantile" else None)
        )

    def run(self, rows: Rows, row: int) -> tuple[Array, Array, Array, Array, Array]:
        """Forecast and learn rows from number `row` on.

        Returns forecasts, lo and hi (T,), losses (names, T; 0 where none counts) and weights
        (T, labels).
        """
        runs = [self._piece(rows, row, *piece) for piece in rows.pieces]
        if len(runs) == 1:
            return runs[0]
        parts = list(zip(*runs, strict=True))
        return (
            *(np.concatenate(part) for part in parts[:3]),
            np.concatenate(parts[3], axis=1),
            np.concatenate(parts[4]),
        )  # type: ignore[return-value]

    def _piece(
        self, rows: Rows, row: int, start: int, stop: int, dim: int
    ) -> tuple[Array, Array, Array, Array, Array]:
        first, T = self._y.size, stop - start
        y = np.concatenate([self._y, rows.y[start:stop]])
        times = rows.times[start:stop]
        if self.series and np.isnan(times[0]):
            times = np.arange(row + start, row + stop, dtype=np.float64)
        times = np.concatenate([self._times, times])
        if self.series:
            X = np.zeros((y.size, 1))
        else:
            if dim > self.part.core.dim:
                self.part.core.grow(dim)
            waiting = np.zeros((first, dim))  # a category that joins later was not theirs
            waiting[:, : self._X.shape[1]] = self._X
            X = np.concatenate([waiting, rows.X[start:stop, :dim]])
        forecasts, others, shares = self.part.run(X, y, times, first, self.delay)
        simple, known = np.empty((2, T)), np.empty(T)
        _rows.simple_rows(
            y, first, self.delay, self._rule, self._factor, self._simple, simple, known
        )
        centres = np.concatenate([self._forecasts, forecasts])
        lo, hi = self._bands(centres, y, first)
        kept = max(y.size - self.delay, 0)
        self._X, self._y = X[kept:], y[kept:]
        self._times, self._forecasts = times[kept:], centres[kept:]
        losses = self._losses(np.vstack([forecasts, simple, others]), y[first:], known)
        return forecasts, lo, hi, losses, shares

    def _bands(self, centres: Array, y: Array, first: int) -> tuple[Array, Array]:
        T, band = y.size - first, self.band
        if band is None:
            return np.full(T, np.nan), np.full(T, np.nan)
        if isinstance(band, QuantileTracker):
            away = band.track(y - centres, delay=self.delay, first=first)
            return np.full(T, -np.inf), centres[first:] + away
        lo, hi = band.track(centres, y, delay=self.delay, first=first)
        return lo.copy(), hi.copy()  # compiled loops want them contiguous

    def _losses(self, forecasts: Array, y: Array, known: Array) -> Array:
        """Return losses (names, T).

        Numbers are scored once a target is known: until then a forecast of 0 says nothing.
        """
        if self.task == "binary":
            p = np.where(y == 1.0, forecasts, 1.0 - forecasts)
            losses: Array = -np.log(np.maximum(p, 1e-12))
        elif self.task == "quantile":
            away = y - forecasts
            losses = np.maximum(self.level * away, (self.level - 1.0) * away)
        else:
            losses = (y - forecasts) ** 2
        counts = ~np.isnan(y) if self.task == "binary" else ~np.isnan(y) & (known > 0.0)
        self.loss_rows += int(counts.sum())
        return np.ascontiguousarray(np.where(counts, losses, 0.0))

    @property
    def promises(self) -> bool:
        """Whether intervals or quantiles are made for targets as late as these."""
        return self.delay == (self.band.delay if isinstance(self.band, IntervalTracker) else 0)

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`; rows that wait for their targets are as they were read."""
        waiting = {f"waiting.{name}" for name in ("X", "y", "times", "forecasts")}
        return not_finite_in("core.", self.part.core) | not_finite_in("band.", self.band) | waiting

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving: arrays and numbers under names with a prefix."""
        state = {f"core.{name}": value for name, value in self.part.core.arrays().items()}
        if self.band is not None:
            state |= {f"band.{name}": value for name, value in self.band.arrays().items()}
        waiting = {"X": self._X, "y": self._y, "times": self._times, "forecasts": self._forecasts}
        state |= {f"waiting.{name}": value for name, value in waiting.items()}
        return {**state, "simple": self._simple, "loss_rows": self.loss_rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `arrays` returned."""
        self.part.core.restore(under(state, "core."))
        if self.band is not None:
            band = under(state, "band.")
            if isinstance(self.band, IntervalTracker) and self.delay and "counts" not in band:
                # of version 0.1: one tracker, looked at ahead of its targets
                self.band = IntervalTracker(self.band.coverage)
            self.band.restore(band)
        self._simple[:], self.loss_rows = state["simple"], int(state["loss_rows"])
        waiting = under(state, "waiting.")
        self._y = stored(waiting, "y", None)
        self._X = stored(waiting, "X", self._y.size, None)
        counted("X", self._X.shape[1], 1 if self.series else self.part.core.dim)
        self._times, self._forecasts = (
            stored(waiting, name, self._y.size) for name in ("times", "forecasts")
        )


def _paces(steps: Array, sign: str, unit: str) -> list[str]:
    """Name filters by the steps that they expect of (slopes, level) from row to row."""
    found = []
    for slope, level in steps.tolist():
        moving = [("all", slope)] if slope == level else [("slopes", slope), ("level", level)]
        text = ", ".join(f"{name} ±{step:g}{sign}" for name, step in moving if step)
        found.append(text + unit if text else "no drift")
    return found
