"""Rolling origins in one pass: what was forecast of every row from every row before it, scored.

The forecaster says in each row what it expects at every horizon, so that each row is an origin and
nothing is fitted again. Simple methods are scored on the same pairs of origin and target.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.commands._scores import Scores, shown_steps
from stillpoint.commands.beside import NAIVE, Beside
from stillpoint.commands.engine import LAST, MEAN
from stillpoint.commands.errors import InputError, show_cell
from stillpoint.commands.plans import Plan, Told
from stillpoint.core.validation import Array

DRIFT = "drift"
_OCTAVES = 40
Slots = NDArray[np.int64]
Model = Callable[[Array, int], ArrayLike]  # the values before an origin, steps; their forecasts


class Score(NamedTuple):
    """How good one method was at one horizon; coverage and width are NaN where it has none."""

    rows: int
    rmse: float
    mae: float
    coverage: float = float("nan")
    width: float = float("nan")


class Rolling(Beside):
    """Scores of the forecaster's own pairs as rows are learnt, and all targets for the others.

    Parameters
    ----------
    plan
        Of the series.
    start, every
        The first row, counted from 0, that is an origin, and how many rows the next one is later.

    Notes
    -----
    Sums are kept apart by octaves of the origin's row, start·2ᵏ, so that a later start can be
    chosen when the run is over: see `begin`.
    """

    def __init__(self, plan: Plan, start: int, every: int) -> None:
        super().__init__(plan, 0.0)
        self.steps, self._start, self._every = shown_steps(plan.horizon), start, every
        self._sums = np.zeros((_OCTAVES, self.steps.size, 6))
        self._first, self._octave = start, 0  # where origins began, and the octave they are of now
        self._y, self._slots = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._told = np.zeros((0, 3, self.steps.size))  # of origins whose targets are to come
        self._origins, self._octaves = np.zeros((2, 0), dtype=np.int64)

    def score(self, y: Array, slots: Slots, told: Told) -> None:
        """Score what was told in rows whose targets are these, and keep the targets."""
        super().score(y, slots, told)
        n, before = y.size, self._y.size
        slots, places = slots[:n], self.steps - 1
        fresh = np.stack([part[:n][:, places] for part in told], axis=1)
        self._y, self._slots = np.append(self._y, y), np.append(self._slots, slots)
        good = self._is_origin()[before:]
        self._origins = np.append(self._origins, slots[good])
        rows = before + np.flatnonzero(good)
        octaves = np.log2(np.maximum(rows, 1) / max(self._first, 1)).astype(np.int64)
        self._octaves = np.append(self._octaves, octaves.clip(0, _OCTAVES - 1))
        self._told = np.concatenate([self._told, fresh[good]])
        for k, h in enumerate(self.steps.tolist()):
            pairs = _targets(self._origins, h, slots, y)
            told_then, octave = self._told[pairs.origins, :, k], self._octaves[pairs.origins]
            np.add.at(self._sums[:, k], octave, _parts(told_then, y[pairs.targets]))
        if n:
            wait = self._origins + self.steps[-1] - 1 > slots[-1]
            self._origins, self._told = self._origins[wait], self._told[wait]
            self._octaves = self._octaves[wait]

    def begin(self, period: int) -> None:
        """Leave out origins before two seasons are over, of a season that was found on the way.

        Seasonal naive is told that season, and nobody could have told it the forecaster earlier. At
        least half of the rows stay origins.
        """
        start = max(self._first, 1)
        while start << self._octave < 2 * period and start << self._octave + 2 <= self._y.size:
            self._octave += 1
        self._start = start << self._octave if self._octave else self._first

    def _is_origin(self) -> NDArray[np.bool_]:
        """Whether rows are origins: some value is known before them, and it is their turn."""
        known, row = ~np.isnan(self._y), np.arange(self._y.size)
        turn = (row >= self._start) & ((row - self._first) % self._every == 0)
        good: NDArray[np.bool_] = (np.cumsum(known) - known > 0) & turn
        return good

    def with_more(self, y: Array, slots: Slots, told: Told) -> Scores:
        """Score the last rows, too: the run is over when this is asked."""
        self.score(y, slots, told)
        return self.scores

    def ours(self) -> list[Score]:
        """Return the forecaster's scores, by step."""
        found = []
        for rows, squares, away, covered, width, widths in (
            self._sums[self._octave :].sum(axis=0).tolist()
        ):
            n, wide = rows or np.nan, widths or np.nan
            found.append(
                Score(int(rows), float(np.sqrt(squares / n)), away / n, covered / n, width / wide)
            )
        return found

    def others(self, period: int) -> dict[str, list[Score]]:
        """Return scores of simple methods, by step. period: rows of a season, 0 for none."""
        y, slots = self._y, self._slots
        good = np.flatnonzero(self._is_origin())
        known = np.flatnonzero(~np.isnan(y))
        if not good.size:
            none = [Score(0, np.nan, np.nan)] * self.steps.size
            return dict.fromkeys((LAST, *([NAIVE] if period else []), MEAN, DRIFT), none)
        count = np.searchsorted(known, good)  # values known before each origin
        last = known[count - 1]
        sums = np.cumsum(y[known])
        first, spans = known[0], np.maximum(slots[last] - slots[known[0]], 1)
        slope = (y[last] - y[first]) / spans
        found: dict[str, list[Score]] = {LAST: []}
        found |= {name: [] for name in ([NAIVE] if period else []) + [MEAN, DRIFT]}
        for h in self.steps.tolist():
            o, targets = _targets(slots[good], h, slots, y)
            came, at = y[targets], last[o]
            told = {
                LAST: y[at],
                MEAN: sums[count[o] - 1] / count[o],
                DRIFT: y[at] + slope[o] * (slots[targets] - slots[at]),
            }
            if period:
                told[NAIVE] = _seasonal_naive(slots[targets], h, period, slots, y, y[at])
            for name, scores in found.items():
                scores.append(_score(told[name] - came))
        return found

    def model(self, name: str, model: Model) -> list[Score]:
        """Return scores of a model that is asked anew at every origin, by step."""
        y, slots, steps = self._y, self._slots, self.steps
        good = np.flatnonzero(self._is_origin())
        if not good.size:
            return [Score(0, np.nan, np.nan)] * steps.size
        first, horizon = int(slots[0]), int(steps[-1])
        dense = np.full(int(slots[-1]) - first + 1, np.nan)
        dense[slots - first] = y
        told = np.empty((good.size, steps.size))
        for i, origin in enumerate((slots[good] - first).tolist()):
            told[i] = _forecasts(name, model(dense[:origin].copy(), horizon), horizon)[steps - 1]
        found = []
        for k, h in enumerate(steps.tolist()):
            o, targets = _targets(slots[good], h, slots, y)
            found.append(_score(told[o, k] - y[targets]))
        return found

    def scale(self, period: int) -> float:
        """Return the mean change from the value of a season before, or from the last: MASE's unit.

        NaN where there are no two values to compare.
        """
        before = np.full(self._y.size, np.nan)
        before = _seasonal_naive(self._slots, 1, max(period, 1), self._slots, self._y, before)
        away = np.abs(self._y - before)
        away = away[~np.isnan(away)]
        return float(away.mean()) if away.size and away.any() else float("nan")


