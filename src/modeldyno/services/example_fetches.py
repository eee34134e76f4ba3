"""Examples on their way into projects, in the background, and how far they are."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from modeldyno.core.errors import Cancelled, ModeldynoError, TooBusy
from modeldyno.core.examples import FetchState
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.results import Failure
from modeldyno.services.background import log_failure
from modeldyno.services.examples import ExampleService
from modeldyno.services.model_files import ModelFiles
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 2
MOST_WAITING = 20
MOST_REMEMBERED = 100
LEAVE_S = 5.0  # for those under way to notice that we close


@dataclass(frozen=True)
class ExampleFetch:
    """One example on its way into one project. Of a server that is gone, nobody remembers; what
    it had of a download is used again."""

    project_id: ProjectId
    example: str
    state: FetchState = "fetching"
    done_bytes: int = 0
    total_bytes: int | None = None
    model_id: ModelId | None = None  # once it is there
    failure: Failure | None = None


Tell = Callable[[ExampleFetch], None]


class ExampleFetches:
    def __init__(self, records: Records, examples: ExampleService, files: ModelFiles) -> None:
        self._records = records
        self._examples = examples
        self._files = files
        self._known: OrderedDict[tuple[ProjectId, str], ExampleFetch] = OrderedDict()
        self._lock = threading.Lock()
        self._listeners: list[Tell] = []
        self._is_closing = threading.Event()
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "fetch")
        self._under_way: dict[Future[None], None] = {}

    def on_progress(self, tell: Tell) -> None:
        """Called at most four times a second for each, and at its end; must be quick."""
        self._listeners.append(tell)

    def start(self, project_id: ProjectId, example: str) -> ExampleFetch:
        """One that is under way already is not started twice.

        Raises NotFound, ExampleNotFound or TooBusy.
        """
        self._records.projects.get(project_id)
        slug = self._examples.get(example).example.slug
        with self._lock:
            known = self._known.get((project_id, slug))
            if known is not None and known.state == "fetching":
                return known
            if sum(one.state == "fetching" for one in self._known.values()) >= MOST_WAITING:
                raise TooBusy(
                    f"{MOST_WAITING} examples are on their way already",
                    why=f"{MOST_AT_ONCE} are fetched at a time",
                    fix="Wait until some have arrived",
                )
            fetch = ExampleFetch(project_id, slug)
            self._remember(fetch)
        running = self._threads.submit(self._run, fetch)
        self._under_way[running] = None
        running.add_done_callback(lambda ended: self._under_way.pop(ended, None))
        running.add_done_callback(log_failure)
        return fetch

    def of(self, example: str) -> tuple[ExampleFetch, ...]:
        """The latest into each project, newest last."""
        with self._lock:
            return tuple(fetch for fetch in self._known.values() if fetch.example == example)

    def close(self) -> bool:
        """What has come of a download stays for the next time. False: one is still at work."""
        self._is_closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        return not wait((*self._under_way,), LEAVE_S).not_done

    def _run(self, fetch: ExampleFetch) -> None:
        def say(done: int, total: int | None) -> None:
            self._change(replace(fetch, done_bytes=done, total_bytes=total))

        try:
            fetched = self._examples.fetch(fetch.example, say, self._is_closing.is_set)
            example, stored = fetched.example, fetched.stored
            model = self._files.add_stored(
                fetch.project_id, example.file_name, stored, "example", fetched.source
            )
        except Cancelled:
            return
        except ModeldynoError as error:
            logger.warning("example %s: %s", fetch.example, error)
            self._change(replace(fetch, state="failed", failure=Failure.of(error)))
        except Exception as error:
            logger.exception("example %s", fetch.example)
            failure = Failure("BUG", f"Something went wrong: {type(error).__name__}", "", "")
            self._change(replace(fetch, state="failed", failure=failure))
        else:
            size = stored.size_bytes
            self._change(
                replace(fetch, state="done", done_bytes=size, total_bytes=size, model_id=model.id)
            )

    def _change(self, fetch: ExampleFetch) -> None:
        with self._lock:
            self._remember(fetch)
        for tell in self._listeners:
            tell(fetch)

    def _remember(self, fetch: ExampleFetch) -> None:
        key = (fetch.project_id, fetch.example)
        self._known[key] = fetch
        self._known.move_to_end(key)
        over = [key for key, one in self._known.items() if one.state != "fetching"]
        for key in over[: max(0, len(self._known) - MOST_REMEMBERED)]:
            del self._known[key]
