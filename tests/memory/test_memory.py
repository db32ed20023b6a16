import warnings

import numpy as np
import pytest

from cases import DENSE, IRREGULAR, MARKOV, REGULAR
from stillpoint.kernels import OU, Constant, Gaussian, HorizonFree, Spline
from stillpoint.kernels.base import StationaryKernel
from stillpoint.memory import DenseMemory, StreamingMemory, levels, make_memory, streaming
from stillpoint.memory.levels import LevelMemory, Levels
from thorough import some_of

KINDS = {
    "streaming": lambda dim: StreamingMemory(OU(0.2), dim),
    "dense": lambda dim: DenseMemory(OU(0.2), dim),
    "levels": lambda dim: LevelMemory(2.0, dim),
}


def brute(kernel, times, gradients):
    """Pulls, diagonals and ‖θ‖² after each round, from the Gram matrix."""
    gram = kernel.gram(times)
    pulls = np.array([gram[t, :t] @ gradients[:t] for t in range(len(times))])
    inner = (gradients @ gradients.T) * gram
    return (
        pulls,
        np.diag(gram),
        np.array([inner[: t + 1, : t + 1].sum() for t in range(len(times))]),
    )


def drive(memory, times, gradients):
    pulls, diagonals, squares = [], [], []
    for time, g in zip(times, gradients, strict=True):
        memory.advance(time)
        pulls.append(memory.pull.copy())
        diagonals.append(memory.diagonal)
        memory.add(g)
        squares.append(memory.squared_norm)
    return np.array(pulls), np.array(diagonals), np.array(squares)


@pytest.mark.filterwarnings("ignore:time gap")
@pytest.mark.parametrize(("name", "dim"), some_of(MARKOV, [1, 3, 50], every=6))
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_streaming_equals_dense_on_every_markov_kernel(name, times, dim):
    kernel = MARKOV[name]
    gradients = np.random.default_rng(1).standard_normal((times.size, dim))
    streaming = drive(StreamingMemory(kernel, dim), times, gradients)
    dense = drive(DenseMemory(kernel.markov(), dim), times, gradients)
    exact = brute(kernel.markov(), times, gradients)
    for ours, other, truth in zip(streaming, dense, exact, strict=True):
        scale = 1.0 + np.abs(truth).max()
        assert np.abs(ours - other).max() < 1e-9 * scale
        assert np.abs(ours - truth).max() < 1e-9 * scale


@pytest.mark.parametrize("name", DENSE)
def test_dense_holds_any_kernel_through_buffer_growth(name):
    times, gradients = np.arange(1.0, 101.0), np.random.default_rng(2).standard_normal((100, 2))
    memory = make_memory(DENSE[name], 2)
    assert isinstance(memory, DenseMemory)
    for ours, truth in zip(
        drive(memory, times, gradients), brute(DENSE[name], times, gradients), strict=True
    ):
        assert np.abs(ours - truth).max() < 1e-10 * (1 + np.abs(truth).max())
    assert memory._times.size == 128  # doubled three times from 16, not copied every round


@pytest.mark.parametrize("kind", [StreamingMemory, DenseMemory])
def test_scaling_scales_the_element(kind):
    kernel, gradients = OU(0.2), np.random.default_rng(3).standard_normal((20, 2))
    plain, scaled = kind(kernel, 2), kind(kernel, 2)
    for t, g in enumerate(gradients, start=1):
        for memory in (plain, scaled):
            memory.advance(float(t))
        plain.add(g)
        scaled.add(0.25 * g)
        if t == 10:
            scaled.scale(4.0)
            scaled.scale(0.25)
    plain.scale(0.25)
    assert scaled.norm == pytest.approx(plain.norm, rel=1e-12)
    for memory in (plain, scaled):
        memory.advance(25.0)
    assert np.allclose(plain.pull, scaled.pull, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.1, 1e-40, 1e60])
def test_many_scalings_leave_dense_and_streaming_alike(factor):
    gradients = np.random.default_rng(8).standard_normal((400 if factor < 1.0 else 3, 2))
    dense, streaming = KINDS["dense"](2), KINDS["streaming"](2)
    for t, g in enumerate(gradients):
        for memory in (dense, streaming):
            memory.advance(float(t))
            memory.scale(factor)
            memory.add(g)
        assert np.isfinite(dense.pull).all()
        assert np.allclose(dense.pull, streaming.pull, rtol=1e-9, atol=0.0)


