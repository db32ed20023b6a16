"""The benchmark of adaptive regret: its arithmetic, and what it writes."""

import json

import numpy as np
import pytest

from stillpoint.lab.bench.adaptive import adaptive_bench
from stillpoint.lab.bench.contenders import Contender, choose, contenders, facts_of, outcome
from stillpoint.lab.bench.regret import regret_bench
from stillpoint.lab.streams.registry import get
from thorough import some


class Still:
    """Plays 0."""

    def __init__(self, dim):
        self.dim, self.time = dim, 0.0

    def predict(self, time=None):
        return np.zeros(self.dim)

    def update(self, g, time=None):
        self.time += 1.0


def refuse(facts):
    raise ValueError("not today")


PLAYERS = [
    Contender("still", "nothing", lambda f: Still(f.dim)),
    Contender("moody", "nothing", refuse),
]


@pytest.fixture(scope="module")
def found():
    return adaptive_bench(PLAYERS, ["walk"], lengths=[20, 5], seeds=[0, 1], horizons=[100])


def test_rows_are_the_worst_intervals_over_their_scale(found):
    rows = [row for row in found.rows if row.learner == "still"]
    assert [row.seed for row in rows] == [0, 1]
    for row in rows:
        stream = get("walk", 100, row.seed)
        y, radius = stream.losses.y[:, 0], stream.radius
        for length, worst, ratio in zip([5, 20], row.worst, row.ratios, strict=True):
            slow = max(
                np.abs(part).sum() - np.abs(part - np.clip(np.median(part), -radius, radius)).sum()
                for part in np.lib.stride_tricks.sliding_window_view(y, length)
            )
            assert worst == pytest.approx(slow)
            assert ratio == pytest.approx(slow / (radius * np.sqrt(length)))
        assert row.switching == 0.0
    assert all("not today" in row.error for row in found.rows if row.learner == "moody")


def test_tables_have_a_row_a_learner_and_say_who_refused(found, tmp_path):
    (grid,) = found.grids()
    assert [row[0] for row in grid.rows] == ["still", "moody"]
    assert [row[-1] for row in grid.rows] == ["–", "2"]
    files = found.save(tmp_path)
    assert "| length 20 |" in files[0].read_text()
    assert json.loads(files[1].read_text())["settings"]["lengths"] == [5, 20]


def test_vectors_and_adversaries_are_judged_by_linearised_regret():
    found = adaptive_bench(
        PLAYERS[:1], ["fleeing", "orthogonal"], lengths=[10], seeds=[0], horizons=[100]
    )
    assert all(np.isfinite(row.worst).all() and not row.error for row in found.rows)


def test_lengths_beyond_the_horizon_are_refused():
    with pytest.raises(ValueError, match="lengths"):
        adaptive_bench(PLAYERS, ["walk"], lengths=[200], seeds=[0], horizons=[100])


def test_at_least_25_learners_are_played_where_none_is_named():
    usual = choose(())
    assert len(usual) >= 25
    assert {"SAOL", "CBCE", "SACS", "SwordBest", "Scream", "AFLH++"} <= {p.name for p in usual}
    assert {"PBGD-2", "FLH"} <= set(contenders()) - {p.name for p in usual}


def test_every_learner_plays_a_stream():
    stream = get("pieces10-noise0.1", 200, 0)
    for player in some(contenders().values(), every=4):
        result = outcome(player, stream)
        assert not result.error, (player.name, result.error)
        assert np.isfinite(result.regret), player.name


def test_tracker_told_nothing_beats_strongly_adaptive_learners_on_long_intervals():
    found = adaptive_bench(
        ["Tracker", "SAOL", "CBCE"], ["families"], lengths=[300], seeds=[0], horizons=[2000]
    )
    means = {
        name: np.mean([row.ratios[0] for row in found.rows if row.learner == name])
        for name in ("Tracker", "SAOL", "CBCE")
    }
    assert means["Tracker"] < min(means["SAOL"], means["CBCE"])


def test_learners_that_draw_are_given_the_seed_of_their_run():
    drawn = [p for p in contenders().values() if "values at" in p.assumes]
    assert len(drawn) == 6
    facts = facts_of(get("walk", 100, 0), 3)
    assert {player.build(facts).seed for player in drawn} == {3}


@pytest.mark.parametrize(
    "bench", [regret_bench, lambda *given, **told: adaptive_bench(*given, lengths=[10], **told)]
)
def test_benchmarks_tell_learners_the_seed_of_their_run(bench):
    heard = []
    player = Contender("curious", "nothing", lambda f: (heard.append(f.seed), Still(f.dim))[1])
    bench([player], ["walk"], seeds=[3, 4], horizons=[100])
    assert heard == [3, 4]
