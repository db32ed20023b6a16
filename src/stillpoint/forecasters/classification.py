"""TrackingProbabilities: time-varying logistic regression with nothing to tune (TRACKING section
2).

Ten Gaussian filters, one a rate of drift, take each label in by an exact one-observation MAP step;
two read-outs of each are mixed by Bayes' rule with fixed share (Herbster & Warmuth 1998), whose log
loss is bounded against the best of them.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, count, nonnegative
from stillpoint.forecasters import _classification as logistic
from stillpoint.forecasters import _tracking
from stillpoint.forecasters.tracking import TrackingModel

# Variance that (slopes, intercept) gain a round: none; the intercept alone; both; the intercept
# faster.
RATES: Array = np.array(
    [(0.0, 0.0)]
    + [(0.0, q) for q in (1e-4, 1e-2, 1.0)]
    + [(q, q) for q in (1e-6, 1e-4, 1e-2)]
    + [(q, 100.0 * q) for q in (1e-6, 1e-4, 1e-2)]
)


class TrackingProbabilities(TrackingModel):
    """Probabilities of the classes 0, 1, … from the features x_t, then see the label; log-odds are
    linear and may drift or jump.

    O(10·dim²) a round and set of filters. dim: features of a context; an intercept is added.
    Probabilities do not depend on the units or origins of features. missing, times: as in
    TrackingForecaster.

    A set of K = 10 filters keeps log-odds f = ⟨θ, z⟩ with variance v = z'Cz; the label moves θ to
    the mode of its posterior. Read-outs are σ(f) and σ(f/√(1 + πv/8)), clipped to [10⁻⁴, 1 − 10⁻⁴];
    weights are multiplied by the probability of what came, w ← (1 − α)w/Σw + α/2K, α = 10⁻³. Two
    classes need one set, for class 1. With more, each class has its set, against all others; their
    forecasts q_c, and their odds q_c/(1 − q_c), are divided by their sums, and the two are mixed in
    the same way (odds alone are right for a softmax, q_c alone where sets are calibrated).

    Guarantee, whatever the data: `bound`. With several classes the log loss of q_c/Σq is at most
    the sum of the sets' binary
    ones: ln Σ_c q_c ≤ Σ_{c≠y} ln(1 + q_c) ≤ −Σ_{c≠y} ln(1 − q_c).
    """

    _rates = RATES
    _prior = (logistic.SLOPE_PRIOR, logistic.INTERCEPT_PRIOR)
    _parts: ClassVar[tuple[str, ...]] = (
        *TrackingModel._parts,
        "weights",
        "reads",
        "mixed",
        "rules",
    )

    def __init__(self, dim: int, classes: int = 2, missing: bool = False) -> None:
        self.classes = count("classes", classes, "give the number of classes, 2 or more")
        if self.classes < 2:
            raise ValueError(
                f"classes must be 2 or more: got {classes!r}; add_class() lets more join later"
            )
        sets = self._sets()
        super().__init__(dim, missing, sets)
        K = len(RATES)
        self._weights, self._reads = full((sets, 2 * K), 0.5 / K), zeros((sets, 2 * K))
        self._scalars, self._mixed, self._own = zeros(sets), full(sets, 0.5), zeros((2, sets * K))
        self._rules = full(2, 0.5)

    def _sets(self) -> int:
        return 1 if self.classes == 2 else self.classes

    def predict(self, x: ArrayLike, time: float | None = None) -> Array:
        """Probabilities (classes,) of the coming round, whose features are x; the same if called
        again before `update`.
        """
        self._begin(x, time)
        probabilities = np.empty(self.classes)
        logistic.normalise(self._mixed, self._rules, probabilities)
        return probabilities

    def peek(self, x: ArrayLike, time: float | None = None) -> Array:
        """What predict(x, time) would return, with no round opened and nothing changed.

        While a round is open: its probabilities for its own x, and for others as if it had been
        skipped.
        """
        row = self._row(x)
        if self._is_open(row):
            return self.predict(x, time)
        return self.answer(row, math.nan if self._open else self.moment(time))

    def answer(self, row: Array, moment: float) -> Array:
        """`peek` without its checks, for faces that have made theirs: row is a whole array of its
        own.
        """
        return self._peek(row[None], float(_tracking.gap(moment, self._clock))).reshape(-1)

    def peek_stream(self, X: ArrayLike) -> Array:
        """Probabilities (T, classes) for the rows of X (T, dim), each as if it were the next
        round's; nothing changes.
        """
        return self._peek(self._rows(X), 1.0)

    def _peek(self, rows: Array, pace: float) -> Array:
        look, room, probabilities = (
            np.empty((3, self.dim + 1)),
            np.empty(self._sets()),
            np.empty((len(rows), self.classes)),
        )
        filters = RATES, self._features, self._means, self._covariances, self._weights
        logistic.peek(rows, pace, *filters, self._rules, look, room, probabilities)
        return probabilities

    def update(self, x: ArrayLike, y: int, time: float | None = None) -> None:
        """The label, 0 to classes − 1, of the round with features x."""
        label = y if type(y) is int and 0 <= y < self.classes else int(self._labels(y, 0))
        if not self._open:
            self.take(self._row(x), label, self.moment(time))
            return
        self._begin(x, time)
        filters = self._means, self._covariances, self._weights, self._gains, self._own
        logistic.learn(label, *filters, self._reads, self._mixed, self._rules, self._scalars)
        self._close()

    def take(self, row: Array, label: int, moment: float) -> None:
        """`update` without its checks, for faces that have made theirs (see `answer`); moment: NaN
        for a round without a time.
        """
        self._x[:] = row
        run: Callable[..., None] = logistic.turn
        run(row, label, moment, self._clock, self._scalars, *self._state(), self._rules)
        self.rounds += 1

    def track(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Probabilities (T, classes) of labels y (T,) from features X (T, dim): predict and update
        in turn, compiled.
        """
        self._closed("X")
        labels = self._labels(y, 1)
        rows, moments = self._rows(X, labels.size), self._moments(times, labels.size)
        probabilities = np.empty((labels.size, self.classes))
        run: Callable[..., None] = logistic.stream
        run(
            rows,
            labels,
            moments,
            self._clock,
            self._scalars,
            *self._state(),
            self._rules,
            probabilities,
        )
        self.rounds += labels.size
        if labels.size:
            self._x[:] = rows[-1]
        return probabilities

    def _labels(self, y: ArrayLike, ndim: int) -> NDArray[np.int64]:
        try:
            given = np.asarray(y)
        except ValueError:  # rows of different lengths
            raise ValueError(
                f"y must be one-dimensional: got {y!r}; pass one label a round"
            ) from None
        if given.ndim != ndim:
            expected = "one label" if ndim == 0 else "one-dimensional"
            raise ValueError(
                f"y must be {expected}: got shape {given.shape}; pass one label a round"
            )
        remedy = (
            f"give whole numbers 0 to {self.classes - 1}, or call add_class() first; skip(x) for a"
            " missing label"
        )
        if given.size and given.dtype.kind not in "biuf":
            raise ValueError(f"y must be whole numbers: got {y!r}; {remedy}")
        numbers = given.astype(np.float64)
        bad = ~((numbers >= 0.0) & (numbers < self.classes) & (numbers == np.floor(numbers)))
        if bad.any():
            raise ValueError(f"y must be a class: got {given[bad].flat[0]}; {remedy}")
        return numbers.astype(np.int64)

    def add_class(self) -> None:
        """One more class joins; its set of filters starts at the prior, at even odds, and knows
        nothing of the rounds before.

        The third class is where one set becomes three. That of class 1 goes on; that of class 0 is
        its mirror image, θ and f with their signs turned and the same weights, which is exactly
        what a set of its own would have come to.
        """
        self._closed("a new class")
        fresh = TrackingProbabilities(self.dim, 2, self.missing)
        copies = 2 if self.classes == 2 else 1
        mirrored = [-self._means] * (copies - 1)
        self._means = np.concatenate([*mirrored, self._means, fresh._means])
        self._covariances = np.concatenate([self._covariances] * copies + [fresh._covariances])
        self._weights = np.concatenate([self._weights] * copies + [fresh._weights])
        self._scalars = np.concatenate([self._scalars] * copies + [fresh._scalars])
        self.classes += 1
        sets, K = self.classes, len(RATES)  # what is left of the last round has served
        self._gains, self._own = np.zeros_like(self._means), np.zeros((2, sets * K))
        self._reads, self._mixed = np.zeros((sets, 2 * K)), np.full(sets, 0.5)

    def _propose(self, pace: float) -> None:
        logistic.propose(self._x, pace, *self._state())

    def _state(self) -> tuple[Array, ...]:
        filters = RATES, self._features, self._means, self._covariances, self._weights
        return *filters, self._z, self._gains, self._own, self._reads, self._mixed

    @property
    def weights(self) -> Array:
        """Weights (20,) of the read-outs in the open or coming round: σ(f) of the filters of
        `RATES`, then the averaged ones.

        Shape (classes, 20) where there are three classes or more.
        """
        return np.array(self._weights[0] if self.classes == 2 else self._weights)

    def bound(self, switches: int = 0) -> float:
        """Log loss of the probabilities less that of the best read-out, at most, whatever the data.

        ln 2K + (T − 1) ln(1/(1 − α + α/2K)), T the rounds with labels so far. Against the best
        sequence of read-outs that changes m = `switches` times, m ln(2K/α) more, and T − 1 − m for
        T − 1. With several classes the log loss is compared to the sum over sets of the best
        read-out's binary log loss: the bound is the sum of theirs, each with T since its class
        joined, and ln 2 + (T − 1) ln(1/(1 − α/2)) for the two rules.
        """
        changes = nonnegative("switches", switches)
        total = sum(
            _fixed_share(2 * len(RATES), float(rounds), changes) for rounds in self._scalars
        )
        return total if self.classes == 2 else total + _fixed_share(2, float(self._scalars[2]), 0.0)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew."""
        return {"dim": self.dim, "classes": self.classes, "missing": self.missing}


def _fixed_share(experts: int, rounds: float, switches: float) -> float:
    stays, share = max(rounds - 1.0 - switches, 0.0), logistic.SHARE
    return (
        math.log(experts)
        - stays * math.log1p(-share * (1.0 - 1.0 / experts))
        + switches * math.log(experts / share)
    )
