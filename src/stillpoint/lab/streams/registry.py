"""Every stream by name, in sets.

Each is marked as one on which constants of the library were chosen, or as only reported on.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial

from stillpoint.core.words import suggest
from stillpoint.lab.streams.base import CHOSEN, REPORTED, Stream
from stillpoint.lab.streams.families import (
    families,
    pinball_families,
    sign_flips,
    signals,
    stagewise,
    ten_pieces,
)
from stillpoint.lab.streams.hard import (
    bursts,
    heavy_gradients,
    heavy_noise,
    irregular,
    pure_noise,
    scale_jumps,
)
from stillpoint.lab.streams.reactive import ReactiveStream, fleeing, orthogonal, random_signs
from stillpoint.lab.streams.unseen import UNSEEN
from stillpoint.lab.streams.unseen_vectors import UNSEEN_VECTORS
from stillpoint.losses import Huber

AnyStream = Stream | ReactiveStream
_SHORTEST = 100


@dataclass(frozen=True)
class Spec:
    """A stream yet to be drawn by `make(T, seed)`.

    Parameters
    ----------
    name
        What it is called in tables.
    kind
        The set it is summarised in.
    group
        "chosen" where constants of the library were chosen on it, else "reported".
    make
        A function from T and a seed to the stream.
    rated
        Whether a ratio to the regret of OGD tuned in hindsight means anything; on noise, set
        "noise", that is luck.
    """

    name: str
    kind: str
    group: str
    make: Callable[[int, int], AnyStream]
    rated: bool = True

    @property
    def note(self) -> str:
        """One line on what it is."""
        return self.make(_SHORTEST, 0).note


def get(name: str, T: int, seed: int) -> AnyStream:
    """Draw the stream called `name`: one stream, so neither a set nor a wildcard will do."""
    return named(name).make(T, seed)


def named(name: str, others: Iterable[str] = ()) -> Spec:
    """The stream of exactly that name.

    others: what else an unknown name may have meant.
    """
    known = {spec.name: spec for spec in all_streams()}
    if name not in known:
        raise _unknown(name, [*known, *others], "give the name of one stream")
    return known[name]


def find(patterns: str | Sequence[str]) -> list[Spec]:
    """The streams that any pattern names.

    A pattern is a name, a set ("vectors"), a group ("chosen"), "all", or a wildcard ("x1000/*").
    """
    specs = all_streams()
    chosen: dict[str, Spec] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        exact = [spec for spec in specs if spec.name == pattern]
        hits = exact or [
            s for s in specs if pattern in ("all", s.kind, s.group) or fnmatchcase(s.name, pattern)
        ]
        if not hits:
            words = sorted({word for s in specs for word in (s.name, s.kind, s.group)})
            raise _unknown(
                pattern, words, f"give a name, a wildcard or one of {', '.join(kinds())}"
            )
        chosen |= {spec.name: spec for spec in hits}
    return list(chosen.values())


def _unknown(word: str, words: Sequence[str], remedy: str) -> ValueError:
    return ValueError(
        f"stream must be known: got {word!r}; {suggest(word, words, 3)}{remedy} (`stillpoint"
        " streams` lists all)"
    )


def kinds() -> list[str]:
    """The sets, in order."""
    return list(dict.fromkeys(spec.kind for spec in all_streams()))


@cache
def all_streams() -> tuple[Spec, ...]:
    """Every stream."""
    specs = [
        *_several("families", families, CHOSEN),
        *_several("times 0.01", partial(families, scale=0.01)),
        *_several("times 1000", partial(families, scale=1000.0)),
        *_several("vectors", partial(families, dim=10)),
        *_several("Huber", partial(families, loss=Huber(0.1))),
        *_several("Huber", partial(families, loss=Huber(1.0))),
        *_several("pinball", partial(pinball_families, level=0.99)),
    ]
    for unit in (0.01, 1.0, 1000.0):
        specs += _several("pinball", partial(pinball_families, unit=unit))
    specs += _several("signals", signals)
    one: list[tuple[str, Callable[[int, int], AnyStream]]] = [
        ("peers", ten_pieces),
        ("peers", sign_flips),
        ("peers", stagewise),
        ("hard", scale_jumps),
        ("hard", heavy_noise),
        ("hard", heavy_gradients),
        ("hard", irregular),
        ("hard", bursts),
        ("noise", pure_noise),
        ("noise", partial(pure_noise, push=20)),
        ("noise", random_signs),
        ("adversaries", orthogonal),
        ("adversaries", fleeing),
        *(("unseen", make) for make in (*UNSEEN, *UNSEEN_VECTORS)),
    ]
    return (
        *specs,
        *(
            Spec(make(_SHORTEST, 0).name, kind, REPORTED, make, kind != "noise")
            for kind, make in one
        ),
    )


def _several(
    kind: str, make: Callable[[int, int], dict[str, Stream]], group: str = REPORTED
) -> list[Spec]:
    return [Spec(name, kind, group, partial(_pick, make, name)) for name in make(_SHORTEST, 0)]


def _pick(make: Callable[[int, int], dict[str, Stream]], name: str, T: int, seed: int) -> Stream:
    return make(T, seed)[name]
