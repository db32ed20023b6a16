"""Slow twins of the ensembles: each written out from its paper, with dictionaries and lists.

Each takes rounds, objects with value(w) and gradient(w), and returns the plays.
"""

import numpy as np

from naive_baselines import ball


def optimistic_ogd(rounds, dim, step, radius):
    y, w, plays = np.zeros(dim), np.zeros(dim), []
    for loss in rounds:
        plays.append(w)
        g = loss.gradient(w)
        y = ball(y - step * g, radius)
        w = ball(y - step * g, radius)
    return np.array(plays)


def oegd(rounds, dim, step, radius):
    y, w, plays = np.zeros(dim), np.zeros(dim), []
    for loss in rounds:
        plays.append(w)
        y = ball(y - step * loss.gradient(w), radius)
        w = ball(y - step * loss.gradient(y), radius)
    return np.array(plays)


def doubling(low, high):
    steps = [low]
    while steps[-1] < high * (1 - 1e-12):
        steps.append(2 * steps[-1])
    return steps


def rate(cap, surprises, c, n):
    """The rate after these (range of ℓ − m)."""
    return min(cap, 2 * np.sqrt(np.log(max(n, 2))) / np.sqrt(c**2 + np.sum(np.square(surprises))))


def softmax(logs):
    p = np.exp(logs - np.max(logs))
    return p / p.sum()


def sword(rounds, dim, T, G, L, radius, which):
    D = 2 * radius
    extra = doubling(min(D / (G * np.sqrt(8 * T)), 0.25 / L), 0.25 / L)
    plain = doubling(min(np.sqrt(D / (16 * L * G * T)), 0.25 / L), 0.25 / L)
    experts = [("extra", s) for s in extra] if which in ("variation", "best") else []
    experts += [("plain", s) for s in plain] if which in ("small", "best") else []
    n = len(experts)
    x, y = np.zeros((n, dim)), np.zeros((n, dim))
    total, m, surprises, plays = np.zeros(n), np.zeros(n), [], []
    varied = squared = 0.0
    guess = np.zeros(dim)
    for loss in rounds:
        eps = rate(1 / (8 * D * D * L), surprises, 2 * G * D, n)
        p = softmax(-eps * (total + m))
        w = p @ x
        plays.append(w)
        g = loss.gradient(w)
        losses = x @ g
        surprises.append(np.ptp(losses - m))
        total = total + losses
        for i, (kind, step) in enumerate(experts):
            if kind == "plain":
                x[i] = ball(x[i] - step * loss.gradient(x[i]), radius)
            else:
                y[i] = ball(y[i] - step * loss.gradient(x[i]), radius)
                x[i] = ball(y[i] - step * loss.gradient(y[i]), radius)
        varied, squared = varied + ((g - guess) ** 2).sum(), squared + (g**2).sum()
        guess = loss.gradient(p @ x)
        beta = 1 / (1 + np.exp((varied - squared) / (8 * G * G)))
        factor = {"variation": 1.0, "small": 0.0, "best": beta}[which]
        m = factor * (x @ guess)
    return np.array(plays)


def sword_pp(rounds, dim, T, G, L, radius):
    D = 2 * radius
    steps = doubling(min(D / (G * np.sqrt(8 * T)), 0.125 / L), 0.125 / L)
    n = len(steps)
    x, y = np.zeros((n, dim)), np.zeros((n, dim))
    total, m, moved, surprises, plays = np.zeros(n), np.zeros(n), np.zeros(n), [], []
    for loss in rounds:
        p = softmax(-rate(1 / (8 * D * D * L), surprises, 2 * G * D, n) * (total + m))
        w = p @ x
        plays.append(w)
        g = loss.gradient(w)
        losses = x @ g + moved
        surprises.append(np.ptp(losses - m))
        total = total + losses
        for i, step in enumerate(steps):
            y[i] = ball(y[i] - step * g, radius)
            new = ball(y[i] - step * g, radius)
            moved[i] = 2 * L * ((new - x[i]) ** 2).sum()
            x[i] = new
        m = x @ g + moved
    return np.array(plays)


