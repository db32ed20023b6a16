"""Streams for the forecasters with contexts, and TrackingForecaster line by line."""

from statistics import NormalDist

import numpy as np

from stillpoint.losses import Absolute, Huber, Pinball, Squared


def contexts(dim, rounds=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rounds, dim)), rng.standard_normal(rounds) + np.sin(
        np.arange(rounds) / 9
    )


def standardised(row, entered, base, theta, C, prior):
    """Features line by line: z of a row and an intercept, NaN standing for the running mean.

    entered: values of each feature so far, outliers cut off; base: its origin and unit. Where they
    change, the filters' coefficients and covariances are carried along, in place.
    """
    d, K = row.size, len(C)
    z = np.ones(d + 1)
    for i in range(d):
        value, past = row[i], np.array(entered[i])
        if np.isnan(value):
            z[i] = (past.mean() - base[i][0]) / base[i][1] if base[i] is not None else 0
            continue
        if past.size >= 10 and past.std() > 0 and np.ptp(past) > 0:
            value = np.clip(value, past.mean() - 20 * past.std(), past.mean() + 20 * past.std())
        entered[i].append(value)
        past = np.append(past, value)
        mu, sd = past.mean(), past.std()
        if np.ptp(past) == 0:
            z[i] = 0
            continue
        if base[i] is None:
            base[i] = (mu, sd)
        elif len(entered[i]) in 2 ** np.arange(40) or sd > 2 * base[i][1]:
            r, a = sd / base[i][1], (mu - base[i][0]) / base[i][1]
            change = np.eye(d + 1)
            change[i, i], change[d, i] = r, a
            for k in range(K):
                if r > 100:
                    theta[k, i] = 0
                    C[k][i, :] = C[k][:, i] = 0
                    C[k][i, i] = prior
                else:
                    theta[k] = change @ theta[k]
                    C[k] = change @ C[k] @ change.T
            base[i] = (mu, sd)
        z[i] = (np.clip(row[i], mu - 10 * sd, mu + 10 * sd) - base[i][0]) / base[i][1]
    return z


def slow_twin(X, y, times=None, loss=None):
    """TrackingForecaster line by line: (forecasts, r (T, 15), (V, B) before and after each round,
    units, losses of pm and p).

    A round counts for 200 at most, and credit is withheld from filters whose loss is 25
    units above the aggregate's. NaN in X stands for the running mean; drift goes by gaps over the
    mean of those before; any loss with its shifts.
    """
    T, d = X.shape
    level = loss.level if isinstance(loss, Pinball) else 0.5 if isinstance(loss, Absolute) else None
    v, m = np.full(15, NormalDist().inv_cdf(level or 0.5) * np.sqrt(np.pi / 2)), np.zeros(15)
    mean_loss = 0.0
    K = 15
    grid = [(0, 0)] + [(0, q) for q in (1e-4, 1e-2, 1, 1e2)]
    grid += [(q, q) for q in (1e-6, 1e-4, 1e-2, 1)] + [(q, 100 * q) for q in (1e-6, 1e-4, 1e-2, 1)]
    grid += [(q, 0) for q in (1e-2, 1)]  # slopes alone: beyond the prototype's thirteen
    entered = [[] for _ in range(d)]
    base = [None] * d
    theta = np.zeros((K, d + 1))
    C = np.tile(np.diag([10.0] * d + [100.0]), (K, 1, 1))
    drift = np.array([np.diag([slope] * d + [level_]) for slope, level_ in grid])
    R, V, L, B, s2, n = np.zeros(K), np.zeros(K), np.zeros(K), 0.0, 0.0, 0.0
    rows = {
        "forecast": [],
        "r": [],
        "V": [V.copy()],
        "B": [B],
        "scale": [],
        "pm": [],
        "p": [],
        "withheld": [],
    }
    for t in range(T):
        z = standardised(X[t], entered, base, theta, C, 10)
        pace = 1.0
        if times is not None and t > 1:
            pace = (times[t] - times[t - 1]) / np.diff(times[:t]).mean()
        C = C + pace * drift
        if t == 0:
            rows["forecast"].append(0.0)
            p, pm, forecast = np.full(K, y[0]), y[0], y[0]
        else:
            lo, hi = y[:t].min(), y[:t].max()
            p = np.clip(theta @ z + y[0] + v * m, lo - (hi - lo), hi + (hi - lo))
            w = np.maximum(R, 0) / (B + V) if (R > 0).any() else np.ones(K)
            u = np.exp(-0.25 * (L - L.min()))
            a = 300 / (300 + t)
            pm, pe = w @ p / w.sum(), u @ p / u.sum()
            forecast = (1 - a) * pm + a * pe
            rows["forecast"].append(forecast)
        e = y[t] - forecast
        n = 0.99 * n + 1
        s2 += ((e**2 if n < 11 else min(e**2, 100 * s2)) - s2) / n
        scale = 1 / max(s2, e**2 / 100) if s2 > 0 else 0.0
        r, losses = 2 * (pm - y[t]) * (pm - p) * scale, (y[t] - p) ** 2 * scale
        if loss is not None:
            own = loss.value(forecast, y[t])
            mean_loss += ((own if n < 11 else min(own, 100 * mean_loss)) - mean_loss) / n
            scale = 1 / max(mean_loss, own / 100) if mean_loss > 0 else 0.0
            r, losses = loss.gradient(pm, y[t]) * (pm - p) * scale, loss.value(p, y[t]) * scale
        if level is not None and t > 0:
            e = y[t] - y[0] - theta @ z
            step = max(2 / (3 * (1 + min(level, 1 - level) * (t + 1))), 0.04)
            v = v - step * ((e <= v * m) - level)
            m = m + (np.where(m > 0, np.minimum(abs(e), 30 * m), abs(e)) - m) / min(t, 50)
        cut = min(1.0, 200 / abs(r).max()) if r.any() else 1.0
        measure = loss.value if loss is not None else lambda p, target: (p - target) ** 2
        short = np.maximum((measure(p, y[t]) - measure(pm, y[t])) * scale * cut - 25, 0)
        full, scale = r * cut, scale * cut
        r = np.where(full > 0, np.maximum(full - short, 0), full)
        R, V, L, B = R + r, V + r**2, L + losses, max(B, (r**2).max())
        g = C @ z  # a row a filter
        S = g @ z + 1
        theta = theta + g * ((y[t] - y[0] - theta @ z) / S)[:, None]
        C = C - g[:, :, None] * g[:, None, :] / S[:, None, None]
        for name, value in {
            "r": r,
            "V": V,
            "B": B,
            "scale": scale,
            "pm": pm,
            "p": p,
            "withheld": full - r,
        }.items():
            rows[name].append(value)
    return {name: np.array(value) for name, value in rows.items()}


