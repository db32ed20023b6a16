"""Files written under one Python and read under another; `make test-pythons` sets the others up.

The Python makes no difference, bit for bit. numpy and scipy bring their own linear algebra, whose
last bits change with their
versions, under one Python as well: where theirs differ from those here, futures are held to be
close.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_persist import futures_elsewhere

from persisted import CORE

PYTHONS = sorted((Path(__file__).parents[2] / "build" / "pythons").glob("*/bin/python"))
LIBRARIES = (
    "import numpy, scipy, numba; print(numpy.__version__, scipy.__version__, numba.__version__)"
)


def libraries(python):
    return subprocess.run(
        [python, "-c", LIBRARIES], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "python", PYTHONS or [None], ids=lambda python: python.parts[-3] if python else "none"
)
def test_futures_are_the_same_under_another_python(python, tmp_path):
    if python is None:
        pytest.skip(
            "needs another Python in build/pythons; `make test-pythons` sets up those that are at"
            " hand"
        )
    alike = libraries(python) == libraries(sys.executable)
    for name, (here, there) in futures_elsewhere(str(python), list(CORE), tmp_path).items():
        assert (
            here.tobytes() == there.tobytes()
            if alike
            else np.allclose(here, there, rtol=1e-9, atol=1e-12)
        ), name
