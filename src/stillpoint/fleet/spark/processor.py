"""What runs on Spark's workers: rows of a bucket, sorted by time, through its learners."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql.streaming import StatefulProcessor

from stillpoint.fleet.rows import NO_TIME, RowPlayer
from stillpoint.losses import Loss

KEY, TIME, TARGET, CENTRE, REASON = "stream", "moment", "target", "centre", "reason"

# as NO_TIME, a reason that a row has no round at all
NO_KEY = "key must be given: got none; give every row its key"


@dataclass(frozen=True)
class Job:
    """The learners to run; it travels to the workers."""

    learner: str
    loss: Loss | str | None
    config: dict[str, Any]
    columns: tuple[str, ...]
    buckets: int
    unit: str = ""  # of whole times: "micros" and "days" become seconds

    @property
    def assumes(self) -> str:
        """What must stay as it is for the life of a checkpoint."""
        options = ", ".join(f"{name}={value!r}" for name, value in sorted(self.config.items()))
        return f"{self.learner}({options}), loss={self.loss!r}, buckets={self.buckets}"

    def player(self) -> RowPlayer:
        """New learners."""
        return RowPlayer(self.learner, loss=self.loss, **self.config)


class Bucket(StatefulProcessor):  # type: ignore[misc]
    """Learners of a bucket's keys: unpacked, fed and packed once a micro-batch."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def init(self, handle: Any) -> None:
        """Name the state."""
        # names in checkpoints: what was assumed is called "told" there
        self._state = handle.getValueState("learners", "blob binary, told string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Play what has come."""
        player, stored = self.job.player(), self._state.get()
        if stored is not None:
            # with other buckets keys would be looked for where their learners are not
            if stored[1] != self.job.assumes:
                raise ValueError(
                    "learner, config, loss and buckets must be those of the checkpoint: got"
                    f" {self.job.assumes}, begun with {stored[1]}; give another checkpointLocation"
                )
            player.unpack(bytes(stored[0]))
        played = play_bucket(self.job, player, rows)
        if len(player.fleet):
            self._state.update((player.pack(), self.job.assumes))
        yield played

    def close(self) -> None:
        """Nothing is open."""


def play_bucket(job: Job, player: RowPlayer, frames: Iterable[Any]) -> Any:
    """Play the rows of a bucket in the order of their times.

    Ties are in the order of their targets, so that nothing hangs on Spark's order.
    """
    import pandas as pd

    rows = pd.concat(list(frames), ignore_index=True)
    ties = [rows[name].to_numpy() for name in (CENTRE, TARGET) if name in rows]
    rows = rows.iloc[np.lexsort((*ties, rows[TIME].to_numpy()))].reset_index(drop=True)
    lost = rows[REASON].isin((NO_KEY, NO_TIME)).to_numpy()
    whole = rows[KEY].dtype.kind == "i"
    sound = rows[~lost] if lost.any() else rows
    keys = sound[KEY].to_numpy() if whole else sound[KEY].tolist()
    centres = {"forecasts": sound[CENTRE].to_numpy(np.float64)} if CENTRE in rows else {}
    played = player.play(
        keys,
        sound[TARGET].to_numpy(np.float64),
        times=seconds(job.unit, sound[TIME].to_numpy()),
        **centres,
    )
    at = np.flatnonzero(~lost)
    reasons = rows[REASON].to_numpy(object, copy=True)
    for row, reason in played.rejected.items():
        if reasons[at[row]] is None or reasons[at[row]] != reasons[at[row]]:
            reasons[at[row]] = reason
    out = {name: rows[name] for name in (KEY, TIME, TARGET, CENTRE) if name in rows}
    for name, play in zip(player.columns, played.plays, strict=True):
        values = np.full(len(rows), np.nan)
        values[at] = play
        out[name] = values
    return pd.DataFrame({**out, REASON: pd.Series(reasons, dtype=object)})


def seconds(unit: str, times: Any) -> Any:
    """Return times as floats, dates in seconds."""
    if unit == "micros":  # as `stillpoint track` and the local engine count, to the last bit
        return times // 10**6 + times % 10**6 * 1e-6
    return times * 86400.0 if unit == "days" else times.astype(np.float64)
