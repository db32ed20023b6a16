"""What is refused leaves no trace: every public learner, before its first round, between rounds and
within one.
"""

import copy
import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import api
import extras
import stillpoint as sp
from persisted import CORE, PLAYED, keys, named, parameters, play, river_faces, sklearn_faces, x, y
from stillpoint.domains import Ball
from stillpoint.forecasters.base import VAWForecaster
from stillpoint.forecasters.series import SeriesForecaster
from stillpoint.forecasters.tracking import TrackingModel
from stillpoint.kernels import OU, Constant, Spline
from stillpoint.lab import baselines
from stillpoint.lab.baselines.conformal.base import RadiusTracker
from stillpoint.learners import GradientLearner
from thorough import THOROUGH, some

BAD = (
    np.nan,
    np.inf,
    -np.inf,
    "5",
    b"5",
    None,
    1j,
    object(),
    10**400,
    [[1.0, 2.0]],
    "text",
    {},
    np.array(["a", "b"]),
    np.zeros((2, 2, 2)),
)
WHEN = (np.nan, np.inf, "5", object(), [1.0, 2.0], 1j, np.array(["a"]))
STAGES = ("new", "between", "open")


def state(learner):
    """The state as bytes, apart from the order of its parts."""
    return api.plain(learner.arrays())


def vectors(bad):
    """Bad values as entries of vectors, vectors of wrong shapes and types, and what is no
    vector.
    """
    yield from (
        bad if bad is not None else [None, None],
        [0.1, bad],
        np.array([bad, 0.1], dtype=object),
    )


def of_gradients(learner):
    for bad in BAD:
        for value in vectors(bad):
            yield lambda value=value: learner.update(value)
    for shape in (1, 3, (2, 1), (1, 2), 0):
        yield lambda shape=shape: learner.update(np.full(shape, 0.1))
    yield lambda: learner.update([1e200, 0.0])
    yield lambda: learner.update(np.ma.masked_array([0.1, 0.2], mask=[0, 1]))
    yield lambda: learner.update(np.array([1e160, 1e160]))
    yield from timed(learner, lambda when: learner.update([0.1, 0.1], when))
    for bad in ("x", -1.0, np.nan, None, [1.0, -2.0], object()):
        yield lambda bad=bad: learner.certificate(bad)


def of_values(learner):
    for bad in BAD:
        yield lambda bad=bad: learner.update([bad] * learner.points)
    for shape in (0, 3, (1, 2), (2, 1)):
        yield lambda shape=shape: learner.update(np.full(shape, 0.1))
    # an estimate that no learner can take
    yield lambda: learner.update([1e200, -1e200][: learner.points])
    for bad in (None, 0.5, "text"):
        yield lambda bad=bad: learner.update_loss(bad)
    yield from timed(learner, lambda when: learner.update([0.1] * learner.points, when))


def timed(learner, update=None):
    for when in WHEN:
        yield lambda when=when: learner.predict(time=when)
        if update is not None:
            yield lambda when=when: update(when)
    if learner.rounds:
        for back in (0.0, 1.0, 1e300):
            yield lambda back=back: learner.predict(time=learner.time - back - 0.5)
        yield (
            lambda: (
                update(learner.time - 1.0) if update else learner.predict(time=learner.time - 1.0)
            )
        )


def of_alerts(learner):
    for bad in (*BAD, [], [0.1, 0.2], 1e200):
        yield lambda bad=bad: learner.update(bad)
    for bad in ([0.1, np.inf], ["a", "b"], [[0.1, 0.2]], None, 0.5, [1j, 0.0], "text"):
        yield lambda bad=bad: learner.track(bad)


def of_series(learner):
    for bad in (*BAD, [], [0.1, 0.2], 1e200):
        yield lambda bad=bad: learner.update(bad)
    has_times = "time" in inspect.signature(learner.predict).parameters
    if has_times:
        yield from timed(learner)
    run = learner.track
    for bad in (
        [0.1, np.inf],
        ["a", "b"],
        [[0.1, 0.2]],
        None,
        0.5,
        [1j, 0.0],
        "text",
        [0.1, 1e200],
    ):
        yield lambda bad=bad: run(bad)
    if has_times:
        for times in ([2.0, 1.0], [1.0], [np.nan, 2.0], ["a", "b"], [[1.0, 2.0]]):
            yield lambda times=times: run([0.1, 0.2], np.asarray(times))


