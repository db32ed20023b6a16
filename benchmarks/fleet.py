"""Fleets: what a stream-round costs, beside a Python loop over single learners.

    python benchmarks/fleet.py              # about two minutes; prints Markdown

Every key has a target of its own under noise; gradients and targets are made outside the clock.
Rounds before the clock starts: 20 (after which Tracker runs 2 experts of its own), so that nothing
is compiled and no array grows while it runs. The best of five repeats is given. The Python loop
runs over 20 000 learners: over a few hundred, which stay in the cache, it is quicker (the column
"200").

Keys: nanoseconds to enter a million of them at once, to find them in the same order, and in a
random one; the last column is all three over those of sequential keys. Patterns take turns, so that
what else the machine does meets all of them alike.
"""

import argparse
import platform
import time

import numpy as np

from stillpoint.fleet import Fleet
from stillpoint.fleet.keys import KeyIndex
from stillpoint.forecasters import KernelForecaster
from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.learners import MultiScale, Tracker

WARM, REPEATS, SINGLES = 20, 5, 20_000
LEARNERS = {
    "Tracker, d = 1": (Tracker, {"dim": 1}),
    "Tracker, d = 10": (Tracker, {"dim": 10}),
    "MultiScale, d = 1": (MultiScale, {"dim": 1}),
    "MultiScale, d = 1, lipschitz": (MultiScale, {"dim": 1, "lipschitz": 1.0}),
    "IntervalTracker": (IntervalTracker, {}),
    "QuantileTracker": (QuantileTracker, {}),
    "KernelForecaster": (KernelForecaster, {}),
}


class World:
    """Targets of many streams: unit gradients for those that play, noisy values for the others."""

    def __init__(self, keys, config, seed=0):
        self.rng, self.dim = np.random.default_rng(seed), config.get("dim")
        self.targets = self.rng.normal(size=(keys, self.dim or 1))

    def feedback(self, plays):
        noise = self.rng.normal(size=self.targets.shape)
        return (
            np.sign(plays - self.targets - noise) / np.sqrt(self.dim)
            if self.dim
            else (self.targets + noise)[:, 0]
        )


def fleet_round(fleet, keys, world, shuffle):
    """Seconds in predict and update for one round of all keys."""
    centred = fleet.config["learner"] == "IntervalTracker"
    order = world.rng.permutation(keys.size) if shuffle else slice(None)
    given = keys[order]
    centres = [np.zeros(keys.size)] if centred else []
    start = time.perf_counter()
    plays = fleet.predict(given, *centres)
    spent = time.perf_counter() - start
    back = world.feedback(plays if world.dim else None)
    start = time.perf_counter()
    fleet.update(given, back)
    return spent + time.perf_counter() - start


