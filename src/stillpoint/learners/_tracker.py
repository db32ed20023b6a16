"""Tracker's round as functions of arrays (the rows of B: play w, tracker h, trace m, then one
expert a row).

Each round reads a row for its inner product with the gradient, moves it, and mixes it into the
play. ‖x‖² of each expert is carried along by ‖x − ηg‖² = ‖x‖² − 2η⟨g, x⟩ + η²‖g‖², so that
projecting needs no pass of its own.
"""

import math

import numpy as np

from stillpoint.core.arithmetic import dot, usable_norm
from stillpoint.core.jit import njit
from stillpoint.domains import _sets as domains
from stillpoint.losses import _pointwise as losses

# constants of TRACKER section 2
EPS, UP, DOWN, FADE, GROW, RATE, DELTA, BASE = 1e-3, 0.7, 1.0, 0.8, 0.5, 8.0, 1e-5, 4.0
CAP = 1e150  # the radius stops here: its square still fits a float

# log prior of h, then of OGD i: δ/((i+1)(i+2)), which sum to 1 with those that have not joined yet
LOG_PRIOR = np.log(np.append(1.0 - DELTA, DELTA / (np.arange(1.0, 65.0) * np.arange(2.0, 66.0))))

RADIUS = 0  # D
LOG_STEP = 1  # ell, log of h's step times Γ
TOP = 2  # Γ, the largest gradient so far
TRACE = 3  # n, the normaliser of the trace m
GAIN = 4  # X = −Σ⟨g, w⟩ of the epoch
EPOCH_SQUARES = 5  # V_k = Σ‖g‖² of the epoch
SQUARES = 6  # V = Σ‖g‖²
TOTAL = 7  # Σ‖g‖
EPOCHS = 8  # K
WEIGHT = 9  # p_h, the share of h in the play
LIMIT = 10  # the radius never grows past this
SIZE = 11

PLAY, HEURISTIC, TREND, EXPERTS = 0, 1, 2, 3  # rows of B


@njit(cache=True)
def mix(s: np.ndarray, L: np.ndarray, B: np.ndarray, p: np.ndarray) -> None:
    """w = Hedge's mixture of h and the experts; p receives the weights (h first)."""
    if s[TOP] == 0.0:
        B[PLAY] = B[HEURISTIC]
        p[:] = 0.0
        p[0] = s[WEIGHT] = 1.0
        return
    eta = RATE / (2.0 * s[RADIUS] * math.sqrt(s[EPOCH_SQUARES] + s[TOP] * s[TOP]))
    best = -math.inf
    for i in range(L.size):
        p[i] = LOG_PRIOR[i] - eta * L[i]
        best = max(best, p[i])
    total = 0.0
    for i in range(L.size):
        p[i] = math.exp(p[i] - best)
        total += p[i]
    w = B[PLAY]
    for i in range(L.size):
        p[i] /= total
        row = B[HEURISTIC] if i == 0 else B[EXPERTS + i - 1]
        share = p[i]
        if i == 0:
            for j in range(w.size):
                w[j] = share * row[j]
        elif share > 1e-18:  # less would not show in any digit
            for j in range(w.size):
                w[j] += share * row[j]
    s[WEIGHT] = p[0]


@njit(cache=True)
def _shrink(square: float, radius: float) -> float:
    """The factor that projects a vector of this squared length on the ball."""
    return radius / math.sqrt(square) if square > radius * radius else 1.0


@njit(cache=True)
def learn(
    s: np.ndarray, L: np.ndarray, squares: np.ndarray, B: np.ndarray, g: np.ndarray, a: float
) -> None:
    """Take in the gradient g (overwritten), of norm a, of the round that B[PLAY] was
    proposed in.
    """
    if a == 0.0:
        return
    if s[TOP] == 0.0:
        s[TOP], s[WEIGHT] = a, 1.0
    top = s[TOP]
    after = max(top, a)
    if a > top:  # clip to the past maximum
        for j in range(g.size):
            g[j] *= top / a
        a = top
    w, D = B[PLAY], s[RADIUS]
    along = dot(g, w)
    s[GAIN] -= along
    s[EPOCH_SQUARES] += a * a
    s[SQUARES] += a * a
    L[0] += dot(g, B[HEURISTIC])
    step = D / top
    for i in range(squares.size):
        x = B[EXPERTS + i]
        inner = dot(g, x)
        L[1 + i] += inner
        square = max(squares[i] - 2.0 * step * inner + (step * a) * (step * a), 0.0)
        shrink = _shrink(square, D)
        for j in range(x.size):
            x[j] = shrink * (x[j] - step * g[j])
        squares[i] = min(square, D * D)
        step /= BASE
    m = B[TREND]
    if s[TRACE] > 0.0:
        # the normaliser knows the past only: dividing by |g| would bias the step for skewed
        # gradients
        rho = dot(g, m) / (top * s[TRACE])
        s[LOG_STEP] += s[WEIGHT] * (UP if rho > 0.0 else DOWN) * rho
    s[LOG_STEP] = min(max(s[LOG_STEP], math.log(D / (s[SQUARES] / top / top + 1.0))), math.log(D))
    for j in range(m.size):
        m[j] = FADE * m[j] + g[j]
    s[TRACE] = FADE * s[TRACE] + a
    step = math.exp(s[LOG_STEP]) / top
    shrink = _shrink(max(dot(w, w) - 2.0 * step * along + (step * a) * (step * a), 0.0), D)
    x = B[HEURISTIC]
    for j in range(x.size):
        x[j] = shrink * (w[j] - step * g[j])
    s[TOP] = after
    s[TOTAL] += a
    if D < s[LIMIT] and s[GAIN] >= GROW * D * math.sqrt(s[EPOCH_SQUARES] + after * after):
        s[RADIUS] = min(2.0 * D, s[LIMIT])
        s[GAIN] = s[EPOCH_SQUARES] = 0.0
        s[EPOCHS] += 1.0
        L[:] = 0.0


@njit(cache=True)
def play_rounds(
    s: np.ndarray,
    L: np.ndarray,
    squares: np.ndarray,
    B: np.ndarray,
    p: np.ndarray,
    kind: int,
    domain: np.ndarray,
    code: int,
    parameter: float,
    mode: int,
    Y: np.ndarray,
    X: np.ndarray,
    plays: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> int:
    """Play a block of rounds; returns how many. Stops at one whose gradient is not finite:
    predicted, not learnt from.
    """
    g = np.empty(B.shape[1])
    for t in range(values.size):
        w = plays[t]
        mix(s, L, B, p)
        domains.project(kind, domain, B[PLAY], w)
        row = gradients[t]
        values[t] = losses.evaluate(
            code, parameter, mode, Y[t], X[t] if X.shape[0] > 0 else Y[t], w, row
        )
        size = usable_norm(row)
        if not math.isfinite(size):
            return t
        fed = row
        if kind != domains.EVERYWHERE:
            domains.surrogate(row, B[PLAY], w, g)
            fed, size = g, usable_norm(g)
        elif size > s[TOP]:  # will be clipped, and `row` is the account of what came
            g[:] = row
            fed = g
        learn(s, L, squares, B, fed, size)
    return values.size
