"""Slow twins: each algorithm written out from its formula, with full matrices and no cleverness."""

import numpy as np


def psi(S, V, h, scale, count=None):
    """Algorithm 2's magnitude, formula F1 (or F2 when count = A_t is given), straight from the definition."""
    alpha = scale * h / (np.sqrt(V) * np.log(V / h**2) ** 2) if count is None else scale / (count * np.log(count) ** 2)
    exponent = S**2 / (36 * V) if S <= 6 * V / h else S / (3 * h) - V / h**2
    return alpha * np.expm1(exponent)


def algorithm_2(gram, gradients, lipschitz, scale, kernel_bound):
    """Plays of Algorithm 2 (F1) on given gradients, from the Gram matrix alone."""
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
    """Formula F3 on given gradients: hints, clipping and (artificial) balls in R^d, then F2 in the RKHS; (plays, radii)."""
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
            ratios = [sizes[: k + 1].sum() / sizes[: k + 1].max() for k in range(t) if sizes[: k + 1].max() > 0]
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
    """Algorithm 2 run in R^{dT} on stacked gradients, as in Jacobsen & Orabona (2024): play the t-th block."""

    def __init__(self, dim, rounds, lipschitz, scale):
        self.dim, self.h, self.scale = dim, lipschitz, scale
        self.total = np.zeros(dim * rounds)
        self.V = 4 * lipschitz**2
        self.t = 0

    def predict(self):
        S = np.linalg.norm(self.total)
        w = -psi(S, self.V, self.h, self.scale) / S * self.total if S > 0 else np.zeros_like(self.total)
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
