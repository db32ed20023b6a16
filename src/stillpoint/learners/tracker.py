"""Tracker: an ageing bank of filters, guarded by OGDs, in a ball that grows by gains.

The heuristic h is where a bank of filters believes the target to be (`_bank.py`). Hedge with prior
1 − δ on h and δ on projected OGDs with steps D·4^{−i}/Γ (the experts of Zhang, Lu & Zhou 2018)
keeps Ader's guarantee whatever h does. The ball's radius D doubles when the gain −Σ⟨g, w⟩ of an
epoch reaches 1.4·D√V, less in the first rounds, or when bets on the gain raise an alarm.
"""

import math
from typing import Any

import numpy as np

from stillpoint.core.allocation import full, zeros
from stillpoint.core.state import saved
from stillpoint.core.validation import Array, counted, nonnegative, stored
from stillpoint.domains import Ball, Domain, Everywhere, _sets
from stillpoint.domains.base import as_domain
from stillpoint.kernels import Kernel
from stillpoint.kernels.base import as_kernel
from stillpoint.learners import _bank, _tracker
from stillpoint.learners._tracker import AT, ROW
from stillpoint.learners.bank import grown, levels_of, new_bank
from stillpoint.learners.base import GradientLearner
from stillpoint.losses import LossStream
from stillpoint.losses._pointwise import Outputs
from stillpoint.memory import make_memory
from stillpoint.regret.ledger import Ledger

_BLOCK = 65536
_MOST = _tracker.LOG_PRIOR.size - 2  # experts: one joins each time the rounds have grown 16-fold
NAMES = {"scalars": "stats", "numbers": "bank"}  # of fields, in files


