"""The cache of compiled code: its keys, what processes share, and what it needs of Numba."""

import ast
import collections
import gc
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import filelock
import numba
import numpy as np
import pytest
from llvmlite import ir
from numba.core import caching
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext

from children import ended, forked, no_child_survives  # noqa: F401
from stillpoint.core import jit, linking
from stillpoint.domains import _sets as domains
from stillpoint.memory import _streaming as memory

SOURCE = Path(jit.__file__).parents[1]
Nested = collections.namedtuple("Nested", ["x", "number", "rest"])
COMPILED = sorted(file for file in SOURCE.rglob("*.py") if "\n@njit(" in file.read_text("utf-8"))


def run(code, folder, **environment):
    """What a process prints that imports from `folder` and caches there."""
    with start(code, folder, **environment) as process:
        return finish(process)


def start(code, folder, **environment):
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment}
    kept["PYTHONPATH"] = os.pathsep.join((str(folder), str(SOURCE.parent)))
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        command, env=kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class Forked:
    """A process as `start` makes it, but without what takes it a second: this one has imported it.

    Parameters
    ----------
    code, folder
        As for `start`.
    """

    def __init__(self, code, folder):
        (out, there), (errors, also) = os.pipe(), os.pipe()
        self.stdout, self._errors = os.fdopen(out), os.fdopen(errors)

        def work():
            sys.stdout, sys.stderr = os.fdopen(there, "w"), os.fdopen(also, "w")
            signal.alarm(300)  # rather than wait for ever
            jit._Cache._shared = True  # this one may have waited in vain
            numba.config.CACHE_DIR = str(folder / "cache")
            sys.path.insert(0, str(folder))
            try:
                exec(code, {"__name__": "__main__"})
            except BaseException:
                traceback.print_exc()
                return 1
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
            return 0

        self._child = forked(work)
        os.close(there)
        os.close(also)
        self.returncode = None

    def communicate(self, timeout=None):
        """What it says until its end, with its errors."""
        with self.stdout, self._errors:
            said = self.stdout.read(), self._errors.read()
        self.returncode = ended(self._child)
        return said

    def kill(self):
        """At once."""
        os.kill(self._child, signal.SIGKILL)


def play(code, folder):
    """What a forked process prints, of code in `folder` that this one has not imported."""
    return finish(Forked(code, folder))


def finish(process):
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.split()


# what a function is keyed by


def test_compiled_files_are_marked_and_import_from_modules_only():
    """A name that a package's `__init__` passes on would hide the file that it comes from."""
    plain = {file.relative_to(SOURCE).as_posix() for file in COMPILED if file.name[0] != "_"}
    assert plain == {"core/arithmetic.py"}
    for file in frozenset().union(*map(jit.sources, COMPILED)):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            base = getattr(node, "module", None) or ""
            assert not getattr(node, "level", 0), file
            for name in (f"{base}.{alias.name}".strip(".") for alias in node.names):
                if name.partition(".")[0] == "stillpoint":
                    modules = [SOURCE.parent.joinpath(*each.split(".")) for each in (base, name)]
                    assert any(each.with_suffix(".py").is_file() for each in modules), (file, name)


def test_compiled_files_reach_what_they_call_and_no_more():
    def reached(file):
        return {each.relative_to(SOURCE).as_posix() for each in jit.sources(SOURCE / file)}

    core = {"core/arithmetic.py", "core/array.py", "core/jit.py", "core/linking.py"}
    assert reached("memory/_streaming.py") == {"memory/_streaming.py", *core}
    own = {"potentials/_magnitudes.py", "core/array.py", "core/jit.py", "core/linking.py"}
    assert reached("potentials/_magnitudes.py") == own
    both = reached("learners/_kernel_ftrl.py")
    assert both > reached("memory/_streaming.py") | reached("potentials/_magnitudes.py")
    assert "forecasters/_aggregation.py" not in both
    # nothing whose edits compiled code does not care for
    rest = frozenset().union(*map(jit.sources, COMPILED)).difference(COMPILED)
    given = {"array.py", "jit.py", "linking.py"}
    named = {
        "_state.py",
        "_plan.py",
        "_bank.py",
    }  # what compiled code is given, by the names of its fields
    assert {each.name for each in rest} == {
        *given,
        "lanes.py",
        "lane_tiles.py",
        "reference.py",
        *named,
    }


