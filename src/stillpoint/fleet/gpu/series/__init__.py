"""Forecasters in device fleets: one text of a round, on tensors or as a kernel."""
