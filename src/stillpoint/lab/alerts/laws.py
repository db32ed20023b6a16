"""Laws of noise: streams without change, whose noise has mean 0 and variance 1.

Nine are those by which the detectors were designed; four more chose nothing, and are never to be
tuned on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from stillpoint.core.array import Array
from stillpoint.core.words import suggest
from stillpoint.lab.alerts._laws import garch

DAY, WEEK = 24, 168
KNOWN, UNSEEN = "known", "unseen"
_BEFORE = 500  # rows of GARCH that are thrown away: it starts at its mean spread
_MEAN = 3  # of Poisson: so small that one row in five has the value of the one before

Noise = Callable[[np.random.Generator, int], Array]
Season = Callable[[Array], Array]


def _none(when: Array) -> Array:
    return np.zeros(when.shape)


@dataclass(frozen=True)
class Law:
    """How a stream without change is drawn: y_t = season(t) + noise_t, on a lattice or not.

    Parameters
    ----------
    noise
        Draws that many rows of it, of mean 0 and variance 1.
    season
        What is added at times t.
    period
        Of the season; 1 if there is none.
    step
        Values are multiples of it; 0 if they are not rounded.
    """

    name: str
    group: str
    description: str
    noise: Noise
    season: Season = _none
    period: int = 1
    step: float = 0.0

    def draw(self, seed: int, rounds: int) -> Array:
        """Draw the noise of a stream; each law and seed has its own."""
        return self.noise(np.random.default_rng([seed, *self.name.encode()]), rounds)

    def observe(self, values: Array) -> Array:
        """Round values to the law's lattice, if it has one."""
        return values if self.step == 0.0 else np.rint(values / self.step) * self.step


def _normal(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_normal(n)


def _t3(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_t(3, n) / math.sqrt(3.0)


def _poisson(rng: np.random.Generator, n: int) -> Array:
    return (rng.poisson(_MEAN, n) - _MEAN) / math.sqrt(_MEAN)


def _lognormal(rng: np.random.Generator, n: int) -> Array:
    return (np.exp(rng.standard_normal(n)) - math.exp(0.5)) / math.sqrt((math.e - 1.0) * math.e)


def _garch(rng: np.random.Generator, n: int) -> Array:
    return garch(rng.standard_normal(_BEFORE + n), 0.1, 0.85)[_BEFORE:]


def _autoregression(phi: float) -> Noise:
    """x_t = φ·x_{t−1} + ε_t, from its stationary law on."""

    def noise(rng: np.random.Generator, n: int) -> Array:
        e = rng.standard_normal(n)
        e[1:] *= math.sqrt(1.0 - phi * phi)
        found: Array = lfilter([1.0], [1.0, -phi], e)
        return found

    return noise


def _moving_average(rng: np.random.Generator, n: int) -> Array:
    e = rng.standard_normal(n + 1)
    found: Array = (e[1:] - 0.7 * e[:-1]) / math.sqrt(1.49)
    return found


def _two_scales(rng: np.random.Generator, n: int) -> Array:
    scale = np.where(rng.random(n) < 0.1, 5.0, 1.0)
    found: Array = scale * rng.standard_normal(n) / math.sqrt(0.9 + 0.1 * 25.0)
    return found


def _day(when: Array) -> Array:
    angle = 2.0 * math.pi * when / DAY
    return 2.0 * np.sin(angle) + np.sin(2.0 * angle + 1.0)


def _hours(when: Array) -> Array:
    return _day(when) + 3.0 * ((when % WEEK < 5 * DAY) - 5.0 / 7.0)


def _workdays(when: Array) -> Array:
    """A day's wave, three times as high from Monday to Friday as at the weekend."""
    return np.where(when % WEEK < 5 * DAY, 3.0, 1.0) * np.sin(2.0 * math.pi * when / DAY)


LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        Law("normal", KNOWN, "independent, normal", _normal),
        Law("t3", KNOWN, "independent, Student's t with 3 degrees of freedom", _t3),
        Law("AR .8", KNOWN, "autoregression of order 1, correlation 0.8", _autoregression(0.8)),
        Law("AR .99", KNOWN, "the same, correlation 0.99", _autoregression(0.99)),
        Law(
            "Poisson",
            KNOWN,
            f"independent counts of mean {_MEAN}; what moves them is rounded to whole counts",
            _poisson,
            step=1.0 / math.sqrt(_MEAN),
        ),
        Law("lognormal", KNOWN, "independent, exp of a standard normal", _lognormal),
        Law(
            "season",
            KNOWN,
            f"a season of {DAY} rows, 2 sin + a second harmonic of 1, and independent normal noise",
            _normal,
            _day,
            DAY,
        ),
        Law(
            "hours",
            KNOWN,
            f"the same, 3 lower on two days of seven: a second season of {WEEK} rows",
            _normal,
            _hours,
            DAY,
        ),
        Law("GARCH", KNOWN, "GARCH(1, 1) with α = 0.1, β = 0.85, normal draws", _garch),
        Law("MA -.7", UNSEEN, "moving average: neighbours correlate by −0.47", _moving_average),
        Law("two scales", UNSEEN, "independent; one row in ten is five times as wide", _two_scales),
        Law(
            "workdays",
            UNSEEN,
            f"a season of {DAY} rows, 3 high on five days and 1 on two, and AR .5 noise",
            _autoregression(0.5),
            _workdays,
            DAY,
        ),
        Law(
            "rounded",
            UNSEEN,
            "autoregression, correlation 0.8, rounded to halves",
            _autoregression(0.8),
            step=0.5,
        ),
    )
}


def chosen(names: Sequence[str] = ()) -> list[Law]:
    """The laws of these names, or a group's; none means all."""
    found: list[Law] = []
    for name in names or LAWS:
        some = [law for law in LAWS.values() if name in (law.name, law.group)]
        if not some:
            raise ValueError(
                f"law must be one of those there are: got {name!r}; {suggest(name, LAWS, 3)}they"
                f" are {', '.join(LAWS)}, or the groups {KNOWN} and {UNSEEN}"
            )
        found += [law for law in some if law not in found]
    return found
