"""Curved losses: VAW and Newton learners as exact Kalman filters."""

from stillpoint.filters.newton import ExpConcave, StronglyConvex
from stillpoint.filters.vaw import KernelVAW

__all__ = ["ExpConcave", "KernelVAW", "StronglyConvex"]
