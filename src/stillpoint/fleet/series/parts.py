"""The keys of one part of a fleet: played from their rows, forecast, kept from run to run."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core import container
from stillpoint.core.codec import decode_fields, encode
from stillpoint.core.validation import Array, stored, under
from stillpoint.fleet.fleet import Fleet
from stillpoint.fleet.series import scores
from stillpoint.fleet.series.flat import flatten, unflatten
from stillpoint.fleet.series.grid import Clocks, Rounds, clocks, spread
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.series.rows import Rows
from stillpoint.fleet.series.watch import Watch

CELLS = 1 << 20  # rounds played at once, or those of one key
_KIND, _VERSION, _FLEET, _WATCH = "fleet-part", 2, "fleet.", "watch."
_START = 16  # bytes that tell one form of a state from another
COUNTS = ("late", "repeated", "empty")  # rows that were not learnt from, see Rounds


class Told(NamedTuple):
    """Forecasts and ends of their intervals, arrays of one shape."""

    forecast: Array
    lo: Array
    hi: Array


class Settings(NamedTuple):
    """Of the forecasters of a fleet; nonnegative: whether what they tell is kept at 0 or above.

    alerts: the rate of the detectors beside them, None for none.
    """

    pool: str = "small"
    coverage: float = 0.9
    nonnegative: bool = False
    dtype: str = "float64"
    alerts: float | None = None


def build(settings: Settings, plan: Plan) -> Fleet:
    """Return forecasters without keys."""
    return Fleet(
        "Forecaster",
        horizon=plan.horizon,
        season=list(plan.season) or None,
        pool=settings.pool,
        coverage=settings.coverage,
        dtype=settings.dtype,
    )


class Part:
    """Forecasters of some keys, and what they have come to.

    Parameters
    ----------
    settings, plan
        Of the fleet.
    data
        What `pack` of an earlier run returned, or `flat`.
    """

    def __init__(self, settings: Settings, plan: Plan, data: bytes | None = None) -> None:
        self.settings, self.plan = settings, plan
        self.keys: list[str] = []
        self.header: dict[str, Any] = {}  # of the caller's, kept with the state
        self.counts = dict.fromkeys(COUNTS, 0)
        self.fleet, self.clocks = build(settings, plan), clocks(0, plan.recent)
        self.memory, self.sums = scores.before(0, plan.period), np.zeros((0, scores.COLUMNS))
        self.watch = None if settings.alerts is None else Watch(settings.alerts)
        if data is not None and container.is_one(data[:_START]):
            self._restore(*container.read(_KIND, _VERSION, data))
        elif data is not None:
            self._restore(*unflatten(data))

    def play(self, rows: Rows) -> tuple[Rounds, Told]:
        """Learn rows; return them as rounds, with what was told of each before it was seen."""
        self._enter(rows.keys)
        places = {key: i for i, key in enumerate(self.keys)}
        own = np.array([places[key] for key in rows.keys], np.int64)
        counts = np.zeros(len(self.keys), np.int64)
        counts[own] = rows.counts  # both are sorted, so that rows stay where they are
        rounds = spread(Rows(self.keys, counts, rows.times, rows.values), self.plan, self.clocks)
        for name in COUNTS:
            self.counts[name] += int(getattr(rounds, name).sum())
        told = Told(*(np.empty(rounds.values.size) for _ in range(3)))
        for keys, own, cells in _blocks(rounds):
            Y = np.full((keys.size, int(rounds.lengths[keys[0]])), np.nan)
            Y[cells, rounds.places[own]] = rounds.values[own]
            names = [self.keys[i] for i in keys.tolist()]
            said = self._shaped(self.fleet.track(names, Y, intervals=True))
            if self.watch is not None:
                seen = self.sums[keys, scores.SEEN] > 0.0
                self.watch.take(names, Y, said.forecast, seen, own, cells, rounds.places[own])
            scores.score(keys, Y, said, self.memory, self.sums)
            for kept, part in zip(told, said, strict=True):
                kept[own] = part[cells, rounds.places[own]]
        return rounds, told

    def ahead(self, some: list[str] | None = None) -> tuple[NDArray[np.int64], Told]:
        """Return which keys, of some, have had a value, and their forecasts (keys, H)."""
        seen = self.sums[:, scores.SEEN] > 0.0
        if some is not None:
            wanted = set(some)
            seen &= np.array([key in wanted for key in self.keys], bool)
        known = np.flatnonzero(seen)
        names, H = [self.keys[i] for i in known.tolist()], self.plan.horizon
        if not names:
            return known, Told(*(np.zeros((0, H)) for _ in range(3)))
        forecast = self.fleet.predict(names, horizon=H)
        return known, self._shaped((forecast, *self.fleet.interval(names, horizon=H)))

    def result(self) -> dict[str, Any]:
        """Return what this part comes to, as plain JSON."""
        found = scores.result(self.keys, self.sums, self.plan.period > 0)
        return {**found, **self.counts, "bytes": self.bytes_per_key}

    @property
    def bytes_per_key(self) -> int:
        """State of one key."""
        watched = 0 if self.watch is None else self.watch.fleet.bytes_per_key
        return self.fleet.bytes_per_key + watched

    def _shaped(self, parts: tuple[Array, ...]) -> Told:
        """Return forecasts and ends as they are told: at 0 or above where that was asked for."""
        if self.settings.nonnegative:
            parts = tuple(np.maximum(part, 0.0) for part in parts)
        return Told(*parts)

    def _enter(self, new: list[str]) -> None:
        """Make room for keys; all are sorted."""
        old = {key: i for i, key in enumerate(self.keys)}
        if all(key in old for key in new):
            return
        keys = sorted({*old, *new})
        own = np.flatnonzero([key in old for key in keys])  # in the same order as before
        blank = clocks(len(keys), self.plan.recent)
        memory = scores.before(len(keys), self.plan.period)
        sums = np.zeros((len(keys), scores.COLUMNS))
        pairs = [*zip(blank, self.clocks, strict=True), *zip(memory, self.memory, strict=True)]
        for wide, narrow in [*pairs, (sums, self.sums)]:
            wide[own] = narrow
        self.keys, self.clocks, self.memory, self.sums = keys, blank, memory, sums

    def pack(self) -> tuple[bytes, memoryview]:
        """Return the state in pieces, under a checksum."""
        return container.write(_KIND, _VERSION, *self._state())

    def flat(self) -> list[bytes | memoryview]:
        """Return the state in pieces, for a store that has checksums of its own: quicker."""
        return flatten(*self._state())

    def _state(self) -> tuple[dict[str, Any], container.Arrays]:
        texts = [key.encode("utf-8", "surrogatepass") for key in self.keys]
        state, places = self.fleet.arrays(), {key: i for i, key in enumerate(self.keys)}
        names = state.pop("keys")
        arrays = {
            "keys": np.frombuffer(b"".join(texts), np.uint8),
            "ends": np.cumsum([len(text) for text in texts], dtype=np.int64),
            "order": np.array([places[name] for name in names], np.int64),
            **self.clocks._asdict(),
            **self.memory._asdict(),
            "sums": self.sums,
        }
        scalars = {}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                arrays[_FLEET + name] = value
            else:
                scalars[name] = encode(value)
        if self.watch is not None:
            arrays |= {_WATCH + name: own for name, own in self.watch.arrays(places).items()}
        kept = {"counts": self.counts, "fleet": scalars, "assumes": self._assumes()}
        return {"own": self.header, **kept}, arrays

    def _assumes(self) -> str:
        """What forecasters must be like for a state to be theirs."""
        config = {**self.fleet.config, "threads": 0}
        if self.settings.alerts is not None:
            config["alerts"] = self.settings.alerts
        return ", ".join(f"{name}={value!r}" for name, value in sorted(config.items()))

    def _restore(self, header: dict[str, Any], arrays: container.Arrays) -> None:
        ends, raw = stored(arrays, "ends", None, dtype=np.int64), arrays["keys"].tobytes()
        cuts = [0, *ends.tolist()]
        self.keys = [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
        n, plan = len(self.keys), self.plan
        if header["assumes"] != self._assumes():
            raise ValueError("it holds other forecasters")
        self.clocks = Clocks(
            stored(arrays, "anchors", n),
            stored(arrays, "latest", n, plan.recent),
            stored(arrays, "rows", n),
        )
        self.memory = scores.Before(
            stored(arrays, "last", n), stored(arrays, "season", n, plan.period)
        )
        self.sums = stored(arrays, "sums", n, scores.COLUMNS)
        self.header = dict(header["own"])
        self.counts = {name: int(header["counts"][name]) for name in COUNTS}
        names = [self.keys[i] for i in stored(arrays, "order", None, dtype=np.int64).tolist()]
        self.fleet.restore(
            {"keys": names, **decode_fields(header["fleet"]), **under(arrays, _FLEET)}
        )
        if self.watch is not None:
            self.watch.restore(self.keys, under(arrays, _WATCH))


def header_of(data: bytes) -> dict[str, Any]:
    """Return the header of a part that was packed; ValueError where it is not whole."""
    header: dict[str, Any] = container.read(_KIND, _VERSION, data)[0]["own"]
    return header


def _blocks(
    rounds: Rounds,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield keys with equally many rounds, their rows, and the place of each row's key in them."""
    lengths, keys = rounds.lengths, rounds.lengths.size
    counts = np.bincount(rounds.codes, minlength=keys)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    sizes = lengths[order]
    rows = np.argsort(lengths[rounds.codes], kind="stable")  # as the keys: they were sorted by key
    stops = np.cumsum(counts[order])
    start, row = 0, 0
    while start < order.size:
        length = int(sizes[start])
        same = int(np.searchsorted(sizes, length, side="right"))
        stop = min(same, start + max(1, CELLS // length))
        own = rows[row : stops[stop - 1]]
        yield order[start:stop], own, np.repeat(np.arange(stop - start), counts[order[start:stop]])
        start, row = stop, int(stops[stop - 1])
