"""Families of streams on which learners are compared, each around a known target.

Losses are absolute, Huber, pinball and squared.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri, stdtrit

from stillpoint.core.validation import Array, count, positive
from stillpoint.lab.streams.base import (
    CHOSEN,
    REPORTED,
    Seed,
    Stream,
    quantile_streams,
    swelling,
    ten_levels,
)
from stillpoint.losses import Absolute, Huber, Pinball, Squared
from stillpoint.losses.base import Loss


def families(
    T: int, seed: Seed, *, dim: int = 1, scale: float = 1.0, loss: Loss | None = None
) -> dict[str, Stream]:
    """Eleven noisy targets by name: pieces, sines, a random walk, a constant far away.

    Parameters
    ----------
    T
        Rounds, 100 or more; families of k pieces drop the last T mod k.
    seed
        Of targets and noise.
    dim
        With 2 or more, the loss is one of ‖w − y‖, and targets and noise are spread over the
        coordinates, so that norms are those of dim 1.
    scale
        Multiplies targets and noise.
    loss
        Absolute, the default, or Huber.
    """
    if count("T", T) < 100:
        raise ValueError(f"T must be 100 or more: got {T}; one of the families has 100 pieces")
    loss, scale, dim = loss or Absolute(), positive("scale", scale), count("dim", dim)
    prefix = f"d{dim}/" if dim > 1 else ""
    prefix += f"x{scale:g}/" if scale != 1.0 else ""
    prefix += f"huber{loss.width:g}/" if isinstance(loss, Huber) else ""
    kind = (
        f"{type(loss).__name__} loss"
        + (f", d = {dim}" if dim > 1 else "")
        + (f", times {scale:g}" if scale != 1.0 else "")
    )
    group = CHOSEN if not prefix and isinstance(loss, Absolute) else REPORTED
    return {
        prefix + name: Stream(
            prefix + name, loss.on(scale * y), scale * u, f"{note}; {kind}", group, scale
        )
        for name, u, y, note in _targets(T, np.random.default_rng(seed), dim)
    }


def _targets(T: int, rng: np.random.Generator, dim: int) -> Iterator[tuple[str, Array, Array, str]]:
    """Name, target, observation and note, drawn in this order."""
    t, spread = np.arange(T)[:, None], np.sqrt(dim)

    def observe(u: Array, noise: float) -> Array:
        return np.asarray(u + noise * rng.standard_normal(u.shape) / spread)

    for pieces in (1, 10, 100):
        u = np.repeat(rng.uniform(-1, 1, (pieces, dim)) / spread, T // pieces, axis=0)
        for noise in (0.1, 1.0):
            what = "a constant" if pieces == 1 else f"{pieces} constant pieces"
            yield (
                f"pieces{pieces}-noise{noise}",
                u,
                observe(u, noise),
                f"{what} in [-1, 1], noise {noise}",
            )
    for periods in (1, 10, 100):
        phases = np.pi * np.arange(dim) / dim
        u = np.sin(2 * np.pi * t * periods / T + phases) / spread
        yield (
            f"sine{periods}",
            u,
            observe(u, 0.3),
            f"a sine with {periods} period{'s'[: periods > 1]}, noise 0.3",
        )
    u = 0.02 * np.cumsum(rng.standard_normal((T, dim)) / spread, axis=0)
    yield "walk", u, observe(u, 0.3), "a random walk with steps 0.02, noise 0.3"
    u = np.full((T, dim), 5.0 / spread)
    yield "far", u, observe(u, 0.3), "a constant at 5, noise 0.3"


def pinball_families(
    T: int, seed: Seed, *, level: float = 0.9, unit: float = 1.0
) -> dict[str, Stream]:
    """Three streams whose moving `level` quantile is known, times `unit`.

    Shifts, a swelling scale, and a heavy-tailed drift.
    """
    loss, unit, rng = Pinball(level), positive("unit", unit), np.random.default_rng(seed)
    prefix, u, t = f"pinball{level:g}-x{unit:g}/", ten_levels(T, rng), np.arange(T)
    shifts = u + 0.3 * ndtri(level), u + 0.3 * rng.standard_normal(u.size), "ten levels, noise 0.3"
    sigma = swelling(T)
    swell = (
        ndtri((1 + level) / 2) * sigma,
        np.abs(sigma * rng.standard_normal(T)),
        "absolute residuals, shifting and swelling",
    )
    u = np.sin(20 * np.pi * t / T)
    drift = (
        u + 0.3 * stdtrit(3.0, level),
        u + 0.3 * rng.standard_t(3.0, T),
        "a sine, Student-t(3) noise",
    )
    laws = {"shifts": shifts, "swell": swell, "drift": drift}
    return quantile_streams(prefix, loss, unit, laws, f"; quantile {level:g}, times {unit:g}")


def ten_pieces(T: int, seed: Seed) -> Stream:
    """Ten equal segments, levels in [-1, 1], noise 0.1; absolute loss."""
    rng = np.random.default_rng(seed)
    u = ten_levels(T, rng)
    y = u + 0.1 * rng.standard_normal(u.size)
    note = "10 constant pieces in [-1, 1], noise 0.1, the law of pieces10-noise0.1; Absolute loss"
    return Stream("ten-pieces", Absolute().on(y), u[:, None], note)


def sign_flips(T: int, seed: Seed) -> Stream:
    """A slow walk whose sign flips now and then.

    The Haar signal of sparse coding (Zhang et al. 2023), whose T is 32768.

    The comparator is the signal itself, so regret is total loss.
    """
    rng, y, v = np.random.default_rng(seed), np.empty(count("T", T)), 1.0
    for i in range(T):
        v = v * (-1.0 if rng.random() < 0.0005 else 1.0) + 0.01 * (rng.random() - 0.5)
        y[i] = v
    note = "a slow walk whose sign flips with probability 0.0005, no noise; Absolute loss"
    return Stream("sign-flips", Absolute().on(y), y[:, None], note)


def stagewise(
    T: int, seed: Seed, *, dim: int = 3, stages: int = 100, noise: float = 0.05
) -> Stream:
    """Regression on features in the unit ball with loss (⟨w, x⟩ − y)²/4.

    The coefficients are redrawn at each stage.

    A quarter of the square is `Squared` (a half) on x/√2 and y/√2, which is what `losses` holds.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count("T", T), count("dim", dim)))
    x *= (rng.random(T) ** (1 / dim) / np.linalg.norm(x, axis=1))[:, None]
    size = -(-T // count("stages", stages))
    c = rng.standard_normal((stages, dim))
    c *= (rng.random(stages) / np.linalg.norm(c, axis=1))[:, None]
    u = np.repeat(c, size, axis=0)[:T]
    y = (x * u).sum(1) + noise * rng.standard_normal(T)
    note = (
        f"linear regression in {dim} features, {stages} stages, noise {noise:g}; loss (⟨w, x⟩ −"
        " y)²/4"
    )
    return Stream("stagewise", Squared().on(y / np.sqrt(2), x=x / np.sqrt(2)), u, note)


def signals(T: int, seed: Seed, *, noise: float = 0.5) -> dict[str, Stream]:
    """Three noisy targets for the squared loss (p − y)²/2.

    Their total variations are 4, 4 and about 5.2.
    """
    rng, x = np.random.default_rng(seed), np.arange(1, count("T", T) + 1) / T
    targets = {
        "smooth": np.sin(2 * np.pi * x + 0.7),
        "jumps": (np.floor(4.999 * x).astype(int) % 2) - 0.5,
        "mixed": (
            0.3 * np.sin(6 * np.pi * x)
            + 0.6 * (x > 0.23)
            - (x > 0.61)
            + 2 * np.abs(x - 0.8) * (x > 0.8)
        ),
    }
    notes = {
        "smooth": "one sine period",
        "jumps": "a square wave",
        "mixed": "piecewise smooth with jumps",
    }
    return {
        f"signals/{name}": Stream(
            f"signals/{name}",
            Squared().on(u + noise * rng.standard_normal(T)),
            u[:, None],
            f"{notes[name]}, noise {noise:g}; Squared loss",
        )
        for name, u in targets.items()
    }
