"""What a round takes in this version and in another one, side by side; prints Markdown.

    git worktree add build/before COMMIT                # of the other version
    python benchmarks/versions.py build/before/src      # some five minutes, most of it compiling

Both run under this Python and its libraries, each in a process of its own, and take turns: the
least CPU time of all turns is given. Names that have changed are looked for under both.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np

OWN = Path(__file__).parents[1] / "src"
TURNS, REPEATS = 3, 5
DIMS = {1: 100_000, 10: 50_000, 100: 10_000, 1000: 1_000}  # dimension: rounds in bulk
CALLS, KEYS, TARGETS = 2_000, 20_000, 10_000


def found(module, *names):
    """The first of some names, with dots, that this version has."""
    for name in names:
        value = module
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is not None:
            return value
    raise AttributeError(f"none of {names}")


def least(rounds, start, play):
    """The least microseconds a round of several plays, each on something new."""
    best = np.inf
    for _ in range(REPEATS):
        given = start()
        before = process_time()
        play(given)
        best = min(best, process_time() - before)
    return best / rounds * 1e6


def calls(learner, gradients):
    for g in gradients:
        learner.predict()
        learner.update(g)


def fleet_rounds(fleet, keys, feedback):
    for values in feedback:
        fleet.predict(keys)
        fleet.update(keys, values)


def measure():
    """All rows of the version that is imported, by name."""
    import stillpoint as sp

    rows, rng = {}, np.random.default_rng(0)
    ader, ogd = (
        found(sp, f"lab.baselines.{name}", f"baselines.{name}") for name in ("Ader", "OGD")
    )
    free_grad = found(sp, "lab.baselines.FreeGrad", "baselines.FreeGrad")
    ball = sp.domains.Ball(10.0)
    gradient_learners = {
        "Tracker": sp.Tracker,
        "MultiScale, told G": lambda d: sp.MultiScale(d, lipschitz=1.0),
        "MultiScale": sp.MultiScale,
        "KernelFTRL": lambda d: sp.KernelFTRL(d, kernel=sp.kernels.OU(0.01), lipschitz=1.0),
        "FreeGrad": lambda d: free_grad(d, lipschitz=1.0),
        "Ader": lambda d: ader(d, horizon=100_000, lipschitz=1.0, radius=10.0),
        "OGD": lambda d: ogd(d, step=0.1, schedule="sqrt", domain=ball),
    }
    for name, build in gradient_learners.items():
        for dim, rounds in DIMS.items():
            y = np.sin(np.arange(rounds) / 500)[:, None] + rng.normal(size=(rounds, dim))
            losses = sp.losses.Absolute().on(y if dim > 1 else y[:, 0])
            sp.play(build(dim), sp.losses.Absolute().on(losses.y[:50]))  # compiles
            row = f"{name}, in bulk, d = {dim}"
            rows[row] = least(
                rounds, lambda build=build, dim=dim: build(dim), lambda m, on=losses: sp.play(m, on)
            )
        gradients = np.sign(rng.normal(size=(CALLS, 1)))
        calls(build(1), gradients[:50])
        rows[f"{name}, single calls, d = 1"] = least(
            CALLS, lambda build=build: build(1), lambda m, g=gradients: calls(m, g)
        )
    y, X = np.cumsum(rng.normal(size=TARGETS)), rng.normal(size=(TARGETS, 8))
    many = sp.kernels.OUMixture(tuple(np.geomspace(1e-4, 1, 32)), (1.0,) * 32)
    series = found(sp, "KernelForecaster", "Forecaster")
    forecasters = {
        "KernelVAW, spline": (lambda: sp.KernelVAW(kernel=sp.kernels.Spline(offset=1.0)), (y,)),
        "KernelVAW, P = 32": (lambda: sp.KernelVAW(kernel=many), (y,)),
        "KernelForecaster": (series, (y,)),
        "VariationForecaster": (sp.VariationForecaster, (y,)),
        "TrackingForecaster, 8 features": (lambda: sp.TrackingForecaster(8), (X, y)),
    }
    for name, (build, given) in forecasters.items():

        def whole(model, given=given):
            found(model, "track", "forecast_stream")(*given)

        whole(build())
        rows[f"{name}, in bulk"] = least(TARGETS, build, whole)
    keys = np.arange(KEYS) * 7919
    for name, kind, config in (
        ("Tracker), d = 1", sp.Tracker, {"dim": 1}),
        ("MultiScale), d = 1", sp.MultiScale, {"dim": 1}),
        ("QuantileTracker)", sp.QuantileTracker, {}),
        ("KernelForecaster)", series, {}),
    ):
        fleet, values = sp.Fleet(kind, **config), np.sign(rng.normal(size=(20, KEYS)))
        fleet_rounds(fleet, keys, values)  # rounds of a fleet that is no longer new are timed
        rows[f"Fleet({name}, a key"] = least(
            KEYS * len(values),
            lambda fleet=fleet: fleet,
            lambda fleet, values=values: fleet_rounds(fleet, keys, values),
        )
    return rows


def turn(source):
    """The rows of the version under `source`, measured in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, __file__, "--measure"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", nargs="?", type=Path, help="the folder src of another version")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure()))
        return
    if arguments.other is None or not (arguments.other / "stillpoint").is_dir():
        parser.error(f"other must be the folder src of a version: got {arguments.other}")
    best = [{}, {}]
    for _ in range(TURNS):
        for rows, source in zip(best, (arguments.other, OWN), strict=True):
            for name, us in turn(source.resolve()).items():
                rows[name] = min(us, rows.get(name, np.inf))
    print("| µs a round | the other | this one | ratio |\n|---|---|---|---|")
    for name, before in best[0].items():
        now = best[1][name]
        print(f"| {name} | {before:.3g} | {now:.3g} | {now / before:.2f}× |")


if __name__ == "__main__":
    main()
