"""Copy the rows that the README shows from docs/bench into it.

python benchmarks/readme.py        # after `stillpoint bench regret` and `stillpoint bench speed`
have written docs/bench
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHOWN = {
    "regret": (
        "Tracker",
        "MultiScale",
        "MultiScale-free",
        "Ader",
        "Ader-D1",
        "OGD-sqrt",
        "SparseHaar",
        "KT",
        "COCOB",
        "Algorithm2",
    ),
    "speed": ("bare OGD loop", "Tracker", "MultiScale", "Ader", "OGD-sqrt"),
}


def table(text, heading, learners, columns):
    """The rows of `learners` from the first table after `heading`, first `columns` columns only."""
    lines = text[text.index(heading) :].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    # reversed: the first table wins
    header, body = rows[0], {row[0]: row for row in reversed(rows[2:])}
    picked = [header, ["---"] * columns, *(body[name] for name in learners)]
    return "\n".join("| " + " | ".join(row[:columns]) + " |" for row in picked)


def sections():
    """Name → Markdown, as the README must have it."""
    regret = (ROOT / "docs" / "bench" / "regret.md").read_text(encoding="utf-8")
    speed = (ROOT / "docs" / "bench" / "speed.md").read_text(encoding="utf-8")
    return {
        "regret": table(regret, "## Streams on which constants were chosen", SHOWN["regret"], 4),
        "speed": table(speed, "## Bulk, µs a round", SHOWN["speed"], 6),
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
