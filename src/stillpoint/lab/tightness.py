"""How tight guarantees are: gradient sequences that bring regret as near to its bound as we find.

Constructions of the literature come first: equal gradients, signs that alternate, switch (path
length, Zhang et al. 2018, Theorem 2) or oppose the play, sizes that double (scale). From the best
of them a search flips and rescales gradients as long as that brings regret nearer to its bound.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.lab.claims import Case as Case
from stillpoint.lab.claims import cases as cases
from stillpoint.play import play

_LEVELS = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)
_ROUNDING = 1e-12


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