class Tracker(GradientLearner):
    """Online learner for gradients that adapts to everything: the default for gradient feedback.

    It assumes no horizon, radius, path length, scale of targets or gradient bound.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    domain : Domain, optional
        Where plays may lie. A ball around 0 caps the radius; plays are projected on other sets.
    certify : Kernel, optional
        A kernel to measure comparators by; `certificate(radius)` is then exact at every round.

    Notes
    -----
    `bound` is the guarantee R = Õ(Γ√(M̄(M̄ + P_T)T)), M̄ = max(max‖u_t‖, D_T), with D_T the radius
    reached and Γ the largest gradient. It scales with D_T, not with max‖u_t‖ alone: regret against
    0 is O(D_T√T), and an adversary with linear losses can lift D_T by equal gradients followed by
    noise. Where losing to 0 must be excluded whatever happens, use `MultiScale(lipschitz=…)`.

    Start-up takes about 1.7·log₂(scale/1e-3) rounds; targets smaller than 1e-3 see that scale.
    Equal gradients that are followed by noise leave plays near the radius they led to: regret
    against 0 is then a good part of D√T. Rounds are counted, gaps between times ignored.
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
        self._may_refuse_gradient = self.ledger is not None and self.ledger.may_refuse
        self._may_refuse_late = self._may_refuse_gradient or self.domain._compiled(self.dim) is None
        limit = min(self.domain.reach(self.dim), _tracker.CAP)
        scalars = zeros(len(AT))
        scalars[AT.radius] = radius = min(_tracker.EPS, limit)
        scalars[AT.epochs], scalars[AT.limit] = 1.0, limit
        rows = zeros((ROW.experts, self.dim))
        self._hold(
            _tracker.State(scalars, zeros(1), zeros(0), rows, full(1, 1.0)),
            new_bank(self.dim, radius),
        )

    def _hold(self, state: _tracker.State, bank: _bank.Bank) -> None:
        """Keep the arrays of a state as attributes: every round passes them one by one."""
        self._scalars, self._losses, self._squares, self._rows, self._weights = state
        self._bank = bank
        self._view = self._rows[ROW.play]
        self._due = _tracker.due(self._squares.size, levels_of(bank))

    @property
    def _state(self) -> _tracker.State:
        return _tracker.State(self._scalars, self._losses, self._squares, self._rows, self._weights)

    @property
    def _may_refuse_time(self) -> bool:
        return self.ledger is not None and not self._started

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return dict(self._config)

    @property
    def radius(self) -> float:
        """D, the radius of the ball that the learner works in now."""
        return float(self._scalars[AT.radius])

    @property
    def step(self) -> float:
        """The step of the bank's mean: a gradient g moves what it proposes by about −step·g."""
        bank, total = self._bank, float(self._bank.beliefs.sum())
        mean = float(bank.numbers[_bank.AT.mean])
        if mean == 0.0 or total == 0.0:
            return 0.0
        scales = bank.numbers[_bank.AT.scale] * _bank.RATIO ** -np.arange(float(_bank.SCALES))
        rates = _bank.RATES[: len(bank.beliefs)]
        return float(rates @ bank.beliefs @ scales) / total / math.sqrt(mean)

    @property
    def weights(self) -> Array:
        """Shares of the last play: the heuristic's, then the OGDs' from the largest step down."""
        return self._weights.copy()

    def bound(self, path_length: float, magnitude: float) -> float:
        """Bound the regret so far against every comparator of that size in the domain.

        Parameters
        ----------
        path_length : float
            P = Σ‖u_{t+1} − u_t‖.
        magnitude : float
            M = max‖u_t‖.

        Notes
        -----
        With K epochs, n experts, m = max(M, D), V = Γ·Σ‖g‖ and a = (2/8)·log(n(n + 1)/δ) + 8/2,
        R ≤ (7a/3 + 7/5)m√(K(V + KΓ²)) + (35/3)√(m(Km + P)V) + KmΓ + Γ(D + M), whatever the
        heuristic does.
        """
        P, M = nonnegative("path_length", path_length), nonnegative("magnitude", magnitude)
        if M > self.domain.reach(self.dim) * (1.0 + 1e-9):
            raise ValueError(
                f"magnitude must be within the domain {self.domain!r}: got {M}; comparators must"
                " lie in it"
            )
        s = self._scalars
        top, K = float(s[AT.top]), float(s[AT.epochs])
        largest, count = max(M, self.radius), max(1, self._squares.size)
        squares = top * float(s[AT.total])
        a = (
            2.0 / _tracker.RATE * math.log(count * (count + 1) / _tracker.DELTA)
            + _tracker.RATE / 2.0
        )
        meta = (7.0 * a / 3.0 + _tracker.GROW) * largest * math.sqrt(K * (squares + K * top * top))
        experts = 35.0 / 3.0 * math.sqrt(largest * (K * largest + P) * squares)
        return meta + experts + K * largest * top + top * (self.radius + M)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), **saved(self._state, NAMES), **saved(self._bank, NAMES)}

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of 0.1, which had no bank of filters: guard and radius as saved, and a bank that
        begins at the last play.
        """
        if NAMES["numbers"] in state:
            return state
        rows = stored(state, "rows", None, self.dim)
        scalars, rows = _tracker.from_first(stored(state, "stats", 11), rows, int(state["rounds"]))
        bank = new_bank(self.dim, float(scalars[AT.radius]))
        bank.filters[0, 1] = rows[ROW.play]
        return {**state, **saved(bank, NAMES), NAMES["scalars"]: scalars, "rows": rows}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        experts = stored(state, "squares", None).size
        counted("squares", experts, _MOST)
        self._hold(
            _tracker.State(
                scalars=stored(state, NAMES["scalars"], len(AT)),
                losses=stored(state, "losses", 1 + experts),
                squares=stored(state, "squares", experts),
                rows=stored(state, "rows", ROW.experts + experts, self.dim),
                weights=stored(state, "weights", 1 + experts),
            ),
            self._stored_bank(state),
        )

    def _stored_bank(self, state: dict[str, Any]) -> _bank.Bank:
        n = stored(state, "beliefs", None, _bank.SCALES).shape[0]
        levels = next((k for k in range(1, _bank.LEVELS + 1) if _bank.rows_of(k) == n), 0)
        if levels == 0:
            raise ValueError(
                f"beliefs must be of a bank of 1 to {_bank.LEVELS} levels: got {n} rows; the file"
                " was changed"
            )
        return _bank.Bank(
            numbers=stored(state, NAMES["numbers"], _bank.NUMBERS),
            filters=stored(state, "filters", n, 2, self.dim),
            velocities=stored(state, "velocities", _bank.trends_of(levels), 2, self.dim),
            beliefs=stored(state, "beliefs", n, _bank.SCALES),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # pickles and deep copies do not keep that one array is a part of another
        self._view = self._rows[ROW.play]

    def _join(self) -> None:
        """Let experts and filters join that are due: expert i in round 16^i, level k after 2·4^k.

        An expert starts where the last play was, with the loss of one that had played as the
        learner did.
        """
        while self.rounds + 1 >= self._due:
            state, bank, last = self._state, self._bank, self._view
            if self.rounds + 1 >= _tracker.expert_due(state.squares.size):
                state = _tracker.State(
                    state.scalars,
                    losses=np.append(state.losses, -state.scalars[AT.gain]),
                    squares=np.append(state.squares, last @ last),
                    rows=np.vstack([state.rows, last]),
                    weights=np.append(state.weights, 0.0),
                )
            if self.rounds + 1 >= _bank.level_due(levels_of(bank)):
                bank = grown(bank)
            self._hold(state, bank)

    def _propose(self, time: float) -> Array:
        if self.rounds + 1 >= self._due:
            self._join()
        _tracker.mix_round(self._scalars, self._losses, self._squares, self._rows, self._weights)
        return self._view if self._projection is None else self._projection.project(self._view)

    def _check_gradient(self, g: Array, size: float) -> None:
        """Any finite gradient will do."""

    def _learn(self, g: Array, play: Array) -> None:
        fed = g if self.ledger is None else g.copy()
        if self._projection is not None:
            _sets.surrogate(fed, self._view, play, fed)
        if _tracker.learn_round(
            self._scalars, self._losses, self._squares, self._rows, self._weights, *self._bank, fed
        ):
            self._warn_saturated(_tracker.CAP)

    def _can_compile(self) -> bool:
        """Whether the domain has a compiled form, and no round is open."""
        return not self._is_open and (
            self._projection is None or self._projection._compiled(self.dim) is not None
        )

    def _until_due(self, most: int) -> int:
        """Let experts join that are due; how many rounds, at most `most`, until the next does."""
        if self.rounds + 1 >= self._due:
            self._join()
        return int(min(most, self._due - 1 - self.rounds, _BLOCK))

    @property
    def _region(self) -> _sets.Region:
        """The set that plays are projected on, compiled."""
        domain = Everywhere() if self._projection is None else self._projection
        region = domain._compiled(self.dim)
        assert region is not None
        return region

    def _warn_if_saturated(self) -> None:
        if self.radius >= _tracker.CAP:
            self._warn_saturated(_tracker.CAP)

    def _play_block(
        self, losses: LossStream, times: Array, first: int, out: dict[str, Array]
    ) -> int:
        """Play in compiled code up to the round where the next expert joins."""
        if self.ledger is not None and not self._started:  # a time that it refuses, as in `_open`
            self.ledger.memory.kernel.diagonal(float(times[first]))
        asked = self._until_due(times.size - first)
        rows = slice(first, first + asked)
        outputs = Outputs(out["plays"][rows], out["losses"][rows], out["gradients"][rows])
        n = _tracker.play_rounds(
            self._state, self._bank, self._region, losses.compiled.part(rows), outputs
        )
        self._warn_if_saturated()
        return self._finish_block(times, first, int(n), asked, out)
