"""Many streams at once: one learner a key, all rounds in compiled batches."""

from stillpoint.fleet.fleet import Fleet
from stillpoint.fleet.rows import RowPlayer

__all__ = ["Fleet", "RowPlayer"]
