"""`stillpoint track`: forecasts and intervals for a file or a live stream, with summary, report and checkpoints."""

from stillpoint.track.command import track

__all__ = ["track"]
