"""Forecasters of small pools: for fleets, a few kilobytes a series."""
