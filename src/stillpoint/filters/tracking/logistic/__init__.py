"""The compiled round of TrackingProbabilities."""
