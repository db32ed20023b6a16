"""Streams of ten dimensions, set "unseen": drifting weights of features, and drifting points.

They were written before the second Tracker was measured on anything of them, and no constant of
the library was chosen on them. The comparator is the exact minimiser of each round's expected loss.
"""

from collections.abc import Callable

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.streams.base import Seed, Stream
from stillpoint.lab.streams.drifts import (
    centred_exponential,
    contaminated,
    pieces,
    polyline,
    reverting,
    rounds,
    two_of,
    two_states,
)
from stillpoint.losses import Absolute, Hinge, Huber, Logistic, Pinball, Squared

_DIM = 10


def labels(T: int, seed: Seed) -> Stream:
    """Labels of a logistic model whose weights revert with a memory of 1000 rounds."""
    rng = np.random.default_rng(seed)
    u = reverting(rounds(T), rng, 1000.0, dim=_DIM)
    x = rng.standard_normal((T, _DIM))
    note = "labels by logistic regression in 10 features, reverting weights; Logistic loss"
    return Stream("unseen/labels", Logistic().on(_labelled(u, x, rng), x=x), u, note)


def clicks(T: int, seed: Seed) -> Stream:
    """Labels from nine rare 0/1 features and a constant one, weights with kinked trends."""
    rng = np.random.default_rng(seed)
    u = 2.0 * polyline(rounds(T), rng, 1000.0, dim=_DIM)
    u[:, 0] -= 1.0
    x = (rng.random((T, _DIM)) < 0.25).astype(np.float64)
    x[:, 0] = 1.0
    note = "labels from 9 rare 0/1 features and a constant, kinked weights; Logistic loss"
    return Stream("unseen/clicks", Logistic().on(_labelled(u, x, rng), x=x), u, note)


def _labelled(u: Array, x: Array, rng: np.random.Generator) -> Array:
    """Labels ±1, +1 with log-odds ⟨u, x⟩."""
    odds = (u * x).sum(1)
    return np.where(rng.random(len(x)) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)


def sparse_squares(T: int, seed: Seed) -> Stream:
    """Regression by squares in which two of the ten weights walk and the others stay."""
    rng = np.random.default_rng(seed)
    u = np.tile(rng.uniform(-1, 1, _DIM), (rounds(T), 1))
    u[:, two_of(rng, _DIM)] += 0.03 * np.cumsum(rng.standard_normal((T, 2)), axis=0)
    x = 0.4 * rng.standard_normal((T, _DIM))
    y = (u * x).sum(1) + 0.3 * rng.laplace(size=T)
    note = "regression in 10 features, 2 weights walk by 0.03, Laplace noise 0.3; Squared loss"
    return Stream("unseen/sparse-squares", Squared().on(y, x=x), u, note)


def sparse_jumps(T: int, seed: Seed) -> Stream:
    """Regression by absolute errors in which two of ten weights are redrawn at Poisson times."""
    rng = np.random.default_rng(seed)
    piece = pieces(rounds(T), rng, 400.0)
    levels = np.tile(rng.uniform(-1, 1, _DIM), (piece[-1] + 1, 1))
    for i in range(1, len(levels)):
        levels[i] = levels[i - 1]
        levels[i, two_of(rng, _DIM)] = rng.uniform(-2, 2, 2)
    u = levels[piece]
    x = rng.uniform(-1, 1, (T, _DIM))
    y = (u * x).sum(1) + rng.uniform(-1, 1, T)
    note = "regression in 10 features, 2 weights redrawn at Poisson times; Absolute loss"
    return Stream("unseen/sparse-jumps", Absolute().on(y, x=x), u, note)


