"""`stillpoint fleet` on files of many series: rows a second and memory, by keys and threads.

    python benchmarks/fleet_files.py                      # some minutes; prints Markdown
    python benchmarks/fleet_files.py --keys 30000 --days 333 --threads 2

Daily sales of many products, a row a product and day, ordered by day as a log of them is: counts
with a week's shape and a level of their own. They are forecast 28 days ahead, with intervals, from
CSV to CSV. A small run before it has compiled what the command runs.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np

SIZES = ((1000, 1000), (30_000, 333), (300_000, 10))  # keys, days


def write(path, keys, days):
    """Write a CSV of sales, day after day."""
    rng = np.random.default_rng(0)
    level, shape = rng.gamma(2.0, 2.0, keys), 1.0 + 0.5 * np.sin(np.arange(7))
    with path.open("w") as file:
        file.write("sku,day,sold\n")
        for t in range(days):
            day = date(2023, 1, 2) + timedelta(days=t)
            sold = rng.poisson(level * shape[t % 7]).tolist()
            file.writelines(f"SKU_{k:07},{day},{n}\n" for k, n in enumerate(sold))


def run(source, out, pool, threads):
    """Return the summary of one run."""
    words = ["--key", "sku", "--target", "sold", "--time", "day", "--horizon", "28", "--json"]
    words += ["--nonnegative", "--pool", pool, "--threads", str(threads), "--out", str(out)]
    command = [sys.executable, "-m", "stillpoint", "fleet", str(source), *words]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int)
    parser.add_argument("--days", type=int, default=333)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pool", default="small")
    given = parser.parse_args()
    sizes = SIZES if given.keys is None else ((given.keys, given.days),)
    print(f"{platform.machine()}, Python {platform.python_version()}, pool {given.pool}:\n")
    print("| keys | rows | threads | seconds | rows a second | peak MiB | bytes a key | of last |")
    print("|-|-|-|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.csv"
        write(small, 10, 60)
        run(small, Path(folder) / "out", given.pool, 1)
        for keys, days in sizes:
            source = Path(folder) / "sales.csv"
            write(source, keys, days)
            for threads in given.threads:
                told = run(source, Path(folder) / "out", given.pool, threads)
                rate, memory = told["rows"] / told["seconds"], told["peak_memory"] / 2**20
                scaled = told["errors"]["stillpoint"]["scaled"]
                print(
                    f"| {keys:,} | {told['rows']:,} | {threads} | {told['seconds']:.0f} |"
                    f" {rate:,.0f} | {memory:,.0f} | {told['bytes_per_key']:,} |"
                    f" {'–' if scaled is None else f'{scaled:.3f}'} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
