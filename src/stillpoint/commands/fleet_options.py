"""What `stillpoint fleet` was asked for, checked before a row is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stillpoint.commands.arguments import horizon, no_column, one_of, periods, rate, share, whole
from stillpoint.commands.dates import check_format
from stillpoint.commands.errors import InputError
from stillpoint.commands.formats import left_out
from stillpoint.commands.options import FORMATS, Options

if TYPE_CHECKING:
    from stillpoint.fleet.rows import RowPlayer
    from stillpoint.fleet.series.parts import Settings
    from stillpoint.losses import Loss

LEARNERS = {
    "tracker": "Tracker",
    "multiscale": "MultiScale",
    "quantile": "QuantileTracker",
    "interval": "IntervalTracker",
    "kernel": "KernelForecaster",
    "forecaster": "Forecaster",
}
POOLS = ("small", "middle")


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
    # of forecasters
    horizon: int | None = None
    season: str | None = None
    pool: str | None = None
    nonnegative: bool = False
    date_format: str | None = None
    forecasts: str | None = None
    predictions: str | None = None
    alerts: float | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        from stillpoint.fleet.named_losses import LOSSES
        from stillpoint.fleet.rows import OUTPUTS

        super().__post_init__()
        one_of("--learner", self.learner, tuple(LEARNERS))
        one_of("--engine", self.engine, ("local", "spark"))
        if self.loss is not None:
            one_of("--loss", self.loss, LOSSES)
        self._check_learner()
        self._check_forecaster()
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
        interval, ahead = self.learner == "interval", self.learner == "forecaster"
        for option, given, fits, who in (
            ("loss", self.loss, LEARNERS[self.learner] in GRADIENT, "tracker and multiscale"),
            ("level", self.level, quantile, "quantile and --loss pinball"),
            ("coverage", self.coverage, interval or ahead, "interval and forecaster"),
            ("forecast", self.forecast, interval, "interval"),
            ("horizon", self.horizon, ahead, "forecaster"),
            ("season", self.season, ahead, "forecaster"),
            ("pool", self.pool, ahead, "forecaster"),
            ("nonnegative", self.nonnegative or None, ahead, "forecaster"),
            ("date-format", self.date_format, ahead, "forecaster"),
            ("forecasts", self.forecasts, ahead, "forecaster"),
            ("predictions", self.predictions, ahead, "forecaster"),
            ("alerts", self.alerts, ahead, "forecaster"),
        ):
            if given is not None and not fits:
                raise InputError(
                    f"--{option} must fit the learner: got {given} for {self.learner};"
                    f" {only(who, 'take' if ' and ' in who else 'takes')}"
                )
        for name, value in (("level", self.level), ("coverage", self.coverage)):
            if value is not None:
                self._set(name, share(f"--{name}", value))

    def _check_forecaster(self) -> None:
        """Check what forecasters are told, and fill in what was not."""
        if self.format is not None:
            one_of("--format", self.format, FORMATS)
        if self.learner != "forecaster":
            return
        if self.engine == "spark":
            for name in ("predictions", "date_format", "alerts"):
                if (given := getattr(self, name)) is not None:
                    raise InputError(
                        f"--{name.replace('_', '-')} must be left out for forecasts on Spark: got"
                        f" {given}; use --engine local"
                    )
            self._set("forecasts", self.forecasts or "parquet")
        self._set("coverage", 0.9 if self.coverage is None else self.coverage)
        self._set("pool", self.pool or "small")
        self._set("forecasts", self.forecasts or "csv")
        one_of("--pool", str(self.pool), POOLS)
        for name in ("forecasts", "predictions"):
            if (given := getattr(self, name)) is not None:
                one_of(f"--{name}", given, ("csv", "parquet"))
        if self.alerts is not None:
            self._set("alerts", rate("--alerts", self.alerts))
        if self.horizon is not None:
            self._set("horizon", horizon(self.horizon))
        self._set("season", None if self.season == "auto" else self.season)
        periods(self.season)
        check_format(self.date_format)

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
    def settings(self) -> "Settings":
        """The forecasters' own."""
        from stillpoint.fleet.series.parts import Settings

        assert self.pool is not None
        assert self.coverage is not None
        return Settings(self.pool, self.coverage, self.nonnegative, alerts=self.alerts)

    @property
    def own_loss(self) -> "Loss | None":
        """The loss of gradient learners."""
        from stillpoint.fleet.named_losses import as_loss

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

    def unused(self, names: Sequence[str]) -> list[str]:
        """Return columns of the input that are not read, without the index of a data frame."""
        left = left_out(names)
        return [name for name in names if name not in self.columns and name not in left]

    def command(self) -> dict[str, Any]:
        """Return what must not change between a run and its continuation."""
        names = ("engine", "key", "target", "time", "forecast", "learner", "loss", "level")
        ahead = ("coverage", "horizon", "season", "pool", "forecasts", "predictions")
        return {
            **{f"--{name}": getattr(self, name) for name in (*names, *ahead)},
            "--nonnegative": self.nonnegative or None,
            "--alerts": self.alerts,
            "--date-format": self.date_format,
            "--out": str(self.out.resolve()),
            "SOURCE": str(Path(self.source).resolve()) if self.source != "-" else "-",
        }
