"""Optional packages for tests marked `extra`: skipped with a reason where missing, required by
`make test-extras`.
"""

import importlib
import importlib.util
import os
import shutil

import pytest

# of a Chromium that shows nothing, asks nothing and calls nobody
HEADLESS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--hide-scrollbars", "--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
REQUIRED = os.environ.get("STILLPOINT_EXTRAS") == "required"


def package(name):
    """The package, or a skip that says how to get it."""
    if REQUIRED:
        return importlib.import_module(name)
    return pytest.importorskip(
        name, reason=f"needs {name.partition('.')[0]}; `make test-extras` installs it"
    )


def data(name):
    """Whether a package whose files are read is there, alike; it need not be fit to be imported."""
    if importlib.util.find_spec(name) is None:
        package(name)


def program(name):
    """The path of a program, alike."""
    found = shutil.which(name)
    if found is None and REQUIRED:
        pytest.fail(f"{name} is missing: install Debian's package {name}")
    return found or pytest.skip(f"needs {name}; `make test-extras` installs it")
