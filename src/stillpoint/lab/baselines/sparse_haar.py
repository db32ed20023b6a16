"""Sparse coding on the Haar dictionary: Zhang, Cutkosky & Paschalidis (2023).

"Unconstrained dynamic regret via sparse coding": u_t = Σ_n û_n h_n(t), h_n the constant or ±1 on
the halves of a dyadic block; one static learner of û_n in R^d a feature, fed h_n(t)·g_t, and the
play is Σ_n h_n(t)·w_n over the 1 + log₂T features active at t.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.allocation import zeros
from stillpoint.core.validation import Array, count, counted, finite, positive, stored
from stillpoint.lab.baselines import _sparse_haar
from stillpoint.lab.online.base import Baseline
from stillpoint.potentials import CAP, Erfi, FreeGrad, ParameterFree

_MOST = 1000  # levels: 2^1000 rounds


class SparseHaar(Baseline):
    """Dynamic regret that is small for comparators with few and small Haar coefficients.

    A round takes O(dim·log T); there is no domain.

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        G ≥ ‖g_t‖.
    horizon
        T, rounded up to a power of 2. None: unknown; start from 1. Past the horizon a dictionary
        twice as long starts afresh, and so on (the doubling trick); each may lose its own εG to 0.
    potential
        The static learner of each feature; FreeGrad is what the authors run, Erfi and ParameterFree
        do as well. Its `scale` ε is that of the whole dictionary: with T features each has ε/T, so
        that regret against 0 is at most εG.
    """

    assumes: tuple[str, ...] = ("T", "G")
    _fields: ClassVar[tuple[str, ...]] = ("_sums", "_variances", "_start")

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float,
        horizon: int | None = None,
        potential: FreeGrad | Erfi | ParameterFree | None = None,
    ) -> None:
        super().__init__(
            dim, lipschitz=positive("lipschitz", lipschitz, "give the largest gradient norm")
        )
        self.horizon = (
            None
            if horizon is None
            else count("horizon", horizon, "give the number of rounds, or None")
        )
        self.potential = FreeGrad() if potential is None else potential
        if not isinstance(self.potential, FreeGrad | Erfi | ParameterFree):
            raise ValueError(
                f"potential must be FreeGrad, Erfi or ParameterFree: got {potential!r}; use one of"
                " sp.potentials"
            )
        self.assumes = ("G",) if self.horizon is None else ("T", "G")
        # log₂ of the first dictionary's length
        self._first = math.ceil(math.log2(self.horizon or 1))
        self._start = 0
        self._start_interval(self._first)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {
            "dim": self.dim,
            "lipschitz": self.lipschitz,
            "horizon": self.horizon,
            "potential": self.potential,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        counted("variances", self._variances.size, _MOST)
        stored(state, "sums", self._variances.size, self.dim)
        counted("start", self._start, self.rounds)
        counted("rounds", self.rounds - self._start, 2.0 ** (self._variances.size - 1))

    def _shape(self, name: str, array: Array) -> tuple[int | None, ...]:
        return (None, *array.shape[1:])

    def _start_interval(self, levels: int) -> None:
        self._sums = zeros((1 + levels, self.dim))
        self._variances = zeros(1 + levels)

    def _each(self, levels: int) -> FreeGrad | Erfi | ParameterFree:
        return replace(self.potential, scale=self.potential.scale / 2**levels)

    def _propose(self, time: float) -> Array:
        assert self.lipschitz is not None
        levels = len(self._variances) - 1
        if self.rounds - self._start >= 2**levels:
            self._start, levels = self.rounds, levels + 1
            self._start_interval(levels)
        each, w = self._each(levels), np.empty(self.dim)
        position = self.rounds - self._start
        if _sparse_haar.propose(
            position,
            self._sums,
            self._variances,
            self.lipschitz,
            each.code,
            each.parameters,
            each.offset,
            w,
        ):
            self._warn_saturated(CAP)
        return w

    def _step(self, g: Array, play: Array) -> None:
        _sparse_haar.learn(self.rounds - self._start, self._sums, self._variances, g)

    def bound(self, u: ArrayLike, norms: ArrayLike | None = None) -> float:
        """Bound on the regret so far against u: the features' own bounds, added up.

        Parameters
        ----------
        u
            The comparator, shape (rounds, dim). Coefficients are those of u continued by its last
            value.
        norms
            ‖g_t‖ of every round, shape (rounds,); default G each.
        """
        assert self.lipschitz is not None
        path, G = finite("u", u), self.lipschitz
        if path.ndim == 1 and self.dim == 1:
            path = path[:, None]
        if path.shape != (self.rounds, self.dim):
            raise ValueError(
                f"u must have shape ({self.rounds}, {self.dim}): got {path.shape}; pass one point a"
                " round"
            )
        sizes = np.full(self.rounds, G) if norms is None else finite("norms", norms)
        if sizes.shape != (self.rounds,):
            raise ValueError(
                f"norms must have shape ({self.rounds},): got {sizes.shape}; pass one a round"
            )
        total, start, levels = 0.0, 0, self._first
        while start < self.rounds:
            rows = slice(start, start + 2**levels)
            each = self._each(levels)
            for (size, V), times in Counter(features(path[rows], sizes[rows] ** 2, levels)).items():
                total += times * each.bound(size, each.offset * G * G + V, G)
            start, levels = start + 2**levels, levels + 1
        return total


def features(u: Array, squares: Array, levels: int) -> list[tuple[float, float]]:
    """(‖û_n‖, Σ‖g_t‖² while active) of every feature active by now.

    Of a dictionary of length 2^levels that begins at u's first row.
    """
    found: list[tuple[float, float]] = []
    means, sums = u, squares
    for _ in range(levels):
        # blocks that have not begun all have u's last value: one of them is enough
        if len(means) % 2:
            means, sums = np.concatenate([means, u[-1:]]), np.append(sums, 0.0)
        halves, pairs = means.reshape(-1, 2, u.shape[1]), sums.reshape(-1, 2)
        sizes, sums = np.linalg.norm(halves[:, 0] - halves[:, 1], axis=1) / 2.0, pairs.sum(axis=1)
        means = halves.mean(axis=1)
        found += zip(sizes.tolist(), sums.tolist(), strict=True)
    return [*found, (float(np.linalg.norm(means[0])), float(sums[0]))]
