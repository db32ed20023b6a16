"""What figures of comparisons are called, what they say they leave out, and their bands."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from stillpoint.lab.bench.tables import ordered
from stillpoint.lab.comparison.cell import CurveRow


def left_out(rows: Sequence[CurveRow], drawn: Container[str], measure: str, *, same: bool) -> str:
    """Which learners of these rows are not drawn, and why; "" if all are.

    Those failed that have an error in every row. `same`: only who has the measure of the same seeds
    at every horizon is drawn.
    """
    absent = [name for name in ordered(row.learner for row in rows) if name not in drawn]
    failed = [name for name in absent if all(row.error for row in rows if row.learner == name)]
    others = [name for name in absent if name not in failed]
    lacks = f"no {measure}" + (" of the same seeds at every horizon" if same else "")
    said = ((failed, "failed"), (others, f"{'has' if len(others) == 1 else 'have'} {lacks}"))
    return "; ".join(f"without {', '.join(names)}, which {why}" for names, why in said if names)


def new_file(folder: Path, name: str, end: str, files: Iterable[Path]) -> Path:
    """A file for a name, of signs that every system takes; numbered if it is among `files`."""
    # some systems do not tell large letters from small ones
    taken = {path.name.casefold() for path in files}
    plain, number = re.sub(r"[^\w.-]", "-", name), 1
    file = plain + end
    while file.casefold() in taken:
        number += 1
        file = f"{plain}-{number}{end}"
    return folder / file


def band_of(band: Any) -> tuple[float, float] | None:
    """The two quantiles of a band; None for one of standard deviations."""
    if isinstance(band, str) and band == "sd":
        return None
    try:
        low, high = (float(edge) for edge in band)
        if not 0.0 <= low < high <= 1.0:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"band must be 'sd' or two quantiles: got {band!r}; give such as (0.1, 0.9)"
        ) from None
    return low, high
