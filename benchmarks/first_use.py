"""Seconds until a learner has done its first round, in a fresh process that finds nothing compiled.

    python benchmarks/first_use.py              # about two minutes; prints Markdown
    python benchmarks/first_use.py Tracker      # one row

CPU seconds of the whole process, imports included, which other work on the machine changes little.
"warm" is the same process once more, which finds its code in the cache.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FEATURES = "learner.predict([1.0, -0.5]); learner.update([1.0, -0.5], 1)"
GRADIENT = "learner.predict(); learner.update([0.5, -1.0])"
VALUE = "learner.predict(); learner.update(1.5)"
LEARNERS = {
    "Tracker": ("sp.Tracker(2)", GRADIENT),
    "MultiScale": ("sp.MultiScale(2)", GRADIENT),
    "KernelFTRL": ("sp.KernelFTRL(2, kernel=sp.kernels.OU(0.1), lipschitz=2.0)", GRADIENT),
    "Directional": ("sp.Directional(2, kernel=sp.kernels.OU(0.1), lipschitz=2.0)", GRADIENT),
    "StronglyConvex": (
        "sp.StronglyConvex(2, kernel=sp.kernels.OU(0.1), curvature=1.0)",
        GRADIENT,
    ),
    "ExpConcave": (
        "sp.ExpConcave(2, kernel=sp.kernels.OU(0.1), curvature=0.25, domain=sp.domains.Ball(1.0))",
        GRADIENT,
    ),
    "Forecaster": ("sp.Forecaster(3)", "learner.track([1.0, 2.0, 1.5] * 8)"),
    "KernelForecaster": ("sp.KernelForecaster()", VALUE),
    "KernelVAW": ("sp.KernelVAW(kernel=sp.kernels.Matern32(0.3))", VALUE),
    "VariationForecaster": ("sp.VariationForecaster()", VALUE),
    "TrackingVAW": ("sp.TrackingVAW(2, kernel=sp.kernels.OU(0.1))", FEATURES),
    "TrackingForecaster": ("sp.TrackingForecaster(2)", FEATURES),
    "TrackingProbabilities": ("forecasters.TrackingProbabilities(2)", FEATURES),
    "QuantileTracker": ("sp.QuantileTracker(level=0.9)", VALUE),
    "IntervalTracker": ("sp.IntervalTracker()", "learner.predict(1.0); learner.update(1.5)"),
}
TRACK = ["track", "rows.csv", "--target", "y", "--quiet", "--out", "out"]
FLEET = ["fleet", "rows.csv", "--key", "key", "--target", "y", "--quiet", "--out", "out"]
COMMANDS = {
    "stillpoint track": [*TRACK, "--features", ""],
    **{
        f"stillpoint track --task {task}": [*TRACK, "--task", task]
        for task in ("regression", "binary", "quantile", "interval")
    },
    **{
        f"stillpoint fleet --learner {learner}": [*FLEET, "--learner", learner]
        for learner in ("forecaster", "kernel", "tracker", "multiscale", "quantile")
    },
}
ROWS = "key,x,y\n" + "".join(f"{'ab'[t % 2]},{t % 5},{t * t % 3 % 2}\n" for t in range(40))


def command(name):
    """The command line of one row."""
    if name in COMMANDS:
        return [sys.executable, "-m", "stillpoint", *COMMANDS[name]]
    build, round_ = LEARNERS[name]
    code = f"import stillpoint as sp; from stillpoint import forecasters; learner = {build}; "
    return [sys.executable, "-c", code + round_]


def seconds(name, folder):
    """CPU seconds of one process that works in `folder` and caches there."""
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    shutil.rmtree(folder / "out", ignore_errors=True)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen(
        command(name), cwd=folder, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{name} has failed")
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows; all unless given")
    names = parser.parse_args().names or [*LEARNERS, *COMMANDS]
    print(
        "| first use of | nothing compiled, s | warm, s | functions compiled |\n|---|---|---|---|"
    )
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            cold = seconds(name, folder)
            compiled = len([*folder.rglob("*.nbc")])
            warm = seconds(name, folder)
        print(f"| {name} | {cold:.1f} | {warm:.1f} | {compiled} |", flush=True)


if __name__ == "__main__":
    main()
