"""What the database is to show of a running job, written beside it: no measurement waits for that.
(A job's end waits for what is just being written, so that nothing comes after it.)

Of several wishes about one thing only the latest counts.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from modeldyno.core.errors import ModeldynoError

logger = logging.getLogger(__name__)

TRY_AGAIN_S = 1.0

Wish = Callable[[], object]


class Aside:
    def __init__(self) -> None:
        self._wishes: dict[str, Wish] = {}
        self._changed = threading.Condition()
        self._settled = 0  # how often
        self._is_busy = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="aside", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wish(self, about: str, do: Wish) -> None:
        """Done soon; again and again while the database is away, until another wish replaces it."""
        with self._changed:
            self._wishes[about] = do
            self._changed.notify_all()

    def settle(self) -> None:
        """Nothing that was wished for before will be done after this."""
        with self._changed:
            self._settled += 1
            self._wishes.clear()
            self._changed.wait_for(lambda: not self._is_busy)

    def close(self) -> None:
        self.settle()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (found := self._next()) is not None:
            about, do, settled = found
            is_done = self._try(do)
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                if not is_done and settled == self._settled:
                    self._wishes.setdefault(about, do)
                    self._changed.wait(TRY_AGAIN_S)

    def _next(self) -> tuple[str, Wish, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._wishes or self._is_closed)
            if self._is_closed:
                return None
            about = next(iter(self._wishes))
            self._is_busy = True
            return about, self._wishes.pop(about), self._settled

    def _try(self, do: Wish) -> bool:
        try:
            do()
        except ModeldynoError as error:
            logger.warning("not shown yet: %s", error)
            return False
        except Exception:
            logger.exception("this will not be shown")
        return True
