"""`reproduce`: measure every claim, draw every figure, write the three files."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

import stillpoint as sp
from stillpoint.core.extras import require
from stillpoint.lab.reproduce.registry import CLAIMS, Claim, measure
from stillpoint.lab.reproduce.result import Result

if TYPE_CHECKING:
    from stillpoint.lab.reproduce.pictures import Picture

_MODULES = (
    "reduction",
    "parameter_free",
    "scale_free",
    "path_length",
    "interpolants",
    "orders",
    "curvature",
    "spline",
    "directions",
    "lemmas",
    "beyond",
)


def claims() -> list[Claim]:
    """Every registered claim, in the paper's order."""
    names = [f"{__package__}.{name}" for name in _MODULES]
    for name in names:
        import_module(name)
    # whoever imports a module first registers its claims first, so the order is set here
    return sorted(
        (claim for claim in CLAIMS if claim.check.__module__ in names),
        key=lambda c: names.index(c.check.__module__),
    )


def reproduce(
    out: Path | None,
    quick: bool = False,
    progress: bool = True,
    only: Sequence[Claim] | None = None,
) -> Result:
    """Measure what the paper claims, on fixed seeds.

    out: folder for reproduce.md, reproduce.json, reproduce.html and a PNG a figure; None writes
    nothing and draws nothing.
    quick: shorter runs, in seconds. only: these claims instead of all.
    """
    pictures: list[Picture] = []
    if out is not None:
        require("matplotlib", "--out", "lab")
        pictures = import_module(f"{__package__}.figures").PICTURES
    begun, cpu, wanted = perf_counter(), process_time(), claims() if only is None else list(only)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # before minutes of work: a bad path shows at once
    rows, data = [], {}
    with _bar(len(wanted) + len(pictures), progress) as step:
        for claim in wanted:
            step(claim.name)
            rows.append(measure(claim, quick))
        for picture in pictures:
            step(f"figure {picture.name}")
            data[picture.name] = picture.measure(quick)
        step("")
    settings: dict[str, Any] = {
        "quick": quick,
        "seconds": round(perf_counter() - begun, 1),
        "cpu_seconds": round(process_time() - cpu, 1),
        "stillpoint": sp.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    result = Result(rows, data, settings)
    if out is not None:
        result.files = save(result, out, pictures)
    return result


def save(result: Result, out: Path, pictures: list[Picture]) -> list[Path]:
    """Write the three files and the figures; returns their paths."""
    from stillpoint.lab.reproduce import page

    drawings = {picture.name: picture.draw(result.figures[picture.name]) for picture in pictures}
    files = []
    for name, figure in drawings.items():
        files.append(out / f"{name}.png")
        figure.savefig(files[-1], dpi=120, metadata={"Software": None})
    texts = {
        "reproduce.md": page.markdown(result, pictures),
        "reproduce.json": result.to_json(),
        "reproduce.html": page.html(result, pictures, drawings),
    }
    for file, text in texts.items():
        files.append(out / file)
        files[-1].write_text(text, encoding="utf-8")
    return files


@contextmanager
def _bar(steps: int, show: bool) -> Iterator[Callable[[str], None]]:
    """A bar that names what is being measured, or nothing."""
    if not show:
        yield lambda name: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    ) as bar:
        task = bar.add_task("", total=steps, completed=-1)
        yield lambda name: bar.update(task, advance=1, description=name)
