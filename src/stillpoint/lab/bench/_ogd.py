"""Bare loops of OGD: what the speed benchmark measures everybody beside."""

import math

import numpy as np

from stillpoint.core.array import Array
from stillpoint.core.jit import njit


@njit(cache=True)
def bare_ogd(y: Array, step: float) -> float:
    """Total loss ‖w − y‖ of OGD with a fixed step: what one pass over the data costs at least."""
    w, total = np.zeros(y.shape[1]), 0.0
    for t in range(y.shape[0]):
        square = 0.0
        for i in range(w.size):
            square += (w[i] - y[t, i]) ** 2
        distance = math.sqrt(square)
        total += distance
        if distance > 0.0:
            for i in range(w.size):
                w[i] -= step * ((w[i] - y[t, i]) / distance)
    return total


@njit(cache=True)
def recorded_ogd(y: Array, step: float, plays: Array, gradients: Array, losses: Array) -> None:
    """The same, keeping what `sp.play` keeps."""
    w = np.zeros(y.shape[1])
    for t in range(y.shape[0]):
        square = 0.0
        for i in range(w.size):
            plays[t, i] = w[i]
            square += (w[i] - y[t, i]) ** 2
        losses[t] = math.sqrt(square)
        for i in range(w.size):
            gradients[t, i] = (w[i] - y[t, i]) / losses[t] if square > 0.0 else 0.0
            w[i] -= step * gradients[t, i]
