"""Alerts on a stream of numbers: changes, with their time, size and evidence."""

from stillpoint.alerts.changes import Change, Changes

__all__ = ["Change", "Changes"]
