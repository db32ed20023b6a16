"""A period that autocorrelations have found, refined by the waves that fit best.

The peak of an autocorrelation is blunt where a season is smooth, and noise moves its top by some
hundredths; the frequency of a wave that has come c times is known to a small part of 1/c.
"""

from functools import cache

import numpy as np

from stillpoint.core.array import Array

USUAL = (24, 48, 52, 96, 144, 168, 288, 336, 365, 672, 1008, 1440, 2016)
_CUT = 6.0  # median deviations
_LEAST = 21  # rounds; of shorter periods the neighbours are no alternatives
_WAVES = 4
_AS_WELL = 0.999  # of what the best explains, from which on the period stays
_USUALLY = 0.97  # and from which on a usual period is taken
_SMOOTH = 0.7  # of what a season explains, that waves explain of a smooth one
_OFTEN = 6  # times that a period has come before it may be any other


def clipped(w: Array) -> Array | None:
    """Values cut at six median deviations from the median, less their mean; None if none varies."""
    w = w - np.median(w)
    deviation = float(np.median(np.abs(w))) or float(np.mean(np.abs(w)))
    if deviation == 0.0:
        return None
    w = np.clip(w, -_CUT * deviation, _CUT * deviation)
    return np.asarray(w - w.mean(), dtype=np.float64)


def refined(m: int, levels: Array, changes: Array, alike: float) -> int:
    """The period near m whose waves fit best, or a usual one that fits about as well.

    Parameters
    ----------
    m
        A lag at which the series is like itself.
    levels, changes
        The series less a straight line, and its differences.
    alike
        The sum of their autocorrelations at m: what any season of m rounds explains of them.

    Notes
    -----
    S(c) is the share of the squares that a line and the waves cos(2πkt/c), sin(2πkt/c), k = 1, …,
    4, explain of the levels, plus that of the differences. Of c within a twelfth of m: m where S(m)
    ≥ 0.999 max S (0.97 if it is a usual period); else, if m is none, a usual one with S ≥ 0.97 max
    S; else, once it has come six times, the best. A season with edges, or one that wanders, keeps
    m: waves explain less than 0.7 of what repeats.
    """
    if m < _LEAST:
        return m
    n, reach = levels.size, m // 12
    series = [w for w in map(clipped, (levels, changes)) if w is not None]
    usual = [c for c in USUAL if abs(c - m) <= reach]
    fits = cache(lambda c: _explained(series, c))
    # S has one top within m²/n rounds: a grid half as wide finds it, halved until it is single
    step = max(1, min(reach // 4, m * m // (2 * n)))
    best = max({m, *usual, *range(m - reach, m + reach + 1, step)}, key=fits)
    while step > 1:
        step = (step + 1) // 2
        near = (c for c in (best - step, best + step) if abs(c - m) <= reach)
        best = max(best, *near, key=fits)
    most = fits(best)
    if fits(m) >= (_USUALLY if m in USUAL else _AS_WELL) * most or most < _SMOOTH * alike:
        return m
    taken = [c for c in usual if m not in USUAL and fits(c) >= _USUALLY * most]
    return max(taken, key=fits) if taken else best if n >= _OFTEN * best else m


def _explained(series: list[Array], period: int) -> float:
    """Sum of the shares of squares that a line and the first waves explain; all means are 0."""
    size = max(w.size for w in series)
    t = np.arange(size) - 0.5 * size
    waves = np.cumprod(np.tile(np.exp(2j * np.pi * t / period), (_WAVES, 1)), axis=0)
    columns, total = np.vstack([np.ones(size), t / size, waves.real, waves.imag]), 0.0
    for w in series:
        X = columns[:, : w.size]
        b = X @ w
        total += float(b @ np.linalg.solve(X @ X.T, b)) / float(w @ w)
    return total
