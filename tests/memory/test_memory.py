import numpy as np
import pytest

from cases import DENSE, IRREGULAR, MARKOV, REGULAR
from stillpoint.kernels import OU, Gaussian, HorizonFree
from stillpoint.kernels.base import StationaryKernel
from stillpoint.memory import DenseMemory, StreamingMemory, make_memory


def brute(kernel, times, gradients):
    """Pulls, diagonals and ‖θ‖² after each round, from the Gram matrix."""
    gram = kernel.gram(times)
    pulls = np.array([gram[t, :t] @ gradients[:t] for t in range(len(times))])
    inner = (gradients @ gradients.T) * gram
    return pulls, np.diag(gram), np.array([inner[: t + 1, : t + 1].sum() for t in range(len(times))])


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
@pytest.mark.parametrize("dim", [1, 3, 50])
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
@pytest.mark.parametrize("name", MARKOV)
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
    for ours, truth in zip(drive(memory, times, gradients), brute(DENSE[name], times, gradients), strict=True):
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
        return np.where(r == 0, 1.0, self.beside)

    def __init__(self, beside):
        self.beside = beside


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
    with pytest.warns(RuntimeWarning, match="min_gap=0.25"):
        memory.advance(1.25)
