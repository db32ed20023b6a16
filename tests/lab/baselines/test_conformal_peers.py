"""Conformal baselines against their papers' formulas, written out."""

import math

import numpy as np
import pytest

from stillpoint.lab.baselines.conformal import ACI, SAOCP, SFOGD, Betting, DecayingStep, WindowACI

SCORES = np.abs(
    np.random.default_rng(0).standard_normal(600) * np.where(np.arange(600) < 300, 1.0, 5.0)
)
Q = 0.9


def test_aci():
    """q_{t+1} = q_t + η(err_t − α)."""
    expected, q = [], 0.0
    for s in SCORES:
        expected.append(q)
        q += 0.3 * ((s > q) - (1 - Q))
    np.testing.assert_allclose(ACI(Q, step=0.3).track(SCORES), expected, atol=1e-12)


def test_decaying_step():
    """η_t = c·t^(−1/2−ε)."""
    expected, q = [], 0.0
    for t, s in enumerate(SCORES, 1):
        expected.append(q)
        q += 2.0 * t**-0.6 * ((s > q) - (1 - Q))
    np.testing.assert_allclose(DecayingStep(Q, step=2.0).track(SCORES), expected, atol=1e-12)


def test_scale_free_gradient_descent():
    """s_{t+1} = max(0, s_t − η∇_t/√Σ∇²), η = D/√3, ∇ = α or −(1 − α)."""
    expected, q, total = [], 0.0, 0.0
    for s in SCORES:
        expected.append(q)
        gradient = (1 - Q) - (s > q)
        total += gradient**2
        q = max(0.0, q - 4.0 / math.sqrt(3) * gradient / math.sqrt(total))
    np.testing.assert_allclose(SFOGD(Q, largest=4.0).track(SCORES), expected, atol=1e-12)


def test_betting():
    """r_t = λ_t W_{t−1}, W_t = W_{t−1}(1 + λ_t c_t), λ_{t+1} = Σ_{s≤t} c_s/(t + 1), c = err − α."""
    expected, coins, wealth = [], [], 2.0
    for t, s in enumerate(SCORES, 1):
        bet = sum(coins) / t
        expected.append(bet * wealth)
        coin = (s > expected[-1]) - (1 - Q)
        wealth *= 1 + bet * coin
        coins.append(coin)
    np.testing.assert_allclose(Betting(Q, wealth=2.0).track(SCORES), expected, rtol=1e-9, atol=1e-9)


def pinball(s, r):
    return max(Q * (s - r), (1 - Q) * (r - s))


def test_saocp():
    """Bhatnagar et al. (2023), Algorithm 1, with dictionaries of experts."""
    D, alive, expected = 6.0, {}, []

    def weight(e):
        return 0.0 if e["age"] == 0 else e["z"] / e["age"] * (1 + e["wz"])

    def aggregate():
        prior = {i: 1 / (i**2 * (1 + math.floor(math.log2(i)))) for i in alive}
        p = {i: prior[i] * max(0.0, weight(e)) for i, e in alive.items()}
        p = p if sum(p.values()) > 0 else prior
        return sum(p[i] * alive[i]["r"] for i in alive) / sum(p.values()) if alive else 0.0

    for t, s in enumerate(SCORES, 1):
        stand = aggregate()
        alive = {i: e for i, e in alive.items() if t < i + 8 * (i & -i)}
        alive[t] = {"r": stand, "age": 0, "z": 0.0, "wz": 0.0, "G": 0.0}
        played = aggregate()
        expected.append(played)
        for e in alive.values():
            w = weight(e)
            g = np.clip((pinball(s, played) - pinball(s, e["r"])) / (D * Q), -1.0 * (w > 0), 1.0)
            e["z"], e["wz"], e["age"] = e["z"] + g, e["wz"] + g * w, e["age"] + 1
            gradient = (1 - Q) - (s > e["r"])
            e["G"] += gradient**2
            e["r"] = max(0.0, e["r"] - D / math.sqrt(3) / math.sqrt(e["G"]) * gradient)
    assert len(alive) <= 8 * (1 + math.log2(len(SCORES)))
    np.testing.assert_allclose(SAOCP(Q, largest=D).track(SCORES), expected, rtol=1e-9, atol=1e-9)


def test_window_aci():
    """α_{t+1} = α_t + γ(α − err_t); the radius is the quantile at 1 − α_t of the last 50 scores."""
    expected, alpha = [], 1 - Q
    for t, s in enumerate(SCORES):
        window = np.sort(SCORES[max(t - 50, 0) : t])
        rank = math.ceil((1 - alpha) * (len(window) + 1))
        expected.append(
            -np.inf if rank <= 0 else np.inf if rank > len(window) else window[rank - 1]
        )
        alpha += 0.05 * ((1 - Q) - (s > expected[-1]))
    radii = WindowACI(Q, step=0.05, window=50).track(SCORES)
    np.testing.assert_array_equal(radii, expected)
    assert np.isfinite(radii).mean() > 0.5


def test_window_aci_takes_out_equal_scores():
    scores = np.random.default_rng(1).integers(0, 4, 300).astype(float)
    tracker = WindowACI(Q, window=20)
    tracker.track(scores)
    np.testing.assert_array_equal(tracker._ordered, np.sort(scores[-20:]))


MAKERS = [
    lambda: ACI(Q, step=0.2),
    lambda: DecayingStep(Q, step=2.0),
    lambda: SFOGD(Q, largest=5.0),
    lambda: Betting(Q),
    lambda: SAOCP(Q, largest=5.0),
    lambda: WindowACI(Q),
]


@pytest.mark.parametrize("make", MAKERS)
def test_runs_are_single_rounds_and_cover(make):
    bulk, single, radii = make(), make(), []
    for s in SCORES:
        radii.append(single.predict())
        assert single.predict() == radii[-1]
        single.update(s)
    np.testing.assert_array_equal(bulk.track(SCORES), radii)
    assert bulk.predict() == single.predict()
    steady = np.abs(np.random.default_rng(2).standard_normal(4000))
    assert abs((make().track(steady) >= steady).mean() - Q) < 0.02
    assert bulk.assumes
    for bad, message in ((np.nan, "finite"), (-1.0, "not be negative"), ("a", "number")):
        with pytest.raises(ValueError, match=f"score must .*{message}|score must be a number"):
            single.update(bad)
    with pytest.raises(ValueError, match="scores must not be negative"):
        bulk.track([1.0, -1.0])
    with pytest.raises(ValueError, match="scores must be one-dimensional"):
        bulk.track([[1.0]])
    assert bulk.predict() == single.predict()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ACI(1.0), "coverage must be between 0 and 1"),
        (lambda: ACI(0.9, step=0.0), "step must be positive"),
        (lambda: DecayingStep(0.9, step=1.0, power=-1.0), "power must be positive"),
        (lambda: SFOGD(0.9, largest=-1.0), "largest must be positive"),
        (lambda: Betting(0.9, wealth=0.0), "wealth must be positive"),
        (lambda: SAOCP(0.9, largest=1.0, life=0), "life must be a positive whole number"),
        (
            lambda: SAOCP(0.9, largest=1.0, life=10**12),
            "life must be at most 65536: got 1000000000000; ",
        ),
        (lambda: WindowACI(0.9, window=1.5), "window must be a positive whole number"),
    ],
)
def test_refuses_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
