"""Rounds of a series with a small pool whose seasons are told: a fleet of one key.

The rounds are those of `_keys.play`, as in a fleet, and so are the numbers. Once the first values
have told the units, nothing is built anew.
"""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import full, zeros
from stillpoint.core.array import Array
from stillpoint.core.validation import stored, under
from stillpoint.series import layout, restored
from stillpoint.series._knots import AT as KNOT
from stillpoint.series._knots import ISSUE
from stillpoint.series._scale import AT
from stillpoint.series._scale import BY as CLOCK
from stillpoint.series._state import State
from stillpoint.series._structural import BASE, IS
from stillpoint.series.engine import Engine
from stillpoint.series.history import KEEP, History
from stillpoint.series.light import _keys
from stillpoint.series.light._plan import EXACT, OF, SAID, SCORES, SUM, N
from stillpoint.series.light._storage import Keys
from stillpoint.series.light.bands import LightBands
from stillpoint.series.light.keys import Workshop, checked, counts
from stillpoint.series.light.plan import joined
from stillpoint.series.pool import Pool
from stillpoint.series.watch import Watch

_ONE = np.zeros(1, dtype=np.int64)
_LEFT = -2  # the nest of a key that has left the only one
_NO_ENDS, _NO_PARTS = np.empty((1, 0, 0, 0, 0)), np.empty((1, 0))


