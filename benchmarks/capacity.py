"""What forecasts of many series take: bytes, cores, GPUs and money, from measured rates.

    python benchmarks/capacity.py       # a minute; prints the tables of docs/capacity.md
    python benchmarks/capacity.py --core 0.03 --card 2.5 --disk 0.02     # other prices

Measured here, on one core: bytes a key and the time of a round, small pools in float64. Taken from
docs/bench/gpu.md and docs/bench/spark.md: what a GPU and Spark were measured to do. All else is
multiplied out: N keys, a row an hour (a day) each, forecast a season ahead after every row.
"""

import argparse
import math
import os
import platform
import time
from pathlib import Path

import numpy as np

import stillpoint as sp

PAGES = Path(__file__).parents[1] / "docs" / "bench"
SIZES = {"a million": 10**6, "a hundred million": 10**8, "ten billion": 10**10}
KINDS = {"hourly": ([24, 168], 24, 3600.0), "daily": ([7], 7, 86_400.0)}  # seasons, H, seconds
KEYS, MONTH = 4000, 30 * 86_400.0
CARD, ROOM = 141e9, 1.25  # bytes of a GPU; memory beside the states


def saved(fleet):
    """Bytes a key of a fleet's state."""
    arrays = [value for value in fleet.arrays().values() if isinstance(value, np.ndarray)]
    return sum(value.nbytes for value in arrays) / len(fleet)


def measure(season, H):
    """Bytes of young and of old keys; seconds of a row in a replay, of one row, of forecasts."""
    rng, keys = np.random.default_rng(0), np.arange(KEYS)
    fleet = sp.Fleet(sp.Forecaster, pool="small", season=season, horizon=H)
    T = 2 * max(season) + 20

    def values(n):
        return 10.0 + np.sin(2 * np.pi * np.arange(n) / season[0]) + rng.normal(size=(KEYS, n))

    fleet.track(keys, values(4), intervals=True)
    fleet.predict(keys, horizon=H)
    fleet.interval(keys, horizon=H)
    young = saved(fleet)
    fleet.track(keys, values(T), intervals=True)
    few, one = values(20), values(1)

    def ahead():
        fleet.predict(keys, horizon=H)
        fleet.interval(keys, horizon=H)

    def replay():
        fleet.track(keys, few, intervals=True)

    def row():
        fleet.track(keys, one, intervals=True)

    spent = [best(replay) / 20, best(row), best(ahead)]
    return young, saved(fleet), *(seconds / KEYS for seconds in spent)


def best(call):
    """Seconds of the quickest of some calls: other work on the machine makes others slower."""
    spent = []
    for _ in range(9):
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def on_page(name, start, place):
    """The last figure in a row of a table that begins so; NaN where there is none."""
    rows = (PAGES / name).read_text(encoding="utf-8").splitlines()
    found = [row.strip("| ").split(" | ")[place] for row in rows if row.startswith(start)]
    return float(found[-1].replace(",", "").split()[0]) if found else math.nan


def size(n):
    """Bytes in words."""
    for unit, least in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n >= least:
            return f"{n / least:.3g} {unit}"
    return f"{n:.0f} bytes"


def cost(dollars):
    return f"{dollars:,.0f}" if dollars >= 10 else f"{dollars:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--core", type=float, default=0.04, help="dollars a core and hour")
    parser.add_argument("--card", type=float, default=3.5, help="dollars a GPU and hour")
    parser.add_argument("--disk", type=float, default=0.023, help="dollars a GB and month")
    given = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, Python {platform.python_version()}; load before: {load}.\n")
    print("| series | young key | old key | a row, replayed | a row by itself | forecasts of it |")
    print("|---|---|---|---|---|---|")
    rates = {}
    for kind, (season, H, _) in KINDS.items():
        young, old, *spent = rates[kind] = measure(season, H)
        times = " | ".join(f"{1e6 * t:.2f} µs" for t in spent)
        print(f"| {kind} | {young:,.0f} bytes | {old:,.0f} bytes | {times} |", flush=True)
    prices = f"{given.core:g} dollars a core and hour, {given.card:g} a GPU and hour,"
    print(f"\nMultiplied out, at {prices} {given.disk:g} a GB and month:\n")
    heads = ("keys", "series", "states", "cores of a fleet", "cores of Spark", "GPUs")
    heads += ("fleet, a month", "Spark, a month", "GPUs, a month")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, n in SIZES.items():
        for kind, (season, _, every) in KINDS.items():
            _, old, _, row, path = rates[kind]
            told = ", ".join(map(str, season))
            spark = on_page("spark.md", f"| stream | {told} | ", 4) / 2.0
            own = " and ".join(map(str, season))
            card = on_page("gpu.md", f"| {own} | 1e+07 | ", 2)
            cores, others = n * (row + path) / every, n / spark / every
            cards = math.ceil(n * card * ROOM / CARD)
            disk = n * old / 1e9 * given.disk
            hours = MONTH / 3600.0
            dollars = [
                cores * hours * given.core + disk,
                others * hours * given.core + disk,
                cards * hours * given.card,
            ]
            cells = [name, kind, size(n * old), f"{cores:.2g}", f"{others:.2g}", f"{cards:,}"]
            print("| " + " | ".join([*cells, *map(cost, dollars)]) + " |")


if __name__ == "__main__":
    main()
