"""Tables: as Markdown, and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """A table: the title, column names, and rows of text. `deep`: too long for a terminal."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    deep: bool = False

    def markdown(self) -> str:
        """As a Markdown section."""
        lines = [
            f"| {' | '.join(map(_cell, cells))} |"
            for cells in (self.header, ["---"] * len(self.header), *self.rows)
        ]
        return "\n".join([f"## {self.title}", "", *lines, ""])

    def rich(self) -> Table:
        """For a terminal."""
        from rich.table import Table

        table = Table(title=self.title, title_justify="left")
        for i, name in enumerate(self.header):
            table.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table


def _cell(text: str) -> str:
    """On one line, without what would end the cell."""
    return " ".join(text.replace("|", "\\|").split("\n"))
