"""Effects of features beside a level and seasons that drift: Kalman filters with own covariances.

Where features move a series, its lags are moved by those of other rounds, and autoregressions learn
to distrust them: they lose the level. Here values are

    y_t = level_t + β'B(t) + γ'x_t + noise,

in the RKHS of k(s, t) = 1e4 + q min(s, t) + Σ_j 10 k_j^{-3/2} cos 2πf_j(s − t) + 100⟨x_s, x_t⟩ on
times and features (variances in units of the noise's; β and γ hardly drift). Harvey, Forecasting,
structural time series models and the Kalman filter, 1989, section 7.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.core.arithmetic import dot
from stillpoint.core.jit import njit
from stillpoint.series._gains import absorb, times

LEVEL, SEASON, EFFECT = 1e4, 10.0, 100.0  # prior variances; the season's times k^{-3/2}
SLOW = 1e-5  # drift of effects a round, and of seasons times k^{-3/2}


class Effects(NamedTuple):
    """Filters of one series; none where it has no features."""

    logs: np.ndarray  # (E,) ints: whether it filters logarithms
    drifts: np.ndarray  # (E, P): variances that are added every round
    means: np.ndarray  # (E, P): level, harmonics, effects of the features
    covariances: np.ndarray  # (E, P, P)


@njit(cache=True)
def regressors(row: np.ndarray, features: np.ndarray, z: np.ndarray) -> None:
    """Fill z (P,): 1, as many harmonics as there are, the features."""
    n = z.size - features.size
    z[0] = 1.0
    for j in range(1, n):
        z[j] = row[j - 1]
    for i in range(features.size):
        z[n + i] = features[i]


@njit(cache=True)
def forecast(
    mean: np.ndarray,
    rows: np.ndarray,
    features: np.ndarray,
    now: int,
    knots: np.ndarray,
    z: np.ndarray,
    out: np.ndarray,
) -> None:
    """out[i] = the forecast of time now + knots[i] − 1; features[h] are of time now + h."""
    z = z[: mean.size]
    for k in range(knots.size):
        h = knots[k] - 1
        regressors(rows[(now + h) % rows.shape[0]], features[h], z)
        out[k] = dot(mean, z)


@njit(cache=True)
def close_round(
    value: float,
    log: float,
    seen: bool,
    row: np.ndarray,
    features: np.ndarray,
    e: Effects,
    z: np.ndarray,
    g: np.ndarray,
) -> None:
    """All filters take in a value and its logarithm, or only time passes."""
    P = e.means.shape[1]
    z, g = z[:P], g[:P]
    if seen:
        regressors(row, features, z)
    for i in range(e.logs.size):
        mean, C = e.means[i], e.covariances[i]
        if seen:
            S = times(C, z, g) + 1.0
            error = ((log if e.logs[i] > 0 else value) - dot(mean, z)) / S
            for j in range(P):
                mean[j] += g[j] * error
            absorb(C, g, S, 1.0)
        for j in range(P):
            C[j, j] += e.drifts[i, j]
