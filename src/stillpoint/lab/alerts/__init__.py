"""Alerts on simulated streams: false alarms, delays, misses and errors, beside river's."""
