"""JSON ↔ the protocol's classes: camelCase on the wire, None left out, variants told apart by their TAG.

Strict where the schema is strict and lenient where the schema asks for it (`acp_adapter.acp.struct` has the three
kinds of leniency). Unknown members, enum values and variants are kept. What does not fit raises InvalidParams with
a message that names the place: `params.prompt[0].text: expected a string, got 5`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeVar, get_type_hints, overload

from attrs import NOTHING, Factory, fields
from cattrs import Converter

from acp_adapter.acp.reading import SCALARS, Misfit, scalar, structure_hook
from acp_adapter.acp.struct import Struct, Unknown, wire_name
from acp_adapter.errors import InvalidParams

T = TypeVar("T")


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
    except Misfit as misfit:
        raise InvalidParams(misfit.sentence(path)) from None


def unstructure(value: Any) -> Any:
    """The JSON value of a class, or of a list, tuple or mapping of them. Anything else is passed as it is."""
    return converter().unstructure(value)


@cache
def converter() -> Converter:
    """The one converter. Its hooks are made when a class is first met, so that a start pays only for what it uses."""
    made = Converter(unstruct_collection_overrides={})
    made.register_structure_hook_factory(lambda _: True, partial(structure_hook, made))
    for kind in SCALARS:
        made.register_structure_hook(kind, scalar(kind))
    made.register_unstructure_hook_factory(lambda _: True, partial(_unstructure_hook, made))
    return made


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
