"""Losses, compiled: the loss and gradient of a round, without allocation."""

import math
from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot, norm
from stillpoint.core.array import Array
from stillpoint.core.jit import njit

SQUARED = 0
ABSOLUTE = 1
PINBALL = 2  # parameter: level
HUBER = 3  # parameter: width
LOGISTIC = 4
HINGE = 5
LINEAR = 6
LOG = 7

SCALAR = 0  # p = w[0]
VECTOR = 1  # p = ‖w − y‖, or ⟨y, w⟩ for linear losses
FEATURES = 2  # p = ⟨w, x⟩

EPSILON = float(np.finfo(np.float64).eps)


class Rounds(NamedTuple):
    """The losses of a stream of T rounds, for plays in d dimensions."""

    code: int  # the family
    parameter: float  # of the family, 0 where it has none
    y: Array  # (T, k), the targets
    x: Array  # (T, d), the features; (0, d) where there are none
    mode: int  # how a play predicts: SCALAR, VECTOR or FEATURES

    def part(self, rows: slice) -> "Rounds":
        """Some of the rounds."""
        return self._replace(y=self.y[rows], x=self.x[rows])


class Outputs(NamedTuple):
    """What a block of n rounds comes to."""

    plays: Array  # (n, d)
    losses: Array  # (n,)
    gradients: Array  # (n, d)


@njit(cache=True)
def value(code: int, parameter: float, p: float, y: float) -> float:
    """Return the loss of predicting `p` for `y`."""
    if code == LOGISTIC:
        margin = y * p
        return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    if code == HINGE:
        return max(0.0, 1.0 - y * p)
    if code == LINEAR:
        return y * p
    if code == LOG:
        # callers name the error: raising here would lose compiled state
        return -math.log(p) if p > 0.0 else math.nan
    r = p - y
    if code == ABSOLUTE:
        return abs(r)
    if code == PINBALL:
        return max(-parameter * r, (1.0 - parameter) * r)
    if code == SQUARED:
        return 0.5 * r * r
    if code == HUBER:
        return parameter * (abs(r) - 0.5 * parameter) if abs(r) > parameter else 0.5 * r * r
    return math.nan  # a code without its branch: every test of losses sees it


@njit(cache=True)
def slope(code: int, parameter: float, p: float, y: float) -> float:
    """Return the derivative of the loss in `p`; 0 at a kink."""
    if code == LOGISTIC:
        margin = y * p
        decay = math.exp(-abs(margin))
        return -y * (decay if margin > 0.0 else 1.0) / (1.0 + decay)
    if code == HINGE:
        return -y if y * p < 1.0 else 0.0
    if code == LINEAR:
        return y
    if code == LOG:
        return -1.0 / p if p > 0.0 else math.nan
    r = p - y
    if code == ABSOLUTE:
        return 0.0 if r == 0.0 else math.copysign(1.0, r)
    if code == PINBALL:
        return 0.0 if r == 0.0 else ((1.0 - parameter) if r > 0.0 else -parameter)
    if code == SQUARED:
        return r
    if code == HUBER:
        return math.copysign(parameter, r) if abs(r) > parameter else r
    return math.nan


@njit(cache=True)
def evaluate(
    code: int, parameter: float, mode: int, y: Array, x: Array, w: Array, gradient: Array
) -> float:
    """Return the loss of the play `w` and write its gradient.

    y and x are the round's rows; x is read in mode FEATURES only.
    """
    p, target = _prediction(code, mode, y, x, w)
    s = slope(code, parameter, p, target)
    if mode == SCALAR:
        gradient[0] = s
    elif mode == FEATURES:
        for i in range(w.size):
            gradient[i] = s * x[i]
    elif code == LINEAR:
        for i in range(w.size):
            gradient[i] = y[i]
    else:
        # where the loss is quadratic s is p = ‖w − y‖, and the gradient w − y exactly; p = 0 leaves
        # 0
        factor = 1.0 if s == p else s / p
        if math.isfinite(factor):
            for i in range(w.size):
                gradient[i] = factor * (w[i] - y[i])
        else:  # p is all but 0: divide first
            for i in range(w.size):
                gradient[i] = s * ((w[i] - y[i]) / p)
    return value(code, parameter, p, target)


@njit(cache=True, forceinline=True)
def evaluate_round(rounds: Rounds, t: int, w: Array, gradient: Array) -> float:
    """Return the loss of the play `w` in round t and write its gradient."""
    y = rounds.y[t]
    x = rounds.x[t] if rounds.x.shape[0] > 0 else y
    return evaluate(rounds.code, rounds.parameter, rounds.mode, y, x, w, gradient)


