"""What a round of the wrappers costs, beside river's own models and the cores in bulk.

    python benchmarks/estimators.py            # ten seconds; prints Markdown; needs river

All in one process, turn about, least over pieces of 200 rounds: short enough that some are not
disturbed on a busy machine. River's models run behind its StandardScaler, at their defaults.
Classifiers are asked for probabilities.
"""

import argparse
import time

import numpy as np
from river import linear_model, preprocessing

import stillpoint as sp
from stillpoint.estimators.river import TrackingClassifier, TrackingRegressor
from stillpoint.forecasters import TrackingProbabilities

FEATURES = (5, 10, 20)
TARGET, BULK = 2.0, 4.0  # times river's; µs a round in bulk at 10 features
PIECE = 200


def stream(dim, rounds, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, (rounds, dim))
    return X, X @ rng.standard_normal(dim) + rng.standard_normal(rounds)


def beside(models, method, rows, targets):
    """Least µs per round of each model; they take turns, so that a busy moment hits all alike."""
    best = [np.inf] * len(models)
    for first in range(0, len(rows), PIECE):
        piece = list(zip(rows[first : first + PIECE], targets[first : first + PIECE], strict=True))
        for i, model in enumerate(models):
            ask, learn = getattr(model, method), model.learn_one
            start = time.perf_counter()
            for x, y in piece:
                ask(x)
                learn(x, y)
            best[i] = min(best[i], (time.perf_counter() - start) / len(piece) * 1e6)
    return best


def wrappers(rounds):
    for dim in FEATURES:
        X, y = stream(dim, rounds)
        rows = [{f"x{i}": value for i, value in enumerate(row)} for row in X.tolist()]
        pair = TrackingRegressor(), preprocessing.StandardScaler() | linear_model.LinearRegression()
        yield (
            "TrackingRegressor",
            "LinearRegression",
            dim,
            *beside(pair, "predict_one", rows, y.tolist()),
        )
        pair = (
            TrackingClassifier(),
            preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        )
        yield (
            "TrackingClassifier",
            "LogisticRegression",
            dim,
            *beside(pair, "predict_proba_one", rows, (y > 0).tolist()),
        )


def bulk(rounds):
    for name, build in (
        ("TrackingForecaster", sp.TrackingForecaster),
        ("TrackingProbabilities", TrackingProbabilities),
    ):
        for dim in FEATURES:
            X, y = stream(dim, rounds)
            targets = y if name == "TrackingForecaster" else (y > 0).astype(int)
            model, best = build(dim), np.inf
            for first in range(0, rounds, PIECE):
                piece = X[first : first + PIECE], targets[first : first + PIECE]
                start = time.perf_counter()
                model.track(*piece)
                best = min(best, (time.perf_counter() - start) / len(piece[1]) * 1e6)
            yield name, dim, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40_000)
    rounds = parser.parse_args().rounds
    rows = sorted(wrappers(rounds), key=lambda row: row[0], reverse=True)  # sorting is stable
    print(
        "| wrapper | features | µs a round | river's | µs a round | ratio |\n"
        "|---|---|---|---|---|---|"
    )
    for ours, theirs, dim, a, b in rows:
        print(f"| {ours} | {dim} | {a:.1f} | {theirs} | {b:.1f} | {a / b:.2f} |")
    print("\n| core, in bulk | features | µs a round |\n|---|---|---|")
    cores = list(bulk(rounds))
    for name, dim, cost in cores:
        print(f"| {name} | {dim} | {cost:.2f} |")
    worst = max(a / b for _, _, _, a, b in rows)
    ten = next(cost for name, dim, cost in cores if name == "TrackingForecaster" and dim == 10)
    verdicts = ["met" if good else "missed" for good in (worst <= TARGET, ten <= BULK)]
    print(
        f"\nTargets: no wrapper slower than {TARGET:g}× river's: {verdicts[0]},"
        f" worst {worst:.2f}×; ",
        end="",
    )
    print(
        f"TrackingForecaster in bulk at 10 features within {BULK:g} µs: {verdicts[1]},"
        f" {ten:.2f} µs."
    )


if __name__ == "__main__":
    main()
