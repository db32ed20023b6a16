"""The notebooks in examples/ run from top to bottom, show a figure, and are kept without output."""

import ast
import json
import re
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

from extras import package

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def needs(path):
    """Packages beyond the tests' own that a notebook says it needs."""
    return read(path)["metadata"].get("stillpoint", {}).get("needs", [])


def sources(path, kind):
    return ["".join(c["source"]) for c in read(path)["cells"] if c["cell_type"] == kind]


def play(path):
    """Run the code cells in one namespace; returns what Jupyter would show below each."""
    namespace, shown = {"__name__": "__main__"}, []
    for i, source in enumerate(sources(path, "code")):
        tree = ast.parse(source, filename=f"{path.name}, cell {i}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {i}", "exec"), namespace)
        if last is not None:
            code = compile(ast.Expression(last.value), f"{path.name}, cell {i}", "eval")
            shown += display(eval(code, namespace))
        shown += ["figure"] * len(plt.get_fignums())
        plt.close("all")
    return shown


def display(value):
    """What a notebook shows of a value: a picture, a table, or text that is not too long."""
    if value is None:
        return []
    if hasattr(value, "_repr_png_"):
        assert value._repr_png_().startswith(b"\x89PNG")
        return ["figure"]
    if hasattr(value, "_repr_html_"):
        assert "<" in value._repr_html_()
        return ["table"]
    assert len(repr(value)) < 300
    return ["text"]


@pytest.fixture(autouse=True)
def _no_windows(monkeypatch):
    with matplotlib.rc_context({"backend": "Agg"}):
        monkeypatch.setattr(plt, "show", lambda *args, **options: None)
        yield
        plt.close("all")


def test_there_are_six():
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.extra] if needs(p) else []) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_and_shows_a_figure(path):
    for name in needs(path):
        package(name)
    assert "figure" in play(path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_without_output_and_its_links_lead_somewhere(path):
    held = read(path)
    assert path.stat().st_size < 20_000
    assert (held["nbformat"], held["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in held["cells"]}) == len(held["cells"])
    for cell in held["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    first, *_ = sources(path, "markdown")
    assert first.startswith("# ")
    for link in re.findall(r"\]\(([^)\s#]+)", "".join(sources(path, "markdown"))):
        assert (EXAMPLES / link).exists(), link


def test_the_readme_and_the_site_list_every_notebook():
    for page in ("README.md", "docs/guide/start.md"):
        text = (EXAMPLES.parent / page).read_text(encoding="utf-8")
        for path in NOTEBOOKS:
            assert path.name in text, (page, path.name)
