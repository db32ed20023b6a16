"""Smoothing by phase against a plain loop."""

import math

import numpy as np
import pytest
from series_twins import build, noise, wavy

from stillpoint.series import _phases
from stillpoint.series.layout import Scale
from stillpoint.series.pool import POOLS, Phase, Pool

FULL = POOLS["full"]
SMOOTHERS = (*FULL.phases, Phase(False, 1, 0.05, 0.2, True))


class Smoother:
    """One smoother, phases in dictionaries."""

    def __init__(self, spec, periods, start):
        self.spec, self.periods = spec, periods[: spec.seasons]
        self.level, self.parts = start, [{} for _ in self.periods]
        self.seen = [{} for _ in self.periods]
        self.r = self.last = self.products = self.squares = 0.0

    def at(self, t):
        return sum(
            part.get(math.floor(t % period), 0.0)
            for part, period in zip(self.parts, self.periods, strict=True)
        )

    def forecast(self, t, h):
        memory = self.r**h * self.last if self.spec.memory else 0.0
        return self.level + self.at(t + h - 1) + memory

    def round(self, t, y):
        if math.isnan(y):
            self.last *= self.r
            return
        e = new = y - self.level - self.at(t)
        if self.spec.memory:
            self.products = 0.999 * self.products + e * self.last
            self.squares = 0.999 * self.squares + self.last**2
            new = e - self.r * self.last
            ratio = self.products / self.squares if self.squares > 0.0 else 0.0
            self.r = min(max(ratio, 0.0), 0.999)
        a = max(self.spec.level, 1.0 / (t + 2.0))
        self.level += a * new
        for i, period in enumerate(self.periods):
            phase = math.floor(t % period)
            n = self.seen[i][phase] = self.seen[i].get(phase, 0) + 1
            gain = max(self.spec.phase, 1.0 / (n + (0.5, 2.0)[i]))
            self.parts[i][phase] = self.parts[i].get(phase, 0.0) + gain * (1.0 - a) * new
        self.last = e


@pytest.mark.parametrize(
    "periods",
    [(), (7.0,), (4.0, 12.0), (7.5, 30.4), (365.25 / 30.0,)],
    ids=["none", "one", "two", "two not whole", "one not whole"],
)
def test_smoothing_by_phase_is_the_plain_loop(periods):
    y = np.exp(0.2 * wavy(500, periods))
    y[50 + np.flatnonzero(noise(300) > 1.4)] = np.nan
    y[350:360] = np.nan
    pool = Pool(FULL.filters[:1], FULL.regressions[:1], SMOOTHERS)
    p = build(pool, periods, 12, Scale.of(y[~np.isnan(y)])).phases
    twins = [Smoother(s, periods, math.log(y[0]) if s.log else y[0]) for s in SMOOTHERS]
    ahead, out = np.array([1, 3, 12]), np.empty(3)
    for t, value in enumerate(y):
        for i, twin in enumerate(twins):
            _phases.forecast(i, p, t, ahead, out)
            want = [twin.forecast(t, int(h)) for h in ahead]
            np.testing.assert_allclose(out, want, rtol=0, atol=1e-12)
            twin.round(t, math.log(value) if twin.spec.log else value)
        seen = not math.isnan(value)
        _phases.close_round(value, math.log(value) if seen else 0.0, seen, t, t, p)
    assert np.ptp([twin.level for twin in twins]) > 0.1


def test_phases_of_a_season_that_is_no_whole_number_of_rounds_are_as_many_as_it_begins():
    pool = Pool(FULL.filters[:1], FULL.regressions[:1], SMOOTHERS)
    p = build(pool, (7.5, 30.4), 12, Scale(0.0, 1.0, 0.0, 1.0, True)).phases
    assert p.first.shape[1] == 8
    assert p.second.shape[1] == 31
