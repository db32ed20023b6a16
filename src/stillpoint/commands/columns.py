"""Columns of an input by their names: those that nobody would want as features, and names for
messages.
"""

import re
from collections.abc import Sequence
from typing import Any

# what pandas writes for an index, and reads one back as
_INDEX = re.compile(r"|Unnamed: \d+(_level_\d+)?|__index_level_\d+__")
# what `stillpoint streams export` writes, and nothing else
_EXPORTED = re.compile(r"time|[xy]\d*|truth\d*")
_NAMED, _LONG = 20, 40  # names, and characters of one, in a message


def left_out(names: Sequence[str]) -> dict[str, str]:
    """Columns that are no features unless they are asked for, with the reason.

    An index counts rows and would be read as a trend. `truth` is what an exported stream was made
    from: who has a column of that name among others of their own keeps it as a feature.
    """
    asked = "name it in --features to use it"
    index = (
        "without a name it is the index of a data frame, or what one separator too many makes; {}"
    ).format
    found = {
        name: index(asked if name else "name it in the header to use it")
        for name in names
        if _INDEX.fullmatch(name)
    }
    if all(map(_EXPORTED.fullmatch, names)) and any(name.startswith("y") for name in names):
        why = f"in an exported stream it is what the targets were made from; {asked}"
        found |= {name: why for name in names if name.startswith("truth")}
    return found


def show_name(name: Any) -> str:
    """A name in quotes, for a message; who calls from Python may have given anything."""
    return repr(brief(name) if isinstance(name, str) else name)


def show_names(names: Sequence[str], mark: str = ", ") -> str:
    """The first names, for a message, and how many others there are. mark: what is between them."""
    more = len(names) - _NAMED
    return mark.join(map(brief, names[:_NAMED])) + (f" and {more:,} others" if more > 0 else "")


def brief(name: str) -> str:
    """The beginning of a name."""
    return name if len(name) <= _LONG else name[: _LONG - 3] + "..."
