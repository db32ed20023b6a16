"""Slow, plain twins of the forecaster's parts, and series to try them on."""

import functools
import math

import numpy as np

from stillpoint.series import _rounds, layout
from stillpoint.series._structural import BASE, Filters
from stillpoint.series.bands import Bands
from stillpoint.series.gains import Gains
from stillpoint.series.harmonics import harmonics
from stillpoint.series.layout import Scale, models
from stillpoint.series.pool import POOLS

MODELS = tuple(dict.fromkeys((*models(POOLS["full"]), *models(POOLS["small"]))))
NAMES = ["fast", "seasons", "trend", "returns", "slow"]
HOUR = (24.0, 168.0)


def noise(T, start=0):
    """Numbers of mean 0 and deviation 1: no generator, no libm, the same anywhere."""
    t = np.arange(start + 1, start + T + 1, dtype=np.int64)
    mixed = (7919 * t * (t + 11) + 104729 * (t // 7) ** 2) % 1999
    return (mixed - 999) / 577.0


def wavy(T, periods, *, level=0.0, start=0):
    """Waves of these periods, a random walk and noise; their range is about ±5."""
    t = np.arange(start, start + T)
    y = level + 0.3 * noise(T, start) + 0.05 * np.cumsum(noise(T, start + 5000))
    for i, m in enumerate(periods):
        y += np.cos(2.0 * np.pi * (t % m) / m) + 0.5 * np.sin(4.0 * np.pi * (t % m) / m + i)
    return y


@functools.cache  # twins of several models ask for the same
def row(periods, t):
    """The harmonics of time t, from their definition."""
    found = np.array(
        [
            f(2.0 * math.pi * ((frequency * t) % 1.0))
            for frequency, both in harmonics(periods).frequencies
            for f in ((np.cos, np.sin) if both else (np.cos,))
        ]
    )
    found.flags.writeable = False
    return found


class Kalman:
    """A structural model with a covariance of its own."""

    def __init__(self, model, periods, centre):
        h = harmonics(periods)
        self.model, self.periods = model, periods
        slope = 1.0 if model.slope >= 0.0 else 0.0
        self.C = np.diag([1e4, slope, model.deviation, *(10.0 * h.smooth)])
        self.mean = np.zeros(BASE + h.columns)
        self.mean[0] = centre
        self.F = np.eye(self.mean.size)
        self.F[0, 1], self.F[1, 1], self.F[2, 2] = 1.0, model.damping, model.memory
        self.Q = np.diag(
            [
                *(model.level, max(model.slope, 0.0)),
                model.deviation * (1.0 - model.memory**2),
                *(model.seasons * h.smooth),
            ]
        )

    def forecast(self, t, h=1):
        """The value of time t + h − 1, the state being at time t."""
        m, phi = self.mean, self.model.damping
        slope = m[1] * sum(phi**i for i in range(h - 1))
        part = m[BASE:] @ row(self.periods, t + h - 1)
        return m[0] + slope + self.model.memory ** (h - 1) * m[2] + part

    def round(self, t, y):
        """Learn the value of time t, or nothing if it is NaN, and move on."""
        if not math.isnan(y):
            z = np.concatenate([[1.0, 0.0, 1.0], row(self.periods, t)])
            g = self.C @ z
            S = z @ g + 1.0
            self.mean = self.mean + g * (y - z @ self.mean) / S
            self.C = self.C - np.outer(g, g) / S
        self.mean, self.C = self.F @ self.mean, self.F @ self.C @ self.F.T + self.Q


def filters(periods, gains, centre, ages):
    """Compiled filters, one a model, with tables that reach so far."""
    h, table = harmonics(periods), gains.up_to(ages)
    means = np.zeros((len(MODELS), BASE + h.columns))
    means[:, 0] = centre
    return Filters(
        kinds=np.array([(0, i) for i in range(len(MODELS))], dtype=np.int64),
        models=np.array(MODELS),
        frequencies=h.frequencies,
        smooth=h.smooth,
        gains=table.gains,
        variances=table.variances,
        row_of_age=table.row_of_age,
        means=means,
        gaps=np.zeros((len(MODELS), 2)),
        seasonal=np.zeros(3),
    )


def build(pool, periods, horizon, scale, **more):
    """A state before its first round."""
    return layout.build(pool, periods, horizon, scale, Bands(horizon, 0.9).state, **more)


def state(pool, periods, horizon, values, *, ages, thin=True, **more):
    """A state before its first round, whose tables reach so far."""
    pool = POOLS[pool] if isinstance(pool, str) else pool
    gains = Gains(periods, models(pool), thin=thin)
    built = build(pool, periods, horizon, Scale.of(values), gains=gains, **more)
    return built._replace(filters=built.filters._replace(**gains.up_to(ages)._asdict()))


def _play(built, y, out, *, opens=True, closes=True, live=False):
    none, known = np.empty((0, *built.bands.offsets.shape)), np.zeros(y.size, dtype=np.int64)
    given = y, np.empty((y.size, 0)), known, np.empty(0, dtype=np.bool_)
    _rounds.play(built, *given, live, opens, closes, out, none, np.empty(y.size))
    return out


def played(built, y, horizon=1):
    """Play a series on a state; returns its forecasts."""
    return _play(built, y, np.empty((y.size, horizon)))


def opened(built):
    """Open a round; returns its forecast."""
    return float(_play(built, np.zeros(1), np.empty((1, 1)), closes=False, live=True)[0, 0])


def path(built, horizon):
    """The forecasts of an open round; those of the experts are then in `room`."""
    return _play(built, np.zeros(1), np.empty((1, horizon)), opens=False, closes=False)[0]


def closed(built, y):
    """Close a round with its value."""
    _play(built, np.array([y]), np.empty((1, 1)), opens=False, live=True)
