"""`stillpoint track`: read, forecast, write; answers with an exit code and one line where something
is wrong.

Exit codes: 0 done, or --follow was stopped; 1 reading or writing failed; 2 arguments or input
cannot be used; 130 a run was interrupted (143: terminated). In every case what was written is
whole.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stillpoint.commands.exits import exit_code, say, stopped
from stillpoint.commands.options import FILES, PARQUET, InputError, Options
from stillpoint.commands.stop import Stop
from stillpoint.core.terminal import tell, tell_json


def track(
    source: str,
    target: str,
    out: str | Path,
    *,
    time: str | None = None,
    features: str | Sequence[str] | None = None,
    task: str = "regression",
    level: float = 0.9,
    coverage: float = 0.9,
    delay: int = 0,
    format: str | None = None,
    follow: bool = False,
    checkpoint: str | Path | None = None,
    predictions: str = "csv",
    print_json: bool = False,
    quiet: bool = False,
) -> int:
    """Forecast every row of `source` before its target is learnt; write predictions, summary and
    report to the folder `out`.

    source: a CSV, JSON-lines or Parquet file, by suffix or `format`; "-" is standard input. target:
    the column to forecast; rows where it is empty are only forecast. time: a column of sorted
    numbers or ISO dates; drift follows the gaps. Rows may share a time unless the target is all
    there is.
    features: names, or one string of names with commas; None takes all other columns, and "" or no
    other column makes it a series. Empty feature cells are not seen; a column with words in the
    first row is one-hot encoded, at most 100 words in all.
    task: regression and interval give a forecast and an interval [lo, hi] of `coverage`; quantile
    forecasts the quantile at `level`, and hi is that quantile corrected so that its share of misses
    is guaranteed; binary gives the probability of class 1 (of 1, true or yes, else of the second
    label to appear). delay: the target of row t is learnt after row t + delay was forecast. follow:
    wait for more rows until Ctrl-C, or until the file is deleted. checkpoint: a folder to go on
    from after a kill. Returns the exit code.
    """

    def run(stop: Stop) -> int:
        names = (
            tuple(filter(None, (name.strip() for name in features.split(","))))
            if isinstance(features, str)
            else features
        )
        chosen = None if names is None else tuple(names)
        folder = None if checkpoint is None else Path(checkpoint)
        shares = level, coverage, delay
        options = Options(
            source,
            target,
            Path(out),
            time,
            chosen,
            task,
            *shares,
            format,
            follow,
            folder,
            predictions,
        )
        return _run(options, stop, print_json, quiet)

    return exit_code(run, bool(checkpoint))


def _run(options: Options, stop: Stop, print_json: bool, quiet: bool) -> int:
    from stillpoint.commands.readers import open_reader

    reader = open_reader(options, stop)
    try:
        while not reader.begin():
            if stop.signal:
                return _stopped(options, stop, "nothing was read")
            if reader.ended:
                raise InputError(
                    f"the input must have a header and rows: got nothing in {options.source}; check"
                    " the file"
                )
        from stillpoint.commands import checkpoint
        from stillpoint.commands.guard import spare
        from stillpoint.commands.session import Session

        spare(options.source, "--out", options.out, (*FILES, PARQUET))
        spare(options.source, "--checkpoint", options.checkpoint, checkpoint.FILES)
        session = Session(options, reader, stop, bar=not quiet and sys.stderr.isatty())
        try:
            session.play()
            if session.rows == 0:
                if stop.signal:
                    return _stopped(options, stop, "no row was read")
                raise InputError(
                    f"the input must have rows: got a header only in {options.source}; check the"
                    " file"
                )
            summary = session.finish()
        finally:
            session.close()
    finally:
        reader.close()
    _answer(summary, options, session.notes, print_json, quiet)
    return (
        _stopped(options, stop, f"stopped after {session.rows:,} rows; all files are whole")
        if stop.signal
        else 0
    )


def _stopped(options: Options, stop: Stop, message: str) -> int:
    if options.follow:
        return 0
    return stopped(message, bool(options.checkpoint), stop)


def _answer(
    summary: dict[str, Any], options: Options, notes: list[str], print_json: bool, quiet: bool
) -> None:
    for note in notes:
        say(f"note: {note}", 0)
    if print_json:
        tell_json(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not quiet:
        from stillpoint.commands.summary import show

        show(summary)
        tell(f"wrote {', '.join(str(options.out / name) for name in summary['files'])}")
