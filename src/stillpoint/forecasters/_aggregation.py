"""The rounds of the aggregators: weights, the aggregate of forecasts, and what experts are credited
with.
"""

import math

import numpy as np

from stillpoint.core.jit import njit

VOVK, EXPONENTIAL, ML_POLY = 0, 1, 2
# places in the vector of scalars s
RANGE, RECORD, RANGE_COST, POTENTIAL, SHARE_COST = 0, 1, 2, 3, 4
SCALARS = 5


@njit(cache=True)
def rate(rule: int) -> float:
    """c of the rate η = c/Y² of Vovk's algorithm and of exponential weights."""
    return 1.0 if rule == VOVK else 0.25


@njit(cache=True)
def tilt(rule: int, regret: float, Y: float) -> float:
    """exp(η·regret); the rate c/Y² itself may be infinite."""
    return math.exp(rate(rule) * (regret / Y / Y))


@njit(cache=True)
def weigh(
    rule: int, experts: int, R: np.ndarray, V: np.ndarray, s: np.ndarray, w: np.ndarray
) -> None:
    """Fill w with weights that sum to 1."""
    total = 0.0
    if rule == ML_POLY:
        if s[RECORD] > 0.0:
            for i in range(experts):
                w[i] = max(R[i], 0.0) / (s[RECORD] + V[i])
                total += w[i]
    elif s[RANGE] > 0.0:
        top = R[:experts].max()
        for i in range(experts):
            w[i] = tilt(rule, R[i] - top, s[RANGE])
            total += w[i]
    for i in range(experts):
        w[i] = w[i] / total if total > 0.0 else 1.0 / experts


@njit(cache=True)
def combine(
    rule: int, p: np.ndarray, R: np.ndarray, V: np.ndarray, s: np.ndarray, w: np.ndarray
) -> float:
    """The aggregate of forecasts p; fills w."""
    weigh(rule, p.size, R, V, s, w)
    Y = s[RANGE]
    if Y == 0.0:
        return 0.0
    low, high, mean = 0.0, 0.0, 0.0
    for i in range(p.size):
        q = min(max(p[i], -Y), Y)
        if rule == VOVK:
            q /= Y
            bell = w[i] * math.exp(-0.5 * q * q)
            grow = math.exp(q)
            # e^{−ηG(Y)} and e^{−ηG(−Y)} of KALMAN section 8, less a common factor
            high += bell * grow
            low += bell / grow
        else:
            mean += w[i] * q
    if rule == VOVK:
        mean = 0.5 * Y * (math.log(high) - math.log(low))
    return float(min(max(mean, -Y), Y))


@njit(cache=True)
def learn(
    rule: int,
    f: float,
    y: float,
    share: float,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
) -> None:
    """Credit each expert with what it would have saved; f is what `combine` gave for p."""
    Y, experts = s[RANGE], p.size
    if Y > 0.0:
        seen = min(max(y, -Y), Y)
        if rule == ML_POLY:
            record = s[RECORD]
            for i in range(experts):
                r = (f - seen) * (f - min(max(p[i], -Y), Y))
                s[RECORD] = max(s[RECORD], r * r)
                if record > 0.0:
                    s[POTENTIAL] += r * r / (record + V[i])
                elif r * r > 0.0:
                    # the potential was 0 and this adds r²/(B + V), both at least r² by then
                    s[POTENTIAL] += 0.5
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
                s[SHARE_COST] -= math.log1p(-share) / c * Y * Y
    if abs(y) > Y:
        d = abs(y) - Y
        s[RANGE_COST] += 2.0 * Y * d + 0.5 * d * d
        s[RANGE] = abs(y)
