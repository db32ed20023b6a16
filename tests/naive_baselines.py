"""Slow twins of the baselines: each written out from its formula over all past rounds, with no
running state where avoidable.

Each takes (gradient, rounds, dim, ...) and returns the plays and gradients; gradient(t, w) answers
the play of round t = 1, 2, …
"""

import numpy as np


def drive(play, gradient, rounds, dim):
    """Call play(past gradients, past plays) for each round."""
    plays, gradients = np.zeros((rounds, dim)), np.zeros((rounds, dim))
    for t in range(rounds):
        plays[t] = play(gradients[:t], plays[:t])
        gradients[t] = gradient(t + 1, plays[t].copy())
    return plays, gradients


def ball(x, radius):
    size = np.linalg.norm(x)
    return x if size <= radius else x * radius / size


def ogd(gradient, rounds, dim, step, schedule, radius):
    x = np.zeros(dim)

    def play(g, w):
        nonlocal x
        if len(g) > 0:
            V = (g**2).sum()
            eta = {
                "constant": step,
                "sqrt": step / len(g) ** 0.5,
                "scale-free": step / V**0.5 if V else 0.0,
            }[schedule]
            x = ball(x - eta * g[-1], radius)
        return x

    return drive(play, gradient, rounds, dim)


def ader_parts(horizon, G, D):
    n = int(np.ceil(0.5 * np.log2(1 + 4 * horizon / 7))) + 1
    i = np.arange(1, n + 1)
    return 2.0 ** (i - 1) * D / G * np.sqrt(7 / (2 * horizon)), (1 + 1 / n) / (i * (i + 1))


def ader(gradient, rounds, dim, horizon, G, radius):
    D = 2 * radius
    steps, prior = ader_parts(horizon, G, D)
    alpha = np.sqrt(2 / (horizon * G**2 * D**2))

    x, weights = np.zeros((len(steps), dim)), prior.copy()

    def play(g, w):
        nonlocal x, weights
        if len(g) > 0:
            weights = weights * np.exp(-alpha * (x - w[-1]) @ g[-1])
            weights /= weights.sum()
            x = np.array([ball(x[i] - steps[i] * g[-1], radius) for i in range(len(steps))])
        return weights @ x

    return drive(play, gradient, rounds, dim)


def plain_ader(losses, dim, horizon, G, radius):
    """Algorithms 1 and 2 on losses with value and gradient; c = GD."""
    D = 2 * radius
    steps, weights = ader_parts(horizon, G, D)
    x, plays = np.zeros((len(steps), dim)), []
    alpha = np.sqrt(8 / horizon) / (G * D)
    for loss in losses:
        plays.append(weights @ x)
        weights = weights * np.exp([-alpha * loss.value(each) for each in x])
        weights /= weights.sum()
        x = np.array(
            [
                ball(each - eta * loss.gradient(each), radius)
                for each, eta in zip(x, steps, strict=True)
            ]
        )
    return np.array(plays)


def kt(gradient, rounds, dim, G, scale):
    def play(g, w):
        return -g.sum(axis=0) / G / (len(g) + 1) * (scale - (g * w).sum() / G)

    return drive(play, gradient, rounds, dim)


def cocob(gradient, rounds, dim, L, scale):
    def play(g, w):
        sigmoid = 1 / (1 + np.exp(2 * g.sum(axis=0) / (L + np.abs(g).sum(axis=0) + L)))
        return (2 * sigmoid - 1) / L * (scale * L - (g * w).sum(axis=0))

    return drive(play, gradient, rounds, dim)


def cocob_backprop(gradient, rounds, dim, alpha):
    def play(g, w):
        reward = np.zeros(dim)
        for s in range(len(g)):
            reward = np.maximum(reward - g[s] * w[s], 0.0)
        L, A = np.abs(g).max(axis=0, initial=0.0), np.abs(g).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(-g.sum(axis=0) / (L * np.maximum(A + L, alpha * L)) * (L + reward))

    return drive(play, gradient, rounds, dim)


def free_grad_play(g, G, scale):
    """FreeGrad's play after the gradients g, shape (t, dim)."""
    total = g.sum(axis=0)
    S, V = np.linalg.norm(total), G**2 + (g**2).sum()
    factor = (2 * V + G * S) * G**2 / (2 * (V + G * S) ** 2 * np.sqrt(V))
    return -scale * total * factor * np.exp(S**2 / (2 * V + 2 * G * S))


def free_grad(gradient, rounds, dim, G, scale):
    return drive(lambda g, w: free_grad_play(g, G, scale), gradient, rounds, dim)


