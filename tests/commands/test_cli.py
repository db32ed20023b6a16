"""The command line: what it prints, writes and says about mistakes."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import stillpoint as sp
from stillpoint.commands.cli import app
from stillpoint.lab import streams

SMALL = ["bench", "regret", "--quick", "--learner", "Tracker", "--stream", "walk"]


@pytest.fixture
def call(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_streams_lists_every_one_with_its_group(call):
    result = call("streams")
    assert result.exit_code == 0
    for spec in streams.all_streams():
        line = next(line for line in result.stdout.splitlines() if f" {spec.name} " in line)
        assert spec.group in line


def test_bench_regret_prints_and_writes(call, tmp_path):
    result = call(
        *SMALL,
        "--horizon",
        "150",
        "--seeds",
        "1",
        "--first-seed",
        "9",
        "--out",
        str(tmp_path / "o"),
    )
    assert result.exit_code == 0, result.output
    assert "Tracker" in result.stdout
    assert "T = 150" in result.stdout
    stored = json.loads((tmp_path / "o" / "regret.json").read_text())
    assert [(row["stream"], row["seed"], row["horizon"]) for row in stored["rows"]] == [
        ("walk", 9, 150)
    ]
    assert (tmp_path / "o" / "regret-chosen.png").exists()
    assert "regret.md" in result.stdout
    made = (
        "stillpoint bench regret --learner Tracker --stream walk --seeds 1 --first-seed 9 --horizon"
        " 150 --quick --out FOLDER"
    )
    assert f"Written by `{made}`" in (tmp_path / "o" / "regret.md").read_text(encoding="utf-8")


def test_without_a_folder_it_says_how_to_keep_results(call):
    result = call(*SMALL, "--horizon", "100")
    assert result.exit_code == 0
    assert "--out DIR" in result.stdout


def test_refusals_are_told(call):
    result = call(
        "bench", "regret", "--quick", "--learner", "KT", "--stream", "stagewise", "--horizon", "100"
    )
    assert result.exit_code == 0
    assert (
        "2 runs were refused; the first: KT on stagewise: ValueError: lipschitz must be finite"
        in result.output
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["bench", "regret", "--learner", "Trakcer"],
            "did you mean Tracker? the known ones are Tracker",
        ),
        (["bench", "regret", "--stream", "wolk"], "did you mean walk"),
        (["bench", "speed", "--learner", "nobody"], "the known ones are Tracker"),
    ],
)
def test_mistakes_are_answered_without_a_traceback(call, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["track", "a", "--target", "y", "--out", "o", "--horizon", "seven"],
            "--horizon.* 'seven'",
        ),
        (
            ["track", "a", "--target", "y", "--out", "o", "--level", "x"],
            "--level.* 'x'",
        ),
        (["track", "a", "--target", "y"], "--out must be given: got none"),
        (["track"], "source must be given: got none"),
        (["trak"], "no such command 'trak'"),
        (["track", "a", "--targt", "y"], "no such option: --targt"),
        (["streams", "shwo"], "no such command 'shwo'"),
        (["track", "a", "b\x1b", "--target", "y", "--out", "o"], r"\(b\\x1b\)"),
    ],
)
def test_a_command_that_is_called_wrong_answers_in_one_line(call, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2
    assert re.fullmatch(f"error: .*{message}.* see stillpoint .*--help\n", result.output)


@pytest.mark.parametrize(
    "command",
    [["streams", "export", "walk"], ["reproduce", "--quick"], [*SMALL, "--horizon", "100"]],
)
def test_a_place_that_cannot_be_written_is_told(call, tmp_path, command):
    (tmp_path / "file").touch()
    result = call(*command, "--out", str(tmp_path / "file" / "x"))
    assert result.exit_code == 1
    assert "error: reading or writing failed" in result.output
    assert "give another --out" in result.output


def test_an_interrupt_is_one_line(call, monkeypatch):
    from stillpoint.lab.streams import export

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "describe", interrupted)
    result = call("streams", "describe", "walk")
    assert result.exit_code == 130
    assert result.output == "interrupted; run the command again\n"


def test_bench_speed_prints_and_writes(call, tmp_path, monkeypatch):
    from stillpoint.lab.bench import speed

    monkeypatch.setattr(speed, "_VALUES", 2000)
    result = call("bench", "speed", "--quick", "--learner", "Tracker", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert speed.BARE in result.stdout
    assert {row["dim"] for row in json.loads((tmp_path / "speed.json").read_text())["rows"]} == {
        1,
        10,
    }
    written = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert "`stillpoint bench speed --learner Tracker --quick --out FOLDER`" in written


def test_the_module_runs_and_help_loads_nothing_heavy():
    help_text = subprocess.run(
        [sys.executable, "-m", "stillpoint", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "bench" in help_text
    assert "streams" in help_text
    code = (
        "import stillpoint.commands.cli, sys; print([m for m in ('joblib', 'matplotlib',"
        " 'rich.progress') if m in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert loaded.strip() == "[]"


def test_version_and_examples_in_help(call):
    assert call("--version").stdout.strip() == f"stillpoint {sp.__version__}"
    assert "stillpoint streams export walk" in call("--help").stdout


@pytest.mark.parametrize(
    "words",
    ["", "track", "fleet", "sweep", "bench", "bench regret", "streams", "streams list"],
    ids=lambda words: words.replace(" ", "-") or "stillpoint",
)
def test_flags_have_no_type_in_help(call, words):
    help_text = call(*words.split(), "--help").stdout
    assert "--help" in help_text
    assert "bool" not in help_text.lower()


def test_help_suggests_only_what_a_plain_install_can_do(call):
    suggested = re.findall(r"• stillpoint (\w+)", call("--help").stdout)
    assert set(suggested) == {"track", "fleet", "streams"}
    assert "stillpoint[lab]" in call("--help").stdout


def test_json_everywhere(call):
    listed = json.loads(call("streams", "list", "--json").stdout)
    assert {"walk", "sine1"} <= {row["name"] for row in listed}
    rows = json.loads(call(*SMALL, "--horizon", "100", "--json").stdout)["rows"]
    assert rows[0]["learner"] == "Tracker"
    assert json.loads(call("streams", "describe", "walk", "--json").stdout)["rounds"] == 2000


def test_streams_describe_and_export(call, tmp_path):
    assert "path length of the truth" in call("streams", "describe", "walk").stdout
    path = tmp_path / "walk.csv"
    result = call("streams", "export", "walk", "--rounds", "150", "--out", str(path))
    assert result.exit_code == 0, result.output
    stream = streams.get("walk", 150, 0)
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert np.array_equal(table["y"], stream.losses.y[:, 0])
    assert np.array_equal(table["truth"], stream.target[:, 0])
    vectors = next(spec.name for spec in streams.all_streams() if spec.kind == "vectors")
    assert call("streams", "export", vectors, "--out", str(path)).exit_code == 0
    assert path.read_text().startswith("y1,y2")
    told = json.loads(
        call(
            "streams", "export", "walk", "--out", str(tmp_path / "new" / "walk.csv"), "--json"
        ).stdout
    )
    assert (told["rows"], told["file"]) == (2000, str(tmp_path / "new" / "walk.csv"))
    for arguments, message in [
        (["streams", "export", "fleeing", "--out", str(path)], "must not answer its learner"),
        (["streams", "describe", "wolk"], "did you mean walk"),
    ]:
        result = call(*arguments)
        assert result.exit_code == 2
        assert message in result.output
