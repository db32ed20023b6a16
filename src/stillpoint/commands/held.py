"""What a run of a command holds while it lasts: its checkpoint, and the file of predictions."""

from abc import ABC, abstractmethod
from pathlib import Path

from stillpoint.commands.checkpoint import Checkpoint
from stillpoint.commands.sink import Sink


class Holder(ABC):
    """A run, from the beginning or from its checkpoint; `close` it, whatever happens."""

    def __init__(self) -> None:
        self.checkpoint: Checkpoint | None = None
        self._sink: Sink | None = None
        self._length: int | None = None  # bytes of predictions so far

    def _hold(self, folder: Path | None) -> None:
        """Take the checkpoint's folder, if there is to be one, and go on from what is in it."""
        self.checkpoint = Checkpoint(folder) if folder is not None else None
        try:
            self._resume()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                self._cut()
            self.close()
            raise

    def _cut(self) -> None:
        """Where no row came that would have cut off what nobody synced behind a checkpoint's
        length, do that.
        """
        if (
            self._sink is None
            and self._length is not None
            and self.predictions.stat().st_size > self._length
        ):
            self._sink = Sink(self.predictions, self._length)

    @property
    @abstractmethod
    def predictions(self) -> Path:
        """Where the predictions go."""

    @abstractmethod
    def _resume(self) -> None:
        """Go on where the checkpoint stands."""

    def close(self) -> None:
        """Close what is open."""
        if self._sink is not None:
            self._sink.close()
        if self.checkpoint is not None:
            self.checkpoint.close()
