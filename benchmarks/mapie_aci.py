"""IntervalTracker beside MAPIE's adaptive conformal inference, row by row.

    pip install mapie; python benchmarks/mapie_aci.py        # about half a minute; prints Markdown

Residuals y are the swelling stream's scores (`stillpoint.lab.streams.scores`) with random signs, T
= 2000, ten seeds, coverage 0.9; the model is the constant 0. The first 500 rounds calibrate MAPIE
and are not scored. Infinite widths count as the largest |y|.
"""

import time
import warnings

import numpy as np
from mapie.regression import TimeSeriesRegressor
from sklearn.dummy import DummyRegressor

from stillpoint.intervals import IntervalTracker
from stillpoint.lab.streams.scores import interval_scores

ROUNDS, START, COVERAGE = 2_000, 500, 0.9
GAMMAS = (0.005, 0.01, 0.05, 0.1)


def residuals(seed):
    scores = interval_scores(ROUNDS, seed).losses.y[:, 0]
    return np.random.default_rng(seed).choice([-1.0, 1.0], ROUNDS) * scores


def mapie(y, gamma):
    """Half-widths of the intervals around 0 after the start."""
    X = np.zeros((ROUNDS, 1))
    model = TimeSeriesRegressor(
        DummyRegressor(strategy="constant", constant=0.0).fit(X[:START], y[:START]),
        method="aci",
        cv="prefit",
    )
    model.fit(X[:START], y[:START])
    widths = np.empty(ROUNDS - START)
    for t in range(START, ROUNDS):
        row = slice(t, t + 1)
        _, bounds = model.predict(X[row], confidence_level=COVERAGE, allow_infinite_bounds=True)
        widths[t - START] = 0.5 * (bounds[0, 1, 0] - bounds[0, 0, 0])
        model.adapt_conformal_inference(X[row], y[row], gamma=gamma, confidence_level=COVERAGE)
    return widths


def tracker(y):
    lo, hi = IntervalTracker(COVERAGE).track(np.zeros(ROUNDS), y)
    return 0.5 * (hi - lo)[START:]


def main():
    warnings.simplefilter("ignore")
    tracker(residuals(0))  # compiled code is read from disk
    print(
        "| | covered | worst error over 200 rounds | mean half-width | µs a round"
        " |\n|---|---|---|---|---|"
    )
    players = {"IntervalTracker": tracker} | {
        f"MAPIE ACI, γ = {g}": lambda y, g=g: mapie(y, g) for g in GAMMAS
    }
    for name, play in players.items():
        rows = []
        for seed in range(100, 110):
            y = residuals(seed)
            start = time.perf_counter()
            widths = play(y)
            cost = 1e6 * (time.perf_counter() - start) / (ROUNDS - START)
            size = np.abs(y[START:])
            hits = size <= widths
            windows = np.convolve(hits, np.full(200, 1 / 200), "valid")
            worst = np.abs(windows - COVERAGE).max()
            rows.append((hits.mean(), worst, np.minimum(widths, size.max()).mean(), cost))
        covered, worst, width, cost = np.mean(rows, axis=0)
        print(f"| {name} | {covered:.3f} | {worst:.2f} | {width:.2f} | {cost:.3g} |")


if __name__ == "__main__":
    main()