def test_imports_that_only_a_type_checker_sees_are_not_followed(tmp_path, monkeypatch):
    package = tmp_path / "stillpoint"
    (package / "inner").mkdir(parents=True)
    texts = {
        "inner/_a.py": "from . import _b\nfrom ..core import c\nimport stillpoint.d\n",
        "inner/_b.py": (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from stillpoint import unseen\n"
            "else:\n    from stillpoint.e import x\n"
        ),
        "d.py": "",
        "e.py": "import os\nimport stillpoint.inner._a\n",
        "unseen.py": "",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    monkeypatch.setattr(jit, "_PACKAGE", package)
    found = {each.relative_to(package).as_posix() for each in jit.sources(package / "inner/_a.py")}
    assert found == {"inner/_a.py", "inner/_b.py", "d.py", "e.py"}


NUMBERS = """
import numpy as np
import stillpoint
from stillpoint.memory._streaming import growth
from stillpoint.potentials._magnitudes import saturated_exp
print(stillpoint.__file__, growth(np.ones(2), np.ones(2), 1.0)[0], saturated_exp(0.0))
print(*(sum(each.stats.cache_hits.values()) for each in (growth, saturated_exp)))
"""


def test_an_edit_recompiles_what_depends_on_it_and_nothing_else(tmp_path):
    copied = tmp_path / "stillpoint"
    shutil.copytree(SOURCE, copied)  # times of files are kept, and so is Python's code of them
    place = str(copied / "__init__.py")

    def files(name):
        found = sorted((tmp_path / "cache").rglob(f"{name}*.nb?"))
        return [(each.name, each.stat().st_mtime_ns) for each in found]

    assert run(NUMBERS, tmp_path) == [place, "6.0", "1.0", "0", "0"]
    assert run(NUMBERS, tmp_path) == [place, "6.0", "1.0", "1", "1"]
    before = {name: files(name) for name in ("_streaming.growth", "_magnitudes.saturated_exp")}
    edited = copied / "core" / "arithmetic.py"
    text = edited.read_text("utf-8")
    assert text.count("total += a[i] * b[i]") == 1
    edited.write_text(text.replace("total += a[i] * b[i]", "total += 2.0 * a[i] * b[i]"), "utf-8")
    assert run(NUMBERS, tmp_path) == [place, "12.0", "1.0", "0", "1"]
    assert files("_magnitudes.saturated_exp") == before["_magnitudes.saturated_exp"]
    # overwritten: what no source is left for does not pile up
    assert [name for name, _ in files("_streaming.growth")] == [
        n for n, _ in before["_streaming.growth"]
    ]
    assert files("_streaming.growth") != before["_streaming.growth"]


FIELDS = """
from work import first
from state import State
print(first((State(a=1.0, b=3.0), 2)), sum(first.stats.cache_hits.values()))
"""


def test_code_of_a_named_tuple_is_not_used_for_other_fields(tmp_path):
    """Whose class may be anywhere: the function knows only what it is given."""
    (tmp_path / "work.py").write_text(
        "from stillpoint.core.jit import njit\n\n\n"
        "@njit(cache=True)\ndef first(pair):\n    return pair[0].a\n"
    )
    for fields, hits in (("ab", "0"), ("ab", "1"), ("ba", "0"), ("ba", "1")):
        lines = "".join(f"    {name}: float\n" for name in fields)
        text = f"from typing import NamedTuple\n\n\nclass State(NamedTuple):\n{lines}"
        (tmp_path / "state.py").write_text(text)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        assert play(FIELDS, tmp_path) == ["1.0", hits]


# what other parts are told

SLOW = """
from stillpoint.core.jit import njit


@njit(cache=True)
def double(x):
    return 2 * x


@njit(cache=True)
def slow(x):
    return double(x) + 1
"""
NAMES = """
from stillpoint.core.jit import compiling
import slow
with compiling(print):
    slow.slow(20)
    slow.slow(21)
slow.double(1.0)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


def test_who_asks_is_told_what_is_being_compiled(folder):
    assert play(NAMES, folder) == ["slow.slow"]
    assert play(NAMES, folder) == []


def test_who_asks_is_told_where_no_cache_can_be_kept(folder):
    refuse = (
        "import tempfile\ndef refused(*arguments, **named):\n    raise PermissionError(13, 'no')\n"
        "tempfile.TemporaryFile = refused\n"
    )
    for _ in range(2):
        assert play(refuse + NAMES, folder) == ["slow.slow"]


# what processes share

TOGETHER = """
import pathlib, time
import slow
import numba.core.compiler
compile_extra = numba.core.compiler.compile_extra
def slower(*arguments, **named):
    time.sleep({pause})
    return compile_extra(*arguments, **named)
numba.core.compiler.compile_extra = slower
print("ready", flush=True)
while not pathlib.Path({go!r}).exists():
    time.sleep(0.01)
began = time.monotonic()
print(slow.slow(20), sum(slow.slow.stats.cache_misses.values()), time.monotonic() - began)
print(slow.slow._cache._shared)
"""


def test_processes_that_start_together_compile_once(folder):
    go = folder / "go"
    code = TOGETHER.format(pause=0.5, go=str(go))
    both = [Forked(code, folder) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    go.touch()
    found = [finish(process) for process in both]
    assert [result[0] for result in found] == ["41", "41"]
    assert sorted(result[1] for result in found) == ["0", "1"]
    assert not [*folder.rglob("*.lock")]


@pytest.mark.skipif(os.name != "posix", reason="processes are killed otherwise elsewhere")
def test_the_lock_of_a_killed_process_is_free(folder):
    go = folder / "go"
    go.touch()
    first = Forked(TOGETHER.format(pause=600, go=str(go)), folder)
    deadline = time.monotonic() + 60
    while not [*folder.rglob("slow.slow-*.lock")]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    first.kill()
    first.communicate()
    result = play(TOGETHER.format(pause=0, go=str(go)), folder)
    assert result[1:3] == ["41", "1"]
    assert float(result[3]) < jit._PATIENCE / 2
    assert not [*folder.rglob("*.lock")]


def test_waiting_ends_and_is_not_repeated(folder):
    """One wait for both functions, whoever holds their locks and for whatever reason."""
    assert play("import slow\nslow.slow(slow.double(1))\nprint(1)", folder) == ["1"]
    locks = [filelock.FileLock(f"{index}.lock") for index in folder.rglob("*.nbi")]
    assert len(locks) == 2
    for index in folder.rglob("*.nbi"):
        index.unlink()
    code = "from stillpoint.core import jit\njit._PATIENCE = 1.0\nimport slow\n"
    code += "slow.double(1)\njit._PATIENCE = 600.0\n" + TOGETHER.format(pause=0, go=str(folder))
    with locks[0], locks[1]:
        result = play(code, folder)
    assert result[1:3] == ["41", "1"]
    assert float(result[3]) < 300.0
    assert result[4] == "False"


def test_what_cannot_be_compiled_leaves_no_lock(folder):
    code = (
        "import slow\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        slow.slow(slow)\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, slow.slow._cache._lock, slow.double._cache._lock)\n"
        "print(slow.slow(20))\n"
    )
    assert play(code, folder) == [*["TypingError", "None", "None"] * 2, "41"]
    assert not [*folder.rglob("*.lock")]


# what it needs of Numba


def test_numba_has_the_parts_that_the_cache_is_made_of():
    """All that `core/jit.py` takes from Numba beyond `njit`: here is what to mend for a new one."""
    lost = f"Numba {numba.__version__}: "
    dispatcher = memory.growth
    assert dispatcher._cache.__class__ is jit._Cache, f"{lost}dispatchers keep no `_cache`"
    assert issubclass(jit._Cache, caching.FunctionCache)
    for name in ("load_overload", "save_overload", "flush"):
        assert callable(getattr(caching.FunctionCache, name, None)), f"{lost}caches have no {name}"
    cache = caching.FunctionCache(dispatcher.py_func)
    assert cache._py_func is dispatcher.py_func, f"{lost}caches do not know their function"
    assert isinstance(cache._cache_file, caching.IndexDataCacheFile), f"{lost}other cache files"
    assert hasattr(cache._cache_file, "_source_stamp"), f"{lost}no stamp of sources in the index"
    assert cache._cache_file._index_path.endswith(".nbi"), f"{lost}no path of the index"
    assert caching.NullCache().cache_path is None, f"{lost}NullCache is another"


def test_numba_asks_the_cache_and_compiles_through_the_method_that_frees_its_lock():
    asked = []

    @jit.njit(cache=True)
    def three():
        return 3

    kept = three._cache
    load, save, compile_ = kept.load_overload, kept.save_overload, three.compile
    kept.load_overload = lambda *each: asked.append("load") or load(*each)
    kept.save_overload = lambda *each: asked.append("save") or save(*each)
    three.compile = lambda sig: asked.append("compile") or compile_(sig)
    kept.disable()

    @jit.njit(cache=False)
    def four():
        return three() + 1

    assert four() == 4, "compiled callers"
    assert three() == 3
    assert asked[:3] == ["compile", "load", "save"], f"Numba {numba.__version__} calls {asked}"


def test_what_a_caller_may_reorder_is_not_reordered_in_what_it_calls():
    """Numba hands `fastmath` down: sums would depend on which caller was compiled first."""

    def total(values):
        result = 0.0
        for i in range(values.size):
            result += values[i]
        return result

    inner, alone = jit.njit(cache=False)(total), jit.njit(cache=False)(total)
    outer = jit.njit(cache=False, fastmath={"reassoc"})(lambda values: inner(values))
    several = np.random.default_rng(0).normal(size=(20, 1000))
    reordered = jit.njit(cache=False, fastmath={"reassoc"})(total)
    for values in several:
        assert outer(values) == inner(values) == alone(values) == total(values)
    # two orders may round alike once
    assert any(reordered(values) != total(values) for values in several)


def test_functions_are_linked_into_compiled_callers_and_have_no_code_of_their_own():
    @jit.njit(cache=False)
    def halved(x):
        return x / 2.0

    @jit.njit(cache=False)
    def quartered(x):
        return halved(halved(x))

    assert quartered(3.0) == 0.75
    lost = f"Numba {numba.__version__}: "
    assert not halved.signatures, f"{lost}callers compile what they call for Python"
    assert halved(3.0) == 1.5
    assert len(halved.signatures) == 1


def test_a_function_may_call_itself_from_python_and_from_compiled_code():
    @jit.njit(cache=False)
    def factorial(n):
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    @jit.njit(cache=False)
    def shifted(n):
        return factorial(n) + 1

    assert shifted(5) == 121
    assert factorial(5) == 120


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [False, True])
def test_garbage_waits_while_code_is_compiled_and_is_then_looked_for_as_before(enabled, fails):
    seen = []

    def looked(x):
        """What compiled code is given for."""

    @numba.extending.overload(looked)
    def _(x):
        seen.append(gc.isenabled())
        return None if fails else lambda x: x + 1

    @jit.njit(cache=False)
    def called(x):
        return looked(x)

    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        if fails:
            with pytest.raises(numba.TypingError):
                called(1)
        else:
            assert called(1) == 2
        after = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()
    assert after == enabled
    assert seen
    assert not any(seen)


def test_errors_in_what_is_called_reach_python():
    @jit.njit(cache=False)
    def refused(n):
        if n < 0:
            raise ValueError("n must be positive")
        return n

    @jit.njit(cache=False)
    def caller(n):
        return refused(n)

    assert caller(1) == 1
    with pytest.raises(ValueError, match="n must be positive"):
        caller(-1)


def test_options_of_a_compilation_are_compared_as_numba_compares_them():
    plain, own = linking.Flags(), linking._Flags()
    assert own == plain
    assert hash(own) == hash(plain), f"Numba {numba.__version__} has another hash of its options"
    own.nrt = True
    assert own != plain
    assert own != linking._Flags()
    assert own == own.copy()
    assert type(own.copy()) is linking._Flags


def test_numba_takes_functions_without_a_wrapper_for_c():
    assert domains.project.targetoptions["no_cfunc_wrapper"]
    w = np.empty(2)
    domains.project(domains.EVERYWHERE, np.empty(0), np.ones(2), w)
    assert w.tolist() == [1.0, 1.0]


def test_numba_lets_arrays_and_tuples_of_them_go_without_a_count_of_references():
    """`bare` writes to the field `meminfo` of Numba's arrays."""

    @numba.njit
    def doubled(array, pair):
        array, pair = jit.bare(array), jit.bare(pair)
        array[0] *= 2.0
        pair.x[1] *= 2.0
        pair.rest[1][0] *= 2.0
        return array[1:].sum() + pair.number

    pair = Nested(np.ones(3), 5, (True, np.ones(2)))
    array, references = np.ones(3), sys.getrefcount(pair.x)
    for _ in range(3):
        assert doubled(array, pair) == 7.0, f"Numba {numba.__version__}: bare changes values"
    assert array[0] == pair.x[1] == pair.rest[1][0] == 8.0, "bare copies"
    left = sys.getrefcount(pair.x)  # within an assertion pytest would hold one more
    assert left == references, "bare loses count outside of the loop"


@pytest.mark.parametrize(
    "example",
    [
        np.ones((2, 3)),
        Nested(np.ones(3), 5, (True, (2.0, np.ones((1, 2))), "text")),
        (1, (2.0, False)),
        3.5,
    ],
    ids=["array", "named tuple", "numbers", "number"],
)
def test_counts_of_references_are_those_that_numba_finds_with_less_code(example):
    cpu_target.target_context.refresh()
    # one of its own: the first `nrt` that a context is asked for stays, in its copies as well
    context, kind = cpu_target.target_context.subtarget(enable_nrt=True), numba.typeof(example)
    given = context.get_value_type(kind)
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [given]), "f")

    def path(value):
        return () if value is function.args[0] else (*path(value.aggregate), *value.indices)

    found = []
    for counts in (NRTContext.get_meminfos, linking.counts):
        builder = ir.IRBuilder(function.append_basic_block())
        pairs = counts(context.nrt, builder, kind, *function.args)
        held = [(what, path(count)) for what, count in pairs]
        found.append((held, len(builder.block.instructions)))
    (theirs, many), (ours, few) = found
    assert ours == theirs, f"Numba {numba.__version__}: references are counted wrongly"
    assert few <= 3 * len(ours)
    assert few < many or not many
