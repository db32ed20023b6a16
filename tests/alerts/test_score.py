"""Anomalies.score: the p-value of a row before it comes, with nothing changed by asking."""

import pickle

import numpy as np
import pytest

import stillpoint as sp


class Mean:
    """A forecaster of someone's own, which counts how often it is asked."""

    def __init__(self):
        self.total, self.count, self.asked = 0.0, 0, 0

    def predict(self):
        self.asked += 1
        return self.total / max(self.count, 1)

    def update(self, y):
        self.total, self.count = self.total + y, self.count + 1


def stream(rows, seed=0):
    """A season in noise, with missing values, the first among them, and a few that do not fit."""
    rng = np.random.default_rng(seed)
    y = 5 + np.sin(2 * np.pi * np.arange(rows) / 12) + 0.3 * rng.standard_normal(rows)
    y[rng.random(rows) < 0.05] = np.nan
    y[[0, 50, 51]] = np.nan
    y[[rows // 2, rows - 20]] = 9.0, -2.0
    return y


@pytest.mark.parametrize(
    ("build", "rows"),
    [
        (lambda: sp.Anomalies(0.01), 150),
        (lambda: sp.Anomalies(0.01, forecaster=sp.VariationForecaster()), 600),
        (lambda: sp.Anomalies(0.01, forecaster=Mean(), period=12), 600),
        (lambda: sp.Anomalies(0.01), -600),  # forecasts are given
    ],
    ids=["own", "variation", "foreign", "given"],
)
def test_the_score_of_a_row_is_the_p_value_that_it_then_has(build, rows):
    y = stream(abs(rows))
    given = np.append(np.nan, np.nan_to_num(y[:-1], nan=5.0)).tolist()
    alerts, twin, small = build(), build(), 0
    for t, value in enumerate(y.tolist()):
        more = {"forecast": given[t]} if rows < 0 else {}
        looked = t % 5 == 0  # the twin, which is never asked, holds all rounds to the same
        before = pickle.dumps(alerts) if looked else None
        for other in (value + 3.0, value):
            said = None if value != value else alerts.score(other, **more)
        assert not looked or pickle.dumps(alerts) == before
        if said is None:
            alerts.skip()
            twin.skip()
            continue
        assert alerts.update(value, **more) == twin.update(value, **more)
        assert said == alerts.p == twin.p
        small += said < 0.05
    assert small > 3
    assert alerts.exceedances == twin.exceedances > 0


def test_whole_streams_may_follow_a_score():
    """Whose forecaster would refuse, were a round of it open."""
    y = stream(300)
    alerts, twin = (sp.Anomalies(forecaster=sp.VariationForecaster()) for _ in range(2))
    for part in (y[:100], y[100:]):
        alerts.score(4.0)
        assert np.array_equal(alerts.track(part)[0], twin.track(part)[0], equal_nan=True)
    assert pickle.dumps(alerts) == pickle.dumps(twin)


def test_a_score_refuses_what_update_would():
    alerts = sp.Anomalies(forecaster=sp.VariationForecaster())
    alerts.track(stream(100))
    before = pickle.dumps(alerts)
    for bad in (np.nan, np.inf, "5", None, [1.0]):
        with pytest.raises(ValueError, match="y must be"):
            alerts.score(bad)
    with pytest.raises(ValueError, match="in every row or in none"):
        alerts.score(1.0, forecast=1.0)
    assert pickle.dumps(alerts) == before
