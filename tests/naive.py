"""Slow twins: each algorithm written out from its formula, with full matrices and no cleverness."""

import itertools

import numpy as np
from scipy.optimize import brentq

from stillpoint.domains import Ball, Box, HalfSpace, Simplex


def psi(S, V, h, scale, count=None):
    """Algorithm 2's magnitude from its definition; with running hints if count = A_t is given."""
    alpha = (
        scale * h / (np.sqrt(V) * np.log(V / h**2) ** 2)
        if count is None
        else scale / (count * np.log(count) ** 2)
    )
    exponent = S**2 / (36 * V) if S <= 6 * V / h else S / (3 * h) - V / h**2
    return alpha * np.expm1(exponent)


def algorithm_2(gram, gradients, lipschitz, scale, kernel_bound):
    """Plays of Algorithm 2 on given gradients, from the Gram matrix alone."""
    rounds, dim = gradients.shape
    h = lipschitz * np.sqrt(kernel_bound)
    plays = np.zeros((rounds, dim))
    for t in range(1, rounds):
        past = gradients[:t]
        S = np.sqrt(max(np.sum((past @ past.T) * gram[:t, :t]), 0.0))
        V = 4 * h**2 + np.sum(np.diag(gram)[:t] * (past**2).sum(axis=1))
        if S > 0:
            plays[t] = -psi(S, V, h, scale) / S * (gram[t, :t] @ past)
    return plays


def scale_free(gram, gradients, scale, radius=None, radius_scale=1.0):
    """Proposition scale-free-olo on given gradients: hints, clipping and (artificial) balls in R^d,
    then Algorithm 2 with running hints; (plays, radii).
    """
    rounds, dim = gradients.shape
    fed = np.zeros((rounds, dim))
    plays, radii = np.zeros((rounds, dim)), np.zeros(rounds)
    squares, hints = np.zeros(rounds), np.zeros(rounds)
    for t in range(rounds):
        sizes = np.linalg.norm(gradients[:t], axis=1)
        top = sizes.max(initial=0.0)
        hints[t] = max(hints[t - 1] if t else 0.0, top * np.sqrt(gram[t, t]))
        H = hints[t]
        if radius is None:
            ratios = [
                sizes[: k + 1].sum() / sizes[: k + 1].max()
                for k in range(t)
                if sizes[: k + 1].max() > 0
            ]
            radii[t] = radius_scale * np.sqrt(max(ratios, default=0.0))
        else:
            radii[t] = radius
        z = np.zeros(dim)
        if H > 0:
            past = fed[:t]
            S = np.sqrt(max(np.sum((past @ past.T) * gram[:t, :t]), 0.0))
            V = 4 * H**2 + squares[:t].sum()
            A = 4 + sum(q / h**2 for q, h in zip(squares[:t], hints[:t], strict=True) if h > 0)
            if S > 0:
                z = -psi(S, V, H, scale, A) / S * (gram[t, :t] @ past)
        size = np.linalg.norm(z)
        plays[t] = z if size <= radii[t] else z * radii[t] / size
        g = gradients[t]
        length = np.linalg.norm(g)
        g = g * min(1.0, top / length) if length > 0 else g
        if size > radii[t]:
            n = (z - plays[t]) / np.linalg.norm(z - plays[t])
            g = g - min(0.0, g @ n) * n
        fed[t] = g
        squares[t] = gram[t, t] * (g @ g)
    return plays, radii


class StackedParameterFree:
    """Algorithm 2 run in R^{dT} on stacked gradients, as in Jacobsen & Orabona (2024): play the
    t-th block.
    """

    def __init__(self, dim, rounds, lipschitz, scale):
        self.dim, self.h, self.scale = dim, lipschitz, scale
        self.total = np.zeros(dim * rounds)
        self.V = 4 * lipschitz**2
        self.t = 0

    def predict(self):
        S = np.linalg.norm(self.total)
        w = (
            -psi(S, self.V, self.h, self.scale) / S * self.total
            if S > 0
            else np.zeros_like(self.total)
        )
        return w[self.t * self.dim : (self.t + 1) * self.dim]

    def update(self, g):
        self.total[self.t * self.dim : (self.t + 1) * self.dim] += g
        self.V += g @ g
        self.t += 1


