"""`python tests/minimum.py [EXTRA ...]`: pip constraints, the lowest versions in pyproject.toml."""

import re
import sys
import tomllib
from pathlib import Path


def lowest(extras=()):
    """The lowest version of each dependency, of the package and of these extras, by name.

    All of them must say `name>=version`; an upper bound may follow.
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
        name, version = re.fullmatch(
            r"([A-Za-z0-9_.-]+)(?:\[[a-z]+\])?>=([0-9.]+)(?:,<[0-9.]+)?", each
        ).groups()
        # an extra may ask for more than another
        found[name] = max(version, found.get(name, "0"), key=_parts)
    return found


def _parts(version):
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in lowest(sys.argv[1:]).items()))
