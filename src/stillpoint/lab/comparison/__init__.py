"""Experiments as one call: learners on streams, with tables and figures for a paper."""

from stillpoint.lab.comparison.cell import CurveRow
from stillpoint.lab.comparison.experiment import compare
from stillpoint.lab.comparison.result import Comparison
from stillpoint.lab.comparison.summary import Summary

__all__ = ["Comparison", "CurveRow", "Summary", "compare"]
