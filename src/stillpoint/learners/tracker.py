"""Tracker: a white-step tracker, Hedge-guarded by a ladder of OGDs, in a ball that grows only on
earned gain.

The tracker h steps from the play, w − step·g, and tunes log(step) so that successive gradients are
uncorrelated; Hedge with prior 1 − δ on h and δ on projected OGDs with steps D·4^{−i}/Γ (the experts
of Zhang, Lu & Zhou 2018) keeps Ader's guarantee whatever h does; the ball's radius D doubles when
the gain −Σ⟨g, w⟩ of an epoch reaches D√V/2.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.allocation import full, zeros
from stillpoint.core.arithmetic import usable_norm
from stillpoint.core.validation import Array, counted, nonnegative, stored
from stillpoint.domains import Ball, Domain, Everywhere, _sets
from stillpoint.domains.base import as_domain
from stillpoint.kernels import Kernel
from stillpoint.kernels.base import as_kernel
from stillpoint.learners import _tracker
from stillpoint.learners.base import GradientLearner
from stillpoint.losses import LossStream
from stillpoint.memory import make_memory
from stillpoint.regret.ledger import Ledger

_BLOCK = 65536

_MOST = _tracker.LOG_PRIOR.size - 2  # experts: one joins each time the rounds have grown 16-fold


class Tracker(GradientLearner):
    """The default learner for gradient feedback: told no horizon, radius, path length, scale of
    targets or gradient bound.

    dim: d, the dimension of plays.
    domain: where plays may lie. A ball around 0 caps the radius; other sets go by projection (MATH
    section 4).
    certify: a kernel to measure comparators by; then `certificate(radius)` is exact at every round.

    Guarantee (`bound`): R = Õ(Γ√(M̄(M̄ + P_T)T)), M̄ = max(max‖u_t‖, D_T), D_T the radius reached,
    Γ the largest gradient.
    Its limits: it scales with D_T, not max‖u_t‖ alone, so regret against 0 is O(D_T√T); an
    adversary with linear losses can lift D_T by equal gradients followed by noise. Where losing to
    0 must be excluded whatever happens, use `MultiScale(lipschitz=…)`. Start-up takes about
    log₂(scale/1e-3) rounds; a constant target under heavy noise costs 1.7 to 2 times the best step,
    at worst 5 (11 where targets are 0.01); targets smaller than 1e-3 see that scale. Rounds are
    counted, gaps between times ignored.
    """

    def __init__(
        self, dim: int, *, domain: Domain | None = None, certify: Kernel | None = None
    ) -> None:
        super().__init__(dim)
        self.domain = as_domain(domain, self.dim)
        self._config = {"dim": self.dim, "domain": self.domain, "certify": certify}
        if certify is not None:
            self.ledger = Ledger(make_memory(as_kernel("certify", certify), self.dim), shared=False)

        # in a ball around 0 the cap on the radius is the whole constraint; on other sets plays are
        # projected
        capped = isinstance(self.domain, Everywhere) or (
            isinstance(self.domain, Ball) and self.domain.center is None
        )
        self._projection = None if capped else self.domain
        limit = min(self.domain.reach(self.dim), _tracker.CAP)
        self._stats = zeros(_tracker.SIZE)
        self._stats[_tracker.RADIUS] = min(_tracker.EPS, limit)
        self._stats[_tracker.LOG_STEP] = math.log(self._stats[_tracker.RADIUS])
        self._stats[[_tracker.EPOCHS, _tracker.WEIGHT]] = 1.0
        self._stats[_tracker.LIMIT] = limit
        self._rows = zeros((_tracker.EXPERTS, self.dim))
        self._losses, self._squares, self._weights = zeros(1), zeros(0), full(1, 1.0)
        self._due = 1.0
        self._view = self._rows[_tracker.PLAY]

    @property
    def _picky(self) -> bool:
        return self.ledger is not None and not self._started

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return dict(self._config)

    @property
    def radius(self) -> float:
        """D, the radius of the ball that the learner works in now."""
        return float(self._stats[_tracker.RADIUS])

    @property
    def step(self) -> float:
        """The tracker's own step: it moves by step·g from the play."""
        top = float(self._stats[_tracker.TOP])
        return math.exp(self._stats[_tracker.LOG_STEP]) / top if top > 0.0 else 0.0

    @property
    def weights(self) -> Array:
        """Shares of the last play: the tracker's first, then the OGDs' from the largest
        step down.
        """
        return self._weights.copy()

    def bound(self, path_length: float, magnitude: float) -> float:
        """Regret now is at most this against every u in the domain with that path length and
        max‖u_t‖ (for any heuristic h).
        """
        P, M = nonnegative("path_length", path_length), nonnegative("magnitude", magnitude)
        if M > self.domain.reach(self.dim) * (1.0 + 1e-9):
            raise ValueError(
                f"magnitude must be within the domain {self.domain!r}: got {M}; comparators must"
                " lie in it"
            )
        s = self._stats
        top, K = float(s[_tracker.TOP]), float(s[_tracker.EPOCHS])
        largest, count = max(M, self.radius), max(1, self._squares.size)
        squares = top * float(s[_tracker.TOTAL])
        a = (
            2.0 / _tracker.RATE * math.log(count * (count + 1) / _tracker.DELTA)
            + _tracker.RATE / 2.0
        )
        meta = (7.0 * a / 3.0 + _tracker.GROW) * largest * math.sqrt(K * (squares + K * top * top))
        experts = 35.0 / 3.0 * math.sqrt(largest * (K * largest + P) * squares)
        return meta + experts + K * largest * top + top * (self.radius + M)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        names = ("stats", "rows", "losses", "squares", "weights")
        return {**super().arrays(), **{name: getattr(self, f"_{name}").copy() for name in names}}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._stats, self._squares = (
            stored(state, "stats", self._stats.size),
            stored(state, "squares", None),
        )
        experts = self._squares.size
        counted("squares", experts, _MOST)
        self._rows = stored(state, "rows", _tracker.EXPERTS + experts, self.dim)
        self._losses, self._weights = (
            stored(state, "losses", 1 + experts),
            stored(state, "weights", 1 + experts),
        )
        self._due = _tracker.BASE ** (2 * self._squares.size)
        self._view = self._rows[_tracker.PLAY]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # pickles and deep copies do not keep that one array is a part of another
        self._view = self._rows[_tracker.PLAY]

    def _join(self) -> None:
        """Expert i joins at round 16^i, where the last play was, with the account of one that had
        played as the learner did.
        """
        last = self._rows[_tracker.PLAY]
        while self.rounds + 1 >= self._due:
            self._rows = np.vstack([self._rows, last])
            self._squares = np.append(self._squares, last @ last)
            self._losses = np.append(self._losses, -self._stats[_tracker.GAIN])
            self._weights = np.append(self._weights, 0.0)
            self._due *= _tracker.BASE**2
        self._view = self._rows[_tracker.PLAY]

    def _propose(self, time: float) -> Array:
        if self.rounds + 1 >= self._due:
            self._join()
        _tracker.mix(self._stats, self._losses, self._rows, self._weights)
        return self._view if self._projection is None else self._projection.project(self._view)

    def _check_gradient(self, g: Array, size: float) -> None:
        """Any finite gradient will do."""

    def _learn(self, g: Array, play: Array) -> None:
        fed = g if self.ledger is None else g.copy()
        if self._projection is not None:
            _sets.surrogate(fed, self._view, play, fed)
        _tracker.learn(self._stats, self._losses, self._squares, self._rows, fed, usable_norm(fed))
        if self._stats[_tracker.RADIUS] >= _tracker.CAP:
            self._warn_saturated(_tracker.CAP)

    def can_compile(self) -> bool:
        """Whether the domain has a compiled form, and no round is open."""
        return not self._is_open and (
            self._projection is None or self._projection.hot(self.dim) is not None
        )

    def play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play in compiled code up to the round where the next expert joins; see
        `GradientLearner.play_block`.
        """
        if self.rounds + 1 >= self._due:
            self._join()
        rows = slice(
            first, int(min(times.size, first + self._due - 1 - self.rounds, first + _BLOCK))
        )
        compiled = (Everywhere() if self._projection is None else self._projection).hot(self.dim)
        assert compiled is not None
        code, parameter, Y, X, mode = losses.compiled
        n = _tracker.play_rounds(
            self._stats,
            self._losses,
            self._squares,
            self._rows,
            self._weights,
            *compiled,
            code,
            parameter,
            mode,
            Y[rows],
            X[rows],
            *(out[key][rows] for key in ("plays", "losses", "gradients")),
        )
        if self._stats[_tracker.RADIUS] >= _tracker.CAP:
            self._warn_saturated(_tracker.CAP)
        return self._finish_block(times, first, int(n), rows.stop - rows.start, out)
