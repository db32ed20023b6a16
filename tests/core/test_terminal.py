"""Whatever columns, keys, cells and paths are called, commands show it and no terminal obeys it;
files keep it as it is.
"""

import ast
import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
import typer

import stillpoint as sp
from children import ended, forked, no_child_survives  # noqa: F401
from stillpoint.commands.cli import app
from stillpoint.commands.shared import plain_errors
from stillpoint.core.terminal import console, shown, tell, tell_json
from stillpoint.report.grid import Grid

# clears the screen, names the window, rings, turns text round, is a code of eight bits, ends the
# line and goes on as one of ours
EVIL = "\x1b[2J\x1b]0;owned\x07:smile:[red]x\u202e\x9b31m\x7f\nforged: 1"
SEEN = r"\x1b[2J\x1b]0;owned\x07:smile:[red]x\u202e\x9b31m\x7f\nforged: 1"
# rich's styles, and how it draws a bar
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r")


def test_text_is_shown_on_one_line_as_repr_would():
    assert shown(EVIL) == SEEN
    assert shown("a\tb\udc9b\U000e0001\u2028") == r"a\tb\udc9b\U000e0001\u2028"
    assert shown("größe, 温度, ∑ 😀 \\x1b 'a' \"b\"") == "größe, 温度, ∑ 😀 \\x1b 'a' \"b\""


def harmless(written):
    """What came out, without the styles that rich puts around it."""
    text = OURS.sub("", written.decode())
    assert {one for one in text if not one.isprintable()} <= {"\n"}
    assert not re.search("^forged", text, flags=re.MULTILINE)
    assert "\U0001f604" not in text  # what :smile: would be
    return text


@pytest.fixture(params=["pipe", "colours"])
def run(request, monkeypatch, capfdbinary):
    """Runs a command; returns its exit code and what it wrote."""
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if request.param == "colours":
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")

    def go(*words):
        with pytest.raises(SystemExit) as end:
            app(list(map(str, words)), prog_name="stillpoint")
        out, err = capfdbinary.readouterr()
        return end.value.code, harmless(out + err)

    return go


@pytest.fixture
def files(tmp_path):
    """A folder with tables whose columns, keys and path are evil; in bad.csv a target is, too."""
    folder = tmp_path / EVIL
    folder.mkdir()
    for name, target in (("good.csv", 5), ("bad.csv", EVIL)):
        with (folder / name).open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([f"y{EVIL}", f"k{EVIL}", f"t{EVIL}"])
            table.writerows(
                [target if i == 50 else i % 7 - 3, f"{i % 3}{EVIL}", i] for i in range(60)
            )
    return folder


def test_track_shows_columns_and_paths(files, run):
    out = files / "out"
    words = "track", files / "good.csv", "--target", f"y{EVIL}", "--time", f"t{EVIL}", "--out", out
    code, text = run(*words)
    assert code == 0
    # titles are wrapped to the width of their table
    assert "".join(f"y{SEEN}: 60 rows".split()) in "".join(text.split())
    assert f"{SEEN}/out/predictions.csv" in text
    code, text = run(*words, "--json")
    assert code == 0
    assert json.loads(text)["target"] == f"y{EVIL}"
    assert json.loads((out / "summary.json").read_text())["target"] == f"y{EVIL}"  # as it is
    assert ":smile:[red]x" in (out / "report.html").read_text()


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_errors_of_track_show_cells_and_names(files, run, task):
    out = files / "out"
    code, text = run(
        "track", files / "bad.csv", "--target", f"y{EVIL}", "--task", task, "--out", out
    )
    assert code == 2
    assert "[red]x" in text
    code, text = run("track", files / "good.csv", "--target", EVIL, "--task", task, "--out", out)
    assert code == 2
    assert SEEN in text
    code, text = run("track", files / f"{EVIL}.csv", "--target", "y", "--task", task, "--out", out)
    assert code == 2
    assert SEEN in text
    code, text = run(
        "track", files / "good.csv", "--target", f"y{EVIL}", "--out", files / "good.csv"
    )
    assert code == 2
    assert SEEN in text


def bad_fleet(files):
    """A fleet of keys, and a target, whose names would rule a terminal."""
    names = ("--key", f"k{EVIL}", "--target", f"y{EVIL}")
    return ("fleet", files / "bad.csv", "--learner", "kernel", *names, "--out", files / "out")


