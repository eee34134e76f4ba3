"""``system_info``, ``jobs/queue``, ``filesystem`` and ``get_default_path``: the machine, its queue,
and where models are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue
from modeldyno.core.runs import RunKind
from modeldyno.services.file_browser import FILTERS
from modeldyno.services.system import Machine

if TYPE_CHECKING:
    from modeldyno.services.file_browser import FileBrowser
    from modeldyno.services.system import SystemService
    from modeldyno.store.records.jobs import JobRecords

UNKNOWN = "unknown"
NAMES: dict[RunKind, str] = {"profile": "profiling"}


def operations(folders: FileBrowser, system: SystemService, jobs: JobRecords) -> Operations:
    def system_info(_: Parameters) -> dict[str, Any]:
        return _machine_shape(system.machine())

    def queue(_: Parameters) -> dict[str, str]:
        """``{"benchmark_5": "1"}``: the place of each in the queue, "0" of the one that runs."""
        running, waiting = jobs.list_owners_in_order()
        places = [*((run_of, 0) for run_of in running)]
        places += [(run_of, place) for place, run_of in enumerate(waiting, 1)]
        return {f"{NAMES.get(of.kind, of.kind)}_{of.id}": str(place) for of, place in places}

    def filesystem(parameters: Parameters) -> dict[str, Any]:
        kind = parameters.text("filter", "")
        if kind not in FILTERS:
            raise BadValue(f"There is no filter {kind[:100]!r}", fix=f"Use one of {FILTERS[1:]}")
        listing = folders.list_folder(parameters.text("path", ""), kind)
        contents = [
            {
                "name": entry.path,
                "type": "directory" if entry.is_folder else "file",
                "is_model": entry.is_model,
            }
            for entry in listing.entries
        ]
        return {"path": listing.path, "contents": contents}

    def default_path(_: Parameters) -> dict[str, str]:
        return {"path": folders.first_folder}

    return {
        "system_info": system_info,
        "jobs/queue": queue,
        "filesystem": filesystem,
        "get_default_path": default_path,
    }


def _machine_shape(machine: Machine) -> dict[str, Any]:
    host, cpus = machine.host, machine.cpus
    sets = {*host.instruction_sets}
    return {
        "systeminfo": {
            "sockets": cpus.sockets,
            "cores": cpus.cores,
            "cores_per_socket": max(1, cpus.cores // cpus.sockets),
            "threads_per_socket": max(1, cpus.threads // cpus.sockets),
            "total_memory": f"{host.memory_bytes / 1e9:.3f}GB",
            "system": host.system,
            "ip": machine.address,
            "platform": machine.distribution,
            "hyperthreading_enabled": cpus.threads > cpus.cores,
            "turboboost_enabled": host.boost,
            "bios_version": cpus.bios or UNKNOWN,
            "kernel": host.kernel,
            "min_cpu_freq": _megahertz_text(cpus.min_mhz),
            "max_cpu_freq": _megahertz_text(cpus.max_mhz),
            "bf16_support": not sets.isdisjoint(("avx512_bf16", "amx_bf16", "bf16")),
        },
        "frameworks": {
            "pytorch_version": machine.versions["torch"],
            "onnx_version": machine.versions["onnx"],
            "tensorflow_version": machine.versions["tensorflow"],
            "pytorch_sub_dependencies": _package_versions(machine, "torchvision", "torchaudio"),
            "onnx_sub_dependencies": _package_versions(
                machine, "onnxruntime", "onnxruntime-extensions"
            ),
        },
    }


def _package_versions(machine: Machine, *packages: str) -> dict[str, str | None]:
    return {f"{name.replace('-', '_')}_version": machine.versions[name] for name in packages}


def _megahertz_text(frequency: float | None) -> str:
    return UNKNOWN if frequency is None else f"{frequency:.0f}MHz"
