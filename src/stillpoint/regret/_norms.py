"""Compiled filters of norms and effective dimensions.

With f = h'F = c·h' + δ' and the filtered covariance x known to satisfy xh = b, h'xh = p, the
predicted variance is c²p + 2cδ'b + δ'xδ + h'Qh: no difference of nearly equal numbers where an
observation has just pinned h'x. c is the slowest rate, so that δ is small wherever x is large.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.jit import njit

Index = NDArray[np.int64]


class Steps(NamedTuple):
    """How a filter with a state of size P moves over a block of n rounds."""

    transitions: Array  # F of each distinct gap: (gaps, P, P), or (gaps, 1, P) where diagonal
    noises: Array  # Q of each distinct gap, (gaps, P, P)
    which: Index  # (n,), the gap before each round
    nugget: Array  # (n,), variance that each observation adds
    diagonal: bool  # whether transitions are
    h: Array  # (P,), the read-out: values are h'x


class Moments(NamedTuple):
    """A covariance of the state."""

    x: Array  # (P, P)
    b: Array  # (P,), xh


class Belief(NamedTuple):
    """The state of a filter of d columns without observation noise."""

    moments: Moments
    top: Array  # (P,), the largest variances so far
    mean: Array  # (P, d)
    last: Array  # (d,), the value that the last observation left


class Innovations(NamedTuple):
    """What a filter says of a block of n rounds."""

    errors: Array  # (n, d), e_t
    variances: Array  # (n,), S_t; 0 where nothing is left to explain
    gains: Array  # (n, P), or (1, P) where they are not kept


class Totals(NamedTuple):
    """Where the numbers of `dimension` stand in its totals."""

    variance: int = 0  # h'xh of the filter's covariance
    error: int = 1  # h'yh of the covariance of its error on noise-free data
    log_det: int = 2  # log det(I + K/ridge)
    dimension: int = 3  # d_eff


TOTAL = Totals()


@njit(cache=True)
def _split(steps: Steps, t: int, delta: Array) -> float:
    """Write δ before round t and return c."""
    f, diagonal, h = steps.transitions[steps.which[t]], steps.diagonal, steps.h
    lead = -math.inf
    for i in range(h.size):
        delta[i] = f[0, i] * h[i] if diagonal else np.dot(h, f[:, i].copy())
        if h[i] != 0.0:
            lead = max(lead, delta[i] / h[i])
    if lead == -math.inf:
        return 0.0
    delta -= lead * h
    return lead


@njit(cache=True)
def _predict(
    steps: Steps, t: int, lead: float, delta: Array, moments: Moments, p: float, work: Array
) -> tuple[float, float]:
    """Move x to FxF' + Q and b to its product with h; return h'xh and h'Qh."""
    f, q = steps.transitions[steps.which[t]], steps.noises[steps.which[t]]
    diagonal, h, x, b = steps.diagonal, steps.h, moments.x, moments.b
    v, fresh = lead * lead * p, 0.0
    for i in range(h.size):
        a = np.dot(x[i], delta)
        v += delta[i] * (2.0 * lead * b[i] + a)
        work[i] = lead * b[i] + a
    for i in range(h.size):
        qh = np.dot(q[i], h)
        fresh += h[i] * qh
        b[i] = qh + (f[0, i] * work[i] if diagonal else np.dot(f[i], work))
    if diagonal:
        for i in range(h.size):
            for j in range(h.size):
                x[i, j] = f[0, i] * f[0, j] * x[i, j] + q[i, j]
    else:
        x[:] = f @ x @ f.T + q
    return max(v, 0.0) + fresh, fresh


@njit(cache=True)
def innovations(steps: Steps, belief: Belief, p: float, u: Array, out: Innovations) -> float:
    """Filter u, shape (n, d), with the nugget as the only noise.

    p is h'xh before the rounds; returns that after them.
    """
    x, b = belief.moments
    top, mean, last = belief.top, belief.mean, belief.last
    e, s, gain = out.errors, out.variances, out.gains
    n = steps.h.size
    delta, work = np.empty(n), np.empty(n)
    for i in range(s.size):
        step, rough = steps.transitions[steps.which[i]], steps.nugget[i]
        lead = _split(steps, i, delta)
        v, fresh = _predict(steps, i, lead, delta, belief.moments, p, work)
        for c in range(last.size):
            m = lead * last[c]
            for k in range(n):
                m += delta[k] * mean[k, c]
            e[i, c] = u[i, c] - m
        if steps.diagonal:
            for k in range(n):
                mean[k] *= step[0, k]
        else:
            mean[:] = step @ mean
        spread = 0.0
        for k in range(n):
            spread += abs(delta[k]) * math.sqrt(top[k])
            top[k] = max(top[k], x[k, k])
        # x carries rounding of the variances it was cut down from: without fresh noise, less than
        # that is 0
        if rough == 0.0 and fresh == 0.0 and v <= 1e-12 * spread * spread:
            s[i], p = 0.0, 0.0
            b[:] = 0.0
            gain[i % len(gain)] = 0.0
            for c in range(last.size):
                last[c] = u[i, c] - e[i, c]
            continue
        s[i] = v + rough
        kappa = rough / s[i]
        for k in range(n):
            for c in range(last.size):
                mean[k, c] += b[k] * e[i, c] / s[i]
            for j in range(n):
                x[k, j] -= b[k] * b[j] / s[i]
            gain[i % len(gain), k] = b[k] / s[i]
        for c in range(last.size):
            last[c] = u[i, c] - kappa * e[i, c]
        b *= kappa
        p = kappa * v
    return p


@njit(cache=True)
def dimension(
    steps: Steps, ridge: float, own: Moments, error: Moments, totals: Array, full: bool
) -> None:
    """Add log det(I + K/ridge) and, if `full`, d_eff to the totals.

    own is the filter's covariance, error that of its error on noise-free data.
    """
    x, b = own
    y, w = error
    n = steps.h.size
    delta, work = np.empty(n), np.empty(n)
    for i in range(steps.which.size):
        rough = steps.nugget[i]
        lead = _split(steps, i, delta)
        v, _ = _predict(steps, i, lead, delta, own, totals[TOTAL.variance], work)
        s = v + rough + ridge
        kappa = (rough + ridge) / s
        totals[TOTAL.log_det] += math.log1p((v + rough) / ridge)
        if full:
            r, _ = _predict(steps, i, lead, delta, error, totals[TOTAL.error], work)
            totals[TOTAL.dimension] += (r + rough) / s
            for k in range(n):
                for j in range(n):
                    y[k, j] += (-b[k] * w[j] - w[k] * b[j] + (r + rough) * b[k] * (b[j] / s)) / s
            for k in range(n):
                w[k] = kappa * w[k] + b[k] / s * (rough * v / s - kappa * r)
            totals[TOTAL.error] = kappa * kappa * r + rough * (v / s) ** 2
        for k in range(n):
            for j in range(n):
                x[k, j] -= b[k] * b[j] / s
        b *= kappa
        totals[TOTAL.variance] = kappa * v
