"""What saved keys may hold: compiled rounds trust counters, files are not trusted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.series._scale import AT
from stillpoint.series.light._keys import OF, START, Keys
from stillpoint.series.light.keys import Workshop
from stillpoint.series.light.singles import grown
from stillpoint.series.restored import MOST

_AGAIN = "save the fleet again"


def check(shop: Workshop, saved: Keys, largest: float) -> None:
    """Refuse saved keys that no fleet of values up to this size comes to; nests count from 0."""
    _check_counts(shop, saved)
    _check_units(saved)
    good = (
        (np.isfinite(saved.rows) | shop.loose()).all()
        and not np.isinf(saved.nests).any()
        and np.nanmax(np.abs(saved.nests), initial=0.0) <= largest
    )
    if not good:
        raise ValueError(
            f"state 'rows' must be finite, and 'nests' values of series: got others; {_AGAIN}"
        )


def _check_counts(shop: Workshop, saved: Keys) -> None:
    c, nest = saved.counts, saved.counts[:, OF.nest]
    rounds, now, ahead = c[:, OF.rounds], c[:, OF.now], c[:, OF.open] * (c[:, OF.rounds] > 0)
    young = ~grown(shop, c)
    good = _within(c[:, [OF.rounds, OF.before]], 0, int(MOST)) & _within(c[:, [OF.logs, OF.open]])
    good &= (now >= -1) & (now <= rounds) & ((now < 0) | (rounds >= START))
    good &= c[:, OF.bands] == np.maximum(rounds - 1, 0)
    good &= c[:, OF.issued] == c[:, OF.bands] + ahead
    if not (
        good.all()
        and np.array_equal(nest[young], np.arange(len(saved.nests)))
        and (nest[~young] == -1).all()
    ):
        raise ValueError(
            f"state 'counts' must be those of forecasters in their rounds: got others; {_AGAIN}"
        )


def _within(counts: NDArray[Any], least: int = 0, most: int = 1) -> NDArray[np.bool_]:
    return np.asarray(((counts >= least) & (counts <= most)).all(axis=1))


def _check_units(saved: Keys) -> None:
    """Scalars of series, then totals and the last value."""
    known = np.delete(saved.exact, [AT.held, AT.expected], axis=1)
    s = saved.exact[saved.counts[:, OF.now] >= 0]
    units = (s[:, [AT.unit, AT.log_unit]] > 0.0).all(axis=1) & (s[:, AT.reach] >= 1.0)
    ranges = s[:, AT.low] <= s[:, AT.high]
    if not (np.isfinite(known).all() and (units & ranges).all()):
        raise ValueError(f"state 'exact' must be units, ranges and totals: got others; {_AGAIN}")
