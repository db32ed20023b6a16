"""Slow twins of the estimators, and streams to try them on."""

import math
from statistics import NormalDist

import numpy as np
from hypothesis import strategies as st

TAU, ETA = (2, 5, 15, 50, 200, 1000), (0.02, 0.06, 0.2)
RARE_LEVELS = st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.97, 0.999])
STREAMS = {
    "normal": lambda rng, T: rng.standard_normal(T),
    "gaps": lambda rng, T: np.where(rng.random(T) < 0.1, np.nan, rng.standard_normal(T)),
    "zeros": lambda rng, T: np.zeros(T),
    "zeros, then not": lambda rng, T: np.where(np.arange(T) < T // 2, 0.0, rng.standard_normal(T)),
    "stuck": lambda rng, T: np.where(np.arange(T) // 150 % 2 == 1, 0.0, rng.standard_normal(T)),
    "constant": lambda rng, T: np.full(T, -7.25),
    "cauchy": lambda rng, T: rng.standard_cauchy(T) ** 3,
    "denormal": lambda rng, T: 1e-320 * rng.integers(0, 5, T),
    "mixed": lambda rng, T: np.where(rng.random(T) < 0.5, 1e-320, rng.standard_normal(T)),
    "huge": lambda rng, T: 1e140 * rng.standard_normal(T),
    "tiny": lambda rng, T: 1e-240 * rng.standard_normal(T),
    "jumps": lambda rng, T: (
        10.0 ** np.where(np.arange(T) // 50 % 2, 100, -100) * rng.standard_normal(T)
    ),
    "growing": lambda rng, T: np.exp(np.linspace(-330, 330, T)),
    "falling": lambda rng, T: np.exp(np.linspace(330, -330, T)),
}
KEYWORDS = [
    {},
    {"empty": False},
    {"two_sided": True},
    {"coverage": (0.5, 0.99, 0.9)},
    {"coverage": 0.999, "two_sided": True, "empty": False},
]


def same(a, b):
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(
        np.array_equal(left[key], right[key]) for key in left
    )


def drive(band, forecasts, y):
    """The intervals of single calls; NaN is skipped."""
    rows = []
    for f, target in zip(forecasts, y, strict=True):
        rows.append(band.predict(f))
        if np.isnan(target):
            band.skip()
        else:
            band.update(target)
    lo, hi = zip(*rows, strict=True)
    return np.array(lo), np.array(hi)


def pinball(p, s, q):
    return np.where(p >= s, (1 - q) * (p - s), q * (s - p))


def aggregation(p, R, V, L, B, k):
    """ML-Poly's weights, and those of the blend."""
    w = np.maximum(R, 0) / (B + V) if (R > 0).any() else np.ones(len(p))
    u = np.exp(-0.25 * (L - L.min()))
    w, u, a = w / w.sum(), u / u.sum(), 300 / (300 + k)
    return w, (1 - a) * w + a * u


class SlowPool:
    """ML-Poly and its blend under the pinball loss.

    Experts are heard within 3/min(q, 1 − q) mean losses of the aggregate.
    """

    def __init__(self, q):
        self.q, self.R, self.V, self.L, self.B = q, np.zeros(9), np.zeros(9), np.zeros(9), 0.0
        self.l, self.n, self.k, self.rows = 0.0, 0.0, 0, []

    def play(self, p):
        w, blend = aggregation(p, self.R, self.V, self.L, self.B, self.k)
        if self.l > 0:
            reach = 3 / min(self.q, 1 - self.q) * self.l
            p = np.clip(p, w @ p - reach, w @ p + reach)
        self.w, self.p, self.pm = w, p, w @ p
        return blend @ p

    def learn(self, played, s, least=0.0):
        q, loss = self.q, float(pinball(played, s, self.q))
        self.n = 0.99 * self.n + 1
        self.l += ((loss if self.n < 11 else min(loss, 100 * self.l)) - self.l) / self.n
        unit = max(self.l, loss / 100, least)
        r = (1 - q if self.pm >= s else -q) * (self.pm - self.p) / unit
        self.rows.append(
            (
                r,
                self.B,
                self.V.copy(),
                (pinball(self.pm, s, q) - pinball(self.p, s, q)) / unit,
                abs(self.w @ r),
            )
        )
        self.R, self.V, self.B = self.R + r, self.V + r**2, max(self.B, (r**2).max())
        self.L = self.L + pinball(self.p, s, q) / unit
        self.k += 1


def guard(misses, t, q):
    return (misses - (1 - q) * t) / (3 * math.sqrt(q * (1 - q) * (t + 100)))


def student(q, n):
    """t_n/z by Wallace's formula."""
    z = NormalDist().inv_cdf((1 + q) / 2)
    return math.sqrt(n * (math.exp((z * (8 * n + 3) / (8 * n + 1)) ** 2 / n) - 1)) / z


def slow_radii(scores, q):
    """IntervalTracker line by line: radii and the pool.

    The first score is not learnt from, and two more make a radius.
    """
    pool, radii, misses, s1, top, a = SlowPool(q), [], 0, 0.0, 0.0, min(q, 1 - q)
    m0 = math.log(NormalDist().inv_cdf((1 + q) / 2) / 0.7979)
    S, n, v, k = np.zeros(6), np.ones(6), np.full(9, m0), 0
    for t, s in enumerate(scores):
        raw = 0.0
        if s1 > 0:
            value = np.exp(v) * np.append(S, [s1] * 3)
            raw = pool.play(np.minimum(value, 2 * top))
        x = guard(misses, t, q)
        radius = (
            raw * math.exp(np.clip(0.1 * x / (1 - x * x), -2, 2))
            if abs(x) < 1
            else math.copysign(math.inf, x)
        )
        radius = math.inf if t < 3 else radius * student(q, t - 1) if t <= 21 else radius
        radii.append(radius)
        misses += s > radius
        if t == 0:
            continue
        if s1 == 0:
            if s > 0:
                s1 = top = s
                S = np.full(6, s)
            continue
        pool.learn(raw, s, 1e-40 * top)
        g = np.where(value >= s, 1 - q, -q)
        v = v - np.maximum(1 / (3 * (1 + a * k)), [0.02] * 6 + list(ETA)) * g
        v[:6] = np.clip(v[:6], m0 - 3, 3 - math.log(a))
        k += 1
        n = (1 - 1 / np.array(TAU)) * n + 1
        top = max(top, s)
        S = np.maximum(S + (np.minimum(s, 30 * np.maximum(value[:6], S)) - S) / n, 1e-40 * top)
    return np.array(radii), pool
