"""Streams for intervals and quantiles: scores or signed values whose moving quantile is known."""

import math

import numpy as np
from scipy.special import ndtri, stdtrit

from stillpoint.core.validation import Array, positive
from stillpoint.lab.streams.base import Seed, Stream, quantile_streams, swelling, tenth
from stillpoint.losses import Pinball


def interval_scores(T: int, seed: Seed, *, level: float = 0.9, unit: float = 1.0) -> Stream:
    """Absolute residuals with level shifts and a swelling scale, times `unit`."""
    sigma, rng = swelling(T), np.random.default_rng(seed)
    return _scores(
        "swell",
        sigma,
        rng.standard_normal(T),
        "scale 1, 4, then 0.5, swelling by half",
        level,
        unit,
    )


def score_families(
    T: int, seed: Seed, *, level: float = 0.9, unit: float = 1.0
) -> dict[str, Stream]:
    """Absolute residuals by name, times `unit`.

    Level shifts, heavy tails, scale jumps, GARCH, and growth with seasons.

    T: rounds, 10 or more; scale jumps drop the last T mod 10.
    """
    length = tenth(T)
    swell = interval_scores(T, seed, level=level, unit=unit)
    rng = np.random.default_rng([1, _number(seed)])
    t = np.arange(T)
    jumps = np.repeat(10.0 ** rng.uniform(-2, 2, 10), length)
    noise, garch, variance = rng.standard_normal(T), np.empty(T), 1.0
    for i in range(T):
        garch[i] = math.sqrt(variance)
        variance = 0.02 + 0.08 * variance * noise[i] ** 2 + 0.9 * variance
    growth = np.exp(3.0 * t / T) * 3.0 ** np.sin(2 * np.pi * t / 500)
    found = [
        swell,
        _scores(
            "heavy", np.ones(T), rng.standard_t(3.0, T), "still, Student-t(3)", level, unit, 3.0
        ),
        _scores(
            "jumps",
            jumps,
            rng.standard_normal(jumps.size),
            "ten scales from 0.01 to 100",
            level,
            unit,
        ),
        _scores("garch", garch, noise, "GARCH(1, 1), 0.02 + 0.08·y² + 0.9·σ²", level, unit),
        _scores(
            "growth",
            growth,
            rng.standard_normal(T),
            "20-fold growth, 9-fold seasons of 500 rounds",
            level,
            unit,
        ),
    ]
    return {stream.name: stream for stream in found}


def quantile_families(
    T: int, seed: Seed, *, level: float = 0.9, unit: float = 1.0
) -> dict[str, Stream]:
    """Signed values by name, times `unit`.

    Shifts of level and scale, a random walk, stationary exponentials, a sine, a trend.
    """
    length, rng, t = tenth(T), np.random.default_rng(seed), np.arange(T)
    loss, unit, z = Pinball(level), positive("unit", unit), ndtri(level)
    middle, sigma = (
        np.repeat(x, length) for x in (rng.uniform(-3, 3, 10), 10.0 ** rng.uniform(-0.5, 0.5, 10))
    )
    walk = 0.05 * np.cumsum(rng.standard_normal(T))
    sine = 3.0 * np.sin(20 * np.pi * t / T)
    trend = 10.0 * t / T
    laws: dict[str, tuple[Array, Array, str]] = {
        "shifts": (
            middle + z * sigma,
            middle + sigma * rng.standard_normal(middle.size),
            "ten levels, ten scales",
        ),
        "walk": (walk + z, walk + rng.standard_normal(T), "a random walk with steps 0.05, noise 1"),
        "exponential": (
            np.full(T, -math.log1p(-level)),
            rng.exponential(size=T),
            "still, exponential",
        ),
        "sine": (sine + z, sine + rng.standard_normal(T), "ten periods of 3·sin, noise 1"),
        "trend": (trend + z, trend + rng.standard_normal(T), "from 0 to 10, noise 1"),
    }
    prefix = f"quantiles{level:g}-x{unit:g}/"
    return quantile_streams(prefix, loss, unit, laws, f"; quantile {level:g}")


def _scores(
    name: str,
    sigma: Array,
    noise: Array,
    note: str,
    level: float,
    unit: float,
    tail: float | None = None,
) -> Stream:
    """|σ·noise|, whose quantile is σ times that of |noise|.

    The noise is normal, or Student-t with `tail` degrees of freedom.
    """
    loss, unit, half = Pinball(level), positive("unit", unit), 0.5 + 0.5 * level
    factor = float(ndtri(half) if tail is None else stdtrit(tail, half))
    name = f"scores{level:g}-x{unit:g}/{name}"
    target, y = factor * unit * sigma, np.abs(unit * sigma * noise)
    return Stream(
        name,
        loss.on(y),
        target[:, None],
        f"absolute residuals, {note}; quantile {level:g}, times {unit:g}",
        unit=unit,
    )


def _number(seed: Seed) -> int:
    return int(seed.integers(2**32)) if isinstance(seed, np.random.Generator) else int(seed)
