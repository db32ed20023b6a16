"""Pages of runs with alerts: counts beside their bound, the last in words, all along the charts."""

import numpy as np
import pytest
from series_run import START, series_of
from test_report_page import Reader, run_of, written
from test_series_page import section

from stillpoint.report.axis import Axis
from stillpoint.report.changes import changes, verb

TEXTS = np.array(START + 3600.0 * np.arange(600), dtype="datetime64[s]").astype(str)


def unusual(row, value=180.0, expected=150.0, **more):
    p = {"p": 0.0004, "p_forecast": 0.001, "p_level": 0.4, "sign": 1}
    given = {"alert": "anomaly", "row": row, "time": TEXTS[row - 1], "value": value}
    return {**given, "expected": expected, "lo": 140.0, "hi": 160.0, **p, **more}


def changed(row, start, kind="level up", before=150.0, after=200.0):
    times = {"time": TEXTS[row - 1], "start": start, "start_time": TEXTS[start - 1]}
    sizes = {"kind": kind, "before": before, "after": after, "evidence": 12_000.0}
    return {"alert": "change", "row": row, **times, **sizes}


def alerts_of(last, strip=None, **more):
    kinds = [each["alert"] for each in last]
    places = [
        [each["row"], *(int(each["alert"] == k) for k in ("anomaly", "change"))] for each in last
    ]
    told = {"rate": 0.001, "anomalies": kinds.count("anomaly"), "bound": 4.9, "exceedances": 7}
    told |= {"every": 10_000.0, "changes": kinds.count("change"), "p": 0.5, "evidence": 3.0}
    return {**told, "last": last, "strip": places if strip is None else strip, **more}


def page_of(tmp_path, alerts, **options):
    history, summary = series_of(**options)
    return Reader(written(tmp_path, history, summary | {"alerts": alerts}))


def test_alerts_are_told_with_their_time_their_size_and_their_bound(tmp_path):
    below = unusual(580, 99.0, 120.0, sign=-1, p_level=1e-5, p=2e-5)
    last = [unusual(201), below, changed(410, 401)]
    told = section(page_of(tmp_path, alerts_of(last)), "Alerts", "What changed")
    assert "2 rows did not fit; whatever the data had been, at most 4 could have been told." in told
    assert "about 1 row in 1\u202f000 is as unusual; 7 were here" in told
    first = "180.0 instead of 150.0 on 9 Mar 2024 08:00 above its forecast as unusual as 1 row in"
    assert f"{first} 2\u202f500 row 201" in told
    second = "99.0 instead of 120.0 on 25 Mar 2024 03:00 the rows before it had left their long-run"
    assert f"{second} level as unusual as 1 row in 50\u202f000 row 580" in told
    assert told.index("99.0") < told.index("180.0")  # the latest first
    assert (
        "1 change was found; where nothing changes, a false one comes once in 10\u202f000" in told
    )
    assert "Level rose from 150 to 200 on 17 Mar 2024 16:00 (+50.0, +33%) noticed 9 hours" in told


def test_a_run_without_alarms_says_so(tmp_path):
    page = page_of(tmp_path, alerts_of([]))
    told = section(page, "Alerts", "What changed")
    assert "No row stood out; whatever the data had been, at most 4 could have been told" in told
    assert "No change was found" in told
    assert page.run["alarms"] == []
    assert "Below: alerts" not in page.text


def test_a_run_that_was_not_asked_for_alerts_has_no_word_of_them(tmp_path):
    history, summary = series_of()
    page = Reader(written(tmp_path, history, summary))
    assert "Alerts" not in page.text
    assert page.run["alarms"] == page.drawing["axes"]["recent"]["alarms"] == []


