"""`stillpoint fleet`: one learner a key over tables of many streams, on this machine or on Spark."""

from stillpoint.fleet.command.run import fleet

__all__ = ["fleet"]
