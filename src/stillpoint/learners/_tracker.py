"""Tracker's round, compiled: the guard and the ball around the bank of filters.

Each round reads an expert's row for its inner product with the gradient, moves it, and mixes it
into the play. ‖x‖² of each expert is carried along by ‖x − ηg‖² = ‖x‖² − 2η⟨g, x⟩ + η²‖g‖², so
that projecting needs no pass of its own.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import assign, dot, usable_norm
from stillpoint.core.array import Array
from stillpoint.core.jit import bare, njit
from stillpoint.domains import _sets as domains
from stillpoint.learners._ageing import EVERY, move, widen
from stillpoint.learners._bank import AT as BANK
from stillpoint.learners._bank import Bank, follow, level_due
from stillpoint.losses import _pointwise as losses

EPS = 1e-3  # the radius at first
GROW = 1.4  # the radius doubles when the gain of an epoch reaches this times D√V,
GROW_FIRST, GROW_MORE = 0.2, 0.02  # or this much and this much more a round, while that is less,
BET, ALARM, KEEP = 0.8, 0.5, 0.5  # or when an alarm says that the target has left the ball
RATE = 8.0  # Hedge's learning rate is this over 2D√V
DELTA = 1e-5  # the prior of all OGDs together
BASE = 4.0  # the ratio of their steps
CAP = 1e150  # the radius stops here: its square still fits a float
_LARGEST = 1e300  # of the alarm, where the radius cannot grow
_NEGLIGIBLE = 1e-18  # a share below this would not show in any digit

# log prior of h, then of OGD i: δ/((i+1)(i+2)), which sum to 1 with those that have not joined yet
LOG_PRIOR = np.log(np.append(1.0 - DELTA, DELTA / (np.arange(1.0, 65.0) * np.arange(2.0, 66.0))))


class Places(NamedTuple):
    """Where the numbers of a run stand in `State.scalars`."""

    radius: int = 0  # D
    top: int = 1  # Γ, the largest gradient so far
    gain: int = 2  # −Σ⟨g, w⟩ of the epoch
    epoch_squares: int = 3  # Σ‖g‖² of the epoch
    squares: int = 4  # Σ‖g‖²
    total: int = 5  # Σ‖g‖
    epochs: int = 6  # K
    limit: int = 7  # the radius never grows past this
    alarm: int = 8  # R, the bets that the gain goes on
    rounds: int = 9  # with a gradient


class Rows(NamedTuple):
    """Which row of `State.rows` is what."""

    play: int = 0  # w
    heuristic: int = 1  # h
    last: int = 2  # the gradient before, where d > 1
    experts: int = 3  # the first OGD; the others follow


AT = Places()
ROW = Rows()


class State(NamedTuple):
    """What Tracker has learnt, with n OGDs in d dimensions."""

    scalars: Array  # (10,), at the places above
    losses: Array  # (1 + n,), Hedge's losses in this epoch: of h, then of each OGD
    squares: Array  # (n,), ‖x‖² of each OGD
    rows: Array  # (3 + n, d), at the rows above
    weights: Array  # (1 + n,), shares of the play: of h, then of each OGD


def expert_due(experts: int) -> float:
    """The round in which one more OGD joins, where there are so many."""
    return BASE ** (2 * experts)


def due(experts: int, levels: int) -> float:
    """The round before which an OGD or a filter joins next."""
    return min(expert_due(experts), level_due(levels))


def from_first(stats: Array, rows: Array, rounds: int) -> tuple[Array, Array]:
    """The numbers and rows of a Tracker of 0.1, which had no alarm and kept a trace of gradients.

    Parameters
    ----------
    stats, rows
        As 0.1 saved them.
    rounds
        How many were over.
    """
    scalars, rows = np.zeros(len(AT)), rows.copy()
    kept = (AT.radius, AT.top, AT.gain, AT.epoch_squares, AT.squares, AT.total, AT.epochs, AT.limit)
    scalars[list(kept)] = stats[[0, 2, 4, 5, 6, 7, 8, 10]]
    scalars[AT.rounds] = rounds
    rows[ROW.last] = 0.0
    return scalars, rows


@njit(cache=True, forceinline=True)
def mix(state: State) -> None:
    """Write Hedge's mixture of h and the OGDs into the row of the play, and its weights."""
    s, rows, p = state.scalars, state.rows, state.weights
    if s[AT.top] == 0.0:
        assign(rows[ROW.play], rows[ROW.heuristic])
        p[:] = 0.0
        p[0] = 1.0
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


