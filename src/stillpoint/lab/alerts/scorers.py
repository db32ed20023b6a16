"""Detectors of anomalies: ours, a z-score over a rolling window, and river's behind its filters."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import norm

from stillpoint.alerts import Anomalies
from stillpoint.core.array import Array
from stillpoint.lab.alerts.anomalies import Flags, Scorer
from stillpoint.lab.alerts.peers import OURS, RIVER

WINDOW = 100  # rows of the z-score


class Ours:
    """`sp.Anomalies` with its own forecaster; flagged are rows with p ≤ rate."""

    def __init__(self, rate: float) -> None:
        self._rate, self._detector = rate, Anomalies(rate)

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        flags: Flags = self._detector.track(y)[0] <= self._rate
        return flags

    def ask(self, y: float) -> bool:
        """Whether the next row would be flagged."""
        return self._detector.score(y) <= self._rate


class Rolling:
    """|y − mean| over the standard deviation of the 100 rows before, beyond a normal's quantile.

    Flagged at |z| ≥ Φ⁻¹(1 − rate/2), once there are 100 rows; nothing is flagged where they are all
    equal.
    """

    def __init__(self, rate: float) -> None:
        self._most = float(norm.isf(rate / 2.0))
        self._last = np.empty(0)

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        rows = np.concatenate([self._last, y])
        flags = np.zeros(y.size, dtype=np.bool_)
        if rows.size > WINDOW:
            windows = np.lib.stride_tricks.sliding_window_view(rows, WINDOW)[:-1]
            last = rows[WINDOW:]
            flags[y.size - last.size :] = self._far(last, windows.mean(axis=1), windows.std(axis=1))
        self._last = rows[-WINDOW:]
        return flags

    def ask(self, y: float) -> bool:
        """Whether the next row would be flagged."""
        if self._last.size < WINDOW:
            return False
        return bool(self._far(np.array(y), self._last.mean(), self._last.std()))

    def _far(self, y: Array, mean: Any, deviation: Any) -> Flags:
        far: Flags = np.abs(y - mean) > self._most * deviation
        return far & (deviation > 0.0)


class River:
    """A scorer of river behind one of its filters, and a scaler before it if it needs one.

    In each row: score, compare with the filter's threshold so far, learn. The filter keeps flagged
    rows from the scorer, as shipped.

    Parameters
    ----------
    supervised
        Whether it takes the row as a target instead of a feature.
    """

    def __init__(self, model: Any, scaler: Any = None, *, supervised: bool = False) -> None:
        self._filter, self._scaler, self._supervised = model, scaler, supervised

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        flags = np.zeros(y.size, dtype=np.bool_)
        for t, value in enumerate(y.tolist()):
            row = self._row(value)
            flags[t] = self._filter.classify(self._filter.score_one(*row))
            # as its pipelines do it: a scaler learns before what is behind it
            if self._scaler is not None:
                self._scaler.learn_one({"y": value})
                row = self._row(value)
            self._filter.learn_one(*row)
        return flags

    def ask(self, y: float) -> bool:
        """Whether the next row would be flagged."""
        return bool(self._filter.classify(self._filter.score_one(*self._row(y))))

    def _row(self, value: float) -> tuple[Any, ...]:
        if self._supervised:
            return None, value
        x = {"y": value}
        return (x if self._scaler is None else self._scaler.transform_one(x),)


@dataclass(frozen=True)
class Method:
    """A detector of anomalies; `make` builds it from rate and seed; the rest as for changes."""

    name: str
    make: Callable[[float, int], Scorer]
    package: str = ""
    share: float = 1.0


def _part(module: str, name: str) -> Any:
    return getattr(import_module(f"river.{module}"), name)


def _quantile(scorer: Any, rate: float) -> Any:
    return _part("anomaly", "QuantileFilter")(scorer, q=1.0 - rate)


def _gaussian(rate: float, seed: int) -> Scorer:
    return River(_quantile(_part("anomaly", "GaussianScorer")(), rate), supervised=True)


def _threshold(rate: float, seed: int) -> Scorer:
    scorer = _part("anomaly", "GaussianScorer")()
    model = _part("anomaly", "ThresholdFilter")(scorer, threshold=1.0 - rate)
    return River(model, supervised=True)


def _trees(rate: float, seed: int) -> Scorer:
    model = _quantile(_part("anomaly", "HalfSpaceTrees")(seed=seed), rate)
    return River(model, _part("preprocessing", "MinMaxScaler")())


def _machine(rate: float, seed: int) -> Scorer:
    model = _quantile(_part("anomaly", "OneClassSVM")(), rate)
    return River(model, _part("preprocessing", "StandardScaler")())


def scorers() -> list[Method]:
    """Ours, the rolling z-score, and river's at their defaults."""
    return [
        Method(OURS, lambda rate, seed: Ours(rate)),
        Method("rolling z-score", lambda rate, seed: Rolling(rate)),
        Method("GaussianScorer, ThresholdFilter", _threshold, RIVER),
        Method("GaussianScorer, QuantileFilter", _gaussian, RIVER),
        Method("HalfSpaceTrees, QuantileFilter", _trees, RIVER, share=0.2),
        Method("OneClassSVM, QuantileFilter", _machine, RIVER, share=0.5),
    ]
