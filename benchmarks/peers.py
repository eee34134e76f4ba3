"""How far is each tool's headline latency from what the work costs, and how far from itself?

The same ONNX files through Modeldyno, torch.utils.benchmark, OpenVINO's benchmark_app and a loop
that takes the mean: in rounds, each tool once a round in random order, on one CPU, with one thread
and equally many seconds. Before and after every claim a minimal loop around the same call measures
the floor: the 10th percentile of all its samples in that round. Each claim is divided by it.

    python3 -m venv .cache/peers
    .cache/peers/bin/pip install -c constraints.txt torch==2.13.0
    .cache/peers/bin/pip install -c constraints.txt -e '.[openvino,torch]'
    .cache/peers/bin/python benchmarks/peers.py [--rounds 8] [--seconds 4] [--quick] [--json]
        [--tools 'modeldyno openvino,benchmark_app floor'] [--models ResNet-50]

Eight rounds take about 20 minutes, --quick about three. Tools that are not installed are named and
left out. Nothing is asserted: a number of this kind belongs to the machine and the hour. With
--json, every turn is a line of JSON on standard output and the tables go to standard error. What
the rows mean and what they do not show: docs/measuring.md (Beside other tools).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from modeldyno.demo import model_path
from modeldyno.measure.cpus import allowed_cpus

CLAIMS = Path(__file__).with_name("peer_claims.py")
TIMEOUT_S = 300
OFF = 0.05  # of the floor
WIDTH = 16  # of the MLP
ENGINES = {"modeldyno": "onnxruntime", "torch": "onnxruntime", "mean": "onnxruntime"}
ENGINES |= {"benchmark_app": "openvino", "benchmark_app floor": "openvino"}
ENGINES |= {"modeldyno openvino": "openvino"}
# That a tool needs beside our own.
PACKAGES = {"torch": "torch"} | dict.fromkeys(
    (tool for tool, engine in ENGINES.items() if engine == "openvino"), "openvino"
)
CLOSE = 0.03  # of two tools that measure the same engine

Floors = dict[str, float]
Samples = dict[str, list[float]]
Summary = dict[str, Any]


@dataclass(frozen=True)
class Model:
    name: str
    path: Path
    inputs: Path


@dataclass(frozen=True)
class Row:
    """One claim of one tool, and the floor that it is held against."""

    label: str
    tool: str
    claim: str
    floor: str


ROWS = (
    Row("modeldyno, typical", "modeldyno", "typical", "run"),
    Row("modeldyno, floor", "modeldyno", "floor", "run"),
    Row("torch.utils.benchmark, median", "torch", "median", "run"),
    Row("loop, mean", "mean", "mean", "run"),
    Row("benchmark_app, median", "benchmark_app", "median", "latency"),
    Row("benchmark_app, to its caller", "benchmark_app", "median", "infer"),
    Row("benchmark_app, 10th percentile", "benchmark_app floor", "floor", "latency"),
    Row("modeldyno in OpenVINO, floor", "modeldyno openvino", "floor", "infer"),
)
COLUMNS = [
    "model",
    "claim",
    "median",
    "÷ floor",
    "off by more than 5 %",
    "of these, not warned",
    "highest ÷ lowest",
    "÷ floor beside",
]
FLOORS = {
    "run": "ONNX Runtime, session.run",
    "bound": "ONNX Runtime, I/O bound",
    "infer": "OpenVINO, request.infer",
    "latency": "OpenVINO, its own clock",
}


@dataclass(frozen=True)
class Turn:
    """One tool's turn in one round: what it claims, and the floors right beside it."""

    round: int
    model: str
    tool: str
    claims: dict[str, float]
    warned: bool
    said: str
    beside: Floors
    load: float


@dataclass(frozen=True)
class Round:
    """Everybody's turn, and the floors by model."""

    number: int
    turns: list[Turn]
    floors: dict[str, Floors]


