"""`stillpoint fleet` on rows: a learner for each key, sums by key, figures at the end."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

import stillpoint
from stillpoint.commands import cells
from stillpoint.commands.checkpoint import Checkpoint, counted, part
from stillpoint.commands.dates import moment
from stillpoint.commands.fleet_job import FleetJob
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.formats import Batch
from stillpoint.commands.moments import SET_BACK, set_back
from stillpoint.commands.session import PREDICTIONS, Session
from stillpoint.commands.sink import cell, lines, quoted, quoted_all
from stillpoint.commands.summary import SUMMARY, readable, show_fleet, write_summary
from stillpoint.core.validation import Array
from stillpoint.fleet.rows import Played, RowPlayer
from stillpoint.fleet.waves import NOT_LATER
from stillpoint.losses import Squared

WORST = 10
ENOUGH = 10  # targets that a key must have had to be among the worst, if any key has so many
SUMS = ("targets", "losses", "hits", "rejected")  # of each key


class Fleet(FleetJob):
    """The learners of many streams, and what they have come to."""

    stale = (SUMMARY,)

    def __init__(self, options: FleetOptions) -> None:
        super().__init__(options)
        self.player, self.sums = options.player(), KeySums()
        self.time_kind = ""
        # whether times are dates with a time zone; not known before the first
        self.zoned: bool | None = None
        # of this run, the first row in local time that is not after the row before it of its key
        self.stuck: datetime | None = None
        others = (options.time, options.target, options.forecast)
        given = [options.key, *(name for name in others if name is not None)]
        names = [*given, *self.player.columns, "rejected"]
        self.header = (",".join(map(quoted, names)) + "\n").encode()

    def play(self, batch: Batch, row: int) -> bytes:
        """See Job; a row that cannot be used is written with the reason, and the others go on."""
        o, columns, reasons = self.options, list(batch.columns), cells.Reasons()
        keys = cells.read_keys(columns.pop(0))
        y = cells.read_floats(columns.pop(0), o.target, reasons)
        texts, numbers, more = [_texts(keys)], [y], {}
        given: Sequence[Any] = ()
        if o.time is not None:
            given = columns.pop(0)
            self.time_kind = self.time_kind or cells.first_time_kind(given)
            if self.zoned is None and self.time_kind == "date":
                self.zoned = cells.first_zone(given)
            more["times"] = cells.read_times(given, o.time, self.time_kind, self.zoned, reasons)
            texts.append(_texts(given))
        if o.forecast is not None:
            more["forecasts"] = cells.read_floats(columns.pop(0), o.forecast, reasons)
            numbers.append(more["forecasts"])
        played = self.player.play(keys, y, **more)
        if self.stuck is None and self.time_kind == "date" and not self.zoned:
            self.stuck = _first_not_later(given, played.rejected)
        played.rejected.update(reasons)  # what a cell held says more than that it was not a number
        self.sums.add(played)
        return _text(texts, numbers, played)

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """See Job."""
        header = {"sums": self.sums.state(), "time_kind": self.time_kind, "zoned": self.zoned}
        learners = np.frombuffer(self.player.pack(), np.uint8)
        return header, {"learners": learners, **self.sums.arrays()}

    def check(self, header: dict[str, Any]) -> None:
        """See Job."""
        sums = part(header, "sums", dict)
        counted("rows", sums["rows"])
        for number in part(sums, "reasons", dict).values():
            counted("reasons", number)
        part(header, "time_kind", str)
        if header["zoned"] not in (None, False, True):
            raise ValueError(f"its header holds {header['zoned']!r} as 'zoned'")

    def restore(self, checkpoint: Checkpoint, header: dict[str, Any], state: Any) -> None:
        """See Job."""
        self.player.unpack(state["learners"].tobytes())
        self.sums.restore(header["sums"], state)
        self.time_kind, self.zoned = header["time_kind"], header["zoned"]

    def finish(self, session: Session) -> dict[str, Any]:
        """See Job."""
        tail = {
            "seconds": session.seconds,
            "rows_per_second": session.rate,
            "files": [PREDICTIONS, SUMMARY],
        }
        if self.stuck is not None and set_back(self.stuck):
            session.notes.append(
                f"rows were rejected because {NOT_LATER}, the first at {self.stuck}; {SET_BACK}"
            )
        figures = {**self.sums.figures(self.player), **tail}
        return summed(self.options, not session.stop.signal, figures)

    def show(self, summary: dict[str, Any]) -> None:
        """See Job."""
        show_fleet(summary)


class KeySums:
    """Sums for each key, by its place in the fleet, and reasons of rejected rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.sums = {name: np.zeros(0) for name in SUMS}
        self.reasons: Counter[str] = Counter()

    def add(self, played: Played) -> None:
        """Add a batch."""
        known = played.slots >= 0
        size = int(played.slots.max(initial=-1)) + 1
        learnt = known & ~np.isnan(played.losses)
        lost = np.zeros(played.losses.size, bool)
        lost[list(played.rejected)] = True
        added = {
            "targets": (learnt, None),
            "losses": (learnt, played.losses),
            "hits": (learnt, played.hits),
            "rejected": (known & lost, None),
        }
        for name, (rows, values) in added.items():
            old = self.sums[name]
            if size > old.size:
                old = np.append(old, np.zeros(max(size, 2 * old.size) - old.size))
            # row after row, so that sums do not depend on how rows were cut into batches
            np.add.at(old, played.slots[rows], 1.0 if values is None else values[rows])
            self.sums[name] = old
        self.rows += played.losses.size
        self.reasons.update(reason.partition(": got ")[0] for reason in played.rejected.values())

    def figures(self, player: RowPlayer) -> dict[str, Any]:
        """Return the `layout` of this run."""
        count, names = len(player.fleet), player.fleet.keys()
        sums = {name: self.sums[name][:count] for name in SUMS}
        targets, losses, rejected = sums["targets"], sums["losses"], sums["rejected"]
        worst = np.flatnonzero(targets >= min(ENOUGH, targets.max(initial=1.0)))
        mean = losses[worst] / targets[worst] if worst.size else losses[worst]
        order = worst[np.argsort(-mean, kind="stable")[:WORST]]
        most = [i for i in np.argsort(-rejected, kind="stable")[:WORST].tolist() if rejected[i] > 0]

        def row(i: int) -> dict[str, Any]:
            return {"key": names[i], **{name: float(values[i]) for name, values in sums.items()}}

        whole = {name: float(values.sum()) for name, values in sums.items()}
        fared, refused = map(row, order.tolist()), map(row, most)
        reasons = dict(self.reasons.most_common())
        return layout(player, self.rows, count, whole, fared, refused, reasons)

    def arrays(self) -> dict[str, Any]:
        """Return the state, for saving."""
        return dict(self.sums)

    def state(self) -> dict[str, Any]:
        """Return what of it is plain JSON."""
        return {"rows": self.rows, "reasons": dict(self.reasons)}

    def restore(self, state: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Restore what `state` and `arrays` returned."""
        self.rows, self.reasons = state["rows"], Counter(state["reasons"])
        self.sums = {name: np.array(arrays[name]) for name in SUMS}


def layout(
    player: RowPlayer,
    rows: int,
    keys: int,
    sums: Mapping[str, float],
    worst: Iterable[Mapping[str, Any]],
    lost: Iterable[Mapping[str, Any]],
    reasons: dict[str, int],
) -> dict[str, Any]:
    """Return a summary's figures: rows, keys, loss, coverage, the worst keys, what was rejected.

    sums: `SUMS` over all keys. worst, lost: the keys to name, each with its own sums. reasons: how
    often each was given.
    """
    total = sums["targets"]
    result: dict[str, Any] = {
        "rows": rows,
        "targets": int(total),
        "keys": keys,
        "loss_name": _loss_name(player),
    }
    result["loss"] = sums["losses"] / total if total else None
    asked = player.fleet.config.get("coverage", player.fleet.config.get("level"))
    if asked is not None:
        result["coverage"] = {"asked": asked, "achieved": sums["hits"] / total if total else None}
    result["worst"] = [
        {
            "key": one["key"],
            "targets": int(one["targets"]),
            "loss": one["losses"] / one["targets"],
            "rejected": int(one["rejected"]),
        }
        for one in worst
    ]
    result["rejected"] = {
        "rows": sum(reasons.values()),
        "reasons": reasons,
        "keys": [{"key": one["key"], "rows": int(one["rejected"])} for one in lost],
    }
    return result


def _loss_name(player: RowPlayer) -> str:
    """Name what the mean is of: half of the squared error must not be taken for all of it."""
    return "loss (half the squared error)" if isinstance(player.loss, Squared) else player.loss_name


def summed(options: FleetOptions, complete: bool, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Write summary.json, the same on every engine; return it."""
    head: dict[str, Any] = {"version": stillpoint.__version__}
    for name in ("source", "engine", "learner", "key", "target", "time"):
        head[name] = getattr(options, name)
    head["source"] = readable(options.source)
    return write_summary(options.out, {**head, "complete": complete, **figures})


def _first_not_later(times: Sequence[Any], rejected: Mapping[int, str]) -> datetime | None:
    """Return the time of the first row that is not after the row before it of its key."""
    rows = [row for row, reason in rejected.items() if reason.startswith(NOT_LATER)]
    return moment(times[min(rows)], None) if rows else None


def _text(texts: Sequence[list[str]], numbers: Sequence[Array], played: Played) -> bytes:
    """Return rows of predictions.csv: columns of text, of numbers, plays and reasons."""
    columns = [*texts, *(list(map(cell, own.tolist())) for own in (*numbers, *played.plays))]
    if not played.rejected:
        return lines(columns, ",")
    reasons = [""] * played.losses.size
    for row, reason in played.rejected.items():
        reasons[row] = quoted(reason)
    return lines(columns, reasons)


def _texts(column: Any) -> list[str]:
    """Return cells as they are to be written."""
    if isinstance(column, np.ndarray):
        return list(map(str, column.tolist()))
    return quoted_all(
        ["" if item is None else item if type(item) is str else str(item) for item in column]
    )
