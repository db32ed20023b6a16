"""µs per round of forecasters, beside NumPy and statsmodels' Kalman filter.

    python benchmarks/filters.py            # about a minute; prints Markdown

All run in one process on the same data, one after the other, the best of several times.
stillpoint's columns keep the certificate, the log-determinant and the effective dimension as they
go; the other two only filter. Forecasts are checked against NumPy's first, and NumPy's means
against those of statsmodels (Cython).
"""

import time

import numpy as np
from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

import stillpoint as sp

RATES, WEIGHTS = np.logspace(-5, 0, 32), np.full(32, 1 / 32)
MIXTURE = sp.kernels.OUMixture(tuple(RATES), tuple(WEIGHTS))
ROUNDS = {"bulk": 200_000, "calls": 3_000, "numpy": 3_000, "statsmodels": 10_000}


def numpy_rounds(F, Q, P0, H, y, ridge, shrink=True):
    """Kernel VAW as a filter with diagonal F, plainly written; H is one row, or one a round."""
    M, C, out = np.zeros(P0.shape[0]), P0.copy(), np.empty(y.size)
    decay = np.outer(F, F)
    for t in range(y.size):
        h = H[min(t, len(H) - 1)]
        if t:
            M, C = F * M, decay * C + Q
        g = C @ h
        S = h @ g + ridge
        m = M @ h
        out[t] = ridge / S * m if shrink else m
        M = M + g * ((y[t] - m) / S)
        C = C - np.outer(g, g) / S
    return out


def statsmodels_rounds(F, Q, P0, H, y, ridge):
    """One-step means m (before the VAW shrink)."""
    P = F.size
    model = KalmanFilter(k_endog=1, k_states=P, nobs=y.size)
    model.bind(y[None].copy(order="F"))
    design = np.repeat(H.T[None], 1, axis=0) if len(H) > 1 else H[0][None, :, None]
    model["design"], model["transition"], model["selection"] = design, np.diag(F), np.eye(P)
    model["state_cov"], model["obs_cov"] = Q, np.array([[ridge]])
    model.initialize_known(np.zeros(P), P0)
    return model.filter().forecasts[0]


def best(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def calls(model, rows):
    for row in rows:
        model.predict(*row[:-1])
        model.update(*row)


def measure(make, system, contexts=None):
    """(bulk, calls, numpy, statsmodels) in µs a round; `system` is (F, Q, P0, h, ridge)."""
    rng = np.random.default_rng(0)
    F, Q, P0, h, ridge = system
    size = max(ROUNDS.values())
    y = np.sin(np.arange(size) / 300) + 0.5 * rng.standard_normal(size)
    X = None if contexts is None else rng.standard_normal((size, contexts))
    H = h[None] if X is None else np.kron(X[: ROUNDS["statsmodels"]], h)

    def bulk(rounds):
        return make().track(y[:rounds]) if X is None else make().track(X[:rounds], y[:rounds])

    n = ROUNDS["numpy"]
    ours, theirs = bulk(n), numpy_rounds(F, Q, P0, H, y[:n], ridge)
    assert np.allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    rows = [(value,) for value in y[:n]] if X is None else list(zip(X[:n], y[:n], strict=True))
    found = [
        best(lambda: bulk(ROUNDS["bulk"]), 5) / ROUNDS["bulk"],
        best(lambda: calls(make(), rows), 3) / n,
    ]
    found.append(best(lambda: numpy_rounds(F, Q, P0, H, y[:n], ridge), 2) / n)
    m = ROUNDS["statsmodels"]
    rows_of = H[:m] if X is not None else H
    means = numpy_rounds(F, Q, P0, H, y[:m], ridge, shrink=False)
    assert np.allclose(
        statsmodels_rounds(F, Q, P0, rows_of, y[:m], ridge), means, rtol=1e-6, atol=1e-7
    )
    found.append(best(lambda: statsmodels_rounds(F, Q, P0, rows_of, y[:m], ridge), 2) / m)
    return 1e6 * np.array(found)


def mixture_system(blocks=1, rates=RATES, weights=WEIGHTS):
    F = np.tile(np.exp(-rates), blocks)
    Q = np.diag(np.tile(-weights * np.expm1(-2 * rates), blocks))
    return F, Q, np.diag(np.tile(weights, blocks)), np.ones(rates.size), 1.0


def main():
    spline = (np.ones(1), np.ones((1, 1)), np.full((1, 1), 2.0), np.ones(1), 1.0)
    four = sp.kernels.OUMixture(tuple(RATES[::8]), tuple(WEIGHTS[::8]))
    cases = {
        "KernelVAW, spline": (lambda: sp.KernelVAW(kernel=sp.kernels.Spline(1.0)), spline, None),
        "KernelVAW, P = 32": (lambda: sp.KernelVAW(kernel=MIXTURE), mixture_system(), None),
        "TrackingVAW, dim 8, P = 4": (
            lambda: sp.TrackingVAW(8, kernel=four),
            mixture_system(8, RATES[::8], WEIGHTS[::8]),
            8,
        ),
    }
    print(
        "| learner | bulk | call by call | NumPy | statsmodels | NumPy ÷ bulk | statsmodels ÷"
        " bulk |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, (make, system, contexts) in cases.items():
        bulk, single, plain, package = measure(make, system, contexts)
        figures = (
            f"{bulk:.3f} | {single:.1f} | {plain:.1f} | {package:.2f} | {plain / bulk:.0f}× |"
            f" {package / bulk:.0f}×"
        )
        print(f"| {name} | {figures} |")
    print(
        "\nBulk µs a round by the number of rounds; the first column carries the fixed cost of a"
        " call:\n"
    )
    print("| learner | 10³ | 10⁴ | 10⁵ | 10⁶ |\n|---|---|---|---|---|")
    y = np.random.default_rng(1).standard_normal(1_000_000)
    gaps = np.cumsum(np.random.default_rng(2).choice([0.5, 1.0, 2.0], y.size))
    grown = {
        "KernelVAW, spline": (lambda n: sp.KernelVAW(kernel=sp.kernels.Spline(1.0)).track(y[:n])),
        "KernelVAW, P = 32": lambda n: sp.KernelVAW(kernel=MIXTURE).track(y[:n]),
        "KernelVAW, P = 32, irregular times": (
            lambda n: sp.KernelVAW(kernel=MIXTURE).track(y[:n], gaps[:n])
        ),
        "KernelForecaster, 15 ridges": (
            lambda n: sp.KernelForecaster(ridges=4.0 ** np.arange(15)).track(y[:n])
        ),
        "KernelForecaster": lambda n: sp.KernelForecaster().track(y[:n]),
    }
    for name, run in grown.items():
        run(100)
        row = " | ".join(
            f"{1e6 * best(lambda n=n, run=run: run(n), 3) / n:.3f}"
            for n in (1_000, 10_000, 100_000, 1_000_000)
        )
        print(f"| {name} | {row} |")


if __name__ == "__main__":
    main()