def of_horizons(learner):
    for bad in (*BAD, [], [0.1, 0.2], 1e200):
        yield lambda bad=bad: learner.update(bad)
    yield from timed(learner)
    for bad in ([0.1, np.inf], ["a", "b"], [[0.1, 0.2]], None, 0.5, [1j, 0.0], "text", [1e200]):
        yield lambda bad=bad: learner.track(bad)
    for times in ([2.0, 1.0], [1.0], [np.nan, 2.0], ["a", "b"], [[1.0, 2.0]]):
        yield lambda times=times: learner.track([0.1, 0.2], times=np.asarray(times))
    for bad in (0, -1, 4, 1.5, "two", np.nan, [1, 2], True, object()):
        for ask in (learner.predict, learner.interval):
            yield lambda bad=bad, ask=ask: ask(horizon=bad)
        yield lambda bad=bad: learner.total(bad)
        yield lambda bad=bad: learner.track([0.1], horizon=bad)
    for bad in (np.inf, "5", 1j, object(), 1e200, [0.1, 0.2], np.ones((4, 1)), np.ones((0, 1))):
        yield lambda bad=bad: learner.predict(bad)
        yield lambda bad=bad: learner.interval(bad)
        yield lambda bad=bad: learner.update(0.1, x=bad)
    for bad in (np.ones((1, 1)), np.ones((2, 2)), np.ones(2), [["a"], ["b"]], [[np.inf], [0.0]]):
        yield lambda bad=bad: learner.track([0.1, 0.2], bad)


def of_contexts(learner):
    known = x(PLAYED)
    for bad in BAD:
        yield lambda bad=bad: learner.update(known, bad)
        for value in vectors(bad):
            yield lambda value=value: learner.predict(value)
            yield lambda value=value: learner.update(value, y(PLAYED))
    for shape in (1, 3, (2, 1), (1, 2), 0):
        yield lambda shape=shape: learner.predict(np.full(shape, 0.1))
    yield lambda: learner.predict([1e101, 0.0])
    if hasattr(learner, "track"):
        rows = np.ones((3, 2))
        for X, target in (
            (rows, [0.0, 1.0]),
            (rows[:, :1], [0, 1, 0]),
            (rows, [0, np.nan, 0]),
            (rows * np.inf, [0, 1, 0]),
            (None, None),
        ):
            yield lambda X=X, target=target: learner.track(X, target)
        yield lambda: learner.track(rows, [0, 1, 0], [3.0, 2.0, 1.0])


def of_intervals(learner):
    for bad in BAD:
        yield lambda bad=bad: learner.predict(bad)
        yield lambda bad=bad: learner.peek(bad)
        yield lambda bad=bad: learner.update(bad)
        yield lambda bad=bad: learner.track(
            [0.1, 0.2],
            [0.1, bad] if np.ndim(bad) == 0 and bad == bad and bad is not None else [0.1],
        )
        yield lambda bad=bad: learner.track([0.1, bad], [0.1, 0.2])
    yield lambda: learner.predict(1e200)


def of_scores(learner):
    for bad in (*BAD, -1.0, -1e-300, [1.0, 2.0]):
        yield lambda bad=bad: learner.update(bad)
        yield lambda bad=bad: learner.track([0.1, bad])
    for bad in (None, 0.5, [[1.0]], "text"):
        yield lambda bad=bad: learner.track(bad)


def of_fleets(fleet):
    known, n = keys(PLAYED), len(keys(PLAYED))
    good = np.full((n, 2), 0.1)
    for bad in BAD:
        for at in (0, n - 1):
            rows = good.tolist()
            rows[at][1] = bad
            yield lambda rows=rows: fleet.update(["new", *known[1:]], rows)
    for rows in (good[:-1], good[:, :1], good[0], None, "text", good[None]):
        yield lambda rows=rows: fleet.update(["new", *known[1:]], rows)
    for chosen in (
        [*known, known[0]],
        None,
        "text",
        5,
        [1.5],
        [True],
        [None],
        [[1]],
        np.ones((2, 2)),
        [np.nan],
        ["new", "new"],
    ):
        yield lambda chosen=chosen: fleet.predict(chosen)
        yield lambda chosen=chosen: fleet.update(chosen, good)
        yield lambda chosen=chosen: fleet.skip(chosen)
        yield lambda some=some: fleet.retire(some)
    yield lambda: fleet.retire(["never seen"])
    yield lambda: fleet.learner("never seen")
    yield lambda: fleet.adopt("new", sp.Tracker(3))
    yield lambda: fleet.adopt("new", None)
    for when in (*WHEN, np.arange(n - 1.0), np.full(n, np.nan), -1e300 if len(fleet) else np.nan):
        yield lambda when=when: fleet.predict(["new", *known[1:]], time=when)
        yield lambda when=when: fleet.skip(["new", *known[1:]], time=when)
    yield lambda: fleet.predict(["new"], forecasts=[1.0])


