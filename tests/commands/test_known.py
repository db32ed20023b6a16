"""`stillpoint track` on a series with other columns: what is known ahead, and what is not."""

import copy
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from test_track_series import forecast, goes_on

import stillpoint as sp
from stillpoint.commands import _scores, tracking
from stillpoint.commands.ahead import without
from stillpoint.commands.options import TrackOptions
from stillpoint.commands.plans import why_no_series
from stillpoint.series.unknown import Unknown
from thorough import some_of
from tracked import bad, floats, run, write

N, H = 150, 4


@pytest.fixture(scope="module")
def shop():
    """Days with a price that is known ahead, a temperature that is not, and words."""
    rng = np.random.default_rng(5)
    price, heat = rng.choice([1.0, 1.5, 2.0], N), rng.normal(0.0, 1.0, N).round(3)
    promo = rng.choice(["off", "flyer"], N)
    y = 80 - 20 * price + 5 * heat + 9 * (promo == "flyer") + rng.normal(0, 0.5, N)
    days = [str(date(2024, 1, 1) + timedelta(i)) for i in range(N)]
    return {
        "day": days,
        "price": price.tolist(),
        "heat": heat.tolist(),
        "promo": promo.tolist(),
        "y": y.round(3).tolist(),
    }


@pytest.fixture(scope="module")
def gaps(shop):
    """The same with targets and days left out, and four days ahead of the last target."""
    cells = [
        "" if i >= N - 4 or 60 <= i < 63 or i in (20, 90) else v for i, v in enumerate(shop["y"])
    ]
    keep = [i for i in range(N) if i % 41 != 33]
    return {name: [column[i] for i in keep] for name, column in {**shop, "y": cells}.items()}


def columns(shop, known, count=None):
    """Features as the command has them: numbers, then words as they come, with room for others."""
    words = list(dict.fromkeys(shop["promo"]))
    X = [shop["price"], shop["heat"], *([float(p == w) for p in shop["promo"]] for w in words)]
    X += [[0.0] * N] * (8 - len(words))
    ahead = [name in known for name in ("price", "heat", *["promo"] * len(words))]
    return np.array(X).T, np.array(ahead + [False] * (8 - len(words)))


def test_the_second_step_is_covered_where_columns_tell_the_next_row_alone(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 10.0, 400)
    y = 100.0 + x + rng.normal(0.0, 0.5, 400)
    source = write(tmp_path / "s.csv", {"x": x.tolist(), "y": y.tolist()})
    for known in ("", "x"):
        _, summary = run(source, tmp_path / "o", horizon=7, learner="forecaster", known=known)
        first, second = summary["horizons"][:2]
        assert second["coverage"] > 0.85  # on the line between the first and the third it was 0.42
        assert (second["width"] < 2.0 * first["width"]) == bool(known)
        lo, hi = (summary["forecast"][0][end] for end in ("lo", "hi"))
        assert hi - lo > 20.0  # of the next row nothing has come


@pytest.mark.parametrize("known", [(), ("price", "promo")])
def test_rows_are_forecast_with_what_is_known_of_them(shop, tmp_path, known, monkeypatch):
    monkeypatch.setattr(_scores, "FIRST", 2**40)  # scores that forget nothing
    source = write(tmp_path / "s.csv", shop)
    rows, summary = run(source, tmp_path / "o", time="day", horizon=H, known=",".join(known))
    X, ahead = columns(shop, known)
    model = sp.Forecaster(H, features=X.shape[1])
    model._engine.ahead[:] = ahead
    times = np.array(shop["day"], dtype="datetime64[D]")
    said, lo, hi = model.track(np.array(shop["y"]), X, times, horizon=H, intervals=True)
    np.testing.assert_array_equal(floats(rows["forecast"]), said[:, 0])
    np.testing.assert_array_equal(floats(rows["lo"]), lo[:, 0])
    np.testing.assert_array_equal(floats(rows["hi"]), hi[:, 0])
    y = np.array(shop["y"])
    for h in range(1, H + 1):
        error = np.sqrt(np.mean((said[1 : N - h + 1, h - 1] - y[h:]) ** 2))
        assert summary["horizons"][h - 1]["error"] == pytest.approx(error)
    assert summary["columns"] == [
        "price",
        "heat",
        *(f"promo={p}" for p in dict.fromkeys(shop["promo"])),
    ]
    assert summary["loss"]["stillpoint"] < 0.3 * summary["loss"]["last value"]


