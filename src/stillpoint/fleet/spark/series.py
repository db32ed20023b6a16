"""What runs on Spark's workers for forecasts: the series of a bucket's keys, played and kept."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql.streaming import StatefulProcessor

from stillpoint.fleet.rows import NO_TIME
from stillpoint.fleet.series.parts import Part, Settings
from stillpoint.fleet.series.plan import Plan
from stillpoint.fleet.series.rows import Rows, gathered
from stillpoint.fleet.series.times import ahead
from stillpoint.fleet.spark.files import StateFiles
from stillpoint.fleet.spark.processor import KEY, REASON, TARGET, TIME, seconds
from stillpoint.fleet.waves import numbered
from stillpoint.forecasters.aggregation import LARGEST

STEP, FIGURES = "step", "figures"
TOLD = ("forecast", "lo", "hi")
_LARGE = f"target must be within ±{LARGEST:g}"


@dataclass(frozen=True)
class SeriesJob:
    """The forecasters to run; it travels to the workers.

    Parameters
    ----------
    plan, settings
        Of the fleet.
    buckets
        That its keys are shared out to.
    unit
        Of whole times: "micros" and "days" become seconds.
    moved
        Whether only keys that have had rows are forecast, not all of their buckets.
    states
        A folder for the states; None keeps them in Spark's store.
    """

    plan: Plan
    settings: Settings
    buckets: int
    unit: str
    moved: bool
    states: str | None = None

    @property
    def assumes(self) -> str:
        """What must stay as it is for the life of a checkpoint."""
        return json.dumps([self.plan.header(), self.settings._asdict(), self.buckets, self.states])


class SeriesBucket(StatefulProcessor):  # type: ignore[misc]
    """Forecasters of a bucket's keys: unpacked, fed and packed once a micro-batch."""

    def __init__(self, job: SeriesJob) -> None:
        self.job = job

    def init(self, handle: Any) -> None:
        """Name the state."""
        self._state = handle.getValueState("forecasters", "blob binary, number long, told string")
        self._files = None if self.job.states is None else StateFiles(self.job.states)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Play what has come."""
        stored, bucket, files = self._state.get(), int(key[0]), self._files
        blob, number, told = (None, 0, self.job.assumes) if stored is None else stored
        if told != self.job.assumes:
            raise ValueError(
                "plan, settings, buckets and states must be those of the checkpoint: got"
                f" {self.job.assumes}, begun with {told}; give another checkpointLocation"
            )
        data = None if blob is None else bytes(blob)
        if files is not None and number:
            data = files.read(bucket, number)
            files.drop(bucket, number - 1)
        part = Part(self.job.settings, self.job.plan, data)
        played, pieces = play_series(self.job, part, rows), part.flat()
        if files is not None:
            files.write(bucket, number + 1, pieces)
            pieces = []
        self._state.update((b"".join(pieces), number + 1, told))
        yield played

    def close(self) -> None:
        """Nothing is open."""


def play_series(job: SeriesJob, part: Part, frames: Iterable[Any]) -> Any:
    """Learn the rows of a bucket, each key's in the order of time; return forecasts.

    A row a key and step, and one of step 0 that has the bucket's figures as JSON. Rows of a key
    with the same time are in the order of their targets, so that nothing hangs on Spark's order.
    """
    import pandas as pd

    frame = pd.concat(list(frames), ignore_index=True)
    bucket, whole = int(frame["bucket"].iloc[0]), frame[KEY].dtype.kind == "i"
    rows, reasons = sound(job.unit, frame)
    kept = part.header
    part.header = {
        "rows": int(kept.get("rows", 0)) + len(frame),
        "reasons": dict(Counter(kept.get("reasons", {})) + reasons),
    }
    part.play(rows)
    known, told = part.ahead(rows.keys if job.moved else None)
    H, n = job.plan.horizon, known.size * job.plan.horizon
    own: Any = [part.keys[i] for i in known.tolist()]
    own = np.array(list(map(int, own)), np.int64) if whole else np.array(own, object)
    when = ahead(job.plan, part.clocks.latest[known], job.unit != "days").reshape(-1)
    figures = np.full(n + 1, None, object)
    figures[n] = json.dumps({**part.result(), **part.header})
    return pd.DataFrame(
        {
            "bucket": np.full(n + 1, bucket, np.int32),
            KEY: np.append(np.repeat(own, H), 0 if whole else ""),
            TIME: np.append(_counted(job.unit, when, frame[TIME].dtype), 0),
            STEP: np.append(np.tile(np.arange(1, H + 1, dtype=np.int32), known.size), 0),
            **{
                name: np.append(part.reshape(-1), np.nan)
                for name, part in zip(TOLD, told, strict=True)
            },
            FIGURES: figures,
        }
    )


def sound(unit: str, frame: Any) -> tuple[Rows, Counter[str]]:
    """Return the rows of a frame that can be used, by key, and why others cannot."""
    bad, why = frame[REASON].notna().to_numpy(), frame[REASON].to_numpy(object)
    values = frame[TARGET].to_numpy(np.float64, na_value=np.nan)
    times = frame[TIME].to_numpy()
    endless = ~np.isfinite(times) if times.dtype.kind == "f" else np.zeros(len(frame), bool)
    untimed, large = endless & ~bad, (np.abs(values) > LARGEST) & ~bad & ~endless
    good = ~(bad | untimed | large)
    reasons = Counter(str(text).partition(": got ")[0] for text in why[bad])
    reasons[NO_TIME.partition(": got ")[0]] += int(untimed.sum())
    reasons[_LARGE] += int(large.sum())
    own = frame[good]
    keys, values = own[KEY], values[good]
    order = np.lexsort((values, own[TIME].to_numpy()))
    given: Any = keys.to_numpy() if keys.dtype.kind == "i" else keys.tolist()
    names, codes, _ = numbered(given)
    texts = list(map(str, names.tolist() if isinstance(names, np.ndarray) else names))
    times = seconds(unit, own[TIME].to_numpy())
    return gathered(texts, codes[order], times[order], values[order]), +reasons


def _counted(unit: str, times: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Return times as Spark counts them: inverse of `seconds`."""
    if unit == "micros":
        return np.rint(times * 1e6).astype(np.int64)
    if unit == "days":
        return np.rint(times / 86400.0).astype(np.int64)
    return np.rint(times).astype(np.int64) if kind.kind == "i" else times
