"""The best fixed comparator in hindsight: closed forms, linear programs, convex solvers."""

from collections.abc import Callable
from functools import partial
from math import inf, sqrt

import numpy as np
from scipy.optimize import linprog, minimize

from stillpoint.core.validation import Array
from stillpoint.domains import Ball, Box, Domain, Everywhere, HalfSpace, Simplex
from stillpoint.domains.base import as_domain
from stillpoint.losses import (
    Absolute,
    Hinge,
    Huber,
    Linear,
    Log,
    Logistic,
    Loss,
    LossStream,
    Pinball,
    Squared,
)
from stillpoint.regret.hindsight._shape import as_stream
from stillpoint.regret.hindsight._shape import centre as _centre
from stillpoint.regret.hindsight._shape import slopes as _slopes

_RESTARTS = 10  # of a solver, at most: the second finds nothing more but in rare cases


def hindsight_static(losses: LossStream, domain: Domain | None = None) -> Array:
    """The best fixed comparator, argmin_w Σ_t ℓ_t(w).

    Parameters
    ----------
    losses : LossStream
        The losses.
    domain : Domain, optional
        Where it may lie; everywhere by default.

    Returns
    -------
    array of shape (dim,)
        Where minimisers are many, one of them. ValueError where there is none, or the set has no
        solver.

    Notes
    -----
    Closed forms: mean, median and quantile for scalar Squared, Absolute and Pinball. Absolute,
    Pinball and Hinge with features: a linear program, or a central path in a Ball. The rest is
    smooth: L-BFGS-B or SLSQP, to about 1e-7 in w.
    """
    where = as_domain(domain, as_stream(losses).dim)
    loss, y, plain = losses.loss, losses.y, len(losses.x) == 0
    if isinstance(loss, Linear):
        return _linear((y if plain else y * losses.x).sum(axis=0), where)
    if plain and isinstance(loss, Squared):
        return where.project(y.mean(axis=0))
    if plain and losses.dim > 1:
        return _solve(partial(_distances, loss, y), where, y.mean(axis=0), y)
    if plain and isinstance(loss, Absolute | Pinball | Huber):
        return where.project(_centre(loss, y[:, 0]))  # on a line, convexity makes clipping exact
    x, y = np.ones_like(y) if plain else losses.x, y[:, 0]
    if isinstance(loss, Absolute | Pinball | Hinge):
        return _kinked(loss, x, y, where)
    if isinstance(loss, Squared) and isinstance(where, Everywhere):
        return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])
    if isinstance(loss, Log):
        return _log(x, where)
    if isinstance(loss, Logistic):
        _require_minimiser(y[:, None] * x, where)
    if not isinstance(where, Everywhere):
        return _solve(partial(_predictions, loss, x, y), where, np.zeros(losses.dim))
    # in coordinates where the features are orthonormal no scale is special, and collinear ones do
    # no harm
    left, size, right = _row_space(x)
    if not size.size:
        return np.zeros(losses.dim)  # features that are all 0: any play is as good
    root = sqrt(len(x))
    v = _solve(partial(_predictions, loss, root * left, y), where, np.zeros(size.size))
    return np.asarray((root * v / size) @ right)


def _row_space(x: Array) -> tuple[Array, Array, Array]:
    """x = left · diag(size) · right without the directions that no row has."""
    left, size, right = np.linalg.svd(x, full_matrices=False)
    rank = int(np.count_nonzero(size > 1e-15 * x.size * size[0]))
    return left[:, :rank], size[:rank], right[:rank]


def _linear(total: Array, domain: Domain) -> Array:
    """argmin ⟨total, w⟩."""
    if isinstance(domain, Ball) and total.any():
        radius, centre = _ball(domain, total.size)
        return centre - radius * (total / np.linalg.norm(total))
    low, high, normals, offsets = _polyhedron(domain, total.size)
    answer = linprog(total, normals, offsets, bounds=np.stack([low, high], axis=1), method="highs")
    if answer.x is None:
        raise ValueError(
            f"domain must be bounded for Linear losses: got {domain!r}, where the best static loss"
            " is −∞; give a Ball, a Box or a Simplex"
        )
    return domain.project(answer.x)


def _ball(domain: Ball, dim: int) -> tuple[float, Array]:
    _, parameters = domain._compiled(dim)
    return float(parameters[0]), parameters[1:]


