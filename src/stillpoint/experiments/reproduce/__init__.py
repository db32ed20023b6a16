"""The paper as a run: every theorem, proposition, lemma and example measured beside its bound, with figures."""

from stillpoint.experiments.reproduce.registry import Case, Claim, Evidence, Row
from stillpoint.experiments.reproduce.result import Result
from stillpoint.experiments.reproduce.run import claims, reproduce

__all__ = ["Case", "Claim", "Evidence", "Result", "Row", "claims", "reproduce"]
