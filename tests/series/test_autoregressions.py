"""Autoregressions against batch least squares, and their paths against a plain loop."""

import math

import numpy as np
import pytest
from series_twins import HOUR, build, noise, row, wavy

from stillpoint.series import _autoregression, layout
from stillpoint.series._autoregression import OF
from stillpoint.series._waves import WAVES
from stillpoint.series.layout import Scale
from stillpoint.series.pool import POOLS, Pool, Regression
from thorough import some

ROUNDS = 420
# every autoregression of every pool, each with the seasons it is tried with
CASES = [
    (name, i, periods)
    for name in ("full", "middle")
    for i in range(len(POOLS[name].regressions))
    for periods in ((4.0, 12.0), ())
    if periods or not POOLS[name].regressions[i].products
]


def cosine(v):
    """The cosine of period 1 made of two parabolas."""
    v = abs(v - round(v))
    return 1.0 - 8.0 * v * v if v < 0.25 else 8.0 * (0.5 - v) ** 2 - 1.0


def expected_lags(r: Regression, periods):
    """Lags as the list of the pool says them."""
    m = [round(p) for p in periods]
    near = r.lags.near or min(max((m[0] if m else 1) + 1, 8), 25)
    if not m and r.lags.alone:
        near = r.lags.alone
    lags = set(range(1, near + 1))
    if m:
        lags |= {m[0] + d for d in r.lags.first} | ({2 * m[0]} if r.lags.double else set())
    if len(m) > 1:
        lags |= {m[1] + d for d in r.lags.second}
    return sorted(lags)


def regressors(r, periods, x, s, seasonal, features):
    """Regressors for place s of x, from their definition, with their prior precisions."""
    m = [round(p) for p in periods]
    d = {0: 0, 1: 1, -1: m[0] if m else 1}[r.difference]
    lags = expected_lags(r, periods)
    B = row(periods, s)
    orders = layout.harmonics(periods).orders
    few = layout.harmonics(periods).few
    count = {0: 0, 1: few, -1: B.size}[r.harmonics]
    parts = r.seasonal if m else 0
    base = 0.1 if parts or count or r.waves else 0.01
    z = [(x[s - lag] - x[s - lag - d] if d else x[s - lag], base) for lag in lags]
    z += [(seasonal[s - i], base) for i in range(parts)]
    z += [(B[j], 0.3 * orders[j] ** 2) for j in range(count)]
    products = min(r.products, few)
    z += [(x[s - 1] * B[j], 3.0) for j in range(products)]
    z += [(x[s - (m[0] if m else 1)] * B[j], 3.0) for j in range(products)]
    if r.waves:
        z += [(cosine(a * x[s - 1] + b * x[s - 2] + c), 1.0) for a, b, c in WAVES]
    z += [(value, base) for value in features]
    z.append((1.0, base))
    values, precisions = zip(*z, strict=True)
    return np.array(values), np.array(precisions), d, lags[-1] + d + (3 if parts else 0)


def one(name, i, periods, features=0):
    """A single autoregression of a pool, compiled, and its description."""
    r = POOLS[name].regressions[i]
    pool = Pool(POOLS[name].filters[:1], (r,), ())
    units = np.repeat([[0.0], [1.0]], features, axis=1)
    built = build(pool, periods, 30, Scale(0.0, 1.0, 0.0, 1.0, False), features=units)
    return r, built


def learnt(built, r, periods, x, seasonal, X):
    """Learn x from the first round on that has all lags."""
    regressions, work = built.regressions, np.zeros((2, 256))
    start = int(regressions.specs[0, OF.start])
    for s in range(start, x.size):
        parts = seasonal[s - 3 : s + 1] if s >= 3 else np.zeros(4)
        _autoregression.learn(0, regressions, x, s, row(periods, s), parts, X[s], work[0], work[1])
    return start


