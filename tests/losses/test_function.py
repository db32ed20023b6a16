"""Losses of one's own function: gradients by whichever package is there, checked for convexity."""

import importlib
import warnings
from functools import partial

import numpy as np
import pytest

import stillpoint as sp
from extras import package
from stillpoint.losses import _autodiff, from_function

JAX = pytest.param("jax", id="jax")
NAMES = ["torch", "autograd", JAX]
pytestmark = pytest.mark.extra


def numpy_of(name):
    """The package's numpy, or a skip: jax is in no extra, so it is never required."""
    if name == "jax":
        return pytest.importorskip("jax.numpy", reason="needs jax; pip install jax")
    package(name)
    return importlib.import_module({"torch": "torch", "autograd": "autograd.numpy"}[name])


def smooth(xp, w, x, y):
    """A loss of one's own: log cosh of the error, and a quarter of the weights' fourth powers."""
    return xp.log(xp.cosh(w @ x - y)) + 0.25 * xp.sum(w**4)


def smooth_gradient(w, x, y):
    return np.tanh(w @ x - y) * x + w**3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 3)), rng.standard_normal(30), rng.standard_normal((30, 3))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_formula_in_double_precision(name, rows):
    x, y, w = rows
    loss = from_function(partial(smooth, numpy_of(name)), backend=name)
    assert loss.backend == name
    stream = loss.on(x, y)
    expected = np.array([smooth_gradient(*row) for row in zip(w, x, y, strict=True)])
    values = [
        np.log(np.cosh(a @ b - c)) + 0.25 * (a**4).sum() for a, b, c in zip(w, x, y, strict=True)
    ]
    for t in (0, 17, -1):
        gradient = stream[t].gradient(w[t])
        assert gradient.dtype == np.float64
        assert gradient == pytest.approx(expected[t], rel=1e-13)
        assert stream[t].value(w[t]) == pytest.approx(values[t], rel=1e-13)
    assert stream.gradients(w) == pytest.approx(expected, rel=1e-12)
    assert stream.values(w) == pytest.approx(np.array(values), rel=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_plays_are_those_of_the_built_in_loss(name, rows):
    xp, (x, y, _) = numpy_of(name), rows
    own = from_function(lambda w, x, y: 0.5 * (w @ x - y) ** 2, backend=name).on(x, y)
    built_in = sp.losses.Squared().on(y, x=x)
    a, b = (sp.play(sp.Tracker(3), losses) for losses in (own, built_in))
    assert a.plays == pytest.approx(b.plays, rel=1e-9, abs=1e-12)
    assert a.regret(np.zeros(3)) == pytest.approx(b.regret(np.zeros(3)), rel=1e-9, abs=1e-12)
    assert xp is not None


@pytest.mark.parametrize("name", NAMES)
def test_one_function_a_round_is_a_stream(name):
    xp = numpy_of(name)
    targets = [0.5, -1.0, 2.0]
    stream = from_function([lambda w, y=y: xp.sum(xp.abs(w - y)) for y in targets], backend=name)
    run = sp.play(sp.lab.baselines.OGD(1, step=0.1), stream)
    same = sp.play(sp.lab.baselines.OGD(1, step=0.1), sp.losses.Absolute().on(targets))
    assert run.plays.tolist() == same.plays.tolist()
    assert stream.values([0.0]).tolist() == [0.5, 1.0, 2.0]
    assert stream.gradients([0.0]).tolist() == [[-1.0], [1.0], [-1.0]]


@pytest.mark.parametrize("name", ["torch", JAX])
def test_all_rounds_at_once_and_one_by_one_agree_and_branches_fall_back(name, rows):
    xp, (x, y, w) = numpy_of(name), rows
    loss = from_function(partial(smooth, xp), backend=name)
    found = loss._package.batch(loss.f, w, (x, y))
    assert found is not None
    slow = [loss.gradient(*row) for row in zip(w, x, y, strict=True)]
    assert found[1] == pytest.approx(np.array(slow), rel=1e-12, abs=1e-14)
    stream = from_function(branching, backend="torch").on(y) if name == "torch" else None
    if stream is not None:
        assert stream._plays([1.0]).shape == (30, 1)
        assert stream.rounds[0].loss._package.batch(branching, np.ones((30, 1)), (y,)) is None
        assert stream.gradients([1.0])[:, 0].tolist() == np.where(y > 0, 2.0, 1.0).tolist()


def branching(w, y):
    """Slopes 2 and 1, by a branch that no map over rows can follow."""
    return (2.0 if float(y) > 0 else 1.0) * w.sum()


def test_the_package_is_the_one_that_the_function_uses():
    torch, anp = numpy_of("torch"), numpy_of("autograd")
    assert from_function(lambda w: torch.abs(w).sum()).backend == "torch"
    assert from_function(lambda w: anp.sum(anp.abs(w))).backend == "autograd"
    first = next(name for name in _autodiff.BACKENDS if importlib.util.find_spec(name))
    assert from_function(lambda w: (w**2).sum()).backend == first


def test_a_loss_that_is_not_convex_is_warned_of_once():
    torch = numpy_of("torch")
    wavy = from_function(lambda w, y: torch.sin(3 * w - y).sum()).on(np.arange(20.0))
    with pytest.warns(UserWarning, match="is not convex near the play") as heard:
        sp.play(sp.lab.baselines.OGD(1, step=0.1), wavy)
    assert [each.filename for each in heard] == [__file__]
    silent = from_function(lambda w, y: torch.sin(w - y).sum(), check=False).on(np.arange(20.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in silent:
            each.gradient([0.3])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_convex_losses_are_not_warned_of(scale):
    torch = numpy_of("torch")
    losses = {
        "kink": lambda w: scale * torch.abs(w).sum(),
        "linear": lambda w: scale * (w * torch.arange(3.0)).sum(),
        "quartic": lambda w: scale * (w**4).sum(),
        "domain": lambda w: -scale * torch.log(w).sum(),  # no number where w ≤ 0
        "norm": lambda w: scale * torch.linalg.vector_norm(w - 1.0),
    }
    for name, f in losses.items():
        assert from_function(f).convexity_gap([0.5, 1.5, 2.5]) == 0.0, name


def test_the_gap_is_the_failure_that_was_found():
    package("torch")
    assert from_function(lambda w: -(w**2).sum()).convexity_gap([0.0]) > 1.0


def detached(torch, w):
    return float((w**2).sum())


@pytest.mark.parametrize("name", NAMES)
def test_a_function_that_the_package_cannot_follow_is_refused(name):
    numpy_of(name)
    for f in (partial(detached, None), lambda w: np.abs(np.asarray(w, float)).sum(), lambda w: 3.0):
        with pytest.raises(ValueError, match=f"what {name} can differentiate"):
            from_function(f, backend=name).gradient([1.0])


def test_bad_input_is_refused_with_a_remedy():
    torch = numpy_of("torch")
    vector = from_function(lambda w: torch.abs(w))
    with pytest.raises(ValueError, match="must return a finite number"):
        vector.value([1.0, 2.0])
    with pytest.raises(ValueError, match=r"must return a finite number: .*sum over"):
        vector.gradient([1.0, 2.0])
    with pytest.raises(ValueError, match="must return a finite number: got nan; keep plays"):
        from_function(lambda w: torch.log(w).sum()).gradient([-1.0])
    with pytest.raises(ValueError, match="must take a play and 1 of data: got TypeError"):
        from_function(lambda w: torch.abs(w).sum()).on([1.0])[0].gradient([1.0])
    with pytest.raises(ValueError, match="must take a play and 0 of data: got ZeroDivisionError"):
        from_function(lambda w: torch.abs(w).sum() / 0 + 1 / 0).gradient([1.0])
    with pytest.raises(ValueError, match="f must be a function or functions"):
        from_function(3)
    with pytest.raises(ValueError, match="must return a finite number: got nan"):
        from_function(lambda w: torch.log(w).sum()).value([-1.0])
    loss = from_function(lambda w, y: torch.abs(w - y).sum())
    with pytest.raises(ValueError, match="as many each"):
        loss.on([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="data must have an array"):
        loss.on()
    with pytest.raises(ValueError, match="data"):
        loss.on([np.nan])
    with pytest.raises(ValueError, match="f must be a function"):
        from_function([1.0])
    with pytest.raises(ValueError, match="backend must be one of jax, torch, autograd"):
        from_function(detached, backend="numpy")
    with pytest.raises(ValueError, match="u must have shape"):
        loss.on([1.0, 2.0]).values(np.zeros((3, 1)))


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("answer", [None, "abc", {}, 1j], ids=repr)
def test_what_is_no_number_is_refused_by_the_name_of_the_function(name, answer):
    numpy_of(name)

    def mine(w):
        return answer

    loss = from_function(mine, backend=name)
    for ask in (loss.value, loss.gradient):
        with pytest.raises(ValueError, match=f"mine .*got {answer!r}; return the loss"):
            ask([1.0, 2.0])


def test_without_a_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_autodiff, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"finite differences .* pip install 'stillpoint\[auto"):
        from_function(lambda w: (w**2).sum())
    with pytest.raises(ImportError, match="pip install torch"):
        from_function(lambda w: (w**2).sum(), backend="torch")


def test_learners_that_query_losses_take_them():
    torch = numpy_of("torch")
    y = np.linspace(-0.5, 0.5, 40)
    own = from_function(lambda w, y: ((w - y) ** 2).sum() / 2).on(y)
    told = {"horizon": 40, "lipschitz": 2.0, "radius": 1.0, "surrogate": False}
    a = sp.play(sp.lab.baselines.Ader(1, **told), own)
    b = sp.play(sp.lab.baselines.Ader(1, **told), sp.losses.Squared().on(y))
    assert a.plays == pytest.approx(b.plays, rel=1e-12, abs=1e-15)
    assert torch is not None
