"""Changes line by line: whole lists, batch ridge regression at every row, ranks by counting."""

import numpy as np

KINDS = ["level up"] * 2 + ["level down"] * 2 + ["wider"] * 2 + ["narrower"] * 2
KINDS += ["level up", "level down"] * 2 + ["season"]
EPS = np.tile([0.2, 0.5], 4)
TILTS = np.sqrt(3.0) * np.array([0.2, -0.2, 0.7, -0.7])
MASK = (1 << 64) - 1


class Random:
    """Numbers in (0, 1) by their index: SplitMix64."""

    def __init__(self):
        self.draws = 0

    def __call__(self):
        self.draws += 1
        z = self.draws * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return (((z ^ z >> 31) >> 12) + 0.5) * 2.0**-52


def harmonics(row, period):
    """Cosines and sines of at most four harmonics; no sine at two rows a cycle."""
    out = []
    for k in range(1, min(int(period / 2), 4) + 1 if period else 1):
        out.append(np.cos(2 * np.pi * k * row / period))
        if 2 * k != period:
            out.append(np.sin(2 * np.pi * k * row / period))
    return out


def plain_of(slow, rows, y):
    """Values less the waves (cycles, cosine, sine) of a longer season."""
    turns = 2 * np.pi * np.multiply.outer(rows, [each[0] for each in slow])
    return y - np.cos(turns) @ [a for _, a, _ in slow] - np.sin(turns) @ [b for *_, b in slow]


def recurs(y):
    """Whether the last value is a fifth of the last 64, others in between."""
    same = [value == y[-1] for value in y[-64:]]
    runs = sum(now and not before for before, now in zip([False, *same], same, strict=False))
    return runs > 1 and 5 * sum(same) >= len(same)


