"""Learners of the literature as contenders: what each assumes, and how it is built from facts.

Facts are true ones, D the largest norm of the comparator; the papers' D, a diameter, is twice that.
Losses of streams need not be smooth: those who must know L are told G/D.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillpoint.domains import Ball
from stillpoint.lab.baselines import (
    AFLH,
    BGD,
    CBCE,
    FLH,
    MSMWC,
    OEGD,
    OGD,
    PBGD,
    PSACS,
    SACS,
    SAOL,
    AdaNormalHedge,
    AdaptMLProd,
    Bandit,
    Hedge,
    OptimisticHedge,
    OptimisticOGD,
    Scream,
    SwordBest,
    SwordPP,
    SwordSmallLoss,
    SwordVariation,
)
from stillpoint.learners import Tracker

if TYPE_CHECKING:
    from stillpoint.lab.bench.contenders import Facts

Entry = tuple[str, str, Callable[["Facts"], Any]]


def _sizes(f: Facts) -> dict[str, Any]:
    return {"lipschitz": f.within(f.radius), "radius": f.radius}


def _timed(f: Facts) -> dict[str, Any]:
    return {"horizon": f.horizon, **_sizes(f)}


def _smooth(f: Facts) -> dict[str, Any]:
    return {**_timed(f), "smoothness": f.within(f.radius) / f.radius}


def _step(f: Facts) -> dict[str, Any]:
    step = f.radius / (f.within(f.radius) * math.sqrt(f.horizon))
    return {"step": step, "domain": Ball(f.radius)}


def _pool(f: Facts) -> list[OGD]:
    top = f.radius / f.within(f.radius)
    return [OGD(f.dim, step=top * 2.0**-k, domain=Ball(f.radius)) for k in range(10)]


def _range(f: Facts) -> dict[str, Any]:
    return {"loss_range": 2.0 * f.radius * f.within(f.radius)}


def _bandit(f: Facts, points: int) -> dict[str, Any]:
    largest = 2.0 * f.radius * f.within(f.radius) if points == 1 else None
    return {**_timed(f), "points": points, "largest": largest, "seed": f.seed}


def _explorer(f: Facts, points: int) -> Bandit:
    return Bandit(Tracker(f.dim), points=points, seed=f.seed)


PUBLISHED: list[Entry] = [
    ("OptimisticOGD", "D, the step D/(G√T)", lambda f: OptimisticOGD(f.dim, **_step(f))),
    ("OEGD", "D, the step D/(G√T)", lambda f: OEGD(f.dim, **_step(f))),
    ("SwordVariation", "T, G, D, L", lambda f: SwordVariation(f.dim, **_smooth(f))),
    ("SwordSmallLoss", "T, G, D, L", lambda f: SwordSmallLoss(f.dim, **_smooth(f))),
    ("SwordBest", "T, G, D, L", lambda f: SwordBest(f.dim, **_smooth(f))),
    ("SwordPP", "T, G, D, L", lambda f: SwordPP(f.dim, **_smooth(f))),
    ("Scream", "T, G, D, λ = 1", lambda f: Scream(f.dim, switching=1.0, **_timed(f))),
    ("SAOL", "G, D", lambda f: SAOL(f.dim, **_sizes(f))),
    ("CBCE", "G, D", lambda f: CBCE(f.dim, **_sizes(f))),
    ("SACS", "G, D", lambda f: SACS(f.dim, **_sizes(f))),
    ("PSACS", "G, D, a threshold of 1", lambda f: PSACS(f.dim, **_sizes(f))),
    ("AFLH", "T, G, D", lambda f: AFLH(f.dim, surrogate=False, **_timed(f))),
    ("AFLH++", "T, G, D", lambda f: AFLH(f.dim, **_timed(f))),
]
# by name only: on curved losses, over ten OGDs in Python, or told values and no gradients
BY_NAME: list[Entry] = [
    ("FLH", "G, D, strong convexity 1", lambda f: FLH(f.dim, curvature=1.0, **_sizes(f))),
    ("Hedge-OGDs", "D, ten steps", lambda f: Hedge(_pool(f))),
    ("AdaNormalHedge-OGDs", "D, ten steps", lambda f: AdaNormalHedge(_pool(f))),
    ("OptimisticHedge-OGDs", "D, ten steps", lambda f: OptimisticHedge(_pool(f))),
    ("AdaptMLProd-OGDs", "GD, ten steps", lambda f: AdaptMLProd(_pool(f), **_range(f))),
    ("MSMWC-OGDs", "GD, ten steps", lambda f: MSMWC(_pool(f), **_range(f))),
    ("Bandit-Tracker-1", "values at one point", lambda f: _explorer(f, 1)),
    ("Bandit-Tracker-2", "values at two points", lambda f: _explorer(f, 2)),
    ("BGD-1", "T, G, D, values at one point", lambda f: BGD(f.dim, **_bandit(f, 1))),
    ("BGD-2", "T, G, D, values at two points", lambda f: BGD(f.dim, **_bandit(f, 2))),
    ("PBGD-1", "T, G, D, values at one point", lambda f: PBGD(f.dim, **_bandit(f, 1))),
    ("PBGD-2", "T, G, D, values at two points", lambda f: PBGD(f.dim, **_bandit(f, 2))),
]
