"""`python tests/minimum.py [EXTRA ...]`: pip constraints that pin dependencies to the lowest
versions in pyproject.toml.
"""

import re
import sys
import tomllib
from pathlib import Path


def lowest(extras=()):
    """One `name==version` for each dependency, of the package and of these extras; all of them must
    say `name>=version`.
    """
    project = tomllib.loads(
        (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in extras for each in project["optional-dependencies"][extra]),
    ]
    found = {}
    for each in wanted:
        name, version = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[a-z]+\])?>=([0-9.]+)", each).groups()
        found[name] = version
    return found


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in lowest(sys.argv[1:]).items()))