class StaticParameterFree:
    """Algorithm 2 in R^d against a fixed comparator (Jacobsen & Cutkosky 2022)."""

    def __init__(self, dim, lipschitz, scale):
        self.h, self.scale = lipschitz, scale
        self.total = np.zeros(dim)
        self.V = 4 * lipschitz**2

    def predict(self):
        S = np.linalg.norm(self.total)
        return -psi(S, self.V, self.h, self.scale) / S * self.total if S > 0 else 0 * self.total

    def update(self, g):
        self.total = self.total + g
        self.V += g @ g


class Bank:
    """Tracker's filters line by line; weights pass on by a matrix of transitions."""

    every, age, ratio, scales, levels = 8, 0.1, 4.0, 8, 8

    def __init__(self, dim, radius):
        self.n, self.r, self.q, self.jumps, self.last = 0, 0.0, 0.0, 0.0, None
        self.sigma = 2.0 * radius
        self.names = [("level", 0)]
        self.kappa = {("level", 0): 0.5}
        self.held = {("level", 0): np.zeros((4, dim))}  # a, b, va, vb
        self.mu = {("level", 0): np.full(self.scales, 1.0 / self.scales)}

    def join(self, rounds):
        """Level k after 2·4^k rounds, a copy of the one before; trend k with level k + 2."""
        k = sum(kind == "level" for kind, _ in self.names)
        if k == self.levels or rounds < 2 * 4**k:
            return
        pairs = [(("level", k), ("level", k - 1))]
        if k >= 2:
            pairs.append((("trend", k - 2), ("level", k - 2)))
        for new, old in pairs:
            self.names.append(new)
            self.kappa[new] = 0.5 * 4.0 ** -new[1]
            self.held[new] = self.held[old] * np.array([1.0, 1.0, 0.0, 0.0])[:, None]
            self.mu[new] = np.zeros(self.scales)

    def update(self, w, g):
        a = np.linalg.norm(g)
        self.n += 1
        if self.n == 1:
            self.r = a**2
        elif a**2 > 100 * self.r:
            self.r = a**2 / 100
        G, s = g / np.sqrt(self.r), 1.0
        if len(g) > 1:
            if self.last is not None:
                cosine = self.last @ g / np.linalg.norm(self.last) / a
                self.q += max(0.01, 1 / self.n) * (cosine**2 - self.q)
                s = np.clip(1 / max(self.q, 1e-9), 1.0, len(g))
            self.last = g.copy()
        sigmas = self.sigma * self.ratio ** -np.arange(float(self.scales))
        x = 0.0
        for name in self.names:
            A, B, VA, VB = self.held[name]
            E = A + (w - B) / sigmas[:, None]  # a row a scale
            E = E * np.minimum(1.0, 1.0 / np.maximum(np.sqrt((E * E).sum(axis=1)), 1e-300))[:, None]
            gain = s * (E @ G - (E * E).sum(axis=1) / 2)
            self.mu[name] = self.mu[name] * (1 + np.clip(gain, -6, 4) / 8) ** 8
            kappa, ra, rb = self.kappa[name], G - A, w - B
            if name[0] == "trend":
                VA, VB = VA + kappa**2 / 2 * ra, VB + kappa**2 / 2 * rb
            A, B = A + kappa * ra + VA, B + kappa * rb + VB
            self.held[name] = np.array([A, B, VA, VB])
            x = x + self.mu[name].sum() * B - (self.mu[name] @ sigmas) * A
        self.r += max(0.005, 1 / self.n) * (a**2 - self.r)
        return x / sum(mu.sum() for mu in self.mu.values())

    def move(self, x):
        names, total = self.names, sum(mu.sum() for mu in self.mu.values())
        mu = np.array([self.mu[name] / total for name in names])
        if ("level", 1) in self.mu:
            lived = names.index(("level", 1))
            self.jumps += self.every * self.age * self.kappa["level", 1] * mu[lived].sum()
        H = self.every * min((0.15 + self.jumps) / (30 + self.n), 0.02)
        go = np.zeros((len(names), len(names)))  # from, to
        for i, (kind, k) in enumerate(names):
            twin = "trend" if kind == "level" else "level"
            for to in ((kind, k + 1), (twin, k)):
                if to in names:
                    go[i, names.index(to)] = self.every * self.age * self.kappa[kind, k]
            go[i, i] = 1.0 - go[i].sum()
        go *= 1 - H
        law = mu.sum(axis=0)
        near = np.array([sum(0.3**j * law[i + j] for j in range(8 - i)) for i in range(8)])
        law = np.array([sum(0.7**j * near[i - j] for j in range(i + 1)) for i in range(8)])
        mass, held = mu.sum(axis=1), {}
        parts = np.array([self.held[name] for name in names])
        for j, name in enumerate(names):
            shares = go[:, j] * mass
            jump = H if j == 0 else 0.0
            new = np.tensordot(shares, parts, 1)
            new[1] += jump * x
            new /= shares.sum() + jump + 1e-250
            held[name] = new * np.array([1.0, 1.0, *[name[0] == "trend"] * 2])[:, None]
        self.held = held
        mu = go.T @ mu
        mu[0] += H * law / law.sum()
        self.mu = dict(zip(names, mu, strict=True))

    def widen(self, radius):
        while 2 * radius >= 4 * self.sigma:
            self.sigma *= 4
            for name in self.names:
                self.mu[name] = np.append(0.0, self.mu[name][:-1])
            self.mu["level", 0][0] = 0.05


