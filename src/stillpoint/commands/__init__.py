"""The commands `stillpoint track` and `stillpoint fleet`, as functions."""

from collections.abc import Sequence
from pathlib import Path

from stillpoint.commands.errors import Stop, exit_code

__all__ = ["fleet", "track"]

# what reads, learns and writes is imported where it is used: it is heavy


def track(
    source: str,
    target: str,
    out: str | Path,
    *,
    time: str | None = None,
    features: str | Sequence[str] | None = None,
    task: str = "regression",
    level: float | None = None,
    coverage: float | None = None,
    delay: int = 0,
    horizon: int | None = None,
    season: str | None = None,
    known: str | Sequence[str] = "",
    nonnegative: bool = False,
    learner: str = "auto",
    date_format: str | None = None,
    format: str | None = None,
    follow: bool = False,
    checkpoint: str | Path | None = None,
    predictions: str = "csv",
    alerts: float | None = None,
    print_json: bool = False,
    quiet: bool = False,
) -> int:
    """Forecast every row of a file before its target is learnt; write predictions and a report.

    A target without other columns, or with times at even distances that never repeat, is a series:
    sp.Forecaster forecasts it many steps ahead. Else it is a regression on the other columns.

    Parameters
    ----------
    source
        A CSV, JSON-lines or Parquet file, by suffix or `format`; "-" is standard input.
    target
        The column to forecast; rows where it is empty are only forecast.
    out
        The folder for predictions, summary and report; "-" writes predictions to standard output
        as JSON lines, after every batch, and nothing else.
    time
        A column of sorted numbers or dates; drift follows the gaps. Rows may share a time
        unless the target is all there is.
    features
        Names, or one string of names with commas; None takes all other columns, and "" or no other
        column makes it a series. Empty feature cells are not seen; a column with words in the
        first row is one-hot encoded, at most 100 words in all.
    task
        regression and interval give a forecast and an interval [lo, hi] of `coverage`; quantile
        forecasts the quantile at `level`, and hi is that quantile corrected so that its share of
        misses is guaranteed; binary gives the probability of class 1 (of 1, true or yes, else of
        the second label to appear).
    level, coverage
        See `task`; 0.9 where they are None. One that the task does not take is refused.
    delay
        The target of row t is learnt after row t + delay was forecast; makes it a regression.
    horizon
        How many steps ahead to forecast a series. None takes a season by the spacing of its times:
        24 hours, 7 days, 52 weeks, 12 months, 4 quarters, else 10 rows.
    season
        Seasons of a series: "auto" finds them, "none" is for none, or periods such as "24,168".
    known
        Names of features that are known ahead, as prices and holidays are: they count at every
        horizon, the others for the next row only.
    nonnegative
        Whether forecasts and intervals of a series are kept at 0 or above.
    learner
        "forecaster" for a series, "regression" for what does not look beyond the next row; "auto"
        decides as above.
    date_format
        The format of times for `strptime`, such as "%d.%m.%Y"; None takes ISO's, or a usual form
        that is found in the first rows.
    format
        csv, jsonl or parquet, where the suffix does not say.
    follow
        Wait for more rows until Ctrl-C, or until the file is deleted; every few seconds the summary
        and metrics.prom, for Prometheus, are written anew.
    checkpoint
        A folder for the state, from which a run that was killed goes on.
    predictions
        How to write predictions: csv or parquet.
    alerts
        The share of rows that may be called unusual where nothing is, such as 0.001: each row that
        does not fit its forecast, and each change of the target (a false one in 10/`alerts` rows or
        more), is a line of alerts.jsonl as soon as its row has come. For numbers, not for `task`
        binary.
    print_json, quiet
        Print the summary as JSON, or nothing but errors.

    Returns
    -------
    int
        The exit code: 0 done; 1 reading or writing failed; 2 arguments or input cannot be used;
        130 interrupted (143: terminated). In every case what was written is whole.
    """

    def run(stop: Stop) -> None:
        from stillpoint.commands.options import TrackOptions

        def listed(names: str | Sequence[str]) -> tuple[str, ...]:
            if isinstance(names, str):
                return tuple(filter(None, map(str.strip, names.split(","))))
            return tuple(names)

        options = TrackOptions(
            source,
            target,
            Path(out),
            time=time,
            features=None if features is None else listed(features),
            task=task,
            level=level,
            coverage=coverage,
            delay=delay,
            horizon=horizon,
            season=season,
            known=listed(known),
            nonnegative=nonnegative,
            learner=learner,
            date_format=date_format,
            format=format,
            follow=follow,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            predictions=predictions,
            alerts=alerts,
        )
        from stillpoint.commands import live, session, tracking

        if options.streams:
            job: tracking.Track = live.StreamedTrack(options)
            session.run(job, stop, print_json=False, quiet=True, kind=live.StreamedSession)
            return
        job = (live.FollowedTrack if follow else tracking.Track)(options)
        session.run(job, stop, print_json=print_json, quiet=quiet)

    return exit_code(run, checkpoint=bool(checkpoint), follow=follow)


