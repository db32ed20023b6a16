"""PyNOL's first example: dynamic regret on linear regression in 100 stages, T = 10⁴, dim 3.

    python examples/pynol_full_information.py                 # prints the table as Markdown
    python examples/pynol_full_information.py --out figures   # and writes tables, curves and data

The loss is (⟨w, x⟩ − y)²/4 with x in the unit ball and coefficients redrawn in each stage. Those of
the literature are told the truth: T, G = 1.1 (gradients in the ball, with noise of four standard
deviations; told 1.0 to 1.6, Ader has 84 to 104), D = 1 and L = 1/2. PyNOL's own models, told as
much, have on this stream, mean of 3 seeds: Ader 93.9, the best of all its models 25.1.
"""

import typer

import stillpoint as sp
from stillpoint.lab import baselines

ADER, BEST = 93.9, 25.1  # PyNOL's figures


def learners(rounds):
    """Those to compare: (name, class, what it is told)."""
    ball = {"lipschitz": 1.1, "radius": 1.0}
    told = {"horizon": rounds, **ball}
    smooth = {**told, "smoothness": 0.5}
    return [
        ("Ader", baselines.Ader, {**told, "surrogate": False}),
        ("Ader, one gradient", baselines.Ader, told),
        ("Sword, small loss", baselines.SwordSmallLoss, smooth),
        ("Sword, variation", baselines.SwordVariation, smooth),
        ("Sword, best", baselines.SwordBest, smooth),
        ("Sword++", baselines.SwordPP, smooth),
        ("Scream", baselines.Scream, told),
        ("SACS", baselines.SACS, ball),
        ("PSACS", baselines.PSACS, ball),
        ("Tracker", sp.Tracker, {}),
        ("TrackingForecaster", sp.TrackingForecaster, {}),
    ]


def main(rounds: int = 10_000, seeds: int = 3, out: str | None = None, jobs: int = 1):
    """Play all of them, print the table; --out: folder for figures, --jobs: processes."""
    result = sp.lab.compare(learners(rounds), "stagewise", seeds=seeds, horizons=rounds, jobs=jobs)
    print(result.markdown())
    print(f"PyNOL at T = 10000: Ader {ADER}, the best of its models {BEST}")
    for path in result.save(out) if out else ():
        print(path)
    return result


if __name__ == "__main__":
    typer.run(main)
