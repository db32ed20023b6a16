"""Effective dimension and log-determinants: streaming against dense, closed forms, and the chain of
inequalities.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

from stillpoint.kernels import (
    OU,
    Constant,
    Dirac,
    Gaussian,
    HorizonFree,
    IntegratedBrownian,
    Matern32,
    Matern52,
    OUMixture,
    Periodic,
    Spline,
)
from stillpoint.regret import (
    effective_dimension,
    log_det,
    norms,
    spline_dimension_bound,
    spline_effective_dimension,
    spline_eigenvalues,
)
from thorough import THOROUGH, some_of

SIX = np.arange(1.0, 7.0)
T = 150 if THOROUGH else 60
TIMES = {
    "regular": np.arange(1.0, T + 1.0),
    "irregular": np.cumsum(0.1 + np.random.default_rng(8).exponential(size=T)),
}
KERNELS = [
    OU(rate=0.1),
    Constant(0.4),
    Spline(),
    Spline(offset=3.0),
    Matern32(rate=0.3),
    Matern52(rate=0.05),
    OUMixture([0.0, 0.01, 0.3, 2.0], [1.0, 0.5, 0.2, 0.1]),
    HorizonFree().mixture(),
    1e-4 * IntegratedBrownian(),
    1e-4 * IntegratedBrownian(offset=2e4, slope=10.0),
    Periodic(9.7, harmonics=3) * OU(rate=0.1),
    Spline(1.0) + Periodic(24.0) + Periodic(30.5, harmonics=2) * Spline(0.3),
    Periodic(9.7),
    OU(rate=0.1) + Dirac(0.3),
    Matern32(rate=0.1) + Dirac(2.0),
    Dirac(2.0),
    OU(rate=0.1) * Spline(offset=1.0) + Dirac(0.1),
    Dirac() * Spline(offset=1.0) + OU(rate=0.01),
]


def dense(kernel, times, ridge):
    """d_eff and log-det straight from their definitions, as T − ridge·Tr(K + ridge)⁻¹ and by LU."""
    k, eye = kernel.gram(times), np.eye(len(times))
    trace = np.trace(np.linalg.solve(k + ridge * eye, k))
    return float(trace), float(np.linalg.slogdet(eye + k / ridge)[1])


def naive(kernel, times, ridge):
    """The forward recursion for d_eff (docs/how.md) as written, with the nugget's two terms; no
    care for rounding.
    """
    space, total = kernel.state_space(), 0.0
    c = d = space.covariance(times[0])
    for i, t in enumerate(times):
        if i:
            gap = t - times[i - 1]
            f, q = space.matrix(gap), space.noise(gap, times[i - 1])
            c, d = f @ c @ f.T + q, f @ d @ f.T + q
        h, n = space.h, space.nugget(t)
        s = h @ c @ h + n + ridge
        gain = c @ h / s
        total += (h @ d @ h + n) / s
        keep = np.eye(space.size) - np.outer(gain, h)
        c, d = c - np.outer(gain, gain) * s, keep @ d @ keep.T + n * np.outer(gain, gain)
    return total


def test_golden_values():
    for method in ("dense", "streaming"):
        assert effective_dimension(OU(0.1), SIX, 1.0, method) == pytest.approx(
            1.5680594642108758, rel=1e-14
        )
        assert log_det(OU(0.1), SIX, 1.0, method) == pytest.approx(2.641939545076232, rel=1e-14)
        assert effective_dimension(Spline(), SIX, 1.0, method) == pytest.approx(
            2.806866952789699, rel=1e-14
        )
        assert log_det(Spline(), SIX, 1.0, method) == pytest.approx(5.451038453565701, rel=1e-14)
    for accuracy in (1e-4, 1e-8):
        kernel = HorizonFree(accuracy=accuracy)
        assert effective_dimension(kernel, SIX, 1.0, "dense") == pytest.approx(
            5.042448466870032, rel=1e-13
        )
        assert log_det(kernel, SIX, 1.0, "dense") == pytest.approx(11.02339838739577, rel=1e-13)
        assert effective_dimension(kernel, SIX, 1.0) == pytest.approx(
            5.042448466870032, rel=accuracy
        )
        assert log_det(kernel, SIX, 1.0) == pytest.approx(11.02339838739577, rel=accuracy)


@pytest.mark.parametrize(
    ("kernel", "times", "ridge"), some_of(KERNELS, TIMES, [1e-3, 1.0, 300.0], every=3)
)
def test_streaming_is_dense(kernel, times, ridge):
    times = TIMES[times]
    dimension, determinant = dense(kernel, times, ridge)
    for method in ("streaming", "dense", "auto"):
        assert effective_dimension(kernel, times, ridge, method) == pytest.approx(
            dimension, rel=1e-9
        )
        assert log_det(kernel, times, ridge, method) == pytest.approx(determinant, rel=1e-9)
    if ridge >= 1.0:
        assert naive(kernel, times, ridge) == pytest.approx(dimension, rel=1e-9)


@pytest.mark.parametrize("ridge", [1e-9, 1.0, 1e9])
def test_extreme_ridges(ridge):
    times = np.arange(1.0, 31.0)
    assert effective_dimension(Constant(), times, ridge) == pytest.approx(
        30.0 / (30.0 + ridge), rel=1e-12
    )
    assert log_det(Constant(), times, ridge) == pytest.approx(math.log1p(30.0 / ridge), rel=1e-12)
    assert effective_dimension(Dirac(0.5), times, ridge) == pytest.approx(
        15.0 / (0.5 + ridge), rel=1e-12
    )
    # collinear: where filters in plain coordinates break down
    many = Constant(0.5) + Constant(0.3) + Constant(0.2)
    assert effective_dimension(many, times, ridge) == pytest.approx(30.0 / (30.0 + ridge), rel=1e-9)


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES.keys())
@pytest.mark.parametrize("kernel", [*KERNELS, Gaussian(2.0)])
def test_the_chain(kernel, times):
    """d_eff ≤ Σ v_t/S_t ≤ log det ≤ d_eff·log(e + e·λmax/ridge)."""
    k = kernel.gram(times)
    for ridge in (0.01, 1.0, 100.0):
        s = np.diag(np.linalg.cholesky(k + ridge * np.eye(T))) ** 2  # the innovation variances
        middle = np.sum((s - ridge) / s)
        dimension, determinant = (
            effective_dimension(kernel, times, ridge),
            log_det(kernel, times, ridge),
        )
        top = dimension * math.log(math.e + math.e * np.linalg.eigvalsh(k)[-1] / ridge)
        ladder = [dimension, middle, determinant, top]
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(ladder))


@pytest.mark.parametrize("horizon", [1, 2, 5, 60])
def test_spline_in_closed_form(horizon):
    times = np.arange(1.0, horizon + 1.0)
    gram = Spline().gram(times)
    eigenvalues = spline_eigenvalues(horizon)
    assert eigenvalues == pytest.approx(np.sort(1.0 / np.linalg.eigvalsh(gram)), rel=1e-10)
    k = np.arange(1, horizon + 1)
    paper = 4.0 * np.sin(k * math.pi / (2 * horizon + 1)) ** 2  # E4: those of another matrix
    assert np.abs(paper - eigenvalues).max() > 1.0 / horizon
    for ridge in (1e-12, 1e-6, 1e-2, 1.0, 1e2, 1e6, 1e12):
        exact = spline_effective_dimension(horizon, ridge)
        assert exact == pytest.approx(np.sum(1.0 / (1.0 + ridge * eigenvalues)), rel=1e-12)
        assert exact == pytest.approx(effective_dimension(Spline(), times, ridge), rel=1e-12)
        assert exact <= spline_dimension_bound(horizon, ridge)
        assert spline_dimension_bound(horizon, ridge) == 0.5 * math.pi * horizon / math.sqrt(ridge)
    for ridge in (1e-2, 1.0, 1e2):
        assert spline_effective_dimension(horizon, ridge) == pytest.approx(
            dense(Spline(), times, ridge)[0], rel=1e-12
        )


def test_long_streams():
    rounds = 100_000 if THOROUGH else 20_000
    times = np.arange(1.0, rounds + 1.0)
    for ridge in (0.1, 1e4):
        assert effective_dimension(Spline(), times, ridge) == pytest.approx(
            spline_effective_dimension(rounds, ridge), rel=1e-11
        )
        eigenvalues = spline_eigenvalues(rounds)
        assert log_det(Spline(), times, ridge) == pytest.approx(
            np.log1p(1.0 / (eigenvalues * ridge)).sum(), rel=1e-11
        )
    # on a long uniform grid d_eff and log-det grow by the same amount a round (Szegő); f is the OU
    # spectral density
    rate, ridge = 0.1, 5.0
    w = 2.0 * math.pi * np.arange(4096) / 4096
    f = math.sinh(rate) / (math.cosh(rate) - np.cos(w))
    kernel = OU(rate)
    growth = [
        function(kernel, times, ridge) - function(kernel, times[: rounds // 2], ridge)
        for function in (effective_dimension, log_det)
    ]
    assert growth[0] == pytest.approx(rounds / 2 * np.mean(f / (f + ridge)), rel=1e-11)
    assert growth[1] == pytest.approx(rounds / 2 * np.mean(np.log1p(f / ridge)), rel=1e-11)


def test_blocks_do_not_show(monkeypatch):
    for kernel in KERNELS:
        whole = (
            effective_dimension(kernel, TIMES["irregular"], 0.5),
            log_det(kernel, TIMES["irregular"], 0.5),
        )
        with monkeypatch.context() as patch:
            patch.setattr(norms, "_BLOCK", 7)
            parts = (
                effective_dimension(kernel, TIMES["irregular"], 0.5),
                log_det(kernel, TIMES["irregular"], 0.5),
            )
        assert parts == whole


def test_errors():
    for function in (effective_dimension, log_det):
        with pytest.raises(ValueError, match="ridge must be positive"):
            function(OU(0.1), SIX, 0.0)
        with pytest.raises(ValueError, match="times must increase"):
            function(OU(0.1), SIX[::-1], 1.0)
        with pytest.raises(ValueError, match="times must hold"):
            function(OU(0.1), [], 1.0)
        with pytest.raises(ValueError, match="no state space"):
            function(Gaussian(1.0), SIX, 1.0, "streaming")
    for closed in (spline_effective_dimension, spline_dimension_bound):
        with pytest.raises(ValueError, match="horizon"):
            closed(0, 1.0)
        with pytest.raises(ValueError, match="ridge"):
            closed(3, -1.0)
    with pytest.raises(ValueError, match="horizon"):
        spline_eigenvalues(2.5)
