"""Run a benchmark and put what it prints into its page, where each table and line has its place.

    python benchmarks/page.py docs/bench/filters.md benchmarks/filters.py

A table goes where the page has one with the same header, a line where the page has one that differs
in figures only. What has no place is told at the end: a page must have all that its benchmark
prints, and the prose around it is for people to keep true.
"""

import re
import subprocess
import sys
from pathlib import Path


def blocks(text):
    """Paragraphs and tables, with the blank lines between them."""
    return re.split(r"(\n\n+)", text.strip("\n"))


def key(block):
    """A table's header; of a line all but its figures."""
    if block.startswith("|"):
        return block.partition("\n")[0]
    return re.sub(r"-?\d[\d.]*", "#", " ".join(block.split()))


def fill(page, printed):
    """The page with what was printed in its places, and what has none."""
    found = blocks(page)
    places = {}
    for i, block in enumerate(found):
        places.setdefault(key(block), []).append(i)
    homeless = []
    for block in blocks(printed)[::2]:
        if places.get(key(block)):
            found[places[key(block)].pop(0)] = block
        else:
            homeless.append(block)
    return "".join(found) + "\n", homeless


def main(path, *command):
    printed = []
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    page = Path(path)
    text, homeless = fill(page.read_text(encoding="utf-8"), "".join(printed))
    page.write_text(text, encoding="utf-8")
    if homeless:
        sys.exit(f"\n{path} has no place for:\n\n" + "\n\n".join(homeless))


if __name__ == "__main__":
    main(*sys.argv[1:])
