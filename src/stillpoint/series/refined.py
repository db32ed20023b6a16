"""A period that autocorrelations have found, refined by the waves that fit best.

The peak of an autocorrelation is blunt where a season is smooth, and noise moves its top by some
hundredths; the frequency of a wave that has come c times is known to a small part of 1/c.
"""

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
    reach, series = m // 12, [w for w in map(clipped, (levels, changes)) if w is not None]
    near = range(m - reach, m + reach + 1)
    S = {c: sum(_explained(w, c) for w in series) for c in near}
    most = max(S.values())
    enough = _USUALLY if m in USUAL else _AS_WELL
    if S[m] >= enough * most or most < _SMOOTH * alike:
        return m
    usual = [c for c in USUAL if m not in USUAL and c in near and S[c] >= _USUALLY * most]
    best = max(usual or near, key=S.__getitem__)
    return best if usual or levels.size >= _OFTEN * best else m


def _explained(w: Array, period: int) -> float:
    """The share of the squares of w, whose mean is 0, that a line and the first waves explain."""
    t = np.arange(w.size) - 0.5 * w.size
    wave = np.exp(2j * np.pi * t / period)
    waves = np.cumprod(np.tile(wave, (_WAVES, 1)), axis=0)
    X = np.vstack([np.ones(w.size), t / w.size, waves.real, waves.imag])
    b = X @ w
    return float(b @ np.linalg.solve(X @ X.T, b)) / float(w @ w)
