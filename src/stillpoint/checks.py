"""Conformance checks that every gradient learner must pass, of this library or of your own.

Examples
--------
>>> from stillpoint import checks
>>> checks.check_learner(lambda dim: MyLearner(dim=dim))  # doctest: +SKIP
"""

import copy
import inspect
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import stillpoint
from stillpoint.core.registry import Foreign
from stillpoint.core.validation import Array
from stillpoint.learners import GradientLearner
from stillpoint.learners.part_checks import Factory
from stillpoint.learners.part_checks import check_bound_holds as check_bound_holds
from stillpoint.learners.part_checks import check_domain_projects as check_domain_projects
from stillpoint.learners.part_checks import (
    check_kernel_is_positive_definite as check_kernel_is_positive_definite,
)


def public_learners() -> Iterator[tuple[str, Factory]]:
    """Yield every gradient learner in the library's namespace, with a factory from its dimension.

    Required arguments get an ordinary value by their names; a learner with others has a class
    method `_example(dim)`.
    """
    for name in dir(stillpoint):
        member = getattr(stillpoint, name)
        if inspect.isclass(member) and issubclass(member, GradientLearner):
            yield name, getattr(member, "_example", partial(_build, member))


def _build(learner: Callable[..., GradientLearner], dim: int) -> GradientLearner:
    ordinary = {"kernel": stillpoint.kernels.OU(rate=0.1), "lipschitz": 1.0, "curvature": 0.5}
    arguments: dict[str, Any] = {"dim": dim}
    for name, parameter in inspect.signature(learner).parameters.items():
        if parameter.default is parameter.empty and name not in arguments:
            if name not in ordinary:
                raise ValueError(
                    f"{learner} must be built without {name!r}, or with an ordinary value: got no"
                    " such value; give the class a method _example(dim)"
                )
            arguments[name] = ordinary[name]
    return learner(**arguments)


def all_checks() -> dict[str, Callable[[Factory], None]]:
    """Return every check of this module by name."""
    found = inspect.getmembers(inspect.getmodule(all_checks), inspect.isfunction)
    return {
        name: check
        for name, check in found
        if name.startswith("check_") and name != "check_learner"
    }


def check_learner(make: Factory) -> None:
    """Run every check on learners built by `make(dim)`.

    Raises
    ------
    AssertionError
        Names the check that failed.
    ValueError
        If `make` builds no subclass of `stillpoint.learners.GradientLearner`.
    """
    made = make(1)
    if not isinstance(made, GradientLearner):
        raise ValueError(
            f"make must build a GradientLearner: got a {type(made).__name__}; subclass"
            " stillpoint.learners.GradientLearner (sp.play needs predict and update only)"
        )
    for name, check in all_checks().items():
        try:
            check(make)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def _gradients(rounds: int, dim: int, seed: int = 0) -> Array:
    """Unit-norm gradients that drift, so that learners do move."""
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((rounds, dim)) + np.sin(np.arange(rounds) / 7.0)[:, None]
    return np.asarray(g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12))


def _drive(learner: GradientLearner, gradients: Array) -> Array:
    plays = np.empty_like(gradients)
    for t, g in enumerate(gradients):
        plays[t] = learner.predict()
        learner.update(g)
    return plays


def _same(a: GradientLearner, b: GradientLearner) -> bool:
    left, right = a.arrays(), b.arrays()
    return left.keys() == right.keys() and all(
        np.array_equal(left[key], right[key], equal_nan=True) for key in left
    )


