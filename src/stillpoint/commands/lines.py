"""Records of a file, a pipe or standard input: whole lines, each at an exact place in bytes."""

import hashlib
import os
import select
import stat
import time
from collections import deque

from stillpoint.commands.errors import InputError, RowError, ShrunkError, Stop
from stillpoint.commands.packed import GZIP, PACKED, Unpacked, open_file, standard_input

BLOCK = 1 << 18
LONGEST = 1 << 24  # bytes of a line: a file without line ends is not read into memory
# bytes of a record with line ends between quotes: a stray quote would make one of all that follows
QUOTED = 1 << 20
AT_ONCE = 1 << 23  # bytes of records taken together, unless one alone has more
HEAD = 4096  # bytes that tell one input from another
_PAUSE = 0.1  # seconds between looks at an input that has nothing new
_OPEN = (
    "a row must close its quotes: the one opened on line {} stays open {}; close it, or double a"
    " quote that is part of a cell"
)


class Lines:
    """Records of an input in order, by `take`, in bounded memory.

    Parameters
    ----------
    source
        A path, or "-" for standard input.
    follow
        Wait for more at the end of a file until it is deleted; standard input ends when whoever
        writes to it closes it.
    quotes
        Whether a line end between double quotes belongs to the record, as in CSV.
    stop
        Ends a search for the place to go on.
    """

    def __init__(self, source: str, follow: bool, quotes: bool, stop: Stop | None = None) -> None:
        self.follow, self.quotes, self._stop = follow, quotes, stop or Stop()
        self.gone, self._begun, self.head = False, False, b""
        self._clear()
        self._own = source != "-"
        self._fd = open_file(source, follow) if self._own else standard_input()
        mode = os.fstat(self._fd).st_mode
        if stat.S_ISDIR(mode):
            self.close()
            what = f"got the folder {source}; name a file in it"
            raise InputError(f"the input must be a file: {what}")
        self.regular = stat.S_ISREG(mode)
        # a shell may have read some of it
        self.position = os.lseek(self._fd, 0, os.SEEK_CUR) if self.regular else 0
        self._unpacked: Unpacked | None = None
        if self.regular and os.pread(self._fd, 2, self.position) == GZIP:
            if follow:
                self.close()
                raise InputError(
                    f"a file that is followed must not be packed: got {source}; follow the plain"
                    " file, or leave --follow out"
                )
            # places are those in what it unpacks to, which is read in order, as a pipe is
            self.regular, self.position = False, 0
        # of all bytes up to the records taken last, which may be put back, and those
        self._digest, self._pending = hashlib.sha256(), b""
        self._digested = self._start = self.position
        self._waits = follow and (self.regular or self._own)

    def _clear(self) -> None:
        """Nothing has been read."""
        self._ready: deque[bytes] = deque()
        self._room, self._line = 0, 0  # bytes of what is ready; lines that have ended
        self._rest: list[bytes] = []  # the line that has begun, in the pieces in which it came
        self._held: list[bytes] = []  # lines before it that are of the same record
        # bytes; the line whose quote is open, 0 for none
        self._rest_size, self._held_size, self._opened = 0, 0, 0
        self._ended, self._unended, self._open_end, self._wrong = False, False, False, ""

    @property
    def size(self) -> int | None:
        """Bytes in all, for files."""
        return os.fstat(self._fd).st_size if self.regular else None

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self._ended and not self._ready

    def take(self, limit: int) -> list[bytes]:
        """Return up to so many records that are there; after a short wait, maybe none."""
        while len(self._ready) < limit and self._room < AT_ONCE:
            if self._ended or self._wrong or not self._fill(wait=not self._ready):
                break
        records: list[bytes] = []
        size = 0
        while self._ready and len(records) < limit and size < AT_ONCE:
            records.append(self._ready.popleft())
            size += len(records[-1]) + 1
        self._room -= size
        if not records:
            if self._wrong:  # all before it has been taken
                raise RowError(0, self._wrong)
            return records
        self._digest.update(self._pending)
        self._digested += len(self._pending)
        self._pending = b"\n".join([*records, b""])
        self.position += len(self._pending)
        if self.ended and self._unended:
            self.position -= 1  # the last line has no end
        return records

    def put_back(self, records: list[bytes]) -> None:
        """Let the last records taken come again."""
        if self.ended and self._unended and records:
            self.position += 1
        self._ready.extendleft(reversed(records))
        size = sum(map(len, records)) + len(records)
        self.position -= size
        self._room += size
        self._pending = self._pending[: len(self._pending) - size]

    def seek(self, position: int) -> None:
        """Go on at this place, where a record begins; called once the header has been taken."""
        if self.regular:
            size = self.size or 0
            if size < position:
                raise InputError(
                    f"the input must not have shrunk: got {size} bytes of {position} read before;"
                    " begin anew"
                )
            self._clear()
            self._digest_again(position)
            os.lseek(self._fd, position, os.SEEK_SET)
            self.position = position
            if position and os.pread(self._fd, 1, position - 1) != b"\n":
                self._open_end = not self._pass_end()
            return
        while self.position < position:
            try:
                if self.take(1):
                    continue
                over = self.ended
            except RowError:  # a record that was whole before is cut off
                over = True
            self._stop.check()
            if over:
                got = f"got {self.position} bytes of {position} read before"
                remedy = "replay a pipe from its start, or begin anew"
                raise InputError(f"the input must be as long as before: {got}; {remedy}")

    def _digest_again(self, position: int) -> None:
        """Read what was read before: an edit anywhere in it makes this another input."""
        self._digest, self._digested, self._pending = hashlib.sha256(), self._start, b""
        while self._digested < position:
            block = os.pread(self._fd, min(BLOCK, position - self._digested), self._digested)
            if not block:  # it was long enough a moment ago
                raise InputError(
                    "the input must not have shrunk: it got shorter while it was read; begin anew"
                )
            self._digest.update(block)
            self._digested += len(block)
            self._line += block.count(b"\n")
            if self._digested < position:
                self._stop.check()

    def _pass_end(self) -> bool:
        """Whether the last line read, which had no end, has one now; refused if it has gone on."""
        mark = os.pread(self._fd, 2, self.position)
        if mark[:1] != b"\n" and not b"\r\n".startswith(mark):
            raise InputError(
                "the last line read must not change: more was added to it; delete the checkpoint to"
                " begin anew"
            )
        width = mark.find(b"\n") + 1  # 0: it is yet to come
        os.lseek(self._fd, width, os.SEEK_CUR)
        self.position += width
        self._line += width > 0
        self._pending = mark[:width]
        return width > 0

    def fingerprint(self, head: int, tail: int) -> list[str | None]:
        """Return hashes of the first `head` bytes, of the last before `tail`, and of all before it.

        tail: where the records taken last end, or, after `seek`, the place that was sought. None
        stands for bytes that cannot be read again.
        """
        whole = self._digest.copy()
        whole.update(self._pending[: max(tail - self._digested, 0)])
        if not self.regular:
            return [_hash(self.head[:head]), None, whole.hexdigest()]
        start = max(tail - HEAD, 0)
        ends = os.pread(self._fd, head, 0), os.pread(self._fd, tail - start, start)
        return [*map(_hash, ends), whole.hexdigest()]

    def close(self) -> None:
        """Close the file."""
        if self._own:
            os.close(self._fd)

    def _fill(self, wait: bool) -> bool:
        """Read a block and cut it into records; return whether there are more of them now."""
        if not self.regular and not select.select([self._fd], [], [], _PAUSE if wait else 0.0)[0]:
            return False
        if self._open_end and not self._pass_end():
            self._nothing(wait)
            return False
        self._open_end = False
        try:
            block = os.read(self._fd, BLOCK if self._unpacked is None else PACKED)
        except BlockingIOError:
            return False
        if not self._begun and block[:2] == GZIP:
            self._unpacked = Unpacked()
        self._begun = True
        if self._unpacked is not None:
            given, (block, self._wrong) = block, self._unpacked.add(block)
            if given and not block:
                return False
        if not block:
            self._nothing(wait)
            return False
        if len(self.head) < HEAD:
            self.head = (self.head + block)[:HEAD]
        before = len(self._ready)
        self._cut(block)
        return len(self._ready) > before

    def _nothing(self, wait: bool) -> None:
        if not self._waits:
            if self._rest_size or self._held:
                self._end_lines([b"".join(self._rest)])
                self._rest, self._rest_size, self._unended = [], 0, True
            if self._opened:
                self._wrong = _OPEN.format(self._opened, "to the end of the input")
            self._ended = not self._wrong
            return
        if self.regular and (self.size or 0) < os.lseek(self._fd, 0, os.SEEK_CUR):
            raise ShrunkError(
                "the input must only grow while it is followed: it got shorter; start again"
            )
        # nobody can write to it by name: waiting would be for ever
        if self._own and os.fstat(self._fd).st_nlink == 0:
            self._ended = self.gone = True
            return
        if wait:
            time.sleep(_PAUSE)

    def _cut(self, block: bytes) -> None:
        """Take in a block. Each byte is looked at once, however long the record that it is of."""
        first, *others = block.split(b"\n")
        self._rest.append(first)
        self._rest_size += len(first)
        if not others:
            self._too_long(self._rest_size)
            return
        lines = [b"".join(self._rest), *others[:-1]]
        self._rest, self._rest_size = [others[-1]], len(others[-1])
        if self._held or (self.quotes and (b'"' in block or b'"' in lines[0])):
            self._end_lines(lines)
        elif not self._too_long(len(lines[0])):  # the others are part of one block
            self._ready.extend(lines)
            self._room += sum(map(len, lines)) + len(lines)
            self._line += len(lines)
        self._too_long(self._rest_size)

    def _end_lines(self, lines: list[bytes]) -> None:
        """Lines have ended, and with them their records, unless that is between quotes."""
        for line in lines:
            length = len(line)
            if (self._held or length > BLOCK) and self._too_long(length):
                return
            self._line += 1
            if self.quotes and line.count(b'"') % 2:
                self._opened = 0 if self._opened else self._line
            if not self._opened and not self._held:
                self._ready.append(line)
                self._room += length + 1
                continue
            self._held.append(line)
            self._held_size += length + 1
            if not self._opened:
                self._ready.append(b"\n".join(self._held))
                self._room += self._held_size
                self._held, self._held_size = [], 0

    def _too_long(self, length: int) -> bool:
        """Whether a line of so many bytes makes its record too long: `take` refuses it."""
        if not self._wrong and self._held and self._held_size + length > QUOTED:
            self._wrong = _OPEN.format(self._opened, f"for {QUOTED >> 20} MiB")
        if not self._wrong and length > LONGEST:
            remedy = "end lines with \\n, and write one row a line"
            what = f"line {self._line + 1} is longer; {remedy}"
            self._wrong = f"a row must be shorter than {LONGEST >> 20} MiB: {what}"
        return bool(self._wrong)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
