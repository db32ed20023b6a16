"""The rule and the bank of an ensemble, from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import counted
from stillpoint.domains import Ball
from stillpoint.lab.online import _ensemble
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule
from stillpoint.lab.online._bases import NEWTON, SCALE_FREE, STRONG
from stillpoint.lab.online._metas import HEDGE
from stillpoint.lab.online.metas import FixedShare, Prod
from stillpoint.lab.online.schedules import CompactCover, LeadingHistories, LossCover, Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stillpoint.lab.online.bases import Base
    from stillpoint.lab.online.ensemble import Ensemble

HINTS = {
    "none": _ensemble.NONE,
    "last": _ensemble.LAST,
    "ahead": _ensemble.AHEAD,
    "best": _ensemble.BEST,
}


def make_rule(own: Ensemble) -> Rule:
    """The constants of an ensemble, its parts checked against each other."""
    compiled = own.domain._compiled(own.dim)
    if compiled is None:
        raise ValueError(
            f"domain must have a compiled projection: got {own.domain!r}; use a Ball, Box,"
            " Simplex or HalfSpace"
        )
    if own.hints == "best" and own.lipschitz is None:
        raise ValueError("lipschitz must be given for hints='best': got None; pass G")
    kinds = own.schedule.kinds
    first = kinds[0]
    lasting = kinds if isinstance(own.schedule, Pool) else kinds[:1]
    if any(base.code == NEWTON for base in kinds) and (
        own.dim > 1 and not (isinstance(own.domain, Ball) and not np.any(compiled[1][1:]))
    ):
        raise ValueError(
            f"domain must be a Ball around 0 for Newton steps: got {own.domain!r}; pass one"
        )
    if any(base.queries for base in kinds) and own.gradients != "own":
        raise ValueError(
            "gradients must be 'own' for base learners that query a second one: got 'play';"
            " pass gradients='own'"
        )
    _check_pair(own)
    code = [-1 if part.code is None else part.code for part in (first, own.meta)]
    cover = -1 if own.schedule.code is None else own.schedule.code
    return Rule(
        base=code[0],
        step=_common(lasting, "step", NEWTON),
        offset=_common(lasting, "offset", SCALE_FREE),
        curvature=_common(lasting, "curvature", STRONG, NEWTON),
        meta=code[1],
        rate=float(own.meta.rate),
        numerator=float(own.meta.numerator),
        range=float(own.meta.range) or 1.0,
        hints=HINTS[own.hints],
        order=own.order,
        penalty=own.penalty,
        cover=cover,
        every=float(own.schedule.every),
        own=int(own.gradients == "own"),
        values=int(own.losses == "values"),
        start=own.domain.project(zeros(own.dim)),
        kind=compiled[0],
        domain=compiled[1],
        limit=own._limit,
    )


def _common(kinds: Sequence[Base], name: str, *codes: int) -> float:
    """A constant that the base learners with these codes share: a rule has one for all."""
    values = {float(getattr(base, name)) for base in kinds if base.code in codes}
    if len(values) > 1:
        raise ValueError(
            f"bases must agree on {name}: got {sorted(values)} in one pool; pass the same to all"
        )
    return values.pop() if values else float(getattr(kinds[0], name))


def _check_pair(own: Ensemble) -> None:
    """Refuse schedules and meta learners that do not go together."""
    schedule, meta = own.schedule, own.meta
    if meta.code == HEDGE and isinstance(schedule, CompactCover | LeadingHistories | LossCover):
        raise ValueError(
            f"meta must leave out who has retired, on {type(schedule).__name__}: got {meta!r}, for"
            " which nobody does; use NormalHedge, CoinBetting, Prod or FixedShare, or a DenseCover"
        )
    if isinstance(schedule, LossCover) and (own.gradients, own.losses) == ("play", "linear"):
        raise ValueError(
            "losses must be 'values' for a LossCover, whose markers come with them: got 'linear'"
            " with gradients='play'; pass losses='values'"
        )
    if not isinstance(schedule, Pool):
        return
    if meta.code is not None and isinstance(meta, Prod):
        raise ValueError(
            f"meta must be for base learners without an end, on a Pool: got {meta!r}, whose rates"
            " come from lengths of intervals; use ExponentialWeights"
        )
    if (
        isinstance(meta, FixedShare)
        and meta.code is not None
        and len(set(schedule.prior or ())) > 1
    ):
        raise ValueError(
            f"prior must be left out for FixedShare, which begins with equal weights: got"
            f" {schedule.prior}; leave it out, or use ExponentialWeights"
        )


def make_bank(own: Ensemble) -> Bank:
    """The bank of an ensemble, empty."""
    newton = any(base.code == NEWTON for base in own.schedule.kinds)
    return empty_bank(own.schedule.places, own.dim, newton)


def empty_bank(places: int, dim: int, matrices: bool) -> Bank:
    """A bank of so many places, with or without a matrix for each."""
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("x", "y", "guess"), (places, dim)),
        "matrix": (places if matrices else 0, dim, dim),
        "table": (len(ROW), places),
        "extra": (dim,),
        "clock": (len(AT),),
    }
    return Bank(**{name: zeros(shapes[name]) for name in Bank._fields})


def check_clock(clock: Any, places: int) -> None:
    """Refuse a saved clock that points beyond what there is; `put_back` refuses other shapes."""
    values = np.asarray(clock)
    if values.shape == (len(AT),):
        most = {"round": 2.0**53, "marker": 2.0**53, "top": places, "latest": places - 1}
        for name, value in most.items():
            counted("clock", float(values[getattr(AT, name)]), value)
