"""A seeded series with a jump, its forecasts and summary, as a page is made from."""

import numpy as np

from stillpoint.report.history import history_from_arrays

START = 1_709_251_200.0  # 1 March 2024
STEPS = (1, 2, 6, 24)


def series_of(rows=600, horizon=24, jump=50.0, waiting=0, spacing=3600.0, unit="hour", keep=True):
    """Hours with a daily pattern whose level jumps after two thirds; the last may wait."""
    rng, t = np.random.default_rng(3), np.arange(rows + horizon)
    level = 150.0 + jump * (t >= rows * 2 // 3) + 20.0 * np.cos(2 * np.pi * t / 24)
    y = level[:rows] + 2.0 * rng.standard_normal(rows)
    said = level[:rows] + 0.5 * rng.standard_normal(rows)
    y[rows - waiting :] = np.nan
    day = np.concatenate([np.full(24, np.nan), y[:-24]])
    losses = {
        "stillpoint": (y - said) ** 2,
        "last value": (y - np.concatenate([[np.nan], y[:-1]])) ** 2,
        "seasonal naive": (y - day) ** 2,
    }
    time = START + spacing * np.arange(rows + horizon)
    parts = (y, said, said - 4.0, said + 4.0)
    history = history_from_arrays(
        *parts, losses, time=time[:rows], loss_name="squared error", buckets=300
    )
    inside = np.abs(y - said) <= 4.0
    texts = np.array(time, dtype="datetime64[s]").astype(str)
    after, wide = level[rows:], 4.0 + 0.2 * np.arange(horizon)
    forecast = [
        {"step": h + 1, "time": texts[rows + h], "forecast": after[h]}
        | {"lo": after[h] - wide[h], "hi": after[h] + wide[h]}
        for h in range(horizon)
    ]
    change = {"row": rows * 2 // 3 + 3, "start": rows * 2 // 3, "kind": "level up"}
    words = "level rose from 150 to 200 on 17 March 2024"
    summary = {
        "learner": "Forecaster",
        "source": "a/load.csv",
        "task": "regression",
        "target": "load",
        "rows": rows,
        "time_kind": "date",
        "loss_name": "squared error",
        "loss": {name: float(np.nanmean(values)) for name, values in losses.items()},
        "coverage": {"target": 0.9, "achieved": float(inside.mean()), "scored": rows},
        "horizon": horizon,
        "seasons": [24.0],
        "unit_of_time": unit,
        "forecast": forecast,
        "total": {"forecast": after.sum(), "lo": after.sum() - 40, "hi": after.sum() + 40},
        "horizons": [
            {"step": h, "rows": rows - h, "error": 2.0 + 0.05 * h, "last value": 6.0 + h}
            | {"seasonal naive": 3.0, "coverage": 0.9 - 0.001 * h, "width": 8.0 + 0.4 * h}
            for h in STEPS
            if h <= horizon
        ],
        "changes": [{**change, "before": 150.0, "after": 200.0, "words": words}],
        "components": {"level": 200.0, "slope": 0.1, "season 24": 19.9, "memory": -0.5},
        "relies_on": {
            "next": [{"name": "season of 24, slow", "share": 0.7}, {"name": "level", "share": 0.3}],
            "far": [{"name": "level", "share": 0.6}, {"name": "memory", "share": 0.4}],
        },
    }
    if not keep:
        history.last = {}
    return history, summary
