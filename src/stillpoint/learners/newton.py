"""Newton steps in an RKHS as Kalman filters (Theorem sc-regret, E13; Theorem kons, E12).

Both learners run a filter whose observation noise is λ/β. StronglyConvex observes the path itself:
W ← W − G_tΣ_t⁻¹ is the filter's mean with targets w_t − g_t/β. ExpConcave observes it along the
gradient: W ← W − A_t⁻¹G_t is the mean with targets ⟨g_t, w_t⟩ − 1/β.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillpoint.beliefs.belief import SharedBelief
from stillpoint.beliefs.dense import DenseBelief, shared_belief
from stillpoint.beliefs.directions import Directions, directions, drowned
from stillpoint.core.validation import Array, positive, squared, under
from stillpoint.domains import Domain
from stillpoint.domains.base import as_domain
from stillpoint.kernels.base import Kernel, as_kernel
from stillpoint.learners.base import GradientLearner
from stillpoint.regret.dimension import log_det_bound

# beyond them 1/β, λ/β and their products with gradients leave the range of floats
_LEAST, _MOST = 1e-100, 1e100
_ARGUMENTS = "dim", "kernel", "curvature", "ridge", "domain"


class _Newton(GradientLearner):
    """What the two share: a belief that gradients correct, a ridge λ and a curvature β.

    The curvature is taken on trust: no play and gradient contradict it, since the loss ⟨g, y − x⟩ +
    (β/2)‖y − x‖², or with (β/2)⟨g, y − x⟩², has that gradient at x and the inequality there,
    whatever g, x and β. Nor does β|⟨g, x − y⟩| > 1 on the domain: ½(w − y)² on |w| ≤ C, |y| ≤ Y has
    β = 1/(C + Y)² and reaches 2C/(C + Y). What is checked is that floats can hold it.
    """

    _belief: SharedBelief | DenseBelief | Directions

    def __init__(
        self, dim: int, kernel: Kernel, curvature: float, ridge: float, domain: Domain | None
    ) -> None:
        super().__init__(dim)
        self.kernel, self.domain = as_kernel("kernel", kernel), as_domain(domain, self.dim)
        self.curvature = positive("curvature", curvature)
        self.ridge = positive("ridge", ridge, "give a number above 0, such as 1")
        self._noise = self.ridge / self.curvature
        if not (_LEAST <= self.curvature <= _MOST and _LEAST <= self._noise <= _MOST):
            raise ValueError(
                f"curvature must be between {_LEAST:g} and {_MOST:g}, and so must ridge/curvature:"
                f" got {curvature!r} with ridge {ridge!r}; rescale the losses"
            )
        own = self.kernel.state_space() is None and self.kernel._may_fail
        self._may_refuse_late = own or self.domain._compiled(self.dim) is None
        if own:
            self._may_refuse_gradient, self._refuses_unchanged = True, False
        self._cost, self.log_det, self._trace = 0.0, 0.0, 0.0

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {name: getattr(self, name) for name in _ARGUMENTS}

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        belief = {f"belief.{key}": value for key, value in self._belief.arrays().items()}
        own = {"cost": self._cost, "log_det": self.log_det, "trace": self._trace}
        return {**super().arrays(), **own, **belief}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._cost, self.log_det = float(state["cost"]), float(state["log_det"])
        self._trace = float(state["trace"])
        self._belief.restore(under(state, "belief."))

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"trace"})  # see `migrated`

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of a version that did not keep the trace of the Gram matrix: it is unknown."""
        return {"trace": math.inf, **state}

    @property
    def effective_dimension(self) -> float:
        """d_eff(λ/β) = Tr K(K + (λ/β)I)⁻¹, K the Gram matrix of what was observed.

        It takes O(t³) where the filter is dense.
        """
        return self._belief.effective_dimension()

    @property
    def _growth(self) -> float:
        """What log det(I + (β/λ)K) is at most by the effective dimension and Tr K."""
        return log_det_bound(self.effective_dimension, self._trace, self._noise)

    def _within(self, norm: float, growth: float) -> float:
        """(λ/2)‖U‖² + growth/(2β)."""
        return 0.5 * self.ridge * squared("norm", norm) + growth / (2.0 * self.curvature)

    def _advance(self, time: float) -> None:
        """Move the belief to a time."""
        if not self.rounds:
            self._belief.kernel.diagonal(time)  # it may refuse a time before the first it lives on
        self._belief.advance(time)

    def _check_gradient(self, g: Array, size: float) -> None:
        """Any finite gradient will do."""

    def certificate(self, radius: float) -> float:
        """Bound the regret so far against every comparator in the domain with ‖U‖ ≤ radius.

        It holds if the losses have the curvature.
        """
        return 0.5 * self.ridge * squared("radius", radius) + self._cost


