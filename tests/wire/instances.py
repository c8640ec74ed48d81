"""Hypothesis strategies for any class of the protocol, made from its type hints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, fields
from hypothesis import strategies as st

from acp_adapter.acp.struct import Struct, Unknown

TEXT = st.text(min_size=1, max_size=6)
JSON = st.recursive(st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
OBJECT = st.dictionaries(TEXT, JSON, max_size=2)


@cache
def anything(kind: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return instances(kind)  # type: ignore[arg-type]  # mypy: a class is as hashable as its instances
    if origin in (UnionType, Union):
        return st.one_of([anything(each) for each in arguments if each is not Unknown])
    if origin is Sequence:
        return st.lists(anything(arguments[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(TEXT, anything(arguments[1]), max_size=2)
    if origin is Annotated:
        return st.integers(kind.__metadata__[0].start, kind.__metadata__[0].stop - 1)
    if origin is Literal:
        return st.sampled_from(arguments)
    return {
        str: TEXT,
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False),
        NoneType: st.none(),
        Any: JSON,
    }[kind]


@cache
def instances(cls: type[Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls, include_extras=True)
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for f in fields(cls):
        if f.name not in ("meta", "extra"):
            (required if f.default is NOTHING else optional)[f.name] = anything(hints[f.name])
    more = st.dictionaries(TEXT.map(lambda name: f"x-{name}"), JSON, max_size=1)
    given = st.fixed_dictionaries(required, optional={**optional, "meta": OBJECT, "extra": more})
    return given.map(lambda arguments: cls(**arguments))


def structs() -> list[type[Struct]]:
    """Every class of the protocol."""
    from acp_adapter.acp import types

    found = [each for each in vars(types).values() if isinstance(each, type) and issubclass(each, Struct)]
    return [each for each in found if each is not Struct]
