"""Messages on the worker's pipes: length-prefixed JSON, one reply to each command.

First of all the parent sends a SandboxSpec, and the worker replies with its SandboxReport.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from dataclasses import dataclass
from typing import Any, Literal

from modeldyno.core.codec import decode, encode
from modeldyno.core.conversions import Goal
from modeldyno.core.errors import WorkerGarbled
from modeldyno.core.models import InputSpec, ModelFacts, TensorSpec
from modeldyno.core.profiles import ProfilePlan, ProfileRepeat
from modeldyno.core.sessions import (
    Calibration,
    CallContract,
    Pair,
    PairPlan,
    Parity,
    Samples,
    SandboxReport,
    SandboxSpec,
    Session,
    SessionFacts,
    SessionPlan,
    Target,
)
from modeldyno.inputs.plans import InputPlan

HEADER = struct.Struct(">I")
LONGEST_MESSAGE = 64 << 20  # bytes; a full session of 200 000 samples needs about 4 MiB
_STRUCTURE = (b",", b":", b"[", b"{")  # every value but the first follows one of these
_MANY_DIGITS = re.compile(rb"[0-9]{19}")  # the fewest of a number beyond 63 bits


@dataclass(frozen=True)
class MessageLimits:
    """Limits besides the length: an empty ``{}`` takes 3 bytes here but 70 in memory."""

    values: int
    integer: int | None  # numbers are smaller than this; None: of any size


# A window of a million samples has two million numbers; databases and sample files hold 63 bits.
DEFAULT_LIMITS = MessageLimits(values=2_200_000, integer=1 << 63)
# 100 000 convolutions with all their attributes and shapes have about five million values.
GRAPH_LIMITS = MessageLimits(values=8_000_000, integer=1 << 64)
COMMAND_LIMITS = MessageLimits(values=LONGEST_MESSAGE, integer=None)  # our own parent sends them


@dataclass(frozen=True)
class Inspect:
    """Read what a model file contains."""

    path: str
    without_weights: bool = False  # missing files of weights are listed, not refused
    signature: str = ""  # one of several ways to call it; empty: the default
    kind: Literal["inspect"] = "inspect"


@dataclass(frozen=True)
class ReadGraph:
    """Read a model's graph: its nodes and the tensors between them."""

    path: str
    infer_shapes: bool = True  # in native code, which a hostile file may crash
    signature: str = ""
    kind: Literal["read-graph"] = "read-graph"


@dataclass(frozen=True)
class LowerOpset:
    """Convert an ONNX model to an older opset, for an engine that cannot read newer ones."""

    path: str
    to: str  # in the scratch folder
    opset: int
    ir_version: int
    kind: Literal["lower-opset"] = "lower-opset"


@dataclass(frozen=True)
class LoadEngine:
    """Import an engine, to see whether it works and which version it is."""

    engine: str
    kind: Literal["load-engine"] = "load-engine"


@dataclass(frozen=True)
class Examine:
    """Try the rungs of the ladder until one inference runs; keep its outputs as the reference."""

    target: Target
    ladder: tuple[InputPlan, ...]
    contract: CallContract
    reference: str
    against: str | None = None  # another cell's outputs for the same inputs
    kind: Literal["examine"] = "examine"


@dataclass(frozen=True)
class SessionSpec:
    """What a session loads, what it is fed, and how it is called."""

    target: Target
    inputs: InputPlan
    contract: CallContract


@dataclass(frozen=True)
class MeasureSession:
    session: SessionSpec
    plan: SessionPlan
    padding_seed: int
    reference: str
    kind: Literal["measure-session"] = "measure-session"


@dataclass(frozen=True)
class ProfileSession:
    """Measure a session as it is, and another under the engine's profiler."""

    session: SessionSpec
    plan: ProfilePlan
    padding_seed: int
    kind: Literal["profile"] = "profile"


@dataclass(frozen=True)
class MeasurePair:
    a: SessionSpec
    b: SessionSpec
    plan: PairPlan
    padding_seed: int
    kind: Literal["measure-pair"] = "measure-pair"


@dataclass(frozen=True)
class OpenSide:
    """Load and warm up what is measured together with other workers, in turns or all at once."""

    session: SessionSpec
    plan: SessionPlan
    padding_seed: int
    calibration: Calibration | None = None  # of an earlier session
    kind: Literal["open-side"] = "open-side"


@dataclass(frozen=True)
class MeasureBlock:
    """Measure the open side for about this long."""

    block_s: float
    kind: Literal["measure-block"] = "measure-block"


@dataclass(frozen=True)
class MeasureWindow:
    """Call the open side without pause, from one moment of the shared clock to another or exactly
    ``iterations`` times."""

    start_ns: int
    stop_ns: int
    iterations: int | None = None
    kind: Literal["measure-window"] = "measure-window"


@dataclass(frozen=True)
class CloseSide:
    """End the open side; its outputs are compared with the reference."""

    reference: str
    is_own: bool = False  # the reference is of the same model: different outputs are wrong
    kind: Literal["close-side"] = "close-side"


@dataclass(frozen=True)
class Convert:
    """Write the model in another format, into a folder of its own below the scratch folder."""

    target: Target
    to: Goal
    inputs: tuple[InputSpec, ...]
    outputs: tuple[TensorSpec, ...]
    example: InputPlan  # known to run
    folder: str
    kind: Literal["convert"] = "convert"


