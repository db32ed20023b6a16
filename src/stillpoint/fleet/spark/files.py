"""States of buckets in files that all workers see; Spark's state has only their numbers.

Bucket b after its n-th micro-batch is the file b-n. The one before stays until the next micro-batch
is under way, for then Spark has committed the later one: what is done again finds its beginning.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any


class StateFiles:
    """A folder of states.

    Parameters
    ----------
    folder
        A path, or an address that pyarrow knows (s3://, gs://, hdfs://).
    """

    def __init__(self, folder: str) -> None:
        fs: Any = import_module("pyarrow.fs")
        self._system, self._folder = fs.FileSystem.from_uri(folder)
        self._system.create_dir(self._folder, recursive=True)

    def read(self, bucket: int, number: int) -> bytes:
        """Return a state; number 1 is the first."""
        with self._system.open_input_file(self._path(bucket, number)) as file:
            data: bytes = file.read()
            return data

    def write(self, bucket: int, number: int, pieces: Iterable[bytes | memoryview]) -> None:
        """Write a state whole, in place of one that an attempt left."""
        path = self._path(bucket, number)
        with self._system.open_output_stream(path + ".tmp") as file:
            for piece in pieces:
                file.write(piece)
        self._system.move(path + ".tmp", path)

    def drop(self, bucket: int, number: int) -> None:
        """Delete a state, if it is there."""
        path: Any = self._path(bucket, number)
        if number > 0 and self._system.get_file_info(path).is_file:
            self._system.delete_file(path)

    def _path(self, bucket: int, number: int) -> str:
        return f"{self._folder}/{bucket}-{number}"
