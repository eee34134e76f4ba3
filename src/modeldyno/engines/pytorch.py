"""PyTorch: TorchScript, ``torch.export`` programs, and checkpoints with their architecture.

Eager by default. ``hot`` and ``api`` are the same call here, tensors in and tensors out on the
device, since PyTorch has no call with preallocated outputs; ``e2e`` also converts from and to
numpy. See docs/engines.md.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from modeldyno.core.errors import BadValue, EngineFailed, EngineUnavailable, ModeldynoError
from modeldyno.core.sessions import CallContract, OptionValue, SessionFacts, Target
from modeldyno.engines import torch_precision
from modeldyno.engines.protocol import Capabilities, Tensors
from modeldyno.engines.session_checks import join_by_frequency
from modeldyno.engines.threads import require_default_spinning
from modeldyno.engines.torch_loading import LoadedModule, load, require_safe_version
from modeldyno.engines.torch_profiling import TorchProfiled

_AUTOCAST = {"bf16": "bfloat16", "fp16": "float16"}
_FLUSHED_BYTES = 256 << 20  # larger than any GPU's cache, as in Triton's do_bench
_PROVIDERS = {"torchscript": "TorchScript", "torch-export": "export", "torch-checkpoint": "eager"}


class PyTorch:
    name = "pytorch"
    capabilities = Capabilities(
        formats=("torchscript", "torch-export", "torch-checkpoint"), devices=("cpu", "cuda", "mps")
    )

    def version(self) -> str:
        import torch

        return str(torch.__version__)

    @contextlib.contextmanager
    def open(self, target: Target) -> Iterator[TorchSession]:
        import torch

        require_safe_version(self.version())
        settings = TorchSettings.of(target)
        settings.apply()
        if settings.device.type == "cuda":
            torch.cuda.init()
            torch.cuda.reset_peak_memory_stats(settings.device)
        with torch.inference_mode():
            yield TorchSession(target, settings, _load_module(target, settings))

    @contextlib.contextmanager
    def profiled(self, target: Target, session: TorchSession) -> Iterator[TorchProfiled]:
        device, is_script = target.device.partition(":")[0], target.format == "torchscript"
        yield TorchProfiled(session, device, is_script=is_script)

    def examine(self, target: Target, inputs: Tensors) -> tuple[SessionFacts, Tensors]:
        """Run once operator by operator, then as it will be measured."""
        with self.open(target) as session:
            observed = session.observe_operators(inputs)
            outputs = session.run(inputs)
            precision = join_by_frequency(observed.precisions) or session.weight_precision()
            facts = replace(
                session.facts, precision=precision, nodes_by_provider=dict(observed.devices)
            )
            return facts, outputs


# ---------------------------------------------------------------- settings


@dataclass(frozen=True)
class TorchSettings:
    """The target's settings, checked against this machine and this PyTorch."""

    device: Any
    threads: int
    autocast: Any | None = None  # a torch.dtype
    compile: str | None = None  # a mode of torch.compile
    channels_last: bool = False
    tf32: bool | None = None  # None: PyTorch's own defaults

    @classmethod
    def of(cls, target: Target) -> TorchSettings:
        import torch

        require_default_spinning("PyTorch", target)
        if target.precision not in (None, "fp32", *_AUTOCAST):
            raise BadValue(
                f"PyTorch cannot run in precision {target.precision!r}",
                why="it computes in the model's own precision, or casts to bf16 or fp16",
                fix="Use --precision fp32, bf16 or fp16",
            )
        options = dict(target.options)
        mode = _parse_compile_mode(options.pop("compile", False))
        channels_last = _require_switch("channels_last", options.pop("channels_last", False))
        tf32 = _require_switch("tf32", options.pop("tf32")) if "tf32" in options else None
        if options:
            raise BadValue(
                f"PyTorch has no option {next(iter(options))!r}",
                fix="Use compile, channels_last or tf32",
            )
        if mode is not None and target.format == "torchscript":
            raise BadValue(
                "torch.compile cannot compile TorchScript",
                why="TorchScript has a compiler of its own",
                fix="Leave out compile, or give the model as a .pt2 or a checkpoint",
            )
        cast = _AUTOCAST.get(target.precision or "")
        return cls(
            device=find_device(target.device),
            threads=target.threads,
            autocast=getattr(torch, cast) if cast else None,
            compile=mode,
            channels_last=channels_last,
            tf32=False if tf32 is None and target.precision == "fp32" else tf32,
        )

    def apply(self) -> None:
        """To the whole process."""
        import torch

        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        if torch.get_num_interop_threads() != 1:
            torch.set_num_interop_threads(1)  # can be set only once, and before any work
        if self.device.type == "cuda":
            matmul, cudnn = _read_default_tf32() if self.tf32 is None else (self.tf32, self.tf32)
            torch.backends.cuda.matmul.allow_tf32 = matmul
            torch.backends.cudnn.allow_tf32 = cudnn

    def notes(self) -> tuple[str, ...]:
        notes = [f"torch.compile, mode {self.compile}"] if self.compile else []
        notes += ["channels_last"] if self.channels_last else []
        notes += (
            [f"autocast to {str(self.autocast).removeprefix('torch.')}"] if self.autocast else []
        )
        if self.tf32 is not None and self.device.type == "cuda":
            notes.append(f"TF32 {'on' if self.tf32 else 'off'}")
        return tuple(notes)


