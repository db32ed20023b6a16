"""Messages of the commands, as they are said in Python."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

_GIVEN = re.compile(r"--(task|learner|format|season|predictions) ([a-z]+)\b")
_NUMBER = re.compile(r"--(horizon|delay|level|coverage) ([\d.]*\d)")
_OPTION = re.compile(r"--([a-z]+)")


def in_python(message: str) -> str:
    """Return a message with arguments in place of options."""
    text = message.replace("see --help", "see help(stillpoint.track)")
    text = text.replace("--features ''", "features=()")
    text = text.replace("drop duplicates", "drop duplicates, or aggregate them first")
    text = _GIVEN.sub(r'\1="\2"', text)
    text = _NUMBER.sub(r"\1=\2", text)
    return _OPTION.sub(r"\1", text)


@contextmanager
def python_errors() -> Iterator[None]:
    """Say what is wrong with arguments or data in one line, without the way to it."""
    from stillpoint.commands.errors import InputError

    try:
        yield
    except InputError as error:
        raise ValueError(in_python(str(error))) from None