@dataclass(frozen=True)
class Inspected:
    facts: ModelFacts
    kind: Literal["inspected"] = "inspected"


@dataclass(frozen=True)
class GraphRead:
    rows: dict[str, object]  # graphs/rows.py checks them
    kind: Literal["graph-read"] = "graph-read"


@dataclass(frozen=True)
class OpsetLowered:
    size_bytes: int
    kind: Literal["opset-lowered"] = "opset-lowered"


@dataclass(frozen=True)
class EngineLoaded:
    version: str
    numpy: str | None
    kind: Literal["engine-loaded"] = "engine-loaded"


@dataclass(frozen=True)
class Examined:
    facts: SessionFacts
    rung: int
    batch_size: int
    notes: tuple[str, ...]
    refused: tuple[str, ...]  # the engine's errors for the rungs before
    parity: Parity | None = None  # to the other cell's outputs
    outputs: tuple[TensorSpec, ...] = ()  # with their actual shapes
    can_compare: bool = True  # they include numbers or texts
    kind: Literal["examined"] = "examined"


@dataclass(frozen=True)
class Converted:
    tool: str
    versions: dict[str, str]
    notes: tuple[str, ...] = ()
    kind: Literal["converted"] = "converted"


@dataclass(frozen=True)
class SessionMeasured:
    session: Session
    kind: Literal["session-measured"] = "session-measured"


@dataclass(frozen=True)
class SessionProfiled:
    repeat: ProfileRepeat
    kind: Literal["profiled"] = "profiled"


@dataclass(frozen=True)
class PairMeasured:
    pair: Pair
    kind: Literal["pair-measured"] = "pair-measured"


@dataclass(frozen=True)
class SideReady:
    """The side was opened or measured; ``samples`` is how many it has now."""

    samples: int
    calibration: Calibration
    kind: Literal["side-ready"] = "side-ready"


@dataclass(frozen=True)
class WindowMeasured:
    samples: Samples
    kind: Literal["window-measured"] = "window-measured"


@dataclass(frozen=True)
class CommandFailed:
    code: str
    title: str
    why: str
    fix: str
    kind: Literal["failed"] = "failed"


SideCommand = OpenSide | MeasureBlock | MeasureWindow | CloseSide
InspectionCommand = Inspect | ReadGraph | LowerOpset
EngineCommand = LoadEngine | Examine | Convert
Command = (
    InspectionCommand | EngineCommand | MeasureSession | MeasurePair | ProfileSession | SideCommand
)
MeasuredReply = SessionMeasured | PairMeasured | SessionProfiled | SideReady | WindowMeasured
InspectionReply = Inspected | GraphRead | OpsetLowered
Reply = InspectionReply | EngineLoaded | Examined | Converted | MeasuredReply | CommandFailed


def pack(message: Command | Reply | SandboxSpec | SandboxReport) -> bytes:
    body = json.dumps(encode(message), separators=(",", ":"), allow_nan=False).encode()
    return HEADER.pack(len(body)) + body


def reply_limits(reply: type) -> MessageLimits:
    return GRAPH_LIMITS if reply is GraphRead else DEFAULT_LIMITS


def unpack(union: Any, body: bytes, limits: MessageLimits = DEFAULT_LIMITS) -> Any:
    """The message in a frame's body; raises WorkerGarbled if it is not one of ours."""
    try:
        return decode(union, _parse_json(body, limits))
    except (ValueError, RecursionError) as error:  # a Mismatch is a ValueError
        raise WorkerGarbled(
            "The worker sent something that is not a message",
            why=str(error)[:200],
            fix="The model or its engine wrote into our pipe; see the run's log",
        ) from error


def _parse_json(body: bytes, limits: MessageLimits) -> Any:
    """JSON as we write it ourselves. Its values are counted before they are built; commas inside
    of texts count too, so the count is an upper bound."""
    count = sum(map(body.count, _STRUCTURE))
    if count > limits.values:
        raise ValueError(f"it has about {count} values, the largest message {limits.values}")

    def integer(digits: str) -> int:
        number = int(digits)
        if limits.integer is not None and not -limits.integer <= number < limits.integer:
            raise ValueError(f"the number {digits[:40]} is too large")
        return number

    return json.loads(
        body.decode(),
        parse_float=_parse_finite,
        parse_constant=_parse_finite,
        parse_int=integer if _MANY_DIGITS.search(body) else None,  # json's own is much faster
    )


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is not a finite number")
    return number


def frame_length(header: bytes) -> int:
    length: int = HEADER.unpack(header)[0]
    if length > LONGEST_MESSAGE:
        raise WorkerGarbled(
            "The worker sent something that is not a message",
            why=f"it announced {length} bytes, the longest message has {LONGEST_MESSAGE}",
            fix="The model or its engine wrote into our pipe; see the run's log",
        )
    return length


def read_frame(descriptor: int) -> bytes | None:
    """The next frame's body; None at the end of the stream."""
    header = read_exactly(descriptor, HEADER.size)
    return None if header is None else read_exactly(descriptor, frame_length(header))


def read_exactly(descriptor: int, count: int) -> bytes | None:
    """Blocking read; None at the end of the stream."""
    parts = bytearray()
    while len(parts) < count:
        part = os.read(descriptor, count - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