def test_of_many_alarms_twelve_of_a_kind_are_in_words(tmp_path):
    last = [unusual(10 + 3 * i, 200.0 + i) for i in range(100)]
    last += [changed(400 + i, 390 + i) for i in range(20)]
    alerts = alerts_of(last) | {"anomalies": 1234}
    page = page_of(tmp_path, alerts)
    told = section(page, "Alerts", "What changed")
    assert told.count("instead of") == 12
    assert told.count("Level rose") == 12
    assert "299 instead of" in told
    assert "287 instead of" not in told
    assert "and 1\u202f222 more in alerts.jsonl" in told
    assert "and 8 more in alerts.jsonl" in told
    other = page_of(tmp_path, alerts | {"kept": "the result’s alerts"})
    assert "and 8 more in the result’s alerts" in other.text


def test_the_strip_has_them_where_they_were(tmp_path):
    last = [unusual(201), unusual(590), changed(592, 589)]
    page = page_of(tmp_path, alerts_of(last))
    axes = page.drawing["axes"]
    found = [(mark["at"], mark["kind"], mark["text"]) for mark in axes["run"]["alarms"]]
    assert [each[:2] for each in found] == [(100, "anomaly"), (295, "anomaly"), (296, "change")]
    assert found[0][2] == "180.0 instead of 150.0"  # buckets of two rows
    assert found[2][2].startswith("Level rose from 150 to 200 on 25 Mar 2024 12:00")
    rows = np.array(axes["recent"]["row"])
    assert [rows[mark["at"]] for mark in axes["recent"]["alarms"]] == [590, 592]
    charts = {chart["id"]: chart.get("strip", False) for chart in page.drawing["charts"]}
    assert [name for name, strip in charts.items() if strip] == ["ahead", "target"]
    assert "Below: alerts, where they were told" in page.text


def test_alarms_that_share_a_place_are_counted(tmp_path):
    strip = [[100, 1, 0], [101, 2, 0], [301, 0, 5], [401, 1, 0], [590, 1, 0]]
    page = page_of(tmp_path, alerts_of([unusual(590)], strip))
    found = [(mark["at"], mark["text"]) for mark in page.run["alarms"]]
    assert found == [
        (50, "3 unusual rows"),
        (150, "5 changes"),
        (200, "1 unusual row"),
        (295, "180.0 instead of 150.0"),
    ]


def test_a_regression_has_a_strip_below_its_first_chart(tmp_path):
    history, summary = run_of(1000)
    alerts = alerts_of([unusual(500, time=None), changed(590, 580)])
    page = Reader(written(tmp_path, history, summary | {"alerts": alerts}))
    first = page.drawing["charts"][0]
    assert (first["id"], first["strip"]) == ("target", True)
    assert "180.0 instead of 150.0 in row 500 above its forecast" in page.text
    assert "Level rose from 150 to 200 in row 580 (+50.0, +33%)" in page.text


@pytest.mark.parametrize(
    "alerts",
    [{}, {"last": 3, "strip": "x"}, {"last": [{"alert": "anomaly"}, {}], "strip": [[], [1]]}],
)
def test_whatever_the_summary_has_the_page_is_whole(tmp_path, alerts):
    assert "No row stood out" in page_of(tmp_path, alerts).text


def test_kinds_of_changes_that_are_not_known_are_told_by_their_names(tmp_path):
    row = np.arange(1.0, 101.0)
    axis = Axis("row", row, row, np.ones(100))
    given = {"row": 50, "start": 40, "before": 1.0, "after": 3.0}
    kinds = {
        "slope up": ("Slope rose from 1.00 to 3.00 in row 40", "+2.00"),
        "slope down": ("Slope fell in row 40", ""),
        "season": ("Season changed from 1.00 to 3.00 in row 40", ""),
        "mood": ("Mood from 1.00 to 3.00 in row 40", ""),
    }
    for kind, expected in kinds.items():
        [one] = changes([{**given, "kind": kind}], axis, None)
        assert (one["words"], one["size"]) == expected
    assert verb("mood") == ("mood", None)
    large = {**given, "kind": "level up", "before": 12_300.0, "after": 11_900.0}
    [one] = changes([large], axis, None)
    assert (one["words"], one["size"]) == ("Level rose in row 40", "")
    [one] = changes([{**given, "kind": "season", "before": None}], axis, None)
    assert one["words"] == "Season changed in row 40"
