"""TrackingVAW: regression on contexts that moves along an RKHS on time, forecast as Vovk, Azoury
and Warmuth do.

The filter of KernelVAW with H = x_t⊗h (KALMAN section 6): the Gram matrix is ⟨x_s, x_t⟩k(s, t), the
forecast λ m_t/(λ + v_t). With a kernel κ on contexts it is κ(x_s, x_t)k(s, t), and the filter a
dense one.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs.dense import Gram
from stillpoint.beliefs.directions import StreamingDirections, directions, drowned
from stillpoint.core.allocation import zeros
from stillpoint.core.state import rollback_on_error
from stillpoint.core.validation import Array, count, finite, number, real, under, vector
from stillpoint.forecasters._vaw import diagonal_rounds
from stillpoint.forecasters.base import VAWForecaster, limited
from stillpoint.forecasters.uniform_grid import BLOCK
from stillpoint.kernels import GaussianContext, Kernel

_SMALLER = "rescale the features"


class Transformer(Protocol):
    """A fitted map from rows of contexts to rows of features, such as scikit-learn's Nystroem or
    RBFSampler.
    """

    def transform(self, X: Array) -> ArrayLike:
        """Features of each row of X."""


class TrackingVAW(VAWForecaster):
    """Squared loss on f(t, x_t): forecast y_t from x_t, then see it. f(t, x) = ⟨w(t), x⟩ unless
    `context` says otherwise.

    dim: features of a context. kernel: which paths of coefficients are cheap; Spline(offset) fits
    slow drift, Constant() none.
    ridge: λ, how smooth they are taken to be. context: what f may be as a function of x.
        None: linear. O((dim·P)²) a round for kernels with a state space, dense and O(t²) for
        others. A kernel on contexts, (n, dim) and (m, dim) to an (n, m) Gram matrix, such as
        sp.kernels.GaussianContext or any scikit-learn Gaussian-process kernel: the Gram matrix is
        the product k(s, t)κ(x_s, x_t); exact, O(t²) a round. A fitted transformer, such as
        scikit-learn's Nystroem: linear in its features, whose number is the budget; flat cost.
        Comparators of `certificate` and `bound` are functions of time in the space of the features
        used: paths u(t) of coefficients of x or of the transformed x, or members of the product
        RKHS of k and κ, whose norm is that of the pairs (t, x) seen.
    """

    _saved = (*VAWForecaster._saved, "_x", "_mean", "_variance", "_prior")

    def __init__(
        self,
        dim: int,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        context: Gram | Transformer | None = None,
    ) -> None:
        super().__init__(kernel, ridge)
        self.dim, self.context = count("dim", dim), context
        self._transform, self._inner, self._width = _read(context, self.dim)
        self._belief = directions(
            self.kernel, self._width, self.ridge, inner=self._inner, track=True
        )
        self._x, self._mean, self._variance, self._prior = zeros(self.dim), 0.0, 0.0, 0.0

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """The forecast for the coming round, whose context is x; called again before `update` it is
        the same.
        """
        context = limited("x", vector("x", x, self.dim).copy(), _SMALLER)
        if self._open:
            if not np.array_equal(context, self._x):
                raise ValueError(
                    f"x must be that of the open round: got {context}, open with {self._x}; call"
                    " update or skip first"
                )
            self._same_round(time)
        else:
            features, when, before = self._features(context), self._coming(time), self._belief.time
            self._belief.advance(when)
            try:
                prior = self._belief.prior(features)
                self._mean, self._variance = self._belief.look(features)
            # a kernel on contexts may refuse this one; the dense belief has moved its clock alone
            except Exception:
                self._belief.time = before
                raise
            self._x, self._prior, self.time, self._started, self._open = (
                context,
                prior,
                when,
                True,
                True,
            )
        return self.ridge / (self._variance + self.ridge) * self._mean

    def _features(self, context: Array) -> Array:
        """What the filter is linear in."""
        return (
            context
            if self._transform is None
            else limited("the transformed x", self._transform(context), _SMALLER)
        )

    def update(self, x: ArrayLike, y: float) -> None:
        """What the round with context x turned out to be; without `predict` the round is one time
        step after the last.

        A context too long for double precision is refused; `skip` closes a round that `predict` has
        opened with one.
        """
        target = number("y", y, "call skip() for a missing observation")
        limited("y", np.array([target]), "rescale the targets")
        # whether ridge drowns in x shows once the round is open: one that this call opened must not
        # stay so
        with nullcontext() if self._open else rollback_on_error(self):
            self._take(x, target)

    def _take(self, x: ArrayLike, target: float) -> None:
        self.predict(x)
        if drowned(self._prior, self._variance + self.ridge):
            raise ValueError(
                f"ridge must not drown in the contexts: got {self.ridge} and x of prior variance"
                f" {self._prior:g}, beyond double precision; rescale the features or raise ridge,"
                " or skip() the round"
            )
        S = self._account(target * target, self._mean * self._mean, self._variance, self._prior)
        self._belief.observe(S, target - self._mean)
        self._close()

    def track(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecasts (T,) of targets y (T,) from contexts X (T, dim): predict and update in turn,
        compiled where F is diagonal.

        Where `context`, or `update`, refuses a row, the rounds before it have been played.
        """
        # a copy: for arrays that may not be written to, loops are compiled anew
        rows, targets = (
            finite("X", X),
            np.array(finite("y", y, "call skip() for a missing observation")),
        )
        self._closed("X")
        if targets.ndim != 1 or rows.shape != (targets.size, self.dim):
            raise ValueError(
                f"X must have shape (T, {self.dim}) for y of shape (T,): got {rows.shape} for"
                f" {targets.shape}; pass one row a target"
            )
        limited("X", rows, _SMALLER)
        limited("y", targets, "rescale the targets")
        when = self._times(targets.size, times)
        forecasts, done = np.empty(targets.size), 0
        if (
            isinstance(self._belief, StreamingDirections)
            and self._belief.space.diagonal
            and targets.size > 1
        ):
            # the last round goes the long way, so that whatever can be asked about it has an answer
            done = self._play(self._belief, rows[:-1], targets[:-1], when[:-1], forecasts[:-1])
        for t in range(done, targets.size):
            forecasts[t] = self.predict(rows[t], time=float(when[t]))
            self.update(rows[t], float(targets[t]))
        return forecasts

    def _play(
        self, belief: StreamingDirections, rows: Array, y: Array, when: Array, forecasts: Array
    ) -> int:
        """Compiled rounds as far as no row would be refused, by `context` or as too long by
        `update`; returns how many.
        """
        # it holds its directions, and two rows for each kind of gap
        block = max(256, BLOCK // max(belief.M.shape[0], 1))
        for first in range(0, len(y), block):
            features = self._accepted(rows[first : first + block])
            part = slice(first, first + len(features))
            if not len(features):
                return first
            lengths = (features * features).sum(axis=1)
            priors = belief.kernel.diagonal(when[part]) * lengths
            if drowned(float(priors.max()), self.ridge):
                return first
            totals = self._totals(belief.dimension)
            falls, kicks, which, nuggets = belief.diagonal_tables(when[part])
            assert belief.spread is not None
            H = (features[:, :, None] * belief.space.h).reshape(len(features), belief.M.shape[0])
            diagonal_rounds(
                belief.C,
                belief.M,
                belief.spread,
                H,
                self.ridge,
                falls,
                kicks,
                which,
                nuggets * lengths,
                y[part, None],
                totals,
                forecasts[part, None],
            )
            belief.arrived(float(when[part][-1]), float(nuggets[-1]))
            self.rounds, self.time, self._started = self.rounds + len(lengths), belief.time, True
            belief.dimension = self._enter(totals)
            self._trace += float(priors.sum())
            if part.stop < min(first + block, len(y)):
                return part.stop
        return len(y)

    def _accepted(self, rows: Array) -> Array:
        """Features of the rows before the first that `context` refuses; to hear why, ask it about
        that one again.
        """
        if self._transform is None:
            return rows
        features = np.empty((len(rows), self._width))
        for t, row in enumerate(rows):
            try:
                features[t] = self._features(row)
            except Exception:  # whatever code of the user's may raise
                return features[:t]
        return features

    def skip(self, time: float | None = None) -> None:
        """A round whose observation is missing; its context need not be known."""
        if not self._open:
            when = self._coming(time)
            self._belief.advance(when)
            self.time, self._started = when, True
        else:
            self._same_round(time)
        self._close()

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew; refused where `context` is code of the
        user's.
        """
        if not (self.context is None or isinstance(self.context, GaussianContext)):
            raise ValueError(
                f"the learner cannot be saved: got context={self.context!r}, which is not a"
                " built-in part; transform contexts outside and give the features to"
                " TrackingVAW(dim=their number), or use sp.kernels.GaussianContext"
            )
        return {
            "dim": self.dim,
            "kernel": self.kernel,
            "ridge": self.ridge,
            "context": self.context,
        }

    @property
    def coefficients(self) -> Array:
        """Posterior mean of w at the present time, before the VAW shrink; of the transformed
        features where there are such.
        """
        if self._inner is not None:
            raise ValueError(
                "coefficients exist for linear and transformed contexts only: got"
                f" context={self.context!r}; ask predict(x), or give a fitted transformer"
            )
        return self._belief.values()

    @property
    def variance(self) -> float:
        """Posterior variance of f(t, x) at the last context asked about, in units of kernel and
        ridge.
        """
        return self._variance

    @property
    def effective_dimension(self) -> float:
        """d_eff(λ) = Tr K(K + λI)⁻¹ of the rounds observed; O(t³) where the filter is dense."""
        return self._belief.effective_dimension()

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {
            **super().arrays(),
            **{f"belief.{key}": value for key, value in self._belief.arrays().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._belief.restore(under(state, "belief."))


def _read(context: Any, dim: int) -> tuple[Callable[[Array], Array] | None, Gram | None, int]:
    """The map to features or the kernel that `context` stands for, their answers checked, and how
    many features there are.
    """
    if context is None:
        return None, None, dim
    if isinstance(context, type) or not (callable(context) or hasattr(context, "transform")):
        raise ValueError(
            f"context must be None, a kernel on contexts or a fitted transformer: got {context!r}; "
            "use an object such as sp.kernels.GaussianContext(1.0)"
        )

    def inner(a: Array, b: Array) -> Array:
        gram = finite("context's Gram matrix", context(a, b), "check the kernel on contexts")
        if gram.shape != (len(a), len(b)):
            raise ValueError(
                "context must map (n, dim) and (m, dim) to an (n, m) Gram matrix: got shape"
                f" {gram.shape} for {len(a)} and {len(b)} contexts; use a kernel such as"
                " sp.kernels.GaussianContext(1.0)"
            )
        return gram

    def transform(x: Array) -> Array:
        rows = finite(
            "context's features", context.transform(x[None, :].copy()), "check the transformer"
        )
        if rows.shape != (1, width):
            raise ValueError(
                f"context must give features of shape (1, {width}): got shape {rows.shape}; check"
                " the transformer"
            )
        return np.array(rows[0])

    if not hasattr(context, "transform"):
        return None, inner, dim
    try:
        shape = real(
            "context's features", context.transform(np.zeros((1, dim))), "let it give dense arrays"
        ).shape
    except (
        ValueError,
        AttributeError,
        TypeError,
    ) as error:  # scikit-learn's NotFittedError is both of the first two
        raise ValueError(
            f"context must be a transformer fitted on rows of dim = {dim} features: got {context!r}"
            f" ({error}); call its fit first"
        ) from error
    if len(shape) != 2 or shape[0] != 1 or shape[1] == 0:
        raise ValueError(
            f"context must give a row of features a row: got shape {shape} for one row; check the"
            " transformer"
        )
    width = shape[1]
    return transform, None, width
