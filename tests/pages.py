"""Run the examples of a document: `python` blocks share one namespace, a `text` block behind one is
what it prints.

python tests/pages.py docs/guide/*.md      # writes into each page what its examples print now
"""

import contextlib
import io
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"```python\n(.*?)```(\n\n```text\n(.*?)```)?", re.DOTALL)


def needs(text):
    """Packages that the page says it needs."""
    found = re.match(r"<!-- needs: (.*?) -->", text)
    return found.group(1).split() if found else []


def run(text):
    """Each block's code, what it is said to print (None if nothing is said) and what it prints."""
    namespace = {"__name__": "page"}
    sys.modules.setdefault("page", type(sys)("page"))  # dataclasses look their module up
    for match in BLOCK.finditer(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(match.group(1), namespace)
        yield match.group(1), match.group(3), printed.getvalue()


def main(paths):
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        prints = iter(list(run(text)))

        def filled(match, prints=prints):
            _, said, printed = next(prints)
            return (
                match.group(0)
                if said is None
                else f"```python\n{match.group(1)}```\n\n```text\n{printed}```"
            )

        path.write_text(BLOCK.sub(filled, text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
