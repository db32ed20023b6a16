"""Sets of allowed plays: project onto them, and pass on gradients that keep regret honest."""

from stillpoint.domains.base import Domain
from stillpoint.domains.sets import Ball, Box, Everywhere, HalfSpace, Projection, Simplex

__all__ = ["Ball", "Box", "Domain", "Everywhere", "HalfSpace", "Projection", "Simplex"]
