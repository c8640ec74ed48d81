"""From JSON: one hook for each type of the protocol, made from its type hints. Used by `converter` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, fields, frozen
from cattrs import Converter

from acp_adapter.acp.struct import Struct, Unknown, wire_name

Hook = Callable[[Any, Any], Any]

SCALARS: Final[dict[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "an integer"),
    float: ((int, float), "a number"),
}


class Misfit(Exception):
    """A value that is not what the schema asks for. The path grows while the exception climbs."""

    def __init__(self, fault: str, what: str | None = None) -> None:
        super().__init__(fault)
        self.fault = fault
        self.what = what
        self.path = ""

    @classmethod
    def expected(cls, what: str, got: Any) -> Misfit:
        return cls(f"expected {what}, got {_shown(got)}", what)

    def under(self, step: str) -> Misfit:
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


def structure_hook(made: Converter, kind: Any) -> Hook:
    """What reads a value of any type that the generated module uses. It raises Misfit."""
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


def scalar(kind: type) -> Hook:
    """What reads one of SCALARS, strictly: 5 is no string and true is no number."""
    accepted, what = SCALARS[kind]

    def read(value: Any, _: Any) -> Any:
        if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
            raise Misfit.expected(what, value)
        return value

    return read


def _integer(allowed: range) -> Hook:
    what = f"an integer from {allowed.start} to {allowed.stop - 1}" if allowed.start == 0 else "an integer"

    def read(value: Any, _: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            raise Misfit.expected(what, value)
        return value

    return read


def _sequence(hook: Hook, kind: Any) -> Hook:
    def read(value: Any, _: Any, skip_items: bool = False) -> list[Any]:
        if not isinstance(value, list):
            raise Misfit.expected("an array", value)
        items = []
        for index, item in enumerate(value):
            try:
                items.append(hook(item, kind))
            except Misfit as misfit:
                if not skip_items:
                    raise misfit.under(f"[{index}]") from None
        return items

    return read


def _mapping(hook: Hook, kind: Any) -> Hook:
    def read(value: Any, _: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Misfit.expected("an object", value)
        read_value = {}
        for key, item in value.items():
            try:
                read_value[key] = hook(item, kind)
            except Misfit as misfit:
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
            except Misfit as misfit:
                misfits.append(misfit)
        if any(misfit.path for misfit in misfits):
            raise misfits[0]
        raise Misfit.expected(" or ".join(str(misfit.what) for misfit in misfits), value)

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
            raise Misfit.expected("an object", value)
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
        misfit = Misfit.expected(f"one of {known}", tag) if self._tag in value else Misfit("required, but missing")
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
        except Misfit as misfit:
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
            raise Misfit.expected("an object", value)
        if missing := self.required - value.keys():
            first = next(key for key in self._members if key in missing)
            raise Misfit("required, but missing").under(f".{first}")
        given: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, item in value.items():
            if member := self._members.get(key):
                member.read(item, given, extra)
            elif not self.tag or key != self.tag[0]:
                extra[key] = item
        return self._cls(extra=extra, **given)
