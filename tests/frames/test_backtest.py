"""`sp.backtest`: every origin and horizon, against loops over the forecaster's own rounds."""

import numpy as np
import pytest

import stillpoint as sp
from stillpoint.commands import _scores

N, H, SEASON = 90, 4, 7


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(4)
    y = 40 + 5 * np.cos(2 * np.pi * np.arange(N) / SEASON) + 0.1 * np.arange(N)
    y += rng.normal(0, 1, N)
    y[[0, 33, 34, 60]] = np.nan
    return y


def by_hand(y, start, every=1):
    """Scores by loops: {(step, method): (rows, rmse, mae, coverage, width)}."""
    model = sp.Forecaster(H, season=[SEASON])
    said, lo, hi = model.track(y, horizon=H, intervals=True)
    pairs = {}
    for origin in range(start, N, every):
        known = [t for t in range(origin) if not np.isnan(y[t])]
        if not known:
            continue
        first, last = known[0], known[-1]
        for h in range(1, H + 1):
            t = origin + h - 1
            if t >= N or np.isnan(y[t]):
                continue
            ago = t - SEASON * -(-h // SEASON)
            told = {
                "stillpoint": said[origin, h - 1],
                "last value": y[last],
                "seasonal naive": y[ago] if ago >= 0 and not np.isnan(y[ago]) else y[last],
                "running mean": np.mean(y[known]),
                "drift": y[last] + (y[last] - y[first]) / max(last - first, 1) * (t - last),
            }
            band = lo[origin, h - 1], hi[origin, h - 1]
            for method, forecast in told.items():
                pairs.setdefault((h, method), []).append((forecast, y[t], *band))
    found = {}
    for key, rows in pairs.items():
        forecasts, came, low, high = np.array(rows).T
        away, width = forecasts - came, high - low
        own = key[1] == "stillpoint"
        covered = np.mean((low <= came) & (came <= high)) if own else np.nan
        wide = np.mean(width[np.isfinite(width)]) if own else np.nan
        found[key] = len(rows), np.sqrt(np.mean(away**2)), np.mean(abs(away)), covered, wide
    return found


@pytest.mark.parametrize(("start", "every"), [(0, 1), (30, 1), (11, 6)])
def test_all_pairs_of_origin_and_target_are_scored(series, start, every):
    table = sp.backtest(series, horizon=H, season=SEASON, start=start, every=every).table
    expected = by_hand(series, start, every)
    keys = list(zip(table["step"].tolist(), table["method"].tolist(), strict=True))
    assert set(keys) == set(expected)
    names = ("rows", "rmse", "mae", "coverage", "width")
    found = np.array([[table[name][i] for name in names] for i in range(len(keys))])
    np.testing.assert_allclose(found, [expected[key] for key in keys], rtol=1e-9)


def test_mase_is_in_units_of_the_seasonal_change(series):
    table = sp.backtest(series, horizon=H, season=SEASON).table
    change = abs(series[SEASON:] - series[:-SEASON])
    np.testing.assert_allclose(table["mase"], table["mae"] / np.nanmean(change))


def test_the_first_origin_is_after_two_seasons_or_twenty_rows(series):
    rows = [
        sp.backtest(series[~np.isnan(series)], horizon=1, season=season).table["rows"][0]
        for season in (None, 7, 14)
    ]
    known = N - 4
    assert rows == [known - 20, known - 20, known - 28]


def test_scores_are_those_that_track_has_of_the_horizons(series, monkeypatch):
    monkeypatch.setattr(_scores, "FIRST", 2**40)  # track forgets the first rows
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-01-01") + N)
    kept = np.arange(N) % 11 != 5
    columns = {"day": days[kept], "y": series[kept]}
    table = sp.backtest(columns, "y", H, time="day", start=0).table
    steps = sp.track(columns, "y", time="day", horizon=H).summary["horizons"]
    for column, name, method in (
        ("rmse", "error", "stillpoint"),
        ("rmse", "last value", "last value"),
        ("rmse", "seasonal naive", "seasonal naive"),
        ("coverage", "coverage", "stillpoint"),
        ("width", "width", "stillpoint"),
        ("rows", "rows", "stillpoint"),
    ):
        own = table[column][table["method"] == method]
        np.testing.assert_allclose(own, [step[name] for step in steps], rtol=1e-9)


def test_what_is_known_ahead_counts_and_all_rows_are_scored():
    rng = np.random.default_rng(1)
    price = rng.choice([1.0, 2.0], 150)
    columns = {"price": price, "y": 50 - 20 * price + rng.normal(0, 1, 150)}
    known = sp.backtest(columns, "y", 3, known=["price"], season=None, start=50)
    without = sp.backtest(columns, "y", 3, season=None, start=50, features=())
    ours = known.table["method"] == "stillpoint"
    assert known.table["rows"][ours].tolist() == [100, 99, 98]
    assert (known.table["rmse"][ours] < 0.3 * without.table["rmse"][ours]).all()


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_batches_come_to_the_same(series, monkeypatch, batch):
    from stillpoint.commands import tracking

    expected = sp.backtest(series, horizon=H, season=SEASON).table
    monkeypatch.setattr(tracking, "BATCH", batch)
    table = sp.backtest(series, horizon=H, season=SEASON).table
    for name in ("rows", "rmse", "mae", "mase", "coverage", "width"):
        np.testing.assert_allclose(table[name], expected[name], rtol=1e-12)


def test_models_of_ones_own_are_scored_on_the_same_pairs(series):
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-01-01") + N)
    kept = np.arange(N) % 13 != 5
    seen = []

    def last(past, horizon):
        seen.append(past.size)
        value = past[~np.isnan(past)][-1]
        past[:] = 0.0  # it is a copy
        return np.full(horizon, value)

    def season_ago(past, horizon):
        return [past[h - SEASON] if h - SEASON >= -past.size else 0.0 for h in range(horizon)]

    data = {"day": days[kept], "y": np.nan_to_num(series, nan=40.0)[kept]}
    test = sp.backtest(data, "y", H, time="day", season=SEASON, models={"mine": last}, every=3)
    table = test.table
    for name in ("rows", "rmse", "mae", "mase"):
        mine, theirs = (table[name][table["method"] == m] for m in ("mine", "last value"))
        np.testing.assert_allclose(mine, theirs)
    # days without a row count among the values before
    assert seen[0] > 20
    assert (np.diff(seen) >= 3).all()
    whole = np.nan_to_num(series, nan=40.0)
    table = sp.backtest(whole, horizon=H, season=SEASON, models={"ago": season_ago}).table
    ago, naive = (table["rmse"][table["method"] == m] for m in ("ago", "seasonal naive"))
    np.testing.assert_allclose(ago, naive)


def test_models_that_cannot_be_used_are_refused(series):
    for models, said in (
        ([1], "models must be a dict"),
        ({"mine": 3}, "got 3 as 'mine'"),
        ({"drift": lambda past, h: past}, "as 'drift'"),
        ({"mine": lambda past, h: past[:1]}, "models must return 4 numbers"),
        ({"mine": lambda past, h: [np.nan] * h}, "from 'mine'"),
        ({"mine": lambda past, h: "abcd"}, "got 'abcd' from 'mine'"),
    ):
        with pytest.raises(ValueError, match=r".") as error:
            sp.backtest(series, horizon=4, models=models)
        assert said in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="every must be a number of rows: got 0"):
        sp.backtest(series, horizon=4, every=0)