def of_river(model):
    row = named(PLAYED)
    for bad in BAD:
        yield lambda bad=bad: model.learn_one(
            {**row, "a": bad if bad is not None and bad == bad else "word"}, 1.0
        )
        if hasattr(model, "predict_proba_one"):
            continue
        yield lambda bad=bad: model.learn_one({**row, "new": 1.0}, bad)
        if model._columns.names:  # features that are not known yet do not count
            yield lambda bad=bad: model.predict_one(
                {**row, "a": bad if bad is not None and bad == bad else "word"}
            )
    for bad in (np.nan, None, [], {}):
        if hasattr(model, "predict_proba_one"):
            yield lambda bad=bad: model.learn_one({**row, "new": 1.0}, bad)
    for rows in (None, 5, "text", [1.0]):
        yield lambda rows=rows: model.learn_one(rows, 1.0)


def of_river_series(model):
    row = {"a": 0.3}
    for bad in BAD:
        if bad is not None and bad is not np.nan:  # which are missing values
            yield lambda bad=bad: model.learn_one(bad, row)
            yield lambda bad=bad: model.learn_one(1.0, {"a": bad})
        yield lambda bad=bad: model.forecast(bad)
    for rows in (5, "text", [1.0]):
        yield lambda rows=rows: model.learn_one(1.0, rows)
        yield lambda rows=rows: model.forecast(1, [rows])
    yield lambda: model.forecast(model.horizon + 1)
    yield lambda: model.forecast(2, [row])


def of_river_alerts(model):
    for bad in BAD:
        if bad is not None and bad is not np.nan:  # which are missing values
            if hasattr(model, "score_one"):
                yield lambda bad=bad: model.score_one(named(PLAYED), bad)
                yield lambda bad=bad: model.learn_one({**named(PLAYED), "new": 1.0}, bad)
                yield lambda bad=bad: model.learn_one({**named(PLAYED), "new": bad}, 1.0)
            else:
                yield lambda bad=bad: model.update(bad)
                yield lambda bad=bad: model.update([bad])
    if hasattr(model, "score_one"):
        for rows in (None, 5, "text", [1.0]):
            yield lambda rows=rows: model.learn_one(rows, 1.0)


def of_sklearn(model):
    row, good = (
        x(PLAYED)[None],
        np.array(["dull"]) if hasattr(model, "classes_") else np.array([0.5]),
    )
    for bad in (
        np.inf,
        -np.inf,
        "text",
        "1e999",
    ):  # complex numbers are a TypeError of scikit-learn's
        rows = np.array([[0.1, bad]], dtype=object)
        yield lambda rows=rows: model.partial_fit(rows, good)
        yield lambda rows=rows: model.predict(rows)
    for rows in (row[0], row[:, :1], np.ones((2, 2)), None, "text", row[None]):
        yield lambda rows=rows: model.partial_fit(rows, good)
    for target in ([np.nan], [np.inf], [None], [1.0, 2.0], None, ["never announced"]):
        yield lambda target=target: model.partial_fit(row, target)


def attempts(name, learner):
    """Calls that must be refused."""
    if name == "river.SeriesForecaster":
        return of_river_series(learner)
    if name in ("river.Anomalies", "river.Changes"):
        return of_river_alerts(learner)
    if name.startswith("river."):
        return of_river(learner)
    if name.startswith("sklearn."):
        return of_sklearn(learner)
    if isinstance(learner, sp.Fleet):
        return of_fleets(learner)
    if isinstance(learner, GradientLearner):
        return of_gradients(learner)
    if isinstance(learner, baselines.Bandit):
        return of_values(learner)
    if isinstance(learner, RadiusTracker):
        return of_scores(learner)
    if isinstance(learner, sp.IntervalTracker):
        return of_intervals(learner)
    if isinstance(learner, TrackingModel | sp.TrackingVAW | baselines.FLHVAW) or name == "Wrapped":
        return of_contexts(learner)
    if isinstance(learner, sp.Forecaster):
        return of_horizons(learner)
    if isinstance(learner, sp.Anomalies | sp.Changes):
        return of_alerts(learner)
    assert isinstance(learner, SeriesForecaster | VAWForecaster | sp.QuantileTracker), name
    return of_series(learner)


