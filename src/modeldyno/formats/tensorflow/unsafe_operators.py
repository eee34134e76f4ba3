"""Operators that access anything outside of the model. They are never run; a worker may read only
the model's own files, so they could not work anyway."""

from __future__ import annotations

import re
from pathlib import Path

from modeldyno.core.errors import UnsafeFormat
from modeldyno.formats.model_facts import join_some
from modeldyno.formats.refusals import printable_name
from modeldyno.formats.tensorflow.messages import GraphDef, Node

_REACH_OUT = re.compile(
    r"""
    (ReadFile|WriteFile|MatchingFiles|ImmutableConst)           # files, by any path
    |(Eager)?PyFunc(Stateless)?                                 # Python of whoever made it
    |(WholeFile|TextLine|TFRecord|FixedLengthRecord|LMDB|Identity)Reader(V2)?
    |(Experimental)?(TextLine|TFRecord|FixedLengthRecord|CSV|LMDB|Sql|Avro)\w*Dataset(V\d)?
    |(Save|Load|Snapshot|Cache|AssertPrevLatest|DataService|ListSnapshot|Register)\w*Dataset(V\d)?
    |(Experimental)?(MatchingFilesDataset|DatasetToTFRecord)|SnapshotDatasetReader|DistributedSave
    |Debug(Identity|NanCount|NumericSummary)(V\d)?              # to addresses and files
    |FileSystemSetConfiguration
    |(Save|SaveSlices|Restore|RestoreSlice)                     # checkpoints of TensorFlow 1
    |(Generate|Remap|LoadAndRemap)\w*(Vocab|Matrix)\w*
    |(Shell|System|Subprocess|Rpc|TryRpc|Grpc\w*|Http\w*)\w*
    |(LoadLibrary|LoadDataset|XlaLaunch.*|TPU\w+|_?Send|_?Recv|_Host(Send|Recv))
    |(Write|Flush|Close|Create)?(Audio|Graph|Histogram|Image|Scalar|RawProto)?Summary(FileWriter|DbWriter|Writer)\w*
    """,
    re.VERBOSE,
)
_PRINTS = "PrintV2"
_READ_WORD_LISTS = ("InitializeTableFromTextFile", "InitializeTableFromTextFileV2")  # from an asset
_CONSOLE = ("stderr", "stdout", "log(info)", "log(warning)", "log(error)")


def require_safe(path: Path, graph: GraphDef, has_assets: bool = False) -> None:
    """Raises UnsafeFormat. Checks the whole file: loading may call what the model does not."""
    unsafe = sorted({node.op for node in graph.every_node if _reaches_out(node, has_assets)})
    if unsafe:
        raise UnsafeFormat(
            f"{printable_name(path)} contains operators that reach outside the model",
            why=f"it uses {join_some(unsafe, 5)}; models may access only their own files here",
            fix="Export the model without them: files are read before it is called, and given as "
            "inputs",
        )


def _reaches_out(node: Node, has_assets: bool) -> bool:
    if node.op in _READ_WORD_LISTS:
        return not has_assets
    if node.op == _PRINTS:
        return node.get("output_stream") not in (None, *_CONSOLE)
    return _REACH_OUT.fullmatch(node.op) is not None
