"""JSON with comments and trailing commas, as editors' settings are written, changed in place.

A change touches the characters of one member and nothing else: comments, order, indentation and line ends stay. What is
not understood to its last character is refused, so that nothing is changed by guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import frozen

from acp_adapter.tools.text import Text

_TOKEN = re.compile(
    r"""(?P<gap>[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)
    |(?P<mark>[{}\[\],:])
    |(?P<scalar>"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)""",
    re.DOTALL | re.VERBOSE,
)
_TRAIL = re.compile(r"(?:[ \t]|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+(?=[\r\n])")
"""What may stand behind a brace on its line without being about the member that follows."""
_BLANK = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_DEEPEST = 200


class NotJsonc(Exception):
    """The text can't be understood, or not be changed by itself; the message says where or why."""


@frozen
class Node:
    """A value and where it is written: `text[begin:end]`. `members` are those of an object, None for other values."""

    begin: int
    end: int
    value: Any
    members: tuple[Member, ...] | None = None

    def member(self, key: str) -> Member | None:
        """Raises NotJsonc where the key is there twice: which one an editor reads is not ours to guess."""
        found = [member for member in self.members or () if member.key == key]
        if len(found) > 1:
            raise NotJsonc(f"“{key}” is there twice")
        return found[0] if found else None


@frozen
class Member:
    """`begin` is where the key is written, `comma` where the comma after the value is, None where there is none."""

    key: str
    begin: int
    node: Node
    comma: int | None


def parse(text: str) -> Node | None:
    """What is written; None where there is nothing but space and comments. Raises NotJsonc."""
    return _Parser(text).document()


def value_of(text: str) -> Any:
    """The value alone, an empty object where nothing is written. Raises NotJsonc."""
    node = parse(text)
    return {} if node is None else node.value


def find(text: str, path: Sequence[str]) -> Node | None:
    """The value at this path of keys, None where there is none. Raises NotJsonc."""
    node = parse(text)
    for key in path:
        member = node.member(key) if node else None
        node = member.node if member else None
    return node


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text in which `path` leads to `value`; objects that are missing on the way are made. Raises NotJsonc.

    A new member is put first in its object: there it needs no change to anything that was written before.
    """
    node = parse(text)
    style = _Style.of(text, node)
    if node is None:
        opened = "" if not text or text.endswith(("\n", "\r")) else style.newline
        return text + opened + style.rendered(_nested(path, value), "") + style.newline
    for depth, key in enumerate(path):
        if node.members is None:
            where = " → ".join(path[:depth]) or "the whole of it"
            raise NotJsonc(f"{where} is not an object")
        member = node.member(key)
        if member is None:
            changed = _with_first(text, node, key, _nested(path[depth + 1 :], value), style)
            break
        node = member.node
    else:
        changed = text[: node.begin] + style.rendered(value, _indent(text, node.begin)) + text[node.end :]
    return _checked(changed, _merged(value_of(text), path, value))


def without(text: str, path: Sequence[str]) -> str:
    """The text without the member at `path` and its comma; the same text where it has none. Raises NotJsonc."""
    parent = find(text, path[:-1])
    member = parent.member(path[-1]) if parent else None
    if parent is None or parent.members is None or member is None:
        return text
    commas = [other.comma for other in parent.members if other.comma is not None and other.begin <= member.begin]
    changed, at = text[: member.begin] + text[member.node.end :], member.begin
    if member.comma is not None:
        comma = member.comma - (member.node.end - member.begin)
        changed = changed[:comma] + changed[comma + 1 :]
    elif commas:
        changed, at = changed[: commas[-1]] + changed[commas[-1] + 1 :], at - 1
    return _checked(_without_blank_line(changed, at), _dropped(value_of(text), path))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(*found, text[found[0] : found[1]]) for found in _tokens(text)]
        self._at = 0

    def document(self) -> Node | None:
        if not self._tokens:
            return None
        node = self._value(0)
        if self._at < len(self._tokens):
            raise self._wrong()
        return node

    def _value(self, depth: int) -> Node:
        begin, end, written = self._next()
        if depth > _DEEPEST:
            raise NotJsonc(f"it is nested more than {_DEEPEST} deep")
        if written == "{":
            return self._object(begin, depth)
        if written == "[":
            return self._array(begin, depth)
        if written in "}],:":
            raise self._wrong(-1)
        try:
            return Node(begin, end, json.loads(written))
        except ValueError:
            raise self._wrong(-1) from None

    def _object(self, begin: int, depth: int) -> Node:
        members: list[Member] = []
        while self._peek() != "}":
            at, _, key = self._next()
            if not key.startswith('"') or self._next()[2] != ":":
                raise self._wrong(-1)
            members.append(Member(_string(self._text, at, key), at, self._value(depth + 1), self._comma("}")))
        value = {member.key: member.node.value for member in members}
        return Node(begin, self._next()[1], value, tuple(members))

    def _array(self, begin: int, depth: int) -> Node:
        values = []
        while self._peek() != "]":
            values.append(self._value(depth + 1).value)
            self._comma("]")
        return Node(begin, self._next()[1], values)

    def _comma(self, closing: str) -> int | None:
        if self._peek() == closing:
            return None
        begin, _, written = self._next()
        if written != ",":
            raise self._wrong(-1)
        return begin

    def _peek(self) -> str:
        return self._tokens[self._at][2] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[int, int, str]:
        if self._at >= len(self._tokens):
            raise NotJsonc("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _wrong(self, back: int = 0) -> NotJsonc:
        return _wrong_at(self._text, self._tokens[self._at + back][0])


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where each token that counts begins and ends."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _wrong_at(text, at)
        if found["gap"] is None:
            yield found.span()
        at = found.end()


def _wrong_at(text: str, at: int) -> NotJsonc:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return NotJsonc(f"line {line}, column {column} is not as JSON has it")


def _string(text: str, at: int, written: str) -> str:
    try:
        return str(json.loads(written))
    except ValueError:
        raise _wrong_at(text, at) from None


@frozen
class _Style:
    """How a text is written: its line end, and what its first member is indented by."""

    newline: str
    unit: str

    @classmethod
    def of(cls, text: str, node: Node | None) -> _Style:
        first = node.members[0].begin if node and node.members else None
        unit = "" if first is None else _indent(text, first).removeprefix(_indent(text, node.begin if node else 0))
        return cls(Text(text).newline, unit or "  ")

    def rendered(self, value: Any, indent: str) -> str:
        """The value, its further lines indented by `indent` more."""
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.newline + indent).join(lines)


def _with_first(text: str, node: Node, key: str, value: Any, style: _Style) -> str:
    """The text with a new first member in the object `node`."""
    name = json.dumps(key, ensure_ascii=False) + ": "
    inside = text[node.begin + 1 : node.end - 1]
    if node.members and "\n" not in inside and "\r" not in inside:
        at, entry = node.begin + 1, name + json.dumps(value, ensure_ascii=False) + ","
        entry = " " + entry if inside.startswith(" ") else entry + " "
        return text[:at] + entry + text[at:]
    trail = _TRAIL.match(text, node.begin + 1, node.end)
    at = trail.end() if trail else node.begin + 1
    outer = _indent(text, node.begin)
    indent = outer + style.unit
    entry = style.newline + indent + name + style.rendered(value, indent)
    if node.members:
        entry += ","
    elif trail is None:
        entry += style.newline + outer
    return text[:at] + entry + text[at:]


def _indent(text: str, at: int) -> str:
    """The space at the beginning of the line that `at` is on."""
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _without_blank_line(text: str, at: int) -> str:
    """The text without the line that `at` is on, where nothing but space is left of it."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    blank = _BLANK.match(text, begin)
    return text[:begin] + text[blank.end() :] if begin and blank else text


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _merged(value: Any, path: Sequence[str], leaf: Any) -> Any:
    if not path:
        return leaf
    return {**value, path[0]: _merged(value.get(path[0], {}), path[1:], leaf)}


def _dropped(value: Any, path: Sequence[str]) -> Any:
    key, *rest = path
    kept = {name: each for name, each in value.items() if name != key}
    return {**value, key: _dropped(value[key], rest)} if rest else kept


def _checked(text: str, wanted: Any) -> str:
    """The changed text, read again: it must say what was wanted and nothing else."""
    if value_of(text) != wanted:
        raise NotJsonc("it can't be changed there without changing something else")
    return text