def refuse_all(name, case, stage, least):
    """Make all bad calls on a learner at that stage; its state and its future are those of one that
    never saw them.
    """
    learner = case.build()
    first = 0 if stage == "new" else PLAYED
    if first:
        play(case, learner, 0, first)
    if stage == "open":
        case.open(learner, first)
    twin, before = copy.deepcopy(learner), state(learner)
    tried = 0
    for attempt in attempts(name, learner):
        try:
            attempt()
        except ValueError:
            tried += 1
            assert state(learner) == before, f"{attempt.__defaults__} left a trace"
        else:
            pytest.fail(f"{attempt.__defaults__} was accepted")
    assert tried >= least
    assert np.array_equal(play(case, learner, first, first + 9), play(case, twin, first, first + 9))
    assert state(learner) == state(twin)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", some(parameters(CORE), every=2))
def test_refused_calls_leave_no_trace(name, stage):
    refuse_all(name, CORE[name], stage, 20)


@pytest.mark.extra
@pytest.mark.parametrize("stage", ["new", "between"])
@pytest.mark.parametrize(("package", "faces"), [("river", river_faces), ("sklearn", sklearn_faces)])
def test_calls_that_the_optional_faces_refuse_leave_no_trace(package, faces, stage):
    extras.package(package)
    for name, case in faces().items():
        refuse_all(name, case, stage, 20)


