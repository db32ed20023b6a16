"""The record of a play: plays, losses, gradients, and the curves that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.extras import require
from stillpoint.core.validation import Array, finite, nonnegative
from stillpoint.losses import LossStream

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of T rounds.

    Parameters
    ----------
    plays, gradients
        Shape (T, dim).
    losses, times
        Shape (T,).
    linear, norms
        Σ⟨g, w⟩ and ‖Σ g ⊗ φ‖ after each round as the learner's ledger has them, for `certificate`:
        they count from the learner's first round, which may be before this run. Without a ledger
        `linear` is the run's own, and norms are NaN.
    stream
        The losses, so that any comparator can be judged afterwards.
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
        """Regret after each round, Σ_{s≤t} ℓ_s(w_s) − ℓ_s(u_s).

        Parameters
        ----------
        comparators
            The u_t, of shape (T, dim), (T,) where dim is 1, or (dim,) for a fixed one; or a mapping
            from names to these.

        Returns
        -------
        Array or dict
            Shape (T,), or one such array per name.
        """
        if isinstance(comparators, Mapping):
            return {name: self.regret(u) for name, u in comparators.items()}
        return np.cumsum(self.losses - self._values(comparators))

    def linear_regret(self, u: ArrayLike) -> Array:
        """Linearised regret after each round, Σ_{s≤t} ⟨g_s, w_s − u_s⟩, shape (T,).

        This is what certificates bound; it is at least the regret where losses are convex.
        """
        return np.cumsum((self.gradients * (self.plays - self.sequence(u))).sum(axis=1))

    def certificate(self, radius: float) -> Array:
        """Live certificate after each round, shape (T,).

        It bounds linearised regret against every comparator with ‖U‖ ≤ radius, over the learner's
        whole life: rounds before this run count, too.
        """
        if np.isnan(self.norms).any():
            raise ValueError(
                "certificate needs a learner with a ledger; this run's learner keeps none"
            )
        return self.linear + nonnegative("radius", radius) * self.norms

    def plot(
        self, comparators: Mapping[str, ArrayLike] | None = None, radius: float | None = None
    ) -> Figure:
        """Draw plays against comparators, and regret curves; needs matplotlib.

        Parameters
        ----------
        comparators
            Names and comparators, as `regret` takes them.
        radius
            Draws the certificate at this radius.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown; save or display it.
        """
        require("matplotlib", "Run.plot", "plot")
        from stillpoint.report.figures import run_figure

        return run_figure(self, comparators or {}, radius)

    def sequence(self, u: ArrayLike) -> Array:
        """Return a comparator as one point per round, shape (T, dim)."""
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
