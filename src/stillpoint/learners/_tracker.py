"""Tracker's round, compiled.

Each round reads a row for its inner product with the gradient, moves it, and mixes it into the
play. ‖x‖² of each expert is carried along by ‖x − ηg‖² = ‖x‖² − 2η⟨g, x⟩ + η²‖g‖², so that
projecting needs no pass of its own.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.losses import _pointwise as losses

EPS = 1e-3  # the radius at first
UP = 0.7  # log(step) moves by this times the correlation of gradients, where that is above 0,
DOWN = 1.0  # and by this where it is below
FADE = 0.8  # of the trace, a round
GROW = 0.5  # the radius doubles when the gain of an epoch reaches this times D√V
RATE = 8.0  # Hedge's learning rate is this over 2D√V
DELTA = 1e-5  # the prior of all OGDs together
BASE = 4.0  # the ratio of their steps
CAP = 1e150  # the radius stops here: its square still fits a float
_NEGLIGIBLE = 1e-18  # a share below this would not show in any digit

# log prior of h, then of OGD i: δ/((i+1)(i+2)), which sum to 1 with those that have not joined yet
LOG_PRIOR = np.log(np.append(1.0 - DELTA, DELTA / (np.arange(1.0, 65.0) * np.arange(2.0, 66.0))))


class Places(NamedTuple):
    """Where the numbers of a run stand in `State.scalars`."""

    radius: int = 0  # D
    log_step: int = 1  # log of h's step times Γ
    top: int = 2  # Γ, the largest gradient so far
    trace: int = 3  # n, the normaliser of the trace m
    gain: int = 4  # −Σ⟨g, w⟩ of the epoch
    epoch_squares: int = 5  # Σ‖g‖² of the epoch
    squares: int = 6  # Σ‖g‖²
    total: int = 7  # Σ‖g‖
    epochs: int = 8  # K
    share: int = 9  # p_h, the share of h in the play
    limit: int = 10  # the radius never grows past this


class Rows(NamedTuple):
    """Which row of `State.rows` is what."""

    play: int = 0  # w
    heuristic: int = 1  # h
    trend: int = 2  # m, the trace of gradients
    experts: int = 3  # the first OGD; the others follow


AT = Places()
ROW = Rows()


class State(NamedTuple):
    """What Tracker has learnt, with n OGDs in d dimensions."""

    scalars: Array  # (11,), at the places above
    losses: Array  # (1 + n,), Hedge's losses in this epoch: of h, then of each OGD
    squares: Array  # (n,), ‖x‖² of each OGD
    rows: Array  # (3 + n, d), at the rows above
    weights: Array  # (1 + n,), shares of the play: of h, then of each OGD


@njit(cache=True, forceinline=True)
def mix(state: State) -> None:
    """Write Hedge's mixture of h and the OGDs into the row of the play, and its weights."""
    s, rows, p = state.scalars, state.rows, state.weights
    if s[AT.top] == 0.0:
        assign(rows[ROW.play], rows[ROW.heuristic])
        p[:] = 0.0
        p[0] = s[AT.share] = 1.0
        return
    largest = s[AT.top]
    eta = RATE / (2.0 * s[AT.radius] * math.sqrt(s[AT.epoch_squares] + largest * largest))
    best = -math.inf
    for i in range(p.size):
        p[i] = LOG_PRIOR[i] - eta * state.losses[i]
        best = max(best, p[i])
    total = 0.0
    for i in range(p.size):
        p[i] = math.exp(p[i] - best)
        total += p[i]
    w = rows[ROW.play]
    for i in range(p.size):
        p[i] /= total
        row = rows[ROW.heuristic] if i == 0 else rows[ROW.experts + i - 1]
        share = p[i]
        if i == 0:
            for j in range(w.size):
                w[j] = share * row[j]
        elif share > _NEGLIGIBLE:
            for j in range(w.size):
                w[j] += share * row[j]
    s[AT.share] = p[0]


@njit(cache=True)
def _shrink(square: float, radius: float) -> float:
    """The factor that projects a vector of this squared length on the ball."""
    return radius / math.sqrt(square) if square > radius * radius else 1.0


