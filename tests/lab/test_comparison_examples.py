"""PyNOL's three examples as scripts: they run, and stand beside its published numbers."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import stillpoint as sp

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tracker_and_the_forecaster_are_below_the_best_of_pynols_models():
    module = example("pynol_full_information")
    names = ("Ader, one gradient", "PSACS", "Tracker", "TrackingForecaster")
    chosen = [each for each in module.learners(10_000) if each[0] in names]
    result = sp.lab.compare(chosen, "stagewise", seeds=3, horizons=10_000)
    regret = {each.learner: each.regret for each in result.summaries()}
    assert regret["TrackingForecaster"] < 16.8
    assert regret["Tracker"] < 0.9 * module.BEST
    assert regret["PSACS"] < module.BEST
    assert 0.8 * module.ADER < regret["Ader, one gradient"] < module.ADER


@pytest.mark.slow
def test_ader_with_all_its_gradients_is_as_pynol_has_it():
    """Its first form runs in Python: one seed of three, whose spread is 3%."""
    module = example("pynol_full_information")
    chosen = [each for each in module.learners(10_000) if each[0] == "Ader"]
    (row,) = sp.lab.compare(chosen, "stagewise", seeds=1, horizons=10_000).rows
    assert abs(row.regret / module.ADER - 1.0) < 0.1


@pytest.mark.parametrize("name", ["full_information", "bandit", "adaptive"])
def test_an_example_runs_and_no_learner_fails(name, capsys):
    result = example(f"pynol_{name}").main(rounds=200, seeds=1)
    assert not result.failures
    out = capsys.readouterr().out
    assert "| Tracker |" in out or "| Bandit(Tracker)-2 |" in out
    assert np.isfinite([row.regret for row in result.rows]).all()
