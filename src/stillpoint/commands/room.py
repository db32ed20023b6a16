"""How many features there is memory for, and how many rows at once are quick.

Both go with the square of the features.
"""

import math

from stillpoint.commands.errors import InputError
from stillpoint.commands.notes import CATEGORIES
from stillpoint.forecasters import _linear, _logistic

LIMIT = 1 << 29  # bytes of the filters' covariances, which every row goes over: a third of a second
# numbers of them that a batch goes over: some tenths of a second, and a signal is looked for after
# each
_WORK = 1 << 26
_CELLS = 1 << 20  # of a batch
_NUMBER = 8  # bytes


def check_room(task: str, features: int, words: bool) -> None:
    """Refuse more features than there is room for.

    words: whether some columns are text, whose categories join later.
    """
    dim = features + (CATEGORIES if words else 0)
    if _NUMBER * _numbers(task, dim) <= LIMIT:
        return
    most = math.isqrt(LIMIT // (_NUMBER * _filters(task))) - 1 - (dim - features)
    joins = f", and {CATEGORIES} categories may join" if words else ""
    needs = (
        f"{_NUMBER * _numbers(task, dim) / 2**20:,.0f} MiB of memory, and the limit is"
        f" {LIMIT >> 20}"
    )
    raise InputError(
        f"the features must be at most {most:,}: got {features:,}{joins}, for which the filters"
        f" would take {needs}; choose columns with --features a,b,c"
    )


def rows_at_once(task: str, columns: int, dim: int, most: int) -> int:
    """Return how many rows to read and learn together, at most `most`."""
    return max(1, min(most, _CELLS // columns, _WORK // _numbers(task, dim)))


def _filters(task: str) -> int:
    return len(_logistic.RATES if task == "binary" else _linear.RATES)


def _numbers(task: str, dim: int) -> int:
    """Entries of all covariances: a (dim + 1) by (dim + 1) matrix a filter, with the intercept."""
    return _filters(task) * (dim + 1) ** 2
