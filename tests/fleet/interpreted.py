"""Kernels of a GPU on a machine without one."""

import os
import subprocess
import sys
from pathlib import Path

import stillpoint as sp
from extras import package

TESTS = Path(__file__).parents[1]


def interpreted(script):
    """What a script of this folder prints where Triton's interpreter runs its kernels."""
    package("triton")
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (Path(sp.__file__).parents[1], TESTS))),
    }
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
