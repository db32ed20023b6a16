"""Forecasters of squared loss at their defaults: three signals and stage-wise regression.

    python benchmarks/forecasters.py            # about a minute; prints Markdown

Signals: T = 10⁴, noise 0.5, 20 seeds; regret Σ½(y − ŷ)² − Σ½(y − u)² against the true signal u. The
best fixed ridge is chosen in hindsight, per seed, from 60. Stage-wise: coefficients redrawn 100
times, dim 3, loss (ŷ − y)²/4, regret against the coefficients in force.
"""

import argparse

import numpy as np

import stillpoint as sp
from stillpoint.lab.streams import signals, stagewise

RIDGES = np.logspace(-1, 8, 60)


def regret(forecasts, y, u):
    return 0.5 * ((forecasts - y) ** 2 - (u - y) ** 2).sum()


def on_signals(rounds, seeds):
    """Rows (signal, best fixed ridge, one mean regret an aggregation)."""
    totals = {}
    for seed in range(seeds):
        for name, stream in signals(rounds, seed).items():
            y, u = stream.losses.y[:, 0], stream.target[:, 0]
            fixed = [
                regret(sp.KernelVAW(sp.kernels.Spline(offset=r), ridge=r).track(y), y, u)
                for r in RIDGES
            ]
            row = [min(fixed)]
            row += [
                regret(sp.KernelForecaster(aggregation=each).track(y), y, u)
                for each in ("ml-poly", "vovk", "exponential")
            ]
            totals.setdefault(name, []).append(row)
    return {name: np.mean(rows, axis=0) for name, rows in totals.items()}


def on_stages(horizons, seeds):
    """Mean regret of TrackingForecaster, one a horizon."""
    result = []
    for horizon in horizons:
        values = []
        for seed in range(seeds):
            stream = stagewise(horizon, seed)
            # the stream scales both to make ¼ a ½
            x, y = stream.losses.x * np.sqrt(2), stream.losses.y[:, 0] * np.sqrt(2)
            truth = (x * stream.target).sum(axis=1)
            values.append(0.5 * regret(sp.TrackingForecaster(3).track(x, y), y, truth))
        result.append(np.mean(values))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="seeds for the signals")
    seeds = parser.parse_args().seeds
    print(
        "| signal | best fixed ridge | ML-Poly (default) | Vovk | exponential weights"
        " |\n|---|---|---|---|---|"
    )
    for name, row in on_signals(10_000, seeds).items():
        ratios = " | ".join(f"{value:.1f} ({value / row[0]:.2f}×)" for value in row[1:])
        print(f"| {name.split('/')[-1]} | {row[0]:.1f} | {ratios} |")
    print(
        "\n| stage-wise regression, 12 seeds | T = 1 000 | T = 10 000 | T = 30 000"
        " |\n|---|---|---|---|"
    )
    print(
        "| TrackingForecaster | "
        + " | ".join(f"{value:.1f}" for value in on_stages([1_000, 10_000, 30_000], 12))
        + " |"
    )


if __name__ == "__main__":
    main()
