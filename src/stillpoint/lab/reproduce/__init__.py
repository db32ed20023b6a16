"""The paper as a run: every claim measured beside its bound, with figures."""

from stillpoint.lab.reproduce.registry import Case, Claim, Evidence, Row
from stillpoint.lab.reproduce.result import Result
from stillpoint.lab.reproduce.run import claims, reproduce

__all__ = ["Case", "Claim", "Evidence", "Result", "Row", "claims", "reproduce"]
