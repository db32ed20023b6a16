"""How regret grows with T and with total variation C, for three forecasters.

    python benchmarks/slopes.py   # a few minutes; prints Markdown, writes docs/bench/slopes.png

Regret Σ½(y − ŷ)² − Σ½(y − u)² against the true signal u, noise 0.5, means over seeds from 100 on.
The best fixed ridge is chosen in hindsight, per seed, from 60. Slopes are least squares in log-log;
"upper half" is over the larger half of the values.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

import stillpoint as sp
from slopes_figure import draw
from stillpoint.forecasters.variation import VariationForecaster
from stillpoint.lab.streams import signals
from stillpoint.report.figures import COLOURS

RIDGES = np.logspace(-1, 8, 60)
ROUNDS = np.array([1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000])
PERIODS = 2 ** np.arange(8)
LENGTH, NOISE, FIRST_SEED = 64_000, 0.5, 100
LEARNERS = {
    "best fixed ridge": COLOURS[5],
    "KernelForecaster": COLOURS[1],
    "VariationForecaster": COLOURS[2],
}
FIGURE = Path(__file__).parent.parent / "docs" / "bench" / "slopes.png"


@njit(cache=True)
def ridge_losses(y, ridges, total):
    """Adds up Σ½(y − ŷ)² of KernelVAW(Spline(offset=λ), ridge=λ) for each λ."""
    m, C = np.zeros(ridges.size), ridges.copy()
    for t in range(y.size):
        for i in range(ridges.size):
            v = C[i] + 1.0
            part = v / (v + ridges[i])
            total[i] += 0.5 * (y[t] - (1.0 - part) * m[i]) ** 2
            m[i] += part * (y[t] - m[i])
            C[i] = part * ridges[i]


def loss(forecasts, y):
    return 0.5 * ((forecasts - y) ** 2).sum()


def regrets(y, u):
    """One a learner, in the order of LEARNERS."""
    fixed = np.zeros(RIDGES.size)
    ridge_losses(y, RIDGES, fixed)
    ours = [loss(model.track(y), y) for model in (sp.KernelForecaster(), VariationForecaster())]
    return np.array([fixed.min(), *ours]) - loss(u, y)


def mean_regrets(u, seeds):
    return np.mean(
        [
            regrets(u + NOISE * np.random.default_rng(seed).standard_normal(u.size), u)
            for seed in seeds
        ],
        axis=0,
    )


def grid(T):
    return np.arange(1, T + 1) / T


def smooth(T, periods=1):
    return np.sin(2 * np.pi * periods * grid(T) + 0.7)


def jumps(T):
    return np.floor(4.999 * grid(T)) % 2 - 0.5


def square(T, periods):
    return 0.5 * np.sign(smooth(T, periods))


def fine(T, pieces):
    """Alternating levels that are just seen within a piece, 2σ√(pieces/T): the hardest jumps."""
    return NOISE * np.sqrt(pieces / T) * (-1.0) ** np.floor(pieces * (grid(T) - 0.5 / T))


def variation(u):
    return np.abs(np.diff(u)).sum()


def example(T, seeds):
    """The spline example, C' = 1, λ = (y²T/C'²)^{2/3}: regret, and bounds by E10 and by d_eff.

    The sine's periods grow as √T, so that C'² = u_1² + Σ(u_t − u_{t−1})² stays. Noise is uniform:
    Gaussian y_max² grows with T.
    """
    u = np.sin(np.sqrt(2.0 / T) * np.arange(1, T + 1))
    u /= np.sqrt(u[0] ** 2 + (np.diff(u) ** 2).sum())
    rows = []
    for seed in seeds:
        y = u + NOISE * np.random.default_rng(seed).uniform(-np.sqrt(3), np.sqrt(3), T)
        largest = (y**2).max()
        ridge = (largest * T) ** (2 / 3)
        model = sp.KernelVAW(sp.kernels.Spline(), ridge=ridge)
        regret = loss(model.track(y), y) - loss(u, y)
        closed = 0.5 * ridge + 0.5 * largest * sp.regret.spline_dimension_bound(T, ridge) * np.log(
            np.e + np.e * T**2 / ridge
        )
        rows.append((regret, model.bound(1.0), closed))
    return np.mean(rows, axis=0)


def slope(x, values):
    return np.polyfit(np.log(x), np.log(values), 1)[0]


def measure(seeds):
    """Name → (x, rows), a row for each x."""
    jobs = [("T smooth", T, lambda T, s: mean_regrets(smooth(T), s)) for T in ROUNDS]
    jobs += [("T jumps", T, lambda T, s: mean_regrets(jumps(T), s)) for T in ROUNDS]
    jobs += [("C smooth", k, lambda k, s: mean_regrets(smooth(LENGTH, k), s)) for k in PERIODS]
    jobs += [("C square", k, lambda k, s: mean_regrets(square(LENGTH, k), s)) for k in PERIODS]
    jobs += [("C fine", 32 * k, lambda k, s: mean_regrets(fine(LENGTH, k), s)) for k in PERIODS]
    jobs += [("example", T, example) for T in ROUNDS]
    result, begun = {}, time.time()
    for i, (name, x, work) in enumerate(jobs):
        result.setdefault(name, []).append((x, work(x, range(FIRST_SEED, FIRST_SEED + seeds))))
        print(f"{i + 1}/{len(jobs)} {name} {x}: {time.time() - begun:.0f} s", file=sys.stderr)
    shapes = {"C smooth": smooth, "C square": square, "C fine": fine}
    table = {}
    for name, rows in result.items():
        x = np.array([row[0] for row in rows])
        if name in shapes:
            x = np.array([variation(shapes[name](LENGTH, k)) for k in x])
        table[name] = x, np.array([row[1] for row in rows])
    return table


def three_signals(seeds):
    """Mean regrets on `streams.signals`, T = 10⁴."""
    rows = {}
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for name, stream in signals(10_000, seed).items():
            rows.setdefault(name.split("/")[-1], []).append(
                regrets(stream.losses.y[:, 0], stream.target[:, 0])
            )
    return {name: np.mean(values, axis=0) for name, values in rows.items()}


def others(T, seed):
    """Name → (y, u): other noise and other signals."""
    rng = np.random.default_rng(seed)
    x, white, wave, step = grid(T), rng.standard_normal(T), smooth(T), jumps(T)
    walk, t3 = np.cumsum(rng.standard_normal(T)), rng.standard_t(3, T) / np.sqrt(3)
    rate, levels = 0.2 + 0.6 * (x > 0.5), np.where((x > 0.3) & (x < 0.6), 20.0, 2.0)
    quieter, louder = np.where(x < 0.5, 1.0, 0.1), np.where(x < 0.5, 0.1, 1.0)
    skewed = rng.lognormal(0.0, 1.5, T) - np.exp(1.125)
    return {
        "constant, noise 0.5": (0.5 * white, 0 * x),
        "smooth, noise 0.05": (wave + 0.05 * white, wave),
        "smooth, noise 2": (wave + 2 * white, wave),
        "jumps, noise 0.05": (step + 0.05 * white, step),
        "jumps, noise 2": (step + 2 * white, step),
        "smooth, noise 0.1, then 1": (wave + louder * white, wave),
        "jumps, noise 0.1, then 1": (step + louder * white, step),
        "jumps, noise 1, then 0.1": (step + quieter * white, step),
        "smooth, Student t3 noise": (wave + 0.5 * t3, wave),
        "jumps, Student t3 noise": (step + 0.5 * t3, step),
        "jumps, log-normal noise": (step + 0.2 * skewed, step),
        "jumps, spikes of 10 in one round of 50": (
            step + 10.0 * (rng.random(T) < 0.02) - 0.2,
            step,
        ),
        "coin, 0.2 then 0.8": ((rng.random(T) < rate) * 1.0, rate),
        "Poisson, 2, 20, 2": (1.0 * rng.poisson(levels), levels),
        "random walk, steps 0.05": (0.05 * walk + 0.5 * white, 0.05 * walk),
        "random walk, steps 0.5": (0.5 * walk + 0.5 * white, 0.5 * walk),
        "trend 0.01": (0.01 * T * x + 0.5 * white, 0.01 * T * x),
        "square wave, 50 periods": (2 * square(T, 50) + 0.5 * white, 2 * square(T, 50)),
    }


def mean_others(seeds):
    rows = {}
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for name, (y, u) in others(10_000, seed).items():
            rows.setdefault(name, []).append(regrets(y, u))
    return {name: np.mean(values, axis=0) for name, values in rows.items()}


def microseconds(model, y):
    model.track(y[:10])
    times = []
    for _ in range(3):
        begun = time.process_time()
        model.track(y)
        times.append(time.process_time() - begun)  # others may be using the machine
    return 1e6 * min(times) / y.size


def number(x):
    return f"{x:.2g}" if x < 10 else f"{x:,.0f}".replace(",", " ")


def print_tables(table, three, rest):
    print("| T = 10⁴ | " + " | ".join(LEARNERS) + " |\n|---|---|---|---|")
    for name, row in three.items():
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    titles = {
        "T smooth": "T, one sine period, C = 4",
        "T jumps": "T, 4 jumps of 1, C = 4",
        "C smooth": "C, sines, T = 64 000",
        "C square": "C, square waves of height 1, T = 64 000",
        "C fine": "C, jumps just seen, T = 64 000",
    }
    for name, title in titles.items():
        x, rows = table[name]
        half = slice(len(x) // 2, None)
        print(
            f"\n| {title} | " + " | ".join(number(value) for value in x) + " | slope | upper half |"
        )
        print("|---" * (len(x) + 3) + "|")
        for i, learner in enumerate(LEARNERS):
            values = " | ".join(f"{value:.1f}" for value in rows[:, i])
            print(
                f"| {learner} | {values} | {slope(x, rows[:, i]):.2f} |"
                f" {slope(x[half], rows[half, i]):.2f} |"
            )
    x, rows = table["example"]
    print(
        "\n| T, spline example, C' = 1 | "
        + " | ".join(number(value) for value in x)
        + " | slope | upper half |"
    )
    print("|---" * (len(x) + 3) + "|")
    for i, name in enumerate(("regret", "bound (log det)", "bound (d_eff ≤ πT/2√λ)")):
        values = " | ".join(f"{value:.0f}" for value in rows[:, i])
        print(
            f"| {name} | {values} | {slope(x, rows[:, i]):.2f} | {slope(x[4:], rows[4:, i]):.2f} |"
        )
    print("\n| other streams, T = 10⁴ | " + " | ".join(LEARNERS) + " |\n|---|---|---|---|")
    for name, row in rest.items():
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="how many, from 100 on")
    seeds = parser.parse_args().seeds
    table = measure(seeds)
    print_tables(table, three_signals(seeds), mean_others(seeds))
    y = NOISE * np.random.default_rng(FIRST_SEED).standard_normal(100_000)
    speed = ", ".join(
        f"{type(each).__name__} {microseconds(each, y):.2f}"
        for each in (sp.KernelForecaster(), VariationForecaster())
    )
    print(f"\nMicroseconds a round in bulk, T = 100 000: {speed} (processor time).")
    draw(table, LEARNERS, slope, FIGURE)


if __name__ == "__main__":
    main()
