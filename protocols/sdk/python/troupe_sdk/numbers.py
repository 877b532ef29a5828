"""Numbers of envelopes (``seq``).

They rise per subject and MAJOR version, also after a restart, since a new client begins with the
time and so above an old one's. Envelopes that are sent at once may overtake each other, and one
whose number came late is refused. Such a one is sent again alone: while it is, new ones of its
subject wait.
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
        """:param above: another client of the same sender was there"""
        now = int(time.time() * 1000)
        with self._mutex:
            following = max(self._last.get(line, 0) + 1, above + 1, now)
            if len(self._last) >= REMEMBERED_MAX:
                self._last = {key: last for key, last in self._last.items() if last >= now}
            self._last[line] = following
            return following

    def free(self, line: Line) -> None:
        """Returns when those that are sent alone at present are through."""
        with self._mutex:
            is_free = line not in self._alone
        if not is_free:
            with self.alone(line):
                pass

    @contextmanager
    def alone(self, line: Line) -> Iterator[None]:
        """No other of its line is within at the same time."""
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
