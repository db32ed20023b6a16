import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import dawsn, erfi

from cases import POTENTIALS
from naive import psi
from stillpoint.potentials import (
    CAP,
    AdaptiveQuadratic,
    Erfi,
    FreeGrad,
    ParameterFree,
    Quadratic,
    _magnitudes,
)

ALL = [*POTENTIALS, ParameterFree(0.7), Erfi(1.0, 0.6, 16.0)]
ONE_STEP = [FreeGrad(0.7), Erfi(0.7), Erfi(2.0, 0.6, 16.0), Erfi(0.5, 1.0, 4.0)]


def name(potential):
    return repr(potential)


@pytest.mark.parametrize(
    ("S", "V", "value"),
    [
        (0.5, 4, 4.52078292303838e-4),
        (3, 5, 8.851953977373834e-3),
        (30, 5, 25.450879584574363),
        (60, 5, 564395.6249380424),
        (100, 6, 94423652716.66995),
    ],
)
def test_golden_psi(S, V, value):
    assert ParameterFree(scale=1.0).magnitude(S, V, 1.0) == pytest.approx(value, rel=1e-13)


@given(st.floats(1e-3, 1e3), st.floats(4.0, 1e6), st.floats(0.0, 1.0), st.floats(1e-3, 1e3))
def test_psi_equals_its_definition(scale, v, share, h):
    s = share * min(7.0 * v, 100.0 * np.sqrt(v))
    S, V = s * h, v * h * h
    assert ParameterFree(scale).magnitude(S, V, h) == pytest.approx(psi(S, V, h, scale), rel=1e-9)
    assert ParameterFree(scale).magnitude(S, V, h, v + 1.0) == pytest.approx(
        psi(S, V, h, scale, v + 1.0), rel=1e-9
    )


def test_psi_branches_meet_and_the_papers_second_branch_does_not():
    # erratum E1: at S = 6V/h both branches have exponent V/h²; the printed −6V/h jumps
    V, h = 9.0, 1.0
    edge = 6 * V / h
    low, high = (
        ParameterFree().magnitude(edge * (1 - 1e-12), V, h),
        ParameterFree().magnitude(edge * (1 + 1e-12), V, h),
    )
    assert low == pytest.approx(high, rel=1e-9)
    assert edge / (3 * h) - 6 * V / h < 0 < V / h**2


def test_dawson_and_erfi_formulas():
    x = np.concatenate([np.linspace(1e-6, 12, 4001), np.logspace(1, 6, 200)])
    ours = np.array([_magnitudes.dawson(v) for v in x])
    assert np.abs(ours / dawsn(x) - 1).max() < 1e-14
    assert _magnitudes.dawson(0.0) == 0.0
    # m = ε[E(q) + 2h(√α/(2√U)(2EE(q) − 1) − √(αU)E(q)q/U)], E(q) = √π/2·erfi(q)
    alpha, z0, eps, S, V, h = 0.75, 4.0, 0.7, 13.0, 40.0, 1.5
    U = V + 2 * h * S + z0 * h * h
    q = S / np.sqrt(4 * alpha * U)
    E = np.sqrt(np.pi) / 2 * erfi(q)
    EE = q * E - np.expm1(q * q) / 2
    full = eps * (
        E
        + 2
        * h
        * (np.sqrt(alpha) / (2 * np.sqrt(U)) * (2 * EE - 1) - np.sqrt(alpha * U) * E * q / U)
    )
    assert Erfi(eps).magnitude(S, V, h) == pytest.approx(full, rel=1e-12)
    assert Erfi(eps).potential(S, V, h) == pytest.approx(
        eps * np.sqrt(alpha * U) * (2 * EE - 1), rel=1e-12
    )


