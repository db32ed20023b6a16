"""ExpConcave on any domain: against projected Newton steps written out on explicit features, and
its certificate there.
"""

import numpy as np
import pytest

import naive
import stillpoint as sp
from cases import features, respond
from stillpoint.domains import Ball, Box, HalfSpace, Projection, Simplex
from stillpoint.kernels import OU, Gaussian, Spline
from stillpoint.regret import rkhs_norm
from thorough import some_of

KERNELS = {"ou": OU(0.1), "spline": Spline(1.0), "gaussian": Gaussian(3.0)}
TIMES = {
    "regular": np.arange(1.0, 26.0),
    "irregular": 0.5 + np.cumsum(np.random.default_rng(0).exponential(size=25) + 0.02),
}


def sets(dim):
    return {
        "ball": Ball(0.25),
        "ball off centre": Ball(0.25, center=np.linspace(0.1, 0.4, dim)),
        "box": Box(-0.1, 0.3),
        "simplex": Simplex(0.8),
        "half-space": HalfSpace(1.0 + np.arange(dim), 0.1),
    }


@pytest.mark.parametrize(
    ("kernel", "name", "dim", "times"), some_of(KERNELS, sets(1), [1, 2, 3, 4], TIMES, every=10)
)
def test_exp_concave_equals_the_projected_newton_step_on_every_domain(kernel, name, dim, times):
    kernel, domain, when = KERNELS[kernel], sets(dim)[name], TIMES[times]
    y = 0.3 + np.random.default_rng(3).standard_normal((when.size, dim))
    learner = sp.ExpConcave(dim, kernel=kernel, curvature=0.3, ridge=1.0, domain=domain)
    plays, _ = respond(learner, lambda t, w: w - y[t], when)
    active = []

    def project(w, metric):
        x = naive.project_in_metric(domain, w, metric)
        active.append(np.abs(x - w).max() > 1e-6)
        return x

    twin = naive.exp_concave(features(kernel, when), lambda t, w: w - y[t], dim, 0.3, 1.0, project)
    assert np.abs(plays - twin).max() <= 1e-9 * max(1.0, np.abs(twin).max())
    assert all(domain.contains(w) for w in plays)
    assert sum(active) >= 5


@pytest.mark.parametrize("name", sets(2))
def test_a_domain_known_by_its_projection_gives_the_same_plays(name):
    domain, when = sets(2)[name], TIMES["regular"]
    y = 0.3 + np.random.default_rng(3).standard_normal((when.size, 2))
    runs = []
    for each in (domain, Projection(domain.project)):
        learner = sp.ExpConcave(2, kernel=OU(0.1), curvature=0.3, domain=each)
        runs.append(sp.play(learner, sp.losses.Squared().on(y)).plays)
    assert np.abs(runs[0] - runs[1]).max() <= 1e-8


@pytest.mark.parametrize("kernel", ["ou", "spline", "gaussian"])
def test_the_certificate_holds_on_the_simplex_with_the_curvature_of_the_log_loss(kernel):
    """E11: −log⟨w, x⟩ is 1-exp-concave, and ⟨g, w − u⟩ = ⟨u, x⟩/⟨w, x⟩ − 1 ≤ max x/min x − 1."""
    rng, kernel = np.random.default_rng(4), KERNELS[kernel]
    x = rng.uniform(0.6, 1.5, (120, 3))
    losses = sp.losses.Log().on(x=x)
    curvature = sp.losses.newton_curvature(1.0, 1.5 / 0.6 - 1.0)
    learner = sp.ExpConcave(3, kernel=kernel, curvature=curvature, ridge=0.1, domain=Simplex())
    run = sp.play(learner, losses)
    assert all(Simplex().contains(w) for w in run.plays)
    for u in (np.full((120, 3), 1 / 3), np.eye(3)[np.zeros(120, dtype=int)], smooth_weights(120)):
        norm = rkhs_norm(kernel, u)
        regret = run.losses.sum() - losses.values(u).sum()
        assert regret <= learner.certificate(norm) + 1e-9 <= learner.bound(norm) + 2e-9


def smooth_weights(rounds):
    first = 0.4 + 0.3 * np.sin(np.arange(rounds) / 20.0)
    return np.column_stack([first, 0.5 * (1 - first), 0.5 * (1 - first)])
