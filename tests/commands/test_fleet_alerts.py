"""`stillpoint fleet --alerts`: rows that do not fit, with one bound over all keys and parts."""

import json
import math

import numpy as np
import pytest
from test_forecast_fleet import contents, run, series, summary, table, write
from test_forecast_resume import cut

import stillpoint as sp
from stillpoint.alerts.anomaly import bound
from stillpoint.commands.forecasts import alerts, job, player

FIELDS = ["alert", "key", "row", "time", "value", "expected", "lo", "hi"]
FIELDS += ["p", "p_forecast", "p_level", "sign"]


def spiked(keys=6, n=290, seed=2, every=3):
    """Series with gaps, in which every third key has faults."""
    found = series(keys, n, seed)
    for k, (days, y) in enumerate(found.values()):
        if k % every == 0:
            y[np.searchsorted(days, [130, 240 + k])] += 60.0
    return found


def lines(out):
    text = (out / "alerts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def expected(found, rate):
    """What a plain loop over days and keys, with the same detectors, tells."""
    may, values = [], {}
    for key, (days, y) in found.items():
        full = np.full(int(days[-1] - days[0]) + 1, np.nan)
        full[days - days[0]] = y
        told = sp.Forecaster(3, season=[7], pool="small").track(full)
        told[0] = np.nan  # from nothing
        detector = sp.Anomalies(0.5, memory="small")  # whose own bound does not bind
        p, _ = detector.track(full, told)
        last = -1000
        for row in np.flatnonzero(p <= rate).tolist():
            if row - last > min(100, int(0.1 / rate)):
                may.append((int(days[0]) + row, key, row, full[row], told[row], p[row]))
            last = row
        for day in days.tolist():
            values[day] = values.get(day, 0) + 1
    out = []
    for one in sorted(may):
        T = sum(count for day, count in values.items() if day <= one[0])
        if len(out) <= rate * T + 3.0 * math.sqrt(rate * (1.0 - rate) * (T + 100)):
            out.append(one)
    return out, len(may), sum(values.values())


@pytest.mark.parametrize("rate", [0.002, 0.05])
def test_alerts_are_those_of_a_plain_loop_over_days_and_keys(tmp_path, capsys, rate):
    found = spiked(9, every=1 if rate == 0.002 else 3)
    source, out = write(tmp_path / "a.csv", table(found)), tmp_path / "out"
    assert run(source, out, alerts=rate, quiet=False) == 0
    want, may, values = expected(found, rate)
    told = lines(out)
    assert [list(one) for one in told] == [FIELDS] * len(told)
    assert [(one["key"], one["row"] - 1, one["value"]) for one in told] == [
        (key, row, value) for _, key, row, value, _, _ in want
    ]
    np.testing.assert_allclose([one["expected"] for one in told], [one[4] for one in want])
    np.testing.assert_allclose([one["p"] for one in told], [one[5] for one in want])
    assert [one["time"] for one in told] == sorted(one["time"] for one in told)
    if rate == 0.002:
        assert len(want) < may  # the bound binds
    figures = summary(out)["alerts"]
    assert figures == {"rate": rate, "anomalies": len(told), "bound": bound(rate, values)}
    assert len(told) <= figures["bound"]
    assert "alerts.jsonl" in summary(out)["files"]
    said = f"{len(told)} unusual rows of all keys, at most {math.floor(figures['bound'])} on any"
    assert said in " ".join(capsys.readouterr().out.split())


def test_parts_threads_and_the_order_of_rows_change_no_alert(tmp_path, monkeypatch):
    found = spiked(8)
    source = write(tmp_path / "a.csv", table(found))
    assert run(source, tmp_path / "one", alerts=0.01) == 0
    assert summary(tmp_path / "one")["parts"] == 1
    want = (tmp_path / "one" / "alerts.jsonl").read_bytes()
    assert want.count(b"\n") > 2
    monkeypatch.setattr(job, "ROWS", 300)
    other = write(tmp_path / "b.csv", table(found, seed=5))
    for threads in (1, 3):
        assert run(other, tmp_path / "out", alerts=0.01, threads=threads) == 0
        assert summary(tmp_path / "out")["parts"] > 2
        assert (tmp_path / "out" / "alerts.jsonl").read_bytes() == want


def test_later_rows_go_on_with_alerts_and_their_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(job, "ROWS", 300)
    rows = table(spiked(8, every=1))
    before, after = cut(rows, "2024-07-01")
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    write(folder / "1.csv", before)
    told = {"checkpoint": tmp_path / "state", "alerts": 0.004}
    assert run(folder, out, **told) == 0
    first = (out / "alerts.jsonl").read_bytes()
    write(folder / "2.csv", after)
    assert run(folder, out, **told) == 0
    assert run(write(tmp_path / "all.csv", rows), tmp_path / "whole", alerts=0.004) == 0
    whole = (tmp_path / "whole" / "alerts.jsonl").read_bytes()
    assert whole.startswith(first)
    assert 0 < len(first) < len(whole)
    assert (out / "alerts.jsonl").read_bytes() == whole
    assert summary(out)["alerts"] == summary(tmp_path / "whole")["alerts"]
    (out / "alerts.jsonl").write_bytes(whole + b"mine\n")  # what nobody saved is cut off
    write(folder / "3.csv", [("sku1", "2026-01-01", "5.0")])
    assert run(folder, out, **told) == 0
    assert (out / "alerts.jsonl").read_bytes().startswith(whole)
    assert b"mine" not in (out / "alerts.jsonl").read_bytes()


def test_a_file_of_alerts_that_is_cut_and_another_rate_are_refused(tmp_path, capsys):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    write(folder / "1.csv", table(spiked()))
    told = {"checkpoint": tmp_path / "state", "alerts": 0.01}
    assert run(folder, out, **told) == 0
    assert run(folder, out, checkpoint=tmp_path / "state", alerts=0.02) == 2
    assert "--alerts must be that of the checkpoint: got 0.02" in capsys.readouterr().err
    assert run(folder, out, checkpoint=tmp_path / "state") == 2
    assert "--alerts must be that of the checkpoint" in capsys.readouterr().err
    kept = (out / "alerts.jsonl").read_bytes()
    write(folder / "2.csv", [("sku1", "2026-01-01", "5.0")])
    (out / "alerts.jsonl").write_bytes(b"{}\n" + kept)  # of another run
    assert run(folder, out, **told) == 2
    assert "alerts.jsonl must be as the checkpoint left it" in capsys.readouterr().err
    (out / "alerts.jsonl").write_bytes(b"")
    assert run(folder, out, **told) == 2
    assert "alerts.jsonl must be as the checkpoint left it" in capsys.readouterr().err


class Broken(BaseException):
    """The end of a run."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [(player, "replace", 2), (alerts, "replace", 1), (job, "write_summary", 1)],
)
def test_broken_off_anywhere_and_run_again_alerts_are_the_same_bytes(
    tmp_path, monkeypatch, owner, name, call, after
):
    monkeypatch.setattr(job, "ROWS", 300)
    source, out = write(tmp_path / "a.csv", table(spiked())), tmp_path / "out"
    assert run(source, tmp_path / "whole", alerts=0.01) == 0
    again, left = {"alerts": 0.01, "checkpoint": tmp_path / "state"}, [call]
    plain = getattr(owner, name)

    def breaking(*given):
        left[0] -= 1
        result = plain(*given) if left[0] or after else None
        if not left[0]:
            raise Broken
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, breaking)
        with pytest.raises(Broken):
            run(source, out, **again)
    assert run(source, out, **again) == 0
    whole = tmp_path / "whole"
    assert (out / "alerts.jsonl").read_bytes() == (whole / "alerts.jsonl").read_bytes()
    assert contents(out / "forecasts") == contents(whole / "forecasts")
    assert summary(out)["alerts"] == summary(whole)["alerts"]


def test_without_it_there_are_no_alerts_and_those_of_another_run_go(tmp_path):
    source, out = write(tmp_path / "a.csv", table(spiked())), tmp_path / "out"
    assert run(source, out, alerts=0.01) == 0
    assert lines(out)
    assert run(source, out) == 0
    assert not (out / "alerts.jsonl").exists()
    assert "alerts" not in summary(out)


def test_keys_that_are_whole_numbers_stay_so_and_rows_without_times_count(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(3, 300))
    y[1, 250] = 40.0
    source, out = tmp_path / "a.jsonl", tmp_path / "out"
    source.write_text(
        "".join(
            json.dumps({"sku": k, "sold": y[k, t]}) + "\n" for t in range(300) for k in range(3)
        )
    )
    assert run(source, out, alerts=0.001, time=None, season="none") == 0
    assert [(one["key"], one["row"], one["time"]) for one in lines(out)] == [(1, 251, "251")]


def test_what_cannot_be_asked_for_is_one_line(tmp_path, capsys):
    source, out = write(tmp_path / "a.csv", table(series(1, 30))), tmp_path / "out"
    for told, message in (
        ({"alerts": 0.0}, "--alerts must be a number between 0.000001 and 0.5: got 0.0"),
        ({"alerts": "often"}, "--alerts must be a number"),
        ({"alerts": 0.01, "engine": "spark"}, "--alerts must be left out for forecasts on Spark"),
        (
            {"alerts": 0.01, "learner": "tracker", "horizon": None, "season": None},
            "--alerts must fit the learner: got 0.01 for tracker; only forecaster takes it",
        ),
    ):
        assert run(source, out, **told) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert message in error


def test_an_input_named_as_the_alerts_is_refused(tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    source = out / "alerts.jsonl"
    source.write_text('{"sku": 1, "day": "2024-01-01", "sold": 1}\n')
    assert run(source, out, alerts=0.01) == 2
    assert "input" in capsys.readouterr().err
    assert source.exists()


def test_of_very_many_times_values_are_counted_a_little_too_low_and_never_too_high():
    times = np.sort(np.random.default_rng(1).random(100_000))
    ends, counts = alerts._counted(times)
    assert ends.size <= 4096
    assert counts.sum() == times.size
    when = np.random.default_rng(2).choice(times, 500)
    exact = np.searchsorted(times, when, side="right")
    low = alerts._up_to(when, ends, counts)
    assert (low <= exact).all()
    assert (exact - low).max() <= times.size / 4000
    few = alerts._counted(np.repeat(times[:50], 3))
    assert few[0].tolist() == times[:50].tolist()


def test_a_checkpoint_with_counts_that_no_run_has_is_refused():
    for state in (None, [1, 2], [1, 2, -1], [1, 2, 0.5], [1, 2, 3, 4], "abc"):
        with pytest.raises(ValueError, match="counts of alerts"):
            alerts.restored(state)
    assert alerts.restored([5, 1, 200]) == (5, 1, 200, None)  # of a checkpoint of old
