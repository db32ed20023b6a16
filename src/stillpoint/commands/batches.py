"""Rows as they are read, and what a run asks of whatever reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Cells = Sequence[Any]


@dataclass
class Batch:
    """Rows by column, in the order asked for; `records` and `places`, the record of each row, are
    the reader's.
    """

    columns: list[Cells]
    rows: int
    records: list[bytes] = field(default_factory=list)
    places: list[int] | None = None

    def kept(self, rows: int) -> int:
        """How many records hold the first rows."""
        return rows if self.places is None or rows == 0 else self.places[rows - 1] + 1

    def head(self, rows: int) -> "Batch":
        """The first rows."""
        places = None if self.places is None else self.places[:rows]
        return Batch(
            [column[:rows] for column in self.columns],
            rows,
            self.records[: self.kept(rows)],
            places,
        )


class Reader(Protocol):
    """What a run asks of an input: batches of rows, and a place to go on from."""

    names: list[str]

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""

    @property
    def gone(self) -> bool:
        """Whether it ended because it was deleted while it was followed."""

    @property
    def position(self) -> int:
        """Where the next row begins."""

    @property
    def size(self) -> int | None:
        """Where the last one ends, if that is known."""

    def begin(self) -> bool:
        """Find the names of the columns; False while there is nothing to read them from."""

    def use(self, columns: Sequence[str]) -> None:
        """Columns to read, and their order."""

    def read(self, limit: int) -> Batch:
        """Up to so many rows; none where nothing has come. A row that cannot be read is refused
        when it is the first.
        """

    def back(self, batch: Batch, rows: int) -> None:
        """All but the first rows of the batch just read come again."""

    def seek(self, position: int) -> None:
        """Go on at a position."""

    def fingerprint(self, head: int, position: int) -> list[str | None]:
        """What tells this input from another, up to that position; None for a part that cannot be
        told.
        """

    def notes(self) -> list[str]:
        """What a person should know of what was read."""

    def close(self) -> None:
        """Close the input."""
