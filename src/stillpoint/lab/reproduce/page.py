"""The reproduction as Markdown, as one self-contained page, and as a table on the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from stillpoint.core.terminal import styled
from stillpoint.lab.reproduce.registry import Case, Row
from stillpoint.lab.reproduce.result import Result, compared, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from stillpoint.lab.reproduce.pictures import Picture

_TITLE = "The paper as a run"


def summary(result: Result) -> str:
    """What came out, in two sentences."""
    failed, rows = result.failures, result.rows
    ours = sum(row.section == "Beyond the paper" for row in rows)
    verdict = f"All {len(rows)} claims hold, {len(rows) - ours} of the paper and {ours} beyond it"
    if result.vacuous:
        verdict += (
            f", {len(result.vacuous)} of them on cases that nothing could break"
            f" ({_names(result.vacuous)})"
        )
    if failed:
        verdict = f"{len(failed)} of {len(rows)} claims do not hold: {_names(failed)}"
    cases = sum(len(row.cases) for row in rows)
    printed = (
        f" In {len(result.refuted)} the statement, or a step of its proof, fails as printed."
        if result.refuted
        else ""
    )
    return f"{verdict}; {cases} cases measured.{printed}"


def explanation(result: Result) -> str:
    """How to read the table."""
    seconds, clock, quick = (result.settings[name] for name in ("cpu_seconds", "seconds", "quick"))
    short = " This is a quick run: lengths are a fraction of those stated." if quick else ""
    return (
        "Every theorem, proposition, lemma and example of “Dynamic Regret Reduces to Kernelized"
        " Static Regret” is measured: runs on fixed seeds beside the bound as a number, identities"
        " by their largest deviation. The number shown is of the case with the least to spare; a"
        " ratio above 1 would be a violation. Where the paper's statement needed correcting, the"
        " corrected one decides, and “as printed” shows a case of the statement, or of a step of"
        " its proof, as it stands in the paper. Statements with hidden constants (Õ) are measured"
        " with the explicit ones of the corrected proofs. Each has a control, the same measured on"
        " a learner that plays 0 or with a wrong formula, and counts (✓) only if the control fails"
        " somewhere; where the bound is too loose for that, the mark is ○, and the row says what"
        " it would take. A run can refute a claim, not prove it. `stillpoint"
        f" reproduce{' --quick' if quick else ''} --out DIR` made this page in {seconds:.0f} s of"
        f" CPU time, {clock:.0f} s by the clock.{short}"
    )


def markdown(result: Result, pictures: list[Picture]) -> str:
    """reproduce.md: a table a section, then figures, which lie beside it."""
    lines = [f"# {_TITLE}", "", summary(result), "", explanation(result), ""]
    for section in sections(result):
        heads = (
            "",
            "claim",
            "says",
            "measured on",
            "worst case",
            "ratio",
            "cases",
            "control",
            "erratum; as printed",
        )
        lines += [f"## {section}", "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        for row in (row for row in result.rows if row.section == section):
            cells = (
                mark(row),
                row.name,
                row.says,
                row.on,
                _where(row.worst) + _note(row),
                ratio(row.worst),
                str(len(row.cases)),
                control(row),
                correction(row),
            )
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
        lines.append("")
    lines += ["## Figures", ""]
    for picture in pictures:
        lines += [
            f"### {picture.title}",
            "",
            f"![{picture.title}]({picture.name}.png)",
            "",
            _cell(caption(picture, result)),
            "",
        ]
    further = [(row.name, row.numbers) for row in result.rows if row.numbers]
    lines += [
        "## Further numbers",
        "",
        *(f"- {name}: {_cell(_numbers(numbers))}" for name, numbers in further),
        "",
    ]
    return "\n".join(lines)


def html(result: Result, pictures: list[Picture], drawings: Mapping[str, Figure]) -> str:
    """reproduce.html: nothing outside it is needed."""
    from jinja2 import Environment, PackageLoader

    from stillpoint.lab.reproduce.drawing import svg

    loader = PackageLoader("stillpoint.lab.reproduce", "assets")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    safe = environment.filters["safe"]
    filters = {
        "compared": compared,
        "ratio": ratio,
        "numbers": _numbers,
        "mark": mark,
        "control": control,
    }
    environment.filters.update(filters, maths=lambda text: safe(maths(text)))
    intro = re.split(r"`([^`]+)`", explanation(result))
    return environment.get_template("page.html").render(
        title=_TITLE,
        result=result,
        summary=summary(result),
        intro=intro,
        sections=sections(result),
        pictures=pictures,
        drawings={name: svg(figure, name) for name, figure in drawings.items()},
        worst=_worst_first,
        caption=lambda picture: caption(picture, result),
    )


def table(result: Result) -> Table:
    """For a terminal."""
    from rich.table import Table

    grid = Table(title=summary(result), title_justify="left")
    for name, justify in (
        ("", "left"),
        ("claim", "left"),
        ("worst case", "left"),
        ("ratio", "right"),
        ("cases", "right"),
        ("control", "left"),
        ("as printed", "left"),
    ):
        grid.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    for section in sections(result):
        grid.add_section()
        for row in (row for row in result.rows if row.section == section):
            colour = ("green" if row.could_fail else "yellow") if row.stands else "bold red"
            worst = compared(row.worst) if row.worst else row.note
            printed = compared(row.worst_printed) if row.printed else ""
            broken = compared(row.worst_control) if row.control else ""
            cells = row.name, worst, ratio(row.worst), str(len(row.cases)), broken, printed
            grid.add_row(styled(mark(row), colour), *cells)
    return grid


_RAISED = re.compile(r"(_|\^)(\{[^}]*\}|\([^)]*\)|[A-Za-z0-9∞½Σ]+)")


def maths(text: str) -> str:
    """Turn u_t and e^{x} into HTML.

    What is in braces or brackets goes up or down whole, and brackets stay.
    """

    def raised(match: re.Match[str]) -> str:
        sign, what = match.groups()
        if sign == "_" and what.startswith("("):
            return match.group()
        tag = "sub" if sign == "_" else "sup"
        return f"<{tag}>{what.strip('{}')}</{tag}>"

    return _RAISED.sub(raised, escape(text, quote=False))


def _cell(text: str) -> str:
    """For a Markdown table."""
    return re.sub(r"([|*_])", r"\\\1", maths(text))


def mark(row: Row) -> str:
    """✓, ○ where nothing could break the cases, or ✗."""
    return ("✓" if row.could_fail else "○") if row.stands else "✗"


def verdict(row: Row) -> str:
    """The worst case and the note, as far as there are any."""
    if row.holds and not row.stands:
        return f"the control holds, too: {_where(row.worst_control)}"
    return (
        " ".join(part for part in (row.worst and _where(row.worst), row.note) if part)
        or "no case was measured"
    )


def caption(picture: Picture, result: Result) -> str:
    """What the figure shows, and what was found."""
    return f"{picture.says} {picture.found(result.figures[picture.name])}".rstrip()


def sections(result: Result) -> list[str]:
    """In order of appearance."""
    return list(dict.fromkeys(row.section for row in result.rows))


def ratio(case: Case | None) -> str:
    """Measured over bound; nothing where the bound is only what rounding may leave."""
    if case is None or case.ratio is None or case.sense == "=" or case.bound < 1e-8:
        return "–"
    return (
        "< 0"
        if case.ratio < 0
        else f"{case.ratio:.4g}"
        if 0.99 < case.ratio < 1.01
        else number(case.ratio)
    )


def control(row: Row) -> str:
    """The case in which the control fails most, or why none does."""
    case = row.worst_control
    found = (
        ""
        if case is None
        else f"{'holds' if case.holds else 'fails'}, {compared(case)} ({case.where})"
    )
    return (
        " ".join(part for part in (found, row.vacuous and f"Vacuous here: {row.vacuous}") if part)
        or "–"
    )


def correction(row: Row) -> str:
    """The erratum, and what the statement as printed gives."""
    case = row.worst_printed
    printed = (
        ""
        if case is None
        else f"As printed: {'holds' if case.holds else 'fails'}, {compared(case)} ({case.where})."
    )
    parts = [row.erratum and row.erratum.rstrip(".") + ".", printed]
    return " ".join(part for part in parts if part) or "–"


def _where(case: Case | None) -> str:
    return "–" if case is None else f"{compared(case)} ({case.where})"


def _note(row: Row) -> str:
    return f" {row.note}" if row.note else ""


def _names(rows: list[Row]) -> str:
    return ", ".join(row.name for row in rows)


def _numbers(numbers: Mapping[str, float]) -> str:
    return "; ".join(f"{name} {number(value)}" for name, value in numbers.items())


def _worst_first(cases: Any) -> list[Case]:
    """The six nearest to failing."""
    return sorted(
        cases, key=lambda case: (case.holds, -(case.ratio if case.ratio is not None else -1e300))
    )[:6]
