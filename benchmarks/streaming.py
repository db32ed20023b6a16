"""Cost a round of KernelFTRL with the horizon-free kernel: streaming against dense, interactive against bulk, in one run.

    python benchmarks/streaming.py            # about two minutes; --quick for a tenth of it

Streaming must be flat in t (ratio to t = 10³ near 1); dense grows with t. Ratios are what to read; times are this machine's.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import stillpoint as sp

ROUNDS = 4096  # timed rounds at each t


def learner(dim, memory="auto"):
    return sp.KernelFTRL(dim, lipschitz=1.0, kernel=sp.kernels.HorizonFree(), potential=sp.potentials.Erfi(), memory=memory)


def data(rounds, dim, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(np.arange(rounds) / 500)[:, None] + 0.3 * rng.standard_normal((rounds, dim))


def bulk(model, y):
    start = time.perf_counter()
    sp.play(model, sp.losses.Absolute().on(y if y.shape[1] > 1 else y[:, 0]))
    return (time.perf_counter() - start) / len(y)


def interactive(model, gradients):
    start = time.perf_counter()
    for g in gradients:
        model.predict()
        model.update(g)
    return (time.perf_counter() - start) / len(gradients)


def measure(dim, ages, repeats):
    """Best of `repeats` at each age t, bulk and interactive, in µs a round."""
    gradients = data(ROUNDS, dim, seed=1)
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    bulk(learner(dim), data(ROUNDS, dim))  # compile
    rows, model, age = [], learner(dim), 0
    for target in ages:
        while age < target:
            step = min(target - age, 200_000)
            bulk(model, data(step, dim))
            age += step
        times = [(bulk(model, data(ROUNDS, dim)), interactive(model, gradients)) for _ in range(repeats)]
        age += 2 * repeats * ROUNDS
        rows.append([1e6 * min(column) for column in zip(*times, strict=True)])
    return np.array(rows)


def measure_dense(dim, ages):
    """One run through the ages: dense memory, interactive, over 20 rounds each."""
    gradients = data(max(ages) + 20, dim, seed=1)
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    model, done, times = learner(dim, "dense"), 0, []
    for age in ages:
        interactive(model, gradients[done:age])
        times.append(1e6 * interactive(model, gradients[age : age + 20]))
        done = age + 20
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="stop at t = 10⁵ and repeat less")
    quick = parser.parse_args().quick
    ages = [1_000, 100_000] if quick else [1_000, 100_000, 1_000_000]
    dense_ages = [1_000, 4_000] if quick else [1_000, 10_000, 40_000]
    console = Console()
    table = Table(title="KernelFTRL, HorizonFree (51 terms), Erfi, absolute loss: µs a round (ratio to t = 10³)")
    for column in ("d", "t", "bulk", "interactive", "dense, interactive"):
        table.add_column(column, justify="right")
    for dim in (1, 100):
        rows = measure(dim, ages, 3 if quick else 9)
        dense = measure_dense(dim, dense_ages)
        for age, row in zip(ages, rows, strict=True):
            table.add_row(str(dim), f"{age:,}", *(f"{x:.2f} ({x / base:.2f}×)" for x, base in zip(row, rows[0], strict=True)), "")
        for age, x in zip(dense_ages, dense, strict=True):
            table.add_row(str(dim), f"{age:,}", "", "", f"{x:.0f} ({x / dense[0]:.1f}×)")
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
