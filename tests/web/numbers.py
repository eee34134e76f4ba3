"""Numbers of a quiet machine, whatever this one does."""

import json

from tests.web.desk import Server


def settle(server: Server, run_id: str, latency_s: float, spread: float = 0.01) -> None:
    """As if eight sessions had agreed on it to ``spread``."""
    path = server.workspace / "runs" / run_id / "result.json"
    result = json.loads(path.read_text())
    sure = {"level": 0.95, "n": 8, "units": "sessions", "value": latency_s}
    sure |= {"low": latency_s * (1 - spread), "high": latency_s * (1 + spread)}
    for cell in result["cells"]:
        cell["measurement"]["latency"] |= {"floor": sure, "typical": sure}
        cell["measurement"] |= {"noise": "quiet", "reasons": ["Calm."]}
    path.write_text(json.dumps(result))
