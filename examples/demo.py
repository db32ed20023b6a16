"""The main job on an embedded stream: follow a drifting level through noise and account for every loss.

    python examples/demo.py --out demo-out

Prints a table and writes report.html (self-contained) into the folder given.
"""

import argparse
import io
from pathlib import Path

import numpy as np
from jinja2 import Template
from rich.console import Console
from rich.table import Table

import stillpoint as sp

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>stillpoint: following a drifting level</title>
<style>
:root { color-scheme: light dark; --ink: #1d2a33; --paper: #fbfaf7; --soft: #5b6b75; --line: #d9d6cd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e0; --paper: #14191d; --soft: #9fb0ba; --line: #36424a; } }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.2rem; background: var(--paper); color: var(--ink);
       font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } p { max-width: 44rem; } small, caption { color: var(--soft); }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; padding: .6rem; overflow-x: auto; background: #fff; border-radius: 6px; }
svg { width: 100%; height: auto; }
@media (max-width: 32rem) { body { padding: 1.2rem .8rem; } th, td { padding: .3rem .35rem; font-size: .9rem; } }
</style></head><body>
<h1>Following a drifting level</h1>
<p>{{ summary }}</p>
<table><thead><tr>{% for cell in header %}<th>{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</tbody></table>
<figure>{{ figure }}</figure>
<p><small>Regret: how much more was lost than by the comparator, which knows in hindsight what the learner did not. The
certificate bounds the regret against every comparator of its complexity at once, is known while the stream runs, and needs no
assumption on the data; a comparator with many jumps is complex, so its certificate is looser.</small></p>
</body></html>
""")


def stream(rounds=5000, seed=7):
    """A slow wave with two jumps (the target), observed through noise."""
    rng, t = np.random.default_rng(seed), np.arange(rounds)
    target = np.sin(t / 400) + 1.2 * (t > 2600) - 0.8 * (t > 3900)
    return target, target + 0.3 * rng.standard_normal(rounds)


def main():
    """Play, print the table, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for report.html")
    out = parser.parse_args().out
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
        rows.append((name, f"{losses.values(u).sum():,.0f}", f"{run.regret(u)[-1]:,.0f}", f"{certificate:,.0f}"))
    for name, u in (("last value", before), ("running mean", running_mean)):
        rows.append((name, f"{losses.values(u).sum():,.0f}", f"{run.regret(u)[-1]:,.0f}", ""))

    table = Table(title=f"{len(y):,} rounds of absolute loss on a drifting level")
    for i, cell in enumerate(header):
        table.add_column(cell, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)

    excess = run.regret(target)[-1] / losses.values(target).sum()
    saved = 1 - run.losses.sum() / losses.values(before).sum()
    summary = (
        f"Over {len(y):,} rounds the learner lost {run.losses.sum():,.0f} in all: {excess:.1%} more than someone who knew "
        f"the true level at every moment, and {saved:.0%} less than predicting the last value seen. It was told nothing: no "
        "learning rate, no horizon, no range of the data, no gradient bound."
    )
    buffer = io.StringIO()
    run.plot(comparators, radius=sp.regret.rkhs_norm(kernel, target)).savefig(buffer, format="svg")
    svg = buffer.getvalue()
    out.mkdir(parents=True, exist_ok=True)
    page = PAGE.render(summary=summary, header=header, rows=rows, figure=svg[svg.index("<svg") :])
    (out / "report.html").write_text(page, encoding="utf-8")
    print(f"report: {out / 'report.html'}")


if __name__ == "__main__":
    main()
