"""``system_info``, ``filesystem`` and ``get_default_path``: the machine, and where models lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from modeldyno.api.inc.operations import Operations
from modeldyno.api.inc.parameters import Parameters
from modeldyno.core.errors import BadValue
from modeldyno.services.file_browser import FILTERS
from modeldyno.services.system import Machine

if TYPE_CHECKING:
    from modeldyno.services.file_browser import FileBrowser
    from modeldyno.services.system import SystemService

UNKNOWN = "unknown"


def operations(folders: FileBrowser, system: SystemService) -> Operations:
    def system_info(_: Parameters) -> dict[str, Any]:
        return _machine(system.machine())

    def filesystem(asked: Parameters) -> dict[str, Any]:
        kind = asked.text("filter", "")
        if kind not in FILTERS:
            raise BadValue(f"There is no filter {kind[:100]!r}", fix=f"Use one of {FILTERS[1:]}")
        shown = folders.look(asked.text("path", ""), kind)
        contents = [
            {
                "name": entry.path,
                "type": "directory" if entry.is_folder else "file",
                "is_model": entry.is_model,
            }
            for entry in shown.entries
        ]
        return {"path": shown.path, "contents": contents}

    def default_path(_: Parameters) -> dict[str, str]:
        return {"path": folders.first}

    return {
        "system_info": system_info,
        "filesystem": filesystem,
        "get_default_path": default_path,
    }


def _machine(machine: Machine) -> dict[str, Any]:
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
            "min_cpu_freq": _megahertz(cpus.min_mhz),
            "max_cpu_freq": _megahertz(cpus.max_mhz),
            "bf16_support": not sets.isdisjoint(("avx512_bf16", "amx_bf16", "bf16")),
        },
        "frameworks": {
            "pytorch_version": machine.versions["torch"],
            "onnx_version": machine.versions["onnx"],
            "tensorflow_version": machine.versions["tensorflow"],
            "pytorch_sub_dependencies": _versions(machine, "torchvision", "torchaudio"),
            "onnx_sub_dependencies": _versions(machine, "onnxruntime", "onnxruntime-extensions"),
        },
    }


def _versions(machine: Machine, *packages: str) -> dict[str, str | None]:
    return {f"{name.replace('-', '_')}_version": machine.versions[name] for name in packages}


def _megahertz(found: float | None) -> str:
    return UNKNOWN if found is None else f"{found:.0f}MHz"
