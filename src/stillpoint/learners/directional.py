"""Directional: parameter-free FTRL in norms that grow with the gradients, in an RKHS.

Theorem static-full-matrix and Proposition full-matrix-bound, with erratum E14: with
Σ_t = (λ + G0²)I + Σ_{s<t}G_s⊗G_s, V_t = 4 + Σ‖G_s‖²_{s,*} and N = ‖ΣG_s‖_{t,*},
w_t = −(x(N)/N)(Σ_t⁻¹ΣG_s)φ(t), x being Algorithm 2's magnitude. Other norms: `learners/norms.py`.

Without a bound on gradients they are clipped to a running hint H_t, and
Σ_t = (λ + 1)I + Σ_{s<t}G_s⊗G_s/H_s², V_t = 4H_t² + Σ‖G_s‖²_{s,*}, x with α_t = ε/(A_t log²A_t),
A_t = 4 + Σ_{s<t}‖G_s‖²_{s,*}/H_s². The proof of Theorem static-full-matrix holds: a round's
stability is that of running hints in the one norm ‖·‖_t, in which ‖G_t‖_{t,*} ≤ H_t, and norms and
regularisers only grow between rounds.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stillpoint.core.validation import Array, nonnegative, positive, squared, stored
from stillpoint.domains import Domain
from stillpoint.kernels import Kernel
from stillpoint.kernels.base import as_kernel
from stillpoint.learners import _constrained
from stillpoint.learners._constrained import AT
from stillpoint.learners.constrained import ConstrainedLearner
from stillpoint.learners.norms import Diagonal, FullMatrix, Norms
from stillpoint.memory import make_memory
from stillpoint.potentials import CAP, ParameterFree
from stillpoint.regret.dimension import log_det_bound
from stillpoint.regret.ledger import Ledger

_MOST = 1e100
_NORMS: dict[str, Callable[[Kernel, int, float], Norms]] = {
    "full": FullMatrix,
    "diagonal": Diagonal,
}


class Directional(ConstrainedLearner):
    """Online learner for gradients whose regret adapts to their directions.

    Parameters
    ----------
    dim : int
        Dimension d of plays.
    lipschitz : float, optional
        G ≥ ‖g_t‖. None learns it on the way (scale-free): past gradients bound the next one, which
        is clipped, and plays stay in `domain`, or in a ball that grows by itself.
    kernel : Kernel
        Which paths are cheap; Constant() is the static theorem on R^d, full-matrix parameter-free
        learning. O((dim·P)²) a round for kernels with a state space, dense and O(t²) for others.
    ridge : float, default 1
        λ; with lipschitz=None in units of the squared hint.
    scale : float, default 1
        ε, the size of play before anything is known.
    kernel_bound : float, optional
        max k(t,t), so that G0 = G√kernel_bound; stationary kernels know theirs, growing ones need
        it, unless lipschitz=None.
    norms : {"full", "diagonal"} or callable, default "full"
        "full" follows all directions; "diagonal" has one weight a coordinate at O(dim·P) a round
        and regret Õ(√(Σ‖G‖²_{t,*} Σ_i weights_i‖u_i‖²)); or a function of kernel, dim and floor
        that builds a `stillpoint.learners.norms.Norms`.
    domain : Domain, optional
        Where plays may lie; by projection of plays and of gradients.
    radius_scale : float, default 1
        ε_D of the artificial ball (erratum E15); used only with lipschitz=None and an unbounded
        domain.
    track_dimension : bool, default False
        Keep what `effective_dimension` and `dimension_bound` need, one more covariance; for
        norms="full".

    Attributes
    ----------
    fed : array of shape (dim,)
        What the norms were last fed: the gradient after clipping and projection, over the hint
        where that runs.

    Notes
    -----
    Regret is Õ(√(d_eff((λ + G0²)‖U‖² + Σ⟨g_t, u_t⟩²))): small where u is orthogonal to g.
    """

    _kept = "norms"

    def __init__(
        self,
        dim: int,
        *,
        lipschitz: float | None = None,
        kernel: Kernel,
        ridge: float = 1.0,
        scale: float = 1.0,
        kernel_bound: float | None = None,
        norms: str | Callable[[Kernel, int, float], Norms] = "full",
        domain: Domain | None = None,
        radius_scale: float = 1.0,
        track_dimension: bool = False,
    ) -> None:
        self.kernel = as_kernel("kernel", kernel)
        self.ridge = positive("ridge", ridge, "give a number above 0, such as 1")
        self.scale = positive("scale", scale)
        self._given_bound, self._given_norms = kernel_bound, norms
        known = kernel.bound if kernel_bound is None else positive("kernel_bound", kernel_bound)
        build = _NORMS.get(norms) if isinstance(norms, str) else norms
        if not callable(build):
            raise ValueError(
                f"norms must be 'full', 'diagonal' or a function that builds some: got {norms!r};"
                " leave it out"
            )
        if lipschitz is None:
            known = math.inf
            floor, size = 1.0 + self.ridge, 1.0
        else:
            if not math.isfinite(known):
                raise ValueError(
                    f"kernel_bound must be given for a growing kernel: got None for {kernel!r};"
                    " pass max k(t, t)"
                )
            size = positive(
                "lipschitz", lipschitz, "give the largest gradient norm, or None"
            ) * math.sqrt(known)
            if size > _MOST:
                raise ValueError(
                    f"lipschitz must be at most {_MOST:g}/√kernel_bound, so that squares are"
                    f" floats: got {lipschitz!r} with kernel_bound {known:g}; rescale the losses or"
                    " the kernel"
                )
            floor = self.ridge + size * size
        super().__init__(dim, lipschitz, known, domain, radius_scale)
        self._floor = floor
        # with G known, gradients have norm at most 1 in the norms (E14)
        self._potential = ParameterFree(self.scale * size)
        self._share = size * size / floor  # the most that ‖G_t/unit‖²_{t,*} can be
        self.track_dimension = bool(track_dimension)
        self.norms: Norms
        if self.track_dimension and norms == "full":
            self.norms = FullMatrix(kernel, self.dim, self._floor, track=True)
        elif self.track_dimension:
            raise ValueError(
                f"norms must be 'full' for an effective dimension: got {norms!r}; leave out"
                " track_dimension"
            )
        else:
            self.norms = build(kernel, self.dim, self._floor)
        own = self.norms.memory
        shared = own is not None and self._as_given
        self.ledger = Ledger(
            own if own is not None and shared else make_memory(kernel, self.dim), shared
        )
        self._may_refuse_gradient = self.ledger.may_refuse or callable(norms)
        self._may_refuse_late |= self._may_refuse_gradient
        self._variance = 4.0 if self._fixed else 0.0
        self.fed: Array = np.zeros(self.dim)

    @property
    def _may_refuse_time(self) -> bool:
        return math.isinf(self.kernel.bound) or not self._started

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        names = ("dim", "lipschitz", "kernel", "ridge", "scale", "domain", "radius_scale")
        return {
            **{name: getattr(self, name) for name in names},
            "track_dimension": self.track_dimension,
            "kernel_bound": self._given_bound,
            "norms": self._given_norms,
        }

    @property
    def variance(self) -> float:
        """V_t = 4 + Σ‖G_s‖²_{s,*} of the fed gradients; 4H_t² in place of 4 where the hint runs."""
        return self._variance if self._fixed else 4.0 * self.hint * self.hint + self._variance

    @property
    def _scales(self) -> tuple[float, float, float]:
        """V_t, the bound on ‖G_t‖_{t,*}, and A_t (0 with a fixed hint), as the potential asks."""
        return (
            (self.variance, 1.0, 0.0)
            if self._fixed
            else (self.variance, self.hint, 4.0 + float(self._scalars[AT.scaled]))
        )

    def _propose(self, time: float) -> Array:
        diagonal = float(self.ledger.memory.kernel.diagonal(time))
        if self._fixed and diagonal > self.kernel_bound * (1.0 + 1e-9):
            raise ValueError(
                f"kernel_bound must be at least k(t, t): got {self.kernel_bound} at time {time};"
                " raise it"
            )
        self.norms.advance(time)
        _constrained.raise_hint(self._scalars, self._fixed, diagonal)
        size = math.sqrt(self.norms.square())
        m = self._potential.magnitude(size, *self._scales) if size > 0.0 else 0.0
        self._proposal[:] = m / size * self.norms.values() if m != 0.0 else 0.0
        return self._constrain(m >= CAP)

    def _learn(self, g: Array, play: Array) -> None:
        self.fed = self._feed(g, play)
        if self._fixed:
            self._variance += self.norms.add(self.fed)
            return
        hint, square = self.hint, 0.0
        if hint > 0.0:
            square = hint * hint * self.norms.add(self.fed, hint)
            self._variance += square
            self.fed = self.fed / hint
        _constrained.observe(self._scalars, self._fixed, self._scale_free, square, g)

    def bound(self, norm: float, alignment: float, magnitude: float | None = None) -> float:
        """Bound the regret so far against comparators in the domain.

        Parameters
        ----------
        norm : float
            ‖U‖, the comparator's RKHS norm.
        alignment : float
            ⟨U, (Σ − floor·I)U⟩ of the norm now: Σ⟨fed_t, u_t⟩² for "full", Σ_i(weights_i −
            floor)‖u_i‖² for "diagonal". `fed` is g_t itself where there is no domain and lipschitz
            is given.
        magnitude : float, optional
            M = max‖u_t‖, needed with lipschitz=None on an unbounded domain.

        Notes
        -----
        4εG0 + 6‖U‖_Σ max(√(V l), l), l = log(1 + ‖U‖_Σ/α), ‖U‖_Σ² = (λ + G0²)norm² + alignment
        (E14). With lipschitz=None it is 4εH + 6‖U‖_Σ max(√(V l), H l), ‖U‖_Σ² = (λ + 1)norm² +
        alignment, H the largest hint, and the cost of clipping and artificial balls (Propositions
        scale-free-olo, unconstrained-scale-free). On an unbounded domain norm and alignment are
        then those of the comparators projected on the artificial balls.
        """
        weighted = math.sqrt(
            self._floor * squared("norm", norm) + nonnegative("alignment", alignment)
        )
        return self._potential.bound(weighted, *self._scales) + self.cost_of_scale(magnitude)

    @property
    def effective_dimension(self) -> float:
        """d_eff(floor) = Tr K_g(K_g + floor·I)⁻¹, K_g the Gram matrix of `fed`.

        floor = λ + G0², or λ + 1 with lipschitz=None.
        """
        return self._full.effective_dimension()

    @property
    def _full(self) -> FullMatrix:
        if not isinstance(self.norms, FullMatrix):
            raise ValueError(
                f"norms must be 'full' for an effective dimension: got {self._given_norms!r}; use"
                " bound"
            )
        return self.norms

    def dimension_bound(
        self, norm: float, alignment: float, magnitude: float | None = None
    ) -> float:
        """Bound the regret so far by the effective dimension; never below `bound`.

        Proposition simple-full-matrix, corrected as E14: `bound` with the most that V can be.
        Σ‖G_s‖²_{s,*} ≤ q/log(1 + q)·log det(I + K_g/floor) ≤ q/log(1 + q)·d_eff(floor)·log(e + e·Tr
        K_g/floor), since every term is at most q = G0²/floor, and x ≤ q/log(1 + q)·log(1 + x) up to
        there; with lipschitz=None q = 1/floor, in units of hints.
        """
        full, top = self._full, 1.0 if self._fixed else self.hint
        most = 4.0 + self._share / math.log1p(self._share) * log_det_bound(
            full.effective_dimension(), full.trace, self._floor
        )
        weighted = math.sqrt(
            self._floor * squared("norm", norm) + nonnegative("alignment", alignment)
        )
        count, cost = 0.0 if self._fixed else most, self.cost_of_scale(magnitude)
        return self._potential.bound(weighted, most * top * top, top, count) + cost

    def arrays(self) -> dict[str, Any]:
        """The state, for saving."""
        return {**super().arrays(), "variance": self._variance, "fed": self.fed.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Inverse of `arrays`."""
        super().restore(state)
        self._variance, self.fed = float(state["variance"]), stored(state, "fed", self.dim)

    @property
    def _not_finite(self) -> frozenset[str]:
        return frozenset({"norms.trace"} if isinstance(self.norms, FullMatrix) else ())

    def migrated(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state of an older version as this one would save it.

        It may lack `fed`, what domains need, and the trace of the gradients' Gram matrix.
        """
        state = {"fed": np.zeros(self.dim), **state}  # until the next gradient
        fresh, new = self.arrays(), ("stats", "proposal", "inner")
        if isinstance(self.norms, FullMatrix):
            state = {"norms.trace": math.inf, **state}  # nothing is known of it
        if any(name in state for name in new):
            return state
        return {**{name: fresh[name] for name in new}, **state}
