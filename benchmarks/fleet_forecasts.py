"""Fleets of forecasters: what a series-round costs, in step, replayed, and one series alone.

    python benchmarks/fleet_forecasts.py [--keys 20000]     # eight minutes; prints Markdown

"In step": one round of all keys, `predict` and `update`, after 100 rounds of each. "Replayed":
`track` of 100 rounds of each key. "Alone": a single `Forecaster`, `track` of 3000 rounds, its
detector of changes included. All on one thread, microseconds of processor time a series-round, the
best of three. "Bytes": state of a key, the table that finds it apart. Errors of intervals and
forecasts are not measured here.
"""

import argparse
import platform
import time

import numpy as np

import stillpoint as sp

CASES = {
    "24 and 168, H = 24": ([24, 168], 24),
    "7, H = 28": ([7], 28),
    "none, H = 10": (None, 10),
}
WARM, ROUNDS, ALONE, REPEATS = 100, 100, 3000, 3


def series(keys, rounds, season, seed=0):
    """Levels that wander, seasons, and noise, (keys, rounds)."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    y = 50.0 + np.cumsum(0.05 * rng.normal(size=(keys, rounds)), axis=1)
    for m in season or ():
        y += 5.0 * np.sin(2.0 * np.pi * (t / m + rng.uniform(size=(keys, 1))))
    return y + rng.normal(size=(keys, rounds))


def best(act):
    """The least of some seconds of processor time."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measured(keys, pool, season, horizon, dtype):
    """Microseconds in step and replayed, and bytes a key."""
    config = {"horizon": horizon, "season": season, "pool": pool}
    fleet, names = sp.Fleet(sp.Forecaster, dtype=dtype, **config), np.arange(keys)
    y = series(keys, WARM, season)
    fleet.track(names, y)
    columns = iter(np.ascontiguousarray(y.T))

    def step():
        fleet.predict(names)
        fleet.update(names, next(columns))

    step()
    in_step = best(step) / keys
    replayed = best(lambda: fleet.track(names, y[:, :ROUNDS])) / (keys * ROUNDS)
    return 1e6 * in_step, 1e6 * replayed, fleet.bytes_per_key


def alone(pool, season, horizon):
    """Microseconds a round of one series."""
    y = series(1, ALONE, season)[0]
    sp.Forecaster(horizon, season=season, pool=pool).track(np.tile(y, 5))  # tables, compiled code
    model = sp.Forecaster(horizon, season=season, pool=pool)
    model.track(y)
    return 1e6 * best(lambda: model.track(y)) / ALONE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=20_000)
    keys = parser.parse_args().keys
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__};")
    print(f"{keys} keys, one thread.\n")
    print("| pool | seasons | states | in step | replayed | alone | bytes a key |")
    print("|---|---|---|---|---|---|---|")
    for pool in ("small", "middle"):
        for name, (season, horizon) in CASES.items():
            single = f"{alone(pool, season, horizon):.1f} µs"
            for dtype in ("float64", "float32"):
                step, replayed, size = measured(keys, pool, season, horizon, dtype)
                cells = f"{step:.1f} µs | {replayed:.1f} µs | {single} | {size}"
                print(f"| {pool} | {name} | {dtype} | {cells} |", flush=True)
                single = ""


if __name__ == "__main__":
    main()
