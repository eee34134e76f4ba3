"""What a pickle would import and build, from its opcodes. Nothing is ever unpickled.

The walk follows Python's pickle machine with stand-ins for objects. Strings, numbers and tuples are
kept, since names and tensor sizes consist of them; everything else is opaque. The result is a list,
not a verdict: a file that names only harmless things may still be unsafe.
"""

from __future__ import annotations

import io
import math
import pickletools
from dataclasses import dataclass, field
from typing import Any

# Names from a file must not flood the terminal, and nobody reads a thousand of them.
_LONGEST_NAME = 200
_MOST_NAMES = 1000
_LARGEST_SIZE = 2**63


@dataclass(frozen=True, eq=False)
class Global:
    """A name that unpickling would import."""

    name: str


@dataclass(frozen=True, eq=False)
class PickleCall:
    """A call that unpickling would make."""

    function: Any
    arguments: Any


@dataclass(frozen=True, eq=False)
class Persistent:
    """An object stored outside the pickle: in torch, a storage of numbers."""

    key: Any


@dataclass(frozen=True)
class ListedTensor:
    """A tensor that torch would rebuild, as the pickle describes it."""

    dtype: str
    shape: tuple[int, ...]
    storage: str
    offset: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass
class PickleListing:
    imports: dict[str, None] = field(default_factory=dict)  # in order, without duplicates
    tensors: list[ListedTensor] = field(default_factory=list)
    trouble: str = ""  # why the walk ended before the pickle did
    length: int = 0  # bytes of the pickles that were walked
    root: Any = None  # a stand-in for the object that unpickling would return


_MARK = object()
_OPAQUE = object()
_STRINGS = (
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
)
_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")


def list_pickle(pickled: bytes) -> PickleListing:
    """Walk a pickle, or several in a row, as in torch's old format."""
    listing = PickleListing()
    while listing.length < len(pickled) and not listing.trouble:
        stream = io.BytesIO(pickled)
        stream.seek(listing.length)
        if listing.length and pickled[listing.length : listing.length + 1] != b"\x80":
            break  # torch's old format: numbers follow the pickles
        _PickleMachine(listing).interpret(stream)
        listing.length = stream.tell()
    return listing


class _PickleMachine:
    def __init__(self, listing: PickleListing) -> None:
        self._listing = listing
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def interpret(self, stream: io.BytesIO) -> None:
        try:
            for opcode, argument, _ in pickletools.genops(stream):
                self._step(opcode, argument)
        except (ValueError, IndexError, KeyError, EOFError, UnicodeError) as error:
            self._listing.trouble = f"{type(error).__name__}: {error}"[:_LONGEST_NAME]

    def _step(self, opcode: Any, argument: Any) -> None:
        name, stack = opcode.name, self._stack
        if name in _STRINGS or name in _NUMBERS:
            stack.append(argument)
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "GLOBAL":
            stack.append(self._import(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(self._import(module, attribute))
        elif name == "INST":
            made = self._import(*argument.split(" ", 1))
            stack.append(PickleCall(made, self._pop_to_mark()))
        elif name.startswith("EXT"):
            stack.append(self._import("copyreg extension", argument))
        elif name in ("REDUCE", "NEWOBJ", "NEWOBJ_EX"):
            if name == "NEWOBJ_EX":
                del stack[-1:]  # keyword arguments
            arguments, function = stack.pop(), stack.pop()
            stack.append(self._call(function, arguments))
        elif name == "OBJ":
            parts = self._pop_to_mark()
            stack.append(self._call(parts[0], parts[1:]))
        elif name == "TUPLE":
            stack.append(self._pop_to_mark())
        elif name in ("EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"):
            count = 0 if name == "EMPTY_TUPLE" else int(name[-1])
            items = tuple(stack[len(stack) - count :])
            if len(items) < count:
                raise IndexError("a tuple of more than there is")
            del stack[len(stack) - count :]
            stack.append(items)
        elif name == "BINPERSID":
            stack.append(Persistent(stack.pop()))
        elif name == "PERSID":
            stack.append(Persistent(argument))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self._memo[argument])
        elif name == "DUP":
            stack.append(stack[-1])
        elif name == "STOP":
            self._listing.root = stack[-1]
        else:
            self._apply_rare_opcode(opcode)

    def _apply_rare_opcode(self, opcode: Any) -> None:
        """Any opcode that names nothing: changes the stack as pickletools describes."""
        taken = opcode.stack_before
        if pickletools.markobject in taken:
            self._pop_to_mark()
            taken = taken[: taken.index(pickletools.markobject)]
        if len(self._stack) < len(taken):
            raise IndexError(f"{opcode.name} needs more than there is")
        bottom = len(self._stack) - len(taken)
        if opcode.name in ("BUILD", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS"):
            del self._stack[bottom + 1 :]  # the object that they change stays
        else:
            self._stack[bottom:] = [_OPAQUE] * len(opcode.stack_after)

    def _pop_to_mark(self) -> tuple[Any, ...]:
        items: list[Any] = []
        while (item := self._stack.pop()) is not _MARK:
            items.append(item)
        return tuple(reversed(items))

    def _import(self, module: Any, attribute: Any) -> Global:
        known = isinstance(module, str) and isinstance(attribute, (str, int))
        text = f"{module}.{attribute}" if known else "a name computed while unpickling"
        name = "".join(c if c.isprintable() else "�" for c in text)[:_LONGEST_NAME]
        if len(self._listing.imports) < _MOST_NAMES:
            self._listing.imports[name] = None
        return Global(name)

    def _call(self, function: Any, arguments: Any) -> Any:
        if isinstance(function, Global) and function.name in _REBUILDERS:
            tensor = _listed_tensor_of_call(arguments)
            if tensor is not None:
                self._listing.tensors.append(tensor)
                return tensor
            if function.name == _PARAMETER and isinstance(arguments, tuple) and arguments:
                return arguments[0]
        return PickleCall(function, arguments)


# ---------------------------------------------------------------- torch's tensors

_PARAMETER = "torch._utils._rebuild_parameter"
_REBUILDERS = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor", _PARAMETER)
_DTYPES = {
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "DoubleStorage": "float64",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


def _listed_tensor_of_call(arguments: Any) -> ListedTensor | None:
    """(storage, offset, size, stride, …), where storage is ("storage", class, key, device, n)."""
    match arguments:
        case (Persistent(key=("storage", Global(name=name), str(key), *_)), int(offset), size, *_):
            if isinstance(size, tuple) and all(
                isinstance(n, int) and 0 <= n < _LARGEST_SIZE for n in size
            ):
                dtype = _DTYPES.get(name.rpartition(".")[2], name)
                return ListedTensor(dtype, size, key, offset)
    return None
