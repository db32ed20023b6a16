"""Rounds of many keys for learners of one series: bands, quantiles and splines; loops are laid out
as in _gradients.py.
"""

import numpy as np

from stillpoint.core.jit import bare, njit
from stillpoint.forecasters import _kernel_forecaster as splines
from stillpoint.intervals import _bands as bands


@njit(cache=True, nogil=True)
def band_open(
    order: np.ndarray,
    slots: np.ndarray,
    centres: np.ndarray,
    out: np.ndarray,
    two_sided: bool,
    empty: bool,
    inner: np.ndarray,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    ends: np.ndarray,
    forecast: np.ndarray,
    opened: np.ndarray,
) -> None:
    """Intervals of a batch into out (rows, 2, coverages); a round that is open already keeps its
    own.

    inner: the coverages from the innermost interval out.
    """
    # made anew by every round that has a use for them
    weights = np.zeros((levels.size, 2, experts.shape[3]))
    experts, books, scalars, ends = bare(experts), bare(books), bare(scalars), bare(ends)
    for i in order:
        k = slots[i]
        if not opened[k]:
            own = experts[k], books[k], scalars[k], weights, ends[k]
            bands.open_band(centres[i], two_sided, empty, inner, levels, firsts, *own)
            forecast[k], opened[k] = centres[i], True
        for j in range(ends.shape[2]):
            out[i, 0, j], out[i, 1, j] = ends[k, 0, j], ends[k, 1, j]


@njit(cache=True, nogil=True)
def band_close(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    two_sided: bool,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    ends: np.ndarray,
    missed: np.ndarray,
    forecast: np.ndarray,
    opened: np.ndarray,
    rounds: np.ndarray,
) -> None:
    """Targets of open rounds."""
    experts, books, scalars, ends, missed = (
        bare(experts),
        bare(books),
        bare(scalars),
        bare(ends),
        bare(missed),
    )
    for i in order:
        k = slots[i]
        bands.close_band(
            y[i],
            forecast[k],
            two_sided,
            levels,
            firsts,
            experts[k],
            books[k],
            scalars[k],
            ends[k],
            missed[k],
        )
        opened[k] = False
        rounds[k] += 1


@njit(cache=True, nogil=True)
def quantile_open(
    order: np.ndarray,
    slots: np.ndarray,
    out: np.ndarray,
    pivot: int,
    levels: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    values: np.ndarray,
    opened: np.ndarray,
) -> None:
    """Quantiles of a batch into out (rows, levels); a round that is open already keeps its own."""
    weights = np.zeros((levels.size, 2, experts.shape[3]))
    experts, books, scalars, values = bare(experts), bare(books), bare(scalars), bare(values)
    for i in order:
        k = slots[i]
        if not opened[k]:
            bands.open_quantiles(
                pivot, levels, experts[k], books[k], scalars[k], weights, values[k]
            )
            opened[k] = True
        for j in range(values.shape[1]):
            out[i, j] = values[k, j]


@njit(cache=True, nogil=True)
def quantile_close(
    order: np.ndarray,
    slots: np.ndarray,
    y: np.ndarray,
    levels: np.ndarray,
    firsts: np.ndarray,
    experts: np.ndarray,
    books: np.ndarray,
    scalars: np.ndarray,
    values: np.ndarray,
    opened: np.ndarray,
    rounds: np.ndarray,
) -> None:
    """Targets of open rounds."""
    experts, books, scalars, values = bare(experts), bare(books), bare(scalars), bare(values)
    for i in order:
        k = slots[i]
        bands.close_quantiles(y[i], levels, firsts, experts[k], books[k], scalars[k], values[k])
        opened[k] = False
        rounds[k] += 1


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
