"""``…/config.yaml`` and ``…/output.log``: files of the latest run, in a tab of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Response

from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import FileNotFound
from modeldyno.core.ids import RunId
from modeldyno.services.logs import stretch
from modeldyno.store.configs import NAME as CONFIG

if TYPE_CHECKING:
    from modeldyno.api.inc.surface import Inc

MOST_BYTES = 1 << 20  # of a long log, the end
SLOWEST_S = 3600


def config_answer(inc: Inc, asked: Parameters, run_id: RunId | None) -> Response:
    file = _file(inc, run_id, CONFIG)
    if file is None:
        raise FileNotFound("Unable to find config file")
    return Response(file.read_bytes(), media_type="text/vnd.yaml", headers=_refresh(asked))


def log_answer(inc: Inc, asked: Parameters, run_id: RunId | None) -> Response:
    file = _file(inc, run_id, "log.txt")
    if file is None:
        raise FileNotFound("Unable to find output log")
    text = stretch(file, max(0, file.stat().st_size - MOST_BYTES), MOST_BYTES).text
    return Response(text, media_type="text/plain", headers=_refresh(asked))


def _file(inc: Inc, run_id: RunId | None, name: str) -> Path | None:
    if run_id is None:
        return None
    file = inc.server.history.folder(run_id).path / name
    return file if file.is_file() else None


def _refresh(asked: Parameters) -> dict[str, str]:
    """Browsers ask again by themselves after so many seconds."""
    seconds = asked.whole("autorefresh", 0, most=SLOWEST_S)
    return {"refresh": str(seconds)} if seconds else {}