class StronglyConvex(_Newton):
    """Online Newton step for strongly convex losses.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    kernel : Kernel
        A kernel on time.
    curvature : float
        β, the constant of strong convexity of the losses.
    ridge : float, default 1
        λ, the weight of ‖U‖²/2.
    domain : Domain, optional
        Where plays may lie; they are projected in the norm of Σ, which on values is Euclidean.

    Notes
    -----
    W_{t+1} = W_t − G_t Σ_t⁻¹, Σ_t = λI + βΣφ⊗φ, in O(P² + dP) a round; kernels without a state
    space run dense, O(t²) a round. The certificate is (λ/2)‖U‖² + Σ‖g_t‖²v_t/(2βS_t), v_t the
    filter's variance and S_t = v_t + λ/β.
    """

    _belief: SharedBelief | DenseBelief

    def __init__(
        self,
        dim: int,
        *,
        kernel: Kernel,
        curvature: float,
        ridge: float = 1.0,
        domain: Domain | None = None,
    ) -> None:
        super().__init__(dim, kernel, curvature, ridge, domain)
        self._belief = shared_belief(kernel, self.dim, self._noise)
        self._top = 0.0

    def _propose(self, time: float) -> Array:
        self._advance(time)
        belief = self._belief
        play = self.domain.project(belief.mean)
        if belief.variance > 0.0 and not np.array_equal(play, belief.mean):
            belief.shift((play - belief.mean) / belief.variance)
        return play

    def _learn(self, g: Array, play: Array) -> None:
        variance, size = self._belief.variance, float(g @ g)
        S = variance + self._noise
        self._top = max(self._top, size)
        self._trace += self._belief.prior_variance()
        self._cost += size * variance / (2.0 * self.curvature * S)
        self.log_det += math.log1p(variance / self._noise)
        self._belief.observe(S, -g / self.curvature)

    def bound(self, norm: float) -> float:
        """Bound the regret so far against comparators with ‖U‖ = norm.

        Theorem sc-regret (E13): (λ/2)‖U‖² + (G²/2β) log det(I + βK/λ), G the largest gradient.
        """
        return self._within(norm, self._top * self.log_det)

    def dimension_bound(self, norm: float) -> float:
        """Bound the regret so far by the effective dimension; never below `bound`.

        Theorem sc-regret as stated (E13): (λ/2)‖U‖² + (G²/2β) d_eff(λ/β) log(e + eβ·Tr K/λ).
        """
        return self._within(norm, self._top * self._growth)

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), "top": self._top}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._top = float(state["top"])


class ExpConcave(_Newton):
    """Online Newton step for exp-concave losses (KONS).

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    kernel : Kernel
        A kernel on time.
    curvature : float
        β of ℓ(x) − ℓ(y) ≤ ⟨g, x−y⟩ − (β/2)⟨g, x−y⟩²; `sp.losses.newton_curvature` converts an
        exp-concavity constant.
    ridge : float, default 1
        λ, the weight of ‖U‖²/2.
    domain : Domain, optional
        Where plays may lie; they are projected on it in the metric of A
        (`Domain.project_in_metric`).
    track_dimension : bool, default False
        Keep what `effective_dimension` and `dimension_bound` need: one more covariance.

    Notes
    -----
    W ← W − A_t⁻¹G_t, A_t = λI + βΣG⊗G, in O((dP)²) a round; kernels without a state space run
    dense, O(t²) a round. The certificate is (λ/2)‖U‖² + Σv_t/(2βS_t), for comparators in the
    domain, v_t the filter's variance along g_t and S_t = v_t + λ/β.
    """

    _may_refuse_gradient = _refuses_unchanged = True  # curvature may drown in it
    _belief: Directions

    def __init__(
        self,
        dim: int,
        *,
        kernel: Kernel,
        curvature: float,
        ridge: float = 1.0,
        domain: Domain | None = None,
        track_dimension: bool = False,
    ) -> None:
        super().__init__(dim, kernel, curvature, ridge, domain)
        self.track_dimension = bool(track_dimension)
        self._belief = directions(kernel, self.dim, self._noise, track=self.track_dimension)

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {**super().config, "track_dimension": self.track_dimension}

    def _propose(self, time: float) -> Array:
        self._advance(time)
        belief = self._belief
        mean = belief.values()
        if self.domain.contains(mean, tolerance=0.0):
            return mean
        metric = belief.value_covariance()
        if metric.trace() <= 0.0:
            return self.domain.project(mean)
        play = self.domain.project_in_metric(mean, metric)
        belief.shift(np.asarray(np.linalg.lstsq(metric, play - mean, rcond=None)[0], np.float64))
        return play

    def _learn(self, g: Array, play: Array) -> None:
        prior = self._belief.prior(g)
        # the covariance is only asked for where it matters, and may be beyond floats there
        with np.errstate(over="ignore"):
            hidden = drowned(prior, self._noise) and drowned(
                prior, self._noise + float(g @ self._belief.value_covariance() @ g)
            )
        if hidden:
            raise ValueError(
                f"curvature must not drown in the gradients: got {self.curvature} with ridge"
                f" {self.ridge} and a gradient of norm {float(np.linalg.norm(g))}, beyond double"
                " precision; lower curvature, raise ridge or rescale the losses"
            )
        self._trace += prior
        variance = self._belief.look(g)[1]
        S = variance + self._noise
        self._cost += variance / (2.0 * self.curvature * S)
        self.log_det += math.log1p(variance / self._noise)
        self._belief.observe(S, -1.0 / self.curvature)

    def bound(self, norm: float) -> float:
        """Bound the regret so far against comparators with ‖U‖ = norm.

        Theorem kons, corrected (E12): (λ/2)‖U‖² + (1/2β) log det(I + (β/λ)K_g), K_g the Gram matrix
        of the gradients.
        """
        return self._within(norm, self.log_det)

    def dimension_bound(self, norm: float) -> float:
        """Bound the regret so far by the effective dimension; never below `bound`.

        Theorem kons as stated, corrected (E12): (λ/2)‖U‖² + d_eff(λ/β)/(2β)·log(e + eβ·Tr K_g/λ).
        """
        return self._within(norm, self._growth)
