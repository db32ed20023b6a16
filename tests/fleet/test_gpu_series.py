"""Forecasters in device fleets on the CPU: torch beside single ones, and the Triton kernel,
interpreted, beside torch.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from interpreted import interpreted

import stillpoint as sp
from stillpoint.core import persist
from stillpoint.fleet.gpu import DeviceFleet
from stillpoint.fleet.gpu.series.machine import OnTensors
from stillpoint.fleet.gpu.series.values import Ring
from thorough import THOROUGH, some

pytestmark = [pytest.mark.extra, pytest.mark.usefixtures("torch")]

WEEK = {"season": [7], "horizon": 14}


def fleet(streams, **config):
    return DeviceFleet("Forecaster", streams, device="cpu", pool="small", **config)


def series(rounds, seed=0):
    """Series of all kinds (rounds, 9) that repeat every 7 rounds, as float32 has them."""
    rng, t = np.random.default_rng(seed), np.arange(90)
    y = np.cos(2.0 * np.pi * t / 7.0)[:, None] + 0.3 * rng.normal(size=(90, 9))
    y += 0.03 * np.cumsum(rng.normal(size=y.shape), axis=0) + [5, 5, 5, 5, 0, 1e5, 0, 5, 5]
    y *= 10.0 ** rng.uniform(-2, 3, 9)
    y[:20, 6] = 0.0  # does not vary for long
    y[[0, 1, 2, 30, 31, 32], 7] = np.nan  # begins late
    y[8, 8], y[50, 2] = -1.0, -1.0  # logarithms that end early, and late
    y[70, 3] *= 60.0  # a spike,
    y[75:, 1] += 40.0 * y[:20, 1].std()  # and a jump
    return y[:rounds].astype(np.float32).astype(float)


def singles(y, every, **config):
    """Forecasts (rounds, streams, horizon) of single forecasters, and radii alike."""
    H = config["horizon"]
    said, radius = np.full((2, *y.shape, H), np.nan)
    for s in range(y.shape[1]):
        model = sp.Forecaster(pool="small", **config)
        for t in range(y.shape[0]):
            said[t, s, 0] = model.predict()
            if t % every == 0:
                said[t, s] = model.predict(horizon=H)
                low, high = model.interval(horizon=H)
                radius[t, s] = 0.5 * (high - low)
            model.update(y[t, s]) if y[t, s] == y[t, s] else model.skip()
    return said, radius


@pytest.mark.parametrize("config", [WEEK, {"season": None, "horizon": 1}], ids=["week", "none"])
def test_forecasts_paths_and_intervals_are_those_of_single_forecasters(config):
    """In step, whatever the streams bring: gaps, spikes, jumps, few values, large ones."""
    y, every = series(90), 5 if THOROUGH else 15
    device, (said, radius) = fleet(y.shape[1], **config), singles(y, every, **config)
    unit = np.nanstd(y, axis=0)
    for t in range(y.shape[0]):
        np.testing.assert_array_less(np.abs(device.predict().numpy() - said[t, :, 0]) / unit, 3e-4)
        if t % every == 0:
            ours = device.predict(horizon=config["horizon"]).numpy()
            gap = np.abs(ours - said[t]).max(axis=1) / unit
            # the regressions of a series that did not vary hardly know their coefficients
            assert np.delete(gap, 6).max() < 3e-4
            low, high = device.interval(horizon=config["horizon"])
            np.testing.assert_allclose(0.5 * (high - low).numpy(), radius[t], rtol=1e-3)
        device.update(y[t])
    assert device.rounds.tolist() == [90] * 7 + [87, 90]
    assert device.rejected.tolist() == [0] * 7 + [6, 0]


def test_gross_errors_among_the_first_values_are_not_believed(torch):
    y, every = series(60)[:, :6], 5
    y[:] = 100.0 + 5.0 * (y - y.mean(axis=0)) / y.std(axis=0)
    unit = y.std(axis=0)
    y[[0, 1, 2, 4, 7, 9], np.arange(6)] *= [1e6, -1e6, 0.0, 1e6, -1e6, 100.0]
    y = y.astype(np.float32).astype(float)
    device, (said, radius) = fleet(6, **WEEK), singles(y, every, **WEEK)
    for t in range(60):
        if t > 5:
            gap = np.abs(device.predict().numpy() - said[t, :, 0]) / unit
            np.testing.assert_array_less(gap, 3e-4)
        if t > 12 and t % every == 0:
            low, high = device.interval(horizon=14)
            np.testing.assert_allclose(0.5 * (high - low).numpy(), radius[t], rtol=1e-3)
        device.update(y[t])


def test_two_seasons_whose_longer_one_is_no_lag(torch):
    config = {"season": [4, 13], "horizon": 9}
    y = series(60, seed=1)[:, :4]
    said, _ = singles(y, 60, **config)
    ours = fleet(4, **config).track(y).numpy()
    assert (np.abs(ours - said[:, :, 0]) / y.std(axis=0)).max() < 3e-4


def test_seasons_that_are_no_whole_numbers(torch):
    config = {"season": [5.5], "horizon": 3}
    y = series(40, seed=2)[:, :4]
    said, _ = singles(y, 40, **config)
    ours = fleet(4, **config).track(y).numpy()
    assert (np.abs(ours - said[:, :, 0]) / y.std(axis=0)).max() < 3e-4


def test_a_replay_is_the_rounds_one_by_one_to_the_bit(torch):
    y = series(40)
    bulk, single = fleet(9, **WEEK), fleet(9, **WEEK)
    said, low, high = bulk.track(y, intervals=True)
    for t in range(40):
        assert torch.equal(said[t], single.predict())
        assert all(
            torch.equal(a[t], b) for a, b in zip((low, high), single.interval(), strict=True)
        )
        single.update(y[t])
    assert all(np.array_equal(a, single.arrays()[name]) for name, a in bulk.arrays().items())


def test_streams_that_skip_rounds_go_on_where_they_were(torch):
    """Streams of different ages in one fleet: each is what it would be alone."""
    rng, y = np.random.default_rng(3), series(40)[:, :5]
    some, alone = fleet(5, **WEEK), fleet(1, **WEEK)
    for row in y:
        which = np.flatnonzero(rng.random(5) < 0.7)
        some.update(row[which], which=which)
        if 2 in which:
            alone.update(row[2:3])
    torch.testing.assert_close(some.predict(which=[2]), alone.predict(), rtol=1e-6, atol=0.0)
    ours, theirs = some.predict(which=[2], horizon=14), alone.predict(horizon=14)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0.0)
    assert int(some.rounds[2]) == int(alone.rounds[0]) < 40


@pytest.mark.parametrize("rounds", some([12, 0, 2, 25], every=2))
def test_a_saved_fleet_goes_on_as_it_was(torch, rounds):
    y = series(rounds + 3)
    device = fleet(9, **WEEK)
    device.track(y[:rounds])
    again = persist.unpack(persist.pack(device))
    assert again.config == device.config
    for row in y[rounds:]:
        device.update(row)
        again.update(torch.as_tensor(row))
    assert torch.equal(again.predict(horizon=14), device.predict(horizon=14))
    assert all(
        np.array_equal(a, again.arrays()[name], equal_nan=True)
        for name, a in device.arrays().items()
    )


def test_streams_come_and_go(torch):
    y = series(30)[:, :4]
    device = fleet(2, season=[3], horizon=4)
    device.track(y[:20, :2])
    assert list(device.add(2)) == [2, 3]
    device.retire([0])
    young = fleet(4, season=[3], horizon=4)
    for row in y[20:]:
        device.update(row)
        young.update(row)
    assert device.rounds.tolist() == [10, 30, 10, 10]
    part = [0, 2, 3]
    torch.testing.assert_close(
        device.predict(which=part), young.predict(which=part), rtol=1e-6, atol=0
    )


def test_what_cannot_be_a_value_is_missing(torch):
    y = np.array([[1.0, 2.0, 1.5, 2.5, np.inf, 3.0]] * 2).T
    y[:, 1] = [1.0, 2.0, 1.5, 2.5, np.nan, 3.0]
    device = fleet(2, season=None)
    said = device.track(y)
    assert torch.equal(said[:, 0], said[:, 1])
    assert device.rejected.tolist() == [1, 1]


@pytest.mark.parametrize("at", some([0, 2, 30, 4], every=2))
def test_a_value_beyond_1e30_is_missing_from_the_first_round_on(torch, at):
    y = series(40)[:, :3]
    y[at] = 1e31, -1e200, np.nan
    device = fleet(3, **WEEK)
    said = torch.stack(device.track(y, intervals=True))
    other = torch.stack(
        fleet(3, **WEEK).track(np.where(np.abs(y) > 1e30, np.nan, y), intervals=True)
    )
    assert torch.equal(said, other)
    assert not said.isnan().any()
    assert device.rejected.tolist() == [1, 1, 1]


@pytest.mark.parametrize("first", some([1e-20, 1e-40, 1e-300, 1e-30], every=2))
def test_logarithms_of_values_far_apart_stay_finite(torch, first):
    y = np.abs(series(40)[:, [0, 3]]) + 1.0
    y[0], y[30, 1] = first, 1e12
    device = fleet(2, **WEEK)
    said = torch.stack(device.track(y, intervals=True))
    assert not said.isnan().any()
    assert device.predict(horizon=14).isfinite().all()


def test_what_float32_cannot_tell_apart_does_not_vary(torch):
    y = 1e-45 * series(40)[:, [0]]
    device = fleet(1, **WEEK)
    said = torch.stack(device.track(y, intervals=True))
    assert not said.isnan().any()
    assert device.rejected.tolist() == [0]


def test_logarithms_and_powers_of_numbers_near_zero(torch):
    from stillpoint.fleet.gpu.series import values

    x = torch.as_tensor(
        np.concatenate([np.geomspace(1e-12, 20.0, 400), -np.geomspace(1e-12, 0.99, 400)])
    )
    for ours, exact in ((values.log_of_one_more, torch.log1p), (values.exp_less_one, torch.expm1)):
        got = ours(x.float()).double()
        assert (got / exact(x.float().double()) - 1.0).abs().max() < 2e-6


BAD = {
    'pool must be "small"': lambda: DeviceFleet("Forecaster", 2, device="cpu", season=[7]),
    "season must be told": lambda: DeviceFleet("Forecaster", 2, device="cpu", pool="small"),
    "features must be 0": lambda: fleet(2, season=[7], features=1),
    "coverage must be one number": lambda: fleet(2, season=[7], coverage=[0.5, 0.9]),
    "horizon must be from 1 to 3": lambda: fleet(2, season=None, horizon=3).predict(horizon=4),
    "horizon must be left out": (
        lambda: DeviceFleet("Tracker", 2, device="cpu", dim=1).predict(horizon=2)
    ),
    "interval must be asked of forecasters": (
        lambda: DeviceFleet("Tracker", 2, device="cpu", dim=1).interval()
    ),
    "forecasts must be left out": lambda: fleet(2, season=None).predict([1.0, 2.0]),
    "loss must be left out": (
        lambda: fleet(2, season=None).track(np.zeros((3, 2)), loss=sp.losses.Absolute())
    ),
    r"targets must have shape \(rounds, 2\)": lambda: fleet(2, season=None).track([1.0, 2.0]),
    r"feedback must have shape \(2,\)": lambda: fleet(2, season=None).update([1.0]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()


@pytest.mark.slow  # most of a minute; benchmarks/gpu_series.py compares them on a device as well
def test_the_kernel_interpreted_is_the_torch_operations():
    """The kernel's own text, run by Triton's interpreter: whole batches, parts, replays and NaN."""
    assert interpreted("interpret_series.py").count("agrees") == 1


def test_values_go_back_to_rounds_of_each_streams_own(torch):
    ago, there = torch.tensor([1.0, 2.0, 3.0, 6.0, 4.0, 7.0, 1e6]), torch.arange(7) != 4
    value, places = torch.arange(-7.0, 0.0), SimpleNamespace(ring=7)
    for now in range(15):
        state = torch.arange(49.0).reshape(7, 7)
        m = OnTensors({"ring": (0, 7)}, state.clone(), {})
        ring = Ring(m, places, now)
        ring.put_back(there, ago, value)
        for s in (0, 1, 2, 3):  # the others stay: there is nothing to put, or no room so far back
            state[(now - int(ago[s])) % 7, s] = value[s]
        torch.testing.assert_close(m.state, state, rtol=0, atol=0)
        for back in (1, 2):
            assert torch.equal(ring[back], state[(now - back) % 7])
