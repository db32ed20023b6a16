"""The files of a result: a page in Markdown, and its numbers in JSON."""

import json
from pathlib import Path
from typing import Any


def write_pages(
    folder: str | Path, name: str, markdown: str, numbers: dict[str, Any]
) -> list[Path]:
    """Write name.md and name.json into a folder, which is made where it is not there."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.md", folder / f"{name}.json"]
    files[0].write_text(markdown, encoding="utf-8")
    files[1].write_text(json.dumps(numbers, indent=1, allow_nan=False), encoding="utf-8")
    return files
