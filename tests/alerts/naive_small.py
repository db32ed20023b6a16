"""Anomalies with a small memory as a plain loop."""

import math

from stillpoint.alerts._random import random

LARGEST, SAMPLE = 64, 128


class Ranks:
    """The largest numbers, and a sample of all, whatever they are."""

    def __init__(self):
        self.largest, self.sample, self.n = [], [], 0

    def add(self, x):
        place = int(random(self.n) * (self.n + 1))
        if self.n < SAMPLE:
            self.sample.append(x)
        elif place < SAMPLE:
            self.sample[place] = x
        self.largest = sorted([*self.largest, x])[-LARGEST:]
        self.n += 1

    def share(self, x):
        if self.n <= SAMPLE:
            return (1 + sum(one >= x for one in self.sample)) / (1 + self.n)
        larger = sum(one >= x for one in self.largest)
        if larger < LARGEST:
            return (1 + larger) / (1 + self.n)
        others = [one for one in self.sample if one <= self.largest[0]]
        part = (1 + sum(one >= x for one in others)) / (1 + len(others))
        return (LARGEST + (self.n - LARGEST + 1) * part) / (1 + self.n)

    def tail(self, x):
        k = min(max(10, self.n // 100), LARGEST - 1)
        ordered = sorted(self.largest, reverse=True)
        if self.n <= k or not x > ordered[k] > 0.0:
            return self.share(x)
        total = sum(math.log(one / ordered[k]) for one in ordered[:k])
        if total <= 0.0:
            return self.share(x)
        return (k + 1) / (self.n + 1) * (1.0 + math.log(x / ordered[k]) / total) ** -k

    def quantile(self, rate):
        over = [x for x in [*self.largest, *self.sample] if self.share(x) > rate]
        return max(over) if 1.0 / (1.0 + self.n) <= rate else math.inf


class NaiveSmall:
    """One detector; `update` returns (p, p₁, p₂, lo and hi if it may be an alarm, else None)."""

    def __init__(self, rate, period=1):
        self.rate, self.period = rate, period
        self.errors, self.stretches = Ranks(), Ranks()
        self.offs, self.level, self.row, self.last = [], 0.0, -1, None
        self.season, self.seen = [0.0] * period, [0] * period

    def update(self, y, forecast):
        self.row += 1
        if math.isnan(y):
            return math.nan, math.nan, math.nan, None
        e, p1, far, p2 = abs(y - forecast), 1.0, 1.0, 1.0
        if not math.isnan(e):
            p1, far = self.errors.share(e), self.errors.tail(e)
        b = None
        if len(self.offs) >= 10:
            b = abs(sum(d / 10 for d in self.offs[-10:]))
            p2 = self.stretches.share(b)
        product = max(far * p2, 1e-300)
        p, ends = min(product * (1.0 - math.log(product)), 1.0), None
        if p <= self.rate:
            if self.last is None or self.row - self.last > min(100, int(0.1 / self.rate)):
                reach = math.inf if math.isnan(e) else self.errors.quantile(self.rate)
                ends = (-math.inf, math.inf)
                if not math.isnan(e):
                    ends = forecast - reach, forecast + reach
            self.last = self.row
        if not math.isnan(e):
            self.errors.add(e)
        if b is not None:
            self.stretches.add(b)
        phase, n = self.row % self.period, len(self.offs)
        d = y - self.level - self.season[phase] if n else 0.0
        self.offs.append(d)
        if n == 0:
            self.level = y
        else:
            self.level += d / (n + 1)
            if self.period > 1:
                self.seen[phase] += 1
                self.season[phase] += d / (self.seen[phase] + 0.5)
        return p, p1, p2, ends