def measure(kind, config, count, shuffle=False, threads=1, warm=WARM):
    """Nanoseconds a stream-round, bytes a key, and all memory over keys."""
    fleet, world = Fleet(kind, threads=threads, **config), World(count, config)
    keys = np.arange(count) * 7919 + 10**9
    for _ in range(warm):
        fleet_round(fleet, keys, world, shuffle)
    rounds = max(1, 300_000 // count)
    best = min(
        sum(fleet_round(fleet, keys, world, shuffle) for _ in range(rounds)) / rounds
        for _ in range(REPEATS)
    )
    return best / count * 1e9, fleet.bytes_per_key, fleet.nbytes / count


def singles(kind, config, count):
    """Nanoseconds a round of a Python loop over learners."""
    world, learners = World(count, config), [kind(**config) for _ in range(count)]
    told = [0.0] if kind is IntervalTracker else []
    best = np.inf
    for repeat in range(WARM + REPEATS):
        start = time.perf_counter()
        plays = [learner.predict(*told) for learner in learners]
        spent = time.perf_counter() - start
        back = list(world.feedback(np.array(plays) if world.dim else None))
        start = time.perf_counter()
        for learner, value in zip(learners, back, strict=True):
            learner.update(value)
        if repeat >= WARM:
            best = min(best, spent + time.perf_counter() - start)
    return best / count * 1e9


def patterns(count):
    """Keys that differ in few bits, or as an attacker would choose them."""
    i, rng = np.arange(count), np.random.default_rng(0)
    inverse = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
    return {
        "sequential": i,
        "10⁹ + 7919 i": 10**9 + 7919 * i,
        "i << 20": i << 20,
        "i << 40": i << 40,
        "down from 0": -i,
        "bits of floats i": i.astype(float).view(np.int64),
        "bits of floats i / n": (i / count).view(np.int64),
        "i times the inverse of 2⁶⁴/φ": (i.astype(np.uint64) * inverse).view(np.int64),
        "random": rng.integers(-(2**63), 2**63 - 1, count),
    }


def key_costs(count):
    """Nanoseconds a key by pattern: enter, find, find in a random order."""
    order, best = np.random.default_rng(1).permutation(count), {}
    for _ in range(REPEATS):
        for name, keys in patterns(count).items():
            index, mixed = KeyIndex(), keys[order]
            index.grow(count)
            moments = [time.perf_counter()]
            index.enter(*index.find(keys))
            moments.append(time.perf_counter())
            index._last = None  # a batch that comes again is not looked up
            for batch in (keys, mixed):
                index.find(batch)
                moments.append(time.perf_counter())
            best[name] = np.fmin(best.get(name, np.inf), np.diff(moments) / count * 1e9)
    return best


def amount(size):
    """Bytes in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} PB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer keys, to see that it runs")
    few, many, most = (100, 1000, 5000) if parser.parse_args().quick else (1000, 100_000, 1_000_000)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}; one"
        " thread unless said otherwise.\n"
    )
    heads = (
        "learner",
        f"{few} keys",
        f"{many} keys",
        "shuffled",
        "loop, 200",
        f"loop, {SINGLES}",
        "loops / fleet",
        "bytes a key",
    )
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    figures = {}
    for name, (kind, config) in LEARNERS.items():
        near, loop = singles(kind, config, 200), singles(kind, config, SINGLES)
        small = measure(kind, config, few)[0]
        large, size, _ = measure(kind, config, many)
        mixed = measure(kind, config, many, shuffle=True)[0]
        figures[name] = large, size
        times = " | ".join(f"{value:.0f} ns" for value in (small, large, mixed, near, loop))
        print(f"| {name} | {times} | {near / large:.0f}, {loop / large:.0f} | {size} |", flush=True)
    kind, config = LEARNERS["Tracker, d = 1"]
    large, size, total = measure(kind, config, most)
    print(
        f"\nTracker, d = 1, {most} keys: {large:.0f} ns, {size} bytes a key, {total:.0f} with keys"
        " and the table that finds them."
    )
    print(f"{most} keys, two threads: {measure(kind, config, most, threads=2)[0]:.0f} ns.\n")
    for warm in (300, 5000):
        cost, size, _ = measure(kind, config, 10 * few, warm=warm)
        print(f"{10 * few} keys, after {warm} rounds: {cost:.0f} ns, {size} bytes a key.\n")
    print("On paper, from the figures above (states only; a round of all keys on one core):\n")
    print("| learner | 10⁶ keys | 10⁸ keys | 10¹⁰ keys |\n|---|---|---|---|")
    for name, (cost, size) in figures.items():
        cells = [f"{amount(n * size)}, {n * cost * 1e-9:.3g} s" for n in (1e6, 1e8, 1e10)]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"\nKeys that are whole numbers, {most} of them, nanoseconds a key:\n")
    print("| keys | enter | find | find, shuffled | to sequential |\n|---|---|---|---|---|")
    costs = key_costs(most)
    for name, cost in costs.items():
        print(
            f"| {name} | "
            + " | ".join(f"{one:.0f}" for one in cost)
            + f" | {cost.sum() / costs['sequential'].sum():.2f} |"
        )


if __name__ == "__main__":
    main()
