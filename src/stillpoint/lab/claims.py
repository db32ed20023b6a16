"""What learners promise on linear losses in one dimension: pairs of a regret and its bound."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

import stillpoint.lab.baselines as b
from stillpoint.core.validation import Array
from stillpoint.domains import Ball
from stillpoint.learners import KernelFTRL, MultiScale, Tracker
from stillpoint.regret import path_length, rkhs_norm
from stillpoint.run import Run

Claims = Callable[[Any, Run], Iterator[tuple[float, float]]]
_PIECES = (1, 2, 4, 8, 16)
_FREE = (0.01, 0.1, 1.0, 10.0, 100.0)  # norms of comparators of unbounded learners


@dataclass(frozen=True)
class Case:
    """A learner of the table.

    Parameters
    ----------
    told
        What it is told.
    build
        Makes it for a horizon; it is told gradients of at most 1 and, where it has one, a ball of
        radius 1.
    claims
        Pairs of a regret and its bound, which must not be less, from a learner after its run.
    """

    name: str
    told: str
    build: Callable[[int], Any]
    claims: Claims


def _best(g: Array, pieces: int, radius: float) -> Array:
    """The comparator −radius·sign(Σg) of each of equal pieces, shape (T, 1)."""
    bounds = np.linspace(0, g.size, pieces + 1).astype(int)
    u = np.empty((g.size, 1))
    for first, after in pairwise(bounds):
        u[first:after] = -radius if g[first:after].sum() > 0.0 else radius
    return u


def _moving(
    bound: Callable[[Any, float, float], float],
    learner: Any,
    run: Run,
    *,
    radii: Sequence[float] = (1.0,),
    price: float = 0.0,
) -> Iterator[tuple[float, float]]:
    """Comparators in pieces; `bound` takes the learner, their path length and largest norm."""
    for pieces in (n for n in _PIECES if n <= len(run)):
        for radius in radii:
            u = _best(run.gradients[:, 0], pieces, radius)
            regret = float(run.linear_regret(u)[-1]) + price * run.switching_cost
            yield regret, bound(learner, path_length(u), radius)


def _fixed(
    bound: Callable[[Any, float], float], learner: Any, run: Run
) -> Iterator[tuple[float, float]]:
    """Fixed comparators of many norms; `bound` takes the learner and the norm."""
    yield float(run.linear_regret([0.0])[-1]), bound(learner, 0.0)
    for radius in _FREE:
        u = _best(run.gradients[:, 0], 1, radius)
        yield float(run.linear_regret(u)[-1]), bound(learner, radius)


def _on_intervals(learner: Any, run: Run) -> Iterator[tuple[float, float]]:
    """Fixed comparators of norm 1 on intervals of powers of 2, half of them overlapping."""
    g, earned = run.gradients[:, 0], (run.gradients * run.plays).sum(axis=1)
    lengths = [1 << k for k in range(len(run).bit_length())]
    for length in dict.fromkeys([*lengths, len(run)]):
        for first in range(0, len(run) - length + 1, max(1, length // 2)):
            part = slice(first, first + length)
            regret = float(earned[part].sum() + abs(g[part].sum()))
            yield regret, learner.interval_bound(first + 1, first + length)


def _haar(learner: Any, run: Run) -> Iterator[tuple[float, float]]:
    for pieces in (n for n in _PIECES if n <= len(run)):
        for radius in _FREE:
            u = _best(run.gradients[:, 0], pieces, radius)
            bound = learner.bound(u, np.abs(run.gradients[:, 0]))
            yield float(run.linear_regret(u)[-1]), bound


@cache
def _constant_norm(rounds: int) -> float:
    """The norm of the constant 1 in the kernel that `KernelFTRL` has by default."""
    return float(rkhs_norm(KernelFTRL(1, lipschitz=1.0).kernel, np.ones(rounds)))


def cases() -> list[Case]:
    """Every learner with a bound of its own on linear losses."""
    path = partial(_moving, lambda learner, P, M: learner.bound(P))
    both = partial(_moving, lambda learner, P, M: learner.bound(P, M))
    swapped = partial(_moving, lambda learner, P, M: learner.bound(M, P))
    fixed = partial(_fixed, lambda learner, M: learner.bound(M))
    ball = Ball(1.0)
    sizes: dict[str, Any] = {"lipschitz": 1.0, "radius": 1.0}
    smooth = {**sizes, "smoothness": 1.0}

    def root(T: int) -> float:
        return 1.0 / math.sqrt(T)

    def timed(make: Any, told: dict[str, Any]) -> Callable[[int], Any]:
        return lambda T: make(1, horizon=T, **told)

    return [
        Case("Tracker", "nothing", lambda T: Tracker(1), partial(both, radii=_FREE)),
        Case(
            "MultiScale",
            "G",
            lambda T: MultiScale(1, lipschitz=1.0),
            partial(_fixed, lambda learner, M: learner.bound([M])),
        ),
        Case(
            "Algorithm 2",
            "G",
            lambda T: KernelFTRL(1, lipschitz=1.0),
            partial(_fixed, lambda learner, M: learner.bound(M * _constant_norm(learner.rounds))),
        ),
        Case("OGD, step 1/√T", "D, step", lambda T: b.OGD(1, step=root(T), domain=ball), both),
        Case("OGD, steps 1/√t", "D", lambda T: b.OGD(1, schedule="sqrt", domain=ball), both),
        Case("OGD, scale-free", "D", lambda T: b.OGD(1, schedule="scale-free", domain=ball), both),
        Case(
            "Optimistic OGD",
            "D, step",
            lambda T: b.OptimisticOGD(1, step=root(T), domain=ball),
            path,
        ),
        Case("Ader", "T, G, D", timed(b.Ader, sizes), path),
        Case("Sword, variation", "T, G, D, L", timed(b.SwordVariation, smooth), path),
        Case("Sword, small loss", "T, G, D, L", timed(b.SwordSmallLoss, smooth), path),
        Case("Sword++", "T, G, D, L", timed(b.SwordPP, smooth), path),
        Case("Scream", "T, G, D, λ", timed(b.Scream, sizes), partial(path, price=1.0)),
        Case(
            "Discounted FTRL",
            "D, discount",
            lambda T: b.DiscountedFTRL(1, discount=0.9, radius=1.0),
            swapped,
        ),
        Case("KT", "G", lambda T: b.KT(1, lipschitz=1.0), fixed),
        Case(
            "COCOB",
            "G",
            lambda T: b.COCOB(1, lipschitz=1.0),
            partial(_fixed, lambda learner, M: learner.bound([M])),
        ),
        Case("FreeGrad", "G", lambda T: b.FreeGrad(1, lipschitz=1.0), fixed),
        Case("Sparse Haar", "T, G", lambda T: b.SparseHaar(1, lipschitz=1.0, horizon=T), _haar),
        Case("SAOL", "G, D", lambda T: b.SAOL(1, **sizes), _on_intervals),
        Case("CBCE", "G, D", lambda T: b.CBCE(1, **sizes), _on_intervals),
        Case("AFLH++", "T, G, D", timed(b.AFLH, sizes), _on_intervals),
    ]