def test_long_horizons_are_scored_at_some_steps():
    table = sp.backtest(np.cos(np.arange(120.0)), horizon=60, season=None, start=0).table
    steps = np.unique(table["step"])
    assert steps[0] == 1
    assert steps[-1] == 60
    assert len(steps) <= 25


def test_a_season_that_is_found_is_the_naive_one(series):
    found = sp.backtest(series, horizon=H)
    assert "seasonal naive" in found.table["method"]
    assert found.summary["seasons"] == [7.0]
    none = sp.backtest(series, horizon=H, season=None)
    assert "seasonal naive" not in none.table["method"]


def test_series_too_short_for_an_origin_have_no_scores():
    test = sp.backtest([1.0, 2.0, 3.0], horizon=2)
    assert test.table["rows"].tolist() == [0] * len(test.table["rows"])
    assert np.isnan(test.table["rmse"]).all()
    assert "0 rows" in repr(test)
    assert "nan" not in repr(test)
    assert "start=0" in repr(test)
    assert "<table" in test._repr_html_()
    assert test.plot().get_legend() is None


def test_targets_that_are_all_missing_have_no_scores():
    test = sp.backtest(np.full(50, np.nan), horizon=2, models={"zero": lambda y, h: np.zeros(h)})
    assert "zero" in test.table["method"]
    assert not test.table["rows"].any()


