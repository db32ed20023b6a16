"""Mutation testing: how many small faults in the sources of a folder do its tests notice?

    pip install -e '.[test]' cosmic-ray
    python benchmarks/mutants.py potentials 100 --seed 1 --tests tests/potentials

Mutants are those of cosmic-ray, less such as nobody can see (annotations, messages, njit, `==` for
`is`) and such as fail at once (bits of floats). Each is put into a temporary clone of the last
commit, with the tests of the working tree, and meets the tests that call its function, quickest
first, compiled code as plain Python. Tests that fail or take more than --limit so are left out;
mutants that no test is left for are not met.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(NUMBA_DISABLE_JIT="1", OPENBLAS_NUM_THREADS="1")

import numba  # noqa: F401  what every run would import anew is here before runs are forked off
import pytest
from cosmic_ray.commands.init import init
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parent.parent
PYTEST = [
    "-m",
    "not extra and not slow",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-W",
    "ignore::RuntimeWarning",  # NumPy's, where compiled code has none
    "--hypothesis-profile=mutants",
]
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    max_examples=20,  # as tests have by default
    phases=[Phase.explicit, Phase.generate],
)
NOISE = re.compile(
    r"_BitOr_|_(Bit\w+|LShift|RShift)$|Comparison\w*(_Is(Not)?_(?!Is)|(?<!Is)(?<!IsNot)_Is(Not)?$)"
)
UNSEEN = re.compile(r'\s*(@njit|@overload|raise |(\w+ = )?f")')  # lines


class Survey:
    """A pytest plugin: how long each test takes, and which functions of the folder it calls."""

    def __init__(self, folder, limit):
        self.prefix, self.limit, self.tests, self.called = f"{folder}/", limit, {}, set()
        sys.settrace(self.trace)

    def trace(self, frame, event, arg):
        if (file := frame.f_code.co_filename).startswith(self.prefix):
            # 0 stands for what is outside functions
            self.called |= {(file, frame.f_code.co_firstlineno), (file, 0)}

    def pytest_collection_finish(self, session):
        sys.settrace(None)
        # those that fail before they are called are left out, too
        self.tests.update((item.nodeid, (float("inf"), [])) for item in session.items)
        self.tests["as modules load"] = (0.0, sorted(self.called))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        self.tests[item.nodeid], self.called, start = (float("inf"), []), set(), time.process_time()
        # no failure: Hypothesis would try again
        signal.signal(signal.SIGPROF, lambda *_: pytest.skip("takes too long"))
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        sys.settrace(self.trace)
        try:
            result = yield
            self.tests[item.nodeid] = (time.process_time() - start, sorted(self.called))
            return result
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_sessionfinish(self):
        Path("survey.json").write_text(json.dumps(self.tests))


class Chosen:
    """A pytest plugin that runs the chosen tests in their order, and those a mutant renames."""

    def __init__(self, chosen, surveyed):
        self.rank, self.surveyed = {name: i for i, name in enumerate(chosen)}, surveyed

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item for item in items if item.nodeid in self.rank or item.nodeid not in self.surveyed
        ]
        items.sort(key=lambda item: self.rank.get(item.nodeid, len(self.rank)))


def run(arguments, seconds, plugin, *options):
    """pytest's exit status in a process of its own; negative after that many CPU seconds."""
    if (pid := os.fork()) == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            os.dup2(os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os._exit(pytest.main([*PYTEST, *arguments], plugins=[plugin(*options)]))
        finally:
            os._exit(3)  # the loop and the temporary folder are the parent's
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def mutants(folder):
    """All mutants, each with its function, in an order that depends on the sources alone."""
    with use_db("mutants.sqlite", WorkDB.Mode.create) as work:
        init(sorted(folder.rglob("*.py")), work, {})
        found = [
            item.mutations[0]
            for item in work.work_items
            if not NOISE.search(item.mutations[0].operator_name)
        ]
    sources = {m.module_path: m.module_path.read_text() for m in found}
    defined = {
        path: [n for n in ast.walk(ast.parse(sources[path])) if isinstance(n, ast.FunctionDef)]
        for path in sources
    }
    for m in sorted(found, key=lambda m: (m.module_path, m.operator_name, m.occurrence)):
        path, line = m.module_path, m.start_pos[0]
        if not UNSEEN.match(sources[path].splitlines()[line - 1]):
            inside = [n for n in defined[path] if n.body[0].lineno <= line <= n.end_lineno]
            yield (
                m,
                (
                    str(path),
                    max((min(d.lineno for d in [n, *n.decorator_list]) for n in inside), default=0),
                ),
            )


def main(folder, number, seed, tests, limit):
    folder, tests = Path.cwd() / "src" / "stillpoint" / folder, tests or [f"tests/{folder}"]
    everything = list(mutants(folder))
    drawn = random.Random(seed).sample(everything, min(number, len(everything)))
    run(tests, 3600, Survey, folder, limit)
    found = json.loads(Path("survey.json").read_text())
    calls = {name: {tuple(place) for place in places} for name, (_, places) in found.items()}
    loaded, times = calls.pop("as modules load"), {name: found[name][0] for name in calls}
    quick = sorted((name for name in times if times[name] < limit), key=times.get)
    print(
        f"{len(everything)} mutants, {len(drawn)} drawn. Tests left out:",
        *sorted({*times} - {*quick}),
        sep="\n  ",
    )
    # what the survey compiled holds for all files but the mutated one
    verdicts, sys.dont_write_bytecode = [], True
    for i, (mutant, place) in enumerate(drawn, 1):
        chosen, seconds = [], 0.0  # at most 12 s of tests a mutant
        for name in quick:
            if ((place[0], 0) if place in loaded else place) in calls[name] and seconds + times[
                name
            ] < 12.0:
                chosen, seconds = [*chosen, name], seconds + times[name]
        with use_mutation(
            mutant.module_path, get_operator(mutant.operator_name)(), mutant.occurrence
        ) as (_, source):
            # one: does it load?
            status = run(["-x", *tests], 8 + int(3.0 * seconds), Chosen, chosen or quick[:1], calls)
        lives = "survived" if chosen else "not met"
        verdicts.append("timed out" if status < 0 else lives if status in (0, 5) else "killed")
        where, line = mutant.module_path.relative_to(folder), mutant.start_pos[0]
        print(
            f"{i} {verdicts[-1]} {where}:{line}, {len(chosen)} tests:"
            f" {source.splitlines()[line - 1].strip()}",
            flush=True,
        )
    print(
        {name: verdicts.count(name) for name in verdicts},
        "score of those met",
        1.0 - verdicts.count("survived") / max(len(verdicts) - verdicts.count("not met"), 1),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="a folder of src/stillpoint")
    parser.add_argument("number", type=int, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", help="default: tests/FOLDER")
    parser.add_argument(
        "--limit", type=float, default=1.0, help="seconds of the processor that a test may take"
    )
    options = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as clone:
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run(["cp", "-r", ROOT / "tests", clone], check=True)
        os.chdir(clone)
        sys.path.insert(0, f"{clone}/src")
        main(**options)