@dataclass(frozen=True)
class Spread:
    """Ratios of one row over the rounds."""

    median: float
    lowest: float
    highest: float
    off: int  # more than 5 % away from 1
    n: int


# ---------------------------------------------------------------- pure parts


def floor(samples: Sequence[float]) -> float:
    """The 10th percentile: noise only ever adds."""
    return float(np.quantile(samples, 0.1))


def pooled(slices: Iterable[Samples]) -> Floors:
    """Floors over all samples of several slices."""
    together: Samples = {}
    for one in slices:
        for name, samples in one.items():
            together.setdefault(name, []).extend(samples)
    return {name: floor(samples) for name, samples in together.items()}


def spread(ratios: Sequence[float]) -> Spread:
    return Spread(
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        sum(abs(ratio - 1) > OFF for ratio in ratios),
        len(ratios),
    )


def summaries(rounds: Sequence[Round]) -> dict[str, list[Summary]]:
    """The rows of every model, without tools that claimed nothing."""
    names = list(rounds[0].floors)
    found = {name: [summarise(row, name, rounds) for row in ROWS] for name in names}
    return {name: [one for one in rows if one] for name, rows in found.items()}


def summarise(row: Row, model: str, rounds: Sequence[Round]) -> Summary | None:
    floors = {one.number: one.floors[model] for one in rounds}
    turns = [turn for one in rounds for turn in one.turns]
    ours = [turn for turn in turns if (turn.model, turn.tool) == (model, row.tool)]
    if not ours:
        return None
    claims = [turn.claims[row.claim] for turn in ours]
    ratios = [
        claim / floors[turn.round][row.floor] for claim, turn in zip(claims, ours, strict=True)
    ]
    beside = [claim / turn.beside[row.floor] for claim, turn in zip(claims, ours, strict=True)]
    unwarned = sum(
        abs(ratio - 1) > OFF and not turn.warned for ratio, turn in zip(ratios, ours, strict=True)
    )
    return {
        "row": row.label,
        "claim_s": statistics.median(claims),
        "over_floor": asdict(spread(ratios)),
        "over_floor_beside": asdict(spread(beside)),
        "off_without_warning": unwarned,
        "highest_over_lowest_claim": max(claims) / min(claims),
    }


