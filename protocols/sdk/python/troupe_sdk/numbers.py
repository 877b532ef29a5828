"""Sequence numbers of envelopes (``seq``).

They increase per subject and MAJOR version. A new client starts with the current time, so its
numbers are higher than those before a restart. Concurrent envelopes may overtake each other, and
the server refuses one whose number is too low. Such an envelope is sent again alone: new envelopes
of its subject wait meanwhile.
"""
import threading
import time
from contextlib import contextmanager
from typing import Dict, Iterator, List, Tuple

__all__ = ["Line", "Numbers"]

#: MAJOR version and subject.
Line = Tuple[str, str]

#: Numbers below the time need not be remembered: the next one is the time.
REMEMBERED_MAX = 1_000


class Numbers:
    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._last: Dict[Line, int] = {}
        #: a lock, and how many hold it or wait for it
        self._alone: Dict[Line, List] = {}

    def next(self, line: Line, above: int = 0) -> int:
        """:param above: another client of the same sender has used this number"""
        now = int(time.time() * 1000)
        with self._mutex:
            following = max(self._last.get(line, 0) + 1, above + 1, now)
            if len(self._last) >= REMEMBERED_MAX:
                self._last = {key: last for key, last in self._last.items() if last >= now}
            self._last[line] = following
            return following

    def free(self, line: Line) -> None:
        """Returns when no envelope of the subject is sent alone."""
        with self._mutex:
            is_free = line not in self._alone
        if not is_free:
            with self.alone(line):
                pass

    @contextmanager
    def alone(self, line: Line) -> Iterator[None]:
        """Runs exclusively within its subject."""
        with self._mutex:
            entry = self._alone.setdefault(line, [threading.Lock(), 0])
            entry[1] += 1
        try:
            with entry[0]:
                yield
        finally:
            with self._mutex:
                entry[1] -= 1
                if entry[1] == 0:
                    del self._alone[line]
