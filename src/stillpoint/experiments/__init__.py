"""Playing learners on streams, once or by the thousand."""

from stillpoint.experiments.play import play
from stillpoint.experiments.run import Run
from stillpoint.experiments.sweep import sweep

__all__ = ["Run", "play", "sweep"]
