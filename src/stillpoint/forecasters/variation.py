"""VariationForecaster: squared loss at the total-variation rate T^{1/3}C^{2/3}, jumps included.

Two parts, joined by Vovk's aggregating algorithm. One forecasts: a Bayesian mixture over when the
signal last changed, of means since each start and of Kalman filters with drift that begin where a
mean began; starts are pruned to O(log t), an idea of Hazan & Seshadhri (Efficient learning
algorithms for changing environments, 2009), here by weight. The other insures: means on the
intervals [r2^k, (r + 1)2^k), r odd, as specialists (Koolen, Adamskiy & Warmuth, Putting Bayes to
sleep, 2012), which is how Baby, Zhao & Wang reach the rate (An optimal reduction of TV-denoising to
adaptive online learning, 2021). The guarantee is that of the specialists and asks nothing of the
mixture; the measurements are the mixture's, which insurance costs (W²/4) ln(1/0.99) at most.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillpoint.core.allocation import zeros
from stillpoint.core.state import put_back, saved
from stillpoint.core.validation import Array, count, counted, nonnegative
from stillpoint.forecasters import _aggregation, _variation
from stillpoint.forecasters._mixture import AT, KEPT, LEVELS, OF, Mixture
from stillpoint.forecasters.series import SeriesForecaster, feedback_number

LATEST = 1e300  # gaps stay finite


class VariationForecaster(SeriesForecaster):
    """Forecast a signal that jumps and drifts, one step ahead, with nothing to tune.

    The loss is ½(y − ŷ)². No horizon, range, noise level or rate is asked for; O(log t) a round.
    Missing observations teach nothing. Means count rounds, filters use the gaps between times;
    stretching time changes nothing.

    Notes
    -----
    The mixture. Every round begins a mean, with the mixture's forecast as half an observation and
    (0.1 + 0.35N)/(t + 1) of the weight, N how many changes the mixture has seen so far, in
    expectation. At each age 2^k a mean leaves a tenth of its weight to a filter with ridge λ =
    (rounds)·(time) since its start, whose window is its age; class 0 repeats the last value.
    Weights are multiplied by exp(−½ρ((y − p)/s)): ρ is Huber's loss, a square up to 3, and s the
    noise level, the root mean square of y − p over all rounds or the last hundred or so, whichever
    is more. The two heaviest means of each octave of age and the heaviest filter of each class are
    kept. Measured in `docs/bench/slopes.md`.

    The guarantee. W is the range of y so far. Mixture and specialists are aggregated over [min y,
    max y] with η = 4/W² and priors of 0.99 and 0.01; a specialist that starts in round r2^k has π =
    0.01/(2.11 (r + 1) ln²(r + 1) (k + 1)(k + 2)). To each of them, from its start on, at most
    (W²/4) ln(1/π) is lost (a falling η is free, see `aggregation`), and a mean of n rounds loses at
    most ½W²(1 + ln(1 + n)) to the best constant. A round that raises W by d costs W·d more, which
    makes ½W² in all. Every interval [a, b] is a chain of at most 1 + log₂(b − a + 1) specialists, a
    → a + (the lowest bit of a): `interval_bound` adds them up, O(W² log²). Let y be a signal u of
    total variation C and noise of mean 0, in an interval of width W. Cut the rounds greedily into M
    pieces with c_i √n_i ≤ W, c_i the variation within and n_i the length: by Hölder's inequality M
    ≤ 1 + (2T)^{1/3}(C/W)^{2/3}; constants on them lose ½Σ n_i c_i² ≤ ½MW² to u in expectation; so
    regret against u is Õ(T^{1/3}C^{2/3}): `variation_bound`. Up to logarithms nobody can do better
    (Donoho & Johnstone, Minimax estimation via wavelet shrinkage, 1998). Without that assumption on
    the noise the rate is shown by Baby & Wang (Optimal dynamic regret in exp-concave online
    learning, 2021); no bound here uses that.
    """

    def __init__(self) -> None:
        super().__init__()
        forecasts, regrets, squares, weights = (zeros(LEVELS + 1) for _ in range(4))
        mixture = Mixture(
            means=zeros((LEVELS, KEPT + 1, 6)),
            filters=zeros((LEVELS, 5)),
            counts=zeros(LEVELS, dtype=np.int64),
            scalars=zeros(len(AT)),
        )
        experts = _aggregation.State(regrets, squares, zeros(len(_aggregation.AT)), weights)
        self._state = _variation.State(mixture, zeros((LEVELS, 3)), forecasts, experts)
        self._scalars = mixture.scalars
        self._flat = (*mixture, *self._state[1:3], *experts)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew: none."""
        return {}

    @property
    def range(self) -> float:
        """W, the largest y so far less the smallest."""
        return float(self._scalars[AT.high] - self._scalars[AT.low])

    @property
    def forecasts(self) -> Array:
        """Forecasts of the mixture and of each specialist awake, in the open round or the last one.

        Specialists come in the order of their intervals, the shortest first.
        """
        s = self._scalars
        return np.array(self._state.forecasts[: int(s[AT.alive])] + s[AT.middle])

    @property
    def weights(self) -> Array:
        """The weights of these `forecasts` in that round."""
        return np.array(self._state.experts.weights[: int(self._scalars[AT.alive])])

    @property
    def variance(self) -> float:
        """Variance of the signal at the open round, or the coming one.

        Σ w_i (s²/n_i + (p_i − p)²) over the mixture's members: n_i is how many rounds member i is
        worth, w_i its weight, p the mixture's forecast and s the noise level. An estimate, no
        guarantee; 0 before anything is seen.
        """
        means, filters, counts, s = self._state.mixture
        levels = int(s[AT.top]) + 1
        rows = [means[level, i, :3] for level in range(levels) for i in range(counts[level])]
        rows += [filters[level, :3] for level in range(levels) if filters[level, OF.weight] > 0.0]
        if not rows:
            return 0.0
        members = np.array(rows)
        w = members[:, OF.weight] / members[:, OF.weight].sum()
        spread = members[:, OF.mean] - w @ members[:, OF.mean]
        return float(w @ (max(s[AT.overall], s[AT.local]) / members[:, OF.size] + spread**2))

    def interval_bound(self, first: int, last: int | None = None) -> float:
        """Bound the loss on rounds first..last less that of the best constant there.

        Parameters
        ----------
        first, last : int
            Rounds, counted from 1 where y was seen; None for the last one so far.

        Notes
        -----
        Σ (W²/4) ln(1/π) + ½W²(1 + ln(1 + n)) over the chain of specialists, and what range changes
        cost, summed as they came; it holds whatever y was. The first round of all is forecast as 0
        and costs ½y².
        """
        seen = int(self._scalars[AT.seen])
        start, end = count("first", first), seen if last is None else count("last", last)
        if not start <= end <= seen:
            raise ValueError(
                f"first and last must be in order, up to {seen}: got {start} and {end}; count"
                " rounds with y, from 1"
            )
        W, total = self.range, float(self._scalars[AT.range_cost])
        while start <= end:
            low = start & -start
            n = min(low, end + 1 - start)
            if start == 1:
                total += float(self._scalars[AT.first_loss])
            else:
                total -= (
                    0.25 * W * W * _variation.log_prior(float(start // low), low.bit_length() - 1)
                )
                total += 0.5 * W * W * (1.0 + math.log1p(n))
            start += low
        return total

    def bound(self, pieces: int = 1) -> float:
        """Bound the loss so far less that of every sequence of constants with this many pieces.

        T the rounds with y, a piece costs no more than a chain of 1 + ⌊log₂ T⌋ specialists, one a
        length 2^k, as late as can be.
        """
        return self._worst(count("pieces", pieces)) + float(
            self._scalars[AT.range_cost] + self._scalars[AT.first_loss]
        )

    def variation_bound(self, variation: float) -> float:
        """Bound Σ½(y − ŷ)² − ½(y − u)² in expectation, u of this total variation, noise of mean 0.

        M(½W² + the cost of a piece, see `bound`) with M = 1 + (2T)^{1/3}(C/W)^{2/3}, so
        Õ(T^{1/3}C^{2/3}W^{4/3}). W should be the width of an interval that holds y and u for
        certain; the range seen is used here.
        """
        C = nonnegative("variation", variation)
        W = self.range
        T = float(self._scalars[AT.seen])
        if W == 0.0:
            return float(self._scalars[AT.first_loss])
        pieces = min(1.0 + (2.0 * T) ** (1.0 / 3.0) * (C / W) ** (2.0 / 3.0), max(T, 1.0))
        return float(
            self._worst(pieces)
            + 0.5 * pieces * W * W
            + self._scalars[AT.range_cost]
            + self._scalars[AT.first_loss]
        )

    def _parts(self) -> dict[str, NDArray[Any]]:
        """The arrays that are saved, by their names in files."""
        mixture, specialists, forecasts, experts = self._state
        return {
            "means": mixture.means,
            "filters": mixture.filters,
            "counts": mixture.counts,
            "clock": mixture.scalars,
            "specialists": specialists,
            "forecasts": forecasts,
            "credits": experts.regrets,
            "unused": experts.squares,  # Vovk's rule leaves it alone
            "rates": experts.scalars,
            "weights": experts.weights,
        }

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return saved(self._parts())

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        put_back(self._parts(), state)
        counted("counts", self._state.mixture.counts.max(), KEPT)
        counted("counts", self._state.mixture.counts.min(), KEPT)
        counted("clock", self._scalars[AT.top], LEVELS - 2)
        counted("clock", self._scalars[AT.seen], 2.0 ** (LEVELS - 1))
        self._follow()

    def _track(self, y: Array, times: Array, delay: int, first: int) -> tuple[Array, Array]:
        """`track` without its checks, and the weight of the mixture in each forecast."""
        forecasts, weights = np.empty(y.size - first), np.empty(y.size - first)
        _variation.track(y, times, delay, first, self._state, forecasts, weights)
        self._follow()
        return forecasts, weights

    def _worst(self, pieces: float) -> float:
        """What so many pieces cost at most, wherever they are."""
        T, W, total = int(self._scalars[AT.seen]), self.range, 0.0
        for level in range(T.bit_length()):
            total -= 0.25 * _variation.log_prior(float(max(T >> level, 1)), level)
            total += 0.5 * (1.0 + math.log1p(2.0**level))
        return float(pieces * total * W * W)

    def _admit(self, first: float, last: float) -> None:
        for time in (first, last):
            if abs(time) > LATEST:
                raise ValueError(
                    f"time must be at most {LATEST:g} in size: got {time}; give times in another"
                    " unit"
                )

    def _clock(self) -> tuple[float, float, float, float]:
        s = self._scalars
        return float(s[AT.rounds]), float(s[AT.time]), float(s[AT.open]), float(s[AT.forecast])

    def _open(self, when: float, x: None) -> float:
        return _variation.one(True, when, *self._flat)

    def _close(self, feedback: float | None) -> None:
        _variation.one(False, feedback_number(feedback), *self._flat)

    def _rounds(self, y: Array, times: Array, delay: int, first: int) -> Array:
        return self._track(y, times, delay, first)[0]
