"""What a saved series may hold: compiled rounds trust counters and places, files are not trusted.

Whatever follows from other parts of a state is compared with them; the rest is held to the range
that a running forecaster stays in. Shapes and types are those of `core.validation.stored`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.validation import counted, stored
from stillpoint.series import layout
from stillpoint.series._scale import AT, BY
from stillpoint.series._state import State
from stillpoint.series.own import own
from stillpoint.series.pool import Pool

MOST = 2.0**53  # rounds that floats can count
_AGAIN = "save the forecaster again"


def number(state: dict[str, Any], name: str, least: int = 0) -> int:
    """A saved counter."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"state {name!r} must be a whole number: got {value!r}; {_AGAIN}")
    counted(name, value - least, MOST)
    return int(value)


def periods(state: dict[str, Any], name: str, keep: int) -> tuple[float, ...]:
    """Saved seasons: increasing, each of which fits twice into what is kept."""
    values = stored(state, name, None)
    ends = values.size == 0 or (values[0] >= 2.0 and 2.0 * values[-1] + 8.0 <= keep)
    if not (ends and (np.diff(values) > 0.0).all()):
        raise ValueError(
            f"state {name!r} must be periods of 2 rounds or more, the shortest first: got"
            f" {values}; {_AGAIN}"
        )
    return tuple(values.tolist())


def agree(
    told: tuple[float, ...] | None, active: tuple[float, ...], found: tuple[float, ...]
) -> None:
    """Make sure that the seasons in use are those that were told, or found."""
    if told is None:
        fits = active == found and len(active) <= 2
    else:
        fits = not found and active in ((), told)
    if not fits:
        raise ValueError(
            f"state 'active' must be the seasons of this forecaster: got {active}, found {found},"
            f" told {told}; {_AGAIN}"
        )


def built(
    state: dict[str, Any],
    rounds: int,
    pool: Pool,
    active: tuple[float, ...],
    horizon: int,
    bands: Any,
    features: int,
) -> State | None:
    """Experts of a forecaster as they were saved; None where there were none yet."""
    logs = number(state, "logs", -1)
    if logs < 0:
        return None
    scale, units = layout.Scale(0.0, 1.0, 0.0, 1.0, bool(logs)), np.zeros((2, features))
    m = layout.build(pool, active, horizon, scale, bands, features=units)
    fresh = m.clock.copy()
    for name, array in own(m).items():
        array[...] = stored(state, name, *array.shape, dtype=array.dtype)
    checked(m, fresh, rounds)
    return layout.at(m, active, horizon)


def checked(m: State, fresh: NDArray[Any], rounds: int) -> None:
    """Check counters and units of a restored state; `fresh` are the counters as they were built."""
    clock, s = m.clock, m.scalars
    same = all(clock[i] == fresh[i] for i in (BY.stride, BY.slots, BY.logs))
    placed = fresh[BY.place] <= clock[BY.place] < m.lags.shape[1] - m.steps.size
    if not (same and placed and 0 <= clock[BY.now] <= rounds):
        raise ValueError(
            f"state 'clock' must fit a forecaster of {rounds} rounds: got {clock}; {_AGAIN}"
        )
    units = np.append(m.feature_scale[1], [s[AT.unit], s[AT.log_unit]])
    good = np.isfinite(np.delete(s, [AT.held, AT.expected])).all() and s[AT.reach] >= 1.0
    good = good and s[AT.ago] >= 0.0  # a place among the lags is told by it
    if not (good and (units > 0.0).all() and s[AT.low] <= s[AT.high]):
        raise ValueError(f"state 'scalars' must be units and a range: got {s}; {_AGAIN}")


def rows(watched: int, rounds: int) -> None:
    """Make sure that changes were looked for, or will be, in all rounds."""
    if watched != rounds:
        raise ValueError(
            f"state 'waiting' must end with the last of {rounds} rounds: got {watched}; {_AGAIN}"
        )
