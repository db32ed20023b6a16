"""The best comparators in hindsight: static, piecewise constant, and of bounded path length."""

from stillpoint.regret.hindsight.paths import hindsight_path_length, hindsight_piecewise
from stillpoint.regret.hindsight.static import hindsight_static

__all__ = ["hindsight_path_length", "hindsight_piecewise", "hindsight_static"]