def scream(rounds, dim, T, G, cost, radius):
    D = 2 * radius
    low = D / np.sqrt(G * (cost + G) * T)
    steps = doubling(low, low * np.sqrt(1 + 2 * T))
    i = np.arange(1, len(steps) + 1)
    weights = 1 / (i * (i + 1))
    eps = np.sqrt(2 / ((2 * cost + G) * (cost + G) * D**2 * T))
    x, moved, plays = np.zeros((len(steps), dim)), np.zeros(len(steps)), []
    for loss in rounds:
        weights = weights / weights.sum()
        w = weights @ x
        plays.append(w)
        g = loss.gradient(w)
        weights = weights * np.exp(-eps * (x @ g + cost * moved))
        for j, step in enumerate(steps):
            new = ball(x[j] - step * g, radius)
            moved[j] = np.linalg.norm(new - x[j])
            x[j] = new
    return np.array(plays)


# covers


def flh_vaw(X, y, reach, ridge):
    """Follow the leading history over least squares from each birth on, features first."""
    weight, plays = {}, []
    for t in range(1, len(y) + 1):
        now = alive("history", t)
        old = {key: weight[key] for key in now if key in weight}
        total = sum(old.values())
        weight = {key: value / total * (1 - 1 / t) for key, value in old.items()}
        weight |= {key: 1 / t for key in now if key not in weight}
        each = {}
        for first, last in now:
            x, past = X[first - 1 : t], np.append(y[first - 1 : t - 1], 0.0)
            A = ridge * np.eye(X.shape[1]) + x.T @ x
            each[first, last] = np.clip(x[-1] @ np.linalg.solve(A, x.T @ past), -reach, reach)
        plays.append(sum(weight[key] * each[key] for key in now))
        weight = {
            key: weight[key] * np.exp(-((y[t - 1] - each[key]) ** 2) / (8 * reach**2))
            for key in now
        }
    return np.array(plays)


