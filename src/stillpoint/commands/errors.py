"""How a command ends: errors in one line, exit codes, and Ctrl-C between batches.

Exit codes: 0 done, or `--follow` was stopped; 1 reading or writing failed, or memory ran out;
2 arguments or input cannot be used; 130 interrupted (143: terminated). In every case what was
written is whole.
"""

import errno
import signal
import threading
from collections.abc import Callable, Sequence
from datetime import date
from types import FrameType
from typing import Any, NamedTuple

from stillpoint.core.terminal import forget_unwritten, tell

# errors of a place at which nothing can be done: to run the command again would not help
_BARRED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_NAMED, _LONG = 20, 40  # names, and characters of one, in a message


class InputError(ValueError):
    """Arguments or input that cannot be used: a line with what is wrong, the value, the remedy."""


class ColumnError(InputError):
    """A name that is not that of a column."""


class RowError(InputError):
    """A row that cannot be used.

    Parameters
    ----------
    index
        Its place in the batch; whoever knows the row's number says that.
    what
        What is wrong with it.
    undecided
        Whether it could be read in two ways, and rows after those of the batch might tell.
    """

    def __init__(self, index: int, what: str, undecided: bool = False) -> None:
        super().__init__(what)
        self.index, self.what, self.undecided = index, what, undecided


class ShrunkError(InputError):
    """A followed file that got shorter: where a run stands in it is no place to go on from."""


class Stopped(KeyboardInterrupt):
    """A run that ended early because it was asked to, with all files whole; says how far it got."""


class Stop:
    """The first Ctrl-C asks a run to end between batches; the second ends it at once.

    While in use, `signal` is the number of the interrupt or termination asked for; 0 for none.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():  # others may not
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """End at once if that was asked for: where nothing would be left half done."""
        if self.signal:
            raise KeyboardInterrupt

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number


class Remedies(NamedTuple):
    """What a command advises: the line after an interrupt, and the ends of three others."""

    interrupted: str
    memory: str
    failed: str
    barred: str


EXPLAINED = (KeyboardInterrupt, MemoryError, OSError, ValueError)


def explain(error: BaseException, remedies: Remedies) -> tuple[int, str]:
    """Return the exit code and the line for one of the errors that are `EXPLAINED`.

    The line is empty where nobody is left to read it.
    """
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT, str(error) or remedies.interrupted
    if isinstance(error, MemoryError):
        what = str(error) or "no more was to be had"
        return 1, f"error: memory ran out: {what}; {remedies.memory}"
    if isinstance(error, OSError):
        forget_unwritten()
    if isinstance(error, BrokenPipeError):
        return 1, ""
    if isinstance(error, OSError):
        place = f" ({error.filename})" if error.filename else ""
        what = f"reading or writing failed{place}: {error.strerror or error}"
        barred = error.errno in _BARRED
        return 1, f"error: {what}; {remedies.barred if barred else remedies.failed}"
    return 2, f"error: {error}"


def exit_code(run: Callable[[Stop], None], *, checkpoint: bool, follow: bool = False) -> int:
    """Run a command that writes files from rows; return its exit code, after a line where it fails.

    Parameters
    ----------
    run
        Gets the Stop to look at between batches.
    checkpoint
        Whether the run can go on when the command is given again.
    follow
        Whether to be stopped is how the run is meant to end.
    """
    again = (
        "run it again to go on"
        if checkpoint
        else "run it again; with --checkpoint DIR it can go on"
    )
    remedies = Remedies(
        "interrupted; what was written is whole, run the command again to "
        + ("go on" if checkpoint else "start over"),
        "what was written is whole, choose fewer columns, or use a machine with more",
        f"what was written is whole, {again}",
        "check the path, and who may read and write there",
    )
    stop = Stop()
    try:
        with stop:
            run(stop)
        return 0
    except Stopped as early:
        if follow:
            return 0
        remedy = (
            "run the same command to go on"
            if checkpoint
            else "add --checkpoint DIR to be able to go on"
        )
        return say(f"interrupted: {early}; {remedy}", 128 + stop.signal)
    except EXPLAINED as error:
        code, line = explain(error, remedies)
        if isinstance(error, KeyboardInterrupt):
            code = 128 + (stop.signal or signal.SIGINT)
        return say(line, code) if line else code


def say(message: str, code: int) -> int:
    """Tell the user on standard error; return the code."""
    tell(message, err=True)
    return code


def show_name(name: Any) -> str:
    """Return a name in quotes, for a message; who calls from Python may have given anything."""
    return repr(brief(name) if isinstance(name, str) else name)


def show_names(names: Sequence[str], mark: str = ", ") -> str:
    """Return the first names with `mark` between them, and how many others there are."""
    more = len(names) - _NAMED
    return mark.join(map(brief, names[:_NAMED])) + (f" and {more:,} others" if more > 0 else "")


def brief(name: str) -> str:
    """Return the beginning of a name."""
    return name if len(name) <= _LONG else name[: _LONG - 3] + "..."


def show_cell(cell: Any) -> str:
    """Return a cell for a message."""
    text = " ".join((str(cell) if isinstance(cell, date) else repr(cell)).split())
    return text if len(text) <= 40 else text[:37] + "..."
