"""Regret of Algorithm 2 with 35, 51 and 68 exponentials, against the exact kernel.

    python benchmarks/mixture_regret.py            # some seconds; prints Markdown

T = 2000, absolute loss; every figure is relative to the dense run on the same stream.
"""

import numpy as np

import stillpoint as sp

ROUNDS = 2000


def streams():
    """Name → (observations, target)."""
    rng, t = np.random.default_rng(0), np.arange(ROUNDS)
    targets = {
        "constant": np.ones(ROUNDS),
        "ten pieces": np.repeat(rng.uniform(-1, 1, 10), ROUNDS // 10),
        "sine": np.sin(t / 100),
    }
    return {name: (u + 0.1 * rng.standard_normal(ROUNDS), u) for name, u in targets.items()}


def regret(y, target, scale, **options):
    learner = sp.KernelFTRL(
        1, lipschitz=1.0, potential=sp.potentials.ParameterFree(scale), **options
    )
    run = sp.play(learner, sp.losses.Absolute().on(y))
    return run.regret(target)[-1], run.plays[:, 0]


def compare(y, target, scale, accuracy):
    """(terms, relative difference of regret, of plays) against dense."""
    exact, plays = regret(y, target, scale, kernel=sp.kernels.HorizonFree(), memory="dense")
    kernel = sp.kernels.HorizonFree(accuracy=accuracy)
    value, mixed = regret(y, target, scale, kernel=kernel)
    return (
        kernel.state_space().size,
        abs(value / exact - 1),
        np.abs(mixed - plays).max() / np.abs(plays).max(),
    )


def main():
    print(
        "| stream | ε | terms | regret, relative difference | plays, relative difference"
        " |\n|---|---|---|---|---|"
    )
    for name, (y, target) in streams().items():
        for scale in (1.0, 1e4):
            for accuracy in (2e-3, 1e-4, 5e-6):
                terms, of_regret, of_plays = compare(y, target, scale, accuracy)
                print(f"| {name} | {scale:g} | {terms} | {of_regret:.1e} | {of_plays:.1e} |")


if __name__ == "__main__":
    main()
