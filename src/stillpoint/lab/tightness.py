"""How tight guarantees are: gradient sequences that bring regret as near to its bound as we find.

Constructions of the literature come first: equal gradients, signs that alternate, switch (path
length, Zhang et al. 2018, Theorem 2) or oppose the play, sizes that double (scale). From the best
of them a search flips and rescales gradients as long as that brings regret nearer to its bound.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

import stillpoint.lab.baselines as b
from stillpoint.core.validation import Array, count
from stillpoint.domains import Ball
from stillpoint.learners import KernelFTRL, MultiScale, Tracker
from stillpoint.play import play
from stillpoint.regret import path_length, rkhs_norm
from stillpoint.run import Run

Claims = Callable[[Any, Run], Iterator[tuple[float, float]]]
_LEVELS = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
_PIECES = (1, 2, 4, 8, 16)
_FREE = (0.01, 0.1, 1.0, 10.0, 100.0)  # norms of comparators of unbounded learners
_ROUNDING = 1e-12


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


@dataclass(frozen=True, eq=False)
class Tightest:
    """The largest ratio of regret and bound that was found for a learner.

    Parameters
    ----------
    constructed, construction
        The largest of the constructions, and which.
    searched
        The largest after the search.
    gradients
        Where that is, shape (T,).
    """

    name: str
    told: str
    rounds: int
    constructed: float
    construction: str
    searched: float
    gradients: Array


def tightest(case: Case, rounds: int, *, tries: int = 200, seed: int = 0) -> Tightest:
    """Search gradient sequences of that many rounds for the largest regret/bound.

    Parameters
    ----------
    rounds
        T; the search is for small ones.
    tries
        How many changes are tried.
    seed
        Of the changes.
    """
    rounds, rng = count("rounds", rounds), np.random.default_rng(seed)
    starts = constructions(rounds, lambda: case.build(rounds), rng)
    found = {name: ratio(case, g) for name, g in starts.items()}
    construction = max(found, key=found.__getitem__)
    best, g = found[construction], starts[construction]
    for _ in range(tries):
        other = _changed(g, rng)
        value = ratio(case, other)
        if value > best:
            best, g = value, other
    return Tightest(case.name, case.told, rounds, found[construction], construction, best, g)


def ratio(case: Case, gradients: Array) -> float:
    """The largest regret/bound of a case on linear losses with these gradients, shape (T,).

    Learners without a domain may win 10¹⁸ and lose it again: of a regret, what the rounding of such
    sums can have made, T·2⁻⁵²·Σ|g_t|‖w_t‖ at most, does not count.
    """
    learner = case.build(gradients.size)
    run = play(learner, gradients[:, None])
    turnover = float(np.abs(run.gradients * run.plays).sum())
    rounding = _ROUNDING + gradients.size * np.finfo(float).eps * turnover
    worst = 0.0
    for regret, bound in case.claims(learner, run):
        if regret > rounding:
            worst = max(worst, (regret - rounding) / bound if bound > 0.0 else math.inf)
    return worst


def constructions(
    rounds: int, build: Callable[[], Any], rng: np.random.Generator
) -> dict[str, Array]:
    """Gradient sequences of the literature, of sizes up to 1, by name."""
    t = np.arange(rounds)
    root = max(1, math.isqrt(rounds))
    signs = rng.choice([-1.0, 1.0], rounds)
    return {
        "equal": np.ones(rounds),
        "alternating": np.where(t % 2, -1.0, 1.0),
        "one switch": np.where(t < rounds // 2, 1.0, -1.0),
        "switches": np.where(t // root % 2, -1.0, 1.0),
        "random signs": signs,
        "doubling sizes": signs * np.exp2(t // root - (rounds - 1) // root),
        "one large": np.where(t == rounds - 1, 1.0, 0.01),
        "against the play": _reacting(build(), rounds, lambda w: w),
        "towards the play": _reacting(build(), rounds, lambda w: -w),
        "one side": _reacting(build(), rounds, lambda w: w + 0.5),
    }


def _reacting(learner: Any, rounds: int, toward: Callable[[float], float]) -> Array:
    """The signs of `toward(w)` for the plays that answer them."""
    g = np.empty(rounds)
    for t in range(rounds):
        g[t] = 1.0 if toward(float(learner.predict()[0])) >= 0.0 else -1.0
        if learner.takes_losses:
            learner.update_loss(_Slope(g[t : t + 1].copy()))
        else:
            learner.update(g[t : t + 1])
    return g


@dataclass(frozen=True, eq=False)
class _Slope:
    """A linear loss."""

    g: Array

    def value(self, w: Array) -> float:
        """⟨g, w⟩."""
        return float(self.g @ w)

    def gradient(self, w: Array) -> Array:
        """The gradient."""
        return self.g.copy()


def _changed(g: Array, rng: np.random.Generator) -> Array:
    """One gradient drawn anew, a run of them turned round, or two of them exchanged."""
    other, kind = g.copy(), rng.integers(3)
    i, j = sorted(rng.integers(g.size, size=2))
    if kind == 0:
        other[i] = rng.choice(_LEVELS)
    elif kind == 1:
        other[i : j + 1] *= -1.0
    else:
        other[[i, j]] = other[[j, i]]
    return other


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


def table(rows: Iterable[tuple[Case, Sequence[Tightest]]]) -> str:
    """Markdown: a row a learner, ratios by construction and by search at each T."""
    lines, horizons = [], []
    for case, found in rows:
        horizons = [each.rounds for each in found]
        cells = [
            f"{each.constructed:.3f} ({each.construction}) | {each.searched:.3f}" for each in found
        ]
        lines.append(f"| {case.name} | {case.told} | {' | '.join(cells)} |")
    head = " | ".join(f"T = {T}: constructed | searched" for T in horizons)
    rule = "|---" * (2 + 2 * len(horizons))
    return "\n".join([f"| learner | is told | {head} |", f"{rule}|", *lines, ""])
