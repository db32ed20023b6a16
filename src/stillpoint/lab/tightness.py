"""How tight guarantees are: losses that bring regret as near to its bound as we find.

Constructions of the literature come first: equal gradients, signs that alternate, switch (path
length, Zhang et al. 2018, Theorem 2) or oppose the play, sizes that double (scale); in the plane
also gradients that turn, or are at right angles to the play. From the best of them a search flips,
rescales and turns gradients as long as that brings regret nearer to its bound. Absolute and squared
losses are those whose targets lie where the gradients point from.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, count
from stillpoint.lab.claims import SLOPES, Setting, losses_of
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
    rows
        Where that is: gradients, or targets with a minus, shape (T, dim).
    """

    name: str
    told: str
    rounds: int
    constructed: float
    construction: str
    searched: float
    rows: Array


def tightest(
    case: Case, rounds: int, *, dim: int = 1, loss: str = "linear", tries: int = 200, seed: int = 0
) -> Tightest:
    """Search losses of that many rounds for the largest regret/bound.

    Parameters
    ----------
    case
        The learner and its claims.
    rounds
        T; the search is for small ones.
    dim
        The dimension of plays.
    loss : "linear", "absolute" or "squared"
        Of which the case must have claims; "absolute" ones in one dimension.
    tries
        How many changes are tried.
    seed
        Of the changes.
    """
    rounds, dim, rng = count("rounds", rounds), count("dim", dim), np.random.default_rng(seed)
    if loss not in case.losses or (loss == "absolute" and dim > 1):
        raise ValueError(
            f"loss must be one that {case.name} is judged on in {dim} dimensions: got {loss!r};"
            f" choose of {', '.join(case.losses)}"
        )
    starts = constructions(case, loss, Setting(rounds, dim, SLOPES[loss]), rng)
    found = {name: ratio(case, rows, loss) for name, rows in starts.items()}
    construction = max(found, key=found.__getitem__)
    best, rows = found[construction], starts[construction]
    for _ in range(tries):
        other = _changed(rows, rng)
        value = ratio(case, other, loss)
        if value > best:
            best, rows = value, other
    return Tightest(case.name, case.told, rounds, found[construction], construction, best, rows)


def ratio(case: Case, rows: Array, loss: str = "linear") -> float:
    """The largest regret/bound of a case on losses with these rows, shape (T, dim).

    Learners without a domain may win 10¹⁸ and lose it again: of a regret, what the rounding of such
    sums can have made, T·2⁻⁵²·Σ|g_t|‖w_t‖ at most, does not count.
    """
    learner = case.build(Setting(len(rows), rows.shape[1], SLOPES[loss]))
    run = play(learner, losses_of(loss, rows))
    turnover = float(np.abs(run.gradients * run.plays).sum())
    rounding = _ROUNDING + len(rows) * np.finfo(float).eps * turnover
    worst = 0.0
    for regret, bound in case.claims(learner, run):
        if regret > rounding:
            worst = max(worst, (regret - rounding) / bound if bound > 0.0 else math.inf)
    return worst


def constructions(
    case: Case, loss: str, setting: Setting, rng: np.random.Generator
) -> dict[str, Array]:
    """Rows of the literature, of sizes up to 1, by name: shape (T, dim)."""
    rounds, dim = setting.rounds, setting.dim
    t = np.arange(rounds)
    root = max(1, math.isqrt(rounds))
    signs = rng.choice([-1.0, 1.0], rounds)
    lines = {
        "equal": np.ones(rounds),
        "alternating": np.where(t % 2, -1.0, 1.0),
        "one switch": np.where(t < rounds // 2, 1.0, -1.0),
        "switches": np.where(t // root % 2, -1.0, 1.0),
        "random signs": signs,
        "doubling sizes": signs * np.exp2(t // root - (rounds - 1) // root),
        "one large": np.where(t == rounds - 1, 1.0, 0.01),
    }
    answers: dict[str, Callable[[Array], Array]] = {
        "against the play": lambda w: w,
        "towards the play": lambda w: -w,
        "one side": lambda w: w + 0.5 * _first(dim),
    }
    found = {name: line[:, None] * _first(dim) for name, line in lines.items()}
    if dim > 1:
        found |= {"one turn": _turning(2.0 * np.pi * t / rounds, dim)}
        found |= {"turns": _turning(2.0 * np.pi * t / root, dim)}
        answers["across the play"] = _across
    for name, answer in answers.items():
        found[name] = _reacting(case.build(setting), loss, setting, answer)
    return found


def _first(dim: int) -> Array:
    return np.asarray(np.eye(1, dim)[0])


def _turning(angles: Array, dim: int) -> Array:
    rows = np.zeros((angles.size, dim))
    rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
    return rows


def _across(w: Array) -> Array:
    """At right angles to w, in the plane of the first two coordinates."""
    return np.concatenate([[-w[1], w[0]], np.zeros(w.size - 2)])


def _reacting(learner: Any, loss: str, setting: Setting, answer: Callable[[Array], Array]) -> Array:
    """Rows of size 1 along `answer(w)` for the plays that answer them."""
    rows = np.empty((setting.rounds, setting.dim))
    for t in range(setting.rounds):
        along = answer(learner.predict())
        size = float(np.linalg.norm(along))
        rows[t] = along / size if size > 0.0 else _first(setting.dim)
        learner.update_loss(losses_of(loss, rows[t : t + 1])[0])
    return rows


def _changed(rows: Array, rng: np.random.Generator) -> Array:
    """One row drawn anew, a run of them turned round or by an angle, or two of them exchanged."""
    dim = rows.shape[1]
    other, kind = rows.copy(), rng.integers(3 if dim == 1 else 4)
    i, j = sorted(rng.integers(len(rows), size=2))
    if kind == 0:
        other[i] = rng.choice(_LEVELS) * (_first(dim) if dim == 1 else _drawn(rng, dim))
    elif kind == 1:
        other[i : j + 1] *= -1.0
    elif kind == 2:
        other[[i, j]] = other[[j, i]]
    else:
        angle = rng.uniform(-np.pi, np.pi)
        cos, sin = math.cos(angle), math.sin(angle)
        other[i : j + 1, :2] = other[i : j + 1, :2] @ np.array([[cos, sin], [-sin, cos]])
    return _held(other)


def _drawn(rng: np.random.Generator, dim: int) -> Array:
    along = rng.standard_normal(dim)
    return np.asarray(along / np.linalg.norm(along))


def _held(rows: Array) -> Array:
    """Rows whose sizes rounding has not lifted above 1."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(sizes, 1.0))


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
