"""Requests from what people type in a terminal, Python or a config file."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import math
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, Union, cast, get_args, get_origin

from modeldyno.core.errors import BadValue
from modeldyno.core.models import Dim, InputSpec
from modeldyno.core.requests.checking import Naming, by_option, hints, option_of
from modeldyno.core.requests.measuring import (
    AxesWords,
    BudgetName,
    Ints,
    ModelFile,
    Request,
    SideRequest,
)
from modeldyno.core.sessions import OptionValue
from modeldyno.core.specs import QUICK, THOROUGH

DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_INPUT = re.compile(r"(.+)=([A-Za-z]\w*)\[([\w,]*)\]")
_SWITCHES = {"on": True, "off": False}


def parse_int(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadValue(f"{name} must be a whole number, not {text!r}") from None


def parse_switch(name: str, text: str) -> bool:
    if text not in _SWITCHES:
        raise BadValue(f"{name} is on or off, not {text!r}")
    return _SWITCHES[text]


def parse_share(name: str, text: str) -> float:
    """``5%`` and ``0.05`` → 0.05. A bare ``5`` means 5% to most people and 500% to a computer."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not math.isfinite(share) or (abs(share) >= 1 and not text.endswith("%")):
        raise BadValue(f"{name} must be a share such as 5% or 0.05, not {text!r}")
    return share


