"""What a round of Forecaster costs: by seasons, horizon and pool, and as the series grows.

    python benchmarks/series_speed.py [--rounds 1000000]

Prints microseconds a round in bulk and for single calls, the state's size in kilobytes (a tenth of
a megabyte of it is history and changes), and beside them river's SNARIMAX with the same lags, where
river is installed; then the cost of rounds far into a long series, which should not grow.
"""

import argparse
import time

import numpy as np

import stillpoint as sp

CASES = [
    ("none, H = 1", None, 1),
    ("none, H = 10", None, 10),
    ("7, H = 7", [7], 7),
    ("12, H = 12", [12], 12),
    ("24 and 168, H = 24", [24, 168], 24),
    ("48 and 336, H = 48", [48, 336], 48),
]


def series(rounds, season, seed=0):
    """A level that wanders, seasons, and noise."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    y = 50.0 + np.cumsum(0.05 * rng.normal(size=rounds)) + rng.normal(size=rounds)
    for m in season or ():
        y += 5.0 * np.sin(2.0 * np.pi * t / m)
    return y


def timed(act, *args):
    """Seconds of processor time."""
    start = time.process_time()
    act(*args)
    return time.process_time() - start


def single(model, y):
    """Rounds one by one."""
    for value in y:
        model.predict()
        model.update(value)


def snarimax(y, season):
    """Microseconds a round of river's SNARIMAX, or None without river."""
    try:
        from river import time_series
    except ImportError:
        return None
    m = season[0] if season else 1
    model = time_series.SNARIMAX(p=3, d=0, q=0, m=m, sp=1 if season else 0)

    def play():
        for value in y:
            model.learn_one(value)
            model.forecast(1)

    return 1e6 * timed(play) / len(y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1_000_000)
    rounds = parser.parse_args().rounds
    print("| seasons | pool | bulk, µs | single calls, µs | state, kB | SNARIMAX, µs |")
    print("|---|---|---|---|---|---|")
    for name, season, horizon in CASES:
        y = series(12_000, season)
        other = snarimax(y[:2000], season)
        for pool in ("full", "middle", "small"):
            model = sp.Forecaster(horizon, season=season, pool=pool)
            model.track(y[:6000])  # compiled, tables made
            bulk = 1e6 * timed(model.track, y[6000:]) / 6000
            calls = 1e6 * timed(single, model, y[:2000]) / 2000
            size = sum(np.asarray(value).nbytes for value in model.arrays().values()) / 1000
            peer = "" if other is None else f"{other:.0f}"
            print(f"| {name} | {pool} | {bulk:.1f} | {calls:.1f} | {size:.0f} | {peer} |")
    print(f"\n24 and 168, H = 24, full, over {rounds:,} rounds: µs a round")
    model, y = sp.Forecaster(24, season=[24, 168]), series(rounds, [24, 168], seed=1)
    model.track(y[:20_000])
    for start in range(20_000, rounds, max((rounds - 20_000) // 7, 1)):
        part = y[start : start + (rounds - 20_000) // 7]
        print(f"  from round {start:>9,}: {1e6 * timed(model.track, part) / len(part):.1f}")


if __name__ == "__main__":
    main()
