"""What a play leaves behind: plays, losses, gradients, and the curves that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.validation import Array, finite, nonnegative
from stillpoint.losses import LossStream

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of T rounds.

    plays, gradients: (T, dim). losses, times: (T,). stream: the losses, so that any comparator can
    be judged afterwards.
    linear, norms: Σ⟨g, w⟩ and ‖Σ g ⊗ φ‖ after each round as the learner's ledger has them, for
    `certificate`: they count from the learner's first round, which may be before this run. Without
    a ledger `linear` is the run's own, and norms are NaN.
    """

    plays: Array
    losses: Array
    gradients: Array
    times: Array
    linear: Array
    norms: Array
    stream: LossStream | Sequence[Any]

    def __len__(self) -> int:
        return len(self.losses)

    @overload
    def regret(self, comparators: Mapping[str, ArrayLike]) -> dict[str, Array]: ...
    @overload
    def regret(self, comparators: ArrayLike) -> Array: ...
    def regret(self, comparators: ArrayLike | Mapping[str, ArrayLike]) -> Array | dict[str, Array]:
        """Running Σ(ℓ_s(w_s) − ℓ_s(u_s)), shape (T,), for u of shape (T, dim), (T,) when dim is 1,
        or (dim,); or one a name.
        """
        if isinstance(comparators, Mapping):
            return {name: self.regret(u) for name, u in comparators.items()}
        return np.cumsum(self.losses - self._values(comparators))

    def linear_regret(self, u: ArrayLike) -> Array:
        """Running Σ⟨g_s, w_s − u_s⟩, shape (T,): what certificates bound; at least the regret where
        losses are convex.
        """
        return np.cumsum((self.gradients * (self.plays - self.sequence(u))).sum(axis=1))

    def certificate(self, radius: float) -> Array:
        """The live certificate after each round: linearised regret against the worst comparator
        with ‖U‖ ≤ radius, (T,).

        It covers the learner's whole life, rounds before this run too.
        """
        if np.isnan(self.norms).any():
            raise ValueError(
                "certificate needs a learner with a ledger; this run's learner keeps none"
            )
        return self.linear + nonnegative("radius", radius) * self.norms

    def plot(
        self, comparators: Mapping[str, ArrayLike] | None = None, radius: float | None = None
    ) -> Figure:
        """Plays against comparators, and regret curves with the certificate at `radius`; returns a
        matplotlib Figure.
        """
        from stillpoint.report.figures import run_figure

        return run_figure(self, comparators or {}, radius)

    def sequence(self, u: ArrayLike) -> Array:
        """A comparator as one point a round, (T, dim)."""
        array, (rounds, dim) = finite("u", u), self.plays.shape
        if array.shape == (rounds,) and dim == 1:
            array = array[:, None]
        if array.shape not in ((dim,), (rounds, dim)):
            raise ValueError(
                f"u must have shape ({rounds}, {dim}) or ({dim},): got {array.shape}; pass one"
                " point a round"
            )
        return np.broadcast_to(array, self.plays.shape)

    def _values(self, u: ArrayLike) -> Array:
        sequence = self.sequence(u)
        if isinstance(self.stream, LossStream):
            return self.stream.values(sequence)
        return np.array(
            [loss.value(point) for loss, point in zip(self.stream, sequence, strict=True)]
        )
