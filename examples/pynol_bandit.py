"""PyNOL's bandit example: its regression of 100 stages, told values of the loss and no gradients.

    python examples/pynol_bandit.py             # about a minute; prints the table as Markdown

One or two values a round. BGD and PBGD are told T, D = 1, gradients of at most G = 1.1 and, with
one point, losses of at most 1.21; `Bandit(Tracker)` is told nothing but the values.
"""

import typer

import stillpoint as sp
from stillpoint.lab import Bandit, Contender
from stillpoint.lab.baselines import BGD, PBGD


def learners():
    """Those to compare; directions are drawn with the seed of the run."""
    told = {"lipschitz": 1.1, "radius": 1.0}
    players = []
    for points in (1, 2):
        more = {**told, "points": points, "largest": 1.21 if points == 1 else None}
        values = f"{points} value{'s' * (points > 1)}"

        def descent(f, make, more=more):
            return make(f.dim, horizon=f.horizon, seed=f.seed, **more)

        players += [
            Contender(f"BGD-{points}", f"T, G, D, {values}", lambda f, d=descent: d(f, BGD)),
            Contender(f"PBGD-{points}", f"T, G, D, {values}", lambda f, d=descent: d(f, PBGD)),
            Contender(
                f"Bandit(Tracker)-{points}",
                values,
                lambda f, n=points: Bandit(sp.Tracker(f.dim), points=n, seed=f.seed),
            ),
        ]
    return players


def main(rounds: int = 10_000, seeds: int = 3, out: str | None = None, jobs: int = 1):
    """Play all of them, print the table; --out: folder for figures, --jobs: processes."""
    result = sp.lab.compare(learners(), "stagewise", seeds=seeds, horizons=rounds, jobs=jobs)
    print(result.markdown())
    for path in result.save(out, slopes=(0.5, 0.75)) if out else ():
        print(path)
    return result


if __name__ == "__main__":
    typer.run(main)
