"""Many thousand rounds, thorough a hundred: no drift, symmetric covariances, a state that does not
grow.
"""

import numpy as np
import pytest
from series_twins import HOUR, MODELS, NAMES, build, filters, noise, played, state, wavy

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.series import _autoregression, _structural
from stillpoint.series._autoregression import OF
from stillpoint.series._structural import BASE
from stillpoint.series.gains import Gains
from stillpoint.series.harmonics import harmonics
from stillpoint.series.layout import Scale
from stillpoint.series.pool import POOLS, Lags, Pool, Regression
from thorough import THOROUGH

ROUNDS = 100_000 if THOROUGH else 20_000
LONG = np.longdouble


@pytest.mark.parametrize("name", ["fast", "trend", "returns"])
def test_filters_do_not_drift_from_extended_precision(name):
    periods, i = (4.0,), NAMES.index(name)
    model, h = MODELS[i], harmonics(periods)
    y = 1e3 + wavy(ROUNDS, periods)
    f = filters(periods, Gains(periods, MODELS, thin=False), y[0], 12_000)
    # one filter only: the others would take time
    f = f._replace(kinds=f.kinds[i : i + 1].copy(), means=f.means[i : i + 1].copy())
    f = f._replace(gaps=np.zeros((1, 2)))
    P = BASE + h.columns
    mean, C = np.zeros(P, LONG), np.zeros((P, P), LONG)
    mean[0] = y[0]
    np.fill_diagonal(
        C, [1e4, 1.0 if model.slope >= 0.0 else 0.0, model.deviation, *(10.0 * h.smooth)]
    )
    F = np.eye(P, dtype=LONG)
    F[0, 1], F[1, 1], F[2, 2] = 1.0, model.damping, model.memory
    wander = LONG(model.deviation) * (1 - LONG(model.memory) ** 2)
    Q = np.array(
        [model.level, max(model.slope, 0.0), wander, *(model.seasons * h.smooth)], dtype=LONG
    )
    z, apart, own = np.ones(P, LONG), 0.0, f.means[0]
    z[1] = 0.0
    cycle = [np.zeros(P, LONG) for _ in range(4)]
    for t in range(ROUNDS):
        row = h.table[t % 4]
        z[BASE:] = row
        # gains have long settled into their cycle of four rounds
        if t < 3000:
            g = C @ z
            S = z @ g + 1
            gain = g / S
            C = F @ (C - np.outer(g, g) / S) @ F.T + np.diag(Q)
            cycle[t % 4] = gain
        gain = cycle[t % 4]
        error = LONG(y[t]) - z @ mean
        if t % 97 == 0:
            said = own[0] + own[2] + own[BASE:] @ row
            apart = max(apart, abs(float(LONG(said) - z @ mean)))
        mean = F @ (mean + gain * error)
        _structural.close_round(y[t], 0.0, True, t, row, f)
    assert apart < 1e-6


@pytest.mark.parametrize(("rate", "difference"), [(0.99, 1), (0.9999, 0), (0.9995, 0)])
def test_autoregressions_do_not_drift_from_extended_precision(rate, difference):
    r = Regression(False, difference, rate, Lags(3, alone=3))
    pool = Pool(POOLS["small"].filters[:1], (r,), ())
    R = build(pool, (), 1, Scale(0.0, 1.0, 0.0, 1.0, False)).regressions
    x = noise(ROUNDS) * np.exp(1.5 * np.sin(np.arange(ROUNDS) / 4000.0))
    x = x + 0.8 * np.roll(x, 1)
    work, none, seasonal = np.zeros((2, 16)), np.zeros(0), np.zeros(4)
    X, C, theta = x.astype(LONG), np.diag(np.full(4, LONG(100))), np.zeros(4, LONG)
    apart, start, rate_ = 0.0, int(R.specs[0, OF.start]), LONG(rate)
    for s in range(start, ROUNDS):
        _autoregression.learn(0, R, x, s, none, seasonal, none, work[0], work[1])
        z = np.ones(4, LONG)
        z[:3] = X[s - 3 : s][::-1]
        target = X[s]
        if difference:
            z[:3] -= X[s - 4 : s - 1][::-1]
            target = target - X[s - 1]
        g = C @ z
        S = z @ g + rate_
        theta = theta + g * ((target - z @ theta) / S)
        C = (C - np.outer(g, g) / S) / rate_
        if s % 97 == 0:
            apart = max(apart, float(np.abs(R.coefficients[0] - theta).max()))
    assert apart < 1e-6
    own = R.covariances.reshape(4, 4)
    np.testing.assert_array_equal(own, own.T)
    np.testing.assert_allclose(own, C.astype(float), rtol=1e-6)


def test_after_many_rounds_all_covariances_are_symmetric_to_the_bit_and_positive():
    y = np.exp(0.2 * wavy(15_000, HOUR))
    y[3000:3400], y[9000] = np.nan, 1e4
    m = state("full", HOUR, 24, y[:500], ages=12_000)
    said = played(m, y)
    assert np.isfinite(said).all()
    r = m.regressions
    for spec in r.specs:
        n, at = spec[OF.size], spec[OF.offset]
        C = r.covariances[at : at + n * n].reshape(n, n)
        np.testing.assert_array_equal(C, C.T)
        assert np.linalg.eigvalsh(C)[0] > 0.0
    for C in m.knots.spread:
        np.testing.assert_array_equal(C, C.T)
        assert np.linalg.eigvalsh(C)[0] > 0.0
    # as good at the end as before
    e = (said[:, 0] - y) ** 2
    assert np.nanmean(e[12_000:]) < 1.2 * np.nanmean(e[1000:3000])


def test_the_state_does_not_grow_with_the_series():
    model, sizes, files = sp.Forecaster(5, season=[12], pool="middle"), set(), []
    for start in range(0, ROUNDS, 10_000):
        model.track(wavy(10_000, (12.0,), level=50.0, start=start))
        arrays = model.arrays()
        # the history and the list of changes grow up to a limit
        fixed = {name: np.shape(a) for name, a in arrays.items() if name.count("watch") == 0}
        fixed.pop("engine.history")
        sizes.add(tuple(sorted(fixed.items())))
        files.append(len(persist.pack(model)))
    assert len(sizes) == 1
    assert max(files) < min(files) + 16 * 8192
    assert model._engine.history.values.size == 8192
