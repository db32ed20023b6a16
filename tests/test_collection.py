"""The ids of tests: workers of pytest-xdist compare theirs, and people name tests by them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ids import UNSTABLE, value_id
from stillpoint.kernels import OU, OUMixture

ROOT = Path(__file__).parents[1]


def collecting(seed):
    command = [sys.executable, "-m", "pytest", "--collect-only", str(ROOT / "tests")]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_ids_are_the_same_a_second_later_in_another_process_with_another_hash_seed():
    first = collecting(1)
    time.sleep(1.1)  # the header of gzip has whole seconds
    second = collecting(2)
    one, other = (
        [line for line in child.communicate()[0].splitlines() if "::" in line]
        for child in (first, second)
    )
    assert len(one) > 6000
    assert one == other
    assert [child.returncode for child in (first, second)] == [0, 0]


@pytest.mark.parametrize(
    "text", ["a\\x1fb", "é", "at 0x7f0123456", "0.1234567890123", "12345678901"]
)
def test_ids_that_a_run_could_change_are_refused(text):
    assert UNSTABLE.search(text)


def test_values_have_their_text_for_an_id_and_long_or_odd_ones_a_name():
    def made(value):
        return value_id(value, "argument")

    assert made(OU(0.1)) == "OU(rate=0.1, weight=1.0)"
    assert made(OUMixture(np.logspace(-6, 0, 20), np.ones(20))) == "OUMixture"
    assert [made(value) for value in (b"y\n1\n", "y\n", "y" * 61, 0.1 + 0.2)] == ["argument"] * 4
    assert [made(value) for value in ("two words", 3, 0.5)] == ["two words", "3", "0.5"]
