"""Losses by the names that scikit-learn has for them."""

from typing import Any

from stillpoint.losses import Absolute, Huber, Loss, Pinball, Squared

_NAMES: dict[str, Loss] = {
    "squared_error": Squared(),
    "squared": Squared(),
    "absolute_error": Absolute(),
    "absolute": Absolute(),
    "huber": Huber(),
}


def loss_named(loss: Any, quantile: Any = None) -> Loss | None:
    """Return the loss of a name, of a name and a quantile, or itself."""
    if not isinstance(loss, str):
        if quantile is not None:
            raise ValueError(
                f'quantile must be left out unless loss is "quantile": got {quantile!r} and'
                f' {loss!r}; pass loss="quantile"'
            )
        return loss  # type: ignore[no-any-return]
    if loss in ("quantile", "pinball"):
        if quantile is None:
            raise ValueError(
                f"loss must say which quantile: got {loss!r}; pass stillpoint.losses.Pinball(0.9),"
                " or quantile=0.9 where the model takes it"
            )
        return Pinball(quantile)
    if loss not in _NAMES:
        raise ValueError(
            f"loss must be one of {[*_NAMES, 'quantile']}, or of stillpoint.losses: got {loss!r};"
            " choose one"
        )
    return _NAMES[loss]
