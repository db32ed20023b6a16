"""Ader: Zhang, Lu & Zhou (2018), "Adaptive online learning in dynamic environments".

Algorithms 1 and 2, and 3 and 4 with one gradient. Experts i = 1..N run OGD in the ball with η_i =
2^{i−1}(D/G)√(7/(2T)), N = ⌈½log₂(1 + 4T/7)⌉ + 1; Hedge with prior (1 + 1/N)/(i(i + 1)) and rate α =
√(8/(Tc²)) mixes them, c the range of the losses it is given.
"""

import math
from typing import Any, ClassVar

import numpy as np

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import norm
from stillpoint.core.validation import Array, count, nonnegative, number, positive, vector
from stillpoint.domains import Ball
from stillpoint.lab.baselines import _ader
from stillpoint.lab.baselines._hedge import mix, weigh
from stillpoint.lab.online.base import Baseline
from stillpoint.losses._pointwise import Outputs, Rounds
from stillpoint.losses.stream import LossLike, as_loss


class Ader(Baseline):
    """Optimal dynamic regret O(√(T(1 + P_T))) on a ball, with its size, T and G known.

    Parameters
    ----------
    dim
        The dimension of plays.
    horizon
        T. Later rounds are played with the same steps and rate: nothing breaks, and `bound` goes
        on, growing like t.
    lipschitz
        G ≥ ‖g_t‖.
    radius
        Of the ball that holds plays and comparators; the paper's D is its diameter, 2·radius.
    surrogate
        True is improved Ader: experts and Hedge see the linear loss ⟨g_t, · − w_t⟩, c = 2GD, one
        gradient per round. False is the first form: each expert steps along its own gradient, and
        Hedge sees f_t at each expert (c = GD, the most that such losses vary); it must be shown the
        loss itself, by `update_loss`.
    """

    assumes: tuple[str, ...] = ("T", "G", "D")
    _fields: ClassVar[tuple[str, ...]] = ("_experts", "_cumulative")

    def __init__(
        self, dim: int, *, horizon: int, lipschitz: float, radius: float, surrogate: bool = True
    ) -> None:
        super().__init__(
            dim, lipschitz=positive("lipschitz", lipschitz, "give the largest gradient norm")
        )
        assert self.lipschitz is not None
        self.horizon = count("horizon", horizon)
        self.radius = positive("radius", radius)
        self.surrogate = bool(surrogate)
        G, D = self.lipschitz, 2.0 * self.radius
        experts = math.ceil(0.5 * math.log2(1.0 + 4.0 * self.horizon / 7.0)) + 1
        i = np.arange(1.0, experts + 1.0)
        self.steps = 2.0 ** (i - 1.0) * (D / G) * math.sqrt(7.0 / (2.0 * self.horizon))
        self._range = (2.0 if self.surrogate else 1.0) * G * D
        self._alpha = math.sqrt(8.0 / self.horizon) / self._range
        self._log_prior = np.log((1.0 + 1.0 / experts) / (i * (i + 1.0)))
        self._ball = Ball(self.radius)._compiled(self.dim)[1]
        self._experts = zeros((experts, self.dim))
        self._cumulative = zeros(experts)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        given = {
            "dim": self.dim,
            "horizon": self.horizon,
            "lipschitz": self.lipschitz,
            "radius": self.radius,
        }
        return {**given, "surrogate": self.surrogate}

    @property
    def weights(self) -> Array:
        """Hedge's weights on the experts, in the order of `steps`."""
        result = np.empty(self.steps.size)
        weigh(self._log_prior, self._alpha, self._cumulative, result)
        return result

    def _propose(self, time: float) -> Array:
        w = np.empty(self.dim)
        mix(self.weights, self._experts, w)
        return w

    def _check_gradient(self, g: Array, size: float) -> None:
        if not self.surrogate:
            raise ValueError(
                "g is not enough for surrogate=False: got one gradient; call update_loss(loss), or"
                " build surrogate=True"
            )
        super()._check_gradient(g, size)

    def _step(self, g: Array, play: Array) -> None:
        _ader.learn(
            self._experts, self._cumulative, self.steps, self._ball, g, play, np.empty(self.dim)
        )

    @property
    def takes_losses(self) -> bool:
        """Whether it must be shown the loss itself."""
        return not self.surrogate

    def update_loss(self, loss: LossLike, time: float | None = None) -> None:
        """Close the round with its loss, an object with value(w) and gradient(w).

        It is asked for a value and a gradient at every expert where surrogate is False, else for
        the gradient at the play.
        """
        if self.surrogate:
            super().update_loss(loss, time)
            return
        as_loss(loss)
        values = np.array([number("loss.value", loss.value(x.copy())) for x in self._experts])
        gradients = [
            vector("loss.gradient", loss.gradient(x.copy()), self.dim) for x in self._experts
        ]
        for g in gradients:
            if float(norm(g)) > self._limit:
                raise ValueError(
                    f"loss.gradient must have norm at most {self.lipschitz}: got {float(norm(g))};"
                    " raise lipschitz"
                )
        self.predict(time)
        ball = Ball(self.radius)
        for i, g in enumerate(gradients):
            self._experts[i] = ball.project(self._experts[i] - self.steps[i] * g)
        # Hedge ignores what is common to all; sums stay small
        self._cumulative += values - values.min()
        self.observed += 1
        self._closed()

    def bound(self, path_length: float) -> float:
        """Bound on the regret so far against every u_1..u_t in the ball with that path length.

        The path length is Σ‖u_t − u_{t−1}‖. The proof of Theorems 3 and 4 at any t: the least over
        the experts of (7D²/4 + D·P)/η_i + η_i t G²/2 + ln(1/prior_i)/α + αtc²/8. At t = T it is at
        most the printed (3G/4)√(2T(7D² + 4DP)) + (c√(2T)/4)(1 + 2 ln(k + 1)), k = ⌊½log₂(1 +
        4P/(7D))⌋ + 1.
        """
        assert self.lipschitz is not None
        path, t, G, c, D = (
            nonnegative("path_length", path_length),
            self.observed,
            self.lipschitz,
            self._range,
            2.0 * self.radius,
        )
        # steps have 1/G in them and α has 1/c: products from the left stay floats where the squares
        # of G and c do not
        experts = (1.75 * D * D + D * path) / self.steps + 0.5 * self.steps * t * G * G
        meta = -self._log_prior / self._alpha + self._alpha * t * c * c / 8.0
        return float((experts + meta).min()) if t else 0.0

    def _can_compile(self) -> bool:
        """Whether this is the surrogate form and no round is open."""
        return self.surrogate and not self._is_open

    def _play_rounds(self, rounds: Rounds, results: Outputs) -> int:
        rule = _ader.Rule(self.steps, self._log_prior, self._alpha, self._ball, self._limit)
        state = _ader.State(self._experts, self._cumulative)
        return int(_ader.play_rounds(state, rule, rounds, results))
