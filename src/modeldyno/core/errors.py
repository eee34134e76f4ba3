"""Every exception we raise on purpose.

ModeldynoError
├── UserError              the caller can fix it
│   ├── BadValue           an option, name or value that cannot work
│   ├── ModelNotFound      no such file
│   ├── NameAmbiguous      several models have that name, and they differ
│   ├── RunNotFound        no such run in the workspace
│   ├── ModelUnreadable    the file is not a model we can read (truncated, text, archive, unknown)
│   ├── DatasetUnreadable  samples or labels that are missing, damaged, or not what they should be
│   ├── GraphUnavailable   the model has no graph that can be shown, or one that is too large
│   ├── UnsafeFormat       loading the file could run code hidden in it
│   ├── EngineUnknown      no engine of that name
│   ├── EngineUnavailable  the engine is known, but not usable here
│   ├── InputUnresolved    an input's shape, type or values cannot be decided without help
│   ├── PathRefused        a path of a client that is not a plain one below an allowed folder
│   ├── FileNotFound       no such file below the allowed folders
│   ├── ArchiveRefused     an archive that is damaged, hostile or too large to unpack
│   ├── ExampleNotFound    no example of that name in the catalogue
│   ├── ExampleUnavailable an example that is not available here
│   │   └── DownloadsOff   it would have to be fetched, and nobody allowed that
│   ├── DownloadRefused    what a host sent, or where it sent us, is not what the catalogue says
│   ├── TokenUnusable      the token's file is open to others, or holds no token
│   ├── WorkspaceUnusable  the workspace folder cannot be written
│   ├── DatabaseUnusable   the database cannot be opened, read or written
│   │   ├── DatabaseBusy   somebody else holds it for too long
│   │   └── SchemaTooNew   a newer version of Modeldyno wrote it
│   ├── PackageMissing     an extra of Modeldyno that is not installed
│   ├── ServerRunning      another server has this workspace or database
│   ├── ServerUnreachable  no server answers where one should
│   │   └── ServerFailed   it does, but it met a bug of its own
│   ├── NotSignedIn        the server wants a token, and not this one
│   ├── QueueFull          too many jobs wait already
│   ├── TooBusy            as many uploads are under way as may be at once
│   ├── KeyReused          an Idempotency-Key that came with another request before
│   ├── NotFound           nothing of that number in the database
│   ├── StillUsed          others depend on what should be deleted
│   ├── WrongState         not now: it runs, it has run, it is over
│   ├── BaselineNoisy      a number to measure others by that is not sure itself
│   ├── EditedMeanwhile    somebody else changed it since it was read
│   ├── LeasesUnusable     CPU cores cannot be locked against other measurements
│   └── SandboxUnavailable the system cannot confine a worker as far as required
└── RunFailed              the run failed, we did not; stored on the run
    ├── EngineFailed       the engine raised an error
    ├── WorkerCrashed      the worker process died of a signal, or left without a word
    ├── OutOfMemory        the worker met its memory limit, or the system killed it for memory
    ├── TimedOut           the cell's time limit passed
    ├── Cancelled          somebody asked us to stop
    ├── WorkerGarbled      the worker said something that is not our protocol
    ├── WrongOutput        sessions of one cell, or a model and its conversion, disagree
    ├── DownloadFailed     a host cannot be reached, or closed the connection
    ├── InstallFailed      pip could not install an engine
    ├── ModelChanged       the model file changed while it was being measured
    ├── MachineChanged     a run that began on another machine cannot be resumed here
    ├── NotYet             what was asked for comes with a later version
    └── StorageFailed      a result could not be written

Anything else is our bug. HTTP codes live in ``api/``, exit codes in ``cli/main.py``.
"""

from __future__ import annotations

from typing import ClassVar

from modeldyno.core.visible import visible_lines