def test_what_is_not_known_ahead_is_as_if_it_were_missing(shop):
    """Bulk rounds with columns that end at the next row are single rounds that have NaN there."""
    X, ahead = columns(shop, ["price"])
    X, ahead, y = X[:80, :2], ahead[:2], np.array(shop["y"])[:80]
    bulk, single = (sp.Forecaster(H, features=2) for _ in range(2))
    for model in (bulk, single):
        model._engine.ahead[:] = ahead
    whole = bulk.track(y, X, horizon=H)
    for t in range(80):
        x = X[t : t + H].copy()
        x[1:, 1] = np.nan
        np.testing.assert_array_equal(single.predict(x, horizon=H), whole[t])
        single.update(y[t])
    free = sp.Forecaster(H, features=2).track(y, X, horizon=H)
    np.testing.assert_array_equal(free[:, 0], whole[:, 0])
    come = np.add.outer(np.arange(40, 80), np.arange(1, H)) < 80
    assert ((free[40:, 1:] != whole[40:, 1:]) == come).all()


def changed(table, name, start):
    other = {**table, name: list(table[name])}
    for i in range(start, len(other["y"])):
        other[name][i] = 7.0
    return other


def test_later_values_of_a_column_that_is_not_known_ahead_change_no_earlier_forecast(
    gaps, tmp_path
):
    rows = len(gaps["y"])
    last = rows - 4  # the row after the last target: its own columns are of the next step
    options = {"time": "day", "horizon": H, "known": "price"}
    whole, _ = run(write(tmp_path / "a.csv", gaps), tmp_path / "a", **options)
    for start in (70, last + 1):
        other = write(tmp_path / "b.csv", changed(gaps, "heat", start))
        cut, _ = run(other, tmp_path / "b", **options)
        for name in ("forecast", "lo", "hi"):
            assert cut[name][:start] == whole[name][:start]
        same = forecast(tmp_path / "a") == forecast(tmp_path / "b")
        assert same == (start > last)
    # of the rows without a target only the first is the next one
    assert cut["forecast"] == whole["forecast"]
    other = write(tmp_path / "c.csv", changed(gaps, "price", last + 1))
    moved, _ = run(other, tmp_path / "c", **options)
    assert moved["forecast"][: last + 1] == whole["forecast"][: last + 1]
    assert all(
        a != b
        for a, b in zip(moved["forecast"][last + 1 :], whole["forecast"][last + 1 :], strict=True)
    )


@pytest.mark.parametrize(
    ("known", "timed"), some_of(["price,promo", "", "heat"], [True, False], every=2)
)
def test_features_go_on_wherever_the_run_is_cut(gaps, tmp_path, monkeypatch, known, timed):
    options = {"horizon": H, "known": known}
    if timed:
        options |= {"time": "day"}
    else:
        options |= {"features": "price,heat,promo", "learner": "forecaster"}
    source = write(tmp_path / "s.csv", gaps)
    goes_on(source, tmp_path, monkeypatch, 11, (12, 40, 63, 64, 100, N + 1), **options)