def _polyhedron(domain: Domain, dim: int) -> tuple[Array, Array, Array, Array]:
    """(low, high, normals, offsets) of the set; those of a ball say nothing of its boundary.

    A simplex is two half-spaces in a box.
    """
    low = np.full(dim, -inf)
    high = np.full(dim, inf)
    normals = np.empty((0, dim))
    offsets = np.empty(0)
    if isinstance(domain, Box):
        low, high = domain._compiled(dim)[1].reshape(2, -1)
    elif isinstance(domain, Simplex):
        low, normals = np.zeros(dim), np.stack([np.ones(dim), -np.ones(dim)])
        offsets = np.array([domain.total, -domain.total])
    elif isinstance(domain, HalfSpace):
        normals, offsets = np.array([domain.normal], dtype=float), np.array([domain.offset])
    elif not isinstance(domain, Everywhere | Ball):
        raise ValueError(
            "domain must be Everywhere, Ball, Box, Simplex or HalfSpace for this loss: got"
            f" {domain!r}; compare with a set that contains it"
        )
    return low, high, normals, offsets


def _kinked(loss: Loss, x: Array, y: Array, domain: Domain) -> Array:
    """argmin Σ over·r₊ + under·(−r)₊, r = rows·w − target, by a linear program.

    Its dual is solved, whose multipliers are w. With a the slopes of the losses and n, p, m ≥ 0 for
    the sides normals·w ≤ offsets, w ≤ high, w ≥ low, the dual is min target·a + offsets·n + high·p
    − low·m subject to rows'a + normals'n + p − m = 0, −under ≤ a ≤ over.
    """
    rows, target = (y[:, None] * x, np.ones_like(y)) if isinstance(loss, Hinge) else (x, y)
    under, over, _ = _slopes(loss)
    if isinstance(domain, Ball):
        radius, centre = _ball(domain, x.shape[1])
        # along other directions only the barrier of the ball would have a say, and it fades
        basis = _row_space(rows)[2]
        away = _kinked_ball(rows @ basis.T, target - rows @ centre, over, under, radius)
        return np.asarray(centre + away @ basis)
    low, high, normals, offsets = _polyhedron(domain, x.shape[1])
    upper, lower, eye = np.isfinite(high), np.isfinite(low), np.eye(x.shape[1])
    cost = np.concatenate([target, offsets, high[upper], -low[lower]])
    equal = np.concatenate([rows, normals, eye[upper], -eye[lower]]).T
    bounds = np.tile([0.0, inf], (cost.size, 1))
    bounds[: y.size] = -under, over
    answer = linprog(cost, A_eq=equal, b_eq=np.zeros(x.shape[1]), bounds=bounds, method="highs")
    if answer.x is None:
        raise RuntimeError(f"the linear program was not solved: {answer.message}")
    return domain.project(answer.eqlin.marginals)


def _kinked_ball(rows: Array, target: Array, over: float, under: float, radius: float) -> Array:
    """The same over a ball around 0, along the central path: a convex program that is not linear.

    Residuals r = a − b get barriers −μ(log a + log b), the ball −Tμ log(radius² − ‖w‖²): 3Tμ bounds
    the gap.
    """
    both, rounds, w = over + under, target.size, np.zeros(rows.shape[1])

    def barrier(w: Array, mu: float) -> tuple[float, Array, Array]:
        r = rows @ w - target
        room = radius**2 - w @ w
        if room <= 0.0:
            return inf, w, np.eye(w.size)
        size = np.hypot(both * r, 2.0 * mu)
        large = size + np.abs(both * r)
        small = 4.0 * mu * mu / large  # size − |both·r|, without the difference
        up, down = np.where(r > 0.0, (large, small), (small, large))
        a, b = (mu + 0.5 * up) / both, (mu + 0.5 * down) / both
        value = np.sum(over * a + under * b - mu * np.log(a * b)) - rounds * mu * np.log(room)
        push, curve = 2.0 * rounds * mu / room, 0.5 * mu * up / (size * a * a)
        hessian = (rows.T * curve) @ rows + push * (np.eye(w.size) + 2.0 * np.outer(w, w) / room)
        return float(value), (over - mu / a) @ rows + push * w, hessian

    scale = both * np.abs(target).mean()
    for mu in scale * 0.2 ** np.arange(22 if scale else 0):
        for _ in range(50):
            value, gradient, hessian = barrier(w, mu)
            step = -np.linalg.solve(hessian, gradient)
            descent, length = -float(gradient @ step), 1.0
            if descent <= 1e-6 * mu:
                break
            while (
                length > 1e-9
                and barrier(w + length * step, mu)[0] > value - 0.25 * length * descent
            ):
                length *= 0.5
            w = w + length * step
    return w


