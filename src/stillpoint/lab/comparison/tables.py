"""Tables of a comparison: Markdown by `Grid`, LaTeX with the rules of booktabs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stillpoint.lab.bench.tables import ordered
from stillpoint.report.grid import Grid

if TYPE_CHECKING:
    from stillpoint.lab.comparison.summary import Summary

_HEADINGS = {
    "loss": "loss",
    "regret": "regret",
    "adaptive": "adaptive regret",
    "switching": "switching cost",
    "us": "µs a round",
}
_SMALL = 0.0995  # below, two digits after the point would be one or none
_GREEK = {
    sign: unicodedata.name(sign).split()[-1].replace("LAMDA", "LAMBDA")
    for sign in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"
}
_SYMBOLS = {
    "±": "pm",
    "µ": "mu",
    "√": "surd",
    "·": "cdot",
    "×": "times",
    "≤": "le",
    "≥": "ge",
    "≈": "approx",
    "∞": "infty",
    "→": "to",
    "‖": "Vert",
    "∈": "in",
}
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "*": "$^*$",
    "[": "{[}",  # after \\ it would begin a length
    '"': "''",
    **{sign: f"${sign}$" for sign in "<>|"},  # other signs in the fonts of text
    "−": "$-$",
    **{sign: f"$\\{name}$" for sign, name in _SYMBOLS.items()},
    **{s: f"$\\{n.lower() if s.islower() else n.capitalize()}$" for s, n in _GREEK.items()},
    **{sign: f"$^{i}$" for i, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{sign: f"$_{i}$" for i, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    "½": r"$\frac12$",
    "¼": r"$\frac14$",
    "¾": r"$\frac34$",
}
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")  # of a number, no hyphen


@dataclass(frozen=True)
class Table(Grid):
    """A grid that knows which cells are the least of their columns, as (row, column)."""

    least: frozenset[tuple[int, int]] = frozenset()


def by_stream(summaries: Sequence[Summary]) -> list[Table]:
    """One table a stream and horizon: what learners are told, and every measure."""
    grids = []
    for stream, horizon in ordered((each.stream, each.horizon) for each in summaries):
        block = [each for each in summaries if (each.stream, each.horizon) == (stream, horizon)]
        shown = [
            name
            for name in _HEADINGS
            if name == "loss" or any(getattr(each, name) is not None for each in block)
        ]
        rows = [[each.learner, each.told, *(_cell(each, name) for name in shown)] for each in block]
        seeds = max(each.seeds for each in block)
        grids.append(
            Table(
                f"{stream}, T = {horizon}, {seeds} seed{'s' * (seeds > 1)}",
                ["learner", "is told", *(_HEADINGS[name] for name in shown)],
                rows,
                least=frozenset(
                    (_least(block, name), column)
                    for column, name in enumerate(shown, 2)
                    if name in ("loss", "regret", "adaptive")
                ),
            )
        )
    return grids


def crossed(summaries: Sequence[Summary], measure: str) -> Table:
    """One measure, a row a learner and a column a stream and horizon."""
    cells = {(each.learner, each.stream, each.horizon): each for each in summaries}
    columns = ordered((each.stream, each.horizon) for each in summaries)
    several = len({horizon for _, horizon in columns}) > 1
    told = {each.learner: each.told for each in summaries}
    rows = [
        [name, told[name], *(_cell(cells[name, *column], measure) for column in columns)]
        for name in told
    ]
    header = [f"{stream}, T = {horizon}" if several else stream for stream, horizon in columns]
    least = frozenset(
        (_least([cells[name, *column] for name in told], measure), i)
        for i, column in enumerate(columns, 2)
        if measure != "us"
    )
    at = "" if several else f", T = {columns[0][1]}"
    seeds = max(each.seeds for each in summaries)
    title = f"{_HEADINGS[measure]}{at}, {seeds} seed{'s' * (seeds > 1)}"
    if title[0].isascii():  # µ has a capital that reads M
        title = title[0].upper() + title[1:]
    return Table(title, ["learner", "is told", *header], rows, least=least)


def latex(table: Table) -> str:
    """A tabular with booktabs' rules; its caption is a comment, for the paper has its own."""
    rows = [
        " & ".join(
            f"\\textbf{{{_escaped(cell)}}}" if (i, j) in table.least else _escaped(cell)
            for j, cell in enumerate(row)
        )
        + r" \\"
        for i, row in enumerate(table.rows)
    ]
    return "\n".join(
        [
            f"% {_one_line(table.title)}",
            f"\\begin{{tabular}}{{ll{'r' * (len(table.header) - 2)}}}",
            r"\toprule",
            " & ".join(map(_escaped, table.header)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escaped(text: str) -> str:
    signed = _MINUS.sub("−", _one_line(text))
    return "".join(_LATEX.get(sign, sign) for sign in signed)


def _one_line(text: str) -> str:
    """Breaks of lines would end a comment or a row."""
    return " ".join(text.split())


def _least(block: Sequence[Summary], measure: str) -> int:
    """The row with the least mean, or −1."""
    values = [
        (value, i) for i, each in enumerate(block) if (value := getattr(each, measure)) is not None
    ]
    return min(values)[1] if values else -1


def _cell(summary: Summary, measure: str) -> str:
    value = getattr(summary, measure)
    if value is None:
        return "failed" if summary.failed == summary.seeds else "–"
    if measure == "us":
        return number(value)
    spread = getattr(summary, f"{measure}_sd")
    small = abs(value) < _SMALL or spread >= _SMALL
    beside = number(spread) if small else f"{spread:.2f}"  # in the digits that the mean has
    text = f"{number(value)} ± {beside}" if summary.seeds > 1 else number(value)
    return f"{text} ({summary.failed} failed)" if summary.failed else text


def number(value: float) -> str:
    """Three digits or more, two of those below 0.1; no exponents where a table can do without."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.2e}"
    if size >= 99.95:
        return f"{value:.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= _SMALL or size == 0.0 else f"{value:.2g}"
