"""`python tests/names.py`: docs/api.md, a line for every public name, taken from `__all__` and the
first lines of docstrings.
"""

import importlib
import inspect
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = {
    "stillpoint": "What most programs need.",
    "stillpoint.kernels": (
        "Which moving targets are cheap. Kernels add, multiply and scale: `OU(0.1) + 2.0 *"
        " Matern32(0.2)`."
    ),
    "stillpoint.potentials": "How far to go: `KernelFTRL(potential=...)`.",
    "stillpoint.domains": "Where plays may lie: `domain=`.",
    "stillpoint.losses": "Losses, and streams of them for `sp.play`: `Absolute().on(y)`.",
    "stillpoint.regret": "What a run has lost, and what it could have.",
    "stillpoint.lab.baselines": "Peers, each with what it assumes.",
    "stillpoint.lab.baselines.conformal": "Peers for intervals.",
    "stillpoint.lab.streams": "Targets with known truth.",
    "stillpoint.lab.streams.real": "Real streams, from data that other packages ship.",
    "stillpoint.memory": "Sums over the past; for learners of your own.",
    "stillpoint.learners": "Learners from gradients.",
    "stillpoint.forecasters": "Learners from targets.",
    "stillpoint.intervals": "Intervals and quantiles.",
    "stillpoint.estimators.river": "Faces for river.",
    "stillpoint.estimators.sklearn": "Faces for scikit-learn.",
    "stillpoint.commands": "`stillpoint track` as a function.",
    "stillpoint.fleet": (
        "Many streams at once. On Spark: `stillpoint.fleet.spark`, [in the"
        " guide](guide/fleet.md#on-spark)."
    ),
    "stillpoint.fleet.gpu": "The same on a GPU.",
    "stillpoint.lab": "Runs, benchmarks, sweeps.",
    "stillpoint.checks": "Conformance checks for learners of your own.",
}


def public(module):
    """The names of a module that are its own to give."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    own = vars(module).items()
    return sorted(
        n
        for n, x in own
        if not n.startswith("_")
        and inspect.isroutine(x) | inspect.isclass(x)
        and x.__module__ == module.__name__
    )


def line(module, name):
    """What a name is, in the first line of its docstring; a constant is its value."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return (
            f"| [`{name}`](#{value.__name__.replace('.', '')}) |"
            f" {inspect.getdoc(value).splitlines()[0]} |"
        )
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"| `{name}` | {value!r} |"
    text = inspect.getdoc(value).splitlines()[0].replace("|", "\\|")
    return f"| `{name}` | {text} |"


def page():
    """The whole page."""
    text = (
        "# Every public name\n\nOne line each; `help(name)` has arguments and formula. Written by"
        " `python tests/names.py`.\n"
    )
    for path, about in PARTS.items():
        module = importlib.import_module(path)
        rows = "\n".join(line(module, name) for name in public(module))
        text += f"\n## {path}\n\n{about}\n\n| name | |\n|---|---|\n{rows}\n"
    return text


if __name__ == "__main__":
    (ROOT / "docs" / "api.md").write_text(page(), encoding="utf-8")
