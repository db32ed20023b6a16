"""Answers as arrays, or as tables of pandas or polars."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from stillpoint.core.extras import require
from stillpoint.estimators import frames


class TableOutput:
    """`set_output`, as transformers of scikit-learn have it."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `predict`, `predict_proba` and `predict_interval` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            Arrays, or series and tables, with the index of X where it has one; None changes
            nothing. A clone keeps it.
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(
                f'transform must be "default", "pandas" or "polars": got {transform!r}; choose one'
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _series(self, values: Any, X: Any, name: str) -> Any:
        like = self._like(X, len(values))
        return values if like is None else frames.series(values, like, name)

    def _table(self, values: Any, X: Any, columns: Sequence[Any]) -> Any:
        like = self._like(X, len(values))
        return values if like is None else frames.table(values, columns, like)

    def _like(self, X: Any, rows: int) -> Any:
        """A table of the kind that was chosen, with the index of X; None: arrays."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if kind == "default":
            return None
        library = require(kind, f'set_output(transform="{kind}")', "frames")
        if kind == "polars":
            return library.DataFrame()
        return X if frames.is_pandas(X) else library.DataFrame(index=np.arange(rows))