def test_a_plan_can_be_changed_in_the_rows_ahead(shop, tmp_path):
    prices = {}
    for plan in (1.0, 2.0):
        table = {name: list(column) for name, column in shop.items()}
        for i in range(N - H, N):
            table["y"][i], table["price"][i] = "", plan
        source = write(tmp_path / "s.csv", table)
        run(source, tmp_path / "o", time="day", horizon=H, features="price", known="price")
        prices[plan] = floats(forecast(tmp_path / "o")["forecast"])
    assert (prices[1.0] - prices[2.0] > 10.0).all()


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_steps_without_columns_that_are_known_ahead_are_as_if_they_were_not(tmp_path, rows):
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 10.0, N)
    y = [*(100.0 + x + rng.normal(0.0, 0.5, N)).tolist()[: N - rows], *[""] * rows]
    source, found = write(tmp_path / "s.csv", {"x": x.tolist(), "y": y}), {}
    for known in ("", "x"):
        options = {"horizon": H, "season": "none", "learner": "forecaster", "known": known}
        found[known] = run(source, tmp_path / "o", **options)[1]
    for name in ("forecast", "lo", "hi"):
        steps = {known: [row[name] for row in found[known]["forecast"]] for known in found}
        assert steps["x"][rows:] == steps[""][rows:]
        assert rows < 2 or steps["x"][1] != steps[""][1]
    widths = [row["hi"] - row["lo"] for row in found["x"]["forecast"]]
    assert max(widths[:rows], default=0.0) < 5.0
    assert min(widths[rows:]) > 20.0
    total = found["x"]["total"]
    assert total["forecast"] == pytest.approx(sum(r["forecast"] for r in found["x"]["forecast"]))
    assert total["hi"] - total["lo"] == pytest.approx(
        found[""]["total"]["hi"] - found[""]["total"]["lo"]
    )
    parts = found["x"]["components"]
    assert sum(parts.values()) == pytest.approx(found["x"]["forecast"][0]["forecast"])
    assert found["x"]["steps_without_known"] == H - rows
    assert found[""]["steps_without_known"] == 0
    assert any(
        f"{H - rows} of the {H} steps ahead are without 'x'" in n for n in found["x"]["notes"]
    )
    assert not any("steps ahead are without" in note for note in found[""]["notes"])


def test_cells_that_are_empty_in_rows_ahead_have_not_come(shop, tmp_path):
    table = {name: list(column) for name, column in shop.items()}
    for i in range(N - H, N):
        table["y"][i] = ""
        table["price"][i] = 1.5 if i < N - H + 2 else ""
    options = {"time": "day", "horizon": H, "features": "price", "known": "price"}
    _, summary = run(write(tmp_path / "s.csv", table), tmp_path / "o", **options)
    assert summary["steps_without_known"] == 2
    widths = [row["hi"] - row["lo"] for row in summary["forecast"]]
    assert max(widths[:2]) < min(widths[2:])


def test_a_run_without_rows_ahead_goes_on_wherever_it_is_cut(shop, tmp_path, monkeypatch):
    options = {"time": "day", "horizon": H, "known": "price", "task": "quantile"}
    source = write(tmp_path / "s.csv", shop)
    goes_on(source, tmp_path, monkeypatch, 11, (40, 100, N + 1), **options)


def test_what_is_ahead_may_be_asked_for_again():
    rng = np.random.default_rng(1)
    model, kept = sp.Forecaster(H, features=1), Unknown()
    model.track(rng.normal(size=60), rng.normal(size=(60, 1)))
    first = without(model, kept)
    said = first.predict(horizon=H)
    again = without(model, kept)
    assert again is not first
    assert np.array_equal(again.predict(horizon=H), said)
    model.update(9.0)
    assert not np.array_equal(without(model, kept).predict(horizon=H), said)


def test_known_columns_without_any_target_are_told(tmp_path):
    table = {"x": [1.0, 2.0, 3.0], "y": ["", "", ""]}
    options = {"horizon": H, "learner": "forecaster", "known": "x"}
    _, summary = run(write(tmp_path / "s.csv", table), tmp_path / "o", **options)
    assert summary["steps_without_known"] == 1


