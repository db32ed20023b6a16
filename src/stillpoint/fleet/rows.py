"""Rows of many streams through a fleet, in the order they come."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.validation import Array
from stillpoint.fleet.batch.base import REMEDY
from stillpoint.fleet.fleet import Fleet
from stillpoint.fleet.keys import Slots
from stillpoint.fleet.named_losses import BY_NAME, as_loss
from stillpoint.fleet.waves import LatestTimes, by_place, column, later, numbered, take, waves
from stillpoint.losses import Linear, Log, Loss, Pinball

GRADIENT, DETECTORS = ("Tracker", "MultiScale"), ("Anomalies", "Changes")
# columns of predictions, which those of the input must not be named as
OUTPUTS = ("prediction", "lo", "hi", "rejected")
_LENGTH = struct.Struct("<Q")
_NOT_FINITE = "target must be finite: got {}; leave it empty to forecast only"
NO_TIME = "time must be given: got none; give every row its time"
_ENDLESS = "time must be finite: got {}; repair it"


@dataclass(frozen=True)
class Played:
    """The result of a batch of rows, one value a row.

    NaN stands for no play, or no loss, because the row was rejected or had no target.

    Attributes
    ----------
    plays : tuple of arrays
        (prediction,), or (lo, hi) of intervals.
    losses : array
        The gradient learners' own loss, pinball loss, squared error, or 1 for a miss.
    hits : array of bool
        Whether the target was at or below the quantile, or in the interval.
    slots : array of int
        The place of the row's key in the fleet, −1 for none.
    rejected : dict
        Why a row was not learnt from, by row; rows without a target are not among them.
    """

    plays: tuple[Array, ...]
    losses: Array
    hits: NDArray[np.bool_]
    slots: Slots
    rejected: dict[int, str] = field(default_factory=dict)


class RowPlayer:
    """A fleet that takes rows in order: it predicts each, then learns it.

    Each key meets its rows in the order they come. A row that the learner would refuse is reported
    and skipped. The numbers are those of single learners, however rows are cut into batches.

    Parameters
    ----------
    learner : class or str
        As for `Fleet`.
    loss : Loss or str, optional
        For Tracker and MultiScale, the loss of a prediction: one of sp.losses, or its name
        (absolute, squared, huber).
    threads : int, default 1
        As for `Fleet`.
    **config
        The learner's arguments, with one dimension, level or coverage.
    """

    def __init__(
        self,
        learner: type[Any] | str,
        *,
        loss: Loss | str | None = None,
        threads: int = 1,
        **config: Any,
    ) -> None:
        name = learner if isinstance(learner, str) else getattr(learner, "__name__", "")
        if name in DETECTORS:
            raise ValueError(
                f"learner must be one that predicts: got {name}, whose alarms are no predictions;"
                f' use sp.Fleet("{name}"), or stillpoint fleet --alerts'
            )
        if name == "TrackingForecaster":
            raise ValueError(
                "learner must be one without features for rows: got TrackingForecaster; use"
                " sp.Fleet, whose predict and update take x"
            )
        if name in GRADIENT:
            config = {"dim": 1, **config}
        self.fleet = Fleet(learner, threads=threads, on_bad="skip", **config)
        for part in ("dim", "level", "coverage"):
            if np.ndim(self.fleet.config.get(part, 1)) or (
                part == "dim" and self.fleet.config.get(part, 1) != 1
            ):
                raise ValueError(
                    f"{part} must be one for rows: got {self.fleet.config[part]}; use sp.Fleet for"
                    " several"
                )
        self.kind = name
        self.loss = self._own_loss(loss)
        self._latest = LatestTimes()  # where learners do not keep times themselves

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the plays."""
        return ("lo", "hi") if self.kind == "IntervalTracker" else ("prediction",)

    @property
    def loss_name(self) -> str:
        """The name of the loss."""
        if self.loss is not None:
            return f"{type(self.loss).__name__.lower()} loss"
        return "misses" if self.kind == "IntervalTracker" else "squared error"

    def _own_loss(self, loss: Loss | str | None) -> Loss | None:
        if self.kind in GRADIENT:
            chosen = as_loss("absolute" if loss is None else loss)
            if chosen.labels or isinstance(chosen, Linear | Log):
                raise ValueError(
                    f"loss must be one of a prediction and a number: got {chosen!r}; use one of"
                    f" {', '.join(BY_NAME)}, or sp.losses.Pinball(level)"
                )
            return chosen
        if loss is not None:
            raise ValueError(
                f"loss must be left out for {self.kind}: got {loss!r}; it learns from targets, not"
                " gradients"
            )
        return Pinball(self.fleet.config["level"]) if self.kind == "QuantileTracker" else None

    def play(
        self,
        keys: Sequence[Any] | NDArray[Any],
        targets: ArrayLike,
        *,
        times: ArrayLike | None = None,
        forecasts: ArrayLike | None = None,
    ) -> Played:
        """Predict each row, then learn its target.

        Parameters
        ----------
        keys : array or list
            One key a row.
        targets : array
            One target a row; NaN marks a row to predict only.
        times : array, optional
            One a row, increasing for each key; MultiScale and KernelForecaster follow the gaps.
        forecasts : array, optional
            What IntervalTracker's intervals are around.
        """
        keys = by_place(keys)
        n = len(keys)
        y = column("targets", targets, n)
        when = None if times is None else column("times", times, n)
        if (forecasts is None) == (self.kind == "IntervalTracker"):
            what = "given" if forecasts is None else "left out"
            raise ValueError(
                f"forecasts must be {what} for {self.kind}: got {forecasts!r}; only intervals are"
                " around forecasts"
            )
        centres = None if forecasts is None else column("forecasts", forecasts, n)
        names, codes, rejected = numbered(keys)
        played = Played(
            tuple(np.full(n, np.nan) for _ in self.columns),
            np.full(n, np.nan),
            np.zeros(n, bool),
            np.full(n, -1),
            rejected,
        )
        for row in np.flatnonzero(np.isinf(y)).tolist():
            rejected.setdefault(row, _NOT_FINITE.format(y[row]))
        y = np.where(np.isinf(y), np.nan, y)
        if when is not None:
            for row in np.flatnonzero(~np.isfinite(when)).tolist():
                rejected.setdefault(
                    row, NO_TIME if np.isnan(when[row]) else _ENDLESS.format(when[row])
                )
        timed = self.fleet._batch.timed
        # rows without times, too: a new key must not have the latest time of the one that was
        # retired from its place
        last = None
        if not timed and (when is not None or self._latest):
            last = self._latest.of(self.fleet._index.find(names)[1])
        if last is not None and when is not None and not np.isfinite(when).all():
            # keys without one good time get a place too, as where learners keep times: in the order
            # of all rows
            firsts = np.sort(np.unique(codes, return_index=True)[1])
            self.fleet._enter(take(keys, firsts[codes[firsts] >= 0]))
        for rows in waves(codes):
            if last is not None and when is not None:
                rows = later(rows, codes, when, last, rejected)
            self._wave(keys, rows, y, when if timed else None, centres, played)
        slots = self.fleet._index.find(names)[1]
        played.slots[codes >= 0] = slots[codes[codes >= 0]]
        if last is not None:
            self._latest.keep(slots, last)
        return played

    def _wave(
        self,
        keys: Any,
        rows: Slots,
        y: Array,
        when: Array | None,
        centres: Array | None,
        played: Played,
    ) -> None:
        """One round of keys that differ."""
        if rows.size == 0:
            return
        fleet, rejected = self.fleet, played.rejected
        names = keys if rows.size == len(keys) else take(keys, rows)
        plays = fleet.predict(
            names,
            None if centres is None else centres[rows],
            time=None if when is None else when[rows],
        )
        parts = plays if isinstance(plays, tuple) else (plays.reshape(rows.size),)
        if fleet.rejected:
            kept = np.flatnonzero(~self._report(names, rows, rejected))
            names, rows, parts = take(names, kept), rows[kept], tuple(p[kept] for p in parts)
        for own, part in zip(played.plays, parts, strict=True):
            own[rows] = part
        missing = np.isnan(y[rows])
        if missing.any():
            fleet.skip(take(names, np.flatnonzero(missing)))
            kept = np.flatnonzero(~missing)
            names, rows, parts = take(names, kept), rows[kept], tuple(p[kept] for p in parts)
        targets = y[rows]
        gradient = (
            self.loss.gradient(parts[0], targets)
            if self.loss is not None and self.kind in GRADIENT
            else None
        )
        fleet.update(names, targets if gradient is None else gradient)
        good: Any = slice(None)
        if fleet.rejected:
            good = ~self._report(names, rows, rejected)
        losses, hits = self.score(tuple(part[good] for part in parts), targets[good])
        played.losses[rows[good]], played.hits[rows[good]] = losses, hits

    def score(self, parts: Sequence[Array], y: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Losses and hits of plays that were made for these targets."""
        if self.kind == "IntervalTracker":
            inside = (parts[0] <= y) & (y <= parts[1])
            return (~inside).astype(float), inside
        if self.loss is None:
            return (parts[0] - y) ** 2, np.zeros(y.size, bool)
        return np.asarray(self.loss.value(parts[0], y)), y <= parts[0]

    def _report(self, names: Any, rows: Slots, rejected: dict[int, str]) -> NDArray[np.bool_]:
        """Note what the fleet refused of a wave; returns which rows."""
        reasons = {key: reason.replace(REMEDY, "repair it") for key, reason in self.fleet.rejected}
        given = names.tolist() if isinstance(names, np.ndarray) else names
        lost = np.array([name in reasons for name in given], bool)
        for i in np.flatnonzero(lost).tolist():
            rejected.setdefault(int(rows[i]), reasons[given[i]])
        return lost

    def pack(self) -> bytes:
        """Return all states as bytes."""
        from stillpoint.core.persist import pack

        slots = self.fleet._index.slots()  # in the order in which unpacking gives places out anew
        fleet, last = pack(self.fleet), self._latest.of(slots).astype("<f8").tobytes()
        return _LENGTH.pack(len(fleet)) + fleet + last

    def unpack(self, data: bytes) -> None:
        """Take over the states of a packed player that was built alike."""
        from stillpoint.core.persist import unpack

        problem = (
            f"data must be what RowPlayer.pack returned: got {len(data)} bytes that are not; pack"
            " the player again"
        )
        if len(data) < _LENGTH.size:
            raise ValueError(problem)
        end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        kept, times = unpack(data[_LENGTH.size : end]), data[end:]
        if not isinstance(kept, Fleet) or len(times) != 8 * len(kept):
            raise ValueError(problem)
        if {**kept.config, "threads": 0} != {**self.fleet.config, "threads": 0}:
            raise ValueError(
                f"the learners must be those of the state: got {self.fleet.config}, kept were"
                f" {kept.config}; begin anew"
            )
        self.fleet.restore(kept.arrays())  # the threads stay this player's own
        self._latest = LatestTimes(np.frombuffer(times, "<f8").astype(np.float64))
