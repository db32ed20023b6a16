"""Seasons: told, from the spacing of times, or found in the series.

A season is looked for in the autocorrelations of the differences, whose peaks are sharp, and of the
levels less a straight line; both of values cut at six median deviations.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.array import Array
from stillpoint.core.validation import number
from stillpoint.series.refined import USUAL, clipped, refined

LEAST = 24  # values that are needed to look
_AS_HIGH = 0.85  # of the largest rise that the first peak must have
_CLEAR = 8.0  # of F, from which on effects of features are clear
_EARLY = 4.0  # of F, from which on two seasons of a calendar's period are clear
DAY = 86_400.0  # seconds


def due(period: float) -> int:
    """The round by which a period has been seen twice."""
    return math.ceil(2.0 * period + 8.0)


def admitted(periods: tuple[float, ...], rounds: int) -> tuple[float, ...]:
    """Those of the periods that have been seen twice."""
    return tuple(m for m in periods if rounds >= due(m))


def next_look(periods: tuple[float, ...], rounds: int, latest: int) -> int:
    """When calendar periods are looked at next: once seen twice, four rounds later, when due."""
    looks = [n for m in periods for n in (math.ceil(2.0 * m), math.ceil(2.0 * m) + 4, due(m))]
    return min([latest, *(n for n in looks if n > rounds)])


def told(season: object) -> tuple[float, ...]:
    """Periods as they were given, checked, the shortest first."""
    remedy = 'give periods in rounds such as [24, 168], "auto" to find them, or None'
    one = isinstance(season, int | float | np.number | np.ndarray) and np.ndim(season) == 0
    values = [season] if one else season
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ValueError(f"season must be periods: got {season!r}; {remedy}")
    periods = sorted(number("season", value, remedy) for value in values)
    for period in periods:
        if period < 2.0:
            raise ValueError(f"season must be 2 rounds or more: got {period:g}; {remedy}")
    if any(one == two for one, two in pairwise(periods)):
        raise ValueError(f"season must name each period once: got {season!r}; {remedy}")
    return tuple(periods)


def calendar(spacing: float) -> tuple[float, ...]:
    """Candidate periods of rows that are so many seconds apart."""
    days = spacing / DAY
    if days < 0.4:
        return 1.0 / days, 7.0 / days
    if days < 0.9:
        return (7.0 / days,)  # a day of two rounds is too short to be found; the week has it, too
    if days < 1.1:
        return 7.0, 365.25
    if 5.0 < days < 9.0:
        return (365.25 / days,)
    if 25.0 < days < 35.0:
        return (12.0,)
    return (4.0,) if 80.0 < days < 100.0 else ()


def filled(y: Array) -> Array:
    """The values with those that are missing on the lines between their neighbours."""
    missing = np.isnan(y)
    if not missing.any():
        return y
    places = np.arange(y.size)
    return np.interp(places, places[~missing], y[~missing])


def detect(y: Array) -> tuple[float, ...]:
    """At most two periods found in a series without missing values.

    Notes
    -----
    r₁ and r₀ are the autocorrelations of differences and of detrended levels. The period m is the
    first peak whose rise above the lowest point before it is within 15% of the largest rise: of r₁
    above max(0.15, 6/√n), else of r₀ above max(0.3, 6/√n), where a usual period within 9% that is
    as good stands for it; of the lags near it the one with the largest Σ_c r₀(cm) + r₁(cm), c = 1,
    …, 4, then `refined` by its waves. The second is the first multiple c·m, c = 3, …, 12, that
    beats both neighbours (c ± 1)m as clearly as any, else a peak of r₀ at 3m or more.
    """
    n = y.size
    if n < LEAST:
        return ()
    t = np.arange(n)
    levels, changes = y - np.polyval(np.polyfit(t, y, 1), t), np.diff(y)
    r0, r1 = autocorrelation(levels), autocorrelation(changes)
    if r0 is None or r1 is None:
        return ()
    m, k = _peak(r1, n, n / 3, 0.15), _peak(r0, n, n / 4 if n > 100 else n / 3, 0.3)
    top, k = k, _usual(k, r0)
    multiple = any(m > 1.5 * one > 0 and abs(m / one - round(m / one)) < 0.05 for one in (top, k))
    if multiple or (m > 0.85 * k > 0 and r1[k - 1 : k + 2].max() > r1[m] - 4.0 / math.sqrt(n)):
        m = k  # differences repeat, too, but are noise near the period itself
    m = m or k
    if not m:
        return ()
    m = _sharpened(m, r0, r1, n)
    m = refined(m, levels, changes, float(r0[m] + r1[m]))
    second = _multiple(m, r1, n) or _multiple(m, r0, n) or (k if k >= 3 * m else 0)
    return tuple(float(p) for p in (m, second) if p and 2 * p + 8 <= n)


def confirmed(
    periods: tuple[float, ...], y: Array, usual: bool = True, Z: Array | None = None
) -> tuple[float, ...]:
    """Calendar periods that the series bears out, or, as without any, those found in it.

    Rows of business hours have fewer rounds a day than the clock says: a period that is no local
    maximum of an autocorrelation gives way to what is found. Where nothing is, it stays if it is
    `usual`, as days and weeks of the clock are; those of trading days stay where they are as clear
    as `early` asks for. Effects of features `Z`, in their units, may hide a season: the series less
    these effects is looked at, too.
    """
    seen = admitted(periods, y.size)
    if periods and not (seen and (usual or y.size >= LEAST)):
        return early(periods, y)
    if y.size < LEAST:
        return seen
    rest = None if Z is None else _less_effects(y, Z)
    series, t = [y] if rest is None else [y, rest], np.arange(y.size)
    for values in series if seen else ():
        detrended = values - np.polyval(np.polyfit(t, values, 1), t)
        curves = autocorrelation(detrended), autocorrelation(np.diff(values))
        if any(r is not None and _is_peak(seen[0], r) for r in curves):
            return seen
    found = next(filter(None, map(detect, series)), ())
    return found or (seen if usual else early(seen, series[-1]))


def early(periods: tuple[float, ...], y: Array) -> tuple[float, ...]:
    """The first calendar period, if y holds it twice and its phases clearly differ.

    Notes
    -----
    F = ((R₀ − R₁) / (p − 1)) / (R₁ / (n − p)) is above 4, for R₀ the squares beside a mean and R₁
    those beside means of the p phases: of levels, where both have a slope beside them, or of
    differences, of which a level that wanders leaves more.
    """
    if not periods or y.size < 2.0 * periods[0]:
        return ()
    phases, w = np.mod(np.arange(y.size), periods[0]).astype(np.int64), y - y.mean()
    one, p = np.zeros_like(phases), int(phases.max()) + 1
    for values, slope in (w, True), (np.diff(w), False):
        n = values.size
        left = _left(values, phases[:n], slope)
        explained = _left(values, one[:n], slope) - left
        # beyond rounding: of a straight line nothing is left
        clear = explained * (n - p - slope) > _EARLY * (p - 1) * left
        if clear and explained > 1e-12 * float(w @ w):
            return periods[:1]
    return ()


def _left(w: Array, phases: NDArray[np.int64], slope: bool) -> float:
    """Sum of squares beside the means of phases, and a slope."""

    def less_means(values: Array) -> Array:
        means = np.bincount(phases, values) / np.maximum(np.bincount(phases), 1)
        return np.asarray(values - means[phases])

    rest = less_means(w)
    if slope:
        t = less_means(np.arange(w.size, dtype=np.float64))
        rest = rest - (t @ rest) / (t @ t) * t
    return float(rest @ rest)


def _less_effects(y: Array, Z: Array) -> Array | None:
    """The series less linear effects b of features; None where they are not clear.

    b minimises Σ_t (Δy_t − b·Δz_t)²: differences know nothing of a level that wanders. Clear are
    effects that explain 8 times as much as chance would (the F statistic): those of noise would
    bring the features' own seasons into the series.
    """
    Z = Z[:, Z.any(axis=0)]
    changes, rest, columns = np.diff(Z, axis=0), np.diff(y), Z.shape[1]
    if columns == 0:
        return None
    effects = np.linalg.lstsq(changes, rest, rcond=None)[0]
    left = float(np.sum((rest - changes @ effects) ** 2))
    explained = float(np.sum(rest**2)) - left
    if explained * (rest.size - columns) <= _CLEAR * columns * left:
        return None
    return np.asarray(y - Z @ effects, dtype=np.float64)


def autocorrelation(w: Array) -> Array | None:
    """Autocorrelations up to half the length, unbiased; None if nothing varies."""
    cut = clipped(w)
    if cut is None:
        return None
    length = 1 << math.ceil(math.log2(2 * w.size))
    f = np.fft.rfft(cut, length)
    r = np.fft.irfft(f * np.conj(f), length)[: w.size // 2 + 1]
    if not r[0] > 0.0:
        return None
    return np.asarray(r / r[0] * (w.size / (w.size - np.arange(r.size))), dtype=np.float64)


def _peak(r: Array, n: int, end: float, least: float) -> int:
    """The first local maximum whose rise is within 15% of the largest; 0 if there is none."""
    lag, need = np.arange(r.size), max(least, 6.0 / math.sqrt(n))
    local = np.zeros(r.size, dtype=bool)
    local[1:-1] = (r[1:-1] >= r[:-2]) & (r[1:-1] >= r[2:])
    candidates = local & (lag >= 3) & (lag < end) & (r > need)
    # differences of noise are lowest at lag 1, where that is no sign of a season
    lowest = np.minimum.accumulate(np.where(lag == 1, np.inf, r))
    rise = np.where(candidates, r - lowest, 0.0)
    if not rise.max() > need:
        return 0
    first = int(np.flatnonzero(rise >= _AS_HIGH * rise.max())[0])
    # noise makes bumps on the flank of a broad peak: its top is meant
    flank = rise[first : min(first + first // 10 + 2, math.ceil(end))]
    return first + int(flank.argmax())


def _sharpened(m: int, r0: Array, r1: Array, n: int) -> int:
    """The lag near m whose multiples are highest too: one off by 1 is off by c at c times it."""
    w = max(1, m // 12)
    multiples = np.arange(1, min(4, n // 3 // (m + w)) + 1)
    near = range(max(3, m - w), m + w + 1)
    if not multiples.size:
        return m
    return max(near, key=lambda lag: float((r0[lag * multiples] + r1[lag * multiples]).sum()))


def _usual(k: int, r: Array) -> int:
    """k, or a usual period near it that is as good: peaks of levels are blunt."""
    if k <= 20:
        return k
    near = [u for u in USUAL if abs(u / k - 1.0) <= 0.09 and u < r.size - 1 and r[u] >= 0.93 * r[k]]
    return min(near, key=lambda u: abs(u - k)) if near else k


def _multiple(m: int, r: Array, n: int) -> int:
    """The first multiple of m that stands out against its neighbours as any; 0 if none does."""
    d = max(1, m // 24)

    def height(lag: int) -> float:
        return float(r[max(lag - d, 1) : lag + d + 1].max())

    margin, found = max(0.02, 2.0 / math.sqrt(n)), []
    for c in range(3, 13):
        if (c + 1) * m >= r.size - d or 3 * c * m > n:
            break
        own = height(c * m)
        beside = max(height((c - 1) * m), height((c + 1) * m))
        if own > 0.8 * height(m) and own > beside + margin:
            found.append((own, c * m))
    # the shortest of those that are about as high: the others are multiples of it
    return next((at for own, at in found if own >= max(found)[0] - margin), 0)


def _is_peak(period: float, r: Array) -> bool:
    """Whether a local maximum of r is at the period, or next to it."""
    m = round(period)
    d = max(1, m // 24)
    if m + 2 * d + 1 > r.size:
        return True  # too long to be told
    around = r[max(m - d, 1) : m + d + 1]
    sides = np.concatenate([r[max(m - 2 * d, 0) : max(m - d, 1)], r[m + d + 1 : m + 2 * d + 1]])
    # four deviations: the highest of many lags of noise is often above two
    return bool(around.max() > sides.max() and around.max() > 4.0 / math.sqrt(2 * r.size))