def haar_matrix(T):
    """The whole dictionary, (T, T), a feature a column."""
    columns = [np.ones(T)]
    length = 2
    while length <= T:
        for start in range(0, T, length):
            h = np.zeros(T)
            h[start : start + length // 2], h[start + length // 2 : start + length] = 1.0, -1.0
            columns.append(h)
        length *= 2
    return np.stack(columns, axis=1)


def sparse_haar(gradient, rounds, dim, G, first, scale):
    """One FreeGrad a column, dictionaries of length first, 2·first, …"""

    def play(g, w):
        start, T = 0, first
        while start + T <= len(g):
            start, T = start + T, 2 * T
        H, past, now = haar_matrix(T), g[start:], len(g) - start
        return sum(
            H[now, n] * free_grad_play(past * H[: len(past), n : n + 1], G, scale / T)
            for n in np.flatnonzero(H[now])
        )

    return drive(play, gradient, rounds, dim)


def discounted_ftrl(gradient, rounds, dim, gamma, r, radius):
    def play(g, w):
        age = gamma ** np.arange(len(g) - 1, -1, -1.0)[:, None]
        root = np.sqrt(((age * g) ** 2).sum())
        return ball(-r * (age * g).sum(axis=0) / root, radius) if root else np.zeros(dim)

    return drive(play, gradient, rounds, dim)


def shrunk(losses, first_hint):
    """Losses with each round's range shrunk to the largest before it, and those hints."""
    spread = np.ptp(losses, axis=1)
    hints = np.maximum.accumulate(np.concatenate([[first_hint], spread[:-1]]))
    return losses * np.minimum(1.0, hints / np.maximum(spread, 1e-300))[:, None], hints


def hedge_weights(losses, prior, first_hint):
    """Hedge's weights in each round from all (unshrunk) losses, (T, N)."""
    fed, hints = shrunk(losses, first_hint)
    rows = []
    for t in range(len(losses)):
        variance = (np.ptp(fed[:t], axis=1) ** 2).sum() + hints[t] ** 2
        eta = 2 * np.sqrt(np.log(len(prior))) / np.sqrt(variance) if variance else 0.0
        weights = prior * np.exp(-eta * (fed[:t].sum(axis=0) - fed[:t].sum(axis=0).min()))
        rows.append(weights / weights.sum())
    return np.array(rows)


def normal_hedge_weights(losses, prior, first_hint):
    """AdaNormalHedge's weights in each round from all losses, (T, N)."""
    fed, hints = shrunk(losses, first_hint)
    R, C, rows = np.zeros(len(prior)), np.zeros(len(prior)), []
    for t in range(len(losses)):
        p = prior
        if hints[t] > 0:
            r, c = R / hints[t], C / hints[t] + 1
            w = (
                prior
                * (
                    np.exp(np.maximum(r + 1, 0) ** 2 / (3 * c))
                    - np.exp(np.maximum(r - 1, 0) ** 2 / (3 * c))
                )
                / 2
            )
            p = w / w.sum() if w.sum() > 0 else prior
        rows.append(p)
        regret = p @ fed[t] - fed[t]
        R, C = R + regret, C + np.abs(regret)
    return np.array(rows)


def optimistic_hedge_weights(losses, prior, first_hint):
    """Optimistic Hedge's weights in each round from all losses, (T, N)."""
    fed, hints = shrunk(losses, first_hint)
    # nothing is learnt before there is a hint
    fed = np.where(hints[:, None] > 0, fed, 0.0)
    guesses = np.concatenate([np.zeros((1, len(prior))), fed[:-1]])
    rows = []
    for t in range(len(losses)):
        variance = (np.ptp(fed[:t] - guesses[:t], axis=1) ** 2).sum() + 4 * hints[t] ** 2
        eta = 2 * np.sqrt(np.log(len(prior))) / np.sqrt(variance) if variance else 0.0
        total = fed[:t].sum(axis=0) + guesses[t]
        weights = prior * np.exp(-eta * (total - total.min()))
        rows.append(weights / weights.sum())
    return np.array(rows)


def fixed_range(losses, bound):
    return losses * np.minimum(1.0, bound / np.maximum(np.ptp(losses, axis=1), 1e-300))[:, None]


def prod_weights(losses, prior, bound, rate):
    w, rows = prior.copy(), []
    for loss in fixed_range(losses, bound):
        p = w / w.sum()
        rows.append(p)
        w = w * (1 + rate * (p @ loss - loss) / bound)
    return np.array(rows)


def adapt_ml_prod_weights(losses, prior, bound):
    w, squares, rows, log = prior.copy(), np.zeros(len(prior)), [], np.log(len(prior))
    for loss in fixed_range(losses, bound):
        eta = np.minimum(0.5, np.sqrt(log / (1 + squares)))
        p = eta * w / (eta * w).sum()
        rows.append(p)
        r = (p @ loss - loss) / bound
        squares = squares + r**2
        w = (w * (1 + eta * r)) ** (np.minimum(0.5, np.sqrt(log / (1 + squares))) / eta)
    return np.array(rows)


def msmwc_weights(losses, prior, bound, rates):
    """Mirror descent with the weighted entropy, its multiplier by halving."""
    eta = np.tile(2.0 ** -np.arange(rates) / (64 * bound), len(prior))
    w = np.repeat(prior, rates) * eta**2
    w, guess, rows = w / w.sum(), np.zeros(len(eta)), []

    def mirror(w, loss):
        low, high = -1e6 * bound, 1e6 * bound
        for _ in range(200):
            middle = (low + high) / 2
            with np.errstate(over="ignore"):
                above = (w * np.exp(-eta * (loss + middle))).sum() > 1
            low, high = (middle, high) if above else (low, middle)
        return w * np.exp(-eta * (loss + high))

    for loss in fixed_range(losses, bound):
        p = mirror(w, guess)
        rows.append(p.reshape(-1, rates).sum(axis=1))
        own = np.repeat(loss - rows[-1] @ loss, rates)
        w = mirror(w, own + 32 * eta * (own - guess) ** 2)
        guess = own
    return np.array(rows)


def ogd_star(u, y, steps, radius):
    """Total regret of OGD with the best step, 1-d absolute loss, all steps side by side."""
    w, total = np.zeros_like(steps), np.zeros_like(steps)
    for v in y:
        total += np.abs(w - v)
        w = np.clip(w - steps * np.sign(w - v), -radius, radius)
    return total.min() - np.abs(u - y).sum()


def vector_ogd_star(y, steps, radius):
    """Totals of OGD with each step, loss ‖w − y‖."""
    totals = []
    for step in steps:
        w, total = np.zeros(y.shape[1]), 0.0
        for v in y:
            distance = np.linalg.norm(w - v)
            total += distance
            w = ball(w - step * (w - v) / distance if distance else w, radius)
        totals.append(total)
    return np.array(totals)