@cache
def _read_default_tf32() -> tuple[bool, bool]:
    """PyTorch's defaults for matrix products and convolutions, read before we set them."""
    import torch

    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


def _parse_compile_mode(setting: OptionValue) -> str | None:
    if isinstance(setting, str):
        return setting
    return "default" if setting else None


def _require_switch(name: str, setting: OptionValue) -> bool:
    if not isinstance(setting, bool):
        raise BadValue(f"PyTorch's option {name} is on or off, not {setting!r}")
    return setting


def find_device(name: str) -> Any:
    """The torch.device of that name; raises if this machine or this PyTorch lacks it."""
    import torch

    kind, _, index = name.partition(":")
    if kind not in PyTorch.capabilities.devices or (index and not index.isdigit()):
        raise BadValue(f"PyTorch has no device {name!r}", fix="Use cpu, cuda, cuda:1 or mps")
    if kind == "cuda":
        return torch.device("cuda", _cuda_index(name, int(index or 0)))
    if kind == "mps" and not torch.backends.mps.is_available():
        is_built = torch.backends.mps.is_built()
        why = "this Mac or its macOS is too old" if is_built else "this PyTorch lacks Apple GPUs"
        raise EngineUnavailable(
            "PyTorch cannot use device 'mps' here",
            why=why,
            fix="Use --device cpu",
        )
    return torch.device(kind)


def _cuda_index(name: str, index: int) -> int:
    import torch

    if not torch.cuda.is_available():
        raise EngineUnavailable(
            f"PyTorch cannot use device {name!r} here",
            why="no NVIDIA GPU or driver was found"
            if torch.version.cuda
            else f"this PyTorch ({torch.__version__}) was built without CUDA",
            fix="Use --device cpu, or install a CUDA build of PyTorch on a machine with a GPU",
        )
    count = torch.cuda.device_count()
    if index >= count:
        raise BadValue(
            f"There is no device {name!r}",
            why=f"PyTorch sees {count} GPU{'s' * (count != 1)}, counted from cuda:0",
            fix=f"Use --device cuda:{count - 1}",
        )
    return index


# ---------------------------------------------------------------- a session


def _load_module(target: Target, settings: TorchSettings) -> LoadedModule:
    """Raises EngineFailed if loading fails: other inputs would not help."""
    try:
        return _load_in_layout(target, settings)
    except ModeldynoError:
        raise
    except Exception as error:
        raise EngineFailed(
            "PyTorch could not load the model",
            why=f"{type(error).__name__}: {error}".strip()[:600],
            fix="Check it with `modeldyno inspect`; see the run's log for details",
        ) from error


