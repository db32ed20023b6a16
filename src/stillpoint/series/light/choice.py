"""Which engine and which intervals a forecaster has, by its pool."""

from typing import Any

from stillpoint.series.bands import Bands
from stillpoint.series.engine import Engine
from stillpoint.series.knots import apart, horizons
from stillpoint.series.light.bands import LightBands
from stillpoint.series.light.engine import LightEngine
from stillpoint.series.pool import Pool


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


def engine(
    pool: Pool, horizon: int, periods: tuple[float, ...] | None, bands: Bands, features: int
) -> Engine:
    """What plays the rounds of a forecaster with this pool, told these seasons or none (None)."""
    if isinstance(bands, LightBands) and periods is not None and not features:
        return LightEngine(pool, horizon, periods, bands)
    return Engine(pool, horizon, periods, bands, features)