def parse_bytes(name: str, text: str) -> int:
    """``4G``, ``500M`` and plain bytes."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    number, unit = text.strip().upper().removesuffix("B"), 1
    if number and number[-1] in units:
        number, unit = number[:-1], units[number[-1]]
    try:
        count = int(float(number) * unit)
    except (ValueError, OverflowError):
        raise BadValue(f"{name} must be a size such as 4G or 500M, not {text!r}") from None
    if count < 1:
        raise BadValue(f"{name} must be at least 1, not {count}")
    return count


def parse_number(name: str, text: str) -> float:
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise BadValue(f"{name} must be a number, not {text!r}") from None


def parse_pairs(name: str, texts: Sequence[str]) -> dict[str, str]:
    """``["batch=8", "seq=128"]`` or ``["batch=8,seq=128"]`` → a dictionary."""
    pairs: dict[str, str] = {}
    for text in (part for several in texts for part in several.replace(",", " ").split()):
        key, equals, value = text.rpartition("=")
        if not (equals and key and value):
            raise BadValue(f"Cannot read {text!r} after {name}", fix=f"Write {name} NAME=VALUE")
        pairs[key] = value
    return pairs


def parse_sizes(name: str, texts: Sequence[str]) -> dict[str, int | tuple[int, ...]]:
    """``["seq=64,128", "h=224"]`` → ``{"seq": (64, 128), "h": 224}``."""
    sizes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        own: dict[str, tuple[int, ...]] = {}
        key = ""
        for part in text.replace(",", " ").split():
            dimension, equals, value = part.rpartition("=")
            if not value or (equals and not dimension) or not (equals or key):
                raise BadValue(
                    f"Cannot read {part!r} after {name}",
                    why="a dimension has a name and one size or several",
                    fix=f"Write {name} NAME=SIZE or NAME=SIZE,SIZE",
                )
            key = dimension or key
            if dimension in own or dimension in sizes:
                raise BadValue(
                    f"{name} {dimension} is given twice",
                    fix=f"Write {name} {dimension}=64,128 for several",
                )
            own[key] = (*own.get(key, ()), parse_int(f"{name} {key}", value))
        sizes |= own
    return {key: own if len(own) > 1 else own[0] for key, own in sizes.items()}


def parse_arguments(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """``["depth=50", "layers=[2,2]", "name=lite0"]``: JSON if it is valid JSON, else text."""
    arguments: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.isidentifier()):
            raise BadValue(f"Cannot read {text!r} after {name}", fix=f"Write {name} NAME=VALUE")
        try:
            arguments[key] = json.loads(value)
        except ValueError:
            arguments[key] = value
    return arguments


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """``["compile=on"]`` → {"compile": True}."""
    return {
        key: _SWITCHES.get(value, value) if isinstance(value, str) else value
        for key, value in parse_arguments("--option", texts).items()
    }


def parse_input(text: str) -> InputSpec:
    """``x=float32[1,3,224,224]``; a size may be a name, as in ``x=float32[batch,3,224,224]``."""
    match = _INPUT.fullmatch(text.replace(" ", ""))
    if match is None:
        raise BadValue(
            f"Cannot read {text!r} after --input",
            fix="Write --input NAME=TYPE[SIZES], for example --input x=float32[1,3,224,224]",
        )
    name, dtype, sizes = match.groups()
    if dtype not in DTYPES:
        close = difflib.get_close_matches(dtype, DTYPES, n=1)
        raise BadValue(
            f"There is no input type {dtype!r}",
            why=f"known types are {', '.join(DTYPES)}",
            fix=f"Did you mean {close[0]}?" if close else "Use one of those",
        )
    return InputSpec(name, dtype, tuple(_parse_dim(part) for part in sizes.split(",") if part))


def _parse_dim(text: str) -> Dim:
    if text.isidentifier():
        return text
    size = parse_int("a size in --input", text)
    if size < 1:
        raise BadValue(f"a size in --input must be at least 1, not {size}")
    return size


def choose_budget(
    quick: bool = False, thorough: bool = False, seconds: float | None = None
) -> BudgetName | float:
    given = {"--quick": quick, "--thorough": thorough, "--budget": seconds is not None}
    first, *others = [name for name, is_given in given.items() if is_given] or [""]
    if others:
        raise BadValue(
            f"{first} and {others[0]} contradict each other",
            why=f"--quick is {QUICK.seconds:g} s, --thorough {THOROUGH.seconds:g} s",
            fix="Use only one of them",
        )
    if seconds is not None:
        return seconds
    return "quick" if quick else "thorough" if thorough else "default"


# ---------------------------------------------------------------- sides of a comparison


def _side_fields() -> dict[str, str]:
    """The fields that may be given after an @, by their names there."""
    return {
        by_option(field, option_of(annotation)): field
        for field, annotation in hints(SideRequest).items()
        if field not in ("dims", "values", "inputs", "options")
    }


def split_side(
    text: str | Path, engine_options: Collection[str] | None = None
) -> tuple[str, dict[str, str]]:
    """``m.onnx@cores=2,batch=8`` → the path and its options; a file may have an @ in its name.

    ``engine_options`` are the known ones; None: any name may be one.
    """
    whole = str(text)
    if "@" not in whole or _is_there(whole):
        return whole, {}
    path, _, options = whole.rpartition("@")
    pairs = [part.partition("=") for part in options.split(",") if part]
    names = _side_fields()
    for name, equals, _ in pairs:
        is_known = name in names or engine_options is None or name in engine_options
        if not (equals and is_known):
            close = difflib.get_close_matches(name, names, n=1)
            raise BadValue(
                f"Cannot read {name!r} in {whole!r}",
                why=f"a side's options are {', '.join(names)}, as in m.onnx@cores=2",
                fix=f"Did you mean {close[0]}=…?" if close else "Write NAME=VALUE after the @",
            )
    return path, {name: value for name, _, value in pairs}


def side_with(common: SideRequest, words: dict[str, str]) -> SideRequest:
    """The options that both sides share, with those after the @ of one side."""
    names, annotations = _side_fields(), hints(SideRequest)
    own = {
        names[name]: parse_value(name, annotations[names[name]], text)
        for name, text in words.items()
        if name in names
    }
    engine = parse_options([f"{name}={words[name]}" for name in words if name not in names])
    return replace(common, **own, options={**common.options, **engine})


def parse_value(name: str, annotation: Any, text: str) -> Any:
    """One value of a field that has this annotation."""
    kinds = set(_plain_types(annotation))
    if bool in kinds:
        return parse_switch(name, text)
    if int in kinds:
        return parse_int(name, text)
    return parse_number(name, text) if float in kinds else text


def _plain_types(annotation: Any) -> list[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _plain_types(arguments[0])
    if origin in (Union, types.UnionType):
        return [kind for argument in arguments for kind in _plain_types(argument)]
    return [annotation]


def _is_there(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError):
        return False


R = TypeVar("R", bound=Request)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_LENGTHS = ("quick", "thorough")  # with ``budget``, which is seconds here


class InputWords(TypedDict, total=False):
    dims: Mapping[str, Ints] | None
    values: Mapping[str, float] | None
    inputs: Sequence[str]
    timeout: float
    memory_limit: int | None
    seed: int


class CallWords(InputWords, total=False):
    contract: str
    spin: bool | None
    options: Mapping[str, OptionValue] | None
    sandbox: str


class LengthWords(TypedDict, total=False):
    quick: bool
    thorough: bool
    budget: float | None


class FileWords(TypedDict, total=False):
    data: str | Path | None
    architecture: str | None
    arguments: Mapping[str, Any] | None


class BenchmarkWords(CallWords, LengthWords, AxesWords, total=False):
    signature: str
    iterations: int | None
    warmup: int | None
    per_call: bool


class RankWords(CallWords, LengthWords, total=False):
    """For all sides, and for comparing them."""

    batch: int
    cores: int
    device: str
    margin: float
    pairs: int | None
    adaptive: bool


class CompareWords(RankWords, total=False):
    engine: str | None


class ProfileWords(CallWords, total=False):
    engine: str | None
    batch: int
    cores: int
    device: str
    precision: str | None
    signature: str
    repeats: int


class ConvertWords(InputWords, total=False):
    architecture: str | None
    arguments: Mapping[str, Any] | None
    signature: str


class LocalBenchmarkWords(BenchmarkWords, FileWords, total=False): ...


class LocalCompareWords(CompareWords, FileWords, total=False): ...


class LocalRankWords(RankWords, FileWords, total=False): ...


class LocalProfileWords(ProfileWords, FileWords, total=False): ...


def request_of(kind: type[R], words: Mapping[str, Any], **more: Any) -> R:
    """The request that keyword arguments of Python describe, with ``more`` fields."""
    return fill_request(kind, words, **_read_budget(kind, words), **more)


def typed_request(kind: type[R], words: Mapping[str, Any], **more: Any) -> R:
    """The same from a terminal, where numbers and lists are text: ``1,8``."""
    return fill_request(kind, words, read=_typed_value, **_read_budget(kind, words), **more)


def file_of(path: str | Path, words: Mapping[str, Any]) -> ModelFile:
    return fill_request(ModelFile, words, path=path)


def _read_budget(kind: type[Request], words: Mapping[str, Any]) -> dict[str, Any]:
    if "budget" not in hints(kind):
        return {}
    quick, thorough = (words.get(name, False) for name in _LENGTHS)
    return {"budget": choose_budget(quick, thorough, words.get("budget"))}


def fill_request(
    kind: type[T],
    words: Mapping[str, Any],
    *,
    naming: Naming = by_option,
    read: Callable[[str, Any, Any], Any] | None = None,
    **more: Any,
) -> T:
    """A dataclass filled from the words it has fields for, and with ``more`` fields. None, or an
    empty text for a single value, means the default."""
    for field, annotation in hints(kind).items():
        name = naming(field, option_of(annotation))
        if field not in more and not _is_left_out(annotation, words.get(name)):
            more[field] = (read or _keep_value)(name, annotation, words[name])
    return kind(**more)


def _is_left_out(annotation: Any, value: Any) -> bool:
    return value is None or (value == "" and _origin_type(annotation) is not tuple)


def _keep_value(_: str, annotation: Any, value: Any) -> Any:
    match _origin_type(annotation):
        case kind if kind is tuple:
            return tuple(value) if _is_list(value) else (value,)
        case kind if kind is dict and isinstance(value, Mapping) and _has_lists(annotation):
            return {key: tuple(own) if _is_list(own) else own for key, own in value.items()}
        case _:
            return value


def _has_lists(annotation: Any) -> bool:
    """``Annotated[dict[str, int | tuple[int, ...]], …]``"""
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return any(_origin_type(kind) is tuple for kind in get_args(get_args(plain)[1]))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _typed_value(name: str, annotation: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return _keep_value(name, annotation, value)
    if _origin_type(annotation) is not tuple:
        return parse_value(f"--{name}", annotation, value)
    inner = get_args(get_args(annotation)[0])[0]
    parts = (part.strip() for part in value.split(","))
    return tuple(parse_value(f"--{name}", inner, part) for part in parts if part)


def _origin_type(annotation: Any) -> Any:
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return get_origin(plain)


# ---------------------------------------------------------------- functions that take words


def takes(words: type, *kinds: type[Request]) -> Callable[[F], F]:
    """For functions with ``**words``: shows them in ``help()``, and refuses unknown ones."""
    defaults: dict[str, Any] = dict.fromkeys(words.__annotations__)
    for kind in kinds:
        defaults |= {name: usual for name, usual in _usual_words(kind).items() if name in defaults}
    defaults |= {name: False for name in _LENGTHS if name in defaults}

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        known = {each.name for each in own} | defaults.keys()
        keyword = inspect.Parameter.KEYWORD_ONLY
        named = [
            inspect.Parameter(name, keyword, default=usual) for name, usual in defaults.items()
        ]

        @functools.wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            for name in keywords.keys() - known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"{function.__name__}() has no keyword {name!r}{hint}")
            return function(*args, **keywords)

        parameters = [*own, *(each for each in named if each.name not in signature.parameters)]
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return cast(F, checked)

    return decorate


def _usual_words(kind: type[Request]) -> dict[str, Any]:
    """The default of each word; a single value in place of a tuple of one."""
    annotations = hints(kind)
    defaults = {}
    for field in fields(kind):  # type: ignore[arg-type]  # requests are dataclasses
        usual = None if field.default is MISSING or field.default == () else field.default
        name = by_option(field.name, option_of(annotations[field.name]))
        defaults[name] = usual[0] if isinstance(usual, tuple) else usual
    return defaults | {"budget": None}
