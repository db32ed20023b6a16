"""The M4 competition's files as it published them, wherever a user has them."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stillpoint.core.validation import Array
from stillpoint.core.words import suggest


@dataclass(frozen=True)
class Frequency:
    """A frequency of the competition.

    Parameters
    ----------
    horizon
        How many values are to be forecast.
    period
        The season of its measures and benchmarks; 1 for none.
    seasons
        What a forecaster is told that is told the seasons: the periods of the calendar.
    """

    name: str
    horizon: int
    period: int
    seasons: tuple[int, ...]


FREQUENCIES = {
    each.name: each
    for each in (
        Frequency("Yearly", 6, 1, ()),
        Frequency("Quarterly", 8, 4, (4,)),
        Frequency("Monthly", 18, 12, (12,)),
        Frequency("Weekly", 13, 1, (52,)),
        Frequency("Daily", 14, 1, (7,)),
        Frequency("Hourly", 48, 24, (24, 168)),
    )
}


@dataclass(frozen=True, eq=False)
class Task:
    """One series of the competition: what was given, and what came."""

    name: str
    frequency: Frequency
    train: Array
    test: Array


def frequency(name: str) -> Frequency:
    """A frequency by its name, whatever its capitals."""
    found = FREQUENCIES.get(str(name).capitalize())
    if found is None:
        raise ValueError(
            f"frequency must be one of {', '.join(FREQUENCIES)}: got {name!r};"
            f" {suggest(str(name).capitalize(), FREQUENCIES)}leave it out for all that are there"
        )
    return found


def there(folder: str | Path) -> list[Frequency]:
    """The frequencies of which a folder has both files.

    Raises
    ------
    ValueError
        The folder is none, has no file of the competition, or only one of a pair.
    """
    folder, found = _directory(folder), []
    for each in FREQUENCIES.values():
        pair = [_locate(folder, each, part) for part in ("train", "test")]
        if all(pair):
            found.append(each)
        elif any(pair):
            have = next(path for path in pair if path)
            raise ValueError(
                f"DIR must have {each.name}-train.csv and {each.name}-test.csv: got only"
                f" {have.name} in {folder}; add the other, or name other frequencies"
            )
    if not found:
        raise ValueError(
            f"DIR must have the competition's files: got no pair such as Hourly-train.csv and"
            f" Hourly-test.csv in {folder}, its Train or its Test; download them from the"
            " competition's repository"
        )
    return found


def read(folder: str | Path, frequency: Frequency, limit: int | None = None) -> list[Task]:
    """The series of a frequency in the files' order, the first `limit` of them.

    Raises
    ------
    ValueError
        The folder is none, or a file is missing or not of the competition's format.
    """
    folder, paths = _directory(folder), {}
    for part in ("train", "test"):
        path = _locate(folder, frequency, part)
        if path is None:
            raise ValueError(
                f"DIR must have {frequency.name}-{part}.csv: got none in {folder}; leave"
                f" {frequency.name} out, or add it"
            )
        paths[part] = path
    train = _rows(paths["train"], limit)
    # the two files need not have the same order
    test = _rows(paths["test"], None)
    tasks = []
    for name, values in train.items():
        if name not in test:
            raise ValueError(
                f"{paths['test']} must have a row {name!r}: got none, though the training file has"
                " it; the two files must be of one release"
            )
        if test[name].size != frequency.horizon:
            raise ValueError(
                f"{paths['test']} must have {frequency.horizon} values a row: got"
                f" {test[name].size} for {name!r}; take the competition's own file"
            )
        tasks.append(Task(name, frequency, values, test[name]))
    return tasks


def _directory(folder: str | Path) -> Path:
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(
            f"DIR must be a folder with the competition's files: got {folder}, which is none; they"
            " are named Hourly-train.csv and Hourly-test.csv, and so on"
        )
    return folder


def _locate(folder: Path, frequency: Frequency, part: str) -> Path | None:
    """The file in the folder, or in the folders Train and Test that the competition has."""
    name = f"{frequency.name}-{part}.csv"
    places = (folder / name, folder / part.capitalize() / name, folder / part / name)
    return next((path for path in places if path.is_file()), None)


def _rows(path: Path, limit: int | None) -> dict[str, Array]:
    """Values by the name in the first column, without the empty cells at the end of a row."""
    found: dict[str, Array] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        next(lines, None)  # V1, V2, …
        for line in lines:
            if not line:
                continue
            if limit is not None and len(found) >= limit:
                break
            found[line[0]] = _values(path, line[0], line[1:])
    if not found:
        raise ValueError(
            f"{path} must have a header and a row a series: got none; take the competition's file"
        )
    return found


def _values(path: Path, name: str, cells: Iterable[str]) -> Array:
    kept = [cell for cell in cells if cell.strip() not in ("", "NA")]
    try:
        values = np.array(kept, dtype=np.float64)
    except ValueError:
        values = np.array([])
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{path} must have numbers after the name of a series: got other text in row {name!r};"
            " take the competition's own file"
        )
    return values