def test_a_refused_gradient_leaves_a_dense_memory_as_it_was():
    class Broken(StationaryKernel):
        """Passes every two-by-two minor and is no kernel: three times one apart pull each other
        below zero.
        """

        def _lag(self, r):
            return np.where(r == 0.0, 1.0, -0.9)

    memory = DenseMemory(Broken(), 1)
    drive(memory, [1.0, 2.0], np.ones((2, 1)))
    memory.advance(3.0)
    before = memory.arrays()
    with pytest.raises(ValueError, match="not positive definite"):
        memory.add(np.full(1, 3.0))
    assert all(np.array_equal(value, before[key]) for key, value in memory.arrays().items())


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_another_shape_are_refused(kind):
    memory = KINDS[kind](2)
    drive(memory, [1.0, 2.0, 3.0], np.ones((3, 2)))
    state = memory.arrays()
    for name in {"pull", "state", "roots", "gradients", "variances"} & state.keys():
        with pytest.raises(ValueError, match=f"state '{name}' must"):
            KINDS[kind](2).restore({**state, name: np.ones(1)})


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_shows_at_once(kind):
    # all that is read off is linear in the gradients: scaled after the last of them, or each before
    # it is added
    gradients = np.random.default_rng(4).standard_normal((20, 2))
    after, before = KINDS[kind](2), KINDS[kind](2)
    for memory, factor in ((after, 1.0), (before, -3.0)):
        drive(memory, np.arange(1.0, 21.0), factor * gradients)
    after.scale(-3.0)
    assert after.squared_norm == pytest.approx(before.squared_norm, rel=1e-12)
    assert np.allclose(after.pull, before.pull, rtol=1e-12)
    if kind == "levels":
        assert np.allclose(after.norms, before.norms, rtol=1e-12)
        assert np.allclose(after.states, before.states, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:time gap")
@pytest.mark.parametrize(
    "times", [REGULAR, IRREGULAR, IRREGULAR - 30.0], ids=["regular", "irregular", "before 0"]
)
@pytest.mark.parametrize("name", [*MARKOV, *DENSE, "levels"])
def test_rounds_in_bulk_are_those_by_call(name, times, monkeypatch):
    kernel = {**MARKOV, **DENSE}.get(name, OU(0.1))
    if name != "levels" and not np.isfinite(kernel.bound):
        times = times - min(times[0] - 0.5, 0.0)  # it lives after 0
    for module in (streaming, levels):
        monkeypatch.setattr(module, "BLOCK", 7)
    gradients = np.random.default_rng(5).standard_normal((times.size, 3))
    bulk, single = (
        LevelMemory(2.0, 3) if name == "levels" else make_memory(kernel, 3) for _ in range(2)
    )
    squares = np.empty(times.size)
    for rows in (slice(0, 0), slice(0, 11), slice(11, 12), slice(12, times.size)):
        bulk.replay(times[rows], gradients[rows], squares[rows])
    *_, expected = drive(single, times, gradients)
    assert np.allclose(squares, expected, rtol=1e-12, atol=1e-12)
    state, other = bulk.arrays(), single.arrays()
    assert state.keys() == other.keys()
    for key in state.keys() - ({"pull"} if name == "levels" else set()):
        assert np.allclose(state[key], other[key], rtol=1e-12, atol=1e-12), key


@pytest.mark.parametrize("first", [3.5, -20.0])
@pytest.mark.parametrize("base", [2.0, 2.5, 4.0])
def test_levels_are_their_kernel(base, first):
    times, gradients = (
        first + np.concatenate([[0.0, 1.0], IRREGULAR + 1.0]),
        np.random.default_rng(6).standard_normal((42, 2)),
    )
    memory = LevelMemory(base, 2)
    _, diagonals, squares = drive(memory, times, gradients)
    kernel = Levels(base, first - 1.0)
    _, exact, truth = brute(kernel, times, gradients)
    assert memory.kernel == kernel
    assert np.array_equal(diagonals, exact)
    assert np.array_equal(diagonals, [kernel.count(t) for t in times])
    assert np.allclose(squares, truth, rtol=1e-10)
    memory.advance(times[-1] + 0.75)
    late = kernel(times, times[-1] + 0.75) @ gradients
    assert np.allclose(memory.pull, late, rtol=1e-10)
    with pytest.raises(ValueError, match="base"):
        Levels(1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [0, 5, 16, 40])
def test_restored_memories_go_on(kind, rounds):
    times, gradients = np.arange(1.0, 61.0), np.random.default_rng(7).standard_normal((60, 2))
    first, second = KINDS[kind](2), KINDS[kind](2)
    drive(first, times[:rounds], gradients[:rounds])
    if rounds:
        first.scale(0.5)
    second.restore(first.arrays())
    assert second.norm == first.norm
    assert np.array_equal(second.pull, first.pull)
    for ours, other in zip(
        drive(first, times[rounds:], gradients[rounds:]),
        drive(second, times[rounds:], gradients[rounds:]),
        strict=True,
    ):
        assert np.array_equal(ours, other)


@pytest.mark.parametrize("kind", KINDS)
def test_time_may_stand_still_and_not_go_back(kind):
    memory = KINDS[kind](1)
    drive(memory, [3.0, 3.0], np.ones((2, 1)))
    assert memory.squared_norm == pytest.approx(4.0 * memory.diagonal)
    with pytest.raises(ValueError, match="time must increase"):
        memory.advance(2.5)


def test_a_scale_of_zero_empties_the_memory():
    for kind in (StreamingMemory, DenseMemory):
        memory = kind(OU(0.2), 1)
        memory.advance(1.0)
        memory.add(np.ones(1))
        memory.scale(0.0)
        memory.advance(2.0)
        memory.add(np.ones(1))
        memory.advance(3.0)
        assert memory.pull[0] == pytest.approx(np.exp(-0.2))
        assert memory.norm == pytest.approx(1.0)


class NotAKernel(StationaryKernel):
    """Symmetric, but 1 on the diagonal and more beside it."""

    def _lag(self, r):
        return np.where(r == 0, self.here, self.beside)

    def __init__(self, beside, here=1.0):
        self.beside, self.here = beside, here


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_sums_that_cancel_are_rounding_and_others_no_kernel(unit):
    gradients = unit * np.random.default_rng(8).standard_normal((60, 1))
    memory = DenseMemory(Constant(), 1)
    for time, g in enumerate(
        [*gradients, -gradients.sum(axis=0), *gradients, -gradients.sum(axis=0)]
    ):
        memory.advance(float(time))
        memory.add(g)
    assert memory.norm < 1e-6 * unit
    memory = DenseMemory(NotAKernel(-0.55), 1)
    drive(memory, [1.0, 2.0], unit * np.ones((2, 1)))
    memory.advance(3.0)
    with pytest.raises(ValueError, match="squared norm"):
        memory.add(unit * np.ones(1))


def test_a_diagonal_may_be_zero_and_not_negative():
    memory = DenseMemory(Spline(), 1)
    drive(memory, [0.0, 1.0, 2.0], np.ones((3, 1)))
    assert memory.squared_norm == pytest.approx(5.0)  # of min(s, t), where 0 adds nothing
    with pytest.raises(ValueError, match=r"k\(t, t\)"):
        DenseMemory(NotAKernel(-1.0, -1.0), 1).advance(1.0)


def test_dense_memory_refuses_what_is_not_a_kernel():
    memory = DenseMemory(NotAKernel(1.5), 1)
    memory.advance(1.0)
    memory.add(np.ones(1))
    with pytest.raises(ValueError, match="not positive definite"):
        memory.advance(2.0)
    # all two-by-two minors are fine here, the whole is not: ‖θ‖² goes negative
    memory = DenseMemory(NotAKernel(-0.9), 1)
    memory.advance(1.0)
    memory.add(np.ones(1))
    memory.advance(2.0)
    memory.add(np.ones(1))
    memory.advance(3.0)
    with pytest.raises(ValueError, match="not positive definite"):
        memory.add(np.ones(1))
    assert memory.squared_norm >= 0.0


def test_memory_is_chosen_by_kernel_and_can_be_overridden():
    assert isinstance(make_memory(HorizonFree(), 1), StreamingMemory)
    assert isinstance(make_memory(OU(0.1), 1, "dense"), DenseMemory)
    with pytest.raises(ValueError, match="state space"):
        make_memory(Gaussian(1.0), 1, "streaming")
    with pytest.raises(ValueError, match="memory must be"):
        make_memory(OU(0.1), 1, "sparse")


def test_gaps_below_the_mixtures_resolution_are_named():
    memory = StreamingMemory(HorizonFree(), 1)
    memory.advance(1.0)
    with pytest.warns(RuntimeWarning, match="min_gap=0.25") as heard:
        memory.advance(1.25)
    assert [each.filename for each in heard] == [__file__]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        # as a stream without a clock has them: no two alike
        for time in 2.0 + np.cumsum(np.linspace(0.26, 0.49, 50)):
            memory.advance(float(time))
    assert len(told) <= 2
