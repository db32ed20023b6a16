"""Least squares with forgetting on device fleets, by upper triangles; see `_autoregression`."""

from collections.abc import Callable, Sequence
from functools import reduce

from stillpoint.fleet.gpu.series.machine import Machine, Whole
from stillpoint.fleet.gpu.series.plan import Plan, RegressionPlan, entry
from stillpoint.fleet.gpu.series.values import Limits, Ring
from stillpoint.fleet.gpu.trace import Number, dot, inverse, larger, where
from stillpoint.series._autoregression import WIND_UP


class Covariance:
    """A covariance C, read once."""

    def __init__(self, m: Machine, name: str, n: int) -> None:
        self._m, self._name, self._n = m, name, n
        self._entries = m.row(name)

    def times(self, z: Sequence[Number]) -> list[Number]:
        """Cz."""
        n = self._n
        return [dot([self._entries[entry(n, i, j)] for j in range(n)], z) for i in range(n)]

    def largest(self) -> Number:
        """The largest variance."""
        return reduce(larger, [self._entries[entry(self._n, i, i)] for i in range(self._n)])

    def absorb(self, g: Sequence[Number], over: Number, scale: Number, more: Number = 0.0) -> None:
        """C = (C − gg'·over)·scale, and `more` on the diagonal."""
        for i in range(self._n):
            less = g[i] * over
            for j in range(i, self._n):
                k = entry(self._n, i, j)
                value = self._entries[k] - less * g[j]
                if scale is not None:
                    value = value * scale
                self._m.put(self._name, value + more if i == j else value, k)


def regressors(
    r: RegressionPlan, back: Callable[[int], Number], season: list[Number]
) -> list[Number]:
    """Those of a round: back(i) is the value i rounds before it, season[i] the part i before."""
    d = r.difference
    z = [back(lag) - back(lag + d) if d else back(lag) for lag in r.lags]
    return z + season[: r.seasonal]


def learn(
    m: Machine, q: Plan, a: int, ring: Ring, value: Number, season: list[Number], seen: Number
) -> None:
    """Regression a learns from the value of the round that the ring counts back from."""
    r, one = q.regressions[a], 1.0
    z = regressors(r, lambda lag: ring[lag], season)
    z.append(0.0 * value + one)
    theta, C = m.row(f"theta{a}"), Covariance(m, f"spread{a}", r.size)
    g = C.times(z)
    error = value - dot(theta, z)
    if r.difference:
        error = error - ring[r.difference]
    winds = C.largest() > WIND_UP
    rate = where(winds, 1.0, r.rate)
    over = where(seen, inverse(larger(dot(g, z), 0.0) + rate), 0.0)
    step = error * over
    m.fill(f"theta{a}", [x + y * step for x, y in zip(theta, g, strict=True)])
    C.absorb(g, over, where(seen & (rate < 1.0), 1.0 / r.rate, 1.0))


def forecast(
    m: Machine, q: Plan, a: int, back: Callable[[int], Number], season: list[Number], range_: Limits
) -> Number:
    """What regression a forecasts for a round, given values and seasonal parts before it."""
    r = q.regressions[a]
    z, theta = regressors(r, back, season), m.row(f"theta{a}")
    v = dot(theta[:-1], z) + theta[-1]
    if r.difference:
        v = v + back(r.difference)
    return range_.keep(v)


def path(m: Machine, q: Plan, a: int, now: Whole, range_: Limits) -> None:
    """Let regression a forecast the rounds up to the second knot, one after another.

    What it says is written into the ring, where the truth will overwrite it.
    """
    r, theta = q.regressions[a], m.row(f"theta{a}")

    def step(h: Whole) -> None:
        ring = Ring(m, q, now + h)
        season = [m.get("season", h + (2 - i)) for i in range(r.seasonal)]
        z = regressors(r, lambda lag: ring[lag], season)
        v = dot(theta[:-1], z) + theta[-1]
        if r.difference:
            v = v + ring[r.difference]
        ring[0] = range_.keep(v)

    m.walk(q.far, step)
