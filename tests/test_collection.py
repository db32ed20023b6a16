"""The ids of tests: workers of pytest-xdist compare theirs, and people name tests by them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ids import UNSTABLE, value_id
from stillpoint.kernels import OU, OUMixture

ROOT = Path(__file__).parents[1]


@pytest.mark.slow  # processes of one run are compared in every run
def test_ids_are_the_same_later_in_another_process_with_another_hash_seed(request):
    command = [sys.executable, "-m", "pytest", "--collect-only", str(ROOT / "tests")]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    there = {line for line in other.stdout.splitlines() if "::" in line}
    here = {item.nodeid for item in request.session.items}  # begun before, by this process
    assert len(there) > 6000
    assert here <= there


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
