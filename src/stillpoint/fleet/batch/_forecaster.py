"""Rounds of many keys for KernelForecaster; loops are laid out as in _gradients.py."""

import numpy as np

from stillpoint.core.jit import njit
from stillpoint.fleet.batch._gradients import bare
from stillpoint.forecasters import _kernel_forecaster as splines


@njit(cache=True, nogil=True)
def spline_open(
    order: np.ndarray,
    slots: np.ndarray,
    when: np.ndarray,
    out: np.ndarray,
    rule: int,
    grows: bool,
    lam: np.ndarray,
    m: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    c: np.ndarray,
    opened: np.ndarray,
    time: np.ndarray,
) -> None:
    """Forecasts of a batch; a round that is open already keeps its own."""
    w = np.zeros(lam.size)
    m, C, v, p, R = bare(m), bare(C), bare(v), bare(p), bare(R)
    V, s, c = bare(V), bare(s), bare(c)
    for i in order:
        k = slots[i]
        if not opened[k]:
            splines.begin(
                when[i], rule, grows, lam, m[k], C[k], v[k], p[k], R[k], V[k], s[k], w, c[k]
            )
            opened[k], time[k] = True, when[i]
        out[i] = c[k, splines.FORECAST]


@njit(cache=True, nogil=True)
def spline_close(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    rule: int,
    share: float,
    lam: np.ndarray,
    m: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    s: np.ndarray,
    c: np.ndarray,
    opened: np.ndarray,
    started: np.ndarray,
) -> None:
    """Targets of open rounds, NaN for a missing one."""
    m, C, v, p, R = bare(m), bare(C), bare(v), bare(p), bare(R)
    V, s, c = bare(V), bare(s), bare(c)
    for i in order:
        k = slots[i]
        splines.finish(y[i], rule, share, lam, m[k], C[k], v[k], p[k], R[k], V[k], s[k], c[k])
        opened[k], started[k] = False, True