def fleet(
    source: str,
    key: str,
    target: str,
    out: str | Path,
    *,
    learner: str = "forecaster",
    loss: str | None = None,
    level: float | None = None,
    coverage: float | None = None,
    time: str | None = None,
    forecast: str | None = None,
    checkpoint: str | Path | None = None,
    engine: str = "local",
    threads: int = 1,
    horizon: int | None = None,
    season: str | Sequence[float] | None = None,
    pool: str | None = None,
    nonnegative: bool = False,
    date_format: str | None = None,
    forecasts: str | None = None,
    predictions: str | None = None,
    alerts: float | None = None,
    format: str | None = None,
    print_json: bool = False,
    quiet: bool = False,
) -> int:
    """Play the rows of a table with a learner for each key, predicting each row before its target.

    Forecasters, the default, look many steps ahead: rows may come in any order, and one forecast a
    key and step is written. The other learners predict the next row of their key, in the order of
    the rows.

    Parameters
    ----------
    source
        A CSV, JSON-lines or Parquet file, a folder of them, played in the order of their names, or
        "-" for CSV from standard input.
    key, target
        The columns that say which stream a row belongs to, and what to predict.
    out
        The folder for forecasts (key, time, step, forecast, lo, hi) and summary.json; of other
        learners predictions.csv (the columns named here, then prediction or lo and hi, then why a
        row was rejected).
    learner, loss, level, coverage
        forecaster, tracker, multiscale, quantile, interval or kernel, and what these take.
    time
        A column of times. Forecasters sort by it and find the slots of each key; for the others it
        must increase for each key.
    forecast
        The column that intervals are around.
    checkpoint
        A folder for the state, from which a run that was killed goes on.
    engine
        local, or spark, which writes predictions, or forecasts, as a folder of Parquet files.
    threads
        Threads of the local engine; the numbers are the same for any.
    horizon, season, nonnegative, date_format
        For forecasters, as for `track`; by default seasons are those of the spacing of dates, or
        found on a sample of the keys.
    pool
        For forecasters: "small" (the default) or "middle".
    forecasts, predictions
        How to write forecasts, csv (the default) or parquet; and predictions of each row, which are
        left out unless this is given.
    alerts
        For forecasters: a share of the rows of all keys, such as 0.0001. Each row that does not fit
        its forecast is a line of alerts.jsonl, as long as about that share of rows is not exceeded.
    format
        csv, jsonl or parquet, where the suffix does not say.
    print_json, quiet
        Print the summary as JSON, or nothing but errors.

    Returns
    -------
    int
        The exit code, as for `track`.
    """

    def run(stop: Stop) -> None:
        from stillpoint.commands.fleet_options import FleetOptions

        options = FleetOptions(
            source,
            target,
            Path(out),
            key=key,
            learner=learner,
            loss=loss,
            level=level,
            coverage=coverage,
            time=time,
            forecast=forecast,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            engine=engine,
            threads=threads,
            horizon=horizon,
            season=season if isinstance(season, str | None) else ",".join(map(str, season)),
            pool=pool,
            nonnegative=nonnegative,
            date_format=date_format,
            forecasts=forecasts,
            predictions=predictions,
            alerts=alerts,
            format=format,
        )
        from stillpoint.commands import fleet_job, fleets, session

        if engine == "spark":
            fleet_job.refuse_inputs(options)
            try:
                from stillpoint.commands import spark
            except ImportError as error:
                raise ValueError(str(error)) from None
            spark.run(options, stop, print_json=print_json, quiet=quiet)
            return
        if learner == "forecaster":
            from stillpoint.commands.forecasts import job

            own = job.Forecasts(options)
            told = {"print_json": print_json, "quiet": quiet}
            session.run(own, stop, **told, kind=job.ForecastSession)
            return
        session.run(fleets.Fleet(options), stop, print_json=print_json, quiet=quiet)

    return exit_code(run, checkpoint=bool(checkpoint))
