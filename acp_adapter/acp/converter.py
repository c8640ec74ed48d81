"""JSON ↔ the protocol's classes: camelCase on the wire, None left out, variants told apart by their TAG.

Strict where the schema is strict and lenient where the schema asks for it (`acp_adapter.acp.struct` has the three
kinds of leniency). Unknown members, enum values and variants are kept. What does not fit raises InvalidParams with
a message that names the place: `params.prompt[0].text: expected a string, got 5`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from attrs import NOTHING, Factory, fields, frozen
from cattrs import Converter

from acp_adapter.acp.struct import Struct, Unknown
from acp_adapter.errors import InvalidParams

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]

_SCALARS: Final[dict[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "an integer"),
    float: ((int, float), "a number"),
}


@overload
def structure(value: Any, kind: type[T], path: str = "value") -> T: ...
@overload
def structure(value: Any, kind: Any, path: str = "value") -> Any: ...
def structure(value: Any, kind: Any, path: str = "value") -> Any:
    """The JSON value as a class, union or alias of `acp_adapter.acp.types`.

    Raises InvalidParams, whose message starts with `path`, the name of the value as a whole.
    """
    try:
        return converter().structure(value, kind)
    except _Misfit as misfit:
        raise InvalidParams(misfit.sentence(path)) from None


def unstructure(value: Any) -> Any:
    """The JSON value of a class, or of a list, tuple or mapping of them. Anything else is passed as it is."""
    return converter().unstructure(value)


@cache
def converter() -> Converter:
    """The one converter. Its hooks are made when a class is first met, so that a start pays only for what it uses."""
    made = Converter(unstruct_collection_overrides={})
    made.register_structure_hook_factory(lambda _: True, partial(_structure_hook, made))
    for kind in _SCALARS:
        made.register_structure_hook(kind, _scalar(kind))
    made.register_unstructure_hook_factory(lambda _: True, partial(_unstructure_hook, made))
    return made


class _Misfit(Exception):
    """A value that is not what the schema asks for. The path grows while the exception climbs."""

    def __init__(self, fault: str, what: str | None = None) -> None:
        super().__init__(fault)
        self.fault = fault
        self.what = what
        self.path = ""

    @classmethod
    def expected(cls, what: str, got: Any) -> _Misfit:
        return cls(f"expected {what}, got {_shown(got)}", what)

    def under(self, step: str) -> _Misfit:
        self.path = step + self.path
        return self

    def sentence(self, root: str) -> str:
        return f"{root}{self.path}: {self.fault}"


def _shown(value: Any) -> str:
    """A JSON value in a few words."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value[:60] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"


# -- from JSON


def _structure_hook(made: Converter, kind: Any) -> Hook:
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _Reader(kind, made)
    if origin in (UnionType, Union):
        return _union(made, kind)
    if origin is Sequence:
        return _sequence(made.get_structure_hook(get_args(kind)[0]), get_args(kind)[0])
    if origin is dict:
        return _mapping(made.get_structure_hook(get_args(kind)[1]), get_args(kind)[1])
    if origin is Annotated:
        return _integer(kind.__metadata__[0])
    if origin is Literal:
        return made.get_structure_hook(str)
    return _unchanged


def _unchanged(value: Any, _: Any) -> Any:
    return value


def _scalar(kind: type) -> Hook:
    accepted, what = _SCALARS[kind]

    def read(value: Any, _: Any) -> Any:
        if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
            raise _Misfit.expected(what, value)
        return value

    return read


