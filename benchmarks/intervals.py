"""IntervalTracker and QuantileTracker beside the oracle and their peers, and their cost.

    python benchmarks/intervals.py              # about three minutes; prints Markdown

Scores are absolute residuals whose moving quantile is known (`stillpoint.lab.streams.scores`); T =
10⁴, coverage 0.9. Pinball loss and width are ratios to the oracle's, which plays that quantile. The
local error is the largest |coverage − 0.9| over windows of 200 rounds. Peers marked * are given the
best of their settings in hindsight, for each stream and seed, by pinball loss. Radii that are not
finite (guard, start) are charged as the last finite one and counted.
"""

import argparse
import time

import numpy as np

from stillpoint.intervals import IntervalTracker, QuantileTracker
from stillpoint.lab.baselines.conformal import ACI, SAOCP, SFOGD, Betting, DecayingStep, WindowACI
from stillpoint.lab.streams.scores import interval_scores, quantile_families, score_families

ROUNDS, WINDOW, LEVEL = 10_000, 200, 0.9
OCTAVES = 2.0 ** np.arange(-14, 7)
STREAMS = ("swell ×0.01", "swell ×1", "swell ×1000", "heavy", "jumps", "garch", "growth")


def pinball(p, y, q):
    return np.where(p >= y, (1 - q) * (p - y), q * (y - p))


def finite(radii):
    """Each radius, or the last finite one before it, and how many were not finite."""
    good = np.isfinite(radii)
    last = np.maximum.accumulate(np.where(good, np.arange(radii.size), -1))
    return np.where(last >= 0, radii[np.maximum(last, 0)], 0.0), (~good).sum()


def ours(scores, q):
    return IntervalTracker(q).track(np.zeros(scores.size), scores)[1]


def peers(scores, q):
    """Runs by name, one per setting; steps are multiples of the mean score, D of the largest."""
    mean, top = scores.mean(), scores.max()
    found = {
        "ACI *": [lambda c=c: ACI(q, step=c * mean).track(scores) for c in OCTAVES],
        "decaying step *": [
            lambda c=c: DecayingStep(q, step=c * mean).track(scores) for c in OCTAVES * 64
        ],
        "SF-OGD *": [lambda c=c: SFOGD(q, largest=c * top).track(scores) for c in OCTAVES[5:19]],
        "SF-OGD, D = largest": [lambda: SFOGD(q, largest=top).track(scores)],
        "SAOCP *": [lambda c=c: SAOCP(q, largest=c * top).track(scores) for c in OCTAVES[9:16]],
        "SAOCP, D = largest": [lambda: SAOCP(q, largest=top).track(scores)],
        "betting (KT) *": [lambda c=c: Betting(q, wealth=c * mean).track(scores) for c in OCTAVES],
        "α-ACI, window *": [
            lambda c=c, w=w: WindowACI(q, step=c, window=w).track(scores)
            for c in (0.001, 0.005, 0.02, 0.08)
            for w in (100, 500, 2000)
        ],
        "ACI, step 0.01": [lambda: ACI(q, step=0.01).track(scores)],
        "ACI, step 0.1": [lambda: ACI(q, step=0.1).track(scores)],
        "ACI, step 1": [lambda: ACI(q, step=1.0).track(scores)],
    }
    return found


def local_error(hits, q):
    """Largest |coverage − q| over windows."""
    sums = np.cumsum(np.append(0, hits))
    return np.abs((sums[WINDOW:] - sums[:-WINDOW]) / WINDOW - q).max()


def measure(radii, scores, oracle, q):
    """(pinball ratio, coverage, local error, the oracle's, width ratio, infinite plays)."""
    played, odd = finite(radii)
    return (
        pinball(played, scores, q).mean() / pinball(oracle, scores, q).mean(),
        (scores <= radii).mean(),
        local_error(scores <= radii, q),
        local_error(scores <= oracle, q),
        np.maximum(played, 0.0).mean() / oracle.mean(),
        odd,
    )


def streams(seed, q):
    for unit in (0.01, 1.0, 1000.0):
        yield f"swell ×{unit:g}", interval_scores(ROUNDS, seed, level=q, unit=unit)
    for name, stream in score_families(ROUNDS, seed, level=q).items():
        if not name.endswith("swell"):
            yield name.split("/")[1], stream


def compare(first, seeds, q):
    """{method: {stream: rows of `measure`, one a seed}}."""
    table = {}
    for seed in range(first, first + seeds):
        for name, stream in streams(seed, q):
            scores, oracle = stream.losses.y[:, 0], stream.target[:, 0]
            runs = {"IntervalTracker": [lambda scores=scores: ours(scores, q)], **peers(scores, q)}
            for method, settings in runs.items():
                rows = [measure(run(), scores, oracle, q) for run in settings]
                table.setdefault(method, {}).setdefault(name, []).append(min(rows))
    return table


