"""Where the numbers of a series are in its row, and what all series of a fleet share.

A series is one row of numbers. Compiled rounds get such rows, eight at once, and this plan, by
reference: passing arrays from function to function would cost more than the arithmetic of a round.
"""

from typing import NamedTuple

import numpy as np

from stillpoint.series._scale import Scalars

SCALARS = len(Scalars())  # they come first, see `series._scale`


class Total(NamedTuple):
    """Places in a row: of totals, and the last value; always of float64, as the scalars are."""

    sum: int = SCALARS  # of the values so far, less the first each
    missing: int = SCALARS + 1  # how many were missing
    first: int = SCALARS + 2  # the first value
    forecast: int = SCALARS + 3  # of the last origin
    origin: int = SCALARS + 4  # the sum at that origin,
    gaps: int = SCALARS + 5  # and how many were missing
    scale: int = SCALARS + 6  # mean |error|
    number: int = SCALARS + 7  # of errors in it
    last: int = SCALARS + 8  # the last value that was not missing


class Counts(NamedTuple):
    """Counters of a series."""

    rounds: int = 0  # since the first value
    now: int = 1  # of the experts' clock; −1: there are no experts yet
    logs: int = 2  # whether logarithms are taken
    bands: int = 3  # of the intervals' clock
    issued: int = 4  # rounds whose intervals were issued
    open: int = 5  # whether a round is open
    nest: int = 6  # the key's place in the nursery; below 0: it has grown up
    before: int = 7  # rounds before the first value


class Size(NamedTuple):
    """Sizes, and places in a row, in `Plan.n`."""

    filters: int = 0
    places: int = 1  # numbers of a filter's mean
    waves: int = 2  # frequencies; a mean has as many cosines and sines, after BASE
    experts: int = 3
    horizon: int = 4
    past: int = 5  # lags
    stride: int = 6  # rounds between origins of the second knot
    slots: int = 7  # origins that may wait; 0: there is no second knot
    knot: int = 8  # its horizon
    estimates: int = 9  # of intervals, for each of the two horizons
    coverages: int = 10
    two_sided: int = 11
    totals: int = 12  # whether totals have intervals
    knots: int = 13
    # places
    lags: int = 14
    means: int = 15
    gaps: int = 16
    seasonal: int = 17  # three past ones of the first filter, then those of the open round, of all
    phases: int = 18
    # blocks of the knots: experts, pair, scalars, stack and the triangle of spread, as `_knots` has
    weights: int = 19
    block: int = 20  # size of such a block
    waiting: int = 21  # slots: experts' forecasts, then `Issue`; the last is the next value's
    slow: int = 22  # estimates of intervals: `Slow`, then seen and misses
    said: int = 23  # slots: the forecast, then what was said and the end issued of each estimate
    offsets: int = 24  # (horizons, 2, coverages)
    end: int = 25  # of the experts' part, which begins anew with them
    one: int = 26  # 1: for a constant in a call, Numba would compile the function once more
    fine: int = 27  # rows of `harmonics` before those of `_turning`; 0: they are periodic
    flags: int = 28  # in room, after all numbers of a row: whether logarithms are taken


class Spec(NamedTuple):
    """Columns of `specs`: an autoregression."""

    difference: int = 0
    lags: int = 1  # how many
    seasonal: int = 2
    waves: int = 3
    start: int = 4  # the round from which all lags exist
    size: int = 5  # regressors
    coefficients: int = 6  # place in a row
    covariance: int = 7  # place of the upper triangle


class Smoother(NamedTuple):
    """Columns of `smoothers`: smoothing by phase."""

    log: int = 0
    seasons: int = 1
    first: int = 2  # phases of the first season, 0 without
    second: int = 3
    place: int = 4  # in a row: `Level`, phases, phases, values seen in each, in each


class Step(NamedTuple):
    """Columns of `steps`."""

    level: int = 0  # α
    phase: int = 1  # γ
    memory: int = 2  # whether residuals are expected again
    first: int = 3  # the seasons, 1 without
    second: int = 4


class Plan(NamedTuple):
    """What all series share, and room to work in."""

    n: np.ndarray  # ints, see Size
    periods: np.ndarray  # ints: seasons that the lags reach
    specs: np.ndarray  # (A, 8) ints, see Spec
    lags: np.ndarray  # (A, most) ints
    rates: np.ndarray  # (A,): λ
    smoothers: np.ndarray  # (E, 5) ints, see Smoother
    steps: np.ndarray  # (E, 5), see Step
    kinds: np.ndarray  # (F,) ints: whether a filter takes logarithms
    models: np.ndarray  # (F, 6), see `_structural.Model`
    gains: np.ndarray  # (F, rows, places)
    variances: np.ndarray  # (F, rows)
    row_of_age: np.ndarray  # ints
    harmonics: np.ndarray  # (times, 2·waves): cosines, then sines, 0 where there is none
    turned: np.ndarray  # (H, 2·waves): such rows, where they are not of a table
    smooth: np.ndarray  # (waves,)
    aims: np.ndarray  # (estimates, 2)
    order: np.ndarray  # (coverages,) ints, from the innermost outward
    rule: np.ndarray  # most, slack: see `_knots.Rule`
    parts: np.ndarray  # (H,): how far a horizon is on the way from the first knot to the second
    template: np.ndarray  # (end,): the experts' part of a row before the first round
    c: np.ndarray  # counters of the series that are being played, see Counts
    room: np.ndarray  # (numbers, LANES) to work with
    paths: np.ndarray  # (H·experts, LANES): forecasts
    gain: np.ndarray  # (2·waves,): room for one
    # where in a row, less EXACT, tiles of LANES numbers begin: all, those that a round reads when
    # it is opened, and those that it writes then
    tiles: np.ndarray
    read: np.ndarray
    written: np.ndarray


N, OF, SUM, AR, ES, BY = Size(), Counts(), Total(), Spec(), Smoother(), Step()
EXACT = SUM.last + 1  # how many numbers of a row are always of float64
MOST, SLACK = 0, 1  # of `rule`
LEVEL, SLOPE, DEVIATION, BASE = 0, 1, 2, 3  # places of a mean
SAID, SCORES = 8, 10  # of an estimate: numbers of `Slow`, and all of them
REGRESSORS = 64  # numbers of `room` that regressors have, at most; a path comes after them