class Reference:
    """Regression on the last three values, season and time, begun with thirty values.

    `past` are the values before; all are taken less the longer season `slow`.
    """

    def __init__(self, rows, y, step, uniform, period, trend, slow, past, idle=0):
        self.period, self.trend, self.slow, self.origin = period, trend, slow, rows[-1] + 1
        plain = plain_of(slow, rows, y)
        self.centre = np.median(plain)
        sizes = np.abs(plain - self.centre)
        scale = 1.4826 * np.median(sizes) or np.sqrt(np.sum(sizes**2) / 29)
        self.scale = np.hypot(scale, step / np.sqrt(12))
        self.y = list(past)
        moves = np.array([self.move(now, step, uniform) for now in y])
        moved = plain - self.centre + moves
        self.v = list(np.clip(moved / self.scale, -3, 3))
        first = [self.row(self.v[:i], rows[i]) for i in range(3, 30)]
        self.precision = np.eye(first[0].size) / 100 + sum(np.outer(z, z) for z in first)
        self.sums = sum(z * v for z, v in zip(first, self.v[3:], strict=True))
        self.precision, self.sums = (x * (1 + idle / 30) for x in (self.precision, self.sums))
        reach, count = step / 2 / self.scale, min(idle, 5000)
        self.r = np.array([((2 * i + 1) / count - 1) * reach for i in range(count)])
        self.season = np.zeros(len(harmonics(0, period)))
        self.instead = self.v[-1]

    def row(self, v, row):
        time = [(row - self.origin) / 30] if self.trend else []
        return np.concatenate([[1.0], v[:-4:-1], harmonics(row, self.period), time])

    def move(self, y, step, uniform):
        self.y.append(y)
        wide = step < self.scale and recurs(self.y)
        return (uniform() - 0.5) * (self.scale if wide else step)

    def rank(self, row, y, step, uniform):
        """(u, 1 − u, κ of the season) of a value that is then learnt; None with few ranks."""
        v = (plain_of(self.slow, row, y) - self.centre + self.move(y, step, uniform)) / self.scale
        choices = [self.v, [*self.v[:-1], self.instead]]
        forecasts = [self.row(c, row) @ np.linalg.solve(self.precision, self.sums) for c in choices]
        if self.instead != self.v[-1] and abs(v - forecasts[1]) < abs(v - forecasts[0]):
            self.v = choices[1]
        z = self.row(self.v, row)
        leverage = z @ np.linalg.solve(self.precision, z)
        S, forecast = 1 + leverage, z @ np.linalg.solve(self.precision, self.sums)
        self.instead = v
        past = np.sort(self.r)
        n, r, answer = past.size, (v - forecast) / np.sqrt(S), None
        learnt = r
        if n >= 30:
            less, same, U = np.sum(past < r), np.sum(past == r), uniform()
            u = (less + U * (same + 1)) / (n + 1)
            waves = np.array(harmonics(row, self.period))
            tilt = waves @ self.season if self.period else 0.0
            if self.period:
                share = 2 / (4 * self.period) * (np.sqrt(3) * (2 * u - 1) - tilt)
                self.season = self.season + share * waves
            up = (n - less - same + (1 - U) * (same + 1)) / (n + 1)
            answer = u, up, np.sqrt(3) * tilt
            learnt = np.clip(r, past[n // 15], past[n - 1 - n // 15])
            if abs(r - learnt) > 2 * (past[n - 1 - n // 15] - past[n // 15]):
                self.instead = forecast
        weight = min(1, 2 * z.size / (n + 30) / leverage) if n >= 30 else 1
        self.precision += weight * np.outer(z, z)
        self.sums += weight * z * (forecast + learnt * np.sqrt(S))
        if row - self.origin + 30 >= self.period:
            self.r = np.append(self.r, r)[-5000:]
        self.v.append(v)
        return answer


def payoffs(down, up, tilt, seasonal):
    x = np.repeat([up, down, 2 * min(up, down), abs(up - down)], 2)
    powers = EPS * np.maximum(x, 1e-15) ** (EPS - 1)
    κ = np.append(TILTS, np.clip(tilt, -2 * np.sqrt(3), 2 * np.sqrt(3)))
    tilts = np.exp(κ * (down - up)) / np.where(κ == 0, 1, np.sinh(κ) / (κ + (κ == 0)))
    return np.append(powers, tilts if seasonal else tilts[:-1])


def detect(y, every, period=0, trend=False, slow=()):
    """Records (row, start, kind, evidence), and M after every row."""
    uniform, found, evidence, step = Random(), [], [], 0.0
    reference, seen, since, M = None, [], 0, 0.0
    bets = 13 if period else 12
    for t, now in enumerate(y):
        if np.isnan(now):
            evidence.append(M)
            continue
        last = seen[-30:]
        if seen and abs(now - y[seen[-1]]) > 1e-12 * (abs(now) + abs(y[seen[-1]])):
            gap = abs(now - y[seen[-1]])
            if step == 0 and since >= 30:
                past, own = y[seen[:-30]], (period, trend, slow)
                reference = Reference(last, y[last], gap, uniform, *own, past, since - 30)
                sums, cusums, begins = np.zeros(bets), np.zeros(bets), np.full(bets, t)
            step = min(step, gap) if step else gap
        seen.append(t)
        since += 1
        M, changed = 0.0, False
        if reference is not None:
            u = reference.rank(t, now, step, uniform)
            if u is None:
                sums, cusums, begins = np.zeros(bets), np.zeros(bets), np.full(bets, t + 1)
            else:
                f = payoffs(*u, bool(period))
                sums, cusums = (1 + sums) * f, np.maximum(0, cusums + np.log(f))
                begins = np.where(cusums > 0, begins, t + 1)
                M = sums.mean()
                changed = M >= 1.5 * every
        evidence.append(M)
        if changed:
            level = np.array([kind.startswith("level") for kind in KINDS[:12]])
            k = np.argmax(sums[:12] * np.where(level, 3, 1))
            k = 12 if period and sums[12] > 0.1 * sums[k] else k
            start = min(begins[k], t)
            found.append((t, start, KINDS[k], M))
            since, reference = sum(i >= start for i in seen), None
        if reference is None and since >= 30 and step > 0:
            last = seen[-30:]
            past = y[seen[:-30]]
            reference = Reference(last, y[last], step, uniform, period, trend, slow, past)
            sums, cusums, begins = np.zeros(bets), np.zeros(bets), np.full(bets, t + 1)
    return found, np.array(evidence)