def pretty(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def table(found: dict[str, list[Summary]]) -> Iterator[str]:
    """Markdown, for it goes into the documentation as it is."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for model, rows in found.items():
        for row in rows:
            over, beside = row["over_floor"], row["over_floor_beside"]
            yield (
                f"| {model} | {row['row']} | {pretty(row['claim_s'])} | {ratio_cell(over)} "
                f"| {over['off']} of {over['n']} | {row['off_without_warning']} "
                f"| {row['highest_over_lowest_claim']:.2f} | {ratio_cell(beside)} |"
            )


def ratio_cell(found: dict[str, Any]) -> str:
    return f"{found['median']:.3f} ({found['lowest']:.3f}–{found['highest']:.3f})"


def floor_table(rounds: Sequence[Round]) -> Iterator[str]:
    names = list(rounds[0].floors)
    yield f"| floor of a round | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for key, label in FLOORS.items():
        cells = [
            floor_cell([r.floors[n][key] for r in rounds if key in r.floors[n]]) for n in names
        ]
        yield f"| {label} | {' | '.join(cells)} |"


def floor_cell(found: Sequence[float]) -> str:
    if not found:
        return "–"
    return f"{pretty(statistics.median(found))} ({pretty(min(found))}–{pretty(max(found))})"


def face_to_face(rounds: Sequence[Round]) -> Iterator[str]:
    """Our floor of OpenVINO over benchmark_app's, by model: both f32, one thread, one stream.

    They read two clocks: we the caller's, benchmark_app the engine's own. The last column holds
    each against the floor that the same clock told in the loop beside.
    """
    head = ["model", "modeldyno", "benchmark_app", "ours ÷ theirs", "each over its clock's floor"]
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for model in rounds[0].floors:
        ours, theirs = (
            {
                turn.round: (turn.claims["floor"], turn.claims["floor"] / turn.beside[clock])
                for one in rounds
                for turn in one.turns
                if (turn.model, turn.tool) == (model, who)
            }
            for who, clock in (("modeldyno openvino", "infer"), ("benchmark_app floor", "latency"))
        )
        both = sorted(set(ours) & set(theirs))
        if both:
            us, them = (statistics.median(x[n][0] for n in both) for x in (ours, theirs))
            plain, fair = (
                statistics.median(ours[n][place] / theirs[n][place] for n in both)
                for place in (0, 1)
            )
            cells = (model, pretty(us), pretty(them), ratio_text(plain), ratio_text(fair))
            yield f"| {' | '.join(cells)} |"


def ratio_text(ratio: float) -> str:
    return f"{ratio:.3f}" + ("" if abs(ratio - 1) <= CLOSE else f" (over {CLOSE:.0%})")


# ---------------------------------------------------------------- models


def models(folder: Path) -> list[Model]:
    """ResNet-50 and SqueezeNet have the right graphs and constants for weights: fit for speed."""
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    files = {
        "MLP": mlp(folder / "mlp.onnx"),
        "digits": model_path(),
        "SqueezeNet": light / "light_squeezenet.onnx",
        "ResNet-50": light / "light_resnet50.onnx",
    }
    return [Model(name, path, inputs_of(path, folder)) for name, path in files.items()]


def mlp(path: Path) -> Path:
    """Two layers: a few microseconds, most of them the call itself."""
    randomness = np.random.default_rng(0)
    weights = []
    for name in ("w1", "b1", "w2", "b2"):
        shape = (WIDTH, WIDTH) if name.startswith("w") else (WIDTH,)
        values = randomness.normal(0, WIDTH**-0.5, shape).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
    ]
    kind = onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, kind, (1, WIDTH)) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "mlp", ends[:1], ends[1:], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )
    return path


def inputs_of(model: Path, folder: Path) -> Path:
    """One file of normal random numbers for all tools; open dimensions are 1."""
    graph = onnx.load(model).graph
    weights = {weight.name for weight in graph.initializer}
    (given,) = [one for one in graph.input if one.name not in weights]
    shape = [axis.dim_value or 1 for axis in given.type.tensor_type.shape.dim]
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    path = folder / f"{model.stem}.npz"
    with path.open("wb") as file:
        np.savez(file, **{given.name: values})  # type: ignore[arg-type]  # names are the model's
    return path


# ---------------------------------------------------------------- rounds


class Failed(Exception):
    """A tool ended without a claim."""


@dataclass(frozen=True)
class Bench:
    """Where and how long everybody measures."""

    cpu: int
    seconds: float
    slice_s: float

    def claim(self, tool: str, model: Model) -> dict[str, Any]:
        return self._child(tool, model, self.seconds)

    def slice(self, tool: str, model: Model) -> Samples:
        return self._child(f"{ENGINES[tool]} floors", model, self.slice_s)

    def _child(self, tool: str, model: Model, seconds: float) -> dict[str, Any]:
        command = [sys.executable, CLAIMS, tool, model.path, model.inputs, seconds, self.cpu]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        if done.returncode:
            raise Failed(f"{tool} on {model.name}: {done.stderr.strip()[-600:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


def one_round(
    bench: Bench, number: int, everything: list[Model], tools: list[str], seed: int
) -> Iterator[tuple[Turn, list[Samples]]]:
    """Every tool on every model once, with the slices of floor on both sides of its turn."""
    order = [(model, tool) for model in everything for tool in tools]
    random.Random(f"{seed} {number}").shuffle(order)  # noqa: S311 - an order of measurement
    for model, tool in order:
        try:
            before = bench.slice(tool, model)
            found = bench.claim(tool, model)
            around = [before, bench.slice(tool, model)]
        except (Failed, subprocess.TimeoutExpired) as error:
            print(f"round {number}: {error}", file=sys.stderr)
            continue
        yield (
            Turn(number, model.name, tool, beside=pooled(around), load=os.getloadavg()[0], **found),
            around,
        )


def measure(
    bench: Bench, everything: list[Model], tools: list[str], rounds: int, seed: int
) -> Iterator[Round]:
    for number in range(1, rounds + 1):
        turns: list[Turn] = []
        slices: dict[str, list[Samples]] = {model.name: [] for model in everything}
        for turn, around in one_round(bench, number, everything, tools, seed):
            turns.append(turn)
            slices[turn.model] += around
        yield Round(number, turns, {name: pooled(found) for name, found in slices.items()})
        print(f"round {number} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)


# ---------------------------------------------------------------- what is here


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def missing(
    tools: Iterable[str], installed: Callable[[str], str | None] = version
) -> dict[str, str]:
    """Tools that are not installed, with what installs them."""
    return {
        tool: f"pip install -c constraints.txt '.[{PACKAGES[tool]}]'"
        for tool in tools
        if tool in PACKAGES and installed(PACKAGES[tool]) is None
    }


def machine(bench: Bench) -> dict[str, Any]:
    packages = ("modeldyno", "onnxruntime", "onnx", "openvino", "torch", "numpy")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "pinned_to": bench.cpu,
        "seconds_per_claim": bench.seconds,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


# ---------------------------------------------------------------- the command


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=4, help="for each claim")
    parser.add_argument("--quick", action="store_true", help="2 rounds, 1 second for each claim")
    parser.add_argument("--json", action="store_true", help="lines of JSON instead of tables")
    parser.add_argument("--cpu", type=int, default=max(allowed_cpus()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tools", help="only these, with commas: " + ", ".join(ENGINES))
    parser.add_argument("--models", help="only these, with commas")
    return parser.parse_args()


def chosen(known: list[str], text: str | None) -> list[str]:
    """Those that were named; all when none was."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"There is no {unknown[0]!r} here, but {', '.join(known)}")
    return names or known


def main() -> None:
    asked = options()
    rounds = 2 if asked.quick else asked.rounds
    bench = Bench(asked.cpu, *((1, 0.2) if asked.quick else (asked.seconds, 0.5)))
    absent = missing(ENGINES)
    tools = chosen([tool for tool in ENGINES if tool not in absent], asked.tools)
    found: list[Round] = []
    with tempfile.TemporaryDirectory() as folder:
        known = {one.name: one for one in models(Path(folder))}
        wanted = [known[name] for name in chosen(list(known), asked.models)]
        for one in measure(bench, wanted, tools, rounds, asked.seed):
            found.append(one)
            if asked.json:
                print("\n".join(turn_lines(one)), flush=True)
    loads = [turn.load for one in found for turn in one.turns]
    facts = machine(bench) | {
        "rounds": rounds,
        "load": [round(min(loads, default=0), 1), round(max(loads, default=0), 1)],
    }
    facts["not installed"] = absent
    if asked.json:
        print("\n".join(summary_lines(facts, found)))
    print("\n".join(text_lines(facts, found)), file=sys.stderr if asked.json else sys.stdout)


def turn_lines(one: Round) -> Iterator[str]:
    for turn in one.turns:
        yield json.dumps({"kind": "turn"} | asdict(turn) | {"floors": one.floors[turn.model]})


def summary_lines(facts: dict[str, Any], rounds: Sequence[Round]) -> Iterator[str]:
    yield json.dumps({"kind": "machine"} | facts)
    for model, rows in summaries(rounds).items():
        for row in rows:
            yield json.dumps({"kind": "row", "model": model} | row)


def text_lines(facts: dict[str, Any], rounds: Sequence[Round]) -> Iterator[str]:
    for name, value in facts.items():
        yield f"{name}: {value}"
    yield from ("", *table(summaries(rounds)), "", *floor_table(rounds))
    yield from ("", *face_to_face(rounds))


if __name__ == "__main__":
    main()
