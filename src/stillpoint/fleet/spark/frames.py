"""Data frames through fleets: rows go to buckets by their keys, one piece of state a bucket."""

from typing import Any

from stillpoint.fleet.rows import RowPlayer
from stillpoint.fleet.spark.columns import BUCKET, Columns, counted
from stillpoint.fleet.spark.processor import Bucket, Job, play_bucket
from stillpoint.fleet.spark.session import check
from stillpoint.losses import Loss


def stream(
    frame: Any,
    learner: type[Any] | str,
    *,
    key: str,
    target: str,
    time: str,
    forecast: str | None = None,
    loss: Loss | str | None = None,
    buckets: int = 64,
    **config: Any,
) -> Any:
    """Predict the rows of a streaming frame, each before its target is learnt.

    Parameters
    ----------
    frame : streaming DataFrame
        The rows.
    learner : type or str
        The learner of each key, as for `RowPlayer`.
    key : str
        A column of whole numbers or text.
    target : str
        A column of numbers, or text of them; null or NaN is a row to predict only.
    time : str
        A column of numbers, timestamps or dates that increase for each key. Spark keeps no order
        of rows, so this column gives it: a micro-batch is played in its order, and a row that is
        not after the last one of its key is rejected.
    forecast : str, optional
        A column of forecasts, for IntervalTracker.
    loss : Loss or str, optional
        As for `RowPlayer`.
    buckets : int, default 64
        Pieces that keys are shared out to; fixed for the life of a checkpoint, as are learner and
        config.
    **config
        Arguments of the learner.

    Returns
    -------
    streaming DataFrame
        A row for every row: key, time, target (and forecast) as they came; prediction, or lo and
        hi; rejected: why a row was not learnt from, or null.
    """
    columns = Columns(frame, key, target, time, forecast)
    job = _job(learner, loss, columns, buckets, config)
    check(frame.sparkSession)
    if not frame.isStreaming:
        raise ValueError(
            "frame must be a streaming one: got one that is not; read it by spark.readStream, or"
            " use batch"
        )
    given = columns.enter(frame, job.buckets).groupBy(BUCKET)
    schema = columns.schema(job.columns)
    played = given.transformWithStateInPandas(Bucket(job), schema, "append", "none")
    return columns.leave(played, job.columns)


def batch(
    frame: Any,
    learner: type[Any] | str,
    *,
    key: str,
    target: str,
    time: str,
    forecast: str | None = None,
    loss: Loss | str | None = None,
    buckets: int = 64,
    **config: Any,
) -> Any:
    """Predict the rows of a static frame, as in a back-test: the numbers of `stream`.

    Parameters are those of `stream`. A bucket's rows are in memory at once: with long histories
    give more buckets.
    """
    columns = Columns(frame, key, target, time, forecast)
    job = _job(learner, loss, columns, buckets, config)
    if frame.isStreaming:
        raise ValueError(
            "frame must be all there: got a streaming one; read it by spark.read, or use stream"
        )

    def play(rows: Any) -> Any:
        return play_bucket(job, job.player(), [rows])

    given = columns.enter(frame, job.buckets).groupBy(BUCKET)
    return columns.leave(given.applyInPandas(play, columns.schema(job.columns)), job.columns)


def _job(
    learner: type[Any] | str,
    loss: Loss | str | None,
    columns: Columns,
    buckets: int,
    config: dict[str, Any],
) -> Job:
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", str(learner))
    # what cannot be built is refused here, not on some worker
    player = RowPlayer(learner, loss=loss, **config)
    if (columns.forecast is None) == (name == "IntervalTracker"):
        what = "given" if columns.forecast is None else "left out"
        raise ValueError(
            f"forecast must be {what} for {name}: got {columns.forecast!r}; only intervals are"
            " around forecasts"
        )
    return Job(name, loss, config, player.columns, counted(buckets), columns.unit)
