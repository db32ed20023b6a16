"""Files that differ from one of `persist.pack` in some of their parts, under a right checksum.

A file of a Forecaster has sixty arrays, and takes longer to be written and read than to be made a
learner; tests try thousands that differ from it in one part. So what differs goes through bytes,
and the other arrays are handed over as they were read once.
"""

from unittest.mock import patch

from stillpoint.core import container, persist

_read = container.read


def parts(data):
    """Header and arrays of a file."""
    return _read("learner", persist.FORMAT, data)


def craft(header, arrays, version=persist.FORMAT):
    """A file with a checksum that is right."""
    return b"".join(container.write("learner", version, header, arrays))


class Original:
    """A file to differ from.

    Parameters
    ----------
    data
        Its bytes.
    """

    def __init__(self, data):
        self.length = len(data)
        self.header, self.arrays = parts(data)
        self._lengths = {}

    def opening(self, header, arrays):
        """The length of the file with these parts, and a function that is `persist.unpack` of it.

        Arrays that are the very objects in `self.arrays` are those that do not differ.
        """
        changed = {k: v for k, v in arrays.items() if self.arrays.get(k) is not v}
        gone = {k: v for k, v in self.arrays.items() if arrays.get(k) is not v}
        data = craft(header, changed)
        if (names := tuple(gone)) not in self._lengths:  # of some parts, many differ in turn
            self._lengths[names] = len(craft(self.header, gone))
        length = self.length + len(data) - self._lengths[names]

        def read(kind, version, _):
            found, these = _read(kind, version, data)
            return found, {k: these[k] if k in changed else v.copy() for k, v in arrays.items()}

        def unpack():
            with patch.object(container, "read", read):
                # of the bytes themselves only their number is looked at
                return persist.unpack(bytes(length))

        return length, unpack

    def unpack(self, header, arrays):
        """`persist.unpack` of the file with these parts."""
        return self.opening(header, arrays)[1]()