class ModeldynoError(Exception):
    """What happened, why, and what to do about it."""

    code: ClassVar[str] = "ERROR"

    def __init__(self, title: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return visible_lines(". ".join(part for part in (self.title, self.why, self.fix) if part))


class UserError(ModeldynoError):
    code = "USER_ERROR"


class BadValue(UserError):
    code = "BAD_VALUE"


class ModelNotFound(UserError):
    code = "MODEL_NOT_FOUND"


class NameAmbiguous(UserError):
    """``candidates`` are names that mean one each."""

    code = "NAME_AMBIGUOUS"

    def __init__(
        self, title: str, *, why: str = "", fix: str = "", candidates: tuple[str, ...] = ()
    ) -> None:
        super().__init__(title, why=why, fix=fix)
        self.candidates = candidates


class RunNotFound(UserError):
    code = "RUN_NOT_FOUND"


class ModelUnreadable(UserError):
    code = "MODEL_UNREADABLE"


class DatasetUnreadable(UserError):
    code = "DATASET_UNREADABLE"


class GraphUnavailable(UserError):
    code = "GRAPH_UNAVAILABLE"


class UnsafeFormat(UserError):
    code = "UNSAFE_FORMAT"


class EngineUnknown(UserError):
    code = "ENGINE_UNKNOWN"


class EngineUnavailable(UserError):
    code = "ENGINE_UNAVAILABLE"


class InputUnresolved(UserError):
    code = "MODEL_INPUT"


class PathRefused(UserError):
    code = "PATH_REFUSED"


class FileNotFound(UserError):
    code = "FILE_NOT_FOUND"


class ArchiveRefused(UserError):
    code = "ARCHIVE_REFUSED"


class ExampleNotFound(UserError):
    code = "EXAMPLE_NOT_FOUND"


class ExampleUnavailable(UserError):
    code = "EXAMPLE_UNAVAILABLE"


class DownloadsOff(ExampleUnavailable):
    code = "DOWNLOADS_OFF"


class DownloadRefused(UserError):
    code = "DOWNLOAD_REFUSED"


class TokenUnusable(UserError):
    code = "TOKEN_UNUSABLE"


class WorkspaceUnusable(UserError):
    code = "WORKSPACE_UNUSABLE"


class DatabaseUnusable(UserError):
    code = "DATABASE_UNUSABLE"


class DatabaseBusy(DatabaseUnusable):
    code = "DATABASE_BUSY"


class SchemaTooNew(DatabaseUnusable):
    code = "SCHEMA_TOO_NEW"


class PackageMissing(UserError):
    code = "PACKAGE_MISSING"


class ServerRunning(UserError):
    code = "SERVER_RUNNING"


class ServerUnreachable(UserError):
    code = "SERVER_UNREACHABLE"


class ServerFailed(ServerUnreachable):
    code = "SERVER_FAILED"


class NotSignedIn(UserError):
    code = "TOKEN_NEEDED"


class QueueFull(UserError):
    code = "QUEUE_FULL"


class TooBusy(UserError):
    code = "TOO_BUSY"


class KeyReused(UserError):
    code = "KEY_REUSED"


class NotFound(UserError):
    code = "NOT_FOUND"


class StillUsed(UserError):
    """``users`` names them, as ``("benchmark", 12, "resnet on 4 cores")``."""

    code = "STILL_USED"

    def __init__(
        self,
        title: str,
        *,
        why: str = "",
        fix: str = "",
        users: tuple[tuple[str, int, str], ...] = (),
    ) -> None:
        super().__init__(title, why=why, fix=fix)
        self.users = users


class BaselineNoisy(UserError):
    code = "BASELINE_NOISY"


class WrongState(UserError):
    code = "WRONG_STATE"


class EditedMeanwhile(UserError):
    code = "EDITED_MEANWHILE"


class LeasesUnusable(UserError):
    code = "LEASES_UNUSABLE"


class SandboxUnavailable(UserError):
    code = "SANDBOX_UNAVAILABLE"


class RunFailed(ModeldynoError):
    code = "RUN_FAILED"


class EngineFailed(RunFailed):
    code = "ENGINE_FAILED"


class WorkerCrashed(RunFailed):
    code = "ENGINE_CRASHED"


class OutOfMemory(RunFailed):
    code = "OUT_OF_MEMORY"


class TimedOut(RunFailed):
    code = "TIMED_OUT"


class Cancelled(RunFailed):
    code = "CANCELLED"


class WorkerGarbled(RunFailed):
    code = "WORKER_GARBLED"


class WrongOutput(RunFailed):
    code = "WRONG_OUTPUT"


class DownloadFailed(RunFailed):
    code = "DOWNLOAD_FAILED"


class InstallFailed(RunFailed):
    code = "INSTALL_FAILED"


class ModelChanged(RunFailed):
    code = "MODEL_CHANGED"


class MachineChanged(RunFailed):
    code = "MACHINE_CHANGED"


class NotYet(RunFailed):
    code = "NOT_YET"


class StorageFailed(RunFailed):
    code = "STORAGE_FAILED"


def _collect_subclasses(cls: type[ModeldynoError]) -> dict[str, type[ModeldynoError]]:
    classes = {cls.code: cls}
    for child in cls.__subclasses__():
        classes |= _collect_subclasses(child)
    return classes


def error_classes() -> dict[str, type[ModeldynoError]]:
    """Every error class by its stable code, so that an error survives the trip through a pipe."""
    return _collect_subclasses(ModeldynoError)