@pytest.mark.parametrize("name", some(parameters(api.NAMES), every=2))
@settings(max_examples=100 if THOROUGH else 8)
@given(data=st.binary(min_size=20, max_size=160))
def test_any_calls_that_are_refused_might_not_have_been_made(name, data):
    """The fuzzer's property, for a few sequences of calls on each learner."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api.one(bytes([api.NAMES.index(name)]) + data)


# learners that find out that double precision cannot hold a gradient, or a context, once a round is
# open
DROWNING = {
    "ExpConcave": (
        lambda: sp.ExpConcave(1, kernel=Constant(), curvature=1.0),
        lambda each, v: each.update([v]),
    ),
    "TrackingVAW": (
        lambda: sp.TrackingVAW(1, kernel=Constant()),
        lambda each, v: each.update([v], 1.0),
    ),
    "Hedge": (
        lambda: baselines.Hedge(
            [baselines.OGD(1, step=0.1), sp.ExpConcave(1, kernel=Constant(), curvature=1.0)]
        ),
        lambda each, v: each.update([v]),
    ),
}


@pytest.mark.parametrize("name", DROWNING)
def test_update_that_opened_the_round_it_refuses_closes_it_again(name):
    build, update = DROWNING[name]
    learner, twin = build(), build()
    for each in (learner, twin):
        update(each, 1e12)
    before = state(learner)
    with pytest.raises(ValueError, match="must not drown"):
        update(learner, 1e12)
    assert state(learner) == before
    for each in (learner, twin):
        update(each, 1.0)
    assert state(learner) == state(twin)


def test_a_combination_refuses_a_time_as_one():
    """One member minds the time once others have moved to it."""
    learner, twin = (
        baselines.Hedge(
            [sp.ExpConcave(1, kernel=OU(0.1), curvature=1.0), sp.KernelFTRL(1, kernel=Spline())]
        )
        for _ in "ab"
    )
    with pytest.raises(ValueError, match="shift the times"):
        learner.predict(time=-4.0)
    assert state(learner) == state(twin)
    tracker, other = (sp.Tracker(1, certify=Spline()) for _ in "ab")
    with pytest.raises(ValueError, match="shift the times"):
        tracker.predict(time=-3.0)
    assert state(tracker) == state(other)


def test_intervals_around_a_model_that_refuses_the_target():
    wrapped, twin = (sp.IntervalTracker().wrap(sp.TrackingForecaster(2)) for _ in "ab")
    with pytest.raises(ValueError, match="y must be within"):
        wrapped.update([1.0, 2.0], 1e120)
    assert state(wrapped) == state(twin)


def test_skipping_a_round_of_a_wrapped_model_closes_the_model_s_too():
    wrapped = sp.IntervalTracker().wrap(sp.TrackingForecaster(2))
    wrapped.predict([1.0, 2.0])
    wrapped.skip()
    wrapped.predict([3.0, 4.0])  # was refused: the model still had the round of the first x open
    wrapped.update([3.0, 4.0], 1.0)
    assert wrapped.model.rounds == wrapped.tracker.rounds == 2


def test_keys_of_a_refused_batch_do_not_move_those_to_come():
    fleet, twin = (sp.Fleet("QuantileTracker") for _ in "ab")
    for each in (fleet, twin):
        each.update(["a", "b", "c", 7], [1.0, 2.0, 3.0, 4.0])
        each.retire(["b", 7])
    for bad in (["d"], ["e", "f", 8], ["g", "h", "i", "j", "k"]):
        with pytest.raises(ValueError, match="y must be finite"):
            fleet.update(bad, np.full(len(bad), np.nan))
    for each in (fleet, twin):
        each.update(["x", 9, "y", "z"], [1.0, 2.0, 3.0, 4.0])
    assert state(fleet) == state(twin)


def test_bounds_of_comparators_beyond_floats_are_infinite():
    """Not an OverflowError, which `**` raises where a product would be infinite."""
    learners = [
        sp.KernelVAW(),
        sp.TrackingVAW(1),
        sp.StronglyConvex(1, kernel=OU(0.1), curvature=1.0),
        sp.ExpConcave(1, kernel=OU(0.1), curvature=1.0),
        baselines.KT(1, lipschitz=1.0),
        baselines.DiscountedFTRL(1, discount=0.9, domain=Ball(1.0)),
    ]
    for learner in learners:
        learner.update(*(([1.0], 1.0) if isinstance(learner, sp.TrackingVAW) else (1.0,)))
        assert learner.bound(1e200) == np.inf
    assert sp.KernelVAW().certificate(1e200) == np.inf
    learner = sp.Directional(1, lipschitz=1.0, kernel=OU(0.1))
    learner.update([1.0])
    assert learner.bound(1e200, 1.0) == np.inf
    learner = sp.MultiScale(1)
    learner.update([1.0])
    assert learner.bound([1.0], magnitude=1e150) == np.inf


def test_hedge_takes_gradients_of_any_size():
    learner = baselines.Hedge([baselines.OGD(1, step=0.1), sp.Tracker(1)])
    for g_t in (1e150, -1e150, 1e140, 1e150, -1e150):
        learner.update([g_t])
        assert np.isfinite(learner.predict()).all()


@pytest.mark.parametrize("loss", [1.0, None, "text", np.ones(2)])
def test_what_is_no_loss_opens_no_round(loss):
    learner, twin = (baselines.Ader(1, horizon=10, lipschitz=1.0, radius=1.0) for _ in "ab")
    with pytest.raises(ValueError, match="loss must have value"):
        learner.update_loss(loss)
    assert state(learner) == state(twin)


def test_numbers_of_things_are_numbers_that_floats_can_count():
    with pytest.raises(ValueError, match="dim must be a positive whole number"):
        sp.TrackingForecaster(2).grow(10**400)
    with pytest.raises(ValueError, match="pieces must be a positive whole number"):
        sp.VariationForecaster().bound(10**400)


@pytest.mark.parametrize("base", [4.0, 1e200])
def test_times_however_far_apart_start_finitely_many_levels(base):
    """From −1.7e308 to 1.7e308 the time elapsed is infinite, and the next level's start was beyond
    floats.
    """
    for times in ([-1.7e308, 0.0, 1.7e308], [0.0, 1e200, 1e300]):
        learner, fleet = sp.MultiScale(1, base=base), sp.Fleet("MultiScale", dim=1, base=base)
        for time in times:
            learner.update([0.5], time)
            fleet.update(["a"], [0.5], time=time)
            assert np.isfinite(learner.predict(time=np.nextafter(time, np.inf))).all()
            learner.skip()
            fleet.skip(["a"], time=np.nextafter(time, np.inf))
        assert len(learner.levels()) < 600