def test_times_that_repeat_are_no_series(shop, tmp_path, capsys, monkeypatch):
    twice = {**shop, "day": [day for day in shop["day"][: N // 2] for _ in range(2)]}
    source = write(tmp_path / "s.csv", twice)
    assert "horizon" not in run(source, tmp_path / "o", time="day")[1]
    capsys.readouterr()
    later = {**shop, "day": shop["day"][:-1] + shop["day"][-2:-1]}
    monkeypatch.setattr(tracking, "BATCH", 50)
    text = Path(write(tmp_path / "l.csv", later)).read_text()
    error = bad(tmp_path, capsys, text, "row 150", "'2024-05-28'", time="day", horizon=H)
    assert "one row a time; add --learner regression, or" in error
    assert "stillpoint fleet --key" in error
    bad(tmp_path, capsys, Path(source).read_text(), "rows share a time", time="day", horizon=3)


def test_a_row_written_twice_has_a_note_and_is_named(shop, tmp_path, capsys, monkeypatch):
    """It makes a regression of a series, of which people would not know."""
    twice = {name: [*cells[:60], *cells[59:]] for name, cells in shop.items()}
    source = write(tmp_path / "s.csv", twice)
    whole = run(source, tmp_path / "o", time="day")[1]
    (note,) = (note for note in whole["notes"] if "drop duplicates" in note)
    day = shop["day"][59]
    assert note.startswith(f"1 of the first {N + 1} rows has the time of the one before, '{day}'")
    assert "forecast" not in whole
    capsys.readouterr()
    error = bad(tmp_path, capsys, Path(source).read_text(), f"'{day}'", time="day", horizon=3)
    assert "drop duplicates" in error
    # the note is that of the first rows, wherever the run is cut
    monkeypatch.setattr(tracking, "BATCH", 100)
    options = {"time": "day", "checkpoint": tmp_path / "c"}
    first = run(source, tmp_path / "p", **options)[1]
    again = run(source, tmp_path / "p", **options)[1]
    assert first["notes"] == again["notes"]
    assert any("1 of the first 100 rows" in note for note in again["notes"])


def test_several_series_in_one_table_have_a_note(shop, tmp_path):
    days = [day for day in shop["day"][:40] for _ in range(3)]
    table = {"day": days, "shop": ["a", "b", "c"] * 40, "y": shop["y"][:120]}
    notes = run(write(tmp_path / "s.csv", table), tmp_path / "o", time="day", target="y")[1][
        "notes"
    ]
    (note,) = (note for note in notes if "stillpoint fleet --key COLUMN" in note)
    assert note.startswith(f"80 of the first 120 rows have the time of the one before, '{days[0]}'")
    # events that now and then share a time are none
    table["day"] = sorted(np.random.default_rng(0).choice(shop["day"][:60], 120).tolist())
    notes = run(write(tmp_path / "e.csv", table), tmp_path / "o", time="day", target="y")[1][
        "notes"
    ]
    assert not any("stillpoint fleet" in note for note in notes)


@pytest.mark.parametrize("shops", [2, 5, 60])
def test_several_series_with_rows_left_out_have_a_note(tmp_path, shops):
    """Of sixty the names alone make more columns than a series has."""
    rng, rows = np.random.default_rng(1), 40 * shops
    kept = np.sort(rng.choice(rows, round(0.95 * rows), replace=False))
    days = np.datetime64("2025-01-01") + kept // shops
    table = {"day": days.tolist(), "shop": [f"s{i % shops}" for i in kept.tolist()]}
    table["y"] = rng.normal(size=kept.size).round(3).tolist()
    notes = run(write(tmp_path / "s.csv", table), tmp_path / "o", time="day", target="y")[1][
        "notes"
    ]
    assert sum("if these are several series, each is forecast by" in note for note in notes) == 1


@pytest.mark.parametrize(("twice", "noted"), [(5, True), (9, False)])
def test_rows_that_share_a_time_more_often_than_by_mistake_have_no_note(shop, twice, noted):
    times = np.sort(np.append(np.arange(100.0 - twice), np.arange(0.0, 7.0 * twice, 7.0)))
    options = TrackOptions("s.csv", "y", Path("o"), time="day")
    assert (why_no_series(options, 1, times, None)[1] is not None) == noted


def test_rows_ahead_whose_columns_are_not_said_to_be_known_have_a_note(shop, tmp_path):
    source = write(tmp_path / "s.csv", {**shop, "y": [*shop["y"][:-5], *[""] * 5]})
    (note,) = (
        note
        for note in run(source, tmp_path / "o", time="day", horizon=H)[1]["notes"]
        if "--known" in note
    )
    assert note.startswith("the last 5 rows have no target")
    told = run(source, tmp_path / "o", time="day", horizon=H, known="price,promo")[1]
    assert not [note for note in told["notes"] if "have no target" in note]


def test_a_forgotten_time_is_told_however_many_dates_there_are(shop, tmp_path, capsys):
    text = Path(write(tmp_path / "s.csv", shop)).read_text()
    bad(tmp_path, capsys, text, "name --time", horizon=H)


def test_uneven_times_with_other_columns_are_a_regression(tmp_path):
    rng = np.random.default_rng(0)
    table = {"t": np.cumsum(rng.exponential(1.0, 60)).tolist()}
    table |= {"a": rng.normal(size=60).tolist(), "y": rng.normal(size=60).tolist()}
    source = write(tmp_path / "s.csv", table)
    assert "full-history RLS" in run(source, tmp_path / "o", time="t")[1]["loss"]
    assert "horizons" in run(source, tmp_path / "o", time="t", learner="forecaster")[1]
    assert "horizons" in run(source, tmp_path / "o", time="t", features="")[1]


def test_mistakes_about_what_is_known_are_told(tmp_path, capsys):
    text = "day,a,y\n2024-01-01,1,2\n2024-01-02,1,3\n"
    bad(tmp_path, capsys, text, "--known must be a feature: got 'b'", time="day", known="b")
    bad(tmp_path, capsys, text, "--known must be for a series", known="a", features="a")
    bad(tmp_path, capsys, text, "--delay 1", known="a", delay=1)


def test_more_words_than_a_series_tells_apart_are_told(shop, tmp_path, monkeypatch):
    monkeypatch.setattr(tracking, "BATCH", 20)
    words = ["u", "v"] * 15 + [f"w{i % 11}" for i in range(N - 30)]
    _, summary = run(
        write(tmp_path / "s.csv", {**shop, "promo": words}), tmp_path / "o", time="day"
    )
    assert any("only 8 categories are told apart" in note for note in summary["notes"])


def test_marks_of_what_is_known_travel_with_copies(shop):
    model = sp.Forecaster(H, features=2)
    model._engine.ahead[:] = [True, False]
    assert copy.copy(model)._engine.ahead.tolist() == [True, False]


def test_one_row_that_is_most_of_the_error_has_a_note(tmp_path):
    rng = np.random.default_rng(0)
    y = 200 + 10 * np.cos(2 * np.pi * np.arange(300) / 7) + rng.normal(0, 8, 300)
    whole = run(write(tmp_path / "a.csv", {"y": y.tolist()}), tmp_path / "o")[1]
    assert not [note for note in whole["notes"] if "squared error" in note]
    y[200] = 1e5
    predictions, spoilt = run(write(tmp_path / "b.csv", {"y": y.tolist()}), tmp_path / "p")
    (note,) = (note for note in spoilt["notes"] if "squared error" in note)
    assert note.startswith("row 201 makes up 100.0% of the squared error (rows count from 1)")
    assert f"and not {spoilt['loss']['stillpoint'] ** 0.5:.4g};" in note
    said = [float(x) for x in predictions["forecast"]]
    rest = [(f - v) ** 2 for f, v in zip(said, y, strict=True)][1:]
    del rest[199]
    assert f"the root mean is {np.mean(rest) ** 0.5:.4g}" in note


def test_few_rows_that_are_most_of_the_error_together_have_one_note(tmp_path):
    rng = np.random.default_rng(0)
    y = 200 + 10 * np.cos(2 * np.pi * np.arange(400) / 7) + rng.normal(0, 8, 400)
    y[[150, 250, 350]] *= 10.0  # three typos, none of which is most of it
    predictions, spoilt = run(write(tmp_path / "b.csv", {"y": y.tolist()}), tmp_path / "o")
    (note,) = (note for note in spoilt["notes"] if "squared error" in note)
    assert note.startswith("rows 151, 251 and 351 make up 9")
    assert note.endswith("; look at them, or leave their targets empty")
    said = [float(x) for x in predictions["forecast"]]
    rest = np.delete([(f - v) ** 2 for f, v in zip(said, y, strict=True)], [0, 150, 250, 350])
    assert f"without, the root mean is {rest.mean() ** 0.5:.4g}" in note
