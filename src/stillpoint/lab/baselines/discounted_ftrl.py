"""Discounted FTRL: Zhang, Bombara & Yang (2024), "Discounted adaptive online learning".

Their rescaling of gradients by γ^{−t}, applied to SOLO FTRL (Orabona & Pál 2018, "Scale-free online
learning", Theorem 1) with ‖w‖²/(2r): for θ_t = Σ_{s≤t} γ^{t−s} g_s and V_t = Σ_{s≤t}
γ^{2(t−s)}‖g_s‖² it plays w_{t+1} = argmin_w ⟨θ_t, w⟩ + √V_t‖w‖²/(2r) = Π(−rθ_t/√V_t). The paper's
own learner adapts to ‖u‖ as well; this one is given r.
"""

import math
from typing import Any, ClassVar

from stillpoint.core.allocation import zeros
from stillpoint.core.arithmetic import norm
from stillpoint.core.validation import Array, nonnegative, number, positive, squared
from stillpoint.domains import Domain
from stillpoint.domains.base import as_domain
from stillpoint.lab.online.base import Baseline

# below this √V is no longer discounted: plays depend on ratios only, and those would drown in
# rounding
_FLOOR = 1e-200


class DiscountedFTRL(Baseline):
    """Follow the regularised leader of about the last 1/(1 − γ) rounds, in any unit of gradients.

    Parameters
    ----------
    dim
        The dimension of plays.
    discount
        γ in (0, 1]; 1 forgets nothing.
    radius
        r, the size of comparator that the regulariser is made for.
    domain
        Where plays may lie (default: everywhere).
    """

    assumes: tuple[str, ...] = ("γ", "D")
    _fields: ClassVar[tuple[str, ...]] = ("_theta", "_root", "_top", "_roots", "_tops", "_pull")

    def __init__(
        self, dim: int, *, discount: float, radius: float = 1.0, domain: Domain | None = None
    ) -> None:
        super().__init__(dim)
        self.discount = number("discount", discount)
        if not 0.0 < self.discount <= 1.0:
            raise ValueError(
                f"discount must be above 0 and at most 1: got {discount!r}; 0.99 looks back about"
                " 100 rounds"
            )
        self.radius = positive("radius", radius)
        self.domain = as_domain(domain, self.dim)
        self._theta = zeros(self.dim)
        self._root = self._top = 0.0  # √V_t and max_s γ^{t−s}‖g_s‖
        # Σ√V_t, Σ of the second terms of the bound, and max‖θ_t‖
        self._roots = self._tops = self._pull = 0.0

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {
            "dim": self.dim,
            "discount": self.discount,
            "radius": self.radius,
            "domain": self.domain,
        }

    def _propose(self, time: float) -> Array:
        scale = self.radius / self._root if self._root > 0.0 else 0.0
        return self.domain.project(0.0 - scale * self._theta)

    def _step(self, g: Array, play: Array) -> None:
        gamma, size = self.discount if self._root > _FLOOR else 1.0, float(norm(g))
        self._theta = gamma * self._theta + g
        self._root = math.hypot(gamma * self._root, size)
        self._top = max(gamma * self._top, size)
        self._roots += self._root
        self._tops += self._jump * self._top
        self._pull = max(self._pull, float(norm(self._theta)))

    @property
    def _jump(self) -> float:
        """How far one gradient can move the play: min(r√(t − 1), the diameter)."""
        return min(
            self.radius * math.sqrt(max(self.observed - 1, 0)), 2.0 * self.domain.reach(self.dim)
        )

    def discounted_bound(self, size: float) -> float:
        """Bound on Σ_{s≤t} γ^{t−s}⟨g_s, w_s − u⟩ for every u in the domain with ‖u‖ = size.

        (‖u‖²/(2r) + 2.75r)√V_t + 3.5 min(r√(t − 1), diameter)·max_s γ^{t−s}‖g_s‖.
        """
        first = squared("size", size) / (2.0 * self.radius) + 2.75 * self.radius
        return first * self._root + 3.5 * self._jump * self._top

    def bound(self, magnitude: float, path_length: float = 0.0) -> float:
        """Bound on the regret so far against every u_1..u_T in the domain.

        Parameters
        ----------
        magnitude
            max‖u_t‖.
        path_length
            P = Σ‖u_t − u_{t−1}‖.

        Notes
        -----
        ⟨g_t, w_t − u_t⟩ = R_t(u_t) − γR_{t−1}(u_t) for the discounted regrets R_t, so with their
        bounds B_t it is (1 − γ)ΣB_t + γB_T + γ·max‖θ_t‖·P.
        """
        gamma = self.discount
        first = squared("magnitude", magnitude) / (2.0 * self.radius) + 2.75 * self.radius
        average = (1.0 - gamma) * (first * self._roots + 3.5 * self._tops)
        return average + gamma * (
            self.discounted_bound(magnitude) + self._pull * nonnegative("path_length", path_length)
        )
