"""docs/inc-api.md: what it shows at the beginning runs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from modeldyno.demo import model_path
from tests.api.v1.server import serving

PAGE = (Path(__file__).parents[3] / "docs" / "inc-api.md").read_text()


@pytest.mark.slow
def test_the_lines_of_the_page_run(tmp_path):
    if not shutil.which("curl"):
        pytest.skip("there is no curl")
    (lines,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    with serving(tmp_path / "workspace") as served:
        shutil.copy(model_path(), served.workspace / "models" / "exported")
        shown = [
            line for line in lines.splitlines() if not line.startswith(("URL=", "TOKEN=", "cp "))
        ]
        given = [f"URL={served.url}/api", f"TOKEN={served.token}", "set -eo pipefail"]
        script = "\n".join([*given, *shown]).replace("curl -s", "curl -sS --fail-with-body")
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert found[0] == {"project_id": 1, "model_id": 1, "dataset_id": 1}
    assert (found[-1]["status"], found[-1]["batch_size"]) == ("success", 8)
    assert found[-1]["result"]["performance"] > 0
