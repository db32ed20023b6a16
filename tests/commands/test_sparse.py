"""Rows without targets, files in folders, names and times as people have them: what is told of them
at the end of a run.
"""

import gzip
import json
import os
from datetime import datetime, timedelta

import numpy as np
import pytest
from test_track_series import forecast

from stillpoint.commands import fleet, session
from stillpoint.commands.history import History
from stillpoint.commands.notes import outlier_notes
from stillpoint.report.data import hardest_stretch, losses_in_windows
from stillpoint.report.history import history_from_arrays
from tracked import run, write


def test_an_outlier_among_few_targets_is_named_by_the_rows_that_have_one():
    """Buckets hold many rows, of which few have a target."""
    loss, targets = np.zeros(100), np.ones(100)
    loss[5], loss[7], targets[5] = 1000.0, 100.0, 20.0
    columns = {"row": np.arange(100) * 256.0 + 1, "rows": np.full(100, 256.0), "targets": targets}
    (note,) = outlier_notes(columns | {"loss:stillpoint": loss}, 1100 / 119, "squared error")
    assert "rows 1281 to 1536 make up 90.9% of the squared error" in note
    assert f"the root mean is {np.sqrt(100 / 99):.4g} and not" in note
    alone = {name: values[5:6] for name, values in columns.items()}
    alone["targets"] = np.array([120.0])
    assert outlier_notes(alone | {"loss:stillpoint": loss[5:6]}, 1000 / 120, "squared error") == []


def test_buckets_count_their_targets(tmp_path):
    rng = np.random.default_rng(0)
    y = [f"{v:.2f}" if keep else "" for v, keep in zip(rng.normal(size=300), rng.random(300) < 0.2)]  # noqa: B905
    found = []
    told = History.columns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(History, "columns", lambda self: found.append(told(self)) or found[-1])
        _, summary = run(write(tmp_path / "s.csv", {"y": y}), tmp_path / "o", horizon=2)
    assert found[-1]["targets"].sum() == summary["targets"] == sum(map(bool, y))


def test_errors_over_time_are_of_rows_with_a_target():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(4000) < 0.25, rng.normal(size=4000), np.nan)
    loss = np.where(np.isnan(y), np.nan, 2.0)
    columns = history_from_arrays(y, losses={"stillpoint": loss}, buckets=500).columns()
    found, _ = losses_in_windows(columns)
    assert np.nanmin(found["stillpoint"]) == np.nanmax(found["stillpoint"]) == 2.0
    assert hardest_stretch(columns) is None


def test_packed_files_of_a_folder_are_read(tmp_path):
    rows = [f"{key},{day},{day % 5}\n" for day in range(30) for key in "ab"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("k,t,y\n" + "".join(rows))
    packed = gzip.compress(
        ("k,t,y\n" + "".join(rows)).replace("a,", "c,").replace("b,", "d,").encode()
    )
    (tmp_path / "in" / "b.csv.gz").write_bytes(packed)
    told = {"time": "t", "learner": "kernel", "quiet": True}
    assert fleet(str(tmp_path / "in"), "k", "y", tmp_path / "out", **told) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["rows"], summary["keys"]) == (120, 4)


@pytest.mark.parametrize(
    ("texts", "coming"),
    [
        (
            [
                (datetime(2025, 1, 1) + timedelta(milliseconds=500 * i)).isoformat()
                for i in range(41)
            ],
            ["2025-01-01T00:00:20.500000", "2025-01-01T00:00:21.000000"],
        ),
        ([f"{1735689600 + k / 1000:.3f}" for k in range(40)], ["1735689600.04", "1735689600.041"]),
        (
            [
                f"{d.day}.{d.month}.{d.year}"
                for d in (datetime(2025, 1, 1) + timedelta(days=i) for i in range(58))
            ],
            ["28.2.2025", "1.3.2025"],
        ),
    ],
    ids=["half seconds", "numbers", "German dates"],
)
def test_times_to_come_keep_their_parts(tmp_path, texts, coming):
    y = np.random.default_rng(1).normal(size=len(texts)).round(3).tolist()
    run(write(tmp_path / "s.csv", {"t": texts, "y": y}), tmp_path / "o", time="t", horizon=2)
    assert forecast(tmp_path / "o")["time"] == coming


def test_a_name_that_is_no_text_does_not_cost_the_summary(tmp_path):
    source = os.path.join(os.fsencode(tmp_path), b"donn\xe9es.csv")
    try:
        with open(source, "w") as file:
            file.write("y\n" + "".join(f"{i % 3}\n" for i in range(30)))
    except OSError:
        pytest.skip("the file system takes no such names")
    _, summary = run(os.fsdecode(source), tmp_path / "o", horizon=2)
    assert summary["source"].endswith("donn\ufffdes.csv")
    assert (tmp_path / "o" / "report.html").exists()


def test_keys_left_out_are_told_after_a_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "EVERY", 0.0)
    source = tmp_path / "s.jsonl"
    rows = [json.dumps({"y": i % 4, **({"promo": 1} if i == 3 else {})}) + "\n" for i in range(40)]
    notes = []
    for end in (20, 40):
        source.write_text("".join(rows[:end]))
        _, summary = run(str(source), tmp_path / "o", checkpoint=tmp_path / "c", horizon=2)
        notes.append([note for note in summary["notes"] if "'promo'" in note])
    assert len(notes[0]) == 1
    assert notes[0] == notes[1]