@pytest.mark.parametrize("potential", ONE_STEP, ids=name)
@given(data=st.data())
def test_one_step_inequality(potential, data):
    """Φ(V + r², √(S² + r² + 2Sc)) − Φ(V, S) ≤ c·m(S, V) for all |c| ≤ r ≤ h."""
    h = 10.0 ** data.draw(st.floats(-6, 6))
    v = 10.0 ** data.draw(st.floats(0, 7))
    s = data.draw(st.floats(0, 1)) * min(v, 60 * np.sqrt(v)) * 10.0 ** data.draw(st.floats(-8, 0))
    r = h * data.draw(st.one_of(st.just(1.0), st.floats(0, 1)))
    c = r * data.draw(st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1)))
    S, V = s * h, (v - 1 + potential.offset) * h * h
    after = potential.potential(np.sqrt(max(S * S + r * r + 2 * S * c, 0.0)), V + r * r, h)
    before = potential.potential(S, V, h)
    assume(after < CAP / 10)
    gain = c * potential.magnitude(S, V, h)
    assert after - before <= gain + 1e-9 * (abs(after) + abs(before) + abs(gain))


@given(st.floats(0, 1e3), st.floats(0, 1e6), st.floats(0, 1), st.floats(-1, 1))
def test_one_step_is_an_equality_for_the_quadratic(S, V, r, share):
    potential, c = Quadratic(0.3), r * share
    rise = potential.potential(
        np.sqrt(max(S * S + r * r + 2 * S * c, 0.0)), V + r * r, 1.0
    ) - potential.potential(S, V, 1.0)
    assert rise == pytest.approx(c * potential.magnitude(S, V, 1.0), abs=1e-12 * (1 + S * S + V))


def test_smaller_alpha_violates_the_inequality_and_is_refused():
    # α = ½ is the constant that the heuristics suggest; a step at S = 0 already breaks it
    potential = Erfi(1.0)
    object.__setattr__(potential, "alpha", 0.4)
    worst = -np.inf
    for v in np.logspace(0, 4, 40):
        for s in np.linspace(0, 30, 61) * np.sqrt(v):
            for c in (-1.0, 1.0):
                after = potential.potential(abs(s + c), v + 1, 1.0)
                if after < 1e100:
                    worst = max(
                        worst,
                        (
                            after
                            - potential.potential(s, v, 1.0)
                            - c * potential.magnitude(s, v, 1.0)
                        )
                        / (1 + abs(after)),
                    )
    assert worst > 1e-6
    with pytest.raises(ValueError, match="alpha"):
        Erfi(1.0, alpha=0.5)
    with pytest.raises(ValueError, match="z0"):
        Erfi(1.0, alpha=0.6, z0=4.0)


@pytest.mark.parametrize("potential", [FreeGrad(0.7), Erfi(0.7), Quadratic(0.3)], ids=name)
@given(st.floats(0.1, 60.0), st.floats(2.0, 1e4), st.floats(0.1, 10))
def test_magnitude_is_the_derivative_of_the_potential(potential, s, v, h):
    assume(s * s < 80 * v)
    S, V, step = s * h, v * h * h, 1e-4 * s * h
    difference = (potential.potential(S + step, V, h) - potential.potential(S - step, V, h)) / (
        2 * step
    )
    scale = abs(potential.magnitude(S, V, h)) + abs(potential.potential(S, V, h)) / S
    assert abs(difference - potential.magnitude(S, V, h)) < 1e-5 * scale


@pytest.mark.parametrize("potential", [FreeGrad(0.7), Erfi(0.7)], ids=name)
@given(st.floats(1e-3, 1e4), st.floats(2.0, 1e6))
def test_bound_is_the_conjugate(potential, norm, V):
    h = 1.3
    start = potential.potential(0.0, potential.offset * h * h, h)
    grid = np.concatenate([[0.0], np.logspace(-3, 3, 400) * np.sqrt(V)])
    best = max(norm * S - potential.potential(S, V, h) for S in grid)
    bound = potential.bound(norm, V, h)
    assert bound >= best + start - 1e-9 * abs(best)
    assert bound <= (best + start) * 1.05 + 1e-3 * abs(best) + 1e-9


