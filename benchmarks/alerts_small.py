"""Anomalies with a small memory beside the full one: what is lost where 5000 ranks are 192 numbers.

    python benchmarks/alerts_small.py       # about three minutes; prints Markdown
    python benchmarks/alerts_small.py --cost        # what a fleet of them costs: one minute

16 streams of 10 000 rows of each law, forecast one step ahead by a fleet of Forecaster with a small
pool (told the season of the law that has one); both memories get the same forecasts, and are told a
period only where the law says so. "Unusual" is
how many rows have p ≤ rate, "alarms" how many of them are told, both in 10 000 rows of streams in
which nothing happens: at rates of 0.001 and 0.01 they should be 10 and 100 or fewer. "Spikes": one
value in every 1000 rows is moved up or down by so many standard deviations of the law's one-step
errors; given is the share whose row is unusual. "Stretches": 50 rows in every 1000 are moved by
four deviations; the share of them with an alarm in them. Rows before the 1000th are left alone.

Cost: nanoseconds of processor time a row of `sp.Fleet(sp.Anomalies, memory="small")` on one thread,
after 300 rows a key, the best of five. "In step" is `update` of all keys, time by time; "replayed"
`track` of 100 rows of each; "alone" `track` of a single detector.
"""

import argparse
import sys
import time
from functools import partial

import numpy as np

import stillpoint as sp

ROWS, STREAMS, EVERY, LONG = 10_000, 16, 1000, 50
RATES, SPIKES, MOVED = (1e-3, 1e-2), (4.0, 6.0, 10.0), 4.0


def autoregression(noise, gain):
    """AR(1) with these innovations, from its stationary law on."""
    out = np.empty_like(noise)
    out[:, 0] = noise[:, 0] / np.sqrt(1.0 - gain**2)
    for t in range(1, noise.shape[1]):
        out[:, t] = gain * out[:, t - 1] + noise[:, t]
    return out


def garch(rng, shape, base=0.05, news=0.1, memory=0.85):
    """GARCH(1,1), variance 1 on average."""
    z, out, variance = rng.standard_normal(shape), np.empty(shape), np.ones(shape[0])
    for t in range(shape[1]):
        out[:, t] = np.sqrt(variance) * z[:, t]
        variance = base + news * out[:, t] ** 2 + memory * variance
    return out


def laws(rng, shape):
    """Streams by law, the season that forecasters are told, and the one that detectors are."""
    normal, hour = rng.standard_normal, np.arange(shape[1])
    day = 3.0 * np.sin(2.0 * np.pi * hour / 24.0) + normal(shape)
    return {
        "normal": (normal(shape), None, None),
        "t, 3 degrees": (rng.standard_t(3, shape), None, None),
        "AR 0.8": (autoregression(normal(shape), 0.8), None, None),
        "AR 0.99": (autoregression(normal(shape), 0.99), None, None),
        "Poisson, mean 4": (rng.poisson(4.0, shape).astype(float), None, None),
        "lognormal": (rng.lognormal(0.0, 0.5, shape), None, None),
        "season 24": (day, 24, None),
        "season 24, told": (day, 24, 24),
        "GARCH(1,1)": (garch(rng, shape), None, None),
    }


def forecasts(y, season):
    """One-step forecasts of streams."""
    fleet = sp.Fleet(sp.Forecaster, season=season, pool="small")
    return fleet.track(np.arange(len(y)), y)


def detect(y, said, rate, period, memory):
    """Which rows are unusual, and which are alarms."""
    unusual, alarms = np.zeros(y.shape, bool), np.zeros(y.shape, bool)
    for stream, (own, forecast) in enumerate(zip(y, said, strict=True)):
        detector = sp.Anomalies(rate, period=period, memory=memory)
        p, told = detector.track(own, forecast)
        unusual[stream] = p <= rate
        alarms[stream, [anomaly.row for anomaly in told]] = True
    return unusual, alarms


def events(rng, shape, size, length):
    """What is added to streams, and where each event begins: (streams, events)."""
    firsts = np.arange(EVERY, shape[1] - EVERY + 1, EVERY)
    begins = firsts + rng.integers(100, EVERY - 100 - length, (shape[0], firsts.size))
    moved = np.zeros(shape)
    for stream, rows in enumerate(begins):
        for row in rows:
            moved[stream, row : row + length] = size * rng.choice([-1.0, 1.0])
    return moved, begins


