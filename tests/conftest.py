"""Shared settings: seeded, unhurried Hypothesis runs; ids of tests; helpers of the tests and of
fuzz/ can be imported.
"""

import dataclasses
import re
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A shell's background jobs ignore Ctrl-C, and so would every process that tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fuzz")]

settings.register_profile("stillpoint", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("stillpoint")

LONGEST = 60  # of one value in an id
# bytes may hold the clock (gzip's do), addresses tell the process, long numbers the last bits of a
# machine's arithmetic
UNSTABLE = re.compile(r"[^ -~]|\\|0x[0-9a-f]{5,}|\d{9,}|\d\.\d{9,}")


def pytest_make_parametrize_id(config, val, argname):
    """The id of one value: its text where that is the same in every run and on every machine, else
    the argument's name.
    """
    if not isinstance(val, bytes | str | int | float) and not (
        dataclasses.is_dataclass(val) and not isinstance(val, type)
    ):
        # pytest's own: names of functions and classes, and the argument's name with a number
        return None
    text = val if isinstance(val, str) else repr(val)
    if not isinstance(val, bytes) and len(text) <= LONGEST and not UNSTABLE.search(text):
        return text
    # pytest numbers those that are alike
    return type(val).__name__ if dataclasses.is_dataclass(val) else argname


def pytest_collection_modifyitems(items):
    """Refuse ids that were written by hand and are no names."""
    odd = [item.nodeid for item in items if UNSTABLE.search(item.nodeid)]
    if odd:
        raise pytest.UsageError(
            f"{len(odd)} ids of tests may differ from run to run; give their cases names:"
            f" {odd[:3]!r}"
        )
