"""The paper as a run: every statement has a row, a false one shows, and the files are whole."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import stillpoint as sp
from extras import HEADLESS, program
from stillpoint.lab.reproduce import Case, Claim, Evidence, claims, parameter_free, reproduce
from stillpoint.lab.reproduce.figures import PICTURES
from stillpoint.lab.reproduce.page import control as control_text
from stillpoint.lab.reproduce.page import mark, maths, ratio, summary, table
from stillpoint.lab.reproduce.registry import claim, measure
from stillpoint.lab.reproduce.result import compared, number
from test_supply import remote
from thorough import THOROUGH, some

ROOT = Path(__file__).parents[2]
KIND = re.compile(r"^(Theorem|Proposition|Lemma|Example|Remark|Algorithm|Appendix)s?\b")
FILES = ("reproduce.md", "reproduce.json", "reproduce.html")


def statements():
    """Names in the first column of docs/theory.md: 'Lemmas 1 (a), 2 (b)' are two."""
    names = []
    for line in (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").splitlines():
        cell = (
            re.sub(r"\s*\(E[\d, E]+\)", "", line.split("|")[1].strip())
            if line.startswith("| ")
            else ""
        )
        cell = re.sub(r"\b\d+ \(([\w-]+)\)|^(Example) \d+(?=,)", r"\1\2", cell)
        kind = KIND.match(cell)
        if kind and cell.startswith(f"{kind.group(1)}s "):
            names += [
                f"{kind.group(1)} {label}"
                for label in re.split(r", | and ", cell[len(kind.group()) + 1 :])
            ]
        elif kind:
            names.append(cell)
    return names


# These claims take two thirds of the time of all, and to lay out and write figures takes as long
# again: `make test-slow` plays and writes everything.
LONG = (
    "Tracker, the theorem",
    "Theorems rkhs-to-pl and discrete-pl, order m",
    "Proposition simple-full-matrix",
    "Theorem rkhs-to-pl",
    "Theorem kons",
    "Proposition full-matrix-bound",
    "Theorem static-full-matrix",
    "Proposition scale-free-olo",
)
PLAYED = [each for each in claims() if THOROUGH or each.name not in LONG]
DRAWN = some(PICTURES, every=4)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stillpoint.lab.reproduce.figures.PICTURES", DRAWN)
        return reproduce(out, quick=True, progress=False, only=PLAYED), out


def test_every_statement_of_the_theory_map_has_a_row():
    names = {each.name for each in claims()}
    assert len(statements()) >= 38
    assert set(statements()) <= names
    assert len(names) == len(claims())
    figures = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    for name in re.findall(r"[Ff]igure (\w+)", figures):
        assert any(f"figure {name}" in picture.title for picture in PICTURES)
    assert set(LONG) < names


def test_every_claim_is_stated_and_says_what_it_is_measured_on():
    for each in claims():
        assert each.says
        assert each.on
        assert "_" not in maths(each.says)  # all indices are set
    errata = {number for each in claims() for number in re.findall(r"\bE\d+", each.erratum)}
    assert errata == {f"E{i}" for i in range(1, 17)}


def test_a_quick_run_holds_and_writes_its_files(quick):
    result, _ = quick
    assert not result.failures, [(row.name, row.worst, row.note) for row in result.failures]
    assert result.exit_code == 0
    assert {file.name for file in result.files} == {
        *FILES,
        *(f"{picture.name}.png" for picture in DRAWN),
    }
    assert all(file.stat().st_size > 5000 for file in result.files)
    # what the errata say of the printed statements is measured too
    assert len(result.refuted) >= 10
    assert remote([file for file in result.files if file.suffix != ".png"]) == {}


@pytest.mark.parametrize("picture", some(PICTURES, every=2), ids=lambda picture: picture.name)
def test_every_figure_is_measured_and_drawn(picture):
    data = picture.measure(True)
    figure = picture.draw(data)
    assert all(axes.has_data() and axes.get_xlabel() for axes in figure.axes)
    assert isinstance(picture.found(data), str)
    figure.set_layout_engine("none")  # to find room for the words takes longer than to set them
    figure.draw_without_rendering()


def test_the_markdown_has_a_row_a_claim_and_its_figures(quick):
    result, out = quick
    text = (out / "reproduce.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith(("| ✓", "| ○", "| ✗"))]
    assert len(rows) == len(result.rows)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 10 for line in rows)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (out / link).exists()


def test_the_page_stands_alone(quick):
    result, out = quick
    page = (out / "reproduce.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!#)""", page.replace("xlink:href", "href"))
    assert page.count("<svg") == len(DRAWN)
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for row in result.rows:
        assert row.name in page


