"""Playing learners on streams."""

from stillpoint.experiments.play import play
from stillpoint.experiments.run import Run

__all__ = ["Run", "play"]
