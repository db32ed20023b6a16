"""The main job on two streams: a real file with a season, and a level whose truth is known.

    python examples/demo.py --out demo-out

Prints their tables and writes their pages, which open offline, into the folder given:
sea/report.html and report.html.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import stillpoint as sp
from stillpoint.commands import track
from stillpoint.report.history import history_from_arrays
from stillpoint.report.page import write_page


def stream(rounds=5000, seed=7):
    """A slow wave with two jumps (the target), observed through noise."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    target = np.sin(t / 400) + 1.2 * (t > 2600) - 0.8 * (t > 3900)
    return target, target + 0.3 * rng.standard_normal(rounds)


def page(out, run, y, rivals, bound, measured):
    """Put intervals around the plays and write the page; its heat map shows the scores in use."""
    band, plays = sp.IntervalTracker(coverage=0.9), run.plays[:, 0]
    ends, shares = np.zeros((len(y), 2)), np.zeros((len(y), 9))
    for t in range(len(y)):
        ends[t], shares[t] = band.predict(plays[t]), band.weights
        band.update(y[t])
    least, most = band.miss_bound()
    labels = [f"errors of the last {n:,}".replace(",", "\u202f") for n in (2, 5, 15, 50, 200, 1000)]
    labels += [f"hits and misses, step {step}" for step in (0.02, 0.06, 0.2)]
    coverage = {"target": band.coverage, "achieved": band.coverage_so_far, "misses": band.misses}
    summary = {
        "target": "noisy level",
        "coverage": {**coverage, "least_misses": least, "most_misses": most},
        "certificate": {"error beyond that of the true level": bound[-1]},
        "certificate_curve": {"row": np.arange(len(y)), "bound": bound, "measured": measured},
    }
    history = history_from_arrays(
        y,
        plays,
        *ends.T,
        {"stillpoint": run.losses, **rivals},
        shares,
        expert_labels=labels,
        loss_name="absolute error",
    )
    out.mkdir(parents=True, exist_ok=True)
    write_page(out / "report.html", history, summary, "Following a drifting level")


def forecast_a_file(out):
    """Forecast the sea's temperature off Peru a year ahead, as `stillpoint track` does."""
    data = Path(__file__).parent / "data" / "sea.csv"  # data/README.md says where it is from
    print(f"stillpoint track {shown(data)} --target temperature --time month --out {out / 'sea'}")
    code = track(str(data), "temperature", out / "sea", time="month")
    print(f"report: {out / 'sea' / 'report.html'}\n")
    return code


def shown(path):
    """A path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def main():
    """Forecast the file, then follow the level."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for the pages")
    out = parser.parse_args().out
    code = forecast_a_file(out)
    follow_a_level(out)
    return code


def follow_a_level(out):
    """Track a noisy level that drifts and jumps, print a table, and write the page."""
    target, y = stream()
    losses = sp.losses.Absolute().on(y)
    kernel = sp.kernels.OUMixture(rates=[0.1, 0.02, 0.005, 0.001], weights=[0.25] * 4)
    learner = sp.Tracker(dim=1, certify=kernel)
    run = sp.play(learner, losses, progress=True)

    comparators = {
        "the true target": target,
        "ten best constants in hindsight": sp.regret.hindsight_piecewise(losses, 10)[:, 0],
        "best constant in hindsight": np.full(len(y), sp.regret.hindsight_static(losses)[0]),
    }
    before = np.concatenate([[0.0], y[:-1]])
    running_mean = np.cumsum(before) / np.maximum(np.arange(len(y)), 1)
    header = ("forecaster", "total loss", "our regret against it", "certified at most")
    rows = [("stillpoint", f"{run.losses.sum():,.0f}", "", "")]
    for name, u in comparators.items():
        certificate = run.certificate(sp.regret.rkhs_norm(kernel, u))[-1]
        # more than all that was lost says nothing
        told = f"{certificate:,.0f}" if certificate < run.losses.sum() else "–"
        rows.append((name, f"{losses.values(u).sum():,.0f}", f"{run.regret(u)[-1]:,.0f}", told))
    for name, u in (("last value", before), ("running mean", running_mean)):
        rows.append((name, f"{losses.values(u).sum():,.0f}", f"{run.regret(u)[-1]:,.0f}", ""))

    table = Table(title=f"{len(y):,} rounds of absolute loss on a drifting level")
    for i, cell in enumerate(header):
        table.add_column(cell, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)

    rivals = {
        "last value": losses.values(before),
        "running mean": losses.values(running_mean),
        "truth": losses.values(target),
    }
    page(
        out,
        run,
        y,
        rivals,
        run.certificate(sp.regret.rkhs_norm(kernel, target)),
        run.regret(target),
    )
    print(f"report: {out / 'report.html'}")


if __name__ == "__main__":
    raise SystemExit(main())