def _integer(allowed: range) -> Hook:
    what = f"an integer from {allowed.start} to {allowed.stop - 1}" if allowed.start == 0 else "an integer"

    def read(value: Any, _: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            raise _Misfit.expected(what, value)
        return value

    return read


def _sequence(hook: Hook, kind: Any) -> Hook:
    def read(value: Any, _: Any, skip_items: bool = False) -> list[Any]:
        if not isinstance(value, list):
            raise _Misfit.expected("an array", value)
        items = []
        for index, item in enumerate(value):
            try:
                items.append(hook(item, kind))
            except _Misfit as misfit:
                if not skip_items:
                    raise misfit.under(f"[{index}]") from None
        return items

    return read


def _mapping(hook: Hook, kind: Any) -> Hook:
    def read(value: Any, _: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Misfit.expected("an object", value)
        read_value = {}
        for key, item in value.items():
            try:
                read_value[key] = hook(item, kind)
            except _Misfit as misfit:
                raise misfit.under(f".{key}") from None
        return read_value

    return read


def _union(made: Converter, kind: Any) -> Hook:
    """A hook for one of several: by TAG, else the first whose required members are there, else the first that fits."""
    members = [member for member in get_args(kind) if member not in (NoneType, Unknown)]
    nullable, open_ended = NoneType in get_args(kind), Unknown in get_args(kind)
    if isinstance(members[0], type) and issubclass(members[0], Struct):
        choose: Hook = _Variants([made.get_structure_hook(member) for member in members], open_ended)
    elif len(members) == 1:
        choose = made.get_structure_hook(members[0])
    else:
        choose = _first_fitting([(made.get_structure_hook(member), member) for member in members])
    if not nullable:
        return choose

    def read(value: Any, of: Any, **policy: bool) -> Any:
        return None if value is None else choose(value, of, **policy)

    return read


def _first_fitting(hooks: Sequence[tuple[Hook, Any]]) -> Hook:
    def read(value: Any, _: Any) -> Any:
        misfits = []
        for hook, kind in hooks:
            try:
                return hook(value, kind)
            except _Misfit as misfit:
                misfits.append(misfit)
        if any(misfit.path for misfit in misfits):
            raise misfits[0]
        raise _Misfit.expected(" or ".join(str(misfit.what) for misfit in misfits), value)

    return read


class _Variants:
    """Reads a union of objects."""

    def __init__(self, readers: Sequence[Any], open_ended: bool) -> None:
        self._tagged = {reader.tag[1]: reader for reader in readers if reader.tag}
        self._untagged = [reader for reader in readers if not reader.tag]
        self._tag = next((reader.tag[0] for reader in readers if reader.tag), None)
        self._open_ended = open_ended

    def __call__(self, value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise _Misfit.expected("an object", value)
        tag = value.get(self._tag) if self._tag else None
        if isinstance(tag, str) and tag in self._tagged:
            return self._tagged[tag](value, None)
        for reader in self._untagged:
            if reader.required <= value.keys():
                return reader(value, None)
        if isinstance(tag, str) and self._open_ended:
            return Unknown(value)
        if self._untagged:
            return self._untagged[0](value, None)
        known = ", ".join(f'"{name}"' for name in self._tagged)
        misfit = _Misfit.expected(f"one of {known}", tag) if self._tag in value else _Misfit("required, but missing")
        raise misfit.under(f".{self._tag}")


@frozen
class _Member:
    """How one member of an object is read."""

    name: str
    key: str
    kind: Any
    hook: Hook
    required: bool
    policy: Mapping[str, bool]

    def read(self, value: Any, given: dict[str, Any], extra: dict[str, Any]) -> None:
        if value is None and not self.required:
            if not self.policy.get("on_null"):
                extra[self.key] = None
            return
        try:
            if value is None and self.policy.get("on_null"):
                given[self.name] = []
            elif self.policy.get("skip_items"):
                given[self.name] = self.hook(value, self.kind, skip_items=True)  # type: ignore[call-arg]
            else:
                given[self.name] = self.hook(value, self.kind)
        except _Misfit as misfit:
            if not self.policy.get("on_error"):
                raise misfit.under(f".{self.key}") from None
            if self.required:
                given[self.name] = []


class _Reader:
    """Reads the objects of one class. `tag` and `required` are for telling the variants of a union apart."""

    def __init__(self, cls: type[Struct], made: Converter) -> None:
        hints = get_type_hints(cls, include_extras=True)
        self._cls = cls
        self._members = {}
        for f in fields(cls):
            if f.name != "extra":
                kind, required = hints[f.name], f.default is NOTHING
                hook = made.get_structure_hook(kind)
                self._members[wire_name(f.name)] = _Member(f.name, wire_name(f.name), kind, hook, required, f.metadata)
        self.tag = cls.TAG
        self.required = {key for key, member in self._members.items() if member.required}

    def __call__(self, value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise _Misfit.expected("an object", value)
        if missing := self.required - value.keys():
            first = next(key for key in self._members if key in missing)
            raise _Misfit("required, but missing").under(f".{first}")
        given: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, item in value.items():
            if member := self._members.get(key):
                member.read(item, given, extra)
            elif not self.tag or key != self.tag[0]:
                extra[key] = item
        return self._cls(extra=extra, **given)


# -- to JSON


def _unstructure_hook(made: Converter, kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, type):
        if issubclass(kind, Struct):
            return _writer(kind, made)
        if kind is Unknown:
            return lambda value: value.raw
        if issubclass(kind, list | tuple):
            return lambda value: [made.unstructure(item) for item in value]
        if issubclass(kind, Mapping):
            return lambda value: {key: made.unstructure(item) for key, item in value.items()}
    return lambda value: value


_PLAIN: Final = frozenset({str, int, float, bool})


def _writer(cls: type[Struct], made: Converter) -> Callable[[Any], Any]:
    hints = get_type_hints(cls, include_extras=True)
    members = [
        (
            f.name,
            wire_name(f.name),
            hints[f.name] == Any or f.name == "meta",
            f.default is NOTHING,
            f.default == () or f.default == Factory(dict),
        )
        for f in sorted(fields(cls), key=lambda f: f.name == "meta")
        if f.name != "extra"
    ]
    tag = dict([cls.TAG]) if cls.TAG else {}
    write_item = made.unstructure

    def write(value: Any) -> dict[str, Any]:
        out: dict[str, Any] = {**tag, **value.extra} if value.extra else tag.copy()
        for name, key, raw, required, omit_empty in members:
            item = getattr(value, name)
            if (item is None and not required) or (omit_empty and not item):
                continue
            out[key] = item if raw or type(item) in _PLAIN else write_item(item)
        return out

    return write


def wire_name(name: str) -> str:
    """`session_id` → `sessionId`; `meta` is the protocol's `_meta`."""
    if name == "meta":
        return "_meta"
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
