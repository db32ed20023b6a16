"""Many streams at once: one learner a key, states stacked in arrays, rounds in compiled batches."""

from stillpoint.fleet.fleet import Fleet
from stillpoint.fleet.rows import RowPlayer

__all__ = ["Fleet", "RowPlayer"]
