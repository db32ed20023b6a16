"""Projection and clipping of a learner in an RKHS, compiled.

Everything about gradients "fed" is after clipping and projection.
"""

import math
from typing import NamedTuple

from stillpoint.core.arithmetic import assign, norm
from stillpoint.core.array import Array
from stillpoint.core.jit import njit
from stillpoint.domains import _sets as domains


class Places(NamedTuple):
    """Where the numbers of a run stand in `State.scalars`."""

    variance: int = 0  # Σ‖G_s‖² of the fed gradients
    scaled: int = 1  # Σ‖G_s‖²/H_s² of the fed gradients
    top: int = 2  # the bound on ‖g‖: given, or the largest so far
    hint: int = 3  # H_t ≥ ‖G_t‖ for every fed gradient up to now
    total: int = 4  # Σ‖g_s‖
    reach: int = 5  # max_k Σ_{s≤k}‖g_s‖ / max_{s≤k}‖g_s‖ (erratum E15)


AT = Places()


class State(NamedTuple):
    """What a constrained learner keeps beside its memory, in d dimensions."""

    scalars: Array  # (6,), at the places above
    proposal: Array  # z, (d,), what the learner proposed
    inner: Array  # (d,), z projected on the artificial ball


class Rule(NamedTuple):
    """What a constrained learner assumes, and where it plays."""

    fixed: bool  # the hint is known
    scale_free: bool  # gradients are clipped to the largest so far
    radius_scale: float  # ε_D of the artificial ball
    ball: bool  # plays stay in the artificial ball
    unbounded: bool  # nothing holds plays back
    limit: float  # gradients above it are refused
    domain: domains.Region


@njit(cache=True)
def raise_hint(scalars: Array, fixed: bool, diagonal: float) -> None:
    """H_t: given once and for all, or the running maximum of (bound on ‖g‖)·√k(t,t)."""
    if not fixed:
        scalars[AT.hint] = max(scalars[AT.hint], scalars[AT.top] * math.sqrt(diagonal))


@njit(cache=True)
def artificial_radius(scalars: Array, radius_scale: float) -> float:
    """D_t = ε_D·√(max_k Σ_{s≤k}‖g_s‖/max_{s≤k}‖g_s‖), 0 before the first nonzero gradient."""
    return radius_scale * math.sqrt(scalars[AT.reach])


@njit(cache=True)
def constrain(
    z: Array, inner: Array, w: Array, ball: Array, ball_on: bool, kind: int, parameters: Array
) -> None:
    """Project z on the artificial ball, if that is on, into inner, and inner on the domain into w.

    ball is the radius and then the centre; kind and parameters are the domain's.
    """
    if ball_on:
        domains.project(domains.BALL, ball, z, inner)
    else:
        assign(inner, z)
    domains.project(kind, parameters, inner, w)


@njit(cache=True, forceinline=True)
def play(state: State, rule: Rule, ball: Array, constrained: bool, w: Array) -> None:
    """Write the play for the proposal into w; ball is scratch, 0 but for its first entry."""
    if constrained:
        ball[0] = artificial_radius(state.scalars, rule.radius_scale)
        domain = rule.domain
        constrain(state.proposal, state.inner, w, ball, rule.ball, domain.kind, domain.parameters)
    else:
        assign(w, state.proposal)


@njit(cache=True)
def clip(g: Array, top: float, out: Array) -> None:
    """out = g·min(1, top/‖g‖)."""
    size = norm(g)
    factor = 1.0 if size <= top else top / size
    for i in range(g.size):
        out[i] = g[i] * factor


@njit(cache=True, forceinline=True)
def feed(state: State, scale_free: bool, constrained: bool, g: Array, w: Array, fed: Array) -> None:
    """Write what a learner is fed for the true gradient g at its play w.

    That is g clipped to the largest so far, turned for the domain, then for the ball.
    """
    if scale_free:
        clip(g, state.scalars[AT.top], fed)
    else:
        assign(fed, g)
    if constrained:
        domains.surrogate(fed, state.inner, w, fed)
        domains.surrogate(fed, state.proposal, state.inner, fed)


@njit(cache=True)
def feed_round(
    scalars: Array,
    proposal: Array,
    inner: Array,
    scale_free: bool,
    constrained: bool,
    g: Array,
    w: Array,
    fed: Array,
) -> None:
    """`feed` of a state's fields: from Python, arrays are passed faster than a tuple of them."""
    feed(State(scalars, proposal, inner), scale_free, constrained, g, w, fed)


@njit(cache=True)
def observe(scalars: Array, fixed: bool, scale_free: bool, square: float, g: Array) -> None:
    """Account for a fed gradient with ‖G‖² = square that came from the true gradient g."""
    scalars[AT.variance] += square
    if not fixed and scalars[AT.hint] > 0.0:
        scalars[AT.scaled] += square / scalars[AT.hint] / scalars[AT.hint]
    if scale_free:
        size = norm(g)
        scalars[AT.top] = max(scalars[AT.top], size)
        scalars[AT.total] += size
        if scalars[AT.top] > 0.0:
            scalars[AT.reach] = max(scalars[AT.reach], scalars[AT.total] / scalars[AT.top])