def show(table):
    print("| method | " + " | ".join(STREAMS) + " |\n|---|" + "---|" * len(STREAMS))
    for method, row in table.items():
        cells = []
        for name in STREAMS:
            ratio, coverage, local, _, width, _ = np.mean(row[name], axis=0)
            cells.append(f"{ratio:.3f} ({coverage:.3f} {local:.3f} {width:.2f})")
        print(f"| {method} | " + " | ".join(cells) + " |")
    own = {name: np.array(table["IntervalTracker"][name]) for name in STREAMS}
    print(
        "\n| IntervalTracker | mean | worst seed | seeds ≤ 1.05 | worst coverage | local error less"
        " oracle's (worst) | infinite |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, rows in own.items():
        ratio, coverage, local, oracle, _, odd = rows.T
        off = coverage[np.argmax(np.abs(coverage - LEVEL))]
        gap = local - oracle
        print(
            f"| {name} | {ratio.mean():.4f} | {ratio.max():.3f} | {(ratio <= 1.05).sum()} of"
            f" {len(ratio)} | {off:.3f} | {gap.mean():.3f} ({gap.max():.3f}) | {odd.sum():.0f} of"
            f" {len(ratio) * ROUNDS} |"
        )


def levels(first, seeds):
    print("\n| swell, coverage | IntervalTracker | coverage reached | ACI * |\n|---|---|---|---|")
    for q in (0.5, 0.8, 0.9, 0.95, 0.99):
        rows, best = [], []
        for seed in range(first, first + seeds):
            stream = interval_scores(ROUNDS, seed, level=q)
            scores, oracle = stream.losses.y[:, 0], stream.target[:, 0]
            rows.append(measure(ours(scores, q), scores, oracle, q))
            best.append(
                min(measure(run(), scores, oracle, q)[0] for run in peers(scores, q)["ACI *"])
            )
        ratio, coverage = np.mean(rows, axis=0)[:2]
        print(f"| {q:g} | {ratio:.3f} | {coverage:.3f} | {np.mean(best):.3f} |")


def quantiles(first, seeds):
    print(
        "\n| QuantileTracker, pinball/oracle (coverage); ACI * | "
        + " | ".join(f"level {q:g}" for q in (0.1, 0.5, 0.9))
        + " |"
    )
    print("|---|---|---|---|")
    cells = {}
    for q in (0.1, 0.5, 0.9):
        for seed in range(first, first + seeds):
            for name, stream in quantile_families(ROUNDS, seed, level=q).items():
                y, oracle = stream.losses.y[:, 0], stream.target[:, 0]
                own = QuantileTracker(q).track(y)
                base = pinball(oracle, y, q).mean()
                best = min(
                    pinball(signed(y, q, c * np.abs(y - oracle).mean()), y, q).mean()
                    for c in OCTAVES
                )
                row = pinball(finite(own)[0], y, q).mean() / base, (y <= own).mean(), best / base
                cells.setdefault(name.split("/")[1], {}).setdefault(q, []).append(row)
    for name, row in cells.items():
        means = (np.mean(row[q], axis=0) for q in (0.1, 0.5, 0.9))
        print(
            f"| {name} | " + " | ".join(f"{a:.3f} ({c:.3f}); {b:.3f}" for a, c, b in means) + " |"
        )


def signed(y, q, step):
    """ACI on a signed stream, from its first value."""
    out, value = np.empty(y.size), y[0]
    for t, target in enumerate(y):
        out[t] = value
        value += step * (q - (target <= value))
    return out


def best_time(run, repeats=15):
    """Processor time, so that other work on the machine counts little."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def speed():
    y = np.random.default_rng(0).standard_normal(100_000)
    scores, centre = np.abs(y), np.zeros(y.size)
    bulk = {
        "IntervalTracker": lambda: IntervalTracker(LEVEL).track(centre, y),
        "IntervalTracker, two_sided": (
            lambda: IntervalTracker(LEVEL, two_sided=True).track(centre, y)
        ),
        "IntervalTracker, 5 coverages": (
            lambda: IntervalTracker((0.5, 0.8, 0.9, 0.95, 0.99)).track(centre, y)
        ),
        "QuantileTracker": lambda: QuantileTracker(LEVEL).track(y),
        "ACI": lambda: ACI(LEVEL).track(scores),
        "decaying step": lambda: DecayingStep(LEVEL).track(scores),
        "SF-OGD": lambda: SFOGD(LEVEL, largest=4.0).track(scores),
        "betting (KT)": lambda: Betting(LEVEL).track(scores),
        "SAOCP": lambda: SAOCP(LEVEL, largest=4.0).track(scores),
        "α-ACI, window 500": lambda: WindowACI(LEVEL).track(scores),
    }
    print("\n| µs a round, compiled loop | |\n|---|---|")
    for name, run in bulk.items():
        print(f"| {name} | {best_time(run) / y.size * 1e6:.3f} |")

    def calls(tracker):
        def run():
            for target in some:
                tracker.predict(0.0)
                tracker.update(target)

        return run

    def quantile_calls():
        for target in some:
            tracker.predict()
            tracker.update(target)

    some, tracker = y[:5000].tolist(), QuantileTracker(LEVEL)
    print("\n| µs a round, predict and update | |\n|---|---|")
    print(f"| IntervalTracker | {best_time(calls(IntervalTracker(LEVEL))) / 5000 * 1e6:.1f} |")
    print(f"| QuantileTracker | {best_time(quantile_calls) / 5000 * 1e6:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--first-seed", type=int, default=20_000, help="seeds from here on have chosen nothing"
    )
    given = parser.parse_args()
    print("Pinball/oracle (coverage, local error, width/oracle)\n")
    show(compare(given.first_seed, given.seeds, LEVEL))
    levels(given.first_seed, given.seeds)
    quantiles(given.first_seed, min(given.seeds, 5))
    speed()


if __name__ == "__main__":
    main()
