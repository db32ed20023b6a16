"""Changes line by line: whole lists, batch ridge regression at every row, ranks by counting."""

import numpy as np

KINDS = ["level up", "level down", "wider", "narrower"]
EPS = np.tile([0.2, 0.5, 0.8], 4)
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


class Reference:
    """Regression on the last three values and harmonics, from first rows or pseudo-targets."""

    def __init__(self, y, harmonics, step, uniform, idle=0):
        moved = [(uniform() - 0.5) * step for _ in y]
        self.centre = np.mean(y)
        moved = np.asarray(y) - self.centre + moved
        self.scale = np.std(moved, ddof=1)
        self.v = list(moved / self.scale)
        rows = [self.row(self.v[:i], harmonics[i]) for i in range(3, 30)]
        self.precision = np.eye(rows[0].size) / 100 + sum(np.outer(z, z) for z in rows)
        self.sums = sum(z * v for z, v in zip(rows, self.v[3:], strict=True))
        self.precision, self.sums = (x * (1 + idle / 30) for x in (self.precision, self.sums))
        reach = step / 2 / self.scale
        self.r = [((2 * i + 1) / min(idle, 5000) - 1) * reach for i in range(min(idle, 5000))]

    @staticmethod
    def row(v, harmonics):
        return np.concatenate([[1.0], v[:-4:-1], harmonics])

    def rank(self, y, harmonics, move, uniform):
        """(u, 1 − u) of a value that is then learnt; None while there are few ranks."""
        v = (y - self.centre + move) / self.scale
        z = self.row(self.v, harmonics)
        S = 1 + z @ np.linalg.solve(self.precision, z)
        forecast = z @ np.linalg.solve(self.precision, self.sums)
        past = np.sort(self.r[-5000:])
        n, r, answer = past.size, (v - forecast) / np.sqrt(S), None
        learnt = r
        if n >= 20:
            less, same, U = np.sum(past < r), np.sum(past == r), uniform()
            up = n - less - same + (1 - U) * (same + 1)
            answer = (less + U * (same + 1)) / (n + 1), up / (n + 1)
            learnt = np.clip(r, past[n // 50], past[n - 1 - n // 50])
        self.precision += np.outer(z, z)
        self.sums += z * (forecast + learnt * np.sqrt(S))
        self.r.append(r)
        self.v.append(v)
        return answer


def detect(y, every, harmonics=None, seasonal=None):
    """Records (row, start, kind, before, after, evidence), and M after every row."""
    harmonics = np.empty((len(y), 0)) if harmonics is None else harmonics
    value = np.asarray(y) - (0 if seasonal is None else seasonal)
    uniform, found, evidence, step = Random(), [], [], 0.0
    rows = []  # of the recent values since the last change, and then of all of them
    reference, first, seen, idle, M = None, 0, [], 0, 0.0
    for t, now in enumerate(y):
        if np.isnan(now):
            evidence.append(M)
            continue
        if seen and abs(now - y[seen[-1]]) > 1e-12 * (abs(now) + abs(y[seen[-1]])):
            gap = abs(now - y[seen[-1]])
            if step == 0 and len(rows) >= 30:
                last = rows[-30:]
                reference = Reference(y[last], harmonics[last], gap, uniform, idle)
                sums, cusums, begins = np.zeros(12), np.zeros(12), np.full(12, t)
            step = min(step, gap) if step else gap
        seen.append(t)
        M, changed = 0.0, False
        if reference is not None:
            move = (uniform() - 0.5) * step
            u = reference.rank(now, harmonics[t], move, uniform)
            if u is None:
                sums, cusums, begins = np.zeros(12), np.zeros(12), np.full(12, t + 1)
            else:
                down, up = u
                x = np.repeat([up, down, 2 * min(up, down), abs(up - down)], 3)
                f = EPS * np.maximum(x, 1e-15) ** (EPS - 1)
                sums, cusums = (1 + sums) * f, np.maximum(0, cusums + np.log(f))
                begins = np.where(cusums > 0, begins, t + 1)
                M = sums.mean()
                changed = M >= every
        evidence.append(M)
        rows.append(t)
        idle += reference is None and len(rows) > 30
        if changed:
            k = np.argmax(sums)
            start = min(begins[k], t)
            before = [i for i in seen if first <= i < begins[k]]
            found.append([t, start, k // 3, before])
            first, reference, idle = start, None, 0
            rows = [i for i in seen if i >= start][-30:]
        if reference is None and len(rows) >= 30 and step > 0:
            reference = Reference(y[rows[-30:]], harmonics[rows[-30:]], step, uniform)
        if found and t <= found[-1][0] + 50:
            found[-1][4:] = [[i for i in seen if i >= first], evidence[found[-1][0]]]

    def size(kind, rows):
        if kind < 2:
            return np.mean(value[rows])
        return np.std(value[rows], ddof=1) if len(rows) > 1 else 0.0

    return [
        (t, start, KINDS[kind], size(kind, before), size(kind, after), M)
        for t, start, kind, before, after, M in found
    ], np.array(evidence)
