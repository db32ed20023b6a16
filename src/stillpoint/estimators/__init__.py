"""Wrappers with the interfaces of river and of scikit-learn."""
