"""From targets to what a learner is fed: slopes of losses, on tensors or traced."""

from collections.abc import Sequence

from stillpoint.fleet.gpu.programs.base import length
from stillpoint.fleet.gpu.trace import Number, exp, inverse, larger, size, where
from stillpoint.losses import Loss
from stillpoint.losses import _pointwise as losses

_IN_SPACE = (losses.SQUARED, losses.ABSOLUTE, losses.HUBER)  # of the distance to a target
_OF_ONE = (losses.PINBALL, losses.LOGISTIC, losses.HINGE)  # of one number


def supports(code: int, dim: int) -> bool:
    """Whether targets can be turned into gradients under this loss."""
    return code == losses.LINEAR or code in _IN_SPACE or (dim == 1 and code in _OF_ONE)


def code(loss: Loss | None, dim: int) -> tuple[int, float] | None:
    """Code and parameter of a loss whose gradients at such targets are learnt.

    None where targets are gradients.
    """
    if loss is None:
        return None
    if not isinstance(loss, Loss):
        raise ValueError(
            f"loss must be one of sp.losses: got {loss!r}; pass an object, such as"
            " sp.losses.Absolute()"
        )
    if not supports(loss.code, dim):
        raise ValueError(
            f"loss must have gradients at targets of {dim} numbers: got {loss!r}; pass gradients"
        )
    return None if loss.code == losses.LINEAR else (loss.code, float(loss.parameter))


def gradient(
    code: int, parameter: float, play: Sequence[Number], target: Sequence[Number]
) -> Sequence[Number]:
    """The gradient of the loss at the play, 0 at a kink; a linear loss is its own gradient."""
    if code == losses.LINEAR:
        return target
    gap = [p - y for p, y in zip(play, target, strict=True)]
    if len(gap) == 1:
        return [_slope(code, parameter, play[0], target[0], gap[0])]
    if code == losses.SQUARED:
        return gap
    far = length(gap)
    factor = inverse(larger(far, 1e-37))
    if code == losses.HUBER:
        factor = where(far > parameter, parameter * factor, 1.0)
    return [factor * x for x in gap]


def _slope(code: int, parameter: float, p: Number, y: Number, r: Number) -> Number:
    if code == losses.LOGISTIC:
        decay = exp(-size(y * p))
        return -y * (where(y * p > 0.0, decay, 1.0) / (1.0 + decay))
    if code == losses.HINGE:
        return where(y * p < 1.0, -y, 0.0)
    up, down = {losses.ABSOLUTE: (1.0, -1.0), losses.PINBALL: (1.0 - parameter, -parameter)}.get(
        code, (parameter, -parameter)
    )
    sign = where(r > 0.0, up, where(r < 0.0, down, 0.0))
    if code == losses.HUBER:
        return where(size(r) > parameter, sign, r)
    return r if code == losses.SQUARED else sign
