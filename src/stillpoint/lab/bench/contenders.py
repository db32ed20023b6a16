"""Who plays in benchmarks and sweeps, what each assumes, and what one play comes to."""

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stillpoint.core.validation import count
from stillpoint.core.words import suggest
from stillpoint.domains import Ball
from stillpoint.lab.baselines import COCOB, KT, OGD, Ader, DiscountedFTRL, FreeGrad, SparseHaar
from stillpoint.lab.bench.published import BY_NAME, PUBLISHED
from stillpoint.lab.streams.own import OwnStream
from stillpoint.lab.streams.registry import AnyStream, Spec, find
from stillpoint.learners import KernelFTRL, MultiScale, Tracker
from stillpoint.play import Playable, play

T = TypeVar("T")


@dataclass(frozen=True)
class Facts:
    """What a contender may assume about a stream before it starts.

    Parameters
    ----------
    dim
        The dimension of plays.
    horizon
        T, the number of rounds.
    lipschitz
        G, a bound on gradient norms at every play; infinite for squared losses.
    radius
        D, the largest norm of the comparator.
    within
        From the radius of a ball to the gradient bound inside it, for learners that stay in one.
    seed
        Of the run, for learners that draw at random.
    """

    dim: int
    horizon: int = 1000
    lipschitz: float = 1.0
    radius: float = 1.0
    within: Callable[[float], float] = lambda radius: 1.0
    seed: int = 0


@dataclass(frozen=True)
class Contender:
    """A learner in benchmarks, sweeps and comparisons.

    Parameters
    ----------
    name
        What it is called in tables.
    assumes
        The facts that it uses, such as "T, G, D".
    build
        A function from `Facts` to the learner.
    usual
        Whether it is played where no learner is named.
    """

    name: str
    assumes: str
    build: Callable[[Facts], Playable]
    usual: bool = True


