"""What learners promise, on a unit ball or anywhere: pairs of a regret and its bound."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import stillpoint.lab.baselines as b
from stillpoint.core.validation import Array
from stillpoint.domains import Ball
from stillpoint.learners import KernelFTRL, MultiScale, Tracker
from stillpoint.losses import Absolute, Linear, LossStream, Squared
from stillpoint.regret import path_length, rkhs_norm
from stillpoint.run import Run

Claims = Callable[[Any, Run], Iterator[tuple[float, float]]]
_PIECES = (1, 2, 4, 8, 16)
_FREE = (0.01, 0.1, 1.0, 10.0, 100.0)  # norms of comparators of unbounded learners
# the largest slope in the unit ball; none has a second derivative above 1
SLOPES = {"linear": 1.0, "absolute": 1.0, "squared": 2.0}


def losses_of(loss: str, rows: Array) -> LossStream:
    """Losses ⟨g, w⟩, |w + g| or ½‖w + g‖² of the rows g, shape (T, dim): all of them push along g.

    Targets are −g, so that gradients at 0 are g, or its sign.
    """
    if loss == "linear":
        return Linear().on(rows)
    return (Absolute() if loss == "absolute" else Squared()).on(-rows)


class Setting(NamedTuple):
    """What a learner of a case is built for."""

    rounds: int
    dim: int = 1
    lipschitz: float = 1.0


@dataclass(frozen=True)
class Case:
    """A learner of the table.

    Parameters
    ----------
    told
        What it is told.
    build
        Makes it for a setting; where it has a domain, that is the ball of radius 1.
    claims
        Pairs of a regret and its bound, which must not be less, from a learner after its run.
    losses
        On which losses: "squared" ones only where the learner stays in the ball, or needs no G.
    """

    name: str
    told: str
    build: Callable[[Setting], Any]
    claims: Claims
    losses: tuple[str, ...] = ("linear", "absolute", "squared")


_ANYWHERE, _CURVED = ("linear", "absolute"), ("squared",)


def _leader(run: Run, part: slice, radius: float) -> Array:
    """The best point of some rounds; of linear losses, the best of that norm."""
    assert isinstance(run.stream, LossStream)
    if isinstance(run.stream.loss, Squared):
        return np.asarray(run.stream.y[part].mean(axis=0))
    if isinstance(run.stream.loss, Absolute):
        return np.median(run.stream.y[part], axis=0)
    total = run.gradients[part].sum(axis=0)
    size = float(np.linalg.norm(total))
    first = np.eye(1, total.size)[0]
    return np.asarray(radius * (-total / size if size > 0.0 else first))


def _best(run: Run, pieces: int, radius: float) -> Array:
    """The best comparator that is constant on each of equal pieces, shape (T, dim)."""
    bounds = np.linspace(0, len(run), pieces + 1).astype(int)
    u = np.empty_like(run.plays)
    for first, after in pairwise(bounds):
        u[first:after] = _leader(run, slice(first, after), radius)
    return u


def _comparators(
    run: Run, pieces: Sequence[int], radii: Sequence[float]
) -> Iterator[tuple[Array, float]]:
    """The best in pieces, of each norm where losses are linear, with their largest norm."""
    assert isinstance(run.stream, LossStream)
    linear = isinstance(run.stream.loss, Linear)
    for n in (n for n in pieces if n <= len(run)):
        for radius in radii if linear else (1.0,):
            u = _best(run, n, radius)
            yield u, radius if linear else float(np.linalg.norm(u, axis=1).max())


def _moving(
    bound: Callable[[Any, float, float], float],
    learner: Any,
    run: Run,
    *,
    radii: Sequence[float] = (1.0,),
    price: float = 0.0,
) -> Iterator[tuple[float, float]]:
    """Comparators in pieces; `bound` takes the learner, their path length and largest norm."""
    for u, size in _comparators(run, _PIECES, radii):
        regret = float(run.regret(u)[-1]) + price * run.switching_cost
        yield regret, bound(learner, path_length(u), size)


def _fixed(
    bound: Callable[[Any, Array], float], learner: Any, run: Run
) -> Iterator[tuple[float, float]]:
    """Fixed comparators of many norms; `bound` takes the learner and the comparator."""
    nothing = np.zeros(run.plays.shape[1])
    yield float(run.regret(nothing)[-1]), bound(learner, nothing)
    for u, _ in _comparators(run, (1,), _FREE):
        yield float(run.regret(u)[-1]), bound(learner, u[0])


def _on_intervals(learner: Any, run: Run) -> Iterator[tuple[float, float]]:
    """Fixed comparators in the ball, on intervals of powers of 2, half of them overlapping."""
    assert isinstance(run.stream, LossStream)
    lengths = [1 << k for k in range(len(run).bit_length())]
    for length in dict.fromkeys([*lengths, len(run)]):
        for first in range(0, len(run) - length + 1, max(1, length // 2)):
            part = slice(first, first + length)
            best = run.stream.values(_leader(run, part, 1.0))[part].sum()
            regret = float(run.losses[part].sum() - best)
            yield regret, learner.interval_bound(first + 1, first + length)


def _haar(learner: Any, run: Run) -> Iterator[tuple[float, float]]:
    sizes = np.linalg.norm(run.gradients, axis=1)
    for u, _ in _comparators(run, _PIECES, _FREE):
        yield float(run.regret(u)[-1]), learner.bound(u, sizes)


def _size(u: Array) -> float:
    return float(np.linalg.norm(u))


@cache
def _constant_norm(rounds: int) -> float:
    """The norm of the constant 1 in the kernel that `KernelFTRL` has by default."""
    return float(rkhs_norm(KernelFTRL(1, lipschitz=1.0).kernel, np.ones(rounds)))


def cases() -> list[Case]:
    """Every learner with a bound of its own on losses of these kinds."""
    path = partial(_moving, lambda learner, P, M: learner.bound(P))
    both = partial(_moving, lambda learner, P, M: learner.bound(P, M))
    swapped = partial(_moving, lambda learner, P, M: learner.bound(M, P))
    fixed = partial(_fixed, lambda learner, u: learner.bound(_size(u)))
    ball = Ball(1.0)

    def made(make: Any, *given: str, **told: Any) -> Callable[[Setting], Any]:
        """Makes a learner that is told G and what is named of T, D and L, all of them true."""

        def build(setting: Setting) -> Any:
            facts = {"horizon": setting.rounds, "radius": 1.0, "smoothness": 1.0}
            known = {name: facts[name] for name in given}
            return make(setting.dim, lipschitz=setting.lipschitz, **known, **told)

        return build

    def root(setting: Setting) -> float:
        return 1.0 / math.sqrt(setting.rounds)

    smooth = ("horizon", "radius", "smoothness")
    return [
        Case("Tracker", "nothing", lambda s: Tracker(s.dim), partial(both, radii=_FREE)),
        Case(
            "MultiScale",
            "G",
            made(MultiScale),
            partial(_fixed, lambda learner, u: learner.bound([_size(u)])),
            _ANYWHERE,
        ),
        Case(
            "Algorithm 2",
            "G",
            made(KernelFTRL),
            partial(
                _fixed,
                lambda learner, u: learner.bound(_size(u) * _constant_norm(learner.rounds)),
            ),
            _ANYWHERE,
        ),
        Case("OGD, step 1/√T", "D, step", lambda s: b.OGD(s.dim, step=root(s), domain=ball), both),
        Case("OGD, steps 1/√t", "D", lambda s: b.OGD(s.dim, schedule="sqrt", domain=ball), both),
        Case(
            "OGD, scale-free", "D", lambda s: b.OGD(s.dim, schedule="scale-free", domain=ball), both
        ),
        Case(
            "Optimistic OGD",
            "D, step",
            lambda s: b.OptimisticOGD(s.dim, step=root(s), domain=ball),
            path,
        ),
        Case("Ader", "T, G, D", made(b.Ader, "horizon", "radius"), path),
        Case("Sword, variation", "T, G, D, L", made(b.SwordVariation, *smooth), path),
        Case("Sword, small loss", "T, G, D, L", made(b.SwordSmallLoss, *smooth), path),
        Case("Sword, best", "T, G, D, L", made(b.SwordBest, *smooth), path),
        Case("Sword++", "T, G, D, L", made(b.SwordPP, *smooth), path),
        Case("Scream", "T, G, D, λ", made(b.Scream, "horizon", "radius"), partial(path, price=1.0)),
        Case(
            "Discounted FTRL",
            "D, discount",
            lambda s: b.DiscountedFTRL(s.dim, discount=0.9, radius=1.0),
            swapped,
        ),
        Case("KT", "G", made(b.KT), fixed, _ANYWHERE),
        Case(
            "COCOB",
            "G",
            made(b.COCOB),
            partial(_fixed, lambda learner, u: learner.bound(u)),
            _ANYWHERE,
        ),
        Case("FreeGrad", "G", made(b.FreeGrad), fixed, _ANYWHERE),
        Case("Sparse Haar", "T, G", made(b.SparseHaar, "horizon"), _haar, _ANYWHERE),
        Case("SAOL", "G, D", made(b.SAOL, "radius"), _on_intervals),
        Case("CBCE", "G, D", made(b.CBCE, "radius"), _on_intervals),
        Case("SACS", "G, D", made(b.SACS, "radius"), _on_intervals),
        Case("AFLH++", "T, G, D", made(b.AFLH, "horizon", "radius"), _on_intervals),
        Case("FLH, means", "G, D, H", made(b.FLH, "radius", curvature=1.0), _on_intervals, _CURVED),
        Case(
            "FLH, Newton",
            "G, D, α",
            made(b.FLH, "radius", curvature=0.25, kind="exp-concave"),
            _on_intervals,
            _CURVED,
        ),
    ]
