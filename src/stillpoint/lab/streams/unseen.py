"""Streams of one dimension, set "unseen": other laws of drift, of noise and of loss.

They were written before the second Tracker was measured on anything of them, and no constant of
the library was chosen on them. The comparator is the exact minimiser of each round's expected loss.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import poisson

from stillpoint.core.validation import Array
from stillpoint.lab.streams.base import Seed, Stream
from stillpoint.lab.streams.drifts import (
    centred_exponential,
    contaminated,
    pieces,
    polyline,
    reverting,
    rounds,
    two_states,
)
from stillpoint.lab.streams.hard import weighted
from stillpoint.losses import Absolute, Huber, Pinball, Squared


def reverting_level(T: int, seed: Seed) -> Stream:
    """An Ornstein–Uhlenbeck level with a memory of 200 rounds, seen through Laplace noise."""
    rng = np.random.default_rng(seed)
    u = reverting(rounds(T), rng, 200.0)[:, 0]
    y = u + rng.laplace(scale=0.4, size=T)
    note = "Ornstein–Uhlenbeck level, memory 200 rounds, Laplace noise 0.4; Absolute loss"
    return Stream("unseen/reverting", Absolute().on(y), u[:, None], note)


def heavy_jumps(T: int, seed: Seed) -> Stream:
    """Jumps at Poisson times with Student-t(1.5) sizes, seen through uniform noise.

    A jump leads from u to 0.7u + size, and sizes are cut at ±8, so that levels stay bounded.
    """
    rng = np.random.default_rng(seed)
    piece = pieces(rounds(T), rng, 250.0)
    sizes = np.clip(0.6 * rng.standard_t(1.5, piece[-1] + 1), -8.0, 8.0)
    levels, level = np.empty(sizes.size), 0.0
    for i, size in enumerate(sizes):
        levels[i] = level = 0.7 * level + size
    u = levels[piece]
    y = u + rng.uniform(-1, 1, T)
    note = "jumps at Poisson times, heavy sizes, uniform noise in [-1, 1]; Absolute loss"
    return Stream("unseen/heavy-jumps", Absolute().on(y), u[:, None], note)


def kinks(T: int, seed: Seed) -> Stream:
    """Linear trends with kinks at Poisson times, and exponential noise whose median is 0."""
    rng = np.random.default_rng(seed)
    u = 50.0 * polyline(rounds(T), rng, 400.0)[:, 0]
    y = u + 15.0 * centred_exponential(T, rng)
    note = "trends within ±50, kinks every 400 rounds, exponential noise 15; Absolute loss"
    return Stream("unseen/kinks", Absolute().on(y), u[:, None], note, unit=50.0)


def integrated_walk(T: int, seed: Seed) -> Stream:
    """A walk of a walk, scaled to end near 1, seen through noise with 5% outliers."""
    rng = np.random.default_rng(seed)
    u = 2.0 * np.cumsum(np.cumsum(rng.standard_normal(rounds(T)))) / T**1.5
    y = u + 0.3 * contaminated(T, rng, times=12.0)
    note = "an integrated random walk, noise 0.3 with 5% outliers of 3.6; Huber(0.5) loss"
    return Stream("unseen/integrated-walk", Huber(0.5).on(y), u[:, None], note)


def growth(T: int, seed: Seed) -> Stream:
    """Logistic growth to a plateau of about 0.05; the noise grows with the level."""
    rng = np.random.default_rng(seed)
    t, middle, width = np.arange(rounds(T)), rng.uniform(0.2, 0.6) * T, rng.uniform(0.02, 0.06) * T
    u = rng.uniform(0.04, 0.06) / (1.0 + np.exp(-(t - middle) / width))
    y = u + (0.002 + 0.3 * u) * rng.standard_normal(T)
    note = "logistic growth to 0.05, noise 0.002 and 30% of the level; Absolute loss"
    return Stream("unseen/growth", Absolute().on(y), u[:, None], note, unit=0.05)


def regimes(T: int, seed: Seed) -> Stream:
    """A walk that is calm for some 500 rounds and wild for some 50, in turn."""
    rng = np.random.default_rng(seed)
    step = np.where(two_states(rounds(T), rng, 500.0, 50.0) == 1, 0.15, 0.002)
    u = rng.uniform(-3, 3) + np.cumsum(step * rng.standard_normal(T))
    y = u + 0.5 * rng.logistic(size=T)
    note = "a walk with steps 0.002, at times 0.15, logistic noise 0.5; median by Pinball loss"
    return Stream("unseen/regimes", Pinball(0.5).on(y), u[:, None], note)


def sawtooth(T: int, seed: Seed) -> Stream:
    """Teeth that rise for 200 to 500 rounds and fall at once; noise with autocorrelation 0.3."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.uniform(200, 500, rounds(T) // 200 + 2))
    t = np.arange(T)
    tooth = np.searchsorted(ends, t, side="right")
    starts = np.concatenate([[0.0], ends])
    u = 2.0 * (t - starts[tooth]) / (starts[tooth + 1] - starts[tooth]) - 1.0
    y = u + 0.5 * reverting(T, rng, -1.0 / np.log(0.3))[:, 0]
    note = "a sawtooth in [-1, 1], normal noise 0.5 with autocorrelation 0.3; Absolute loss"
    return Stream("unseen/sawtooth", Absolute().on(y), u[:, None], note)


def ringing(T: int, seed: Seed) -> Stream:
    """A decaying oscillation of twelve periods, squared loss, uniform noise."""
    rng = np.random.default_rng(seed)
    s = np.arange(rounds(T)) / T
    u = 3.0 * np.exp(-4.0 * s) * np.cos(24.0 * np.pi * s + rng.uniform(0, 2 * np.pi))
    y = u + rng.uniform(-1, 1, T)
    note = "12 periods of an oscillation from 3 to 0.05, uniform noise in [-1, 1]; Squared loss"
    return Stream("unseen/ringing", Squared().on(y), u[:, None], note)