Learner = str | Contender | tuple[str, Callable[..., Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """One play: regret against the true comparator, total loss, seconds.

    error: why there is no regret.
    """

    regret: float | None
    loss: float | None
    seconds: float
    error: str = ""
    warning: str = ""


def facts_of(stream: AnyStream | OwnStream, seed: int = 0) -> Facts:
    """What is true of a stream."""
    return Facts(
        stream.dim,
        len(stream),
        stream.lipschitz,
        stream.radius or stream.unit,
        stream.lipschitz_within,
        seed,
    )


def outcome(player: Contender, stream: AnyStream | OwnStream, seed: int = 0) -> Outcome:
    """Play a stream; what the learner raises is kept as text, so that others can go on."""
    facts, start = facts_of(stream, seed), perf_counter()

    def measure() -> tuple[float | None, float, float]:
        learner = player.build(facts)
        begun = perf_counter()
        run = play(learner, stream.losses)
        seconds = perf_counter() - begun
        target = stream.target  # an adversary's is known by now
        regret = None if target is None else float(run.regret(target)[-1])
        if regret is not None and not math.isfinite(regret):
            raise ValueError(f"regret must be finite: got {regret}")
        return regret, float(run.losses.sum()), seconds

    found, error, warning = attempted(measure)
    regret, loss, seconds = found or (None, None, perf_counter() - start)
    return Outcome(regret, loss, seconds, error, warning)


def attempted(measure: Callable[[], T]) -> tuple[T | None, str, str]:
    """What `measure` returns, or None; what it raised, and the first warning, as texts."""
    found, error = None, ""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = measure()
        except Exception as refusal:
            error = complaint(refusal)
    return found, error, str(heard[0].message) if heard else ""


def complaint(error: Exception) -> str:
    """An exception as one text."""
    return f"{type(error).__name__}: {error}"


def _ader(facts: Facts, radius: float) -> Ader:
    return Ader(facts.dim, horizon=facts.horizon, lipschitz=facts.within(radius), radius=radius)


# name, what it assumes, and how it is built; facts are true ones, D the largest norm of the
# comparator
_ENTRIES: list[tuple[str, str, Callable[[Facts], Any]]] = [
    ("Tracker", "nothing", lambda f: Tracker(f.dim)),
    ("MultiScale", "G", lambda f: MultiScale(f.dim, lipschitz=f.lipschitz)),
    ("MultiScale-free", "nothing", lambda f: MultiScale(f.dim)),
    ("Algorithm2", "G", lambda f: KernelFTRL(f.dim, lipschitz=f.lipschitz)),
    ("Ader", "T, G, D", lambda f: _ader(f, f.radius)),
    ("Ader-10D", "T, G, D ten times too large", lambda f: _ader(f, 10 * f.radius)),
    ("Ader-D1", "T, G, D = 1 whatever it is", lambda f: _ader(f, 1.0)),
    (
        "OGD-sqrt",
        "G, D",
        lambda f: OGD(
            f.dim, step=f.radius / f.within(f.radius), schedule="sqrt", domain=Ball(f.radius)
        ),
    ),
    (
        "OGD-scale-free",
        "D",
        lambda f: OGD(f.dim, step=f.radius, schedule="scale-free", domain=Ball(f.radius)),
    ),
    (
        "DiscountedFTRL",
        "D, discount 0.99",
        lambda f: DiscountedFTRL(f.dim, discount=0.99, radius=f.radius),
    ),
    ("SparseHaar", "T, G", lambda f: SparseHaar(f.dim, lipschitz=f.lipschitz, horizon=f.horizon)),
    ("KT", "G", lambda f: KT(f.dim, lipschitz=f.lipschitz)),
    ("COCOB", "G", lambda f: COCOB(f.dim, lipschitz=f.lipschitz)),
    ("FreeGrad", "G", lambda f: FreeGrad(f.dim, lipschitz=f.lipschitz)),
]


def contenders() -> dict[str, Contender]:
    """Every learner that can be entered, by name."""
    usual = [Contender(*entry) for entry in (*_ENTRIES, *PUBLISHED)]
    return {player.name: player for player in (*usual, *(Contender(*e, False) for e in BY_NAME))}


def choose(learners: str | Sequence[Learner]) -> list[Contender]:
    """Contenders from names, from (name, class, config) triples, or as they are.

    None means all that are usual.
    """
    known = contenders()
    players = []
    usual = [player.name for player in known.values() if player.usual]
    for learner in [learners] if isinstance(learners, str) else learners or usual:
        if isinstance(learner, Contender):
            players.append(learner)
        elif not isinstance(learner, str):
            players.append(_configured(learner))
        elif learner in known:
            players.append(known[learner])
        else:
            hint = suggest(learner, known)
            raise ValueError(
                f"learner must be known: got {learner!r}; {hint}the known ones are"
                f" {', '.join(known)}"
            )
    return players


class Lineup(NamedTuple):
    """Everything that is to be played: checked, each once, in the order given."""

    players: list[Contender]
    specs: list[Spec]
    seeds: list[int]
    horizons: list[int]

    def settings(self) -> dict[str, Any]:
        """What a result says about it, of plain types."""
        return {
            "learners": {player.name: player.assumes for player in self.players},
            "streams": [spec.name for spec in self.specs],
            "seeds": self.seeds,
            "horizons": self.horizons,
        }


def lineup(
    learners: str | Sequence[Learner],
    streams: str | Sequence[str | Spec],
    seeds: Iterable[int],
    horizons: Sequence[int],
) -> Lineup:
    """Check what is asked for; raise ValueError where it cannot be played."""
    players: dict[str, Contender] = {}
    for player in choose(learners):
        if players.setdefault(player.name, player) is not player:
            raise ValueError(
                f"learners must have different names: got {player.name!r} twice; rename one"
            )
    asked = [streams] if isinstance(streams, str) else streams
    specs = [
        spec for entry in asked for spec in ([entry] if isinstance(entry, Spec) else find(entry))
    ]
    rounds = [count("horizons", horizon) for horizon in horizons]
    starts = [_seed(seed) for seed in seeds]
    if not (specs and starts and rounds):
        raise ValueError(
            "streams, seeds and horizons must each have an entry; give at least one of each"
        )
    unique: dict[str, Spec] = {}
    for spec in specs:
        if unique.setdefault(spec.name, spec) != spec:
            raise ValueError(
                f"streams must have different names: got two that are called {spec.name!r};"
                " rename one"
            )
    return Lineup(
        list(players.values()),
        list(unique.values()),
        list(dict.fromkeys(starts)),
        list(dict.fromkeys(rounds)),
    )


def _seed(seed: Any) -> int:
    if seed == 0 and isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return 0
    return count("seeds", seed, "give whole numbers, 0 or more")


def _configured(learner: Any) -> Contender:
    try:
        name, make, config = learner
        settings = dict(config)
        if not (isinstance(name, str) and callable(make)):
            raise TypeError
    except (TypeError, ValueError):
        remedy = "give a known name, (name, class, {argument: value}) or a Contender"
        raise ValueError(
            f"learner must be a name or say how it is built: got {learner!r}; {remedy}"
        ) from None
    # in full, and with the class: results are found again by it
    with np.printoptions(threshold=sys.maxsize):
        own = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        assumes = (
            f"{make.__module__}.{make.__qualname__}({own})"
            if hasattr(make, "__qualname__")
            else f"{make!r}({own})"
        )
    # two of them may read alike
    if any(sign in assumes for sign in (" at 0x", "<lambda>", "<locals>")):
        remedy = "use a value whose repr says what it is, or a Contender, whose `assumes` does"
        raise ValueError(f"config must read the same in every run: got {assumes}; {remedy}")
    return Contender(name, assumes, partial(_construct, make, settings))


def _construct(make: Callable[..., Any], config: dict[str, Any], facts: Facts) -> Any:
    return make(facts.dim, **config)
