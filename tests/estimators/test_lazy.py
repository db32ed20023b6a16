"""`stillpoint.estimators` is there at once, its parts when they are asked for."""

import subprocess
import sys

import pytest


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", ["estimators", "lab"])
def test_parts_of_the_package_need_no_import_of_their_own(name):
    assert (
        run(f"import stillpoint as sp; print(sp.{name}.__name__)").stdout == f"stillpoint.{name}\n"
    )


@pytest.mark.parametrize("name", ["river", "sklearn", "sktime"])
def test_a_missing_package_is_named_with_its_extra(name):
    code = f"""
import sys
import stillpoint as sp
assert not {{"river", "sklearn", "sktime"}} & set(sys.modules)
sys.modules["{name}"] = None
try:
    sp.estimators.{name}
except ImportError as error:
    print(error)
"""
    assert f"pip install 'stillpoint[{name}]'" in run(code).stdout
