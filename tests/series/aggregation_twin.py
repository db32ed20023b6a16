"""The aggregation of a knot as a plain loop, its forecasts kept by origin."""

import math

import numpy as np


def weights(R, V, L, record, seen):
    """ML-Poly's weights, and what is played: those blended with exponential ones."""
    w = np.where(R > 0.0, R / np.where(record + V > 0.0, record + V, 1.0), 0.0)
    w = w / w.sum() if w.sum() > 0.0 else np.full(R.size, 1.0 / R.size)
    u = np.exp(-0.25 * (L - L.min()))
    early = 100.0 / (100.0 + seen)
    return w, (1.0 - early) * w + early * u / u.sum()


class Books:
    """Regrets of some experts, and what the guarantee needs of them."""

    def __init__(self, K):
        self.R, self.V, self.L, self.withheld = (np.zeros(K) for _ in range(4))
        self.record, self.paid = 0.0, 0.0

    def credit(self, pm, p, y, scale, most, slack):
        d = np.where(np.abs(pm - p) < 1e-9 / math.sqrt(scale), 0.0, pm - p)
        linear = 2.0 * (pm - y) * scale * (pm - p)
        share = min(1.0, most / np.abs(linear).max()) if np.abs(linear).max() > 0.0 else 1.0
        r = 2.0 * (pm - y) * scale * d * share
        losses, own = (y - p) ** 2 * scale, (pm - y) ** 2 * scale
        cut = np.maximum((losses - own) * share - slack, 0.0)
        added = np.where(r > 0.0, np.maximum(r - cut, 0.0), r)
        self.withheld += r - added
        before = self.record + self.V
        self.record = max(self.record, float((added**2).max()))
        self.R, self.V = self.R + added, self.V + added**2
        # Σ (R)₊²/(B + V) grows by this; in the first round it is what it is
        self.paid += (
            (added**2 / before).sum()
            if before.min() > 0.0
            else (np.maximum(self.R, 0.0) ** 2 / (self.record + self.V)).sum()
            if self.record > 0.0
            else 0.0
        )
        self.L = 0.99 * self.L + losses
        return share


class Knot:
    """One knot."""

    def __init__(self, K, rule, seasonal):
        self.rule, self.first, self.second = rule, Books(K), Books(2)
        # the naive forecast is relied on first: that of the season, where there is one
        trusted = [rule.last, 0.0] if seasonal else [0.0]
        self.first.L[:] = trusted + [rule.others] * (K - len(trusted))
        self.theta, self.C = np.zeros(K + 1), np.eye(K + 1) / 30.0
        self.variance = self.memory = self.seen = 0.0
        self.issued, self.judged = {}, []

    def blend(self):
        """Weights of the experts, of the pair, θ and the error deviation: what is interpolated."""
        f, s = self.first, self.second
        return (
            weights(f.R, f.V, f.L, f.record, self.seen)[1],
            weights(s.R, s.V, s.L, s.record, self.seen)[1],
            self.theta,
            math.sqrt(self.variance),
        )

    def issue(self, origin, p):
        """Forecast at this origin."""
        f, s = self.first, self.second
        pm = weights(f.R, f.V, f.L, f.record, self.seen)[0] @ p
        one, two, F = combined(p, *self.blend())
        pair = weights(s.R, s.V, s.L, s.record, self.seen)[0] @ np.array([one, two])
        self.issued[origin] = (p.copy(), pm, one, two, pair, F)
        return F

    def judge(self, origin, y, width):
        """Learn the value of what was forecast at this origin."""
        p, pm, one, two, pair, F = self.issued.pop(origin)
        square = (y - F) ** 2
        self.memory = 0.99 * self.memory + 1.0
        counted = square
        if self.memory >= 11.0 and self.variance > 0.0:
            counted = min(square, 100.0 * self.variance)
        self.variance += (counted - self.variance) / self.memory
        unit = max(self.variance, square / 100.0)
        if unit <= (1e-13 * width) ** 2:
            return
        share = self.first.credit(pm, p, y, 1.0 / unit, *self.rule[:2])
        self.second.credit(pair, np.array([one, two]), y, 1.0 / unit, *self.rule[:2])
        sd = math.sqrt(self.variance)
        z = np.append(np.clip((p - one) / sd, -5.0, 5.0), 1.0)
        target = min(max((y - one) / sd, -5.0), 5.0)
        g = self.C @ z
        S = z @ g + 1.0
        self.theta = self.theta + g * (target - z @ self.theta) / S
        self.C = self.C - np.outer(g, g) / S + 1e-6 * np.eye(z.size)
        self.seen += 1.0
        self.judged.append((pm, p, y, share / unit))


def combined(p, w, pair, theta, sd):
    """f, g and F from the experts' forecasts."""
    f = w @ p
    more = theta[-1] * sd + theta[:-1] @ np.clip(p - f, -5.0 * sd, 5.0 * sd)
    g = f + min(max(more, -3.0 * sd), 3.0 * sd)
    return f, g, pair @ np.array([f, g])
