"""Losses by name."""

from stillpoint.losses import Absolute, Huber, Loss, Pinball, Squared

BY_NAME: dict[str, Loss] = {"absolute": Absolute(), "squared": Squared(), "huber": Huber()}
LOSSES = (*BY_NAME, "pinball")  # the last with a level


def as_loss(loss: Loss | str, level: float | None = None) -> Loss:
    """A loss by name."""
    if isinstance(loss, Loss):
        return loss
    if loss == "pinball" and level is not None:
        return Pinball(level)
    if loss not in BY_NAME:
        known = ", ".join(BY_NAME)
        raise ValueError(
            f"loss must be one of {known}: got {loss!r}; or pass one of sp.losses, such as"
            " Pinball(0.9)"
        )
    return BY_NAME[loss]