@njit(cache=True, forceinline=True)
def learn(state: State, g: Array, size: float) -> None:
    """Take in the gradient g, of norm `size`, of the round that was mixed last; g is clipped."""
    if size == 0.0:
        return
    s, rows = state.scalars, state.rows
    if s[AT.top] == 0.0:
        s[AT.top], s[AT.share] = size, 1.0
    top = s[AT.top]
    after = max(top, size)
    if size > top:  # clip to the past maximum
        for j in range(g.size):
            g[j] *= top / size
        size = top
    w, D = rows[ROW.play], s[AT.radius]
    along = dot(g, w)
    s[AT.gain] -= along
    s[AT.epoch_squares] += size * size
    s[AT.squares] += size * size
    state.losses[0] += dot(g, rows[ROW.heuristic])
    _descend(state, g, size, D / top)
    step = _tune(state, g, size)
    shrink = _shrink(max(dot(w, w) - 2.0 * step * along + (step * size) * (step * size), 0.0), D)
    x = rows[ROW.heuristic]
    for j in range(x.size):
        x[j] = shrink * (w[j] - step * g[j])
    s[AT.top] = after
    s[AT.total] += size
    if D < s[AT.limit] and s[AT.gain] >= GROW * D * math.sqrt(s[AT.epoch_squares] + after * after):
        s[AT.radius] = min(2.0 * D, s[AT.limit])
        s[AT.gain] = s[AT.epoch_squares] = 0.0
        s[AT.epochs] += 1.0
        state.losses[:] = 0.0


@njit(cache=True, forceinline=True)
def _descend(state: State, g: Array, size: float, step: float) -> None:
    """Projected OGD: a step for each expert, its loss for Hedge and its squared length with it."""
    D = state.scalars[AT.radius]
    for i in range(state.squares.size):
        x = state.rows[ROW.experts + i]
        inner = dot(g, x)
        state.losses[1 + i] += inner
        square = state.squares[i] - 2.0 * step * inner + (step * size) * (step * size)
        square = max(square, 0.0)
        shrink = _shrink(square, D)
        for j in range(x.size):
            x[j] = shrink * (x[j] - step * g[j])
        state.squares[i] = min(square, D * D)
        step /= BASE


@njit(cache=True, forceinline=True)
def _tune(state: State, g: Array, size: float) -> float:
    """Return the step of h, after its logarithm followed the correlation of g with the trace."""
    s, m = state.scalars, state.rows[ROW.trend]
    D, top = s[AT.radius], s[AT.top]
    if s[AT.trace] > 0.0:
        # the normaliser knows the past only: dividing by |g| would bias the step for skewed
        # gradients
        rho = dot(g, m) / (top * s[AT.trace])
        s[AT.log_step] += s[AT.share] * (UP if rho > 0.0 else DOWN) * rho
    least = math.log(D / (s[AT.squares] / top / top + 1.0))
    s[AT.log_step] = min(max(s[AT.log_step], least), math.log(D))
    for j in range(m.size):
        m[j] = FADE * m[j] + g[j]
    s[AT.trace] = FADE * s[AT.trace] + size
    return float(math.exp(s[AT.log_step]) / top)


@njit(cache=True)
def mix_round(scalars: Array, losses: Array, squares: Array, rows: Array, weights: Array) -> None:
    """`mix` of a state's fields: from Python, arrays are passed faster than a tuple of them."""
    mix(State(scalars, losses, squares, rows, weights))


@njit(cache=True)
def learn_round(
    scalars: Array, losses: Array, squares: Array, rows: Array, weights: Array, g: Array
) -> bool:
    """`learn` of a state's fields; returns whether the radius has reached the largest there is."""
    learn(State(scalars, losses, squares, rows, weights), g, usable_norm(g))
    return bool(scalars[AT.radius] >= CAP)


@njit(cache=True)
def play_rounds(
    state: State, domain: domains.Region, rounds: losses.Rounds, out: losses.Outputs
) -> int:
    """Play a block of rounds and return how many.

    Stops at a round whose gradient is not finite: it is predicted, not learnt from.
    """
    state, domain, rounds, out = bare(state), bare(domain), bare(rounds), bare(out)
    scratch = np.empty(state.rows.shape[1])
    proposal = state.rows[ROW.play]
    for t in range(out.losses.size):
        mix(state)
        w, g = out.plays[t], out.gradients[t]
        domains.project(domain.kind, domain.parameters, proposal, w)
        out.losses[t] = losses.evaluate_round(rounds, t, w, g)
        size = usable_norm(g)
        if not math.isfinite(size):
            return t
        fed = g
        if domain.kind != domains.EVERYWHERE:
            domains.surrogate(g, proposal, w, scratch)
            fed, size = scratch, usable_norm(scratch)
        elif size > state.scalars[AT.top]:  # `learn` will clip it, and `out` keeps what came
            assign(scratch, g)
            fed = scratch
        learn(state, fed, size)
    return out.losses.size
