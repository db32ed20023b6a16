"""Why standard kernels are sub-optimal: ‖u‖²·max k(t,t), kernel by kernel (section 3.1).

    python examples/kernel_tradeoffs.py                  # prints the table as Markdown

For optimal regret the product must grow like M² + M·P_T up to logarithms: about constant in T for a
constant target, and for a target with a fixed number of switches or waves.
"""

import argparse
from math import pi

import numpy as np

from stillpoint.kernels import OU, Gaussian, HorizonFree, Matern32, Spline
from stillpoint.regret import path_length, rkhs_norm

KERNELS = {
    "Spline(offset=1)": Spline(offset=1.0),
    "OU(rate=0.1)": OU(rate=0.1),
    "Matern32(rate=0.1)": Matern32(rate=0.1),
    "Gaussian(width=1)": Gaussian(width=1.0),
    "HorizonFree()": HorizonFree(accuracy=1e-8),
    "HorizonFree(taper=1/(2π))": HorizonFree(taper=1 / (2 * pi), accuracy=1e-8),
}


def targets(horizon):
    """Name → comparator in [−1, 1]: constant, ten switches, one smooth wave."""
    t = np.arange(horizon)
    return {
        "constant": np.ones(horizon),
        "ten switches": np.where(t * 11 // horizon % 2 == 0, 1.0, -1.0),
        "one wave": np.sin(2 * pi * t / horizon),
    }


def table(horizons):
    """Rows (kernel, then one ‖u‖²·max k(t,t) a target and horizon)."""
    for name, kernel in KERNELS.items():
        row = []
        for target in targets(horizons[0]):
            for horizon in horizons:
                times = np.arange(1.0, horizon + 1)
                row.append(
                    rkhs_norm(kernel, targets(horizon)[target]) ** 2 * kernel.diagonal(times).max()
                )
        yield name, row


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--horizons", type=int, nargs="+", default=[500, 5000], help="T, one column a target each"
    )
    horizons = parser.parse_args().horizons
    names = list(targets(horizons[0]))
    print(
        "| kernel | "
        + " | ".join(f"{name}, T={horizon}" for name in names for horizon in horizons)
        + " |"
    )
    print("|---" * (1 + len(names) * len(horizons)) + "|")
    for kernel, row in table(horizons):
        print(f"| {kernel} | " + " | ".join(f"{value:.4g}" for value in row) + " |")
    ideal = [1.0 + path_length(targets(horizon)[name]) for name in names for horizon in horizons]
    print("| *M² + M·P_T* | " + " | ".join(f"{value:.4g}" for value in ideal) + " |")


if __name__ == "__main__":
    main()