@njit(cache=True)
def implicit_slope(code: int, parameter: float, p: float, y: float, c: float) -> float:
    """Return s, a derivative of the loss at p − c·s.

    c > 0 makes it that of the proximal point, c = 0 that of p.
    """
    if code == LOGISTIC:
        return -y * _logistic(_implicit_margin(y * p, c))
    if code == LINEAR:
        return y
    if code == LOG:
        root = math.hypot(p, 2.0 * math.sqrt(c))
        # −1/p', p' = (p + root)/2, without a difference
        return -2.0 / (p + root) if p > 0.0 else -(root - p) / (2.0 * c)
    if code == HINGE:
        gap = 1.0 - y * p
        return -y * (min(gap / c, 1.0) if gap < c else 1.0) if gap > 0.0 else 0.0
    r = p - y
    if code == SQUARED:
        return r / (1.0 + c)
    if code == HUBER:
        return min(max(r / (1.0 + c), -parameter), parameter)
    if code != ABSOLUTE and code != PINBALL:
        return math.nan
    down, up = (-1.0, 1.0) if code == ABSOLUTE else (-parameter, 1.0 - parameter)
    if c * down <= r <= c * up:
        return min(max(r / c, down), up) if c > 0.0 else 0.0  # the proximal point is the kink
    return up if r > 0.0 else down


@njit(cache=True)
def _logistic(margin: float) -> float:
    """1/(1 + e^margin)."""
    decay = math.exp(-abs(margin))
    return (decay if margin > 0.0 else 1.0) / (1.0 + decay)


@njit(cache=True)
def _implicit_margin(m: float, c: float) -> float:
    """The root of x = m + c/(1 + e^x), by Newton's method kept between ends that halve."""
    low, high = m, min(m + c * _logistic(m), max(m, 0.0) + math.log1p(c))
    x = low
    for _ in range(200):
        share = _logistic(x)
        excess = x - m - c * share
        if excess > 0.0:
            high = x
        else:
            low = x
        new = x - excess / (1.0 + c * share * (1.0 - share))
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - x) <= EPSILON * max(1.0, abs(x)):
            return new
        x = new
    return x


@njit(cache=True)
def implicit(
    code: int, parameter: float, mode: int, y: Array, x: Array, w: Array, c: float, gradient: Array
) -> None:
    """Write the gradient g of the round at w − c·g = argmin ‖· − w‖²/2 + c·loss."""
    p, target = _prediction(code, mode, y, x, w)
    if mode == SCALAR:
        gradient[0] = implicit_slope(code, parameter, p, target, c)
    elif mode == FEATURES:
        s = implicit_slope(code, parameter, p, target, c * dot(x, x))
        for i in range(w.size):
            gradient[i] = s * x[i]
    elif code == LINEAR:
        for i in range(w.size):
            gradient[i] = y[i]
    else:  # a function of the distance to y: the point moves on the line to it
        s = implicit_slope(code, parameter, p, target, c)
        for i in range(w.size):
            gradient[i] = s * ((w[i] - y[i]) / p) if p > 0.0 else 0.0


@njit(cache=True)
def loss(code: int, parameter: float, mode: int, y: Array, x: Array, w: Array) -> float:
    """Return the loss of the play `w`, as `evaluate` does."""
    p, target = _prediction(code, mode, y, x, w)
    return value(code, parameter, p, target)


@njit(cache=True)
def losses(
    code: int, parameter: float, mode: int, y: Array, x: Array, w: Array, out: Array
) -> None:
    """Write the loss of the play w[t] in each round t into `out`."""
    for t in range(out.size):
        out[t] = loss(code, parameter, mode, y[t], x[t] if mode == FEATURES else y[t], w[t])


@njit(cache=True)
def values(code: int, parameter: float, p: Array, y: Array, out: Array) -> None:
    """Write `value` of each pair into `out`."""
    for i in range(out.size):
        out[i] = value(code, parameter, p[i], y[i])


@njit(cache=True)
def slopes(code: int, parameter: float, p: Array, y: Array, out: Array) -> None:
    """Write `slope` of each pair into `out`."""
    for i in range(out.size):
        out[i] = slope(code, parameter, p[i], y[i])


@njit(cache=True)
def _prediction(code: int, mode: int, y: Array, x: Array, w: Array) -> tuple[float, float]:
    if mode == SCALAR:
        return w[0], y[0]
    if mode == FEATURES:
        return dot(w, x), y[0]
    if code == LINEAR:
        return dot(w, y), 1.0
    return _distance(w, y), 0.0


@njit(cache=True, fastmath={"reassoc"})
def _squared_distance(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(a.size):
        total += (a[i] - b[i]) ** 2
    return total


@njit(cache=True)
def _distance(a: Array, b: Array) -> float:
    square = _squared_distance(a, b)
    return math.sqrt(square) if 1e-280 < square < 1e280 else norm(a - b)
