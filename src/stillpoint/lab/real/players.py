"""Players: `predict(x)` before the target is known, then `learn(x, y)`.

Ours, what hindsight picks from, and the simplest.

A player forecasts a number, or an array of them, one a setting; a classifier probabilities
(classes,), or (settings, classes).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.forecasters import _linear as linear
from stillpoint.forecasters import _logistic as logistic
from stillpoint.forecasters.classification import TrackingProbabilities
from stillpoint.forecasters.regression import TrackingForecaster
from stillpoint.lab.real import _prequential
from stillpoint.lab.streams.real.base import BINARY, MULTICLASS, REGRESSION, RealStream

# of forgetting; 1 keeps all of the past
FACTORS = (0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0)
CLASSES = (BINARY, MULTICLASS)


class Player(Protocol):
    """Predict, then learn."""

    def predict(self, x: Array) -> Any:
        """The forecast of the coming round."""

    def learn(self, x: Array, y: Any) -> None:
        """What it turned out to be."""


@dataclass(frozen=True)
class Entrant:
    """A player yet to be built for a stream.

    Parameters
    ----------
    tasks
        Those it plays.
    needs
        What must be importable.
    settings
        Labels where it plays several at once; the best in hindsight is then marked *.
    plain
        The name under which the last setting, the one anybody could have run, is shown by itself.
    series
        Reads no features, so it plays only streams whose features are their own past and the clock.
    """

    name: str
    tasks: tuple[str, ...]
    build: Callable[[RealStream], Player]
    needs: str = ""
    settings: tuple[str, ...] = ()
    plain: str = ""
    series: bool = False


class Ours:
    """TrackingForecaster or TrackingProbabilities, whichever the task asks for."""

    def __init__(self, stream: RealStream) -> None:
        self._model: Any
        if stream.task == REGRESSION:
            self._model = TrackingForecaster(stream.dim)
        else:
            self._model = TrackingProbabilities(stream.dim, classes=len(stream.classes))

    def predict(self, x: Array) -> Any:
        """One number, or one probability per class."""
        return self._model.predict(x)

    def learn(self, x: Array, y: Any) -> None:
        """Update."""
        self._model.update(x, y)


class _Filters:
    """Filters side by side, one per factor and class."""

    def __init__(
        self, dim: int, factors: Sequence[float], copies: int, slope: float, intercept: float
    ) -> None:
        self.dim, N = count("dim", dim), dim + 1
        if not factors or not all(0.0 < factor <= 1.0 for factor in factors):
            raise ValueError(
                f"factors must be above 0 and at most 1: got {tuple(factors)}; 1 forgets nothing"
            )
        K, self._prior = len(factors) * copies, slope
        self._state = _prequential.State(
            factors=np.repeat(np.array(factors, dtype=np.float64), copies),
            features=np.zeros((5, dim)),
            means=np.zeros((K, N)),
            covariances=np.tile(np.diag([slope] * dim + [intercept]), (K, 1, 1)),
            z=np.zeros(N),
            gains=np.zeros((K, N)),
            variances=np.zeros(K),
            values=np.zeros(K),
        )


class LeastSquares(_Filters):
    """Recursive least squares with each forgetting factor: forecasts (factors,).

    Scaling and clipping are those of ours.
    """

    def __init__(self, dim: int, factors: Sequence[float] = FACTORS) -> None:
        super().__init__(dim, factors, 1, linear.SLOPE_PRIOR, linear.INTERCEPT_PRIOR)
        self._seen = np.zeros(len(_prequential.SEEN))

    def predict(self, x: Array) -> Array:
        """One number a factor."""
        _prequential.open_squares(self._state, self._seen, self._prior, x)
        return self._state.values.copy()

    def learn(self, x: Array, y: float) -> None:
        """Learn in every filter."""
        _prequential.close_squares(self._state, self._seen, y)


class LogisticFilters(_Filters):
    """Logistic filters with each forgetting factor: probabilities (factors, classes).

    More than two classes: one filter a class against the rest, probabilities normalised.

    Parameters
    ----------
    exact
        Learn at the mode of the posterior, else linearised, which is the extended Kalman filter.
    rebased
        Scaling is that of ours, which leaves a feature's prior in the unit of its first rounds;
        else the running standard score, whose prior keeps up.
    """

    def __init__(
        self, dim: int, classes: int, exact: bool, rebased: bool, factors: Sequence[float] = FACTORS
    ) -> None:
        self.classes, self.exact, self.rebased = count("classes", classes), exact, rebased
        self._copies = 1 if classes == 2 else classes
        super().__init__(dim, factors, self._copies, logistic.SLOPE_PRIOR, logistic.INTERCEPT_PRIOR)

    def predict(self, x: Array) -> Array:
        """Probabilities, one row a factor."""
        _prequential.open_logistic(self._state, self.rebased, self._prior, x)
        values = np.clip(self._state.values, -700.0, 700.0)
        p = (1.0 / (1.0 + np.exp(-values))).reshape(-1, self._copies)
        if self._copies == 1:
            return np.hstack([1.0 - p, p])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def learn(self, x: Array, y: int) -> None:
        """Learn in every filter."""
        own = (
            np.array([float(y)])
            if self._copies == 1
            else (np.arange(self.classes) == y).astype(np.float64)
        )
        labels = np.tile(own, self._state.factors.size // self._copies)
        _prequential.close_logistic(self._state, self.exact, labels)


class Together:
    """Players of the same kind side by side; their settings follow each other."""

    def __init__(self, *players: Player) -> None:
        self._players = players

    def predict(self, x: Array) -> Array:
        """One row a setting."""
        return np.concatenate([player.predict(x) for player in self._players])

    def learn(self, x: Array, y: Any) -> None:
        """All learn."""
        for player in self._players:
            player.learn(x, y)


class LastValue:
    """The last target again."""

    def __init__(self) -> None:
        self._last = 0.0

    def predict(self, x: Array) -> float:
        """One number."""
        return self._last

    def learn(self, x: Array, y: float) -> None:
        """Keep it."""
        self._last = float(y)


class RunningMean:
    """The mean of all targets so far."""

    def __init__(self) -> None:
        self._mean, self._count = 0.0, 0

    def predict(self, x: Array) -> float:
        """One number."""
        return self._mean

    def learn(self, x: Array, y: float) -> None:
        """Take it in."""
        self._count += 1
        self._mean += (float(y) - self._mean) / self._count


class Frequencies:
    """The share of each class so far, one added to each count."""

    def __init__(self, classes: int) -> None:
        self._counts = np.ones(count("classes", classes))

    def predict(self, x: Array) -> Array:
        """A probability a class."""
        return np.asarray(self._counts / self._counts.sum())

    def learn(self, x: Array, y: int) -> None:
        """Count it."""
        self._counts[y] += 1.0


_LABELS = tuple(f"λ = {factor:g}" for factor in FACTORS)
_BOTH = (*(f"{label}, rebased" for label in _LABELS), *_LABELS)
OURS = "stillpoint"
BEST_SQUARES, BEST_FILTER, BEST_EKF = HINDSIGHT = ("RLS*", "logistic filter*", "EKF*")


def _filters(stream: RealStream, exact: bool) -> Together:
    return Together(
        *(
            LogisticFilters(stream.dim, len(stream.classes), exact, rebased)
            for rebased in (True, False)
        )
    )


def entrants() -> list[Entrant]:
    """Everybody, ours first."""
    from stillpoint.lab.real import peers

    regression = (REGRESSION,)
    return [
        Entrant(OURS, (REGRESSION, *CLASSES), Ours),
        Entrant(
            BEST_SQUARES,
            regression,
            lambda s: LeastSquares(s.dim),
            settings=_LABELS,
            plain="RLS, all of the past",
        ),
        Entrant(
            BEST_FILTER,
            CLASSES,
            partial(_filters, exact=True),
            settings=_BOTH,
            plain="logistic filter, all of the past",
        ),
        Entrant(BEST_EKF, CLASSES, partial(_filters, exact=False), settings=_BOTH),
        Entrant("last value", regression, lambda s: LastValue()),
        Entrant("running mean", regression, lambda s: RunningMean()),
        Entrant("class frequencies", CLASSES, lambda s: Frequencies(len(s.classes))),
        *peers.entrants(),
    ]
