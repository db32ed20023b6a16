"""Projected online gradient descent: Zinkevich (2003), with scale-free steps (Orabona & Pál 2018).

w_1 = Π(0), w_{t+1} = Π(w_t − η_t g_t).
"""

import math
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import norm
from stillpoint.core.validation import Array, nonnegative, positive
from stillpoint.domains import Domain
from stillpoint.domains._sets import project
from stillpoint.domains.base import as_domain
from stillpoint.lab.baselines import _ogd
from stillpoint.lab.online.base import Baseline
from stillpoint.losses._pointwise import Outputs, Rounds

_SCHEDULES = {"constant": _ogd.CONSTANT, "sqrt": _ogd.SQRT, "scale-free": _ogd.SCALE_FREE}
_ASSUMES = {"constant": ("step",), "sqrt": ("D", "G"), "scale-free": ("D",)}


class OGD(Baseline):
    """Online gradient descent on a domain.

    Parameters
    ----------
    dim
        The dimension of plays.
    step, schedule
        "constant" is η_t = step; "sqrt" is η_t = step/√t, with step = D/G; "scale-free" is
        η_t = step/√Σ_{s≤t}‖g_s‖², with step = D, the size of the domain, and G not needed.
    domain
        Where plays may lie (default: everywhere). The last two schedules promise little without a
        bounded one.
    """

    assumes: tuple[str, ...] = _ASSUMES["constant"]
    _fields: ClassVar[tuple[str, ...]] = ("_w", "_stats")

    def __init__(
        self,
        dim: int,
        *,
        step: float = 1.0,
        schedule: str = "constant",
        domain: Domain | None = None,
    ) -> None:
        super().__init__(dim)
        self.step = positive("step", step)
        if schedule not in _SCHEDULES:
            raise ValueError(
                f"schedule must be one of {sorted(_SCHEDULES)}: got {schedule!r}; choose one"
            )
        self.schedule, self.assumes = schedule, _ASSUMES[schedule]
        self.domain = as_domain(domain, self.dim)
        self._code = _SCHEDULES[schedule]
        self._compiled = self.domain._compiled(self.dim)
        self._may_refuse_gradient = self._compiled is None  # its projection may, late
        self._start = float(norm(self.domain.project(zeros(self.dim))))
        self._w = self.domain.project(zeros(self.dim))
        self._stats = zeros(len(_ogd.AT))

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {
            "dim": self.dim,
            "step": self.step,
            "schedule": self.schedule,
            "domain": self.domain,
        }

    def _propose(self, time: float) -> Array:
        return self._w.copy()

    def _step(self, g: Array, play: Array) -> None:
        z = np.empty(self.dim)
        _ogd.descend(self._code, self.step, self.observed, play, g, self._stats, z)
        if self._compiled is None:
            self._w = self.domain.project(z)
        else:
            project(*self._compiled, z, self._w)

    def bound(self, path_length: float = 0.0, magnitude: float | None = None) -> float:
        """Bound on the regret so far against every u_1..u_T in the domain.

        Parameters
        ----------
        path_length
            P = Σ‖u_t − u_{t−1}‖.
        magnitude
            M = max‖u_t‖; default: the domain's own.

        Notes
        -----
        With W = max‖w_t‖ so far it is ((‖w_1‖ + M)²/2 + W·P)/η + (η/2)Σ‖g_t‖² for a constant step,
        and ((W + M)²/2 + (W + M)P)/η_T + ½Ση_t‖g_t‖² for the others.
        """
        path = nonnegative("path_length", path_length)
        size = (
            self.domain.reach(self.dim)
            if magnitude is None
            else nonnegative("magnitude", magnitude)
        )
        if math.isinf(size):
            raise ValueError(
                "magnitude must be given on an unbounded domain: got None; pass max‖u_t‖"
            )
        last, cost, reach = (
            float(self._stats[i]) for i in (_ogd.AT.last, _ogd.AT.cost, _ogd.AT.reach)
        )
        if last == 0.0:
            return 0.0
        far, move = (
            (self._start + size, reach)
            if self.schedule == "constant"
            else (reach + size, reach + size)
        )
        return (0.5 * far * far + move * path) / last + cost

    @property
    def _state(self) -> _ogd.State:
        return _ogd.State(self._w, self._stats)

    @property
    def _rule(self) -> _ogd.Rule:
        assert self._compiled is not None
        return _ogd.Rule(self._code, self.step, *self._compiled, self._limit)

    def _can_compile(self) -> bool:
        """Whether the domain has a compiled projection, and no round is open."""
        return self._compiled is not None and not self._is_open

    def _play_rounds(self, rounds: Rounds, results: Outputs) -> int:
        return int(_ogd.play_rounds(self._state, self._rule, self.observed, rounds, results))
