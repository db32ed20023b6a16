"""Rounds of the aggregators: weights, the aggregate of forecasts, and what experts are credited
with.
"""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.jit import njit

VOVK, EXPONENTIAL, ML_POLY = 0, 1, 2


class Places(NamedTuple):
    """Where each number stands in `State.scalars`."""

    range: int = 0  # Y, the largest |y| so far
    record: int = 1  # B, the largest r² so far
    range_cost: int = 2  # what changes of the range have cost, at most
    potential: int = 3  # A of ML-Poly's bound
    share_cost: int = 4  # what fixed share has cost, at most


class State(NamedTuple):
    """What an aggregator keeps; one entry an expert, but for the scalars."""

    regrets: np.ndarray  # R: loss of the aggregate less that of the expert, or ML-Poly's Σr
    squares: np.ndarray  # V: Σr², of ML-Poly alone
    scalars: np.ndarray  # see Places
    weights: np.ndarray  # of the last round


AT = Places()


@njit(cache=True)
def rate(rule: int) -> float:
    """c of the rate η = c/Y² of Vovk's algorithm and of exponential weights."""
    return 1.0 if rule == VOVK else 0.25


@njit(cache=True)
def tilt(rule: int, regret: float, Y: float) -> float:
    """exp(η·regret); the rate c/Y² itself may be infinite."""
    return math.exp(rate(rule) * (regret / Y / Y))


@njit(cache=True)
def weigh(rule: int, experts: int, state: State) -> None:
    """Fill the weights of so many experts; they sum to 1."""
    R, V, s, w = state.regrets, state.squares, state.scalars, state.weights
    total = 0.0
    if rule == ML_POLY:
        if s[AT.record] > 0.0:
            for i in range(experts):
                w[i] = max(R[i], 0.0) / (s[AT.record] + V[i])
                total += w[i]
    elif s[AT.range] > 0.0:
        top = R[:experts].max()
        for i in range(experts):
            w[i] = tilt(rule, R[i] - top, s[AT.range])
            total += w[i]
    for i in range(experts):
        w[i] = w[i] / total if total > 0.0 else 1.0 / experts


@njit(cache=True)
def combine(rule: int, p: np.ndarray, state: State) -> float:
    """The aggregate of forecasts p; fills the weights.

    Vovk's is (G(−Y) − G(Y))/2Y with e^{−ηG(y)} = Σ w_i e^{−η(y − p_i)²/2}, η = 1/Y².
    """
    weigh(rule, p.size, state)
    Y, w = state.scalars[AT.range], state.weights
    if Y == 0.0:
        return 0.0
    low, high, mean = 0.0, 0.0, 0.0
    for i in range(p.size):
        q = min(max(p[i], -Y), Y)
        if rule == VOVK:
            q /= Y
            bell = w[i] * math.exp(-0.5 * q * q)
            grow = math.exp(q)
            # e^{−ηG(Y)} and e^{−ηG(−Y)}, less a common factor
            high += bell * grow
            low += bell / grow
        else:
            mean += w[i] * q
    if rule == VOVK:
        mean = 0.5 * Y * (math.log(high) - math.log(low))
    return float(min(max(mean, -Y), Y))


@njit(cache=True)
def learn(rule: int, share: float, f: float, y: float, p: np.ndarray, state: State) -> None:
    """Credit each expert with what it would have saved; f is what `combine` gave for p."""
    R, V, s = state.regrets, state.squares, state.scalars
    Y, experts = s[AT.range], p.size
    if Y > 0.0:
        seen = min(max(y, -Y), Y)
        if rule == ML_POLY:
            record = s[AT.record]
            for i in range(experts):
                r = (f - seen) * (f - min(max(p[i], -Y), Y))
                s[AT.record] = max(s[AT.record], r * r)
                if record > 0.0:
                    s[AT.potential] += r * r / (record + V[i])
                elif r * r > 0.0:
                    # the potential was 0 and this adds r²/(B + V), both at least r² by then
                    s[AT.potential] += 0.5
                R[i] += r
                V[i] += r * r
        else:
            for i in range(experts):
                q = min(max(p[i], -Y), Y)
                R[i] += (f - q) * (0.5 * (f + q) - seen)
            if share > 0.0:
                c, top, mean = rate(rule), R[:experts].max(), 0.0
                for i in range(experts):
                    mean += tilt(rule, R[i] - top, Y) / experts
                for i in range(experts):
                    kept = tilt(rule, R[i] - top, Y)
                    R[i] = top + math.log((1.0 - share) * kept + share * mean) / c * Y * Y
                s[AT.share_cost] -= math.log1p(-share) / c * Y * Y
    if abs(y) > Y:
        d = abs(y) - Y
        s[AT.range_cost] += 2.0 * Y * d + 0.5 * d * d
        s[AT.range] = abs(y)
