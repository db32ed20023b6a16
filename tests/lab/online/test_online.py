"""Learners made of base learners, meta learners and schedules equal their slow twins."""

import numpy as np
import pytest

import naive_online as naive
import stillpoint as sp
from stillpoint import checks
from stillpoint.domains import Ball
from stillpoint.lab.baselines import (
    AFLH,
    CBCE,
    FLH,
    OEGD,
    PSACS,
    SACS,
    SAOL,
    OptimisticOGD,
    Scream,
    SwordBest,
    SwordPP,
    SwordSmallLoss,
    SwordVariation,
)
from stillpoint.losses import Huber, Squared
from thorough import some, some_of

T, R = 150, 0.8


def rounds(dim, seed=0, length=T):
    """Squared losses whose targets jump and drift; their gradients in the ball are below 4."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.uniform(-0.6, 0.6, (6, dim)), length // 6 + 1, axis=0)[:length]
    wave = 0.2 * np.sin(np.arange(length) / 9.0)[:, None]
    return Squared().on(level + wave + 0.1 * rng.standard_normal((length, dim)))


SWORD = {"horizon": 100, "lipschitz": 4.0, "smoothness": 1.0, "radius": R}
SIZES = {"lipschitz": 4.0, "radius": R}


def on_cover(*parts, **options):
    return lambda losses, d: naive.cover(losses, d, *parts, 4.0, R, **options)[0]


TWINS = {
    "optimistic": (
        lambda d: OptimisticOGD(d, step=0.2, domain=Ball(R)),
        lambda losses, d: naive.optimistic_ogd(losses, d, 0.2, R),
    ),
    "oegd": (
        lambda d: OEGD(d, step=0.3, domain=Ball(R)),
        lambda losses, d: naive.oegd(losses, d, 0.3, R),
    ),
    "sword variation": (
        lambda d: SwordVariation(d, **SWORD),
        lambda losses, d: naive.sword(losses, d, 100, 4.0, 1.0, R, "variation"),
    ),
    "sword small loss": (
        lambda d: SwordSmallLoss(d, **SWORD),
        lambda losses, d: naive.sword(losses, d, 100, 4.0, 1.0, R, "small"),
    ),
    "sword best": (
        lambda d: SwordBest(d, **SWORD),
        lambda losses, d: naive.sword(losses, d, 100, 4.0, 1.0, R, "best"),
    ),
    "sword++": (
        lambda d: SwordPP(d, **SWORD),
        lambda losses, d: naive.sword_pp(losses, d, 100, 4.0, 1.0, R),
    ),
    "scream": (
        lambda d: Scream(d, horizon=100, lipschitz=4.0, radius=R, switching=0.7),
        lambda losses, d: naive.scream(losses, d, 100, 4.0, 0.7, R),
    ),
    "saol": (lambda d: SAOL(d, **SIZES), on_cover("dense", "prod", "fading")),
    "saol losses": (
        lambda d: SAOL(d, surrogate=False, **SIZES),
        on_cover("dense", "prod", "fading", surrogate=False),
    ),
    "cbce": (lambda d: CBCE(d, **SIZES), on_cover("dense", "coin", "fading")),
    "cbce losses": (
        lambda d: CBCE(d, surrogate=False, **SIZES),
        on_cover("dense", "coin", "fading", surrogate=False),
    ),
    "sacs": (lambda d: SACS(d, **SIZES), on_cover("compact", "normal", "scale-free")),
    "sacs losses": (
        lambda d: SACS(d, surrogate=False, **SIZES),
        on_cover("compact", "normal", "scale-free", surrogate=False),
    ),
    "aflh": (
        lambda d: AFLH(d, horizon=100, **SIZES),
        on_cover("history", "share", "fading", rate=1 / (4.0 * 2 * R * 10.0)),
    ),
    "aflh losses": (
        lambda d: AFLH(d, horizon=100, surrogate=False, **SIZES),
        on_cover("history", "share", "fading", rate=1 / (4.0 * 2 * R * 10.0), surrogate=False),
    ),
    "flh": (
        lambda d: FLH(d, curvature=1.0, **SIZES),
        on_cover("history", "share", "strong", rate=1 / 16.0, curvature=1.0, surrogate=False),
    ),
    "flh newton": (
        lambda d: FLH(d, curvature=0.1, kind="exp-concave", **SIZES),
        on_cover("history", "share", "newton", rate=0.1, curvature=0.1, surrogate=False),
    ),
    "psacs": (
        lambda d: PSACS(d, threshold=0.3, **SIZES),
        on_cover("compact", "normal", "scale-free", surrogate=False, threshold=0.3),
    ),
}
MAKERS = {name: make for name, (make, _) in TWINS.items()}


@pytest.mark.parametrize(("name", "dim"), some_of(TWINS, [1, 3], every=4))
def test_equals_the_slow_twin(name, dim):
    make, twin = TWINS[name]
    losses = rounds(dim)
    plays = sp.play(make(dim), losses).plays
    assert np.allclose(plays, twin(list(losses), dim), rtol=1e-7, atol=1e-9)
    assert np.ptp(plays, axis=0).max() > 0.1  # it moves


@pytest.mark.parametrize("name", some(MAKERS, every=2))
def test_bulk_gives_the_numbers_of_the_interactive_path(name):
    for losses in (rounds(1), Huber(0.5).on(rounds(3).y)):
        compiled, interactive = MAKERS[name](losses.dim), MAKERS[name](losses.dim)
        a, b = sp.play(compiled, losses), sp.play(interactive, list(losses))
        assert np.array_equal(a.plays, b.plays)
        assert np.array_equal(a.losses, b.losses)
        assert checks._same(compiled, interactive)


@pytest.mark.parametrize("name", some(MAKERS, every=2))
def test_state_resumes_and_saves(name, tmp_path):
    learner, losses = MAKERS[name](2), list(rounds(2))
    sp.play(learner, losses[:70])
    learner.predict()
    sp.save(learner, tmp_path / "learner")
    loaded = sp.load(tmp_path / "learner")
    assert checks._same(learner, loaded)
    assert type(loaded)(**loaded.config).config == learner.config
    for each in (learner, loaded):
        each.update_loss(losses[70])
    assert np.array_equal(sp.play(learner, losses[71:]).plays, sp.play(loaded, losses[71:]).plays)


GRADIENTS_DO = [name for name in MAKERS if not MAKERS[name](1).takes_losses]
CHECKS = checks.all_checks()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("name", some(GRADIENTS_DO, every=2))
def test_conformance(name, check):
    check(MAKERS[name])