class Tracker:
    """Tracker line by line, exact norms, lists of vectors; `heuristic` may replace the next x_h."""

    eps, C, c, delta, b = 1e-3, 1.4, 8.0, 1e-5, 4.0

    def __init__(self, dim, cap=1e150, heuristic=None):
        self.D = min(self.eps, cap)
        self.Gam, self.cap, self.heuristic = 0.0, cap, heuristic
        self.bank = Bank(dim, self.D)
        self.xh, self.Lh, self.X, self.Vk, self.V, self.t = np.zeros(dim), 0.0, 0.0, 0.0, 0.0, 0
        self.x, self.L, self.w = [], [], np.zeros(dim)
        self.epochs, self.R, self.n = 1, 0.0, 0

    def ball(self, v):
        return v * min(1.0, self.D / max(np.linalg.norm(v), 1e-300))

    def predict(self):
        self.t += 1
        while self.t >= self.b ** (2 * len(self.x)):
            self.x.append(self.w.copy())
            self.L.append(-self.X)
        self.bank.join(self.t)
        if self.Gam == 0:
            self.w = self.xh.copy()
            return self.w
        eta = self.c / (2 * self.D * np.sqrt(self.Vk + self.Gam**2))
        prior = np.array(
            [1 - self.delta] + [self.delta / ((i + 1) * (i + 2)) for i in range(len(self.x))]
        )
        logs = np.log(prior) - eta * np.array([self.Lh, *self.L])
        q = np.exp(logs - logs.max())
        q /= q.sum()
        self.w = q[0] * self.xh + sum(share * x for share, x in zip(q[1:], self.x, strict=True))
        self.weights = q
        return self.w

    def update(self, g):
        a = np.linalg.norm(g)
        if a == 0:
            return
        if self.Gam == 0:
            self.Gam = a
        after = max(self.Gam, a)
        g = g * min(1.0, self.Gam / a)
        a = np.linalg.norm(g)
        self.n += 1
        self.X -= g @ self.w
        self.Vk += a**2
        self.V += a**2
        self.Lh += g @ self.xh
        self.R = (1 + self.R) * (1 - 0.8 * (g @ self.w) / (self.D * self.Gam))
        for i in range(len(self.x)):
            self.L[i] += g @ self.x[i]
            self.x[i] = self.ball(self.x[i] - self.D * self.b**-i / self.Gam * g)
        if self.heuristic is not None:  # nothing else asks the filters
            self.xh = self.ball(self.heuristic(self, g))
        else:
            self.xh = self.ball(self.bank.update(self.w, g))
            if self.n % self.bank.every == 0:
                self.bank.move(self.xh)
        self.Gam = after
        alarm = self.R >= 0.5 * self.n * np.log(np.e + self.n) ** 2
        share = min(self.C, 0.2 + 0.02 * self.V / self.Gam**2)
        if self.D < self.cap and (
            alarm or self.X >= share * self.D * np.sqrt(self.Vk + self.Gam**2)
        ):
            self.D = min(2 * self.D, self.cap)
            self.X = self.Vk = self.Lh = 0.0
            self.L = [0.0] * len(self.L)
            self.epochs += 1
            self.R *= 0.5 if alarm else 1.0
            self.bank.widen(self.D)


