"""Messages of the commands, as they are said in Python."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillpoint.commands.errors import InputError, show_name
from stillpoint.commands.moments import OFFSETS
from stillpoint.commands.options import FORMATS, TASKS, WAYS

_GIVEN = re.compile(rf"--(task|learner|format) ({'|'.join((*TASKS, *WAYS, *FORMATS))})\b")
_NUMBER = re.compile(r"--(horizon|delay|level|coverage|alerts) ([\d.]*\d)")
_TIME = re.compile(r"give --time (.+?), or")
_FORM = re.compile(r"--date-format '?(%[^';]*?)'?(?=$| or|;)")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
# what is said otherwise altogether
_OTHERS = {
    "see --help": "see help(stillpoint.track)",
    "--features ''": "features=()",
    "stillpoint fleet --key COLUMN": "stillpoint.Fleet",
    "several series in one file": "several series in one table",
    "check the path, or give - for standard input": "check the path",
    "auto, none, or periods of 2 rows or more": '"auto", None, or periods of 2 rows or more',
    "give them such as 24,168": "give them such as [24, 168]",
}


def in_python(message: str, index: str | None = None) -> str:
    """Return a message with arguments in place of options.

    index: the name that the index of a frame goes by, where it is the time.
    """
    for said, instead in _OTHERS.items():
        message = message.replace(said, instead)
    message = _TIME.sub(r'give time="\1", or', message)
    text = _NUMBER.sub(r"\1=\2", _GIVEN.sub(r'\1="\2"', message))
    text = _FORM.sub(r'date_format="\1"', text)
    text = _OPTION.sub(lambda found: found[1].replace("-", "_"), text)
    if index is not None:
        text = text.replace(f"column {show_name(index)} must", "the index must")
        text = text.replace("sort the rows", "give data.sort_index()")
        text = text.replace(OFFSETS, 'give data.tz_localize(ZONE, ambiguous="infer")')
    return text


def counted(number: int, what: str) -> str:
    """Return how many there are, in words."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def alarms(told: dict[str, Any]) -> str:
    """Return how many alarms there were of each kind, in words. told: as the summary has them."""
    unusual = counted(told["anomalies"], "unusual row")
    return f"alerts: {unusual}, {counted(told['changes'], 'change')}"


@contextmanager
def python_errors(index: str | None = None) -> Iterator[None]:
    """Say what is wrong with arguments or data in one line, without the way to it."""
    try:
        yield
    except InputError as error:
        raise ValueError(in_python(str(error), index)) from None
