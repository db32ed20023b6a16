from typing import NamedTuple

import numpy as np
import pytest

from stillpoint.core.state import put_back, saved


class State(NamedTuple):
    scalars: np.ndarray
    rows: np.ndarray
    counts: np.ndarray


NAMES = {"scalars": "stats"}


def blank() -> State:
    return State(np.zeros(2), np.zeros((4, 3)), np.zeros(2, np.int64))


def test_what_is_saved_has_the_names_of_files_and_shares_nothing():
    state = State(np.arange(2.0), np.ones((4, 3)), np.array([3, 4]))
    kept = saved(state, NAMES)
    assert list(kept) == ["stats", "rows", "counts"]
    state.scalars[:] = 7.0
    again = blank()
    put_back(again, {**kept, "other": 1}, NAMES)
    assert again.scalars.tolist() == [0.0, 1.0]
    assert again.counts.tolist() == [3, 4]
    again.rows[0, 0] = 5.0
    assert kept["rows"][0, 0] == 1.0


def test_views_are_saved_and_put_back_by_their_names():
    table = np.arange(6.0).reshape(3, 2)
    parts = {"ends": table[::2], "middle": table[1]}
    kept = saved(parts)
    table[:] = 0.0
    put_back(parts, kept)
    assert table.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize(
    "bad",
    [
        {"stats": np.zeros(3)},
        {"rows": np.zeros((4, 2))},
        {"rows": np.zeros((4, 3), np.float32)},
        {"stats": [0.0, 1.0]},
        {"counts": np.zeros(2)},
    ],
)
def test_arrays_of_other_types_and_shapes_are_refused_by_their_names_in_files(bad):
    kept = saved(State(np.ones(2), np.ones((4, 3)), np.ones(2, np.int64)), NAMES)
    state = blank()
    with pytest.raises(ValueError, match=f"state '{next(iter(bad))}' must"):
        put_back(state, {**kept, **bad}, NAMES)
    assert not any(array.any() for array in state)