def _load_in_layout(target: Target, settings: TorchSettings) -> LoadedModule:
    import torch

    loaded = load(target, settings.device)
    if settings.channels_last:
        loaded.module.to(memory_format=torch.channels_last)
    return loaded


class TorchSession:
    def __init__(self, target: Target, settings: TorchSettings, loaded: LoadedModule) -> None:
        import torch

        self._target = target
        self._settings = settings
        self._loaded = loaded
        self._threads = torch.get_num_threads()
        self._call = _compile(loaded.module, settings)
        self._wait = _make_synchronizer(settings.device)
        self._input_dtypes: dict[str, str] = {}
        self._contract: CallContract | None = None

    @property
    def facts(self) -> SessionFacts:
        import torch

        notes = ["keeps state from call to call"] if self._loaded.keeps_state else []
        return SessionFacts(
            engine="pytorch",
            engine_version=str(torch.__version__),
            device=self._device_name(),
            providers=self._list_providers(),
            threads=self._threads,
            spinning=None,
            input_dtypes=self._input_dtypes,
            notes=(*self._settings.notes(), *notes),
            parameters=sum(p.numel() for p in self._list_parameters()),
            contract=self._contract,
            layout=self._effective_layout(),
        )

    def reapply_settings(self) -> None:
        self._settings.apply()

    def bind(self, inputs: Tensors, contract: CallContract) -> Callable[[], object]:
        if contract == "e2e":
            return lambda: self._run_to_numpy(inputs)
        self._contract = "api"  # also for ``hot``
        call, wait = self.device_call(inputs), self._wait
        if self._settings.device.type == "cpu":
            return call

        def finished() -> object:
            outputs = call()
            wait()
            return outputs

        return finished

    def run(self, inputs: Tensors) -> Tensors:
        """A model that keeps state is loaded again: the same inputs give the same outputs."""
        session = self
        if self._loaded.keeps_state:
            loaded = _load_in_layout(self._target, self._settings)
            session = TorchSession(self._target, self._settings, loaded)
        return session._run_to_numpy(inputs)

    def device_times_s(self, inputs: Tensors, calls: int) -> tuple[float, ...]:
        import torch

        if self._settings.device.type != "cuda":
            return ()
        call = self.device_call(inputs)
        with torch.cuda.device(self._settings.device):
            cache = torch.empty(_FLUSHED_BYTES, dtype=torch.int8, device=self._settings.device)
            marks = []
            for _ in range(calls):
                cache.zero_()  # also keeps the device busy while the call is queued
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                call()
                end.record()
                marks.append((begin, end))
            self._wait()
        return tuple(begin.elapsed_time(end) / 1e3 for begin, end in marks)

    def device_peak_bytes(self) -> int | None:
        import torch

        if self._settings.device.type != "cuda":
            return None
        return int(torch.cuda.max_memory_allocated(self._settings.device))

    def observe_operators(self, inputs: Tensors) -> torch_precision.Observation:
        """The operators of one call of the model, not compiled."""
        eager = self.device_call(inputs, self._loaded.module)
        observation = torch_precision.observe(eager, self._uses_tf32())
        self._wait()
        return observation

    def weight_precision(self) -> str | None:
        return torch_precision.precision_of_parameters(self._list_parameters())

    def device_call(self, inputs: Tensors, module: Any = None) -> Callable[[], Any]:
        """A call with inputs copied to the device; it may return before the device is done."""
        import torch

        arguments, keywords = self._loaded.arrange(self._copy_to_device(inputs))
        call = partial(self._call if module is None else module, *arguments, **keywords)
        if self._settings.autocast is None:
            return call
        casting = torch.autocast(self._settings.device.type, dtype=self._settings.autocast)

        def cast() -> Any:
            # Entered in each call, as callers do: its cache of cast weights ends with the call.
            with casting:
                return call()

        return cast

    # ------------------------------------------------------------ inside

    def _run_to_numpy(self, inputs: Tensors) -> Tensors:
        """From numpy to numpy."""
        outputs = self.device_call(inputs)()
        self._wait()
        return _to_numpy(outputs)

    def _copy_to_device(self, inputs: Tensors) -> dict[str, Any]:
        import torch

        tensors = {}
        for name, array in inputs.items():
            tensor = torch.tensor(array, device=self._settings.device)
            if self._settings.channels_last and tensor.dim() == 4:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            tensors[name] = tensor
        self._input_dtypes = {n: str(t.dtype).removeprefix("torch.") for n, t in tensors.items()}
        return tensors

    def _list_parameters(self) -> list[Any]:
        return list(self._loaded.module.parameters())

    def _device_name(self) -> str:
        """Where the weights are; for a model without weights, the requested device."""
        import torch

        module = self._loaded.module
        devices = Counter(str(t.device) for t in (*module.parameters(), *module.buffers()))
        if not devices:
            devices[str(torch.empty(0, device=self._settings.device).device)] += 1
        return "+".join(name for name, _ in devices.most_common())

    def _list_providers(self) -> tuple[str, ...]:
        provider = _PROVIDERS[self._target.format]
        return (provider, "compile") if self._settings.compile else (provider,)

    def _effective_layout(self) -> str | None:
        """The layout of most convolution filters, which decides that of the convolution."""
        import torch

        # With a single channel or a single pixel, both layouts are the same in memory.
        filters = [
            p for p in self._list_parameters() if p.dim() == 4 and p.shape[1] > 1 < max(p.shape[2:])
        ]
        last = sum(p.is_contiguous(memory_format=torch.channels_last) for p in filters)
        if not filters:
            return None
        return "NHWC" if 2 * last > len(filters) else "NCHW"

    def _uses_tf32(self) -> tuple[bool, bool]:
        import torch

        if self._settings.device.type != "cuda" or torch.cuda.get_device_capability()[0] < 8:
            return False, False
        return (
            bool(torch.backends.cuda.matmul.allow_tf32),
            bool(torch.backends.cudnn.allow_tf32),
        )