def test_steps_that_no_row_reaches_are_left_out_of_the_line():
    test = sp.backtest(np.cos(np.arange(25.0)), horizon=8, season=None)
    assert np.isnan(test.table["rmse"][-1])
    assert "nan" not in repr(test)


def test_it_is_shown_in_one_line_and_as_a_table(series):
    test = sp.backtest(series, horizon=H, season=SEASON)
    said = repr(test)
    assert said.startswith("<Backtest of y: 1 to 4 steps ahead from 67 rows; RMSE ")
    for name in ("last value", "seasonal naive", "running mean", "drift"):
        assert f", {name} " in said
        assert name in test._repr_html_()


@pytest.mark.parametrize("measure", ["rmse", "coverage"])
def test_it_is_drawn_a_curve_a_method(series, measure):
    test = sp.backtest(series, horizon=H, season=SEASON)
    axes = test.plot(measure=measure)
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    own = test.table[measure][test.table["method"] == "stillpoint"]
    np.testing.assert_array_equal(lines["stillpoint"], own)
    assert len(lines) == (5 if measure == "rmse" else 1)


def test_a_season_found_on_the_way_is_not_held_against_the_rows_before():
    """Seasonal naive is told the season: 2 · 24 rows are less than 80 = 20 · 2²."""
    rng = np.random.default_rng(0)
    y = 50 + 6 * np.cos(2 * np.pi * np.arange(400) / 24) + rng.normal(0, 1, 400)
    found, later = sp.backtest(y, horizon=3), sp.backtest(y, horizon=3, start=80)
    assert found.summary["seasons"] == [24.0]
    np.testing.assert_array_equal(found.table["rows"], later.table["rows"])
    np.testing.assert_allclose(found.table["rmse"], later.table["rmse"])
    every = sp.backtest(y[:150], horizon=3, every=7)
    assert every.table["rows"][0] == len(range(20, 150, 7)) - len(range(20, 40, 7))


def test_of_rows_in_one_slot_the_last_is_the_target():
    """Not one that came before its own origin."""
    rng = np.random.default_rng(2)
    hour = np.datetime64("2024-01-01T00", "s") + np.arange(120) * np.timedelta64(3600, "s")
    late = hour[40::20] + np.timedelta64(300, "s")
    times = np.concatenate([hour, late])
    y = np.concatenate([rng.normal(size=120), np.full(late.size, 50.0)])
    order = np.argsort(times)
    frame = {"t": times[order], "y": y[order]}
    found = sp.backtest(frame, "y", 1, time="t")
    assert found.table["rmse"][found.table["method"] == "last value"] > 10.0
    assert found.summary["repeated"] == late.size


def test_a_season_of_business_days_is_a_week_of_five_rows():
    """The simple method beside the forecasts is the one that they find: the same weekday before."""
    days = np.arange(np.datetime64("2023-06-01"), np.datetime64("2024-09-01"))
    days, rng = days[np.is_busday(days)], np.random.default_rng(0)
    weekday = (days.astype(int) + 3) % 7  # 1 January 1970 was a Thursday
    y = 100 + np.array([5.0, 0, 0, 2, 9])[weekday] + rng.normal(0, 1.5, days.size)
    test = sp.backtest({"day": days, "y": y}, "y", time="day", horizon=3, start=60)
    table = test.table
    found = table["rmse"][(table["method"] == "seasonal naive") & (table["step"] == 1)]
    by_hand = np.sqrt(np.mean((y[60:] - y[55:-5]) ** 2))
    assert found == pytest.approx(by_hand, rel=0.01)
    assert test.summary["seasons"][0] == 5.0