def slowing(T: int, seed: Seed) -> Stream:
    """A walk with steps like 1/√t, of size 0.05; Laplace noise."""
    rng = np.random.default_rng(seed)
    u = np.cumsum(0.6 * rng.standard_normal(rounds(T)) / np.sqrt(np.arange(1, T + 1)))
    y = u + rng.laplace(scale=0.3, size=T)
    note = "a walk with steps 0.03/√t, Laplace noise 0.015; Huber(0.05) loss"
    return Stream("unseen/slowing", Huber(0.05).on(0.05 * y), 0.05 * u[:, None], note, unit=0.05)


def excursions(T: int, seed: Seed) -> Stream:
    """Long stays at one level, with short excursions to heights of 2 to 6 either way."""
    rng = np.random.default_rng(seed)
    away = two_states(rounds(T), rng, 600.0, 25.0)
    piece = np.concatenate([[0], np.cumsum(np.diff(away) != 0)])
    heights = rng.uniform(2, 6, piece[-1] + 1) * rng.choice([-1.0, 1.0], piece[-1] + 1)
    u = 1.5 + away * heights[piece]
    y = u + 0.3 * rng.standard_normal(T)
    note = "stays of 600 rounds at 1.5, excursions of 25 to 2 … 6 off it, noise 0.3; Absolute loss"
    return Stream("unseen/excursions", Absolute().on(y), u[:, None], note)


def days(T: int, seed: Seed) -> Stream:
    """A daily cycle of 288 rounds whose amplitude wanders, with 30% of the rounds missing."""
    rng = np.random.default_rng(seed)
    amplitude = 2.0 * np.exp(0.5 * reverting(rounds(T), rng, 2000.0)[:, 0])
    u = amplitude * np.sin(2 * np.pi * np.arange(T) / 288 + rng.uniform(0, 2 * np.pi))
    y = u + rng.standard_normal(T)
    seen = (rng.random(T) >= 0.3).astype(np.float64)
    note = "a daily cycle, amplitude near 2, noise 1, no gradient in 30%; weighted absolute loss"
    return Stream("unseen/days", weighted(y, seen), u[:, None], note)


def rounded(T: int, seed: Seed) -> Stream:
    """Whole numbers: a reverting level and its noise, rounded, so that many rounds are ties.

    Rounding is monotone, so the median of the rounded value is the rounded level.
    """
    rng = np.random.default_rng(seed)
    level = 2.5 * reverting(rounds(T), rng, 500.0)[:, 0]
    y = np.rint(level + 0.8 * rng.standard_normal(T))
    note = "a reverting level of size 2.5, noise 0.8, rounded to whole numbers; Absolute loss"
    return Stream("unseen/rounded", Absolute().on(y), np.rint(level)[:, None], note)


def counts(T: int, seed: Seed) -> Stream:
    """Poisson counts with a weekly cycle of 168 rounds and jumps; the 0.9 quantile."""
    rng = np.random.default_rng(seed)
    piece = pieces(rounds(T), rng, 700.0)
    level = rng.uniform(-0.6, 0.6, piece[-1] + 1)[piece]
    rate = 20.0 * np.exp(level + 0.3 * np.sin(2 * np.pi * np.arange(T) / 168))
    y, q = rng.poisson(rate).astype(np.float64), poisson.ppf(0.9, rate)
    note = "Poisson counts near 20, a weekly cycle and jumps; quantile 0.9"
    return Stream("unseen/counts", Pinball(0.9).on(y), q[:, None], note, unit=20.0)


def latencies(T: int, seed: Seed) -> Stream:
    """Log-normal latencies near 0.05 with 5% ten times as slow; the 0.9 quantile."""
    rng = np.random.default_rng(seed)
    level = 0.05 * np.exp(0.6 * reverting(rounds(T), rng, 800.0)[:, 0])
    slow = rng.random(T) < 0.05
    y = level * np.exp(0.5 * rng.standard_normal(T)) * np.where(slow, 10.0, 1.0)
    note = "log-normal latencies near 0.05, 5% ten times as slow, a reverting level; quantile 0.9"
    target = _latency_quantile(0.9) * level[:, None]
    return Stream("unseen/latencies", Pinball(0.9).on(y), target, note, unit=0.05)


def _latency_quantile(level: float) -> float:
    """That quantile of exp(N/2), ten times as large in 5%."""

    def excess(log: float) -> float:
        return float(0.95 * ndtr(2.0 * log) + 0.05 * ndtr(2.0 * (log - np.log(10.0))) - level)

    return float(np.exp(brentq(excess, -5.0, 10.0, xtol=1e-14)))


def telegraph(T: int, seed: Seed) -> Stream:
    """Two levels that return: 12 for some 400 rounds, 40 for some 150; noise tied to the level."""
    rng = np.random.default_rng(seed)
    u: Array = np.where(two_states(rounds(T), rng, 400.0, 150.0) == 1, 40.0, 12.0)
    y = u * np.exp(0.6 * rng.standard_normal(T))
    note = "levels 12 and 40 in turn, log-normal noise of 60%; Absolute loss"
    return Stream("unseen/telegraph", Absolute().on(y), u[:, None], note, unit=40.0)


UNSEEN: tuple[Callable[[int, int], Stream], ...] = (
    reverting_level,
    heavy_jumps,
    kinks,
    integrated_walk,
    growth,
    regimes,
    sawtooth,
    ringing,
    slowing,
    excursions,
    days,
    rounded,
    counts,
    latencies,
    telegraph,
)
