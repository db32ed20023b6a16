"""Data in Python: a frame, columns, rows or a file in, forecasts and a backtest in kind out."""

from stillpoint.frames.backtesting import Backtest, backtest
from stillpoint.frames.result import Tracked
from stillpoint.frames.tracked import track

__all__ = ["Backtest", "Tracked", "backtest", "track"]
