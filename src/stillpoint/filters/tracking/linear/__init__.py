"""The compiled round of TrackingForecaster."""