class LightEngine(Engine):
    """A series, round by round, as a fleet of one key.

    Parameters
    ----------
    pool : Pool
        The experts: a small pool.
    horizon : int
        How far ahead forecasts go.
    periods : tuple of float
        The seasons, the shortest first.
    bands : LightBands
        What tells the intervals.
    """

    bands: LightBands

    def __init__(
        self, pool: Pool, horizon: int, periods: tuple[float, ...], bands: LightBands
    ) -> None:
        super().__init__(pool, horizon, periods, bands)
        self._look_for_changes(0)
        self._shop = Workshop(pool, periods, horizon, bands)
        self._keys = Keys(
            self._shop.row[None].copy(),
            self._shop.exact[None].copy(),
            counts(_ONE),
            zeros((1, self._shop.gathered)),
        )

    # rounds

    def open(self, X: Array) -> float:
        """Forecast the coming value."""
        self._run(np.full((1, 1), np.nan), self._one[None], opens=True)
        return float(self._one[0, 0])

    def close(self, y: float, X: Array) -> None:
        """Learn a value, NaN if it is missing."""
        self.track(np.array([y]), X, _ONE, 1)

    def path(self, horizon: int) -> Array:
        """Forecast the coming values, after `open`."""
        out = np.empty((1, 1, horizon))
        self._run(np.full((1, 1), np.nan), out, opens=True)
        return np.asarray(out[0, 0])

    def track(
        self, y: Array, X: Array, known: NDArray[np.int64], horizon: int, intervals: bool = False
    ) -> tuple[Array, Array]:
        """Open and close a round for each value; see `Engine.track`."""
        out, parts = np.empty((1, y.size, horizon)), np.empty((1, y.size))
        shape = self.bands.state.offsets.shape
        offsets = np.empty((1, y.size * intervals, *shape)) if intervals else _NO_ENDS
        self._run(y[None], out, True, True, offsets, parts)
        self.watch.take(y, parts[0])
        self.history.extend(y, np.empty((y.size, 0)), np.zeros(y.size, dtype=np.int64))
        return out[0], offsets[0] if intervals else np.empty((0, *shape))

    def _run(
        self,
        y: Array,
        out: Array,
        opens: bool = False,
        closes: bool = False,
        offsets: Array = _NO_ENDS,
        seasonal: Array = _NO_PARTS,
    ) -> None:
        c = self._keys.counts[0]
        was = c[OF.now]
        self._shop.cover(int(c[OF.rounds]) + y.size)
        kit = self._shop.kit
        _keys.play(_ONE, y, self._keys, kit, opens, closes, out, offsets, seasonal)
        self.builds += int(was < 0 <= c[OF.now])
        self._tell()

    def _look_for_changes(self, row: int) -> None:
        """Begin to, at this row, beside the seasons."""
        self.watch = changes_from(row, self.periods or ())

    def _tell(self) -> None:
        """Have the intervals at hand as they are in the row."""
        n, row, b = self._shop.kit.plan.n, self._keys.rows[0], self.bands.state
        at = n[N.offsets] - EXACT
        b.offsets[...] = row[at : at + b.offsets.size].reshape(b.offsets.shape)
        at, size = n[N.slow] - EXACT, 2 * n[N.estimates] * SCORES
        own = row[at : at + size].reshape(2, n[N.estimates], SCORES)
        b.slow[...], b.scalars[...] = own[..., :SAID], own[..., SAID:]
        self.active = (self.periods or ()) if self._keys.counts[0, OF.now] >= 0 else ()

    def begin_anew(self, y: Array, X: Array, known: NDArray[np.int64], before: int) -> None:
        """Begin anew with these rounds; intervals go on from where they are."""
        keys, end = self._keys, int(self._shop.kit.plan.n[N.end]) - EXACT
        bands, exact = keys.rows[0, end:].copy(), keys.exact[0].copy()
        was = keys.counts[0].copy()
        keys.rows[0], keys.exact[0], keys.counts[0] = self._shop.row, self._shop.exact, counts(_ONE)
        self.history = History(0)
        self.history.before = before
        self._look_for_changes(before)
        self.track(y, X, known, 1)
        keys.rows[0, end:] = bands
        keys.exact[0, len(AT) : -1] = exact[len(AT) : -1]
        keys.counts[0, [OF.bands, OF.issued]] = was[[OF.bands, OF.issued]]
        self._tell()

    # what it can tell of itself

    @property
    def state(self) -> State | None:
        """The experts and their weights, as other engines have them."""
        c = self._keys.counts[0]
        if c[OF.now] < 0:
            return None
        n, built = self._shop.kit.plan.n, self._shop.built
        w = np.concatenate([self._keys.exact[0], self._keys.rows[0]])
        clock, kinds = built.clock.copy(), built.filters.kinds.copy()
        clock[CLOCK.now], clock[CLOCK.logs] = c[OF.now], c[OF.logs]
        kinds[:, IS.log] *= c[OF.logs]
        means = w[n[N.means] :][: n[N.filters] * n[N.places]].reshape(-1, n[N.places])
        seasons = joined(means[:, BASE:], built.filters.frequencies)
        K, knots, at = n[N.experts], n[N.knots], n[N.weights]
        blocks = w[at : at + knots * n[N.block]].reshape(knots, -1)
        slot = n[N.waiting] + n[N.slots] * (K + len(ISSUE))
        issued = np.zeros_like(built.knots.issued)
        issued[built.clock[CLOCK.slots], 0] = w[slot + K : slot + K + len(ISSUE)]
        first = 5 * (K + 2)
        state = built._replace(
            scalars=w[: len(AT)],
            clock=clock,
            filters=built.filters._replace(
                means=np.concatenate([means[:, :BASE], seasons], axis=1), kinds=kinds
            ),
            knots=built.knots._replace(
                experts=blocks[:, : 5 * K].reshape(knots, 5, K),
                pair=blocks[:, 5 * K : first].reshape(knots, 5, 2),
                scalars=blocks[:, first : first + len(KNOT)],
                stack=blocks[:, first + len(KNOT) :][:, : K + 1],
                issued=issued,
            ),
        )
        return layout.at(state, self.periods or (), self._shop.horizon)

    @state.setter
    def state(self, value: State | None) -> None:
        """What other engines begin with."""

    # saving

    def __deepcopy__(self, memo: dict[int, Any]) -> "LightEngine":
        new = memo[id(self)] = object.__new__(LightEngine)
        new.__dict__.update(deepcopy(self.__dict__, memo))
        return new

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        k = self._keys
        own = {"row": k.rows[0], "exact": k.exact[0], "counts": k.counts[0], "nest": k.nests[0]}
        saved = self.history.arrays() | {name: array.copy() for name, array in own.items()}
        saved["builds"], saved["calendar"] = self.builds, np.array(self.calendar)
        return saved | {f"watch.{name}": value for name, value in self.watch.arrays().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        self.history.restore(state)
        k = self._keys
        for name, array in (("row", k.rows), ("exact", k.exact), ("counts", k.counts)):
            array[0] = stored(state, name, array.shape[1], dtype=array.dtype)
        k.nests[0] = stored(state, "nest", k.nests.shape[1])
        checked(k, self._shop)
        self.builds = restored.number(state, "builds")
        self.calendar = tuple(stored(state, "calendar", None).tolist())
        self._tell()
        self.watch.restore(under(state, "watch."), self.periods or ())
        restored.rows(self.watch.rows, self.history.before + self.history.rounds)


def changes_from(row: int, periods: tuple[float, ...]) -> Watch:
    """A detector that begins at this row."""
    watch = Watch(row)
    watch.renew(periods, row, np.empty(0), np.empty(0))
    return watch


def taken_out(shop: Workshop, k: int, keys: Keys) -> dict[str, Any]:
    """What `arrays` returns of an engine that goes on as a key of a fleet.

    The history and the detector of changes, which fleets do not keep, begin with its round.
    """
    c, (row, exact) = keys.counts[k].copy(), shop.read(k, keys)
    rounds, before, nest = int(c[OF.rounds]), int(c[OF.before]), np.zeros(shop.gathered)
    history = full((min(rounds, KEEP), 1), np.nan)
    history[:1] = exact[SUM.last]
    if c[OF.nest] >= 0:
        nest[:] = keys.nests[c[OF.nest]]
        values = nest[: min(rounds, nest.size)]
        history[history.size - values.size :, 0] = values
    c[OF.nest] = 0 if c[OF.nest] >= 0 else _LEFT
    saved = {"history": history, "rounds": rounds, "before": before, "varied": bool(c[OF.now] >= 0)}
    saved |= {"row": row, "exact": exact, "counts": c, "nest": nest}
    saved |= {"builds": int(c[OF.now] >= 0), "calendar": np.empty(0)}
    watch = changes_from(before + rounds, shop.periods).arrays()
    return saved | {f"watch.{name}": value for name, value in watch.items()}