def erfi_magnitude(S, V, h, scale, alpha=0.75, z0=4.0):
    """m = ε(E(q) − h√(α/U)e^{q²}) through scipy's erfi, no log space."""
    from scipy.special import erfi

    U = V + 2 * h * S + z0 * h * h
    q = S / np.sqrt(4 * alpha * U)
    return scale * (np.sqrt(np.pi) / 2 * erfi(q) - h * np.sqrt(alpha / U) * np.exp(q * q))


def multi_scale(times, gradients, budget, base, lipschitz=None, radius=None, radius_scale=1.0):
    """Plays of MultiScale on given gradients, every level summed anew each round; (plays, S_j of
    the true gradients).
    """
    rounds, dim = gradients.shape
    elapsed = times - times[0] + 1.0
    starts = [0.0] + [base**j for j in range(60) if base**j <= elapsed[-1]]
    rates = [0.0] + [1.0 / base**j for j in range(len(starts) - 1)]
    fed, plays, hint, top, total, reach = (
        np.zeros((rounds, dim)),
        np.zeros((rounds, dim)),
        0.0,
        lipschitz or 0.0,
        0.0,
        0.0,
    )
    grams = [np.exp(-rate * np.abs(times[:, None] - times)) for rate in rates]
    for t in range(rounds):
        hint = max(hint, top)
        z = np.zeros(dim)
        for start, gram in zip(starts, grams, strict=True):
            running = slice(np.searchsorted(elapsed, start), t)  # since the level began
            past = fed[running]
            S = np.sqrt(max(np.sum(past * (gram[running, running] @ past)), 0.0))
            if S > 0 and hint > 0:
                m = erfi_magnitude(S, (past**2).sum(), hint, budget)
                z -= m / S * (gram[t, running] @ past)
        limit = (
            np.inf
            if lipschitz and radius is None
            else radius
            if radius
            else radius_scale * np.sqrt(reach)
        )
        size = np.linalg.norm(z)
        plays[t] = z if size <= limit else z * limit / size
        g = gradients[t]
        length = np.linalg.norm(g)
        clipped = g if lipschitz or length <= top else g * top / length
        if size > limit:
            n = z / size
            clipped = clipped - min(0.0, clipped @ n) * n
        fed[t] = clipped
        if not lipschitz:
            top, total = max(top, length), total + length
            reach = max(reach, total / top) if top > 0 else 0.0
    sizes = []
    for start, rate in zip(starts, rates, strict=True):
        own, when = gradients[elapsed >= start], times[elapsed >= start]
        sizes.append(
            np.sqrt(
                max(
                    np.sum((own @ own.T) * np.exp(-rate * np.abs(when[:, None] - when[None, :]))),
                    0.0,
                )
            )
        )
    return plays, np.array(sizes)


def vaw(gram, y, ridge):
    """Kernel VAW: ŷ_t = k_t'(K_t + λI)⁻¹[y_1..y_{t−1}, 0], the matrix inverted anew each round; y
    (T, d).
    """
    forecasts = np.zeros_like(y)
    for t in range(len(y)):
        padded = np.vstack([y[:t], np.zeros((1, y.shape[1]))])
        forecasts[t] = gram[t, : t + 1] @ np.linalg.solve(
            gram[: t + 1, : t + 1] + ridge * np.eye(t + 1), padded
        )
    return forecasts


def strongly_convex(phi, gradient, beta, ridge, project):
    """Theorem sc-regret literally, in an explicit feature space (rows φ(t)): W ← W − G Σ⁻¹,
    projected in the norm of Σ.
    """
    rounds, size = phi.shape
    plays, W, sigma = [], None, ridge * np.eye(size)
    for t in range(rounds):
        if W is None:
            W = np.zeros((gradient(t, None).size, size))
        w = W @ phi[t]
        played = project(w)
        direction = np.linalg.solve(sigma, phi[t])
        W = W + np.outer(played - w, direction) / (phi[t] @ direction)
        g = gradient(t, played)
        sigma = sigma + beta * np.outer(phi[t], phi[t])
        W = W - np.outer(g, np.linalg.solve(sigma, phi[t]))
        plays.append(played)
    return np.array(plays)