def _make_synchronizer(device: Any) -> Callable[[], None]:
    """A function that returns when the device has finished all its work."""
    import torch

    match device.type:
        case "cuda":
            return partial(torch.cuda.synchronize, device)
        case "mps":
            return partial(torch.mps.synchronize)
        case _:
            return lambda: None


def _compile(module: Any, settings: TorchSettings) -> Any:
    if settings.compile is None:
        return module
    import torch
    import torch._inductor.config as inductor

    inductor.compile_threads = 1  # a pool of compilers would linger while we measure
    try:
        return torch.compile(module, mode=settings.compile)
    except RuntimeError as error:
        raise BadValue(
            f"torch.compile does not know the mode {settings.compile!r}",
            why=str(error)[:200],
            fix="Use compile=on, reduce-overhead, max-autotune or max-autotune-no-cudagraphs",
        ) from error


def _to_numpy(outputs: Any, name: str = "") -> Tensors:
    """Numpy copies, named by their position in the returned structure: ``logits``, ``output.1``."""
    import torch

    if isinstance(outputs, torch.Tensor):
        tensor = outputs.detach().to("cpu", copy=True)
        tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        return {name or "output": tensor.numpy()}
    arrays: Tensors = {}
    if isinstance(outputs, dict):
        for key, output in outputs.items():
            arrays |= _to_numpy(output, f"{name}.{key}" if name else str(key))
    elif isinstance(outputs, (list, tuple)):
        for number, output in enumerate(outputs):
            arrays |= _to_numpy(output, f"{name or 'output'}.{number}")
    return arrays
