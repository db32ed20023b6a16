"""The documents are true: examples run and print what they say, every name they mention exists."""

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import pages
import stillpoint as sp
from extras import package, program
from stillpoint.fleet import fleet
from stillpoint.frames import backtesting, tracked
from stillpoint.learners import kernel_ftrl
from stillpoint.series import forecaster

ROOT = Path(__file__).parent.parent
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
PAPER = [
    "RKHS-SR-solves-DR",
    "kernel-oco",
    "kernel-ftrl",
    "olo-reduction",
    "pf-static-olo",
    "def-translation-inv-kernel",
    "ideal-ti-kernel-norm",
    "spectral-intuition",
    "rkhs-to-pl",
    "horizon-free-density",
    "discrete-pl",
    "optimal-pl",
    "loss-curvature",
    "kons",
    "regression-curvature",
    "spline-kernel",
    "simple-full-matrix",
    "dual-norms",
    "kernelized-pf",
    "scale-free-olo",
    "unconstrained-scale-free",
    "construction-of-bT",
    "bound-L1-norm-with-fourier",
    "bound-R",
    "sc-loss-curvature",
    "sc-regret",
    "discrete-squared-pl",
    "spline-deff",
    "full-matrix-bound",
    "static-full-matrix",
    "tedious-hessian",
    "elliptically-symmetric-bound",
    "log-det",
    "log-det-sum",
    "feature-covariance-norm",
    "hs-sum-norm",
    "hs-norm",
    "subgradients",
    "spline-inverse",
]


