"""How series of small pools begin, and what they do without."""

from typing import Any

import numpy as np

from stillpoint.core.array import Array
from stillpoint.series import _phases
from stillpoint.series._state import State
from stillpoint.series._structural import IS
from stillpoint.series.bands import Bands
from stillpoint.series.knots import apart, horizons
from stillpoint.series.light._start import end_logarithms
from stillpoint.series.light.bands import LightBands
from stillpoint.series.pool import Pool

_LEAST, _MOST = 16, 64


def bands(
    pool: Pool, horizon: int, periods: tuple[float, ...] | None, coverage: Any, level: float | None
) -> Bands:
    """What tracks the intervals of a forecaster with this pool."""
    if not pool.half:
        return Bands(horizon, coverage, level=level)
    whole = tuple(round(period) for period in periods or ())
    knots = tuple(horizons(pool, horizon, whole))
    stride = apart(pool, horizon, knots[-1], whole[0] if whole else 1)
    return LightBands(horizon, coverage, knots=knots, stride=stride, level=level)


def gathered(periods: tuple[float, ...]) -> int:
    """Rounds after which the values so far have told the units for good: two seasons, or fewer."""
    season = round(periods[0]) if periods else 1
    return min(max(_LEAST, 2 * season + 2), _MOST)


def first(values: Array, periods: tuple[float, ...]) -> int:
    """From where on values count for the units: the last that are gathered, from a value on."""
    start = max(0, values.size - gathered(periods))
    missing = np.isnan(values[start:])
    return start + (0 if missing.all() else int(np.argmin(missing)))


def without_logarithms(state: State) -> State:
    """A state as it goes on before the first value that has no logarithm."""
    end_logarithms(state)
    return plain(state)


def plain(state: State) -> State:
    """A state with the same arrays, in which nothing is about logarithms."""
    kinds, specs = state.filters.kinds.copy(), state.phases.specs.copy()
    kinds[:, IS.log], specs[:, _phases.OF.log] = 0, 0.0
    filters, phases = state.filters._replace(kinds=kinds), state.phases._replace(specs=specs)
    return state._replace(filters=filters, phases=phases)
