"""The record of a play: plays, losses, gradients, and the curves that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.extras import require
from stillpoint.core.validation import Array, finite, nonnegative
from stillpoint.losses import LossStream
from stillpoint.regret.adaptive import AdaptiveRegret, adaptive_regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
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
    label
        What the run is called in figures; `sp.plot` averages runs of one label.
    """

    plays: Array
    losses: Array
    gradients: Array
    times: Array
    linear: Array
    norms: Array
    stream: LossStream | Sequence[Any]
    label: str = ""

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        facts = (f"{name} {value}" for name, value in self._facts().items())
        return f"<Run{f' of {self.label}' if self.label else ''}: {', '.join(facts)}>"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in self._facts().items()
        )
        return f"<table><caption>{escape(self.label or 'Run')}</caption>{''.join(rows)}</table>"

    def _facts(self) -> dict[str, str]:
        """What a reader wants to know first."""
        facts = {"rounds": f"{len(self):,}", "dimension": str(self.plays.shape[1])}
        if len(self):
            facts["total loss"] = f"{self.losses.sum():.6g}"
            facts["mean loss"] = f"{self.losses.mean():.4g}"
        return facts

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

    @property
    def switching_cost(self) -> float:
        """How far the plays have moved: Σ_{t≥2}‖w_t − w_{t−1}‖."""
        return float(np.linalg.norm(np.diff(self.plays, axis=0), axis=1).sum())

    def adaptive_regret(
        self,
        lengths: Sequence[int] | None = None,
        *,
        radius: float | None = None,
        linear: bool = False,
    ) -> AdaptiveRegret:
        """The regret on the worst interval of each length, against the best fixed play on it.

        Parameters
        ----------
        lengths
            Lengths for which every interval is looked at. Default: powers of 2, of which those in
            the geometric cover [i·2^k, (i + 1)·2^k − 1] are; any interval is made of at most two
            of each length.
        radius
            Comparators have norms of at most this (default: any; needed where none is best).
        linear
            Linearised regret Σ⟨g_t, w_t − u⟩, for losses of any kind: at least the regret where
            they are convex.

        Returns
        -------
        AdaptiveRegret
            With `lengths`, `worst`, `first` (round, from 1) and `largest`.

        Notes
        -----
        The geometric cover takes O(T log T). All intervals of a length take O(T) for linear and
        squared losses, O(T log T) for absolute and pinball losses, and O(T·length) for others;
        squared losses with features take the cube of their number in place of a unit. Losses of
        vectors other than these, and those of your own, need `linear`.
        """
        return adaptive_regret(
            self.losses, self.stream, self.plays, self.gradients, lengths, radius, linear
        )

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

    @overload
    def plot(
        self,
        comparators: Mapping[str, ArrayLike] | ArrayLike | None = None,
        radius: float | None = None,
        *,
        ax: None = None,
    ) -> Figure: ...
    @overload
    def plot(
        self,
        comparators: Mapping[str, ArrayLike] | ArrayLike | None = None,
        radius: float | None = None,
        *,
        ax: Axes,
    ) -> Axes: ...
    def plot(
        self,
        comparators: Mapping[str, ArrayLike] | ArrayLike | None = None,
        radius: float | None = None,
        *,
        ax: Axes | None = None,
    ) -> Figure | Axes:
        """Draw plays against comparators, and regret curves; needs matplotlib.

        Parameters
        ----------
        comparators
            A comparator as `regret` takes it, or names and comparators.
        radius
            Draws the certificate at this radius.
        ax
            Axes to draw the regret curves on (without comparators: cumulative loss). Default: a
            figure of its own, with the plays above them.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, which notebooks show; or `ax`, where it was given.
        """
        require("matplotlib", "Run.plot", "plot")
        from stillpoint.report.figures import draw_regret, run_figure

        if comparators is None:
            named: Mapping[str, ArrayLike] = {}
        elif isinstance(comparators, Mapping):
            named = comparators
        else:
            named = {"the comparator": comparators}
        if ax is None:
            return run_figure(self, named, radius)
        draw_regret(ax, self, named, radius)
        return ax

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
