"""Arguments of Forecaster, checked."""

from typing import Any

import numpy as np

from stillpoint.losses import Absolute, Pinball, Squared
from stillpoint.series import seasons
from stillpoint.series.history import KEEP

_MOST = 8  # seasons of one series: each brings harmonics to every filter


def flag(name: str, value: Any) -> bool:
    """Yes or no."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False: got {value!r}; choose one")
    return bool(value)


def level(loss: Any) -> float | None:
    """The level of the quantile that a loss asks for; None: the mean."""
    if loss is None or isinstance(loss, Squared):
        return None
    if isinstance(loss, Absolute | Pinball):
        return loss.level if isinstance(loss, Pinball) else 0.5
    raise ValueError(
        f"loss must be None, Squared, Absolute or Pinball: got {loss!r}; choose one of sp.losses"
    )


def periods(season: Any) -> tuple[float, ...] | None:
    """Periods as told; None: they are to be found."""
    if isinstance(season, str) and season == "auto":
        return None
    found = () if season is None else seasons.told(season)
    if len(found) > _MOST:
        raise ValueError(
            f"season must have at most {_MOST} periods: got {len(found)}; leave out the least"
        )
    for period in found:
        if 2.0 * period + 8.0 > KEEP:
            raise ValueError(
                f"season must be at most {(KEEP - 8) // 2} rounds, of which two are kept: got"
                f" {period:g}; leave it out, or give coarser rows"
            )
    return found
