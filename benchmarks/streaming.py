"""The times of test_streaming.py as a table, µs a round by the age of the learner.

python benchmarks/streaming.py            # about a minute; prints Markdown; other arguments go to
pytest
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
TITLES = {
    "bulk": "streaming, in bulk",
    "interactive": "streaming, call by call",
    "dense": "dense, call by call",
}
ROUNDS = 1000  # of each run


def measure():
    """(kind, dim) → age → µs a round, the least of the runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            FOLDER / "test_streaming.py",
            "--benchmark-only",
            f"--benchmark-json={path}",
        ]
        subprocess.run([*command, *sys.argv[1:]], check=True, stdout=sys.stderr)
        runs = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    found = {}
    for run in runs:
        kind, dim, age = re.fullmatch(r"test_(\w+)\[(\d+)-(\d+)\]", run["name"]).groups()
        found.setdefault((kind, int(dim)), {})[int(age)] = run["stats"]["min"] / ROUNDS * 1e6
    return found


def main():
    found = measure()
    ages = sorted({age for times in found.values() for age in times})
    heads = ["KernelFTRL", *(f"t = {age:,}".replace(",", " ") for age in ages), "last ÷ first"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for (kind, dim), times in found.items():
        cells = [f"{times[age]:.3g}" if age in times else "–" for age in ages]
        print(
            f"| {TITLES[kind]}, d = {dim} | "
            + " | ".join(cells)
            + f" | {times[max(times)] / times[min(times)]:.2f} |"
        )


if __name__ == "__main__":
    main()
