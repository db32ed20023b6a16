"""Autoregression by recursive least squares with forgetting, iterated for longer horizons."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.lab.series.data import Series
from stillpoint.lab.series.scoring import QUANTILE, Outcome, Rounds, normal_band

FORGETTING = (1.0, 0.9999, 0.999, 0.99)
_PRIOR = 0.01  # precision of every coefficient, in units of the noise
_LARGEST = 1e6  # a variance above it: forgetting pauses, or it would grow for ever


@dataclass(frozen=True)
class AutoRegression:
    r"""Least squares on lags 1, 2, 3 and, for each season m, m and m + 1, and twice the first.

    With features $z_t$ (the lags and a constant) and forgetting $\lambda$,

    $$S = \lambda + z_t^\top C z_t, \quad
    \theta \mathrel{+}= C z_t (y_t - \theta^\top z_t) / S, \quad
    C \leftarrow (C - C z_t z_t^\top C / S) / \lambda .$$

    Values are measured from the first one, in standard deviations of those before learning starts.
    A missing value counts as its forecast. Intervals are those of a normal: the mean square of past
    errors one step ahead, times the sum of squares of the model's impulse response further ahead.

    Parameters
    ----------
    forgetting
        $\lambda$, above 0 and at most 1.
    """

    forgetting: float = 0.999

    def __call__(self, series: Series, at: Rounds) -> Outcome:
        """Learn from round to round, and iterate from each origin."""
        y, horizon = series.y, series.horizon
        lags = _lags(series.seasons)
        start, longest = perf_counter(), int(lags[-1])
        early = series.filled[: longest + 20]
        base, unit = float(early[0]), float(early.std()) or 1.0
        u = np.empty(y.size)
        one = np.empty(y.size)
        theta, C = np.zeros(lags.size + 1), np.eye(lags.size + 1) / _PRIOR
        paths, radius = np.empty((at.size, horizon)), np.empty((at.size, horizon))
        z, square, errors = np.ones(lags.size + 1), 0.0, 0
        low = high = 0.0
        todo, aside = 0, 0.0
        for t in range(y.size):
            if todo < at.size and t == at[todo]:
                mark = perf_counter()
                rms = np.sqrt(square / max(errors, 1))
                path = _iterate(u[:t], theta, lags, horizon, low, high)
                paths[todo] = base + unit * path
                radius[todo] = QUANTILE * unit * rms * _spread(theta, lags, horizon)
                todo, aside = todo + 1, aside + perf_counter() - mark
            ready = t >= longest
            if ready:
                z[:-1] = u[t - lags]
                guess = min(max(float(theta @ z), 2 * low - high), 2 * high - low)
            else:
                guess = u[t - 1] if t else 0.0
            one[t] = base + unit * guess
            if np.isnan(y[t]):
                u[t] = guess
                continue
            u[t] = (y[t] - base) / unit
            low, high = min(low, u[t]), max(high, u[t])
            if not ready:
                continue
            square, errors = square + (u[t] - guess) ** 2, errors + 1
            rate = self.forgetting if C.diagonal().max() < _LARGEST else 1.0
            g = C @ z
            S = rate + z @ g
            theta = theta + g * ((u[t] - theta @ z) / S)
            C = (C - np.outer(g, g) / S) / rate
        seconds = perf_counter() - start - aside
        return Outcome(
            one, paths, normal_band(y, one), (paths - radius, paths + radius), seconds, y.size
        )


def _lags(seasons: tuple[int, ...]) -> Rounds:
    lags = {1, 2, 3}.union(*({m, m + 1} for m in seasons))
    return np.array(sorted(lags | ({2 * seasons[0]} if seasons else set())), dtype=np.int64)


def _iterate(u: Array, theta: Array, lags: Rounds, horizon: int, low: float, high: float) -> Array:
    """Forecasts fed back as values, within the range so far widened by itself on both sides."""
    t = u.size
    if t < lags[-1]:
        return np.full(horizon, u[-1] if t else 0.0)
    values = np.concatenate([u, np.empty(horizon)])
    for s in range(t, t + horizon):
        value = float(theta[:-1] @ values[s - lags]) + theta[-1]
        values[s] = min(max(value, 2 * low - high), 2 * high - low)
    return values[t:]


def _spread(theta: Array, lags: Rounds, horizon: int) -> Array:
    r"""$\sqrt{\sum_{j<h} \psi_j^2}$ for h = 1 … horizon, where $\psi$ is the impulse response."""
    longest = int(lags[-1])
    psi = np.zeros(longest + horizon)
    psi[longest] = 1.0
    for j in range(longest + 1, longest + horizon):
        psi[j] = np.clip(theta[:-1] @ psi[j - lags], -1e6, 1e6)
    spread: Array = np.sqrt(np.cumsum(np.square(psi[longest:])))
    return spread
