"""Synthetic streams with known truth: losses and the comparator that generated them, seeded."""

from stillpoint.lab.streams.base import CHOSEN, REPORTED, Stream
from stillpoint.lab.streams.families import (
    families,
    pinball_families,
    sign_flips,
    signals,
    stagewise,
    ten_pieces,
)
from stillpoint.lab.streams.hard import (
    bursts,
    heavy_gradients,
    heavy_noise,
    irregular,
    pure_noise,
    scale_jumps,
    weighted,
)
from stillpoint.lab.streams.own import OwnStream
from stillpoint.lab.streams.reactive import (
    ReactiveStream,
    against,
    fleeing,
    orthogonal,
    random_signs,
)
from stillpoint.lab.streams.registry import Spec, all_streams, find, get
from stillpoint.lab.streams.scores import interval_scores, quantile_families, score_families

__all__ = [
    "CHOSEN",
    "REPORTED",
    "OwnStream",
    "ReactiveStream",
    "Spec",
    "Stream",
    "against",
    "all_streams",
    "bursts",
    "families",
    "find",
    "fleeing",
    "get",
    "heavy_gradients",
    "heavy_noise",
    "interval_scores",
    "irregular",
    "orthogonal",
    "pinball_families",
    "pure_noise",
    "quantile_families",
    "random_signs",
    "scale_jumps",
    "score_families",
    "sign_flips",
    "signals",
    "stagewise",
    "ten_pieces",
    "weighted",
]
