"""Rows through a fleet: however they are cut into batches, the numbers of single learners, row by
row.
"""

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from stillpoint.fleet import RowPlayer
from thorough import some, some_of

CASES = {
    "tracker": (sp.Tracker, {"loss": "absolute"}),
    "tracker squared": (sp.Tracker, {"loss": sp.losses.Squared()}),
    "multiscale": (sp.MultiScale, {"loss": "huber"}),
    "quantile": (sp.QuantileTracker, {"level": 0.8}),
    "interval": (sp.IntervalTracker, {"coverage": 0.8}),
    "forecaster": (sp.KernelForecaster, {}),
}
TIMED = ("Tracker", "MultiScale", "KernelForecaster")


def table(n=900, keys=40, seed=0, text=False):
    """Keys in any order, some very often; targets with gaps; times that increase for each key."""
    rng = np.random.default_rng(seed)
    which = np.minimum(rng.geometric(0.3, n), keys) - 1
    y = np.sin(which + np.arange(n) / 200) + 0.1 * rng.standard_t(3, n)
    y[rng.random(n) < 0.05] = np.nan
    times = np.cumsum(rng.exponential(1.0, n))
    names = [f"κ{k}" for k in which] if text else which * 7919 - 3
    return names, y, times, np.round(np.nan_to_num(y, nan=0.3), 1)


def single(kind, config, names, y, times, centres):
    """Learner by learner, row by row."""
    config = dict(config)
    loss = config.pop("loss", None)
    loss = (
        {"absolute": sp.losses.Absolute(), "huber": sp.losses.Huber()}.get(loss, loss)
        if isinstance(loss, str)
        else loss
    )
    learners, out = {}, []
    for i, key in enumerate(names):
        learner = learners.setdefault(key, kind(**({"dim": 1, **config} if loss else config)))
        extra = (
            [centres[i]]
            if kind is sp.IntervalTracker
            else [times[i]]
            if times is not None and kind.__name__ in TIMED
            else []
        )
        play = learner.predict(*extra)
        out.append(np.ravel(play))
        if np.isnan(y[i]):
            learner.skip()
        else:
            learner.update(float(loss.gradient(float(play[0]), y[i])) if loss else y[i])
    return np.array(out), learners