def found(y, law, rng, size, length, rate):
    """Share of events that are unusual, and share with an alarm in them, with both memories."""
    moved, begins = events(rng, y.shape, size, length)
    said = forecasts(y + moved, law[1])
    rows = np.arange(len(y))[:, None, None], begins[:, :, None] + np.arange(length)
    both = [detect(y + moved, said, rate, law[2], memory) for memory in ("full", "small")]
    return [[told[rows].any(axis=2).mean() for told in kind] for kind in zip(*both, strict=True)]


def beside(pair, form):
    """Both memories in a cell."""
    return " / ".join(f"{one:{form}}" for one in pair)


def timed(call, rows):
    """Nanoseconds a row, the best of five."""
    best = np.inf
    for _ in range(5):
        begun = time.process_time()
        call()
        best = min(best, time.process_time() - begun)
    return best / rows * 1e9


def steps(fleet, names, y, forecasts):
    """Rows (T, keys), time by time."""
    for own in y:
        fleet.update(names, own, forecasts)


def cost(counts):
    """Print what a row of a key costs."""
    rng = np.random.default_rng(9)
    print("| keys | in step | replayed | bytes a key | with keys and the table that finds them |")
    print("|---|---|---|---|---|")
    for keys in counts:
        names, fleet = np.arange(keys) * 7919, sp.Fleet(sp.Anomalies, memory="small")
        Y, F = rng.standard_normal((keys, 100)), np.zeros((keys, 100))
        for _ in range(3):
            fleet.track(names, Y[:, rng.permutation(100)], forecasts=F)
        y = np.ascontiguousarray(Y.T[: max(1, 1_000_000 // keys)])
        step = timed(partial(steps, fleet, names, y, F[:, 0]), y.size)
        whole = timed(partial(fleet.track, names, Y, forecasts=F), Y.size)
        size, held = fleet.bytes_per_key, fleet.nbytes / keys
        print(f"| {keys} | {step:.0f} ns | {whole:.0f} ns | {size} | {held:.0f} |", flush=True)
    y, alone = rng.standard_normal(200_000), []
    for memory in ("small", "full"):
        detector = sp.Anomalies(memory=memory)
        detector.track(y[:300], np.zeros(300))
        alone.append(timed(partial(detector.track, y, np.zeros(y.size)), y.size))
    print(f"\nAlone: {alone[0]:.0f} ns a row; with the full memory {alone[1]:.0f} ns.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, to see that it runs")
    parser.add_argument("--cost", action="store_true", help="what a fleet of detectors costs")
    given = parser.parse_args()
    shape = (4, 3000) if given.quick else (STREAMS, ROWS)
    if given.cost:
        return cost((1000, 5000) if given.quick else (1000, 100_000, 500_000))
    begun, scale = time.process_time(), 1e4 / (shape[0] * shape[1])
    names = [f"spikes of {size:g}" for size in SPIKES]
    head = ["law", "unusual", "alarms", *names, "stretches"]
    for rate in RATES:
        print(f"Rate {rate:g}, full / small memory:\n")
        print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
        for name, law in laws(np.random.default_rng(7), shape).items():
            y, rng, said = law[0], np.random.default_rng(8), forecasts(*law[:2])
            quiet = [detect(y, said, rate, law[2], memory) for memory in ("full", "small")]
            cells = [
                beside((scale * rows.sum() for rows in kind), ".1f")
                for kind in zip(*quiet, strict=True)
            ]
            deviation = (y - said)[:, 100:].std()
            for size in SPIKES:
                cells.append(beside(found(y, law, rng, size * deviation, 1, rate)[0], ".2f"))
            cells.append(beside(found(y, law, rng, MOVED * deviation, LONG, rate)[1], ".2f"))
            print("| " + " | ".join([name, *cells]) + " |", flush=True)
        print()
    print(
        f"{shape[0]} streams of {shape[1]} rows a law; {time.process_time() - begun:.0f} seconds.",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
