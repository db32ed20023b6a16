"""How tight each learner's bound is: the largest regret/bound that adversaries and a search find.

    python benchmarks/tightness.py              # some minutes; prints Markdown

Linear losses with gradients of at most 1, in one dimension and in the plane; absolute and squared
losses with targets in the unit ball, those learners excepted that must be told a gradient bound
and have no domain in which squared losses keep to one. Comparators have norm 1 for learners in a
ball, norms from 0.01 to 100 for the others. A ratio above 1 would be a broken theorem; the script
then exits with 1.
"""

import argparse
import sys

from stillpoint.lab.tightness import cases, table, tightest

SETTINGS = {
    "Linear losses": {"loss": "linear"},
    "Linear losses in the plane": {"loss": "linear", "dim": 2},
    "Absolute losses": {"loss": "absolute"},
    "Squared losses": {"loss": "squared"},
    "Squared losses in the plane": {"loss": "squared", "dim": 2},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="+", default=[16], help="T")
    parser.add_argument("--longer", type=int, nargs="*", default=[128], help="T, linear losses too")
    parser.add_argument("--tries", type=int, default=400, help="changes that the search tries")
    arguments = parser.parse_args()
    worst = 0.0
    for title, setting in SETTINGS.items():
        longer = arguments.longer if setting == {"loss": "linear"} else []
        horizons = [*arguments.rounds, *longer]
        rows = [
            (case, [tightest(case, T, tries=arguments.tries, **setting) for T in horizons])
            for case in cases()
            if setting["loss"] in case.losses
        ]
        print(f"## {title}\n\n{table(rows)}", flush=True)
        worst = max(worst, *(each.searched for _, found in rows for each in found))
    print(f"The largest ratio is {worst:.3f}.")
    return int(worst > 1.0 + 1e-9)


if __name__ == "__main__":
    sys.exit(main())
