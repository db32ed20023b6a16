"""Forecasts of whole seasons on real series, beside statistical and learnt forecasters."""