@pytest.mark.parametrize(("name", "i", "periods"), some(CASES, every=2))
def test_autoregressions_are_weighted_least_squares(name, i, periods):
    r, built = one(name, i, periods, features=2)
    x, X = wavy(ROUNDS, periods) / 2.0, noise(2 * ROUNDS, 77).reshape(-1, 2)
    seasonal = np.cos(np.arange(ROUNDS) / 2.0)
    start = learnt(built, r, periods, x, seasonal, X)
    _, prior, d, first = regressors(r, periods, x, ROUNDS // 2, seasonal, X[0])
    assert start == first
    Z = np.array([regressors(r, periods, x, s, seasonal, X[s])[0] for s in range(start, ROUNDS)])
    target = np.array([x[s] - (x[s - d] if d else 0.0) for s in range(start, ROUNDS)])
    weights = r.rate ** np.arange(len(Z))[::-1]
    gram = Z.T @ (weights[:, None] * Z) + r.rate ** len(Z) * np.diag(prior)
    theta = np.linalg.solve(gram, Z.T @ (weights * target))
    n = theta.size
    np.testing.assert_allclose(built.regressions.coefficients[0, :n], theta, rtol=0, atol=1e-8)
    C = built.regressions.covariances[: n * n].reshape(n, n)
    np.testing.assert_allclose(C, np.linalg.inv(gram), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(C, C.T)


@pytest.mark.parametrize(("name", "i", "periods"), CASES)
def test_paths_iterate_one_step(name, i, periods):
    r, built = one(name, i, periods)
    logs = r.log
    x, seasonal = wavy(ROUNDS, periods) / 2.0, np.cos(np.arange(ROUNDS + 40) / 2.0)
    learnt(built, r, periods, x, seasonal, np.zeros((ROUNDS, 0)))
    theta = built.regressions.coefficients[0]
    # centre 3, unit 2; limits that bind here and there
    scalars = np.array([3.0, 2.0, math.log(3.0), 0.3, 1.5, 4.0, math.nan, 0.0, 0.0, 0.0, 1.0])
    built.regressions.specs[0, OF.log] = int(logs)
    low, high = 1.5 - 2.5, 4.0 + 2.5
    small, large = (low - 3.0) / 2.0, (high - 3.0) / 2.0
    if logs:
        small = (math.log(1.5) - 1.0 - math.log(3.0)) / 0.3
        large = (math.log(4.0) + 1.0 - math.log(3.0)) / 0.3
    ahead, want = list(x), []
    for h in range(30):
        s = ROUNDS + h
        z, _, d, _ = regressors(r, periods, np.array(ahead), s, seasonal, ())
        value = theta[: z.size] @ z + (ahead[s - d] if d else 0.0)
        ahead.append(min(max(value, small), large))
        back = math.exp(math.log(3.0) + 0.3 * ahead[-1]) if logs else 3.0 + 2.0 * ahead[-1]
        want.append(min(max(back, low), high))
    knots = np.array([1, 2, 7, 30])
    rows = np.array([row(periods, t) for t in range(ROUNDS, ROUNDS + 31)])
    rows, out = np.roll(rows, ROUNDS % 31, axis=0), np.empty(4)
    buffer = np.append(x, np.full(40, np.nan))
    _autoregression.forecast(
        0,
        built.regressions,
        buffer,
        scalars,
        ROUNDS,
        ROUNDS,
        rows,
        seasonal[ROUNDS - 3 :],
        np.zeros((30, 0)),
        knots,
        np.zeros(256),
        out,
    )
    np.testing.assert_allclose(out, np.array(want)[knots - 1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(buffer[ROUNDS : ROUNDS + 30], ahead[ROUNDS:], rtol=0, atol=1e-10)


def test_at_two_seasons_the_pool_has_the_sizes_it_says():
    built = build(POOLS["full"], HOUR, 24, Scale(0.0, 1.0, 0.0, 1.0, True))
    assert built.regressions.specs[:, OF.size].tolist() == [86, 38, 62, 33, 30, 30, 9, 9, 25]
    built = build(POOLS["middle"], HOUR, 24, Scale(0.0, 1.0, 0.0, 1.0, True))
    assert built.regressions.specs[:, OF.size].tolist() == [9, 6, 20, 16, 12]
    assert built.knots.experts.shape[2] == 13


def test_without_news_forgetting_stops_before_covariances_explode():
    r, built = one("full", 7, ())
    assert r.rate == 0.99
    # nothing happens for long, then a jump
    x = np.concatenate([noise(50), np.zeros(3000), noise(200, 50)])
    regressions, work = built.regressions, np.zeros((2, 64))
    n = int(regressions.specs[0, OF.size])
    C, theta, largest, stopped = np.diag(np.full(n, 100.0)), np.zeros(n), 0.0, 0
    for s in range(int(regressions.specs[0, OF.start]), x.size):
        _autoregression.learn(
            0, regressions, x, s, np.zeros(0), np.zeros(4), np.zeros(0), work[0], work[1]
        )
        z = regressors(r, (), x, s, np.zeros(0), ())[0]
        rate = r.rate if C.diagonal().max() <= 1e6 else 1.0
        stopped += rate == 1.0
        g = C @ z
        S = z @ g + rate
        theta = theta + g * (x[s] - x[s - 1] - z @ theta) / S
        C = (C - np.outer(g, g) / S) / rate
        largest = max(largest, C.diagonal().max())
    assert stopped > 500
    assert 1e6 < largest < 1.02e6
    own = regressions.covariances[: n * n].reshape(n, n)
    np.testing.assert_allclose(regressions.coefficients[0, :n], theta, rtol=0, atol=1e-8)
    np.testing.assert_allclose(own, C, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(own, own.T)