def exp_concave(phi, gradient, dim, beta, ridge, project):
    """KONS literally on vec(W): A ← A + βG⊗G, W ← W − A⁻¹G, projected in the norm of A through
    project(w, metric of values).
    """
    rounds, size = phi.shape
    W, A, plays = np.zeros(dim * size), ridge * np.eye(dim * size), []
    for t in range(rounds):
        rows = np.kron(np.eye(dim), phi[t])
        w = rows @ W
        cross = np.linalg.solve(A, rows.T)
        metric = rows @ cross
        played = project(w, metric)
        W = W + cross @ np.linalg.solve(metric, played - w)
        G = np.kron(gradient(t, played), phi[t])
        A = A + beta * np.outer(G, G)
        W = W - np.linalg.solve(A, G)
        plays.append(played)
    return np.array(plays)


def directional(gram, gradients, lipschitz, ridge, scale, kernel_bound):
    """Proposition full-matrix-bound from the gradients' Gram matrix; (plays, V after the run)."""
    rounds, dim = gradients.shape
    top = lipschitz * np.sqrt(kernel_bound)
    rho = ridge + top**2
    Kg = (gradients @ gradients.T) * gram
    plays, V = np.zeros((rounds, dim)), 4.0
    for t in range(rounds):
        K = Kg[:t, :t]
        c = np.linalg.solve(rho * np.eye(t) + K, np.ones(t))
        N = np.sqrt(max(0.0, float(np.ones(t) @ K @ c)))
        if N > 0:
            alpha = scale * top / (np.sqrt(V) * np.log(V) ** 2)
            x = alpha * np.expm1(N**2 / (36 * V) if N <= 6 * V else N / 3 - V)
            plays[t] = -x / N * ((c * gram[t, :t]) @ gradients[:t])
        q = Kg[:t, t]
        V += (Kg[t, t] - q @ np.linalg.solve(rho * np.eye(t) + K, q)) / rho
    return plays, V


def project_in_metric(domain, w, metric):
    """argmin of (x − w)'metric⁻¹(x − w) over a ball by its multiplier, over a polyhedron by trying
    every set of active sides.
    """
    dim, ones = w.size, np.ones(w.size)
    match domain:
        case Ball():
            c = np.zeros(dim) if domain.center is None else np.asarray(domain.center)

            def at(mu):
                return np.linalg.solve(np.eye(dim) + mu * metric, w - c)

            if np.linalg.norm(w - c) <= domain.radius:
                return w
            top = 1.0
            while np.linalg.norm(at(top)) > domain.radius:
                top *= 2.0
            return c + at(
                brentq(
                    lambda mu: np.linalg.norm(at(mu)) - domain.radius,
                    0.0,
                    top,
                    xtol=1e-300,
                    rtol=1e-15,
                )
            )
        case Simplex():
            sides, limits, planes, values = (
                -np.eye(dim),
                np.zeros(dim),
                ones[None, :],
                np.array([domain.total]),
            )
        case Box():
            sides = np.vstack([-np.eye(dim), np.eye(dim)])
            limits, planes, values = (
                np.append(-ones * domain.low, ones * domain.high),
                np.zeros((0, dim)),
                np.zeros(0),
            )
        case HalfSpace():
            sides, limits = np.array([domain.normal]), np.array([domain.offset])
            planes, values = np.zeros((0, dim)), np.zeros(0)
    best, least = None, np.inf
    for size in range(min(dim - len(planes), len(sides)) + 1):
        for active in map(list, itertools.combinations(range(len(sides)), size)):
            if len({side % dim for side in active}) < size:  # of a box, both sides of a coordinate
                continue
            C, c = np.vstack([sides[active], planes]), np.append(limits[active], values)
            multipliers = np.linalg.solve(C @ metric @ C.T, c - C @ w) if len(C) else np.zeros(0)
            x = w + metric @ C.T @ multipliers
            distance = multipliers @ C @ metric @ C.T @ multipliers
            if (sides @ x <= limits + 1e-10 * (1.0 + np.abs(w).max())).all() and distance < least:
                best, least = x, distance
    return best
