"""What a reproduction leaves: rows, the numbers behind the figures, and JSON of both."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stillpoint.lab.reproduce.registry import Case, Row


@dataclass
class Result:
    """What came out of a reproduction.

    rows: one per claim. figures: the numbers behind each figure. settings: what was run. files:
    what was written.
    """

    rows: list[Row]
    figures: dict[str, dict[str, Any]]
    settings: dict[str, Any]
    files: list[Path] = field(default_factory=list)

    @property
    def failures(self) -> list[Row]:
        """Claims that do not hold, or whose cases could not have failed and do not say so."""
        return [row for row in self.rows if not row.stands]

    @property
    def vacuous(self) -> list[Row]:
        """Claims that hold on cases which nothing could break."""
        return [row for row in self.rows if row.stands and not row.could_fail]

    @property
    def holds(self) -> bool:
        """Whether every claim holds, and there are some."""
        return bool(self.rows) and not self.failures

    @property
    def exit_code(self) -> int:
        """0 where all hold, else 1."""
        return 0 if self.holds else 1

    @property
    def refuted(self) -> list[Row]:
        """Claims whose statement or proof fails as printed, on a case measured here."""
        return [row for row in self.rows if not all(case.holds for case in row.printed)]

    def to_json(self) -> str:
        """Every number. Those that JSON cannot hold are null."""
        rows = [
            {
                "name": row.name,
                "section": row.section,
                "says": row.says,
                "on": row.on,
                "erratum": row.erratum,
                "holds": row.holds,
                "worst": _case(row.worst),
                "cases": [_case(case) for case in row.cases],
                "printed": [_case(case) for case in row.printed],
                "control": [_case(case) for case in row.control],
                "could_fail": row.could_fail,
                "vacuous": row.vacuous,
                "numbers": row.numbers,
                "note": row.note,
                "seconds": round(row.seconds, 3),
                "lead": row.lead,
            }
            for row in self.rows
        ]
        whole = {
            "holds": self.holds,
            "settings": self.settings,
            "claims": rows,
            "figures": self.figures,
        }
        return json.dumps(_clean(whole), ensure_ascii=False, indent=1, allow_nan=False)


def number(value: float | None) -> str:
    """Three significant digits, or powers of ten."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}".replace(",", " ")
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def compared(case: Case | None) -> str:
    """`measured ≤ bound`, with the sign that is true of the numbers."""
    if case is None:
        return "–"
    if case.sense == "=":
        return (
            f"deviation {number(case.measured)} {'≤' if case.holds else '>'} {number(case.bound)}"
        )
    sign = case.sense if case.holds else {"≤": ">", "≥": "<"}[case.sense]
    return f"{number(case.measured)} {sign} {number(case.bound)}"


def _case(case: Case | None) -> dict[str, Any] | None:
    if case is None:
        return None
    return {
        "where": case.where,
        "measured": float(case.measured),
        "bound": float(case.bound),
        "sense": case.sense,
        "ratio": case.ratio,
        "holds": case.holds,
    }


def _clean(value: Any) -> Any:
    """Plain floats and bools; null where JSON has no number."""
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "item"):
        value = value.item()  # NumPy's scalars
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
