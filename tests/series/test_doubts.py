"""Values far from what was forecast are believed once the next one confirms them."""

import numpy as np
import pytest
from series_twins import closed, opened, played, state, wavy

from stillpoint.series._knots import AT as OF
from stillpoint.series._scale import AT, BY

HELD, T = AT.held, 120


def started(T=T):
    """A state after T rounds, and the series so far."""
    y = wavy(T, ())
    m = state("full", (), 3, y, ages=T + 50)
    played(m, y)
    return m, y


def value(m, back=1):
    """The value that lags hold, so many rounds back."""
    x = m.lags[0, m.clock[BY.place] - back]
    return m.scalars[AT.centre] + m.scalars[AT.unit] * x


def test_a_spike_is_doubted_and_forgotten():
    m, y = started()
    low, high = m.scalars[AT.low], m.scalars[AT.high]
    calm = opened(m)
    reach = 20.0 * m.knots.scalars[0, OF.variance] ** 0.5
    closed(m, 1e9)
    assert m.scalars[HELD] == 1e9
    # lags see it one range beyond the range so far
    assert value(m) == pytest.approx(high + (high - low))
    after = m.knots.scalars[0, OF.variance] ** 0.5
    assert m.scalars[AT.expected] == pytest.approx(calm)
    assert after < 11.0 * reach / 20.0
    said = played(m, y[-40:])[:, 0]
    assert np.isnan(m.scalars[HELD])
    assert np.abs(said[-20:] - y[-20:]).max() < 2.0


def test_a_jump_is_believed_when_it_is_confirmed():
    m, y = started()
    far = y[-1] + 500.0
    played(m, np.array([far]))
    assert m.scalars[HELD] == far
    assert value(m) < far
    played(m, np.array([far + 0.1]))
    assert np.isnan(m.scalars[HELD])
    assert value(m, back=2) == pytest.approx(far)
    assert value(m) == pytest.approx(far + 0.1)
    assert m.scalars[AT.high] == pytest.approx(far + 0.1)
    said = played(m, far + y[:30] - y[0])[:, 0]
    assert np.abs(said[-10:] - (far + y[20:30] - y[0])).max() < 60.0


def test_in_the_first_rounds_almost_everything_is_believed():
    m, _ = started(30)
    played(m, np.array([1e2]))
    assert value(m) == pytest.approx(1e2)
    assert np.isnan(m.scalars[HELD])
    assert m.scalars[AT.high] == pytest.approx(1e2)


def test_what_is_beyond_a_thousand_deviations_is_doubted_early():
    m, y = started(30)
    high = m.scalars[AT.high]
    played(m, np.array([1e6]))
    assert m.scalars[HELD] == 1e6
    assert m.scalars[AT.high] < high + 50.0
    played(m, y[-1:])
    assert np.isnan(m.scalars[HELD])
    m, _ = started(30)
    played(m, np.array([1e6, 1e6 + 1.0]))  # two are a jump
    assert value(m, back=2) == pytest.approx(1e6)
    m, _ = started(10)
    played(m, np.array([1e6]))
    assert value(m) == pytest.approx(1e6)


def test_a_spike_of_any_size_leaves_all_finite():
    for size in (1e3, 1e30, -1e60, 1e75):
        m, y = started()
        said = played(m, np.concatenate([[size], y[-30:], [size, size], y[-30:]]))
        assert np.isfinite(said).all()
        assert np.isfinite(m.knots.experts).all()
        assert np.isfinite(m.regressions.covariances).all()
        assert np.isfinite(m.filters.means).all()


@pytest.mark.parametrize("missing", [1, 2, 7])
def test_a_jump_that_is_confirmed_after_missing_values_is_put_in_its_place(missing):
    m, y = started()
    far = y[-1] + 500.0
    played(m, np.array([far]))
    doubted = value(m)
    played(m, np.full(missing, np.nan))
    between = [value(m, back) for back in range(1, missing + 1)]
    assert value(m, back=missing + 1) == doubted < far
    played(m, np.array([far + 0.1]))
    assert np.isnan(m.scalars[HELD])
    assert value(m, back=missing + 2) == pytest.approx(far)
    assert [value(m, back) for back in range(2, missing + 2)] == between
    assert value(m) == pytest.approx(far + 0.1)


def test_what_is_confirmed_after_more_missing_values_than_there_are_lags_is_in_none():
    m, y = started()
    far = y[-1] + 500.0
    played(m, np.append(far, np.full(m.lags.shape[1], np.nan)))
    lags = m.lags[0, : m.clock[BY.place]].copy()
    played(m, np.array([far + 0.1]))
    assert np.isnan(m.scalars[HELD])
    kept = m.clock[BY.place] - 1
    np.testing.assert_array_equal(m.lags[0, :kept], lags[-kept:])


def test_a_missing_value_neither_confirms_nor_ends_a_doubt():
    m, y = started()
    far = y[-1] + 500.0
    played(m, np.array([far, np.nan]))
    assert m.scalars[HELD] == far
