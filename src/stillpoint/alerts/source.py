"""Where the forecasts of a detector come from: its own forecaster, or whoever calls it."""

import copy
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core import arithmetic
from stillpoint.core.array import Array
from stillpoint.core.learner import not_finite_in
from stillpoint.core.validation import counted, under
from stillpoint.forecasters import aggregation
from stillpoint.forecasters.aggregation import target_number
from stillpoint.forecasters.series import SeriesForecaster
from stillpoint.intervals.base import value, values
from stillpoint.series import Forecaster

_MEND = "mend the forecaster"
_OURS = Forecaster, SeriesForecaster


class Source:
    """Forecasts of the coming rows, given in every row or in none.

    Parameters
    ----------
    forecaster : object, optional
        With `predict()` and `update(y)`; None is sp.Forecaster(), built when it is asked.
    season : object
        That of sp.Forecaster().
    """

    def __init__(self, forecaster: Any, season: Any) -> None:
        if forecaster is not None and not all(
            callable(getattr(forecaster, name, None)) for name in ("predict", "update")
        ):
            raise ValueError(
                f"forecaster must have predict() and update(y): got {forecaster!r}; give one such"
                " as sp.VariationForecaster(), or pass forecasts to update and track"
            )
        # copies: whoever has given it may use it for something else
        self.given, self._season = copy.deepcopy(forecaster), season
        self._own = copy.deepcopy(forecaster)
        self._told: bool | None = None  # whether forecasts are given; None before the first row
        self._seen = bool(getattr(forecaster, "rounds", 0) != 0)  # whether a value has come

    @property
    def largest(self) -> float:
        """The largest size of a value that the forecaster takes; others are its own business."""
        ours = self._own is None or isinstance(self._own, _OURS)
        return aggregation.LARGEST if ours else arithmetic.LARGEST

    def admit(self, y: float, forecast: float | None) -> None:
        """Refuse a value that the forecaster would refuse, before a round of it is opened."""
        if forecast is None and isinstance(self._model(), _OURS):
            target_number(y)

    def expect(self, forecast: float | None) -> float:
        """Return the forecast of the coming row, given or asked for; NaN if there is none."""
        self.check(forecast is not None, repr(forecast))
        if forecast is not None:
            missing = isinstance(forecast, float) and math.isnan(forecast)
            return math.nan if missing else value("forecast", forecast, "pass NaN for none")
        fresh = self._fresh
        said = value("forecast", self._model().predict(), _MEND)
        return math.nan if fresh else said

    def peek(self, forecast: float | None) -> float:
        """`expect` without a trace: no forecaster is built, and no round of one is opened."""
        source = copy.deepcopy(self) if forecast is None else self
        return source.expect(forecast)

    def learn(self, y: float, forecast: float | None) -> None:
        """Take in the value of the row."""
        if forecast is None:
            self._model().update(y)
        self._told, self._seen = forecast is not None, True

    def skip(self) -> None:
        """Pass a row whose value is missing."""
        if not self._told and hasattr(self._own, "skip"):
            self._own.skip()

    def track(self, y: Array, forecasts: ArrayLike | None) -> Array:
        """Return the forecasts of rows, each made before its value, and take these in."""
        self.check(forecasts is not None, "an array")
        if forecasts is not None:
            out = values("forecasts", forecasts, missing=True)
            if out.shape != y.shape:
                raise ValueError(
                    f"forecasts must be as many as y: got {out.size} for {y.size}; pass one a row,"
                    " NaN for none"
                )
        else:
            fresh, known = self._fresh, np.flatnonzero(~np.isnan(y))
            out = self._play(y)
            if fresh:
                out[: known[0] + 1 if known.size else y.size] = np.nan
        if y.size:
            self._told = forecasts is not None
            self._seen |= not np.isnan(y).all()
        return out

    def _play(self, y: Array) -> Array:
        model = self._model()
        if isinstance(model, _OURS):
            return np.array(model.track(y), dtype=np.float64)
        out = np.empty(y.size)
        for t, target in enumerate(y.tolist()):
            out[t] = value("forecast", model.predict(), _MEND)
            if target == target:
                model.update(target)
            elif hasattr(model, "skip"):
                model.skip()
        return out

    @property
    def _fresh(self) -> bool:
        """Whether the forecaster has seen nothing: what it says then is no forecast."""
        return not self._seen

    def _model(self) -> Any:
        if self._own is None:
            self._own = Forecaster(season=self._season)
        return self._own

    def check(self, told: bool, got: str) -> None:
        """Refuse forecasts where rows before had none, and none where they had."""
        if self._told is not None and self._told != told:
            raise ValueError(
                f"forecast must be given in every row or in none: got {got if told else 'none'},"
                f" and rows before had {'one' if self._told else 'none'}; build another detector"
            )

    @property
    def _not_finite(self) -> frozenset[str]:
        """As `Configured._not_finite`; a forecaster that is yet to be built counts, too."""
        return _usual() if self._own is None else not_finite_in("forecaster.", self._own)

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        state = {"told": -1 if self._told is None else int(self._told), "seen": self._seen}
        if self._own is None:
            return state
        if not hasattr(self._own, "arrays"):
            raise ValueError(
                "the forecaster must be one of this library to be saved with its detector: got"
                f" {self._own!r}; pass its forecasts to update and track, and save it by its own"
                " means"
            )
        own = self._own.arrays()
        return state | {f"forecaster.{name}": each for name, each in own.items()}

    def restored(self, state: dict[str, Any]) -> "Source":
        """Return what was saved; ValueError where no detector has it."""
        told, own = int(state["told"]), under(state, "forecaster.")
        new = Source(self.given, self._season)
        counted("told", told + 1, 2)
        new._told = None if told < 0 else bool(told)
        new._seen |= bool(state["seen"])
        if own:
            new._model().restore(own)
        return new


@cache
def _usual() -> frozenset[str]:
    """What may be infinite or NaN in the state of a new detector's sp.Forecaster(), once built."""
    return not_finite_in("forecaster.", Forecaster())
