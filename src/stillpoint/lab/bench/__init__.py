"""Benchmarks of regret and of speed, and their tables."""
