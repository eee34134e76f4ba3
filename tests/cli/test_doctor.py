"""``modeldyno doctor``, for real."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from modeldyno.jobs.leases import Leases
from modeldyno.worker.launch import Stop

pytestmark = pytest.mark.usefixtures("starts_processes")

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "src/modeldyno/schemas/doctor.schema.json").read_text())
CHECKS = {
    "governor", "turbo", "SMT", "load", "CPU quota", "steal", "swap", "memory", "huge pages",
    "memory nodes", "isolated CPUs", "pressure", "virtual machine", "container", "pinning", "clock",
    "timer", "free cores", "noise", "energy", "disk", "sandbox",
}  # fmt: skip


# Peaks are measured for 3 s each, for the sake of their precision; any will do here.
IN_HASTE = """
from modeldyno.cli.main import run
from modeldyno.services import peak_measurement

peak_measurement.SECONDS = 0.2
run()
"""


def doctor(workspace, *options):
    return subprocess.run(
        [sys.executable, "-c", IN_HASTE, "doctor", "--workspace", str(workspace), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )


def document(workspace, *options):
    ran = doctor(workspace, "--json", *options)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    jsonschema.validate(found, SCHEMA)
    return found


def test_every_check_is_in_the_document_which_fits_its_schema(tmp_path):
    found = document(tmp_path)
    assert {finding["name"] for finding in found["findings"]} == CHECKS
    states = {finding["state"] for finding in found["findings"]}
    expected = "unfit" if "problem" in states else "fit with care" if "warning" in states else "fit"
    assert found["verdict"] == expected
    assert found["peaks"] is None
    assert found["clock"]["went_back"] is False


def test_the_terminal_shows_checks_and_verdict(tmp_path):
    ran = doctor(tmp_path)
    assert ran.returncode == 0
    assert all(check in ran.stdout for check in CHECKS)
    assert ran.stdout.splitlines()[-1].startswith(("fit", "unfit"))


def test_quiet_leaves_remarks_out(tmp_path):
    assert doctor(tmp_path, "--quiet").stderr == ""


def test_strict_makes_unfit_an_exit_code(tmp_path):
    ran = doctor(tmp_path, "--strict", "--json")
    assert ran.returncode == (7 if json.loads(ran.stdout)["verdict"] == "unfit" else 0)


def test_a_measurement_elsewhere_is_seen_and_not_disturbed(tmp_path):
    stop = Stop()
    with Leases().take(64, stop, lambda why: None):
        found = document(tmp_path)
    stop.close()
    by_name = {finding["name"]: finding for finding in found["findings"]}
    assert f"modeldyno pid {os.getpid()}" in by_name["free cores"]["value"]
    assert by_name["noise"]["state"] == "unknown"
    assert found["noise"] is None


@pytest.mark.slow
@pytest.mark.engine("onnxruntime")
def test_peaks_are_measured_and_kept(tmp_path):
    measured = document(tmp_path, "--peaks")["peaks"]
    assert measured["cores"][0]["cores"] == 1
    assert all(p["gflop_per_s"] > 0.1 and p["gbyte_per_s"] > 0.1 for p in measured["cores"])
    assert document(tmp_path)["peaks"] == measured
    assert not (tmp_path / "runs").exists()


def test_peaks_of_another_machine_are_not_shown(tmp_path):
    stranger = {
        "fingerprint": "0" * 16, "created_at": "2026-01-01T00:00:00+00:00", "engine": "e",
        "work": "w", "traffic": "t",
        "peaks": [{"cores": 1, "flops_per_s": 1.0, "bytes_per_s": 1.0, "noise": "quiet"}],
    }  # fmt: skip
    (tmp_path / "peaks.json").write_text(json.dumps(stranger))
    assert document(tmp_path)["peaks"] is None
