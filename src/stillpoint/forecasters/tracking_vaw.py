"""TrackingVAW: regression on contexts that moves along an RKHS on time, in Vovk's online form.

The filter of KernelVAW with H = x_t⊗h: the Gram matrix is ⟨x_s, x_t⟩k(s, t), the forecast
λ m_t/(λ + v_t). With a kernel κ on contexts it is κ(x_s, x_t)k(s, t), and the filter a dense one.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.beliefs.dense import Gram
from stillpoint.beliefs.directions import StreamingDirections, directions, drowned
from stillpoint.core.allocation import zeros
from stillpoint.core.state import rollback_on_error
from stillpoint.core.validation import Array, count, finite, number, under, vector
from stillpoint.forecasters._vaw import diagonal_rounds
from stillpoint.forecasters.base import VAWForecaster, limited
from stillpoint.forecasters.contexts import Transformer, read_context
from stillpoint.forecasters.uniform_grid import BLOCK
from stillpoint.kernels import GaussianContext, Kernel

_SMALLER = "rescale the features"


class TrackingVAW(VAWForecaster):
    """Forecast y_t from a context x_t by a function f(t, x) that moves with time.

    f(t, x) = ⟨w(t), x⟩ unless `context` says otherwise.

    Parameters
    ----------
    dim : int
        Features of a context.
    kernel : Kernel, optional
        Which paths of coefficients are cheap; Spline(offset=1), which fits slow drift, if left out.
        Constant() allows none.
    ridge : float, default 1
        λ, how smooth they are taken to be.
    context : optional
        What f may be as a function of x. None: linear, O((dim·P)²) a round for kernels with a state
        space, dense and O(t²) for others. A kernel on contexts, (n, dim) and (m, dim) to an (n, m)
        Gram matrix, such as sp.kernels.GaussianContext or any scikit-learn Gaussian-process kernel:
        the Gram matrix is the product k(s, t)κ(x_s, x_t); exact, O(t²) a round. A fitted
        transformer, such as scikit-learn's Nystroem: linear in its features, whose number is the
        budget; flat cost.

    Notes
    -----
    The comparators of `certificate` and `bound` are functions of time in the space of the features
    used: paths u(t) of coefficients of x or of the transformed x, or members of the product RKHS of
    k and κ, whose norm is that of the pairs (t, x) seen. Forecasts are shrunk towards 0, as those
    of KernelVAW, and depend on where the zero of y is; those of TrackingForecaster do not.
    """

    _saved: ClassVar[dict[str, str]] = VAWForecaster._saved | {
        name: name for name in ("_x", "_mean", "_variance", "_prior")
    }

    def __init__(
        self,
        dim: int,
        *,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        context: Gram | Transformer | None = None,
    ) -> None:
        super().__init__(kernel, ridge)
        self.dim, self.context = count("dim", dim), context
        self._transform, self._inner, self._width = read_context(context, self.dim)
        self._belief = directions(
            self.kernel, self._width, self.ridge, inner=self._inner, track=True
        )
        self._x, self._mean, self._variance, self._prior = zeros(self.dim), 0.0, 0.0, 0.0

    def predict(self, x: ArrayLike, time: float | None = None) -> float:
        """Return the forecast for the coming round; called again before `update` it is the same.

        Parameters
        ----------
        x : array of shape (dim,)
            The context of the round.
        time : float, optional
            When the round is; the last one + 1 if left out.
        """
        self._begin(time, limited("x", vector("x", x, self.dim).copy(), _SMALLER))
        return self.ridge / (self._variance + self.ridge) * self._mean

    def _check_same(self, x: Array | None) -> None:
        if x is not None and not np.array_equal(x, self._x):
            raise ValueError(
                f"x must be that of the open round: got {x}, open with {self._x}; call update or"
                " skip first"
            )

    def _open(self, when: float, x: Array | None) -> None:
        """Move to `when`, and look along x where there is one."""
        if x is None:
            self._belief.advance(when)
            return
        features, before = self._features(x), self._belief.time
        self._belief.advance(when)
        try:
            prior = self._belief.prior(features)
            self._mean, self._variance = self._belief.look(features)
        except Exception:  # a kernel on contexts is code of the user's, and may refuse this one
            self._belief.time = before  # nothing else of a dense belief has moved
            raise
        self._x, self._prior = x, prior

    def _close(self, feedback: float | None) -> None:
        if feedback is None:
            return
        S = self._add_round(
            feedback * feedback, self._mean * self._mean, self._variance, self._prior
        )
        self._belief.observe(S, feedback - self._mean)

    def _features(self, context: Array) -> Array:
        """What the filter is linear in."""
        return (
            context
            if self._transform is None
            else limited("the transformed x", self._transform(context), _SMALLER)
        )

    def update(self, x: ArrayLike, y: float) -> None:
        """Learn the target of the round with context x.

        Without `predict` the round is one time step after the last. A context whose norm is too
        large for double precision is refused; `skip` closes a round that `predict` opened with one.
        """
        target = number("y", y, "call skip() for a missing observation")
        limited("y", np.array([target]), "rescale the targets")
        # whether ridge drowns in x shows once the round is open: one that this call opened must not
        # stay so
        with nullcontext() if self._is_open else rollback_on_error(self):
            self.predict(x)
            if drowned(self._prior, self._variance + self.ridge):
                raise ValueError(
                    f"ridge must not drown in the contexts: got {self.ridge} and x of prior"
                    f" variance {self._prior:g}, beyond double precision; rescale the features or"
                    " raise ridge, or skip() the round"
                )
            self._end(target)

    def track(self, X: ArrayLike, y: ArrayLike, times: ArrayLike | None = None) -> Array:
        """Forecast and learn whole rounds, the numbers of predict and update.

        Compiled where the kernel's transitions are diagonal. Where `context`, or `update`,
        refuses a row, the rounds before it have been played.

        Parameters
        ----------
        X : array of shape (T, dim)
            Contexts.
        y : array of shape (T,)
            Targets, nothing missing.
        times : array of shape (T,), optional
            When each round is; 1 apart if left out.

        Returns
        -------
        array of shape (T,)
            The forecasts.
        """
        # a copy: for arrays that may not be written to, loops are compiled anew
        rows = finite("X", X)
        targets = np.array(finite("y", y, "call skip() for a missing observation"))
        self._begin_bulk("X")
        if targets.ndim != 1 or rows.shape != (targets.size, self.dim):
            raise ValueError(
                f"X must have shape (T, {self.dim}) for y of shape (T,): got {rows.shape} for"
                f" {targets.shape}; pass one row a target"
            )
        limited("X", rows, _SMALLER)
        limited("y", targets, "rescale the targets")
        when = self._coming_times(targets.size, times)
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
        """Play compiled rounds as far as no row would be refused; returns how many."""
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
            moves = belief.diagonal_moves(when[part])
            nugget = float(moves.nuggets[-1])
            H = (features[:, :, None] * belief.space.h).reshape(len(features), belief.M.shape[0])
            diagonal_rounds(
                belief.state,
                H,
                self.ridge,
                moves._replace(nuggets=moves.nuggets * lengths),
                y[part, None],
                totals,
                forecasts[part, None],
            )
            belief.arrived(float(when[part][-1]), nugget)
            self._played(len(lengths), belief.time)
            belief.dimension = self._take_totals(totals)
            self._trace += float(priors.sum())
            if part.stop < min(first + block, len(y)):
                return part.stop
        return len(y)

    def _accepted(self, rows: Array) -> Array:
        """Features of the rows before the first that `context` refuses; ask again to hear why."""
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
        """Close the round, or pass the coming one, without a target or even a context."""
        self._begin(time)
        self._end(None)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this forecaster anew; refused where `context` is user code."""
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
        """Posterior mean of w at the present time, before the VAW shrink.

        Of the transformed features where there are such.
        """
        if self._inner is not None:
            raise ValueError(
                "coefficients exist for linear and transformed contexts only: got"
                f" context={self.context!r}; ask predict(x), or give a fitted transformer"
            )
        return self._belief.values()

    @property
    def variance(self) -> float:
        """Posterior variance of f(t, x) at the last context asked about.

        In units of kernel and ridge.
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
