"""Tracker beside the goals that `stillpoint bench regret --stream chosen` does not answer.

    python benchmarks/targets.py            # some minutes; prints Markdown

Ratios are to OGD whose step is chosen in hindsight, geometric means over streams and seeds. On the
sign flips the comparator loses nothing, so that regret is total loss. Last come the size of regret
against 0 and the radius on linear losses whose gradients are random signs, the first of them equal.
"""

import numpy as np

import stillpoint as sp
from stillpoint.lab.bench.regret import regret_bench

SHORT, LONG = (2_000, 20_000), (1_000, 10_000, 30_000)
RATIOS = [
    ("vectors, d = 10", "vectors", 1.0),
    ("targets × 0.01", "x0.01/*", 1.5),
    ("targets × 1000", "x1000/*", 1.5),
]
REGRETS = [
    ("ten pieces, regret", "ten-pieces", range(2000, 2040), LONG, "71 / 96 / 130"),
    ("sign flips, total loss", "sign-flips", range(1000, 1020), (32_768,), "700"),
    ("sign flips, total loss", "sign-flips", range(2000, 2020), (32_768,), "700"),
]


def spelled(horizons):
    return " / ".join(f"{horizon:,}".replace(",", " ") for horizon in horizons)


def tens(regrets):
    """Least and largest mean over ten seeds in a row: how far another set of seeds may lie."""
    means = regrets.reshape(-1, 10).mean(axis=1)
    return f"{means.min():.0f}–{means.max():.0f}"


def against_zero(push, runs=120, rounds=20_000):
    """Median, 90% and largest of |regret against 0| and of the radius, under noise."""
    found = []
    for seed in range(9000, 9000 + runs):
        g = np.sign(np.random.default_rng(seed).standard_normal(rounds))
        g[:push] = -1.0
        learner = sp.Tracker(1)
        run = sp.play(learner, sp.losses.Linear().on(g[:, None]))
        found.append((abs(run.losses.sum()), learner.radius))
    figures = np.quantile(found, [0.5, 0.9, 1.0], axis=0).T
    return " | ".join(" / ".join(f"{x:.2g}" for x in row) for row in figures)


def main():
    print(
        "| Tracker on | seeds | T | goal | measured | standard error | sets of ten seeds"
        " |\n|---|---|---|---|---|---|---|"
    )
    for title, stream, goal in RATIOS:
        found = regret_bench(
            ["Tracker"], [stream], seeds=range(1000, 1010), horizons=SHORT, jobs=2, progress=True
        )
        means = {row.horizon: row.mean for row in found.summary()}
        figures = " / ".join(f"{means[horizon]:.2f}" for horizon in SHORT)
        print(
            f"| {title}, ratio | 1000–1009 | {spelled(SHORT)} | {goal:g} | {figures} | – | – |",
            flush=True,
        )
    for title, stream, seeds, horizons, goal in REGRETS:
        found = regret_bench(
            ["Tracker"], [stream], seeds=seeds, horizons=horizons, jobs=2, progress=True
        )
        by = [
            np.array([row.regret for row in found.rows if row.horizon == horizon])
            for horizon in horizons
        ]
        means = " / ".join(f"{regrets.mean():.0f}" for regrets in by)
        errors = " / ".join(f"{regrets.std(ddof=1) / regrets.size**0.5:.1f}" for regrets in by)
        span, spreads = f"{seeds[0]}–{seeds[-1]}", " / ".join(map(tens, by))
        print(
            f"| {title} | {span} | {spelled(horizons)} | {goal} | {means} | {errors} | {spreads} |",
            flush=True,
        )
    print("\n| equal signs first | regret against 0 | radius |\n|---|---|---|")
    for push in (0, 20):
        print(f"| {push} | {against_zero(push)} |", flush=True)


if __name__ == "__main__":
    main()
