"""PyNOL's adaptive example: its regression of 100 stages, judged on the worst interval.

    python examples/pynol_adaptive.py           # prints the table as Markdown

Adaptive regret is the regret on an interval against the best fixed coefficients of that interval;
`Comparison.plot(measure="adaptive")` draws the worst of each length. Learners in the ball are told
D = 1 and G = 1.1, AFLH T as well; Tracker and TrackingForecaster nothing.
"""

import typer

import stillpoint as sp
from stillpoint.lab import baselines


def learners(rounds):
    """Those to compare: (name, class, what it is told)."""
    ball = {"lipschitz": 1.1, "radius": 1.0}
    return [
        ("SAOL", baselines.SAOL, ball),
        ("CBCE", baselines.CBCE, ball),
        ("SACS", baselines.SACS, ball),
        ("PSACS", baselines.PSACS, ball),
        ("AFLH", baselines.AFLH, {"horizon": rounds, **ball, "surrogate": False}),
        ("AFLH++", baselines.AFLH, {"horizon": rounds, **ball}),
        ("Tracker", sp.Tracker, {}),
        ("TrackingForecaster", sp.TrackingForecaster, {}),
    ]


def main(rounds: int = 10_000, seeds: int = 3, out: str | None = None, jobs: int = 1):
    """Play all of them, print the worst intervals; --out: folder for figures, --jobs: processes."""
    result = sp.lab.compare(learners(rounds), "stagewise", seeds=seeds, horizons=rounds, jobs=jobs)
    print(result.markdown())
    lengths, curves = result.curves(measure="adaptive")
    shown = [k for k, length in enumerate(lengths) if length in (16, 64, 256, 1024, 4096)]
    print("| worst interval of length |", " | ".join(f"{lengths[k]:.0f}" for k in shown), "|")
    print("|---" * (1 + len(shown)) + "|")
    for name, each in curves.items():
        print(f"| {name} |", " | ".join(f"{each[:, k].mean():.2f}" for k in shown), "|")
    if out:
        for path in result.save(out):
            print(path)
        result.plot(measure="adaptive", log="x", path=f"{out}/adaptive.pdf")
    return result


if __name__ == "__main__":
    typer.run(main)