@njit(cache=True)
def _shrink(square: float, radius: float) -> float:
    """The factor that projects a vector of this squared length on the ball."""
    return radius / math.sqrt(square) if square > radius * radius else 1.0


@njit(cache=True, forceinline=True)
def learn(state: State, bank: Bank, g: Array, size: float) -> None:
    """Take in the gradient g, of norm `size`, of the round that was mixed last; g is clipped."""
    if size == 0.0:
        return
    s, rows = state.scalars, state.rows
    if s[AT.top] == 0.0:
        s[AT.top] = size
    top = s[AT.top]
    after = max(top, size)
    if size > top:  # clip to the past maximum
        for j in range(g.size):
            g[j] *= top / size
        size = top
    w, x, D = rows[ROW.play], rows[ROW.heuristic], s[AT.radius]
    along = dot(g, w)
    s[AT.gain] -= along
    s[AT.epoch_squares] += size * size
    s[AT.squares] += size * size
    s[AT.total] += size
    s[AT.rounds] += 1.0
    s[AT.alarm] = min((1.0 + s[AT.alarm]) * (1.0 - BET * along / (D * top)), _LARGEST)
    state.losses[0] += dot(g, x)
    _descend(state, g, size, D / top)
    follow(bank, w, g, size, rows[ROW.last], x)
    shrink = _shrink(dot(x, x), D)
    for j in range(x.size):
        x[j] *= shrink
    if int(bank.numbers[BANK.rounds]) % EVERY == 0:
        move(bank, x)
    s[AT.top] = after
    if D < s[AT.limit]:
        _grow(state, bank)


@njit(cache=True)
def _grow(state: State, bank: Bank) -> None:
    """Double the radius if the epoch's gain, or an alarm, says that the target is outside.

    The alarm is the statistic of Shiryaev and Roberts, of bets on the gain, whose mean is t under
    noise: R ← (1 + R)(1 − 0.8⟨g, w⟩/(DΓ)), raised at t·ln(e + t)²/2.
    """
    s = state.scalars
    D, t, square = s[AT.radius], s[AT.rounds], s[AT.top] * s[AT.top]
    alarm = s[AT.alarm] >= ALARM * t * math.log(math.e + t) ** 2
    share = min(GROW, GROW_FIRST + GROW_MORE * s[AT.squares] / square)
    if not alarm and s[AT.gain] < share * D * math.sqrt(s[AT.epoch_squares] + square):
        return
    if alarm:
        s[AT.alarm] *= KEEP
    s[AT.radius] = min(2.0 * D, s[AT.limit])
    s[AT.gain] = s[AT.epoch_squares] = 0.0
    s[AT.epochs] += 1.0
    state.losses[:] = 0.0
    widen(bank, s[AT.radius])


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


@njit(cache=True)
def mix_round(scalars: Array, losses: Array, squares: Array, rows: Array, weights: Array) -> None:
    """`mix` of a state's fields: from Python, arrays are passed faster than a tuple of them."""
    mix(State(scalars, losses, squares, rows, weights))


@njit(cache=True)
def learn_round(
    scalars: Array,
    losses: Array,
    squares: Array,
    rows: Array,
    weights: Array,
    numbers: Array,
    filters: Array,
    velocities: Array,
    beliefs: Array,
    g: Array,
) -> bool:
    """`learn` of a state's fields; returns whether the radius has reached the largest there is."""
    state = State(scalars, losses, squares, rows, weights)
    learn(state, Bank(numbers, filters, velocities, beliefs), g, usable_norm(g))
    return bool(scalars[AT.radius] >= CAP)


@njit(cache=True)
def play_rounds(
    state: State, bank: Bank, domain: domains.Region, rounds: losses.Rounds, out: losses.Outputs
) -> int:
    """Play a block of rounds and return how many.

    Stops at a round whose gradient is not finite: it is predicted, not learnt from.
    """
    state, bank, domain = bare(state), bare(bank), bare(domain)
    rounds, out = bare(rounds), bare(out)
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
        learn(state, bank, fed, size)
    return out.losses.size
