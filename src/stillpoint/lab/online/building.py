"""The rule and the bank of an ensemble, from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import counted
from stillpoint.domains import Ball
from stillpoint.lab.online import _ensemble
from stillpoint.lab.online._bank import AT, ROW, Bank, Rule
from stillpoint.lab.online._bases import NEWTON

if TYPE_CHECKING:
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
    code = [-1 if part.code is None else part.code for part in (first, own.meta)]
    cover = -1 if own.schedule.code is None else own.schedule.code
    return Rule(
        base=code[0],
        step=float(first.step),
        offset=float(first.offset),
        curvature=float(first.curvature),
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
