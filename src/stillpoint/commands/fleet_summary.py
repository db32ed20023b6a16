"""What a run over many streams came to: sums by key, a summary for JSON, a table for the
terminal.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import stillpoint
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.summary import plain
from stillpoint.core.container import replace
from stillpoint.core.terminal import console, tell
from stillpoint.fleet.rows import Played, RowPlayer
from stillpoint.losses import Squared

SUMMARY = "summary.json"
WORST = 10
ENOUGH = 10  # targets that a key must have had to be among the worst, if any key has so many
SUMS = ("targets", "losses", "hits", "rejected")  # of each key


class Account:
    """Sums by place in the fleet, and reasons of rejected rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.sums = {name: np.zeros(0) for name in SUMS}
        self.reasons: Counter[str] = Counter()

    def add(self, played: Played) -> None:
        """A batch."""
        known = played.slots >= 0
        size = int(played.slots.max(initial=-1)) + 1
        learnt = known & ~np.isnan(played.losses)
        lost = np.zeros(played.losses.size, bool)
        lost[list(played.rejected)] = True
        told = {
            "targets": (learnt, None),
            "losses": (learnt, played.losses),
            "hits": (learnt, played.hits),
            "rejected": (known & lost, None),
        }
        for name, (rows, values) in told.items():
            old = self.sums[name]
            if size > old.size:
                old = np.append(old, np.zeros(max(size, 2 * old.size) - old.size))
            # row after row, so that sums do not depend on how rows were cut into batches
            np.add.at(old, played.slots[rows], 1.0 if values is None else values[rows])
            self.sums[name] = old
        self.rows += played.losses.size
        self.reasons.update(reason.partition(": got ")[0] for reason in played.rejected.values())

    def figures(self, player: RowPlayer) -> dict[str, Any]:
        """`layout` of this run."""
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
        fared = map(row, order.tolist())
        return layout(
            player, self.rows, count, whole, fared, map(row, most), dict(self.reasons.most_common())
        )

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return dict(self.sums)

    def state(self) -> dict[str, Any]:
        """What of it is plain JSON."""
        return {"rows": self.rows, "reasons": dict(self.reasons)}

    def restore(self, state: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Inverse of `state` and `arrays`."""
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
    """The summary's figures: rows, keys, loss, coverage, the keys that fared worst, and what was
    rejected.

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
    """What the mean is of: with the name alone half of the squared error would be taken for all of
    it.
    """
    return "loss (half the squared error)" if isinstance(player.loss, Squared) else player.loss_name


def write_summary(
    options: FleetOptions, complete: bool, figures: Mapping[str, Any]
) -> dict[str, Any]:
    """summary.json, the same on every engine; returns it."""
    head: dict[str, Any] = {
        "version": stillpoint.__version__,
        "source": options.source,
        "engine": options.engine,
    }
    head |= {
        "learner": options.learner,
        "key": options.key,
        "target": options.target,
        "time": options.time,
    }
    summary: dict[str, Any] = plain({**head, "complete": complete, **figures})
    replace(
        options.out / SUMMARY, (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
    )
    return summary


def show(summary: dict[str, Any]) -> None:
    """The table on the terminal."""
    from rich.table import Table

    name = summary["loss_name"]
    tell(
        f"{summary['target']}: {summary['rows']:,} rows of {summary['keys']:,} keys,"
        f" {summary['learner']}"
    )
    table = Table()
    for i, head in enumerate(
        (
            "worst keys",
            "targets",
            f"mean {name}" if name != "misses" else "share of misses",
            "rejected",
        )
    ):
        table.add_column(head, justify="right" if i else "left")
    for row in summary["worst"]:
        table.add_row(
            str(row["key"]), f"{row['targets']:,}", f"{row['loss']:.6g}", f"{row['rejected']:,}"
        )
    loss = "–" if summary["loss"] is None else f"{summary['loss']:.6g}"
    table.add_section()
    table.add_row("all keys", f"{summary['targets']:,}", loss, f"{summary['rejected']['rows']:,}")
    console().print(table)
    coverage = summary.get("coverage")
    if coverage and coverage["achieved"] is not None:
        text = f"coverage {100 * coverage['achieved']:.2f}% for {100 * coverage['asked']:g}% asked"
        tell(text)
    for reason, rows in summary["rejected"]["reasons"].items():
        tell(f"rejected: {_rows(rows)}, because {reason}")
    for row in summary["rejected"]["keys"][:3]:
        tell(f"  key {row['key']}: {_rows(row['rows'])}")
    rate = summary.get("rows_per_second")
    if rate:
        tell(f"{rate:,.0f} rows a second")


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
