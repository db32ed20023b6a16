"""Detectors of anomalies: ours, a z-score over a rolling window, and river's behind its filters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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

    def __init__(self, rates: Sequence[float]) -> None:
        # p-values do not depend on the detector's rate, so one serves for all
        self._rates, self._detector = np.array(rates)[:, None], Anomalies(rates[0])

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        flags: Flags = self._detector.track(y)[0] <= self._rates
        return flags

    def ask(self, y: float) -> Flags:
        """Whether the next row would be flagged."""
        flags: Flags = self._detector.score(y) <= self._rates[:, 0]
        return flags


class Rolling:
    """|y − mean| over the standard deviation of the 100 rows before, beyond a normal's quantile.

    Flagged at |z| > Φ⁻¹(1 − rate/2), once there are 100 rows; nothing is flagged where they are all
    equal.
    """

    def __init__(self, rates: Sequence[float]) -> None:
        self._most = norm.isf(np.array(rates) / 2.0)[:, None]
        self._last = np.empty(0)

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        rows = np.concatenate([self._last, y])
        flags = np.zeros((self._most.size, y.size), dtype=np.bool_)
        if rows.size > WINDOW:
            windows = np.lib.stride_tricks.sliding_window_view(rows, WINDOW)[:-1]
            flags[:, y.size - windows.shape[0] :] = self._far(rows[WINDOW:], windows)
        self._last = rows[-WINDOW:]
        return flags

    def ask(self, y: float) -> Flags:
        """Whether the next row would be flagged."""
        if self._last.size < WINDOW:
            return np.zeros(self._most.size, dtype=np.bool_)
        return self._far(np.array([y]), self._last[None])[:, 0]

    def _far(self, y: Array, before: Array) -> Flags:
        """Whether rows are far from the windows before them."""
        deviation = before.std(axis=1)
        far: Flags = np.abs(y - before.mean(axis=1)) > self._most * deviation
        far &= deviation > 0.0
        return far


class River:
    """A scorer of river behind one of its filters, a pair a rate, and a scaler where it needs one.

    In each row: score, compare with the filter's threshold so far, learn. The filter keeps flagged
    rows from the scorer, as shipped.

    Parameters
    ----------
    filters
        One a rate.
    supervised
        Whether they take the row as a target instead of a feature.
    """

    def __init__(
        self, filters: Sequence[Any], scaler: Any = None, *, supervised: bool = False
    ) -> None:
        self._filters, self._scaler, self._supervised = filters, scaler, supervised

    def track(self, y: Array) -> Flags:
        """Take in the next rows."""
        flags = np.zeros((len(self._filters), y.size), dtype=np.bool_)
        for t, value in enumerate(y.tolist()):
            flags[:, t] = self.ask(value)
            # as in its pipelines: a scaler learns before what is behind it
            if self._scaler is not None:
                self._scaler.learn_one({"y": value})
            row = self._row(value)
            for each in self._filters:
                each.learn_one(*row)
        return flags

    def ask(self, y: float) -> Flags:
        """Whether the next row would be flagged."""
        row = self._row(y)
        return np.array([each.classify(each.score_one(*row)) for each in self._filters])

    def _row(self, value: float) -> tuple[Any, ...]:
        if self._supervised:
            return None, value
        x = {"y": value}
        return (x if self._scaler is None else self._scaler.transform_one(x),)


@dataclass(frozen=True)
class Method:
    """A detector of anomalies; `make` builds it from rates and seed; the rest as for changes."""

    name: str
    make: Callable[[Sequence[float], int], Scorer]
    package: str = ""
    share: float = 1.0


def _river(module: str, name: str) -> Any:
    return getattr(import_module(f"river.{module}"), name)


def _quantile(scorer: Callable[[], Any], rates: Sequence[float]) -> list[Any]:
    make = _river("anomaly", "QuantileFilter")
    return [make(scorer(), q=1.0 - rate) for rate in rates]


def _gaussian(rates: Sequence[float], seed: int) -> Scorer:
    return River(_quantile(_river("anomaly", "GaussianScorer"), rates), supervised=True)


def _threshold(rates: Sequence[float], seed: int) -> Scorer:
    scorer, make = _river("anomaly", "GaussianScorer"), _river("anomaly", "ThresholdFilter")
    return River([make(scorer(), threshold=1.0 - rate) for rate in rates], supervised=True)


def _trees(rates: Sequence[float], seed: int) -> Scorer:
    make = partial(_river("anomaly", "HalfSpaceTrees"), seed=seed)
    return River(_quantile(make, rates), _river("preprocessing", "MinMaxScaler")())


def _machine(rates: Sequence[float], seed: int) -> Scorer:
    filters = _quantile(_river("anomaly", "OneClassSVM"), rates)
    return River(filters, _river("preprocessing", "StandardScaler")())


def scorers() -> list[Method]:
    """Ours, the rolling z-score, and river's at their defaults."""
    return [
        Method(OURS, lambda rates, seed: Ours(rates)),
        Method("rolling z-score", lambda rates, seed: Rolling(rates)),
        Method("GaussianScorer, threshold", _threshold, RIVER),
        Method("GaussianScorer, quantile", _gaussian, RIVER),
        Method("HalfSpaceTrees, quantile", _trees, RIVER, share=0.2),
        Method("OneClassSVM, quantile", _machine, RIVER, share=0.5),
    ]
