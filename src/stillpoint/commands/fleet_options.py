"""What `stillpoint fleet` was asked for, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stillpoint.commands.options import InputError, named, no_column, one_of, share, whole
from stillpoint.fleet.rows import GRADIENT, LOSSES, OUTPUTS, RowPlayer, as_loss
from stillpoint.losses import Loss

LEARNERS = {
    "tracker": "Tracker",
    "multiscale": "MultiScale",
    "quantile": "QuantileTracker",
    "interval": "IntervalTracker",
    "forecaster": "KernelForecaster",
}
ENGINES = ("local", "spark")


@dataclass(frozen=True)
class FleetOptions:
    """The command's arguments. None: what the learner does by itself."""

    source: str
    key: str
    target: str
    out: Path
    learner: str = "forecaster"
    loss: str | None = None
    level: float | None = None
    coverage: float | None = None
    time: str | None = None
    forecast: str | None = None
    checkpoint: Path | None = None
    engine: str = "local"
    threads: int = 1

    def __post_init__(self) -> None:
        named(self.source)
        one_of("--learner", self.learner, tuple(LEARNERS))
        one_of("--engine", self.engine, ENGINES)
        gradient = LEARNERS[self.learner] in GRADIENT
        if self.loss is not None:
            one_of("--loss", self.loss, LOSSES)
        only = "only {} {} it; leave it out".format
        for option, given, fits, who in (
            ("--loss", self.loss, gradient, only("tracker and multiscale", "take")),
            (
                "--level",
                self.level,
                self.learner == "quantile" or self.loss == "pinball",
                only("quantile and --loss pinball", "take"),
            ),
            ("--coverage", self.coverage, self.learner == "interval", only("interval", "takes")),
            ("--forecast", self.forecast, self.learner == "interval", only("interval", "takes")),
        ):
            if given is not None and not fits:
                raise InputError(
                    f"{option} must fit the learner: got {given} for {self.learner}; {who}"
                )
        for name, given in (("level", self.level), ("coverage", self.coverage)):
            if given is not None:
                object.__setattr__(self, name, share(f"--{name}", given))
        object.__setattr__(
            self, "threads", whole("--threads", self.threads, "give how many cores to use")
        )
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
            raise InputError(
                f"--threads must be at least 1: got {self.threads}; give how many cores to use"
            )
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
        for option, folder in (("--out", self.out), ("--checkpoint", self.checkpoint)):
            if folder is not None and folder.exists() and not folder.is_dir():
                raise InputError(
                    f"{option} must be a folder: got the file {folder}; give another name"
                )

    @property
    def columns(self) -> list[str]:
        """Columns to read: key, target, and time and forecast where there are any."""
        return [
            self.key,
            self.target,
            *(name for name in (self.time, self.forecast) if name is not None),
        ]

    @property
    def config(self) -> dict[str, Any]:
        """The learner's arguments."""
        own = {
            "level": self.level if self.learner == "quantile" else None,
            "coverage": self.coverage,
        }
        return {name: value for name, value in own.items() if value is not None}

    @property
    def own_loss(self) -> Loss | None:
        """The loss of gradient learners."""
        return None if self.loss is None else as_loss(self.loss, self.level)

    def player(self) -> RowPlayer:
        """Learners, new."""
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
        """What must not change between a run and its continuation."""
        own: dict[str, Any] = {"--engine": self.engine}
        own |= {
            "--key": self.key,
            "--target": self.target,
            "--time": self.time,
            "--forecast": self.forecast,
        }
        own |= {
            "--learner": self.learner,
            "--loss": self.loss,
            "--level": self.level,
            "--coverage": self.coverage,
        }
        return {
            **own,
            "--out": str(self.out.resolve()),
            "SOURCE": str(Path(self.source).resolve()) if self.source != "-" else "-",
        }
