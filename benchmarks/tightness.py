"""How tight each learner's bound is: the largest regret/bound that adversaries and a search find.

    python benchmarks/tightness.py              # about two minutes; prints Markdown

Linear losses in one dimension, gradients of at most 1, comparators of norm 1 for learners in a
ball, of norms from 0.01 to 100 for the others. A ratio above 1 would be a broken theorem; the
script then exits with 1.
"""

import argparse
import sys

from stillpoint.lab.tightness import cases, table, tightest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="+", default=[16, 128], help="T")
    parser.add_argument("--tries", type=int, default=400, help="changes that the search tries")
    arguments = parser.parse_args()
    rows = [
        (case, [tightest(case, T, tries=arguments.tries) for T in arguments.rounds])
        for case in cases()
    ]
    print(table(rows))
    worst = max(each.searched for _, found in rows for each in found)
    print(f"The largest ratio is {worst:.3f}.")
    return int(worst > 1.0 + 1e-9)


if __name__ == "__main__":
    sys.exit(main())
