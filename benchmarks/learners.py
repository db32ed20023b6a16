"""CPU µs a round of every learner of `stillpoint bench learners`: in bulk, and call by call.

    python benchmarks/learners.py               # about a minute; prints Markdown

Side by side in one run on one stream, least of three. In bulk is `sp.play` on a stream of built-in
losses: a compiled loop, where the learner has one. Call by call is `sp.play` on the same losses
as objects: predict, gradient and value, update, in Python. Where the two are alike, there is no
loop.
"""

import argparse
import sys
import warnings
from time import process_time

import stillpoint as sp
from stillpoint.lab import streams
from stillpoint.lab.bench.contenders import choose, contenders, facts_of

REPEATS = 3
LOOP = 2.0  # a loop is at least this many times as fast as calls


def seconds(player, stream, losses):
    """The least CPU time of a play, once it is compiled."""
    sp.play(player.build(facts_of(stream)), losses[:20] if isinstance(losses, list) else losses)
    best = float("inf")
    for _ in range(REPEATS):
        learner = player.build(facts_of(stream))
        start = process_time()
        sp.play(learner, losses)
        best = min(best, process_time() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learner", nargs="*", help="names (default: all)")
    parser.add_argument("--stream", default="ten-pieces", help="a name of `stillpoint streams`")
    parser.add_argument("--rounds", type=int, default=10_000, help="of a run in bulk")
    parser.add_argument("--called", type=int, default=1_000, help="of a run call by call")
    arguments = parser.parse_args()
    bulk = streams.get(arguments.stream, arguments.rounds, 0)
    short = streams.get(arguments.stream, arguments.called, 0)
    print("| learner | is told | in bulk | call by call | ratio |\n|---|---|---|---|---|")
    for player in choose(arguments.learner or list(contenders())):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                us = seconds(player, bulk, bulk.losses) / len(bulk) * 1e6
                calls = seconds(player, short, list(short.losses)) / len(short) * 1e6
        except ValueError as refusal:
            print(f"| {player.name} | {player.assumes} | {refusal} | – | – |")
            continue
        ratio = f"{calls / us:.0f}×" if calls / us >= LOOP else "no loop"
        print(f"| {player.name} | {player.assumes} | {us:.2f} | {calls:.1f} | {ratio} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