def unequal(T: int, seed: Seed) -> Stream:
    """A point whose coordinates revert with sizes from 0.05 to 50, seen through noise as unequal.

    The noise is symmetric about the point, so the point minimises the expected distance.
    """
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(0.05, 50.0, _DIM)
    u = sizes * reverting(rounds(T), rng, 400.0, dim=_DIM)
    y = u + 0.7 * sizes * rng.laplace(size=(T, _DIM))
    note = "a reverting point in R^10, coordinate sizes from 0.05 to 50; Absolute loss"
    return Stream("unseen/unequal", Absolute().on(y), u, note, unit=50.0)


def categories(T: int, seed: Seed) -> Stream:
    """One of ten categories a round, 10% of the labels wrong; a category's label flips at times.

    With the hinge loss the best weight of a category is its label over the feature's size, 4.
    """
    rng = np.random.default_rng(seed)
    signs = np.column_stack(
        [
            rng.choice([-1.0, 1.0]) * (-1.0) ** pieces(rounds(T), rng, 3000.0 if i < 8 else 400.0)
            for i in range(_DIM)
        ]
    )
    which, t = rng.integers(_DIM, size=T), np.arange(T)
    x = np.zeros((T, _DIM))
    x[t, which] = 4.0
    y = signs[t, which] * np.where(rng.random(T) < 0.1, -1.0, 1.0)
    note = "one of 10 categories a round, labels that flip, 10% wrong; Hinge loss"
    return Stream("unseen/categories", Hinge().on(y, x=x), signs / 4.0, note, unit=0.25)


def rotation(T: int, seed: Seed) -> Stream:
    """Weights that rotate in a random plane, features of unequal scales, 5% outliers."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((_DIM, 2)))[0]
    angle = 2 * np.pi * (6.0 * np.arange(rounds(T)) / T + rng.random())
    u = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) @ plane.T
    x = np.geomspace(0.3, 3.0, _DIM) * rng.standard_normal((T, _DIM))
    y = (u * x).sum(1) + 0.5 * contaminated(T, rng, times=10.0)
    note = "weights turn 6 times in a plane of R^10, unequal features, 5% outliers; Huber(1) loss"
    return Stream("unseen/rotation", Huber(1.0).on(y, x=x), u, note)


def demand(T: int, seed: Seed) -> Stream:
    """The 0.9 quantile of a level near 50 and nine features, with exponential noise.

    The noise has its 0.9 quantile at 0, given the features.
    """
    rng = np.random.default_rng(seed)
    u = 5.0 * reverting(rounds(T), rng, 1500.0, dim=_DIM)
    u[:, 0] = 50.0 + 2.0 * u[:, 0]
    x = np.column_stack([np.ones(T), rng.uniform(-1, 1, (T, _DIM - 1))])
    y = (u * x).sum(1) + 4.0 * centred_exponential(T, rng, level=0.9)
    note = "a level near 50 and 9 features, reverting weights, exponential noise 4; quantile 0.9"
    return Stream("unseen/demand", Pinball(0.9).on(y, x=x), u, note, unit=50.0)


def sparse_regimes(T: int, seed: Seed) -> Stream:
    """A point of which two coordinates walk, calm or wild in turn; the others stay."""
    rng = np.random.default_rng(seed)
    step = np.where(two_states(rounds(T), rng, 600.0, 60.0) == 1, 0.1, 0.001)[:, None]
    u = np.tile(rng.standard_normal(_DIM), (T, 1))
    u[:, two_of(rng, _DIM)] += np.cumsum(step * rng.standard_normal((T, 2)), axis=0)
    y = u + 0.3 * rng.standard_normal((T, _DIM))
    note = "a point in R^10, 2 coordinates walk by 0.001 or 0.1, noise 0.3 each; Huber(0.5) loss"
    return Stream("unseen/sparse-regimes", Huber(0.5).on(y), u, note)


UNSEEN_VECTORS: tuple[Callable[[int, int], Stream], ...] = (
    labels,
    clicks,
    sparse_squares,
    sparse_jumps,
    unequal,
    categories,
    rotation,
    demand,
    sparse_regimes,
)
