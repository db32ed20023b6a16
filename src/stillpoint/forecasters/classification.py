"""TrackingProbabilities: logistic regression whose coefficients drift, with nothing to tune.

Ten Gaussian filters, one a rate of drift, take each label in by an exact one-observation MAP step;
two read-outs of each are mixed by Bayes' rule with fixed share (Herbster & Warmuth 1998), whose log
loss is bounded against the best of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillpoint.core.allocation import full, zeros
from stillpoint.core.validation import Array, count, nonnegative
from stillpoint.forecasters import _classification, _logistic
from stillpoint.forecasters._filters import gap
from stillpoint.forecasters._logistic import OUT, RATES, ROW, SET, State
from stillpoint.forecasters.tracking import Outputs, Rounds, TrackingModel


class TrackingProbabilities(TrackingModel):
    """Give probabilities of the classes 0, 1, … from features; log-odds may drift or jump.

    O(10·dim²) a round and set of filters. Log-odds are linear in the features, whose units and
    origins do not matter. Times are as in TrackingForecaster.

    Parameters
    ----------
    dim : int
        Features of a context; an intercept is added.
    classes : int, default 2
        How many classes there are; `add_class` lets more join.
    missing : bool, default False
        Whether NaN in x means that a feature is not seen this round. It counts as its running mean,
        and its statistics stay.

    Notes
    -----
    A set of K = 10 filters keeps log-odds f = ⟨θ, z⟩ with variance v = z'Cz; the label moves θ to
    the mode of its posterior. Read-outs are σ(f) and σ(f/√(1 + πv/8)), clipped to [10⁻⁴, 1 − 10⁻⁴];
    weights are multiplied by the probability of what came, w ← (1 − α)w/Σw + α/2K, α = 10⁻³. Two
    classes need one set, for class 1. With more, each class has its set, against all others; their
    forecasts q_c, and their odds q_c/(1 − q_c), are divided by their sums, and the two are mixed in
    the same way (odds alone are right for a softmax, q_c alone where sets are calibrated).

    Guarantee, whatever the data: `bound`. With several classes the log loss of q_c/Σq is at most
    the sum of the sets' binary ones: ln Σ_c q_c ≤ Σ_{c≠y} ln(1 + q_c) ≤ −Σ_{c≠y} ln(1 − q_c).
    """

    _rates, _nothing = RATES, 0
    _rule = ()
    _prior = (_logistic.SLOPE_PRIOR, _logistic.INTERCEPT_PRIOR)

    def __init__(self, dim: int, *, classes: int = 2, missing: bool = False) -> None:
        self.classes = count("classes", classes, "give the number of classes, 2 or more")
        if self.classes < 2:
            raise ValueError(
                f"classes must be 2 or more: got {classes!r}; add_class() lets more join later"
            )
        super().__init__(dim, missing)
        sets, K = 1 if self.classes == 2 else self.classes, len(RATES)
        self._set(
            State(
                **self._new_filters(sets),
                values=zeros((len(ROW), sets * K)),
                outs=zeros((len(OUT), sets, 2 * K)),
                sets=zeros((len(SET), sets)),
                rules=full(2, 0.5),
            )
        )
        self._state.outs[OUT.weight], self._state.sets[SET.mixed] = 0.5 / K, 0.5

    def predict(self, x: ArrayLike, time: float | None = None) -> Array:
        """Return probabilities (classes,) of the coming round; the same until `update`.

        Parameters
        ----------
        x : array of shape (dim,)
            The features of the round.
        time : float, optional
            When the round is, not before the last one.
        """
        self._begin(time, self._row(x))
        return self._probabilities()

    def _probabilities(self) -> Array:
        probabilities = np.empty(self.classes)
        _logistic.normalise(self._state.sets[SET.mixed], self._state.rules, probabilities)
        return probabilities

    def _round(self, opens: bool, closes: bool, x: Array, feedback: int, when: float) -> None:
        _classification.round_one(opens, closes, x, feedback, when, *self._flat)

    def peek(self, x: ArrayLike, time: float | None = None) -> Array:
        """Return what predict(x, time) would, with no round opened and nothing changed.

        While a round is open: its probabilities for its own x, and for others as if it had been
        skipped.
        """
        row = self._row(x)
        if self._is_open and self._same(row):
            self._begin(time, row)
            return self._probabilities()
        return self._look(row, math.nan if self._is_open else self._coming(time))

    def _look(self, row: Array, moment: float) -> Array:
        """`peek` without its checks, for wrappers that have made theirs; row is not kept."""
        return self._peek(row[None], gap(moment, self._state.clock)).reshape(-1)

    def peek_rows(self, X: ArrayLike) -> Array:
        """Return probabilities (T, classes) for the rows of X (T, dim), each as if it came next."""
        return self._peek(self._rows(X), 1.0)

    def _peek(self, rows: Array, pace: float) -> Array:
        s, look, out = self._state, np.empty((3, self.dim + 1)), np.empty((len(rows), self.classes))
        seen = s.features, s.means, s.covariances, s.outs[OUT.weight], s.rules
        _classification.peek(rows, pace, *seen, look, out)
        return out

    def _feedback(self, y: Any) -> int:
        return y if type(y) is int and 0 <= y < self.classes else int(self._labels(y, 0))

    def _targets(self, y: ArrayLike) -> Array:
        return self._labels(y, 1).astype(np.float64)

    def _answers(self, rows: int) -> Array:
        return np.empty((rows, self.classes))

    def _play(self, rounds: Rounds, out: Outputs) -> None:
        _classification.track(*rounds, self._state, *out)

    def _parts(self) -> dict[str, Array]:
        s = self._state
        return {
            **super()._parts(),
            "scalars": s.sets[SET.learnt],
            "own": s.values,
            "weights": s.outs[OUT.weight],
            "reads": s.outs[OUT.read],
            "mixed": s.sets[SET.mixed],
            "rules": s.rules,
        }

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
        """Let one more class join; its filters start at the prior, at even odds.

        The third class is where one set becomes three. That of class 1 goes on; that of class 0 is
        its mirror image, θ and f with their signs turned and the same weights, which is exactly
        what a set of its own would have come to.
        """
        self._begin_bulk("a new class")
        old = self._state
        fresh = TrackingProbabilities(self.dim, classes=2, missing=self.missing)._state
        copies = 2 if self.classes == 2 else 1
        self.classes += 1
        sets, K = self.classes, len(RATES)  # what is left of the last round has served
        means = np.concatenate([*[-old.means] * (copies - 1), old.means, fresh.means])
        covariances = np.concatenate([old.covariances] * copies + [fresh.covariances])
        outs = np.concatenate([old.outs] * copies + [fresh.outs], axis=1)
        both = np.concatenate([old.sets] * copies + [fresh.sets], axis=1)
        outs[OUT.read], both[SET.mixed] = 0.0, 0.5
        gains, values = np.zeros_like(means), np.zeros((len(ROW), sets * K))
        self._set(
            old._replace(
                means=means,
                covariances=covariances,
                gains=gains,
                values=values,
                outs=outs,
                sets=both,
            )
        )

    @property
    def weights(self) -> Array:
        """Weights (20,) of the read-outs in the open or coming round.

        σ(f) of the filters of `RATES`, then the averaged ones; shape (classes, 20) where there are
        three classes or more.
        """
        weights = self._state.outs[OUT.weight]
        return np.array(weights[0] if self.classes == 2 else weights)

    def bound(self, switches: int = 0) -> float:
        """Bound the log loss of the probabilities less that of the best read-out.

        It holds whatever the data: ln 2K + (T − 1) ln(1/(1 − α + α/2K)), T the rounds with labels.
        Against the best sequence of read-outs that changes m = `switches` times, m ln(2K/α)
        more, and T − 1 − m for T − 1. With several classes the log loss is compared to the sum over
        sets of the best read-out's binary log loss: the bound is the sum of theirs, each with T
        since its class joined, and ln 2 + (T − 1) ln(1/(1 − α/2)) for the two rules.
        """
        changes, learnt = nonnegative("switches", switches), self._state.sets[SET.learnt].tolist()
        total = sum(_fixed_share(2 * len(RATES), rounds, changes) for rounds in learnt)
        return total if self.classes == 2 else total + _fixed_share(2, learnt[2], 0.0)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this model anew."""
        return {"dim": self.dim, "classes": self.classes, "missing": self.missing}


def _fixed_share(experts: int, rounds: float, switches: float) -> float:
    stays, share = max(rounds - 1.0 - switches, 0.0), _logistic.SHARE
    return (
        math.log(experts)
        - stays * math.log1p(-share * (1.0 - 1.0 / experts))
        + switches * math.log(experts / share)
    )
