"""Copy the rows that the README shows from docs/bench into it.

python benchmarks/readme.py        # after the benchmarks have written docs/bench
"""

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
# name: page of docs/bench, heading before its table, rows, columns (all where None)
SHOWN = {
    "series": (
        "series",
        "## stillpoint over others",
        (
            "last value",
            "seasonal naive",
            "AR-RLS 0.999",
            "river HoltWinters",
            "river SNARIMAX",
            "AutoETS",
            "AutoTheta",
            "MSTL",
            "LightGBM",
            "best of all others*",
        ),
        ("other", "MAE 1", "Winkler 1", "MAE season", "Winkler season", "ahead"),
    ),
    "regret": (
        "regret",
        "## Streams on which constants were chosen",
        (
            "Tracker",
            "MultiScale",
            "MultiScale-free",
            "Ader",
            "Ader-D1",
            "OGD-sqrt",
            "SwordSmallLoss",
            "SwordBest",
            "Scream",
            "SparseHaar",
            "KT",
            "COCOB",
            "Algorithm2",
        ),
        ("learner", "assumes", "T = 2000", "T = 20000"),
    ),
    "intervals": (
        "intervals",
        "Pinball/oracle",
        (
            "IntervalTracker",
            "ACI *",
            "SF-OGD *",
            "SAOCP *",
            "ACI, step 0.1",
            "SF-OGD, D = largest",
            "SAOCP, D = largest",
        ),
        ("method", "swell ×1", "heavy", "jumps", "garch", "growth"),
    ),
    "speed": (
        "speed",
        "## Bulk, µs a round",
        ("bare OGD loop", "Tracker", "MultiScale", "Ader", "OGD-sqrt"),
        None,
    ),
    "fleet": ("fleet", "## Forecasters", ("small", "middle"), None),
}


def table(text, heading, names, columns):
    """The rows and columns named, from the first table after `heading`."""
    lines = iter(text[text.index(heading) :].splitlines())
    first = next(line for line in lines if line.startswith("|"))
    rows = [cells(line) for line in itertools.takewhile(lambda line: line.startswith("|"), lines)]
    header = cells(first)
    picked = [row for name in names for row in rows[1:] if row[0] == name]
    missing = set(names) - {row[0] for row in picked}
    if missing:
        raise ValueError(
            f"{heading!r} has no rows {sorted(missing)}; run its benchmark, or mend SHOWN"
        )
    at = [header.index(name) for name in columns or header]
    shown = [header, ["---"] * len(header), *picked]
    return "\n".join("| " + " | ".join(row[i] for i in at) + " |" for row in shown)


def cells(line):
    """The cells of a row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def sections():
    """Name → Markdown, as the README must have it."""
    return {
        name: table(
            (ROOT / "docs" / "bench" / f"{page}.md").read_text(encoding="utf-8"), heading, *which
        )
        for name, (page, heading, *which) in SHOWN.items()
    }


def main():
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    for name, body in sections().items():
        text = re.sub(
            rf"<!-- {name} -->.*?<!-- /{name} -->",
            f"<!-- {name} -->\n\n{body}\n\n<!-- /{name} -->",
            text,
            flags=re.DOTALL,
        )
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
