"""Autoregressions: recursive least squares with forgetting on the series' own past.

One regression on lags, on harmonics or the seasonal part of a structural filter, on products of
lags and harmonics (coefficients that follow the season), on random waves of the last two values,
and on features: the sum of a kernel on the past and one on time. It is fitted one step ahead and
iterated for more. Targets are values, or their differences from the value d rounds before.

    S = z'Cz + λ;  θ += Cz e/S;  C = (C − (Cz)(Cz)'/S)/λ        C₀ = diag(1/prior precision)

is the minimum of Σ λ^{t−s} e_s² + λ^t θ'C₀⁻¹θ. While a diagonal entry of C exceeds 10⁶, as it
does where regressors are constant for long, λ is 1.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit
from stillpoint.series import _scale, _waves
from stillpoint.series._gains import absorb, times
from stillpoint.series._scale import exponential, within

WIND_UP = 1e6


class Spec(NamedTuple):
    """Columns of `specs`: how many regressors of each kind there are, in their order."""

    log: int = 0  # whether of logarithms
    difference: int = 1  # d; 0 for values themselves
    lags: int = 2
    seasonal: int = 3  # the seasonal part of the first structural filter, now and before
    harmonics: int = 4
    products: int = 5  # harmonics times the last value, and as many times that of a season ago
    waves: int = 6
    features: int = 7
    season: int = 8  # the first season, 1 without
    start: int = 9  # the round from which all lags exist
    offset: int = 10  # where its covariance begins
    size: int = 11  # regressors, the constant included


class Regressions(NamedTuple):
    """Autoregressions of one series."""

    specs: np.ndarray  # (A, 12) ints, see Spec
    rates: np.ndarray  # (A,): λ
    lags: np.ndarray  # (A, most) ints
    coefficients: np.ndarray  # (A, most)
    covariances: np.ndarray  # their squares one after another


OF = Spec()


@njit(cache=True)
def regressors(
    spec: np.ndarray,
    lags: np.ndarray,
    x: np.ndarray,
    s: int,
    row: np.ndarray,
    seasonal: np.ndarray,
    features: np.ndarray,
    z: np.ndarray,
) -> int:
    """Fill z for place s of x, whose harmonics are in row; returns how many there are.

    The seasonal part for that place is seasonal[3], those before it come before.
    """
    d, n = spec[OF.difference], spec[OF.lags]
    if d > 0:
        for i in range(n):
            z[i] = x[s - lags[i]] - x[s - lags[i] - d]
    else:
        for i in range(n):
            z[i] = x[s - lags[i]]
    for i in range(spec[OF.seasonal]):
        z[n + i] = seasonal[3 - i]
    n += spec[OF.seasonal]
    for j in range(spec[OF.harmonics]):
        z[n + j] = row[j]
    n += spec[OF.harmonics]
    P = spec[OF.products]
    if P > 0:
        one, two = x[s - 1], x[s - spec[OF.season]]
        for j in range(P):
            z[n + j] = one * row[j]
        for j in range(P):
            z[n + P + j] = two * row[j]
        n += 2 * P
    if spec[OF.waves] > 0:
        _waves.fill(x[s - 1], x[s - 2], z[n:])
        n += spec[OF.waves]
    for j in range(spec[OF.features]):
        z[n + j] = features[j]
    n += spec[OF.features]
    z[n] = 1.0
    return int(n + 1)


@njit(cache=True)
def value(
    spec: np.ndarray,
    lags: np.ndarray,
    theta: np.ndarray,
    x: np.ndarray,
    s: int,
    row: np.ndarray,
    seasonal: np.ndarray,
    features: np.ndarray,
    z: np.ndarray,
) -> float:
    """θ'z for the regressors of place s, which are not written down; z is room for waves."""
    d, n, total = spec[OF.difference], spec[OF.lags], 0.0
    if d > 0:
        for i in range(n):
            total += theta[i] * (x[s - lags[i]] - x[s - lags[i] - d])
    else:
        for i in range(n):
            total += theta[i] * x[s - lags[i]]
    for i in range(spec[OF.seasonal]):
        total += theta[n + i] * seasonal[3 - i]
    n += spec[OF.seasonal]
    columns = spec[OF.harmonics]
    total += dot(theta[n : n + columns], row[:columns])
    n += columns
    P = spec[OF.products]
    if P > 0:
        total += x[s - 1] * dot(theta[n : n + P], row[:P])
        total += x[s - spec[OF.season]] * dot(theta[n + P : n + 2 * P], row[:P])
        n += 2 * P
    if spec[OF.waves] > 0:
        _waves.fill(x[s - 1], x[s - 2], z)
        total += dot(theta[n : n + spec[OF.waves]], z[: spec[OF.waves]])
        n += spec[OF.waves]
    total += dot(theta[n : n + features.size], features)
    return float(total + theta[n + features.size])


@njit(cache=True)
def forecast(
    a: int,
    r: Regressions,
    x: np.ndarray,
    scalars: np.ndarray,
    now: int,
    place: int,
    rows: np.ndarray,
    seasonal: np.ndarray,
    features: np.ndarray,
    knots: np.ndarray,
    z: np.ndarray,
    out: np.ndarray,
) -> None:
    """out[i] = the forecast of regression a for time now + knots[i] − 1.

    What lies ahead is written into x, where the truth will overwrite it.
    """
    spec, lags, theta, k = r.specs[a], r.lags[a], r.coefficients[a], 0
    d, log = spec[OF.difference], spec[OF.log] > 0
    low, high = _scale.limits(scalars)
    if log:
        centre, unit = scalars[_scale.AT.log_centre], scalars[_scale.AT.log_unit]
        small, large = _scale.log_limits(scalars)
    else:
        centre, unit = scalars[_scale.AT.centre], scalars[_scale.AT.unit]
        small, large = (low - centre) / unit, (high - centre) / unit
    for h in range(knots[-1]):
        s = place + h
        row = rows[(now + h) % rows.shape[0]]
        v = value(spec, lags, theta, x, s, row, seasonal[h:], features[h], z)
        if d > 0:
            v += x[s - d]
        v = within(v, small, large)
        x[s] = v
        if h + 1 == knots[k]:
            v = centre + unit * v
            out[k] = within(exponential(v) if log else v, low, high)
            k += 1


@njit(cache=True)
def learn(
    a: int,
    r: Regressions,
    x: np.ndarray,
    place: int,
    row: np.ndarray,
    seasonal: np.ndarray,
    features: np.ndarray,
    z: np.ndarray,
    g: np.ndarray,
) -> None:
    """Learn from the value at `place` of x."""
    spec = r.specs[a]
    n = regressors(spec, r.lags[a], x, place, row, seasonal, features, z)
    z, g, theta = z[:n], g[:n], r.coefficients[a, :n]
    C = r.covariances[spec[OF.offset] : spec[OF.offset] + n * n].reshape(n, n)
    spread = times(C, z, g)
    error = x[place] - dot(theta, z)
    if spec[OF.difference] > 0:
        error -= x[place - spec[OF.difference]]
    rate, largest = r.rates[a], 0.0
    for i in range(n):
        largest = max(largest, C[i, i])
    if largest > WIND_UP:
        rate = 1.0
    S = spread + rate
    for i in range(n):
        theta[i] += g[i] * error / S
    absorb(C, g, S, 1.0 / rate)