@pytest.mark.parametrize(("name", "timed"), some_of(CASES, [False, True], every=4))
def test_any_batching_gives_the_numbers_of_single_learners(name, timed):
    kind, config = CASES[name]
    names, y, times, centres = table(text=timed)
    expected, learners = single(kind, config, names, y, times if timed else None, centres)
    rng = np.random.default_rng(1)
    for size in (1, 37, 300, 900):
        player, at, plays = RowPlayer(kind, **config), 0, []
        while at < len(y) and not (size == 1 and at == 25):
            cut = slice(at, at + (1 if size == 1 else int(rng.integers(size // 2, size + 1))))
            extra = {"times": times[cut]} if timed else {}
            extra |= {"forecasts": centres[cut]} if kind is sp.IntervalTracker else {}
            played = player.play(names[cut], y[cut], **extra)
            assert not played.rejected
            assert np.isnan(played.losses[np.isnan(y[cut])]).all()
            assert np.isfinite(played.losses[~np.isnan(y[cut])]).all()
            plays.append(np.stack(played.plays, axis=1))
            at = cut.stop
            again = RowPlayer(kind, **config)
            again.unpack(player.pack())  # every batch goes on from a packed state
            player = again
        ours = np.concatenate(plays)
        np.testing.assert_array_equal(ours, expected[: len(ours)])
    for key, learner in learners.items():
        state = player.fleet.learner(key).arrays()
        for entry, value in learner.arrays().items():
            np.testing.assert_array_equal(state[entry], value)


@pytest.mark.parametrize("name", some(CASES, every=2))
def test_bad_rows_are_told_and_touch_no_other_key(name):
    kind, config = CASES[name]
    names, y, times, centres = table(400, 5, seed=2)
    bad_y, bad_t, bad_c = y.copy(), times.copy(), centres.copy()
    bad_y[100] = np.inf
    bad_t[101] = np.nan
    bad_t[102] = -5.0
    extra, clean = {}, np.setdiff1d(np.arange(400), [101, 102])
    if kind is sp.IntervalTracker:
        bad_c[103] = np.nan
        extra["forecasts"], clean = bad_c, np.setdiff1d(clean, [103])
    player = RowPlayer(kind, **config)
    played = player.play(names, bad_y, times=bad_t, **extra)
    assert sorted(played.rejected) == [100, 101, 102] + ([103] if extra else [])
    assert "target must be finite: got inf" in played.rejected[100]
    assert played.rejected[101] == "time must be given: got none; give every row its time"
    assert "time must increase" in played.rejected[102]
    assert np.isnan(played.plays[0][[101, 102]]).all()
    assert not np.isnan(played.plays[0][100])
    y[100] = np.nan
    expected, _ = single(kind, config, names[clean], y[clean], times[clean], centres[clean])
    np.testing.assert_array_equal(np.stack(played.plays, axis=1)[clean], expected)


def test_keys_that_are_none_are_told():
    player = RowPlayer(sp.QuantileTracker)
    played = player.play(["a", None, "", 3, True, 2.5, "a"], np.arange(7.0))
    assert sorted(played.rejected) == [1, 2, 4, 5]
    assert "key must be" in played.rejected[1]
    assert played.slots.tolist() == [0, -1, -1, 1, -1, -1, 0]
    assert set(player.fleet.keys()) == {"a", 3}


def test_times_of_learners_without_times_must_increase_too():
    player = RowPlayer(sp.QuantileTracker)
    player.play([1, 2], [1.0, 1.0], times=[10.0, 20.0])
    again = RowPlayer(sp.QuantileTracker)
    again.unpack(player.pack())
    played = again.play([2, 1, 3], [1.0, 1.0, 1.0], times=[15.0, 15.0, 0.0])
    assert list(played.rejected) == [0]


def test_a_time_must_be_given_and_finite():
    played = RowPlayer(sp.QuantileTracker).play(
        [1, 1, 2], [1.0, 1.0, 1.0], times=[np.nan, 2.0, np.inf]
    )
    assert played.rejected == {
        0: "time must be given: got none; give every row its time",
        2: "time must be finite: got inf; repair it",
    }


@pytest.mark.parametrize("kind", [sp.QuantileTracker, sp.KernelForecaster])
def test_keys_without_a_usable_time_have_a_place_however_rows_are_cut(kind):
    keys, times = ["a", "c", "b", "a", "c"], [np.nan, 1.0, 2.0, np.nan, 3.0]
    whole, cut = RowPlayer(kind), RowPlayer(kind)
    played = whole.play(keys, np.ones(5), times=times)
    for i in range(5):
        cut.play(keys[i : i + 1], np.ones(1), times=times[i : i + 1])
    assert played.slots.tolist() == [0, 1, 2, 0, 1]
    assert whole.fleet.keys() == cut.fleet.keys() == ["a", "c", "b"]


def test_threads_are_the_players_own():
    player, other = RowPlayer(sp.QuantileTracker, threads=2), RowPlayer(sp.QuantileTracker)
    other.play([1, 2], [1.0, 2.0])
    player.unpack(other.pack())
    assert player.fleet.threads == player.fleet._batch._threads == 2
    assert player.pack() != other.pack()
    player.fleet.threads = 1
    assert player.pack() == other.pack()


class Column:
    """As a column of a data frame: `column[i]` is by label, `in` looks at the labels, and only
    __array__ has the values.
    """

    def __init__(self, values, labels):
        self.values, self.labels = values, dict(zip(labels, values, strict=True))

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __contains__(self, label):
        return label in self.labels

    def __getitem__(self, label):
        return self.labels[label]


@pytest.mark.parametrize(
    "keys", [["a", "b", "a", "b", "b"], [7, 8, 7, 8, 8], ["a", "b", "a", "", "b"]]
)
def test_keys_of_a_column_are_taken_by_place(keys):
    y = [1.0, 2.0, 3.0, 4.0, 5.0]
    expected = RowPlayer(sp.KernelForecaster).play(keys, y)
    for given in (Column(keys, [4, 3, 2, 1, 0]), np.array(keys), np.array(keys, object)):
        played = RowPlayer(sp.KernelForecaster).play(given, y)
        np.testing.assert_array_equal(played.plays[0], expected.plays[0])
        assert played.rejected == expected.rejected
    days = np.array(["2024-01-01", "2024-01-02"], "datetime64[ns]")
    assert sorted(RowPlayer(sp.KernelForecaster).play(days, [1.0, 2.0]).rejected) == [0, 1]
    for wrong in (np.array([keys]), np.array(keys[0])):
        with pytest.raises(ValueError, match=r"keys must be a vector: got shape \("):
            RowPlayer(sp.KernelForecaster).play(wrong, y)


@pytest.mark.extra
def test_keys_of_a_pandas_series_are_taken_by_place():
    pandas = package("pandas")
    keys, y = ["a", "b", "a", "c", "b"], np.arange(5.0)
    expected = RowPlayer(sp.KernelForecaster).play(keys, y).plays[0]
    for index in ([4, 3, 2, 1, 0], list("vwxyz"), ["", "a", "b", "c", "d"]):
        series = pandas.Series(keys, index=index)
        for given in (series, series.astype("category"), series.astype("string")):
            played = RowPlayer(sp.KernelForecaster).play(given, y)
            np.testing.assert_array_equal(played.plays[0], expected)
            assert not played.rejected


def test_retired_keys_take_their_times_with_them():
    player = RowPlayer(sp.QuantileTracker)
    player.play([1, 2, 3], [1.0] * 3, times=[10.0, 20.0, 30.0])
    player.fleet.retire([1])
    again = RowPlayer(sp.QuantileTracker)
    # the places of 2 and 3 are no longer the first two, and are so again
    again.unpack(player.pack())
    for own in (player, again):
        assert sorted(own.play([2, 3], [1.0] * 2, times=[15.0, 25.0]).rejected) == [0, 1]
        assert not own.play([2, 3, 1], [1.0] * 3, times=[25.0, 35.0, 5.0]).rejected
    player.fleet.retire([3])
    player.play([4], [1.0])  # has the place of 3, and never a time
    assert not player.play([4], [1.0], times=[1.0]).rejected


def test_too_large_a_target_is_told_and_the_round_goes_by():
    played = RowPlayer(sp.KernelForecaster).play([1, 1], [1e200, 1.0])
    assert "repair it" in played.rejected[0]
    assert np.isfinite(played.plays[0]).all()


def _packed():
    player = RowPlayer(sp.KernelForecaster)
    player.play([1], [1.0])
    return player.pack()


def test_what_does_not_fit_is_refused():
    cases = [
        (lambda: RowPlayer(sp.Tracker, dim=2), "dim must be one"),
        (lambda: RowPlayer(sp.QuantileTracker, level=(0.1, 0.9)), "level must be one"),
        (lambda: RowPlayer(sp.QuantileTracker, loss="absolute"), "loss must be left out"),
        (lambda: RowPlayer(sp.Tracker, loss="abs"), "loss must be one of"),
        (
            lambda: RowPlayer(sp.Tracker, loss=sp.losses.Logistic()),
            r"absolute, squared, huber, or sp.losses.Pinball\(level\)",
        ),
        (lambda: RowPlayer(sp.IntervalTracker).play([1], [1.0]), "forecasts must be given"),
        (
            lambda: RowPlayer(sp.KernelForecaster).play([1], [1.0], forecasts=[1.0]),
            "forecasts must be left out",
        ),
        (
            lambda: RowPlayer("Changes"),
            r'must be one that predicts: got Changes.*use sp.Fleet\("Changes"\), or stillpoint',
        ),
        (lambda: RowPlayer(sp.Anomalies), "learner must be one that predicts: got Anomalies"),
        (lambda: RowPlayer(sp.TrackingForecaster, dim=1), "must be one without features"),
        (lambda: RowPlayer(sp.KernelForecaster).play([1, 2], [1.0]), "targets must be as many"),
        (
            lambda: RowPlayer(sp.KernelForecaster).play([1, 2], ["a", "b"]),
            "targets must be numeric",
        ),
        (
            lambda: RowPlayer(sp.KernelForecaster).unpack(RowPlayer(sp.Tracker).pack()),
            "learners must be those of the state",
        ),
        (
            lambda: RowPlayer(sp.KernelForecaster).unpack(b"abc"),
            "data must be what RowPlayer.pack returned: got 3 bytes",
        ),
        (lambda: RowPlayer(sp.KernelForecaster).unpack(b"abc" * 9), "data must be what"),
        (
            lambda: RowPlayer(sp.KernelForecaster).unpack(_packed()[:-3]),
            "data must be what RowPlayer.pack returned",
        ),
        (
            lambda: RowPlayer(sp.KernelForecaster).unpack(_packed() + bytes(8)),
            "data must be what RowPlayer.pack returned",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