class _Pairs(NamedTuple):
    """Places of origins, and of their targets."""

    origins: NDArray[np.int64]
    targets: NDArray[np.int64]


def _parts(told: Array, y: Array) -> Array:
    """Return what is summed of forecasts and their intervals, a row each."""
    away = told[:, 0] - y
    covered = (told[:, 1] <= y) & (y <= told[:, 2])
    with np.errstate(invalid="ignore"):
        width = told[:, 2] - told[:, 1]
    finite = np.isfinite(width)
    width = np.where(finite, width, 0.0)
    return np.column_stack([np.ones(y.size), away**2, np.abs(away), covered, width, finite])


def _score(away: Array) -> Score:
    if not away.size:
        return Score(0, np.nan, np.nan)
    return Score(away.size, float(np.sqrt((away**2).mean())), float(np.abs(away).mean()))


def _forecasts(name: str, given: ArrayLike, horizon: int) -> Array:
    """Return what a model said, checked."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (horizon,) or not np.isfinite(found).all():
        raise InputError(
            f"models must return {horizon} numbers: got {show_cell(given)} from {name!r}; forecast"
            " every step up to the horizon"
        )
    return found


def _targets(origins: Slots, h: int, slots: Slots, y: Array) -> _Pairs:
    """Return pairs of origins with the known values h steps ahead, the origin's own being 1."""
    wanted = origins + h - 1
    if not slots.size:
        none = np.zeros(0, dtype=np.int64)
        return _Pairs(none, none)
    place = _last_of(wanted, slots)
    found = np.flatnonzero((slots[place] == wanted) & ~np.isnan(y[place]))
    return _Pairs(found, place[found])


def _seasonal_naive(
    targets: Slots, h: int, period: int, slots: Slots, y: Array, instead: Array
) -> Array:
    """Return the values whole seasons before targets, the last known h steps ahead of them."""
    wanted = targets - period * -(-h // period)
    place = _last_of(wanted, slots)
    good = (slots[place] == wanted) & ~np.isnan(y[place])
    return np.where(good, y[place], instead)


def _last_of(wanted: Slots, slots: Slots) -> Slots:
    """Return the last row of each slot, the one that counts; any row where there is none."""
    return np.maximum(np.searchsorted(slots, wanted, side="right") - 1, 0)
