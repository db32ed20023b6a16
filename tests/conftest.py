"""Shared settings: one thread for linear algebra; seeded, unhurried Hypothesis runs; ids of tests;
helpers of the tests and of fuzz/ can be imported.
"""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Matrices of tests are small: threads take longer to wait for each other than one takes for the
# work, thirty times as long where processes share the cores. NumPy looks when it is imported.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell's background jobs ignore Ctrl-C, and so would every process that tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]

from ids import UNSTABLE, value_id  # noqa: E402
from thorough import THOROUGH  # noqa: E402

settings.register_profile(
    "stillpoint", deadline=None, derandomize=True, max_examples=100 if THOROUGH else 20
)
settings.load_profile("stillpoint")


def pytest_make_parametrize_id(config, val, argname):
    """The id of one value."""
    return value_id(val, argname)


def pytest_collection_modifyitems(items):
    """Refuse ids that were written by hand and are no names, and tests which `make test-extras`
    would not find: it reads files in which `mark.extra` is written.
    """
    odd = [item.nodeid for item in items if UNSTABLE.search(item.nodeid)]
    if odd:
        raise pytest.UsageError(
            f"{len(odd)} ids of tests may differ from run to run; give their cases names:"
            f" {odd[:3]!r}"
        )
    extra = {item.path for item in items if item.get_closest_marker("extra")}
    hidden = [path for path in sorted(extra) if "mark.extra" not in path.read_text("utf-8")]
    if hidden:
        raise pytest.UsageError(f"mark.extra must be written in the file of its tests: {hidden}")


def pytest_collection_finish():
    """Take thousands of tests, and the modules behind them, for good: garbage is looked for among
    what is made from here on.
    """
    gc.collect()
    gc.freeze()
