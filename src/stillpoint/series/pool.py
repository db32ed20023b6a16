"""Pools: which experts a Forecaster has, and at how many horizons they are aggregated.

"full" is for a series that matters, "small" and "middle" for fleets: fewer experts, one knot
beside h = 1, a few kilobytes a series.
"""

from dataclasses import dataclass
from typing import NamedTuple

from stillpoint.series.gains import Model

# structural models (see `gains`): a drifting level with seasons that hardly drift; a slow level
# with seasons that drift; a level with a damped slope; a slow level with deviations that die out; a
# very slow level, for counts with much noise
_FAST = Model(level=0.1, seasons=1e-4)
_SEASONS = Model(level=0.01, seasons=1e-2)
_TREND = Model(level=1.0, seasons=1e-2, damping=0.98, slope=1e-2)
_RETURNS = Model(level=0.01, seasons=1e-4, memory=0.9, deviation=10.0)
_SLOW = Model(level=1e-3, seasons=1e-4)


NAMES = {
    _FAST: "level",
    _SEASONS: "seasons that drift",
    _TREND: "trend",
    _RETURNS: "level with deviations",
    _SLOW: "slow level",
}


class Filter(NamedTuple):
    """A structural filter."""

    log: bool
    model: Model


class Lags(NamedTuple):
    """Lags of an autoregression; m and M are the first and the second season, where they are."""

    near: int | None  # 1, …, near; None: up to m + 1, at least 8 and at most 25
    first: tuple[int, ...] = ()  # m + each
    double: bool = False  # 2m
    second: tuple[int, ...] = ()  # M + each
    alone: int | None = None  # `near` where there is no season


class Regression(NamedTuple):
    """An autoregression; -1 stands for all harmonics, or for the first season as difference."""

    log: bool
    difference: int
    rate: float
    lags: Lags
    harmonics: int = 0  # 0 none, 1 few, -1 all
    products: int = 0
    waves: bool = False
    seasonal: int = 0


class Phase(NamedTuple):
    """A smoother by phase."""

    log: bool
    seasons: int
    level: float
    phase: float
    memory: bool


class Effect(NamedTuple):
    """A filter of the effects of features, beside a level that drifts."""

    log: bool
    level: float  # its drift a round, in units of the noise's variance


_SHORT = Lags(3, (0, 1), double=True, second=(0, 1))
_LONG = Lags(None, (-1, 0, 1), double=True, second=(-1, 0, 1))
_NEAR, _FEW = Lags(3), Lags(3, alone=1)
_SEASON = Lags(3, (0, 1))
_DOZEN = Lags(12, (-1, 0, 1))


@dataclass(frozen=True)
class Pool:
    """A list of experts, and how they are aggregated.

    Attributes
    ----------
    filters, regressions, phases, effects : tuple
        The experts, beside the last value and those of a season ago. Those of logarithms become
        experts of the values where these are not all positive, unless they are there already.
    half : bool
        Whether the only knot beside 1 is about half the horizon; else knots are 1, 2, 3, 4, 6, 8,
        12, … and three quarters of it.
    waiting : int
        How many origins of a knot may wait for their values.
    longest : float
        The longest second season that has lags and phases of its own; harmonics it always has.
    """

    filters: tuple[Filter, ...]
    regressions: tuple[Regression, ...]
    phases: tuple[Phase, ...]
    effects: tuple[Effect, ...] = ()
    half: bool = False
    waiting: int = 48
    longest: float = float("inf")


_LIGHT_FILTERS = (
    Filter(False, _FAST),
    Filter(True, _RETURNS),
    Filter(False, _SLOW),
    Filter(True, _TREND),
)
_LIGHT_REGRESSIONS = (
    Regression(False, 0, 0.999, _SEASON, seasonal=3),
    Regression(False, -1, 0.9999, _SEASON),
)
_LIGHT_EFFECTS = (Effect(False, 0.01),)

POOLS = {
    "full": Pool(
        filters=tuple(
            Filter(log, model)
            for log in (False, True)
            for model in (_FAST, _SEASONS, _TREND, _RETURNS)
        ),
        regressions=(
            Regression(False, 0, 0.9999, _SHORT, harmonics=-1),
            Regression(True, 0, 0.999, _SHORT, harmonics=1),
            Regression(False, 0, 0.9999, _SHORT, harmonics=1, products=12),
            Regression(False, 0, 0.9999, _FEW, harmonics=1),
            Regression(False, 1, 0.999, _LONG),
            Regression(True, -1, 0.9999, _LONG),
            Regression(False, -1, 0.9999, _SHORT),
            Regression(True, 1, 0.99, _SHORT),
            Regression(False, 0, 0.9995, _SHORT, waves=True),
        ),
        phases=(
            Phase(True, 1, 0.2, 0.3, False),
            Phase(False, 2, 0.2, 0.3, False),
            Phase(False, 2, 0.01, 0.1, True),
            Phase(True, 2, 0.2, 0.1, True),
        ),
        effects=tuple(Effect(log, level) for log in (False, True) for level in (0.1, 1e-3)),
    ),
    "middle": Pool(
        filters=_LIGHT_FILTERS,
        regressions=(
            *_LIGHT_REGRESSIONS,
            Regression(False, 0, 0.9995, _NEAR, waves=True),
            Regression(False, 1, 0.999, _DOZEN),
            Regression(False, 0, 0.9999, _SHORT, seasonal=3),
        ),
        phases=(Phase(True, 2, 0.2, 0.1, True),),
        effects=_LIGHT_EFFECTS,
        half=True,
        waiting=8,
        longest=512.0,
    ),
    "small": Pool(
        filters=_LIGHT_FILTERS,
        regressions=_LIGHT_REGRESSIONS,
        phases=(),
        effects=_LIGHT_EFFECTS,
        half=True,
        waiting=8,
        longest=512.0,
    ),
}
