"""What a run promises: only where it holds, and only what says something."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from stillpoint.commands import track
from stillpoint.commands.cli import app
from stillpoint.commands.engine import Engine
from stillpoint.commands.notes import band_notes
from stillpoint.commands.options import TrackOptions
from stillpoint.forecasters import VariationForecaster
from stillpoint.intervals import IntervalTracker


def written(folder, y, blank=0):
    path = folder / "data.csv"
    path.write_text(
        "y\n" + "\n".join([*map(repr, np.round(y, 3).tolist()), *['""'] * blank]) + "\n"
    )
    return str(path)


def followed(folder, y, capfd, blank=0, **options):
    """The summary, the page's words, and what the terminal showed."""
    assert track(written(folder, y, blank), "y", folder / "out", **options) == 0
    page = (folder / "out" / "report.html").read_text()
    words = " ".join(
        re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", page)).split()
    )
    return (
        json.loads((folder / "out" / "summary.json").read_text()),
        words,
        "".join(capfd.readouterr()),
    )


def level(rounds, seed=0):
    return 20.0 + np.random.default_rng(seed).standard_normal(rounds)


@pytest.mark.parametrize("blank", [0, 1, 2, 24])
def test_rows_ahead_of_the_targets_are_told_where_their_interval_is_that_of_another_row(
    tmp_path, capfd, blank
):
    summary, page, shown = followed(tmp_path, level(300), capfd, blank, learner="regression")
    told = [note for note in summary["notes"] if "lie ahead" in note]
    assert len(told) == (blank > 1)
    for note in told:
        assert f"the last {blank} rows" in note
        assert note in page
        assert note in shown


def test_late_targets_leave_the_promise_of_intervals_alone(tmp_path, capfd):
    summary, _, _ = followed(tmp_path, level(4000), capfd, delay=7)
    assert not any("cover less" in note for note in summary["notes"])
    band = IntervalTracker(0.9, delay=7)
    y = np.round(level(4000), 3)
    band.track(VariationForecaster().track(y, delay=7), y)
    assert summary["coverage"]["misses"] == band.misses
    assert summary["coverage"]["scored"] == band.seen == 4000 - 7
    assert abs(summary["coverage"]["achieved"] - 0.9) < 0.02
    assert set(summary["certificate"]) == {"misses at least", "misses at most"}
    assert summary["certificate"]["misses at most"] == band.miss_bound()[1]
    assert "none about losses" in summary["certificate_note"]


def test_a_state_of_version_0_1_goes_on_as_it_was_and_promises_nothing():
    options = TrackOptions(source="-", target="y", out=Path("o"), delay=3)
    engine = Engine(options, 1, True)
    before = IntervalTracker(0.9)
    before.track(np.zeros(50), level(50), delay=3)
    state = {name: value for name, value in engine.arrays().items() if "band." not in name}
    state |= {f"band.{name}": value for name, value in before.arrays().items()}
    assert engine.promises
    engine.restore(state)
    assert not engine.promises
    assert "cover less" in band_notes("interval", 3, 0, engine.promises)[0]
    lo, hi = engine._bands(np.zeros(20), level(20, 1), 3)
    np.testing.assert_array_equal(
        (lo, hi), before.track(np.zeros(20), level(20, 1), delay=3, first=3)
    )


def test_late_targets_of_quantiles_are_told_and_nothing_is_certified(tmp_path, capfd):
    summary, page, shown = followed(tmp_path, level(300), capfd, delay=7, task="quantile")
    assert any(
        "cover less than was asked" in note and "7 rows later" in note for note in summary["notes"]
    )
    assert summary["certificate"] == {}
    assert "ertified" not in page + shown
    assert "can be trusted" not in page


@pytest.mark.parametrize(("blank", "told"), [(7, False), (8, False), (9, True)])
def test_intervals_of_late_targets_reach_as_many_rows_ahead(tmp_path, capfd, blank, told):
    summary, _, _ = followed(tmp_path, level(300), capfd, blank, delay=7)
    assert any("made for targets 7 rows late" in note for note in summary["notes"]) == told


def test_the_count_of_rows_ahead_survives_a_checkpoint(tmp_path):
    """Two runs over a growing file: the blank rows of the first are no longer ahead once targets
    follow, and are counted on.
    """
    folder, path = tmp_path / "checkpoint", Path(written(tmp_path, level(60), blank=3))
    for more, ahead in (("", 3), ('""\n', 4), ("1.0\n", 0)):
        with path.open("a") as file:
            file.write(more)
        options = {"checkpoint": folder, "quiet": True, "learner": "regression"}
        assert track(str(path), "y", tmp_path / "out", **options) == 0
        notes = json.loads((tmp_path / "out" / "summary.json").read_text())["notes"]
        assert [note for note in notes if "lie ahead" in note] == band_notes(
            "interval", 0, ahead, True
        )


def test_a_bound_beyond_the_whole_loss_is_not_called_certified(tmp_path, capfd):
    label = "squared error more than the best ten constants in turn's, at most"
    summary, page, shown = followed(tmp_path, level(60), capfd, learner="regression")
    assert label not in summary["certificate"]
    assert label in summary["certificate_note"]
    assert f"{label}:" not in page + shown
    total = summary["loss"]["stillpoint"] * summary["loss_rows"]
    assert all(
        value < total
        for name, value in summary["certificate"].items()
        if not name.startswith("misses")
    )
    # lossy: what is promised is less than that
    jumps = np.repeat(np.random.default_rng(1).uniform(-50, 50, 4000), 5)
    summary, page, _ = followed(tmp_path, jumps, capfd, learner="regression")
    assert 0.0 < summary["certificate"][label.replace("ten constants in turn", "one constant")]
    assert "best one constant's: at most" in page.replace("&#39;", "'")


@pytest.mark.parametrize(("rows", "promised"), [(8, False), (400, True)])
def test_a_promise_that_all_rows_may_be_missed_is_none(tmp_path, capfd, rows, promised):
    summary, page, shown = followed(tmp_path, level(rows), capfd)
    assert ("most_misses" in summary["coverage"]) == promised
    assert ("misses at most" in summary["certificate"]) == promised
    assert ("outside, certified" in shown) == promised
    assert ("could have fallen" in page) == promised


def test_the_help_says_what_intervals_do_not_do():
    from typer.testing import CliRunner

    text = " ".join(
        re.sub(
            r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", "", CliRunner().invoke(app, ["track", "--help"]).output
        ).split()
    )
    assert "intervals hold then, quantiles cover less" in text
    assert "at the end of a series with intervals of their own horizon" in text


@pytest.mark.parametrize(("learner", "finite"), [("regression", 3), ("forecaster", 4)])
def test_charts_begin_with_the_second_forecast_and_the_first_finite_interval(
    tmp_path, learner, finite
):
    """The first forecast is 0, for nothing has been seen: drawn, it would squash a series
    near 20.
    """
    source = written(tmp_path, level(80))
    assert track(source, "y", tmp_path / "out", quiet=True, learner=learner) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    columns = json.loads(
        re.search(r'(?s)<script[^>]*type="application/json"[^>]*>(.*?)</script>', page)[1]
    )["axes"]["run"]["columns"]
    first = {
        name: next(i for i, value in enumerate(columns[name]) if value is not None)
        for name in ("forecast", "lo", "hi")
    }
    assert first == {"forecast": 1, "lo": finite, "hi": finite}
    assert min(value for name in first for value in columns[name] if value is not None) > 10.0
