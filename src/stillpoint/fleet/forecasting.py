"""What fleets of forecasters do besides: intervals, horizons, whole series at once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.validation import Array, count
from stillpoint.fleet.batch.faults import unlearnable
from stillpoint.fleet.keyed import GivenKeys, Keyed
from stillpoint.fleet.keys import Slots
from stillpoint.series.arguments import flag


class Forecasting(Keyed):
    """Forecasts of the learners of a fleet; ValueError where they are no forecasters."""

    def interval(
        self,
        keys: GivenKeys,
        *,
        x: ArrayLike | None = None,
        horizon: int | None = None,
        time: Any = None,
    ) -> tuple[Array, Array]:
        """Open the round of each key; return the ends (lo, hi) of intervals around its forecasts.

        Each (n,), with horizon (n, horizon); one more axis where the Forecasters have several
        coverages. Arguments are those of `predict`.
        """
        self._need_intervals()
        steps = 1 if horizon is None else self._steps(horizon)
        slots, good, _ = self._open(keys, None, x, time)
        ends = [self._covered(end) for end in self._batch.ends(slots, steps)]
        lo, hi = (spread(end[:, 0] if horizon is None else end, good) for end in ends)
        return lo, hi

    def _forecast(
        self, keys: GivenKeys, Y: ArrayLike, X: ArrayLike | None, horizon: Any, intervals: Any
    ) -> Any:
        """`track` of forecasters."""
        if not self._batch.horizon:
            raise ValueError(
                f"learner must be a forecaster for track: got {self._kind.__name__}; call predict"
                " and update"
            )
        steps = self._steps(horizon)
        if flag("intervals", intervals):
            self._need_intervals()
        with self._entered(keys) as (names, slots):
            values, rows, faults = self._batch.series(slots, Y, X)
            bad = self._judge(names, faults)
        good = None
        if bad is not None:
            values[unlearnable(values, self._batch.largest)] = np.nan
            good = ~bad[1]
            slots, values, rows = slots[good], values[good], part(rows, good)
        out, *ends = self._batch.track(slots, values, rows, steps, bool(intervals))
        parts = (out, *(self._covered(end) for end in ends))
        parts = tuple(spread(one[:, :, 0] if steps == 1 else one, good) for one in parts)
        return parts if intervals else parts[0]

    def _open(
        self, keys: GivenKeys, forecasts: ArrayLike | None, x: ArrayLike | None, time: Any
    ) -> tuple[Slots, NDArray[np.bool_] | None, Any]:
        """Open rounds: the places, which rows were not rejected (None: all), and their plays."""
        with self._entered(keys) as (names, slots):
            when, faults = self._batch.moments(slots, time)
            centres, more = self._batch.centres(slots, forecasts)
            rows, others = self._batch.features(slots, when, x)
            bad = self._judge(names, [*faults, *more, *others])
        given, good = rows if rows.size else centres, None
        if bad is not None:
            good = ~(bad[0] | bad[1])
            slots, when, given = slots[good], part(when, good), part(given, good)
        return slots, good, self._batch.open(slots, when, given)

    def _covered(self, ends: Array) -> Array:
        """Ends without their axis of coverages, where there is one coverage."""
        return ends if self._batch.several else ends[..., 0]

    def _steps(self, horizon: Any) -> int:
        most, name = self._batch.horizon, self._kind.__name__
        if not most:
            raise ValueError(
                f"horizon must be left out for {name}: got {horizon!r}; forecasters look ahead"
            )
        steps = count("horizon", horizon)
        if steps > most:
            remedy = f"build the fleet with horizon={steps}"
            raise ValueError(
                f"horizon must be at most {most} for this fleet of {name}: got {steps};"
                f" {remedy if 'horizon' in self._config else 'use sp.Forecaster'}"
            )
        return steps

    def _need_intervals(self) -> None:
        if not self._batch.coverages:
            raise ValueError(
                f"learner must be Forecaster to have intervals: got {self._kind.__name__}; a fleet"
                " of IntervalTracker puts them around forecasts, in predict"
            )


def part(values: Any, rows: NDArray[np.bool_]) -> Any:
    """These rows of an array; all of an empty one, which stands for nothing given."""
    return values[rows] if values.size else values


def spread(parts: Any, good: NDArray[np.bool_] | None) -> Any:
    """Results of the good rows at their places among all, NaN at the others."""
    if good is None:
        return parts
    if isinstance(parts, tuple):
        return tuple(spread(one, good) for one in parts)
    out = np.full((good.size, *parts.shape[1:]), np.nan)
    out[good] = parts
    return out
