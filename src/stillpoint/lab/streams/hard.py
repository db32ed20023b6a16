"""Streams that break learners.

Gradients of wild size, heavy tails, irregular times, silence, pure noise.
"""

import numpy as np

from stillpoint.core.validation import Array, count, positive
from stillpoint.lab.streams.base import Seed, Stream, ten_levels
from stillpoint.losses import Absolute, Linear, LossStream


def weighted(y: Array, sizes: Array) -> LossStream:
    """Losses size_t·|w − y_t| in one dimension: gradients of size `sizes`, none where it is 0."""
    return Absolute().on(sizes * y, x=sizes[:, None])


def scale_jumps(T: int, seed: Seed, *, factor: float = 1e6) -> Stream:
    """Ten pieces whose gradients grow by `factor` halfway through.

    Nearly all of the regret is made after that.
    """
    rng = np.random.default_rng(seed)
    u = ten_levels(T, rng)
    sizes = np.where(np.arange(u.size) < u.size // 2, 1.0, positive("factor", factor))
    note = (
        f"ten levels, noise 0.3, gradients {factor:g} times larger halfway through; weighted"
        " absolute loss"
    )
    return Stream(
        "scale-jumps",
        weighted(u + 0.3 * rng.standard_normal(u.size), sizes),
        u[:, None],
        note,
        octaves=(-14, 23),
    )


def heavy_noise(T: int, seed: Seed, *, tail: float = 1.5) -> Stream:
    """Ten pieces seen through Student-t noise with `tail` degrees of freedom.

    Below 2 it has no variance.
    """
    rng = np.random.default_rng(seed)
    u = ten_levels(T, rng)
    y = u + 0.3 * rng.standard_t(positive("tail", tail), u.size)
    return Stream(
        "heavy-noise",
        Absolute().on(y),
        u[:, None],
        f"ten levels, Student-t({tail:g}) noise; Absolute loss",
    )


def heavy_gradients(T: int, seed: Seed, *, sigma: float = 2.0) -> Stream:
    """Ten pieces, each round weighted by a log-normal size exp(sigma·N).

    A few rounds carry the loss.
    """
    rng = np.random.default_rng(seed)
    u = ten_levels(T, rng)
    sizes = np.exp(positive("sigma", sigma) * rng.standard_normal(u.size))
    note = f"ten levels, noise 0.3, gradient sizes log-normal({sigma:g}); weighted absolute loss"
    return Stream(
        "heavy-gradients",
        weighted(u + 0.3 * rng.standard_normal(u.size), sizes),
        u[:, None],
        note,
        octaves=(-14, 15),
    )


def irregular(T: int, seed: Seed, *, sigma: float = 1.5) -> Stream:
    """A sine in continuous time with 10 periods, seen at irregular times.

    The gaps are log-normal with mean 1.
    """
    rng = np.random.default_rng(seed)
    gaps = np.exp(positive("sigma", sigma) * rng.standard_normal(count("T", T)) - sigma * sigma / 2)
    times = np.cumsum(gaps)
    u = np.sin(20 * np.pi * times / times[-1])
    losses = Absolute().on(u + 0.3 * rng.standard_normal(T), times=times)
    return Stream(
        "irregular",
        losses,
        u[:, None],
        f"a sine seen at log-normal({sigma:g}) gaps, noise 0.3; Absolute loss",
    )


def bursts(T: int, seed: Seed, *, active: float = 0.2) -> Stream:
    """Ten levels, each seen in the first `active` share of its rounds only.

    After that there is no gradient until the next jump.
    """
    rng = np.random.default_rng(seed)
    u = ten_levels(T, rng)
    length = u.size // 10
    sizes = (np.arange(u.size) % length < max(1.0, positive("active", active) * length)).astype(
        np.float64
    )
    note = (
        f"ten levels, noise 0.3, gradients in {active:.0%} of the rounds, else 0; weighted absolute"
        " loss"
    )
    return Stream(
        "bursts", weighted(u + 0.3 * rng.standard_normal(u.size), sizes), u[:, None], note
    )


def pure_noise(T: int, seed: Seed, *, dim: int = 1, push: int = 0) -> Stream:
    """Linear losses with random unit gradients, after `push` equal ones.

    The target is 0, so that every move is for nothing.
    """
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((count("T", T), count("dim", dim)))
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    g[: count("push", push, "give a whole number, 0 or more") if push else 0] = g[0]
    after = f" after {push} equal ones" if push else ""
    name = "noise-after-push" if push else "pure-noise"
    return Stream(
        name,
        Linear().on(g),
        np.zeros_like(g),
        f"random unit gradients{after}, target 0; Linear loss",
    )
