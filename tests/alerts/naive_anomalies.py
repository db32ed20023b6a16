"""Anomalies line by line: whole lists, ranks by counting, the tail by its formula."""

import math

import numpy as np


def by_rank(past, x):
    return (1 + np.sum(np.asarray(past) >= x)) / (1 + len(past))


def in_the_tail(past, x):
    """By rank, or among the largest max(10, n/100) by a Pareto tail with what they leave open."""
    ordered, n = np.sort(past), len(past)
    k = max(10, n // 100)
    if n <= k or x <= ordered[n - 1 - k] or ordered[n - 1 - k] == 0:
        return by_rank(past, x)
    edge = ordered[n - 1 - k]
    total = sum(math.log(each / edge) for each in ordered[n - k :])
    if total == 0:
        return by_rank(past, x)
    return (k + 1) / (n + 1) * (1 + math.log(x / edge) / total) ** -k


class LongRun:
    """The mean of all values, by phase of the season, and the deviations from it."""

    def __init__(self, period):
        self.period, self.level, self.n, self.d = period, 0.0, 0, []
        self.season, self.counts = np.zeros(period), np.zeros(period)

    def stretch(self):
        return abs(np.mean(self.d[-10:])) if len(self.d) >= 10 else None

    def learn(self, y, row):
        phase = row % self.period
        d = y - self.level - self.season[phase] if self.n else 0.0
        self.level = self.level + d / (self.n + 1) if self.n else y
        if self.n and self.period > 1:
            self.counts[phase] += 1
            self.season[phase] += d / (self.counts[phase] + 0.5)
        self.n += 1
        self.d.append(d)


def detect(y, forecasts, rate, period=1):
    """p of each row, NaN where it is missing; the rows that are exceedances, and the alarms."""
    errors, stretches, run = np.empty(0), np.empty(0), LongRun(period)
    ps, exceedances, alarms, values = [], [], [], 0
    for row, (now, forecast) in enumerate(zip(y, forecasts, strict=True)):
        if np.isnan(now):
            ps.append(math.nan)
            continue
        p1 = p2 = 1.0
        b = run.stretch()
        if not np.isnan(forecast):
            p1 = in_the_tail(errors[-5000:], abs(now - forecast))
            errors = np.append(errors, abs(now - forecast))
        if b is not None:
            p2 = by_rank(stretches[-5000:], b)
            stretches = np.append(stretches, b)
        run.learn(now, row)
        values += 1
        product = p1 * p2
        ps.append(min(product * (1 - math.log(product)), 1.0))
        if ps[-1] <= rate:
            quiet = not exceedances or row - exceedances[-1] > min(100, int(0.1 / rate))
            exceedances.append(row)
            limit = rate * values + 3 * math.sqrt(rate * (1 - rate) * (values + 100))
            if quiet and len(alarms) <= limit:
                alarms.append(row)
    return np.array(ps), exceedances, alarms