@pytest.mark.parametrize(
    ("norm", "V", "count"), [(3.0, 40.0, 0.0), (1e3, 9.5, 0.0), (3.0, 40.0, 25.0), (1e3, 9.5, 6.0)]
)
def test_bounds_are_their_formulas(norm, V, count):
    # a bound that holds may still be larger than it should be
    eps, h = 0.7, 1.5
    assert Quadratic(0.3).bound(norm, V, h, count) == pytest.approx(
        norm**2 / 0.6 + 0.15 * V, rel=1e-12
    )
    assert AdaptiveQuadratic(1.7).bound(norm, V, h, count) == pytest.approx(
        (norm**2 / 3.4 + 1.7) * np.sqrt(V), rel=1e-12
    )
    A, root = (count, count) if count else (V / h**2, np.sqrt(V) / h)
    logarithm = np.log(1 + norm * root * np.log(A) ** 2 / eps)
    sides = np.sqrt(V * logarithm), h * logarithm
    assert ParameterFree(eps).bound(norm, V, h, count) == pytest.approx(
        4 * h * eps + 6 * norm * max(sides), rel=1e-12
    )
    assert (sides[0] < sides[1]) == (norm == 1e3)  # either of the two has its turn


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-150, 1e150])
@pytest.mark.parametrize("count", [0.0, 25.0])
def test_bound_of_algorithm_2_has_no_unit_too_small_or_large(unit, count):
    one = ParameterFree(0.7).bound(3.0, 4.0, 1.0, count)
    assert ParameterFree(0.7).bound(3.0, 4.0 * unit * unit, unit, count) == pytest.approx(
        unit * one, rel=1e-12
    )


@pytest.mark.parametrize("norm", [0.0, 0.01, 0.2, 5.0])
def test_bound_of_a_small_scale_is_the_conjugate(norm):
    # where the potential falls before it rises, the best S is above 0 even for a norm of 0
    potential, V, h = Erfi(0.05), 2.0, 1.3
    S = np.linspace(0.0, 90.0, 20001)
    best = max(norm * s - potential.potential(s, V, h) for s in S)
    assert potential.bound(norm, V, h, 5.0) == pytest.approx(best, rel=1e-6)
    assert potential.bound(norm, V, h) == pytest.approx(best - 0.05 * h * np.sqrt(3.0), rel=1e-6)


@pytest.mark.parametrize("potential", ALL, ids=name)
@given(
    st.one_of(st.just(0.0), st.floats(1e-140, 1e140)),
    st.one_of(st.just(0.0), st.floats(1e-250, 1e250)),
    st.one_of(st.just(0.0), st.floats(1e-140, 1e140)),
)
@example(134078079299426.0, 4.993592041284211e26, 1e-140)  # both squares overflow
@example(1e140, 1e250, 1e-140)
@example(1e124, 1e124, 1.0)
def test_magnitude_saturates_and_is_never_nan(potential, S, V, h):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = potential.magnitude(S, potential.offset * h * h + V, h, 0.0)
        count = 4.0 + (min(V / h / h, 1e200) if h > 0 else 0.0)
        n = potential.magnitude(S, potential.offset * h * h + V, h, count)
    for value in (m, n):
        assert np.isfinite(value)
        assert value <= CAP


@pytest.mark.parametrize("potential", [p for p in ALL if not isinstance(p, Quadratic)], ids=name)
@given(st.floats(0.1, 20.0), st.floats(1.0, 1e5), st.sampled_from([1e-6, 1e6]))
def test_units_of_gradients_do_not_matter(potential, s, v, unit):
    V = potential.offset + v
    assert potential.magnitude(s * unit, V * unit * unit, unit) == pytest.approx(
        potential.magnitude(s, V, 1.0), rel=1e-9
    )


@pytest.mark.parametrize("potential", ALL, ids=name)
def test_magnitude_grows_with_the_sum(potential):
    S = np.linspace(0.0, 300.0, 601)[1:]
    m = [potential.magnitude(s, 1e3 + potential.offset, 1.0) for s in S]
    assert (np.diff(m) > 0).all()
    assert potential.magnitude(0.0, 1e3, 1.0) == 0.0


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Quadratic(0.0), "step"),
        (lambda: AdaptiveQuadratic(-1.0), "radius"),
        (lambda: ParameterFree(scale=float("inf")), "scale"),
        (lambda: FreeGrad(scale="big"), "scale"),
        (lambda: Erfi(scale=-1), "scale"),
    ],
)
def test_bad_parameters_are_named(build, word):
    with pytest.raises(ValueError, match=word):
        build()


def test_a_huge_sum_plays_at_the_cap():
    assert FreeGrad(0.5).magnitude(1e124, 1e124, 1.0) == CAP
