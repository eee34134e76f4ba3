"""The workspace's token: one line in a file that nobody else can read."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path

from modeldyno.core.errors import TokenUnusable

_BYTES = 32
_SHAPE = re.compile(r"[A-Za-z0-9_-]{43,128}")  # 43 characters hold 256 bits
_MOST = 256

_Version = tuple[int, int, int, int, int]


class TokenFile:
    """Created on first use. A file that others can access, or without a valid token, is refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached: tuple[_Version, str] | None = None

    def current(self) -> str:
        """Costs one ``stat`` unless the file has changed, so it can be called for every request.

        Raises TokenUnusable.
        """
        try:
            version = _version_of(os.lstat(self._path))
        except FileNotFoundError:
            return self._create()
        except OSError as error:
            raise self._unusable_error(error.strerror or "it cannot be read") from error
        if self._cached is None or self._cached[0] != version:
            self._cached = self._read()
        return self._cached[1]

    def rotate(self) -> str:
        """Replace the token in one step; the old one is invalid from then on."""
        token = _new_token()
        temporary = self._write_temporary(token)
        try:
            temporary.replace(self._path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._unusable_error(error.strerror or "it cannot be written") from error
        return token

    def _create(self) -> str:
        temporary = self._write_temporary(_new_token())
        try:
            # A link, unlike a rename, does not overwrite: a second process uses the first one's
            # token.
            with contextlib.suppress(FileExistsError):
                os.link(temporary, self._path)
        except OSError as error:
            raise self._unusable_error(error.strerror or "it cannot be written") from error
        finally:
            temporary.unlink(missing_ok=True)
        self._cached = self._read()
        return self._cached[1]

    def _write_temporary(self, token: str) -> Path:
        """A temporary file that is private from its creation."""
        temporary = self._path.with_name(f".{self._path.name}-{secrets.token_hex(8)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(temporary, flags, 0o600), "w") as file:
                file.write(token + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._unusable_error(error.strerror or "it cannot be written") from error
        return temporary

    def _read(self) -> tuple[_Version, str]:
        try:
            descriptor = os.open(
                self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except OSError as error:
            raise self._unusable_error(error.strerror or "it cannot be read") from error
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self._unusable_error("it is not a plain file")
            if status.st_uid != os.geteuid():
                raise self._unusable_error("it belongs to another user")
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise self._unusable_error("other users can read or change it")
            text = file.read(_MOST + 1).decode("latin-1").removesuffix("\n")
        if not _SHAPE.fullmatch(text):
            raise self._unusable_error("it holds no token of 43 letters, digits, - or _")
        return _version_of(status), text

    def _unusable_error(self, why: str) -> TokenUnusable:
        return TokenUnusable(
            f"The workspace's token cannot be used (file {self._path.name!r})",
            why=why,
            fix="Remove that file from the workspace: the next start makes a new one",
        )


def _new_token() -> str:
    """It never begins with ``-``: other programs would take it for an option."""
    while (token := secrets.token_urlsafe(_BYTES)).startswith("-"):
        pass
    return token


def _version_of(status: os.stat_result) -> _Version:
    """Changes when the file is replaced, rewritten or made accessible to others."""
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