def drifting(dim, rounds=300, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, dim)) + rng.standard_normal(dim)
    w = np.cumsum(0.05 * rng.standard_normal((rounds, dim)), axis=0) + rng.standard_normal(dim)
    w[rounds // 2 :] *= -1.0
    return X, (w * X).sum(1) + noise * rng.standard_normal(rounds) + np.cumsum(
        0.05 * rng.standard_normal(rounds)
    )


def awkward(X):
    """Features with outliers, and features of which one changes its unit after five rounds."""
    spiky = X.copy()
    spiky[::37] *= 300.0
    yield "outliers", spiky
    tiny = X.copy()
    tiny[:5, 0] = 1e-13 * X[:5, 0]
    yield "reset", tiny


def cases():
    for dim in (1, 5):
        yield f"drift {dim}", *drifting(dim, 200)
    X, y = drifting(5, 200, seed=1)
    yield "scales", X * [1e-9, 1e-3, 1.0, 1e4, 1e9], y
    yield "constant", np.where(np.arange(5) == 2, 7.3, X), y
    late = X.copy()
    late[:120, 1] = -0.1
    late[:3, 4] = 0.25
    yield "late", late, y
    yield "late alone", late[:, 1:2], y
    yield from ((name, features, y) for name, features in awkward(X))


CASES = {name: (X, y) for name, X, y in cases()}

LOSSES = {
    "squared": Squared(),
    "absolute": Absolute(),
    "huber": Huber(0.5),
    "median": Pinball(0.5),
    "low": Pinball(0.05),
    "high": Pinball(0.9),
}

STREAMS = {
    "constant targets": (drifting(3)[0], np.full(300, 4.2)),
    "zeros": (np.zeros((300, 3)), np.zeros(300)),
    "constant, then not": (drifting(3)[0], np.where(np.arange(300) < 100, 1.0, drifting(3)[1])),
    "collinear": (np.repeat(drifting(1)[0], 3, axis=1), drifting(1)[1]),
    "cauchy": (
        np.random.default_rng(0).standard_cauchy((300, 3)) ** 3,
        np.random.default_rng(1).standard_cauchy(300) ** 3,
    ),
    "rounding noise": (
        np.sin(np.pi * np.arange(900).reshape(300, 3)) * [1, 0, 1] + [[0, 0, 0]],
        drifting(3)[1],
    ),
    "huge": (1e99 * np.tanh(drifting(3)[0]), 1e99 * np.tanh(drifting(3)[1])),
    "denormal": (1e-310 * drifting(3)[0], 1e-310 * drifting(3)[1]),
    "squares underflow": (1e-160 * drifting(3)[0], 1e-160 * drifting(3)[1]),
    "jump of 100 decades": (
        drifting(3)[0],
        np.where(np.arange(300) == 150, 1e60, 1e-40 * drifting(3)[1]),
    ),
}
