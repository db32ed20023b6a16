"""What `stillpoint track` was asked for, checked before a row is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from stillpoint.commands.arguments import horizon, no_column, one_of, periods, rate, share, whole
from stillpoint.commands.dates import check_format
from stillpoint.commands.errors import InputError, show_name
from stillpoint.commands.formats import left_out

WAYS = ("auto", "forecaster", "regression")
TASKS = ("regression", "binary", "quantile", "interval")
FORMATS = ("csv", "jsonl", "parquet")
_MOST_DELAY = 10**8, 10**5  # with intervals: a tracker waits with each row


class Shares(NamedTuple):
    """Shares of targets: below a quantile, and inside an interval."""

    level: float = 0.9
    coverage: float = 0.9


@dataclass(frozen=True)
class Options:
    """Arguments of both commands: the input, the column to predict, where files go."""

    source: str
    target: str
    out: Path
    time: str | None = field(default=None, kw_only=True)
    checkpoint: Path | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise InputError(
                f"the input must be named by text: got {type(self.source).__name__}; give"
                " str(path), or hand data to stillpoint.track"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_out(self) -> None:
        if self.out.exists() and not self.out.is_dir():
            raise InputError(f"--out must be a folder: got the file {self.out}; give another name")


@dataclass(frozen=True, kw_only=True)
class TrackOptions(Options):
    """Arguments of `track`.

    features: None for all other columns. level: of a quantile. coverage: of an interval; where they
    are None both are 0.9 once it is made, as checkpoints have them. learner, horizon, season,
    known, nonnegative: of a series; None and "auto" are told from the input. alerts: a share of
    rows; None for none.
    """

    features: tuple[str, ...] | None = None
    task: str = "regression"
    level: float | None = None
    coverage: float | None = None
    delay: int = 0
    format: str | None = None
    follow: bool = False
    predictions: str = "csv"
    learner: str = "auto"
    horizon: int | None = None
    season: str | None = None
    known: tuple[str, ...] = ()
    nonnegative: bool = False
    date_format: str | None = None
    alerts: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--task", self.task, TASKS)
        one_of("--predictions", self.predictions, ("csv", "parquet"))
        if self.format is not None:
            one_of("--format", self.format, FORMATS)
        self._check_shares()
        remedy = "give how many rows later targets are known"
        self._set("delay", whole("--delay", self.delay, remedy))
        if self.delay < 0:
            raise InputError(f"--delay must not be negative: got {self.delay}; {remedy}")
        most = _MOST_DELAY[self.task in ("regression", "interval")]
        if self.delay > most:
            raise InputError(
                f"--delay must be at most {most}: got {self.delay}; so many rows are kept in memory"
            )
        if self.time == self.target:
            raise InputError(
                f"--time must not be the target: got {self.time!r}; name the column of times, or"
                " leave it out"
            )
        for name in self.features or ():
            if name in (self.target, self.time):
                raise InputError(
                    f"--features must not hold the target or the time: got {name!r}; leave it out"
                )
        if self.features is not None and len(set(self.features)) < len(self.features):
            raise InputError(
                f"--features must differ: got {','.join(self.features)}; name each column once"
            )
        check_format(self.date_format)
        if self.alerts is not None:
            self._set("alerts", rate("--alerts", self.alerts))
            if self.task == "binary":
                raise InputError(
                    "--alerts must be for numbers: got it with --task binary; leave one of them out"
                )
        self._check_series()
        if self.streams and (self.checkpoint is not None or self.predictions != "csv"):
            other = "--checkpoint" if self.checkpoint is not None else "--predictions"
            raise InputError(f"{other} must go with a folder: got --out -; name a folder as --out")
        self._check_out()

    def _check_shares(self) -> None:
        """Refuse shares that are none, or of another task, which would change nothing."""
        quantile, interval = self.task == "quantile", self.task in ("regression", "interval")
        for name, fits, who in (
            ("level", quantile, "--task quantile takes"),
            ("coverage", interval, "--task regression and interval take"),
        ):
            given = getattr(self, name)
            if given is None:
                self._set(name, Shares._field_defaults[name])
                continue
            self._set(name, share(f"--{name}", given))
            if not fits:
                raise InputError(
                    f"--{name} must fit the task: got {given} with --task {self.task}; only {who}"
                    " it, leave it out"
                )

    def _check_series(self) -> None:
        """Refuse what a series cannot have, and options of a series for what is none."""
        one_of("--learner", self.learner, WAYS)
        if self.horizon is not None:
            self._set("horizon", horizon(self.horizon))
        periods(self.season)
        if self.series_only and not self.may_be_series:
            other = "--task binary" if self.task == "binary" else f"--delay {self.delay}"
            other = "--learner regression" if self.learner == "regression" else other
            raise InputError(
                f"{self.series_only[0]} must be for a series: got it with {other}; leave one of"
                " them out"
            )

    @property
    def shares(self) -> Shares:
        """Level and coverage, as given or filled in."""
        assert self.level is not None
        assert self.coverage is not None
        return Shares(self.level, self.coverage)

    @property
    def streams(self) -> bool:
        """Whether predictions go to standard output."""
        return str(self.out) == "-"

    @property
    def may_be_series(self) -> bool:
        """Whether sp.Forecaster can do what was asked for."""
        return self.task != "binary" and self.delay == 0 and self.learner != "regression"

    @property
    def series_only(self) -> list[str]:
        """Options given that only a series has."""
        given = {
            "--learner forecaster": self.learner == "forecaster",
            "--horizon": self.horizon is not None,
            "--season": self.season is not None,
            "--known": bool(self.known),
            "--nonnegative": self.nonnegative,
        }
        return [option for option, is_given in given.items() if is_given]

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the features among the input's columns; refuse names that are not there."""
        known = set(names)
        asked = [("--target", self.target)] + [("--features", name) for name in self.features or ()]
        for option, name in [*asked, *([("--time", self.time)] if self.time is not None else [])]:
            if option == "--target" and name not in known and {*str(name).split(",")} <= known:
                raise InputError(
                    f"--target must be one column: got {show_name(name)}; forecast one a run"
                )
            if name not in known:
                raise no_column(option, "a column", name, names)
        out = {self.target, self.time, *left_out(names)}
        others = tuple(name for name in names if name not in out)
        found = others if self.features is None else self.features
        for name in self.known:
            if name in (self.target, self.time):
                which = "target" if name == self.target else "time"
                raise InputError(
                    f"--known must be a feature: got {show_name(name)}, which is the {which}; leave"
                    " it out"
                )
            if name not in found:
                raise no_column("--known", "a feature", name, found)
        return found

    def notes(self, names: Sequence[str]) -> list[str]:
        """Say which columns are no features although nobody said so, and why."""
        left = left_out(names) if self.features is None else {}
        own = (self.target, self.time)
        return [
            f"column {show_name(name)} is no feature: {why}"
            for name, why in left.items()
            if name not in own
        ]
