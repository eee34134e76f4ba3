"""Requests from the words of the terminal and of Python: ``batch=8`` fills ``batch_sizes``.

Words are named as options are. Those of Python are listed as ``…Words``, for type checkers and for
``help()``; what they mean and which values they take, the request's fields say.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, cast, get_args, get_origin

from modeldyno.core.requests.checking import Naming, by_option, hints, option_of
from modeldyno.core.requests.measuring import AxesWords, Ints, ModelFile, Request
from modeldyno.core.requests.texts import choose_budget, parse_value
from modeldyno.core.sessions import OptionValue

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
    """Of all sides, and of how they are compared."""

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
    """The request that the words of Python describe, with ``more`` fields."""
    return filled(kind, words, **_budget(kind, words), **more)


def typed_request(kind: type[R], words: Mapping[str, Any], **more: Any) -> R:
    """The same from a terminal, where numbers and lists are texts: ``1,8``."""
    return filled(kind, words, read=_typed_value, **_budget(kind, words), **more)


def file_of(path: str | Path, words: Mapping[str, Any]) -> ModelFile:
    return filled(ModelFile, words, path=path)


def _budget(kind: type[Request], words: Mapping[str, Any]) -> dict[str, Any]:
    if "budget" not in hints(kind):
        return {}
    quick, thorough = (words.get(name, False) for name in _LENGTHS)
    return {"budget": choose_budget(quick, thorough, words.get("budget"))}


def filled(
    kind: type[T],
    words: Mapping[str, Any],
    *,
    naming: Naming = by_option,
    read: Callable[[str, Any, Any], Any] | None = None,
    **more: Any,
) -> T:
    """A dataclass with those of the words that it has fields for, and with ``more`` fields.
    Nothing (None, or an empty text for one value) means: as usual."""
    for field, annotation in hints(kind).items():
        name = naming(field, option_of(annotation))
        if field not in more and not _is_left_out(annotation, words.get(name)):
            more[field] = (read or _value)(name, annotation, words[name])
    return kind(**more)


def _is_left_out(annotation: Any, value: Any) -> bool:
    return value is None or (value == "" and _origin(annotation) is not tuple)


def _value(_: str, annotation: Any, value: Any) -> Any:
    match _origin(annotation):
        case kind if kind is tuple:
            return tuple(value) if _is_listed(value) else (value,)
        case kind if kind is dict and isinstance(value, Mapping) and _has_lists(annotation):
            return {key: tuple(own) if _is_listed(own) else own for key, own in value.items()}
        case _:
            return value


def _has_lists(annotation: Any) -> bool:
    """``Annotated[dict[str, int | tuple[int, ...]], …]``"""
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return any(_origin(kind) is tuple for kind in get_args(get_args(plain)[1]))


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _typed_value(name: str, annotation: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return _value(name, annotation, value)
    if _origin(annotation) is not tuple:
        return parse_value(f"--{name}", annotation, value)
    inner = get_args(get_args(annotation)[0])[0]
    parts = (part.strip() for part in value.split(","))
    return tuple(parse_value(f"--{name}", inner, part) for part in parts if part)


def _origin(annotation: Any) -> Any:
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return get_origin(plain)


# ---------------------------------------------------------------- functions that take words


def takes(words: type, *kinds: type[Request]) -> Callable[[F], F]:
    """For a function of ``**words``: shows them all in ``help()``, and refuses any other."""
    defaults: dict[str, Any] = dict.fromkeys(words.__annotations__)
    for kind in kinds:
        defaults |= {name: usual for name, usual in _usual(kind).items() if name in defaults}
    defaults |= {name: False for name in _LENGTHS if name in defaults}

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        known = {each.name for each in own} | defaults.keys()
        keyword = inspect.Parameter.KEYWORD_ONLY
        keywords = [
            inspect.Parameter(name, keyword, default=usual) for name, usual in defaults.items()
        ]

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given.keys() - known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"{function.__name__}() has no keyword {name!r}{hint}")
            return function(*args, **given)

        parameters = [*own, *(each for each in keywords if each.name not in signature.parameters)]
        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return cast(F, checked)

    return decorate


def _usual(kind: type[Request]) -> dict[str, Any]:
    """The default of each word; one value rather than a list of one."""
    annotations = hints(kind)
    defaults = {}
    for field in fields(kind):  # type: ignore[arg-type]  # requests are dataclasses
        usual = None if field.default is MISSING or field.default == () else field.default
        name = by_option(field.name, option_of(annotations[field.name]))
        defaults[name] = usual[0] if isinstance(usual, tuple) else usual
    return defaults | {"budget": None}
