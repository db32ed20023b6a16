"""Run a harness: `python fuzz/run.py HARNESS --runs N`, HARNESS being api, parsers, loaders or
checkpoints.

With atheris installed inputs are bred for coverage of the library's Python code, and kept in
build/fuzz; without it, or with --blind, they are drawn from a seed. A finding ends the run with its
story and exit code 1 (77 from libFuzzer).
"""

import argparse
import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
HARNESSES = ("api", "parsers", "loaders", "checkpoints")
LONGEST, SECONDS = 400, 20  # bytes of an input; of an execution, beyond which it hangs
# harnesses, and the registry of all learners
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]


def compiled_modules() -> list[str]:
    """Modules with compiled functions: their bytecode is Numba's, and must stay as it is."""
    sources = [
        path for path in (ROOT / "src").rglob("*.py") if "njit" in path.read_text(encoding="utf-8")
    ]
    return [".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in sources]


def bred(harness: str, runs: int, seed: int) -> None:
    """libFuzzer's loop; it ends the process."""
    import atheris

    with atheris.instrument_imports(include=["stillpoint"], exclude=compiled_modules()):
        module = importlib.import_module(harness)
        module.setup()
    corpus = ROOT / "build" / "fuzz" / harness
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={LONGEST}", f"-timeout={SECONDS}"]
    found = [
        "-rss_limit_mb=4096",
        "-len_control=0",
        f"-artifact_prefix={corpus.parent}/{harness}-",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options, *found], module.one)
    atheris.Fuzz()


def blind(harness: str, runs: int, seed: int) -> None:
    """Random bytes from a seed."""
    module = importlib.import_module(harness)
    module.setup()
    rng, begun = random.Random(seed), time.perf_counter()
    for i in range(runs):
        data = rng.randbytes(rng.choice((20, 60, 150, LONGEST)))
        signal.alarm(SECONDS)  # an execution that hangs ends the process
        try:
            module.one(data)
        except module.Found as error:
            print(f"{harness}: execution {i} of seed {seed}, input {data.hex()}:\n{error}")
            raise SystemExit(1) from error
    signal.alarm(0)
    print(f"{harness}: {runs} executions in {time.perf_counter() - begun:.0f} s, nothing found")


def again(harness: str, path: Path) -> None:
    """One input, from a file."""
    module = importlib.import_module(harness)
    module.setup()
    module.one(path.read_bytes())


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("harness", choices=HARNESSES)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--blind", action="store_true", help="random bytes, also where atheris is installed"
    )
    parser.add_argument("--input", type=Path, help="run this one input only")
    given = parser.parse_args()
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba-cache" / "fuzz"))
    if given.input is not None:
        again(given.harness, given.input)
        return
    if not given.blind:
        try:
            import atheris  # noqa: F401
        except ImportError:
            print("atheris is not installed: inputs are random", file=sys.stderr)
        else:
            bred(given.harness, given.runs, given.seed)
            return
    blind(given.harness, given.runs, given.seed)


if __name__ == "__main__":
    main()
