"""Wrappers for scikit-learn: `fit`, `partial_fit`, `predict`, `predict_proba` and `score`.

Rows are a stream, in order: `fit` starts afresh and learns them one by one, `partial_fit` goes on,
`predict` answers for each row as if it came next. A call that fails leaves the model as it was.
"""

from stillpoint.core.extras import require

require("sklearn", "stillpoint.estimators.sklearn", "sklearn")

from stillpoint.estimators.sklearn.classification import TrackingClassifier  # noqa: E402
from stillpoint.estimators.sklearn.conformal_classification import (  # noqa: E402
    ConformalClassifier,
)
from stillpoint.estimators.sklearn.conformal_regression import (  # noqa: E402
    ConformalQuantiles,
    ConformalRegressor,
)
from stillpoint.estimators.sklearn.regression import TrackingRegressor  # noqa: E402

__all__ = [
    "ConformalClassifier",
    "ConformalQuantiles",
    "ConformalRegressor",
    "TrackingClassifier",
    "TrackingRegressor",
]
