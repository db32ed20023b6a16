from typing import NamedTuple

import numpy as np
import pytest

from stillpoint.core.state import restored, saved


class State(NamedTuple):
    scalars: np.ndarray
    rows: np.ndarray


NAMES = {"scalars": "stats"}
SHAPES = {"scalars": (2,), "rows": (None, 3)}


def test_what_is_saved_has_the_names_of_files_and_shares_nothing():
    state = State(np.arange(2.0), np.ones((4, 3)))
    kept = saved(state, NAMES)
    assert kept.keys() == {"stats", "rows"}
    state.scalars[:] = 7.0
    again = restored(State, {**kept, "other": 1}, SHAPES, NAMES)
    assert type(again) is State
    assert again.scalars.tolist() == [0.0, 1.0]
    again.rows[0, 0] = 5.0
    assert kept["rows"][0, 0] == 1.0


@pytest.mark.parametrize(
    "bad",
    [
        {"stats": np.zeros(3)},
        {"rows": np.zeros((4, 2))},
        {"rows": np.zeros((4, 3), np.float32)},
        {"stats": [0.0, 1.0]},
    ],
)
def test_arrays_of_other_types_and_shapes_are_refused_by_their_names_in_files(bad):
    kept = saved(State(np.zeros(2), np.zeros((4, 3))), NAMES)
    with pytest.raises(ValueError, match=f"state '{next(iter(bad))}' must"):
        restored(State, {**kept, **bad}, SHAPES, NAMES)
