"""The examples of the docstrings."""

import doctest
import importlib

import pytest

from extras import package

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    "name",
    [
        *("river.anomaly", "river.classification", "river.conformal", "river.drift"),
        *("river.forecasting", "river.regression"),
        *("sklearn.classification", "sklearn.regression", "sktime"),
        *("sklearn.conformal_classification", "sklearn.conformal_regression"),
    ],
)
def test_docstring_examples(name):
    package(name.partition(".")[0]), package("pandas")
    module = importlib.import_module(f"stillpoint.estimators.{name}")
    failures, tried = doctest.testmod(module)
    assert (failures, tried > 0) == (0, True)
