"""The arrays of a series that are its own: what is saved of a state."""

from typing import Any

from stillpoint.series._state import State

# arrays of a state that change from round to round, by their names in files
_OWN = {
    "": ("scalars", "clock", "lags", "features", "feature_scale"),
    "filters": ("means", "gaps", "seasonal"),
    "regressions": ("coefficients", "covariances"),
    "effects": ("means", "covariances"),
    "phases": ("levels", "first", "second", "first_seen", "second_seen"),
    "knots": ("experts", "pair", "scalars", "stack", "spread", "waiting", "issued"),
}


def tables(state: State) -> list[Any]:
    """Those that are shared by all series."""
    f, rows = state.filters, [] if state.rolls else [state.rows]
    return [f.gains, f.variances, f.row_of_age, f.frequencies, f.smooth, *rows]


def own(state: State) -> dict[str, Any]:
    """The arrays of a state that are its own, by their names in files."""
    found: dict[str, Any] = {}
    for part, names in _OWN.items():
        holder = getattr(state, part) if part else state
        found |= {f"{part}.{name}".lstrip("."): getattr(holder, name) for name in names}
    return found
