"""The figure of several runs: regret or loss over rounds, a curve a label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stillpoint.core.extras import require
from stillpoint.core.validation import Array, finite
from stillpoint.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    runs: Run | Sequence[Run],
    comparators: ArrayLike | Sequence[ArrayLike] | None = None,
    *,
    log: bool | str = False,
    slopes: float | Sequence[float] = (),
    ax: Axes | None = None,
    path: str | Path | None = None,
) -> Axes:
    """Draw the regret of runs over rounds: the mean of each label, ± one standard deviation.

    Parameters
    ----------
    runs
        Runs of any learners; those of one label are seeds of one curve, and as long as each other.
        Labels are given by `sp.play(..., label=)`, by default the learner's class.
    comparators
        What regret is against: an array as `Run.regret` takes it, for all runs, or a list with one
        a run. Without it the curves are cumulative losses.
    log : bool, "x" or "y", default False
        Logarithmic axes; True for both.
    slopes
        Powers p: dashed lines that grow as T^p, 0.5 for √T, and end where the curves end.
    ax
        Axes to draw on; default: those of a new figure.
    path
        Also saves the figure there, as PDF, SVG or PNG by its suffix.

    Returns
    -------
    matplotlib.axes.Axes
        Shown by notebooks; its `figure` can be saved.
    """
    require("matplotlib", "sp.plot", "plot")
    from stillpoint.report.figures import draw_groups, new_axes, save_figure

    runs = [runs] if isinstance(runs, Run) else list(runs)
    if not runs or not all(isinstance(run, Run) and len(run) for run in runs):
        raise ValueError(
            f"runs must be one finished run or more: got {runs!r}; pass what sp.play returns"
        )
    if log not in (False, True, "x", "y"):
        raise ValueError(f"log must be True, False, 'x' or 'y': got {log!r}; choose one")
    groups: dict[str, list[Array]] = {}
    for run, u in zip(runs, _one_each(comparators, len(runs)), strict=True):
        curve = np.cumsum(run.losses) if u is None else run.regret(u)
        groups.setdefault(run.label or "run", []).append(curve)
    for label, curves in groups.items():
        lengths = sorted({curve.size for curve in curves})
        if len(lengths) > 1:
            raise ValueError(
                f"runs of one label must have the same rounds: got {lengths} for {label!r}; give"
                " them labels of their own"
            )
    axes = new_axes() if ax is None else ax
    draw_groups(
        axes,
        {label: np.stack(curves) for label, curves in groups.items()},
        says="cumulative loss" if comparators is None else "regret",
        log_x=log in (True, "x"),
        log_y=log in (True, "y"),
        slopes=finite("slopes", slopes).ravel().tolist(),
    )
    if path is not None:
        save_figure(axes.figure, Path(path))
    return axes


def _one_each(comparators: Any, runs: int) -> Sequence[Any]:
    """A comparator for every run: those of a list, or the one for all."""
    if isinstance(comparators, list | tuple) and any(np.ndim(each) for each in comparators):
        if len(comparators) != runs:
            raise ValueError(
                f"comparators must be one for all runs, or one a run: got {len(comparators)} for"
                f" {runs} runs; pass an array for one that all share"
            )
        return comparators
    return [comparators] * runs
