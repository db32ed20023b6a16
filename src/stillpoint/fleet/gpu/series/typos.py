"""Gross errors among the first values of streams; see `series._typos`."""

from stillpoint.fleet.gpu.tensors import Tensor, torch_module
from stillpoint.series._typos import ALIKE, FAR, FEW, MORE, NEAR, TIMES


def believable(values: Tensor) -> tuple[Tensor, Tensor]:
    """The range of the values (streams, rounds) that are believed; NaN: missing."""
    torch = torch_module()
    missing, infinite = values.isnan(), values.new_full((), torch.inf)
    count = values.shape[1] - missing.sum(1)
    rising = torch.where(missing, infinite, values).sort(1).values
    falling = torch.where(missing, -infinite, values).sort(1).values
    least, low, high, most = rising[:, 0], rising[:, 1], falling[:, -2], falling[:, -1]
    width = high - low
    doubted = (count >= FEW) & (width > 0.0)
    below = torch.where(doubted & (low - least > FAR * width), low, -infinite)
    above = torch.where(doubted & (most - high > FAR * width), high, infinite)
    top, bottom = torch.minimum(most, above), torch.maximum(least, below)
    doubted &= count >= MORE
    below = torch.where(doubted & strange(least, low, top), low, below)
    return below, torch.where(doubted & strange(most, bottom, high), high, above)


def strange(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Whether values are 0, or far from it, where all others are within these and much alike."""
    torch = torch_module()
    small, large = torch.minimum(low.abs(), high.abs()), torch.maximum(low.abs(), high.abs())
    far = (large < ALIKE * small) & (value.abs() > TIMES * large)
    return ((low > 0.0) | (high < 0.0)) & torch.where(value == 0.0, large < NEAR * small, far)
