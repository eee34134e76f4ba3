"""Examples being added to projects in the background, with their progress."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from modeldyno.core.errors import Cancelled, ModeldynoError, TooBusy
from modeldyno.core.examples import FetchState
from modeldyno.core.ids import ModelId, ProjectId
from modeldyno.core.results import Failure
from modeldyno.services.background import BackgroundPool, unexpected_failure
from modeldyno.services.examples import ExampleService
from modeldyno.services.model_files import ModelFiles
from modeldyno.store.records.all import Records

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 2
MOST_WAITING = 20
MOST_REMEMBERED = 100


@dataclass(frozen=True)
class ExampleFetch:
    """One example being added to one project. Not kept across restarts; what was downloaded is
    used again."""

    project_id: ProjectId
    example: str
    state: FetchState = "fetching"
    done_bytes: int = 0
    total_bytes: int | None = None
    model_id: ModelId | None = None  # once it is there
    failure: Failure | None = None


FetchListener = Callable[[ExampleFetch], None]


class ExampleFetches:
    """At most ``most_waiting`` at a time."""

    def __init__(
        self,
        records: Records,
        examples: ExampleService,
        files: ModelFiles,
        *,
        most_waiting: int = MOST_WAITING,
        close_timeout_s: float = 5.0,
    ) -> None:
        self._records = records
        self._examples = examples
        self._files = files
        self._most_waiting = most_waiting
        self._fetches: OrderedDict[tuple[ProjectId, str], ExampleFetch] = OrderedDict()
        self._lock = threading.Lock()
        self._listeners: list[FetchListener] = []
        self._is_closing = threading.Event()
        self._pool = BackgroundPool(MOST_AT_ONCE, "fetch", close_timeout_s)

    def on_progress(self, listener: FetchListener) -> None:
        """Called at most four times a second for each, and at its end; must be quick."""
        self._listeners.append(listener)

    def start(self, project_id: ProjectId, example: str) -> ExampleFetch:
        """A fetch that is under way is not started again.

        Raises NotFound, ExampleNotFound or TooBusy.
        """
        self._records.projects.get(project_id)
        slug = self._examples.get(example).example.slug
        with self._lock:
            earlier = self._fetches.get((project_id, slug))
            if earlier is not None and earlier.state == "fetching":
                return earlier
            if self._pool.pending >= self._most_waiting:
                raise TooBusy(
                    f"{self._most_waiting} examples are already being downloaded",
                    why=f"{MOST_AT_ONCE} are downloaded at a time",
                    fix="Wait until some have arrived",
                )
            fetch = ExampleFetch(project_id, slug)
            self._remember(fetch)
            self._pool.submit(self._run, fetch)
        return fetch

    def of(self, example: str) -> tuple[ExampleFetch, ...]:
        """The latest into each project, newest last."""
        with self._lock:
            return tuple(fetch for fetch in self._fetches.values() if fetch.example == example)

    def close(self) -> bool:
        """What was downloaded stays for the next time. False: one is still at work."""
        self._is_closing.set()
        return self._pool.close()

    def _run(self, fetch: ExampleFetch) -> None:
        def report(done: int, total: int | None) -> None:
            self._update(replace(fetch, done_bytes=done, total_bytes=total))

        try:
            fetched = self._examples.fetch(fetch.example, report, self._is_closing.is_set)
            example, stored = fetched.example, fetched.stored
            model = self._files.add_stored(
                fetch.project_id, example.file_name, stored, "example", fetched.source
            )
        except Cancelled:
            return
        except ModeldynoError as error:
            logger.warning("example %s: %s", fetch.example, error)
            self._update(replace(fetch, state="failed", failure=Failure.of(error)))
        except Exception as error:
            logger.exception("example %s", fetch.example)
            self._update(replace(fetch, state="failed", failure=unexpected_failure(error)))
        else:
            size = stored.size_bytes
            self._update(
                replace(fetch, state="done", done_bytes=size, total_bytes=size, model_id=model.id)
            )

    def _update(self, fetch: ExampleFetch) -> None:
        with self._lock:
            self._remember(fetch)
        for listener in self._listeners:
            listener(fetch)

    def _remember(self, fetch: ExampleFetch) -> None:
        key = (fetch.project_id, fetch.example)
        self._fetches[key] = fetch
        self._fetches.move_to_end(key)
        ended = [key for key, fetch in self._fetches.items() if fetch.state != "fetching"]
        for key in ended[: max(0, len(self._fetches) - MOST_REMEMBERED)]:
            del self._fetches[key]
