"""Compiled loops of norms and effective dimension, as plain functions of arrays."""

import math

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.jit import njit
from stillpoint.core.validation import Array

Index = NDArray[np.int64]


# Filters. With f = h'F = c·h' + δ' and the filtered x known to satisfy xh = b, h'xh = p, the
# predicted variance is c²p + 2cδ'b + δ'xδ + h'Qh: no difference of nearly equal numbers where an
# observation has just pinned h'x (KALMAN section 7b, for any F; c is the slowest rate, so δ is
# small wherever x is large).


@njit(cache=True)
def _split(f: Array, diagonal: bool, h: Array, delta: Array) -> float:
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
    f: Array,
    q: Array,
    diagonal: bool,
    h: Array,
    lead: float,
    delta: Array,
    x: Array,
    b: Array,
    p: float,
    work: Array,
) -> tuple[float, float]:
    """Move x to FxF' + Q and b to its product with h; return h'xh and h'Qh."""
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
def innovations(
    f: Array,
    q: Array,
    index: Index,
    nugget: Array,
    diagonal: bool,
    h: Array,
    x: Array,
    b: Array,
    p: float,
    top: Array,
    mean: Array,
    last: Array,
    u: Array,
    e: Array,
    s: Array,
    gain: Array,
) -> float:
    """Filter `u` with the nugget as the only noise: write e_t, S_t (0 where nothing is left to
    explain) and the gains.

    x, b, mean, last and the returned p are the state after the rounds; top holds the largest
    variances so far.
    """
    n = h.size
    delta, work = np.empty(n), np.empty(n)
    for i in range(index.size):
        step = f[index[i]]
        lead = _split(step, diagonal, h, delta)
        v, fresh = _predict(step, q[index[i]], diagonal, h, lead, delta, x, b, p, work)
        for c in range(last.size):
            m = lead * last[c]
            for k in range(n):
                m += delta[k] * mean[k, c]
            e[i, c] = u[i, c] - m
        if diagonal:
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
        if nugget[i] == 0.0 and fresh == 0.0 and v <= 1e-12 * spread * spread:
            s[i], p = 0.0, 0.0
            b[:] = 0.0
            gain[i % len(gain)] = 0.0
            for c in range(last.size):
                last[c] = u[i, c] - e[i, c]
            continue
        s[i] = v + nugget[i]
        kappa = nugget[i] / s[i]
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
    f: Array,
    q: Array,
    index: Index,
    nugget: Array,
    diagonal: bool,
    h: Array,
    ridge: float,
    x: Array,
    b: Array,
    y: Array,
    w: Array,
    totals: Array,
    full: bool,
) -> None:
    """Add log det(I + K/ridge) to totals[2] and, if `full`, d_eff to totals[3]; totals[:2] carry
    h'xh and h'yh.

    x, b: the filter's covariance and its product with h; y, w: those of the filter's error on
    noise-free data.
    """
    n = h.size
    delta, work = np.empty(n), np.empty(n)
    for i in range(index.size):
        step, noise, rough = f[index[i]], q[index[i]], nugget[i]
        lead = _split(step, diagonal, h, delta)
        v, _ = _predict(step, noise, diagonal, h, lead, delta, x, b, totals[0], work)
        s = v + rough + ridge
        kappa = (rough + ridge) / s
        totals[2] += math.log1p((v + rough) / ridge)
        if full:
            r, _ = _predict(step, noise, diagonal, h, lead, delta, y, w, totals[1], work)
            totals[3] += (r + rough) / s
            for k in range(n):
                for j in range(n):
                    y[k, j] += (-b[k] * w[j] - w[k] * b[j] + (r + rough) * b[k] * (b[j] / s)) / s
            for k in range(n):
                w[k] = kappa * w[k] + b[k] / s * (rough * v / s - kappa * r)
            totals[1] = kappa * kappa * r + rough * (v / s) ** 2
        for k in range(n):
            for j in range(n):
                x[k, j] -= b[k] * b[j] / s
        b *= kappa
        totals[0] = kappa * v
