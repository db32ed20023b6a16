"""Faces for people with drifting data: interval and quantile trackers, river and scikit-learn
models.
"""