def _require_minimiser(rows: Array, domain: Domain) -> None:
    """Raise if a direction that never leaves the set raises no row's loss, and lowers one's."""
    if domain.reach(rows.shape[1]) < inf:
        return
    low, high, normals, _ = _polyhedron(domain, rows.shape[1])
    limits = np.stack([np.where(low == -inf, -1.0, 0.0), np.where(high == inf, 1.0, 0.0)], axis=1)
    unit = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(float).tiny)
    above = np.concatenate([-unit, normals])
    answer = linprog(-unit.mean(axis=0), above, np.zeros(len(above)), bounds=limits, method="highs")
    if answer.fun < -1e-9:
        raise ValueError(
            f"domain must be bounded here: got {domain!r}, where the loss falls for ever along"
            f" {answer.x}; give a Ball or a Box"
        )


def _predictions(loss: Loss, x: Array, y: Array, w: Array) -> tuple[float, Array]:
    return float(np.mean(loss.value(x @ w, y))), np.asarray(loss.gradient(x @ w, y) @ x / len(y))


def _distances(loss: Loss, y: Array, w: Array) -> tuple[float, Array]:
    apart = np.linalg.norm(w - y, axis=1)
    pull = np.asarray(loss.gradient(apart, 0.0)) / np.maximum(apart, np.finfo(float).tiny)
    return float(np.mean(loss.value(apart, 0.0))), np.asarray(pull @ (w - y) / len(y))


def _solve(
    objective: Callable[[Array], tuple[float, Array]],
    domain: Domain,
    start: Array,
    kinks: Array | None = None,
) -> Array:
    """A minimiser over the set; kinks: points without a gradient, where it may lie."""
    low, high, normals, offsets = _polyhedron(domain, start.size)
    limits: list[dict[str, object]] = []
    if isinstance(domain, Ball):
        radius, centre = _ball(domain, start.size)
        limits = [{"type": "ineq", "fun": lambda w: radius**2 - np.sum((w - centre) ** 2)}]
    elif len(normals):
        kind = "eq" if isinstance(domain, Simplex) else "ineq"
        limits = [{"type": kind, "fun": lambda w: offsets[0] - normals[0] @ w}]
    options = {"maxiter": 10_000, "ftol": 1e-15} | ({} if limits else {"gtol": 1e-12, "maxcor": 50})
    w, least = domain.project(start), inf
    # where curvature jumps, as Huber's does, both methods may stop early; from there they go on
    for _ in range(_RESTARTS):
        w = domain.project(
            minimize(
                objective,
                w,
                jac=True,
                method="SLSQP" if limits else "L-BFGS-B",
                bounds=np.stack([low, high], axis=1),
                constraints=limits,
                options=options,
            ).x
        )
        before, least = least, objective(w)[0]
        if not least < before:
            break
    if kinks is not None:
        kink = np.array(kinks[np.linalg.norm(kinks - w, axis=1).argmin()])
        w = kink if domain.contains(kink) and objective(kink)[0] <= objective(w)[0] else w
    return w


def _log(x: Array, domain: Domain) -> Array:
    """argmin −Σ log⟨w, x_t⟩; below a floor that the minimiser stays above, −log is a parabola."""

    def objective(w: Array) -> tuple[float, Array]:
        p = x @ w
        z, d = np.maximum(p, floor), np.minimum(p / floor - 1.0, 0.0)
        return float(np.mean(0.5 * d * d - d - np.log(z))), np.asarray((d - 1.0) / z @ x / len(x))

    _require_minimiser(x, domain)
    w = np.ones(x.shape[1])
    for floor in np.abs(x).max() * 0.01 ** np.arange(2, 12):
        w = _solve(objective, domain, w)
        if np.min(x @ w) >= floor:
            return w
    raise ValueError(
        f"domain must hold a play with ⟨w, x_t⟩ > 0 in every round: got {domain!r}; widen it or"
        " drop rounds"
    )
