"""Gaussian beliefs about functions of time, as Kalman filters: the engine of learners for curved
losses.
"""
