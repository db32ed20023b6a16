"""Coverage of `stillpoint track` beyond the next row: one season ahead, and with late targets.

The interval of the next row is held against the row a season ahead, which it does not promise to
cover; with `--delay` trackers take turns, so that intervals are made for targets that late. Series
that statsmodels ships; coverage asked for: 0.9.
"""

import csv
import json
import tempfile
from pathlib import Path

import numpy as np

from stillpoint.commands import track
from stillpoint.lab.streams.real.from_statsmodels import (
    _read_co2,
    _read_elnino,
    _read_equipment,
    _read_macro,
    _read_sunspots,
)

SERIES = {  # how to read it, and a season's length
    "co2": (_read_co2, "y", 52),
    "elnino": (_read_elnino, "y", 12),
    "equipment": (_read_equipment, "y", 12),
    "sunspots": (_read_sunspots, "y", 11),
    "unemployment": (_read_macro, "unemp", 4),
    "gdp": (_read_macro, "realgdp", 4),
}


def run(y, folder, **options):
    """Coverage of a run, and its intervals."""
    path = Path(folder) / "series.csv"
    path.write_text("y\n" + "\n".join(map(repr, y.tolist())) + "\n")
    code = track(str(path), "y", Path(folder) / "out", quiet=True, **options)
    assert code == 0
    summary = json.loads((Path(folder) / "out" / "summary.json").read_text())
    rows = list(csv.DictReader((Path(folder) / "out" / "predictions.csv").open()))
    return summary["coverage"]["achieved"], *(
        np.array([float(row[name]) for row in rows]) for name in ("lo", "hi")
    )


def main():
    print(
        "| series | rows | season | next row | a season ahead | targets a season late"
        " |\n|---|---|---|---|---|---|"
    )
    found = []
    for name, (read, column, season) in SERIES.items():
        y = read()[column]
        with tempfile.TemporaryDirectory() as folder:
            at_once, lo, hi = run(y, folder)
            late, *_ = run(y, folder, delay=season)
        ahead = np.mean((lo[:-season] <= y[season:]) & (y[season:] <= hi[:-season]))
        found.append((at_once, ahead, late))
        print(f"| {name} | {y.size} | {season} | {at_once:.3f} | {ahead:.3f} | {late:.3f} |")
    mean, worst = np.mean(found, axis=0), np.min(found, axis=0)
    for word, row in (("mean", mean), ("worst", worst)):
        print(f"| {word} | | | " + " | ".join(f"{share:.3f}" for share in row) + " |")


if __name__ == "__main__":
    main()
