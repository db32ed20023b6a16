"""`stillpoint fleet`: read, predict, learn, write; answers with an exit code and one line where
something is wrong.

Exit codes: 0 done; 1 reading or writing failed; 2 arguments or input cannot be used; 130
interrupted (143: terminated). In every case what was written is whole.
"""

import json
import sys
from pathlib import Path
from typing import Any

from stillpoint.commands.exits import exit_code, stopped
from stillpoint.commands.fleet_options import FleetOptions
from stillpoint.commands.stop import Stop
from stillpoint.core.terminal import tell, tell_json


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
    print_json: bool = False,
    quiet: bool = False,
) -> int:
    """One learner a key over the rows of `source`: each row is predicted before its target is
    learnt.

    source: a CSV, JSON-lines or Parquet file, a folder of them, played in the order of their names,
    or "-" for CSV from standard input. The folder `out` gets predictions (the columns named here,
    then prediction or lo and hi, then why a row was rejected) and summary.json. time: increasing
    for each key. checkpoint: a folder to go on from after a kill. engine: local, or spark, which
    writes predictions as a folder of Parquet files. Returns the exit code.
    """

    def run(stop: Stop) -> int:
        folder = None if checkpoint is None else Path(checkpoint)
        options = FleetOptions(
            source,
            key,
            target,
            Path(out),
            learner,
            loss,
            level,
            coverage,
            time,
            forecast,
            folder,
            engine,
            threads,
        )
        return _run(options, stop, print_json, quiet)

    return exit_code(run, bool(checkpoint))


def _run(options: FleetOptions, stop: Stop, print_json: bool, quiet: bool) -> int:
    bar = not quiet and sys.stderr.isatty()
    _spare(options)
    if options.engine == "spark":
        try:
            from stillpoint.commands.spark_session import run
        except ImportError as error:
            raise ValueError(str(error)) from None
        summary = run(options, stop, bar)
    else:
        from stillpoint.commands.fleet_session import LocalRun

        local = LocalRun(options, stop, bar)
        try:
            local.play()
            summary = local.finish()
        finally:
            local.close()
    _answer(summary, options, print_json, quiet)
    if not stop.signal:
        return 0
    return stopped(
        f"stopped after {summary['rows']:,} rows; all files are whole",
        bool(options.checkpoint),
        stop,
    )


def _spare(options: FleetOptions) -> None:
    """Refuse outputs that are the input, or that would be inputs of the next run."""
    from stillpoint.commands import checkpoint
    from stillpoint.commands.fleet_files import inputs
    from stillpoint.commands.fleet_summary import SUMMARY
    from stillpoint.commands.guard import spare, spare_folder, spare_tree

    spark = options.engine == "spark"
    written = ("spark.log", SUMMARY) if spark else ("predictions.csv", SUMMARY)
    for option, folder, names, tree in (
        ("--out", options.out, written, "predictions"),
        ("--checkpoint", options.checkpoint, checkpoint.FILES, "spark"),
    ):
        if options.source != "-":
            spare_folder(options.source, option, folder)
        for file in inputs(options.source):
            spare(file, option, folder, names)
            if spark and file != "-":  # which deletes what a run before it left there
                spare_tree(file, option, folder, tree)


def _answer(summary: dict[str, Any], options: FleetOptions, print_json: bool, quiet: bool) -> None:
    if print_json:
        tell_json(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not quiet:
        from stillpoint.commands.fleet_summary import show

        show(summary)
        tell(f"wrote {', '.join(str(options.out / name) for name in summary['files'])}")