def test_json_has_every_number(quick):
    result, out = quick
    text = (out / "reproduce.json").read_text(encoding="utf-8")
    assert text == result.to_json()
    whole = json.loads(text)
    assert whole["holds"] is True
    assert [claim["worst"]["measured"] for claim in whole["claims"]] == [
        row.worst.measured for row in result.rows
    ]
    assert [len(claim["cases"]) for claim in whole["claims"]] == [
        len(row.cases) for row in result.rows
    ]
    assert set(whole["figures"]) == {picture.name for picture in DRAWN}


FAILS = [Case("plays of 0", 2.0, 1.0)]


def bad(cases, printed=(), control=FAILS, vacuous=""):
    return Claim(
        "Theorem made up",
        "Made up",
        "1 ≤ 0",
        "nothing",
        "",
        lambda quick: Evidence(cases, printed, control, vacuous),
    )


def stops(quick):
    raise RuntimeError("no convergence")


@pytest.mark.parametrize(
    "cases",
    [
        [Case("here", 2.0, 1.0)],
        [Case("here", 1.0, 2.0), Case("there", float("nan"), 1.0)],
        [Case("here", 1.0, 2.0, "≥")],
        [Case("here", 1e-3, 1e-9, "=")],
        [],
    ],
)
def test_a_false_claim_shows(cases):
    result = reproduce(None, quick=True, progress=False, only=[bad(cases)])
    assert (result.holds, result.exit_code) == (False, 1)
    assert "Theorem made up" in summary(result)
    assert result.files == []
    assert json.loads(result.to_json())["holds"] is False


@pytest.mark.parametrize(
    ("name", "target", "false"),
    [
        (
            "Theorem spline-deff",
            "spline.spline_dimension_bound",
            lambda rounds, ridge: 0.5 * rounds / ridge**0.5,
        ),
        ("Theorem discrete-pl", "interpolants.curvature_constant", lambda order=1: 12.5),
        ("Proposition loss-curvature", "curvature.newton_curvature", lambda alpha, gap: alpha),
        ("Lemma log-det-sum", "lemmas.dimension_bound", lambda gram, ridge: 0.01),
        (
            "Algorithm 2, kernelized-pf",
            "parameter_free.ParameterFree",
            lambda scale: parameter_free.Printed(),
        ),
    ],
)
def test_checks_see_a_false_formula(name, target, false, monkeypatch):
    chosen = next(each for each in claims() if each.name == name)
    assert measure(chosen, quick=True).holds
    monkeypatch.setattr(f"stillpoint.lab.reproduce.{target}", false)
    assert not measure(chosen, quick=True).holds


def test_every_claim_has_a_control_and_only_one_has_none_that_fails(quick):
    """The bound of Theorem optimal-pl exceeds T until T = 10¹⁰, so that no control can break it."""
    result, _ = quick
    assert all(row.control for row in result.rows)
    assert [row.name for row in result.vacuous] == ["Theorem optimal-pl"]
    assert "Theorem optimal-pl" in summary(result)


@pytest.mark.parametrize(
    ("control", "vacuous", "mark_", "stands"),
    [
        (FAILS, "", "✓", True),
        ([Case("plays of 0", 1.0, 2.0)], "", "✗", False),
        ([], "", "✗", False),
        ([Case("plays of 0", 1.0, 2.0)], "until T = 10¹⁰", "○", True),
    ],
)
def test_a_claim_counts_only_if_its_control_fails_or_it_says_that_it_is_vacuous(
    control, vacuous, mark_, stands
):
    result = reproduce(
        None,
        quick=True,
        progress=False,
        only=[bad([Case("here", 1.0, 2.0)], control=control, vacuous=vacuous)],
    )
    assert (result.holds, mark(result.rows[0])) == (stands, mark_)
    assert ("Vacuous here: until" in control_text(result.rows[0])) == bool(vacuous)


ALGORITHM_2 = (
    "Algorithm 1, kernel-oco",
    "Theorem RKHS-SR-solves-DR",
    "Example kernel-ftrl",
    "Theorem olo-reduction",
    "Proposition pf-static-olo",
    "Proposition kernelized-pf",
    pytest.param("Proposition scale-free-olo", marks=pytest.mark.slow),
    "Proposition unconstrained-scale-free",
)
FULL_MATRIX = (
    "Theorem static-full-matrix",
    pytest.param("Proposition full-matrix-bound", marks=pytest.mark.slow),
    pytest.param("Proposition simple-full-matrix", marks=pytest.mark.slow),
)
REGRESSION = (
    "Proposition regression-curvature",
    "Proposition regression-curvature, with contexts",
    "Example spline-kernel",
)


