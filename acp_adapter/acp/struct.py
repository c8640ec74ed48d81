"""What the generated classes of `acp_adapter.acp.types` are built on."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from attrs import define, field, fields

P = TypeVar("P")
R = TypeVar("R")

LENIENT: Final = {"on_error": True}
"""A malformed value counts as not given (`x-deserialize-default-on-error`)."""

LENIENT_ITEMS: Final = {"on_error": True, "skip_items": True}
"""As LENIENT, and a malformed item of an array is left out (`x-deserialize-skip-invalid-items`)."""

NULLABLE: Final = {"on_null": True}
"""`null` counts as not given (`x-deserialize-default-on-null`)."""


@define(eq=False, repr=False)
class Struct:
    """A JSON object of the protocol. Nothing that was received is lost when it is written again.

    Fields have the protocol's names in snake_case; None means absent. `meta` is `_meta`. `extra` holds the members
    that have no field here and those that were an explicit `null`, by their names on the wire.
    `TAG` is the discriminator of a variant: its member's name and value. It is written, never passed.
    """

    TAG: ClassVar[tuple[str, str] | None] = None

    meta: dict[str, Any] | None = field(default=None, kw_only=True, metadata=LENIENT)
    extra: dict[str, Any] = field(factory=dict, kw_only=True)

    # Written once here, not generated for each class: that would double the time to import the types.
    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(type(self)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(type(self))]
        shown = ", ".join(f"{name}={value!r}" for name, value in given if value is not None and value != {})
        return f"{type(self).__name__}({shown})"


@define
class Unknown:
    """A variant that this program does not know, kept as it came: `raw` is the JSON object."""

    raw: dict[str, Any]


class Method(str, Generic[P, R]):
    """A method's name, with what goes with it: P are its params, R its result (None for a notification).

    `side` is who implements it. `params` and `result` are the types to structure with.
    """

    __slots__ = ("kind", "params", "result", "side")

    kind: Literal["request", "notification"]
    side: Literal["agent", "client", "protocol"]
    params: Any
    result: Any

    def __new__(
        cls,
        name: str,
        kind: Literal["request", "notification"],
        side: Literal["agent", "client", "protocol"],
        params: Any,
        result: Any = None,
    ) -> Method[P, R]:
        self = super().__new__(cls, name)
        self.kind, self.side, self.params, self.result = kind, side, params, result
        return self


def wire_name(name: str) -> str:
    """`session_id` → `sessionId`; `meta` is the protocol's `_meta`."""
    if name == "meta":
        return "_meta"
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