def test_readme_examples_print_what_they_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = list(pages.run((ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(found) == 4
    assert [said for _, said, _ in found] == [printed for *_, printed in found]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        assert (ROOT / path).exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor in slugs, link


def test_files_that_contributors_are_sent_to_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:src|tests|docs|benchmarks|examples)/[\w/]+\.\w+", text))
    assert len(named) > 40
    theirs = re.compile(r"/(?:test_)?name\.py$")  # what they are to write
    assert [
        each for each in sorted(named) if not theirs.search(each) and not (ROOT / each).exists()
    ] == []


def test_the_home_page_prints_what_it_says():
    ((_, said, printed),) = pages.run((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert said == printed


# names of these are in the reference, which is generated; `mkdocs build --strict` checks the rest
REFERENCE = [
    *("kernels", "potentials", "domains", "losses", "regret", "memory", "checks"),
    *("learners", "series", "forecasters", "intervals", "fleet", "fleet.gpu", "lab", "commands"),
    "frames",
    *("lab.baselines", "lab.baselines.conformal", "lab.online", "lab.streams", "lab.streams.real"),
]


def test_every_part_is_in_the_reference():
    pages_of = sorted((ROOT / "docs" / "api").glob("*.md"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages_of)
    asked = set(re.findall(r"^::: stillpoint\.(\S+)$", text, flags=re.MULTILINE))
    optional = ("estimators.river", "estimators.sklearn", "estimators.sktime", "fleet.spark")
    assert {*REFERENCE, *optional} <= asked
    for name in sp.__all__:
        value = getattr(sp, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            path = f"{value.__module__}.{name}".removeprefix("stillpoint.")
            assert any(path == part or path.startswith(f"{part}.") for part in asked), name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it."""
    package("mkdocs")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(out)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.extra
@pytest.mark.parametrize("part", REFERENCE)
def test_the_reference_has_every_public_name(site, part):
    if part == "fleet.gpu":
        package("torch")
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    listed = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines()}
    module = importlib.import_module(f"stillpoint.{part}")
    public = [name for name in getattr(module, "__all__", ()) if callable(getattr(module, name))]
    assert public or part in ("checks", "lab")
    for name in public:  # some are in a file of their name, which hides them
        path = f"stillpoint.{part}.{name}"
        assert {path, f"{path}.{name}"} & listed, path


@pytest.mark.extra
def test_the_site_fetches_nothing(site):
    pages_of = sorted(site.rglob("*.html"))
    assert len(pages_of) > 40
    fetches = re.compile(
        r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//"""
    )
    for path in pages_of:
        text = path.read_text(encoding="utf-8")
        assert not fetches.search(text), path


@pytest.mark.extra
@pytest.mark.parametrize(
    ("page", "shown", "least"),
    [("how.html", "<mjx-container", 100), ("index.html?q=guard", "md-search-result__item", 2)],
    ids=["formulas", "search"],
)
def test_the_site_works_without_a_server(site, page, shown, least):
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    shows = subprocess.run(
        [program("chromium"), *flags, "--dump-dom", f"{site.as_uri()}/{page}"],
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    assert shows.count(shown) >= least
    assert '<g data-mml-node="merror"' not in shows  # no formula failed


GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            p, marks=[pytest.mark.extra] if pages.needs(p.read_text(encoding="utf-8")) else []
        )
        for p in GUIDE
    ],
    ids=lambda path: path.stem,
)
def test_guide_examples_print_what_they_say(path):
    text = path.read_text(encoding="utf-8")
    for name in pages.needs(text):
        package(name)
    blocks = list(pages.run(text))
    assert blocks
    for code, said, printed in blocks:
        assert said is None or said == printed, code


@pytest.mark.parametrize(
    "module", [kernel_ftrl, forecaster, fleet, tracked, backtesting], ids=lambda m: m.__name__
)
def test_docstring_example(module):
    failures, tried = doctest.testmod(module, extraglobs={"np": __import__("numpy")})
    assert (failures, tried > 0) == (0, True)


@pytest.mark.parametrize("label", PAPER)
def test_every_statement_of_the_paper_is_mapped(label):
    assert re.search(rf"\b{re.escape(label)}\b", THEORY), f"{label} is missing from docs/theory.md"


@pytest.mark.parametrize("page", ["theory", "reliability", "how", "architecture"])
def test_every_name_in_the_maps_exists(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"`((?:\w+/)*\w+\.py)(?:::(\w+))?`", text)
    assert len(found) > 12
    for path, name in found:
        home = ROOT / "src" / "stillpoint"
        home = ROOT if path.startswith(("examples/", "fuzz/", "tests/", "benchmarks/")) else home
        if not path.startswith("tests/") and ("test_" in path or path == "faults.py"):
            home = ROOT / "tests"
        file = home / path
        assert file.exists(), path
        if name:
            assert re.search(
                rf"^\s*(def|class) {name}\b", file.read_text(encoding="utf-8"), flags=re.MULTILINE
            ), f"{path}::{name}"


def test_functions_are_in_the_files_that_the_architecture_names_for_them():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = re.findall(r"`(\w+)`(?: and `(\w+)`)? of\s+`((?:\w+/)*\w+\.py)`", text)
    assert len(found) > 5
    for *names, path in found:
        code = (ROOT / "src" / "stillpoint" / path).read_text(encoding="utf-8")
        for name in filter(None, names):
            assert re.search(rf"^\s*(def|class) {name}\b", code, re.MULTILINE), f"{path}: {name}"


def script(folder, name):
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tradeoff_example_shows_the_rates():
    module = script("examples", "kernel_tradeoffs")
    rows = {
        name: dict(
            zip(
                ("constant", "switches", "wave"), zip(row[::2], row[1::2], strict=True), strict=True
            )
        )
        for name, row in module.table([60, 600])
    }
    growth = {
        name: {key: after / before for key, (before, after) in row.items()}
        for name, row in rows.items()
    }
    for name in ("Spline(offset=1)", "OU(rate=0.1)", "Matern32(rate=0.1)", "Gaussian(width=1)"):
        assert growth[name]["constant"] > 5.0, name  # pays T for a constant
    for name in ("HorizonFree()", "HorizonFree(taper=1/(2π))"):
        assert growth[name]["constant"] < 2.2, name  # pays logarithms


def test_own_parts_run_in_the_reduction(capsys):
    script("examples", "own_parts").main()
    rows = {
        line[:26].strip(): line[26:].split() for line in capsys.readouterr().out.splitlines()[1:]
    }
    # a kernel that knows the season
    assert float(rows["own kernel, Erfi"][1]) < 0.2 * float(rows["OU kernel, Erfi"][1])
    assert len(rows) == 6


def test_portfolio_example_holds_to_its_theorem():
    module = script("examples", "portfolio")
    x = module.returns(turning=False, rounds=200, seed=1)
    weights, top = module.best_constant(x)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    others = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 300)
    for w in (*others, *np.eye(4), *(0.999 * weights + 0.001 * others[:20])):
        assert np.log(x @ w).sum() <= top + 1e-9
    rows, allowed = module.table(turning=True, seeds=[0], rounds=200)
    uniform, best, constant, *moving = (row[0] for row in rows.values())
    assert uniform < best
    assert best - constant <= allowed[0]
    assert constant > uniform
    assert np.isfinite(moving).all()


def test_demo_writes_a_self_contained_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["demo.py", "--out", str(tmp_path)])
    assert script("examples", "demo").main() == 0
    for path in (tmp_path / "report.html", tmp_path / "sea" / "report.html"):
        page = path.read_text(encoding="utf-8")
        assert "<svg" in page
        assert not re.search(r"(src|href)=\"http", page)
    ahead = (tmp_path / "sea" / "forecast.csv").read_text(encoding="utf-8").splitlines()
    assert len(ahead) == 1 + 12  # a year of months
    assert ahead[1].split(",")[1] == "2011-01-01"
    printed = capsys.readouterr().out
    assert "by steps ahead" in printed
    assert str(tmp_path / "sea" / "report.html") in printed.replace("\n", "")
    assert "the true target" in printed


def test_readme_figures_are_those_of_the_benchmarks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for body in script("benchmarks", "readme").sections().values():
        assert body in text


def test_what_a_benchmark_prints_finds_its_place_on_its_page():
    page = (
        "# Title\n\nProse with 3.\n\n| a | b |\n|---|---|\n| x | 1 |\n\n| a |\n|---|\n| 2 |\n\nTook"
        " 1.5 s, -2 less.\n"
    )
    printed = (
        "| a |\n|---|\n| 4 |\n\n| a | b |\n|---|---|\n| x | 9 |\n| y | 8 |\n\nTook 20 s, 3.25"
        " less.\n"
    )
    text, homeless = script("benchmarks", "page").fill(page, printed)
    assert homeless == []
    assert (
        text == "# Title\n\nProse with 3.\n\n| a | b |\n|---|---|\n| x | 9 |\n| y | 8 |\n\n| a"
        " |\n|---|\n| 4 |\n\nTook 20 s, 3.25 less.\n"
    )
    assert script("benchmarks", "page").fill(text, printed) == (text, [])


def test_what_has_no_place_on_a_page_is_told():
    page = "| a |\n|---|\n| 1 |\n"
    text, homeless = script("benchmarks", "page").fill(
        page, "| a |\n|---|\n| 2 |\n\n| a |\n|---|\n| 3 |\n\nmissed by 3\n"
    )
    assert text == "| a |\n|---|\n| 2 |\n"
    assert homeless == ["| a |\n|---|\n| 3 |", "missed by 3"]


def test_version_is_stated_once():
    assert f'version = "{sp.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