@pytest.mark.parametrize("name", [*ALGORITHM_2, *FULL_MATRIX, *REGRESSION])
def test_a_learner_that_never_moves_is_noticed(name, monkeypatch):
    for learner in (sp.KernelFTRL, sp.Directional):
        monkeypatch.setattr(
            learner, "_propose", lambda self, time, old=learner._propose: 0.0 * old(self, time)
        )
    for model in (sp.KernelVAW, sp.TrackingVAW):
        forecast = model.track
        monkeypatch.setattr(
            model, "track", lambda self, *stream, old=forecast: 0.0 * old(self, *stream)
        )
    chosen = next(each for each in claims() if each.name == name)
    row = measure(chosen, quick=True)
    assert row.cases, row.note
    assert not row.holds


def test_a_check_that_stops_is_a_claim_that_does_not_hold():
    row = measure(Claim("Theorem made up", "Made up", "says", "on", "", stops), quick=True)
    assert not row.holds
    assert "no convergence" in row.note


def test_a_false_claim_reaches_the_command(monkeypatch, capsys):
    from stillpoint.lab.reproduce import command

    false = bad([Case("here", 2.0, 1.0)])
    monkeypatch.setattr(
        command,
        "reproduce",
        lambda out, quick, progress: reproduce(out, quick, False, only=[false]),
    )
    assert command.run(quick=True) == 1
    assert "✗" in capsys.readouterr().out
    assert command.run(quick=True, json=True) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_brackets_of_a_claim_reach_the_terminal(monkeypatch, capsys, tmp_path):
    from stillpoint.lab.reproduce import command

    def stopped(quick):
        raise RuntimeError("no [/bold] here")

    false = Claim(
        "Theorem [red]",
        "Made up",
        "1 ≤ 0",
        "nothing",
        "",
        lambda quick: Evidence([Case("x in [0, 1]", 2.0, 1.0)]),
    )
    broken = Claim("Theorem [1]", "Made up", "1 ≤ 0", "nothing", "", stopped)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(
        command,
        "reproduce",
        lambda out, quick, progress: reproduce(None, quick, False, only=[false, broken]),
    )
    assert command.run(quick=True) == 1
    out = capsys.readouterr().out
    assert "✗ Theorem [red]: 2 > 1 (x in [0, 1])" in out
    assert "✗ Theorem [1]: the check stopped: RuntimeError: no [/bold] here" in out


def test_the_statement_as_printed_does_not_decide():
    row = measure(bad([Case("here", 1.0, 2.0)], [Case("as printed", 2.0, 1.0)]), quick=True)
    assert row.holds
    assert compared(row.worst_printed) == "2 > 1"


def test_cases_and_numbers():
    assert Case("", 1.0 + 1e-12, 1.0).holds
    assert not Case("", 1.0 + 1e-6, 1.0).holds
    assert Case("", 4.0, 2.0, "≥").ratio == 0.5
    assert Case("", 1.0, 0.0, "≥").ratio is None
    assert [number(x) for x in (0.0, 0.1234, 12345.6, 1e-9, 2.873e5)] == [
        "0",
        "0.123",
        "12 346",
        "1e-9",
        "2.87e5",
    ]
    assert ratio(Case("", 1e-12, 1e-9, "=")) == "–"
    assert maths("u_t ≤ e^{x} & k_max²") == "u<sub>t</sub> ≤ e<sup>x</sup> &amp; k<sub>max</sub>²"


def test_a_claim_needs_its_line():
    with pytest.raises(ValueError, match="in its docstring"):
        claim("Theorem", "section", on="nothing")(lambda quick: Evidence([]))


def test_the_terminal_table_has_every_claim(quick):
    assert table(quick[0]).row_count == len(quick[0].rows)


def test_the_documents_show_a_full_run():
    text = (ROOT / "docs" / "reproduce" / "reproduce.md").read_text(encoding="utf-8")
    for each in claims():
        assert f"| {each.name} |" in text, (
            f"{each.name}: run stillpoint reproduce again and copy its page"
        )
    for picture in PICTURES:
        assert (ROOT / "docs" / "reproduce" / f"{picture.name}.png").exists()
    assert "--quick" not in text
    assert "| ✗ |" not in text


@pytest.mark.extra
@pytest.mark.parametrize("size", [(1200, 1000), (500, 900)], ids=["desk", "phone"])
def test_the_page_renders(quick, size, tmp_path):
    page, picture = quick[1] / "reproduce.html", tmp_path / "page.png"
    flags = [
        *HEADLESS,
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={size[0]},{size[1]}",
        f"--screenshot={picture}",
    ]
    browser = [program("chromium"), *flags, page.as_uri()]
    done = subprocess.run(browser, check=True, capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr
    assert picture.stat().st_size > 30_000  # a blank page compresses to far less
