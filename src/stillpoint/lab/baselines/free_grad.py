"""FreeGrad: Mhammedi & Koolen (2020), "Lipschitz and comparator-norm adaptivity".

G is given. It is KernelFTRL with the constant kernel and the FreeGrad potential, so that is how it
is built.
"""

from typing import Any

from stillpoint.core.validation import positive
from stillpoint.kernels import Constant
from stillpoint.learners import KernelFTRL
from stillpoint.potentials import FreeGrad as FreeGradPotential


class FreeGrad(KernelFTRL):
    """Static regret in R^dim, adaptive to V = Σ‖g_t‖².

    Parameters
    ----------
    dim
        The dimension of plays.
    lipschitz
        G ≥ ‖g_t‖.
    scale
        ε, what may be lost to 0, over G.

    Notes
    -----
    `bound(norm)` is G·ε + sup_S[S‖u‖ − Φ(V, S)] against every ‖u‖ = norm. The certificate is exact,
    too: comparators of the constant kernel are the fixed ones, with ‖U‖ = ‖u‖.
    """

    assumes: tuple[str, ...] = ("G",)

    def __init__(self, dim: int, *, lipschitz: float, scale: float = 1.0) -> None:
        self.scale = positive("scale", scale)
        super().__init__(
            dim,
            lipschitz=positive("lipschitz", lipschitz, "give the largest gradient norm"),
            kernel=Constant(),
            potential=FreeGradPotential(self.scale),
        )

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build this learner anew."""
        return {"dim": self.dim, "lipschitz": self.lipschitz, "scale": self.scale}
