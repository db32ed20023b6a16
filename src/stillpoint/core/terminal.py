"""All that commands print goes through here, so that data is shown and never obeyed.

Names of columns, keys, cells and paths may hold anything: codes that clear a terminal or name its
window, marks that turn text round, ends of lines, and what rich takes for a style or an emoji.
Files have them as they are; here they are shown as `repr` would show them, and styles are for what
the package itself says. rich is imported late: most commands that fail do without it.
"""

import json
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def shown(text: str) -> str:
    """Text on one line with nothing but printable characters in it: others as Python writes them,
    such as \\x1b.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def tell(text: str, *, err: bool = False) -> None:
    """One line. Written in one piece: print would write the end of the line by itself, after that
    of other processes.
    """
    _write(shown(text), err)


def tell_json(text: str) -> None:
    """JSON, in which characters that cannot be printed are written as \\u009b and the like; they
    stand within strings.
    """
    _write(
        re.sub(
            r"[^\n -~]",
            lambda one: one[0] if one[0].isprintable() else json.dumps(one[0])[1:-1],
            text,
        ),
        False,
    )


def console(*, err: bool = False) -> "Console":
    """A console of rich that shows text as `shown` does, wherever in a table it is."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> "Text":
            """What all of rich makes of text that has no style yet."""
            return super().render_str(
                shown(text), **options | {"markup": False, "emoji": False, "highlight": False}
            )

    return Plain(stderr=err)


def styled(text: str, style: str) -> "Text":
    """Text in a style, for a console."""
    from rich.text import Text

    return Text(shown(text), style)


def forget_unwritten() -> None:
    """Drop what standard output does not take, on a full disk or with nobody at the end of a pipe.

    Python would try once more as it ends, and fail in words and with an exit code of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def _write(text: str, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()
