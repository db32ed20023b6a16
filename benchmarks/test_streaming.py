"""Cost of KernelFTRL: flat in t when streaming, growing when dense.

    make bench          # or: python -m pytest benchmarks --benchmark-only

Each time is of 1000 rounds, so µs read as ns a round; the number in brackets is the ratio to the
best of its group.
"""

from functools import cache

import numpy as np
import pytest

import stillpoint as sp

ROUNDS = 1000
KERNEL = sp.kernels.HorizonFree()
# fill the table of lags first, so that dense runs time the sums alone
KERNEL(np.arange(40_000.0), 0.0)


@cache
def data(rounds, dim, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sin(np.arange(rounds) / 500)[:, None] + 0.3 * rng.standard_normal((rounds, dim))
    return sp.losses.Absolute().on(y if dim > 1 else y[:, 0])


@cache
def gradients(rounds, dim):
    g = np.random.default_rng(1).standard_normal((rounds, dim))
    return g / np.linalg.norm(g, axis=1, keepdims=True)


def learner(dim, memory="auto"):
    return sp.KernelFTRL(
        dim, lipschitz=1.0, kernel=KERNEL, potential=sp.potentials.Erfi(), memory=memory
    )


@cache
def aged(dim, age):
    """A streaming learner that has played `age` rounds."""
    model = learner(dim)
    for start in range(0, age, 50_000):
        sp.play(model, data(min(50_000, age - start), dim))
    return model


def interactive(model, dim, rounds=ROUNDS):
    for g in gradients(rounds, dim):
        model.predict()
        model.update(g)


@pytest.mark.parametrize("age", [1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("dim", [1, 100])
def test_bulk(benchmark, dim, age):
    benchmark.group = f"bulk, d = {dim}"
    model = aged(dim, age)
    benchmark.pedantic(sp.play, (model, data(ROUNDS, dim)), rounds=60, warmup_rounds=2)


@pytest.mark.parametrize("age", [1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("dim", [1, 100])
def test_interactive(benchmark, dim, age):
    benchmark.group = f"interactive, d = {dim}"
    benchmark.pedantic(interactive, (aged(dim, age), dim), rounds=30, warmup_rounds=2)


@pytest.mark.parametrize("age", [1_000, 10_000, 30_000])
@pytest.mark.parametrize("dim", [1, 100])
def test_dense(benchmark, dim, age):
    benchmark.group = f"dense, interactive, d = {dim}"
    model = learner(dim, "dense")
    interactive(model, dim, age)
    # each run makes the next one longer: once is all
    benchmark.pedantic(interactive, (model, dim), rounds=1)