def _saved_and_loaded(learner: GradientLearner) -> GradientLearner:
    """By a file; in memory where that has no name for a class, as for those of your own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            stillpoint.save(learner, Path(folder) / "learner")
        except Foreign:
            anew = type(learner)(**learner.config)
            anew.restore(copy.deepcopy(learner.arrays()))
            return anew
        loaded: GradientLearner = stillpoint.load(Path(folder) / "learner")
        return loaded


def check_predict_repeats(make: Factory) -> None:
    """predict() twice gives the same play, and the caller's copy is the caller's own."""
    learner = make(3)
    _drive(learner, _gradients(20, 3))
    first = learner.predict()
    again = learner.predict()
    assert np.array_equal(first, again), "predict() changed between two calls in one round"
    first += 1.0
    assert np.array_equal(learner.predict(), again), (
        "changing the returned play changed the learner"
    )
    assert again.shape == (3,), f"a play must have shape (dim,): got {again.shape}"


def check_update_predicts_first(make: Factory) -> None:
    """update() without predict() does the same as with it."""
    a, b = make(2), make(2)
    for g in _gradients(20, 2):
        a.predict()
        a.update(g)
        b.update(g)
    assert _same(a, b), "update() without predict() went another way"


def check_takes_losses(make: Factory) -> None:
    """update_loss() does the same as update() with the gradient; what is not a loss is refused."""
    a, b = make(2), make(2)
    for t, g in enumerate(_gradients(20, 2)):
        if t % 2:
            a.predict()
        a.update_loss(stillpoint.losses.Linear().on(g[None, :])[0])
        b.update(g)
    assert _same(a, b), "update_loss() went another way than update()"
    try:
        a.update_loss(None)  # type: ignore[arg-type]
    except ValueError:
        assert _same(a, b), "a rejected loss changed the learner"
    else:
        raise AssertionError("update_loss accepted None")


def check_rejects_bad_gradients(make: Factory) -> None:
    """NaN, infinity, wrong shapes and text raise ValueError, and not a bit changes."""
    learner, twin = make(3), make(3)
    for g in _gradients(12, 3):
        for each in (learner, twin):
            each.update(g)
    learner.predict()
    twin.predict()
    bad = [
        [np.nan, 0, 0],
        [np.inf, 0, 0],
        [0.1, 0.1],
        [[0.1, 0.1, 0.1]],
        0.1,
        ["a", "b", "c"],
        None,
    ]
    for value in bad:
        try:
            learner.update(value)  # type: ignore[arg-type]
        except ValueError:
            assert _same(learner, twin), f"a rejected gradient {value!r} changed the learner"
        else:
            raise AssertionError(f"update accepted {value!r}")
    learner.update([0.1, 0.0, 0.0])


def check_rejects_bad_times(make: Factory) -> None:
    """Times that do not increase or are not finite raise ValueError and change nothing."""
    learner, twin = make(1), make(1)
    for each in (learner, twin):
        each.predict(time=2.0)
        each.update(0.5)
    for value in (2.0, 1.0, float("nan"), float("inf")):
        try:
            learner.predict(time=value)
        except ValueError:
            assert _same(learner, twin), f"a rejected time {value} changed the learner"
        else:
            raise AssertionError(f"predict accepted time {value} after 2.0")
    assert learner.predict(time=3.5).shape == (1,)


def check_save_load_resumes(make: Factory) -> None:
    """A learner saved (mid-round too) and loaded goes on bit for bit.

    A file has no name for classes of your own: there it is `config`, `arrays` and `restore`.
    """
    for between in (True, False):
        learner = make(2)
        gradients = _gradients(60, 2)
        _drive(learner, gradients[:30])
        if not between:
            learner.predict()
        loaded = _saved_and_loaded(learner)
        assert _same(learner, loaded), "loading did not restore the state"
        assert np.array_equal(_drive(learner, gradients[30:]), _drive(loaded, gradients[30:])), (
            "the futures differ"
        )
        assert _same(learner, loaded), "the futures end in different states"


def check_certificate_is_exact(make: Factory) -> None:
    """In every round the certificate bounds the regret in the ball, and the worst attains it."""
    learner, dim, radius = make(2), 2, 1.5
    if learner.ledger is None:
        return
    gradients = _gradients(40, dim, seed=3)
    times = np.arange(1.0, 41.0)
    gram = learner.ledger.memory.kernel.gram(times)
    rng = np.random.default_rng(4)
    linear = 0.0
    for t, g in enumerate(gradients, start=1):
        linear += float(g @ learner.predict())
        learner.update(g)
        certificate = learner.certificate(radius)
        k = gram[:t, :t]
        theta = k @ gradients[:t]
        size = np.sqrt(max(float((gradients[:t] * theta).sum()), 0.0))
        worst = linear + radius * size
        assert abs(certificate - worst) <= 1e-8 * (1.0 + abs(worst)), (
            f"round {t}: certificate {certificate}, exact {worst}"
        )
        coefficients = rng.standard_normal((t, dim))
        norm = np.sqrt((coefficients * (k @ coefficients)).sum())
        u = k @ coefficients * (radius / norm)
        regret = linear - float((gradients[:t] * u).sum())
        assert regret <= certificate + 1e-9 * (1.0 + abs(certificate)), (
            f"round {t}: regret {regret} above the certificate"
        )


def check_dimensions(make: Factory) -> None:
    """Dimension 1 (plain numbers too) and 1000 work."""
    one = make(1)
    one.update(0.5)
    one.update([0.5])
    assert one.predict().shape == (1,)
    large = make(1000)
    assert np.isfinite(_drive(large, _gradients(5, 1000))).all()


def check_deterministic(make: Factory) -> None:
    """Two learners fed the same gradients play the same."""
    gradients = _gradients(50, 3)
    assert np.array_equal(_drive(make(3), gradients), _drive(make(3), gradients))


def check_silence(make: Factory) -> None:
    """Zero gradients and skipped rounds keep every play finite; skipping moves time on."""
    learner = make(2)
    assert np.isfinite(_drive(learner, np.zeros((10, 2)))).all()
    for _ in range(3):
        learner.skip()
    assert learner.rounds == 13
    assert learner.time == 13.0
    assert np.isfinite(_drive(learner, _gradients(10, 2))).all()
    assert learner.ledger is None or np.isfinite(learner.certificate(1.0))
