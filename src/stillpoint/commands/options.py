"""What `stillpoint track` and `stillpoint fleet` were asked for, checked before a row is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stillpoint.commands.arguments import no_column, one_of, periods, share, whole
from stillpoint.commands.dates import check_format
from stillpoint.commands.errors import InputError, show_name
from stillpoint.commands.formats import left_out

if TYPE_CHECKING:
    from stillpoint.fleet.rows import RowPlayer
    from stillpoint.losses import Loss

WAYS = ("auto", "forecaster", "regression")
TASKS = ("regression", "binary", "quantile", "interval")
FORMATS = ("csv", "jsonl", "parquet")
LEARNERS = {
    "tracker": "Tracker",
    "multiscale": "MultiScale",
    "quantile": "QuantileTracker",
    "interval": "IntervalTracker",
    "forecaster": "KernelForecaster",
}
_MOST_DELAY = 10**8, 10**5  # with intervals: a tracker waits with each row
MOST_AHEAD = 10_000  # steps of a horizon


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

    features: None for all other columns. level: of a quantile. coverage: of an interval. learner,
    horizon, season, known, nonnegative: of a series; None and "auto" are told from the input.
    """

    features: tuple[str, ...] | None = None
    task: str = "regression"
    level: float = 0.9
    coverage: float = 0.9
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

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--task", self.task, TASKS)
        one_of("--predictions", self.predictions, ("csv", "parquet"))
        if self.format is not None:
            one_of("--format", self.format, FORMATS)
        self._set("level", share("--level", self.level))
        self._set("coverage", share("--coverage", self.coverage))
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
        self._check_series()
        self._check_out()

    def _check_series(self) -> None:
        """Refuse what a series cannot have, and options of a series for what is none."""
        one_of("--learner", self.learner, WAYS)
        if self.horizon is not None:
            remedy = f"give how many rows ahead to forecast, at most {MOST_AHEAD:,}"
            self._set("horizon", whole("--horizon", self.horizon, remedy))
            if not 1 <= self.horizon <= MOST_AHEAD:
                raise InputError(f"--horizon must be 1 or more: got {self.horizon}; {remedy}")
        periods(self.season)
        if self.series_only and not self.may_be_series:
            other = "--task binary" if self.task == "binary" else f"--delay {self.delay}"
            other = "--learner regression" if self.learner == "regression" else other
            raise InputError(
                f"{self.series_only[0]} must be for a series: got it with {other}; leave one of"
                " them out"
            )

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
            if name not in known:
                raise no_column(option, "a column", name, names)
        out = {self.target, self.time, *left_out(names)}
        others = tuple(name for name in names if name not in out)
        found = others if self.features is None else self.features
        for name in self.known:
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


@dataclass(frozen=True, kw_only=True)
class FleetOptions(Options):
    """Arguments of `fleet`; None stands for what the learner does by itself."""

    key: str
    learner: str = "forecaster"
    loss: str | None = None
    level: float | None = None
    coverage: float | None = None
    forecast: str | None = None
    engine: str = "local"
    threads: int = 1

    def __post_init__(self) -> None:
        from stillpoint.fleet.rows import LOSSES, OUTPUTS

        super().__post_init__()
        one_of("--learner", self.learner, tuple(LEARNERS))
        one_of("--engine", self.engine, ("local", "spark"))
        if self.loss is not None:
            one_of("--loss", self.loss, LOSSES)
        self._check_learner()
        cores = "give how many cores to use"
        self._set("threads", whole("--threads", self.threads, cores))
        if self.loss == "pinball" and self.level is None:
            raise InputError(
                "--level must be given with --loss pinball: got none; give the quantile to follow,"
                " such as 0.9"
            )
        if self.learner == "interval" and self.forecast is None:
            raise InputError(
                "--forecast must be given for interval: got none; name the column that intervals"
                " are around"
            )
        if self.engine == "spark" and self.time is None:
            raise InputError(
                "--time must be given on Spark, which keeps no order of rows: got none; name a time"
                " or a row number"
            )
        if self.engine == "spark" and self.threads != 1:
            raise InputError(
                f"--threads must be left out on Spark: got {self.threads}; Spark shares the work"
                " out itself"
            )
        if self.threads < 1:
            raise InputError(f"--threads must be at least 1: got {self.threads}; {cores}")
        if len(set(self.columns)) < len(self.columns):
            raise InputError(
                "--key, --target, --time and --forecast must differ: got"
                f" {', '.join(self.columns)}; name each once"
            )
        for name in self.columns:
            if name in OUTPUTS:
                raise InputError(
                    f"columns must not be named as an output: got {name!r}; rename it in the input"
                )
        self._check_out()

    def _check_learner(self) -> None:
        """Refuse options that the learner does not take, and shares that are none."""
        from stillpoint.fleet.rows import GRADIENT

        only = "only {} {} it; leave it out".format
        quantile = self.learner == "quantile" or self.loss == "pinball"
        interval = self.learner == "interval"
        for option, given, fits, who in (
            ("loss", self.loss, LEARNERS[self.learner] in GRADIENT, "tracker and multiscale"),
            ("level", self.level, quantile, "quantile and --loss pinball"),
            ("coverage", self.coverage, interval, "interval"),
            ("forecast", self.forecast, interval, "interval"),
        ):
            if given is not None and not fits:
                raise InputError(
                    f"--{option} must fit the learner: got {given} for {self.learner};"
                    f" {only(who, 'takes' if who == 'interval' else 'take')}"
                )
        for name, value in (("level", self.level), ("coverage", self.coverage)):
            if value is not None:
                self._set(name, share(f"--{name}", value))

    @property
    def columns(self) -> list[str]:
        """Columns to read: key, target, and time and forecast where there are any."""
        others = (self.time, self.forecast)
        return [self.key, self.target, *(name for name in others if name is not None)]

    @property
    def config(self) -> dict[str, Any]:
        """The learner's arguments."""
        level = self.level if self.learner == "quantile" else None
        own = {"level": level, "coverage": self.coverage}
        return {name: value for name, value in own.items() if value is not None}

    @property
    def own_loss(self) -> "Loss | None":
        """The loss of gradient learners."""
        from stillpoint.fleet.rows import as_loss

        return None if self.loss is None else as_loss(self.loss, self.level)

    def player(self) -> "RowPlayer":
        """Return learners, new."""
        from stillpoint.fleet.rows import RowPlayer

        return RowPlayer(
            LEARNERS[self.learner], loss=self.own_loss, threads=self.threads, **self.config
        )

    def check(self, names: Sequence[str], file: str) -> None:
        """Refuse columns that are not among those of the input."""
        for option, name in zip(
            ("--key", "--target", "--time", "--forecast"),
            (self.key, self.target, self.time, self.forecast),
            strict=True,
        ):
            if name is not None and name not in names:
                raise no_column(option, f"a column of {file}", name, names)

    def command(self) -> dict[str, Any]:
        """Return what must not change between a run and its continuation."""
        names = ("engine", "key", "target", "time", "forecast", "learner", "loss", "level")
        return {
            **{f"--{name}": getattr(self, name) for name in (*names, "coverage")},
            "--out": str(self.out.resolve()),
            "SOURCE": str(Path(self.source).resolve()) if self.source != "-" else "-",
        }