def test_fleet_shows_keys_and_reasons(files, run):
    words = bad_fleet(files)
    code, text = run(*words)
    assert code == 0
    for key in range(3):
        assert re.search(rf"[│|] {key}{re.escape(SEEN)} +[│|]", text)
    assert f"y{SEEN}: 60 rows of 3 keys" in text
    assert f"  key 2{SEEN}: 1 row" in text
    code, text = run(*words, "--json")
    assert sorted(one["key"] for one in json.loads(text)["worst"]) == [
        f"{key}{EVIL}" for key in range(3)
    ]
    with (files / "out" / "predictions.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == [f"k{EVIL}", f"y{EVIL}"]
    assert {row[0] for row in rows[1:]} == {f"{key}{EVIL}" for key in range(3)}  # as they are
    code, text = run(
        "fleet", files / "bad.csv", "--key", EVIL, "--target", f"y{EVIL}", "--out", files / "out"
    )
    assert (code, SEEN in text) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("streams", "describe", EVIL),
        ("streams", "export", EVIL, "--out", "x.csv"),
        ("bench", "regret", "--stream", EVIL),
        ("bench", "speed", "--learner", EVIL),
        ("bench", "real", "--stream", EVIL),
        ("sweep", "--learner", EVIL, "--out", "x"),
        ("track", f"{EVIL}.csv", "--target", "y", "--out", "x"),
        ("fleet", f"{EVIL}.csv", "--key", "k", "--target", "y", "--out", "x"),
        ("fleet", EVIL, "--key", "k", "--target", "y", "--out", "x", "--learner", EVIL),
    ],
    ids=lambda words: " ".join(word for word in words if word.isalnum()),
)
def test_names_that_are_not_known_are_shown(words, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = run(*words)
    assert code == 2
    assert ":smile:[red]x" in text


@pytest.mark.parametrize(
    "words",
    [
        ("track", "a", EVIL, "--target", "y", "--out", "x"),
        ("track", f"--{EVIL}"),
        (EVIL,),
        ("streams", EVIL),
        ("track", "a", "--level", EVIL),
        ("bench", "regret", "--seeds", EVIL),
    ],
    ids=["extra argument", "option", "command", "subcommand", "number", "whole number"],
)
def test_errors_of_usage_are_shown(words, run):
    code, text = run(*words)
    assert code == 2
    # some versions of typer do not say what was no number
    assert "[red]x" in text or "--" in words[-2]


def test_files_that_were_written_are_shown(run, tmp_path):
    code, text = run("streams", "export", "walk", "--rounds", "100", "--out", tmp_path / EVIL)
    assert (code, SEEN in text) == (0, True)


def test_tables_errors_and_json_of_all_commands_go_one_way(capfdbinary, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    console().print(Grid(f"title {EVIL}", [f"head {EVIL}", "b"], [[f"cell {EVIL}", EVIL]]).rich())
    tell(EVIL)
    tell(EVIL, err=True)
    tell_json(json.dumps({EVIL: EVIL}, indent=1, ensure_ascii=False))
    for error in (ValueError(EVIL), OSError(28, EVIL, EVIL), KeyboardInterrupt(EVIL)):
        with pytest.raises(typer.Exit), plain_errors():
            raise error
    out, err = capfdbinary.readouterr()
    text = harmless(out + err)
    assert text.count(SEEN) == 10
    assert json.loads(out.decode().splitlines()[-2].strip().join("{}")) == {EVIL: EVIL}


def test_a_terminal_gets_nothing_else(files):
    """On a terminal of its own, bars and all."""
    words = bad_fleet(files)
    ours, theirs = os.openpty()

    def work():
        os.environ |= {"COLUMNS": "2000", "TERM": "xterm-256color"}
        for number in range(3):
            os.dup2(theirs, number)
        sys.stdin, sys.stdout, sys.stderr = map(os.fdopen, range(3), "rww")
        try:
            app(list(map(str, words)), prog_name="stillpoint")
        except SystemExit as end:
            sys.stdout.flush()
            return end.code

    child = forked(work)
    os.close(theirs)
    written = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not more:
            break
        written += more
    os.close(ours)
    assert ended(child) == 0
    assert b"\x1b[" in written  # it knew that it was a terminal
    assert f"y{SEEN}: 60 rows of 3 keys" in harmless(written)


def test_reprs_of_learners_show_their_words():
    fleet = sp.Fleet(sp.QuantileTracker)
    fleet.update([EVIL], [1.0])
    with pytest.raises(ValueError, match="finite") as refused:
        fleet.update([EVIL], [float("nan")])
    assert shown(str(refused.value)) == str(refused.value)
    with pytest.raises(ValueError, match="twice") as refused:
        fleet.update([EVIL, EVIL], [1.0, 2.0])
    assert shown(str(refused.value)) == str(refused.value)
    assert shown(repr(fleet)) == repr(fleet)


def dotted(node):
    """The name that is called, as it is written; of anything but names, nothing."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_nothing_prints_but_the_one_place():
    assert dotted(ast.parse("a.b.c(1)").body[0].value.func) == "a.b.c"
    root = Path(sp.__file__).parent
    for path in root.rglob("*.py"):
        if path.name == "terminal.py":
            continue
        text = path.read_text()
        if not any(word in text for word in ("print", "echo", "write", "rich")):
            continue  # none of what follows can be there
        for node in ast.walk(ast.parse(text)):
            called = dotted(node.func) if isinstance(node, ast.Call) else ""
            assert called not in ("print", "typer.echo", "sys.stderr.write", "sys.stdout.write"), (
                f"{path}: use tell"
            )
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert module not in ("rich", "rich.console", "rich.markup"), f"{path}: use console"