def alive(cover, t):
    """The intervals (first, last) of a cover that hold t, from their definition."""
    found = []
    for k in range(t.bit_length()):
        if cover in ("dense", "compact"):
            i = t // 2**k
            if i >= 1 and (cover == "dense" or i % 2):
                found.append((i * 2**k, (i + 1) * 2**k - 1))
        else:
            for i in range(1, t // 2**k + 1, 2):
                if t <= i * 2**k + 2 ** (k + 2):
                    found.append((i * 2**k, i * 2**k + 2 ** (k + 2)))
    return sorted(found)


class Expert:
    """One base learner, and what metas note about it."""

    def __init__(self, dim, first, last):
        self.x, self.age, self.square = np.zeros(dim), 0, 0.0
        self.first, self.length = first, last - first + 1
        self.regret = self.absolute = self.won = 0.0
        self.A = None
        self.weight = None

    def step(self, g, base, G, D, curvature, radius):
        self.age += 1
        self.square += float(g @ g)
        if base == "newton":
            self.newton(g, G, D, curvature, radius)
            return
        eta = {
            "fading": D / G / np.sqrt(self.age),
            "scale-free": D / np.sqrt(2) / np.sqrt(G * G + self.square),
            "strong": 1 / (curvature * self.age) if curvature else 0.0,
        }[base]
        self.x = ball(self.x - eta * g, radius)

    def newton(self, g, G, D, alpha, radius):
        gamma = 0.5 * min(1 / (4 * G * D), alpha)
        if self.A is None:
            self.A = np.eye(g.size) / (gamma * D) ** 2
        self.A = self.A + np.outer(g, g)
        z = self.x - np.linalg.solve(self.A, g) / gamma
        if np.linalg.norm(z) > radius:  # least (x − z)'A(x − z) on the sphere
            low, high = 0.0, 1e12
            for _ in range(300):
                mu = 0.5 * (low + high)
                x = np.linalg.solve(self.A + mu * np.eye(g.size), self.A @ z)
                low, high = (mu, high) if np.linalg.norm(x) > radius else (low, mu)
            z = x
        self.x = z


def cover(
    rounds,
    dim,
    intervals,
    meta,
    base,
    G,
    radius,
    *,
    surrogate=True,
    rate=0.0,
    curvature=0.0,
    threshold=None,
):
    """Any of the learners on covers; also returns Σ of Prod's w/η over all that were ever born.

    With a threshold, intervals are of markers: the next comes when who was born at the last has
    lost more.
    """
    D, c = 2 * radius, 2 * G * radius
    experts, gone, plays = {}, 0.0, []
    marker, watched = 1, 0.0
    for t, loss in enumerate(rounds, start=1):
        if threshold is not None and watched > threshold:
            marker, watched = marker + 1, 0.0
        now = alive(intervals, t if threshold is None else marker)
        born = [key for key in now if key not in experts]
        for key in [key for key in experts if key not in now]:
            each = experts.pop(key)
            gone += (each.weight or 0.0) / min(0.5, each.length**-0.5)
        for key in born:
            experts[key] = Expert(dim, *key)
        each = [experts[key] for key in now]
        x = np.array([one.x for one in each])
        p = weights(meta, each, t, set(born), now)
        w = p @ x
        plays.append(w)
        g = loss.gradient(w)
        losses = x @ g if surrogate else np.array([loss.value(one) for one in x])
        mean = w @ g if surrogate else loss.value(w)
        watched += max(zip(now, losses, strict=True))[1]  # of the latest
        for one, own in zip(each, losses, strict=True):
            learn(meta, one, (mean - own) / c, rate * (mean - own))
            at = w if surrogate else one.x
            one.step(loss.gradient(at), base, G, D, curvature, radius)
    total = gone + sum(one.weight / min(0.5, one.length**-0.5) for one in each if one.weight)
    return np.array(plays), total


def weights(meta, each, t, born, now):
    if meta == "prod":
        for one in each:
            one.weight = min(0.5, one.length**-0.5) if one.weight is None else one.weight
        raw = np.array([one.weight for one in each])
    elif meta == "share":
        pairs = zip(each, now, strict=True)
        old = np.array([0.0 if key in born else one.weight for one, key in pairs])
        old = old / old.sum() * (1 - 1 / t) if t > 1 else old
        pairs = zip(old, now, strict=True)
        raw = np.array([1 / t if key in born else own for own, key in pairs])
        for one, own in zip(each, raw, strict=True):
            one.weight = own
    elif meta == "coin":
        prior = np.array([1 / (o.first**2 * (1 + np.floor(np.log2(o.first)))) for o in each])
        raw = prior * np.maximum([o.regret / (o.age + 1) * (1 + o.won) for o in each], 0.0)
        raw = prior if raw.sum() <= 0 else raw
    else:
        R, C = np.array([o.regret for o in each]), np.array([o.absolute for o in each]) + 1
        up, down = np.maximum(R + 1, 0) ** 2 / (3 * C), np.maximum(R - 1, 0) ** 2 / (3 * C)
        raw = (np.exp(up) - np.exp(down)) / 2
        raw = np.ones(len(each)) if raw.sum() <= 0 else raw
    return raw / raw.sum()


def learn(meta, one, regret, scaled):
    if meta == "prod":
        one.weight *= 1 + min(0.5, one.length**-0.5) * regret
    elif meta == "share":
        one.weight *= np.exp(scaled)
    elif meta == "coin":
        bet = one.regret / (one.age + 1) * (1 + one.won)
        coin = regret if bet > 0 else max(regret, 0.0)
        one.regret, one.won = one.regret + coin, one.won + coin * bet
    else:
        one.regret, one.absolute = one.regret + regret, one.absolute + abs(regret)
