"""Sets of allowed plays, with their projections."""

from stillpoint.domains.base import Domain
from stillpoint.domains.sets import Ball, Box, Everywhere, HalfSpace, Projection, Simplex

__all__ = ["Ball", "Box", "Domain", "Everywhere", "HalfSpace", "Projection", "Simplex"]
