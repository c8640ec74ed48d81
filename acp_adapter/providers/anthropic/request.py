"""ModelRequest → the body of a Messages request, as bytes. No I/O.

Each message becomes its blocks once (`blocks`), and while it lives they are kept: the next request of a long
conversation costs little more than joining them. Messages of one side that follow each other are one turn, since sides
must alternate and all results of a step must stand together at the beginning of the next.

Tools, system and messages come first, so that each request begins with the bytes of the one before. What is to be
cached is said once for the system prompt, and at the end for all of it, in a field that moves nothing. A marker stands
among the messages, at the end of the user's turn before, only where the API would not find the last entry of its cache
without it: after a step of many blocks. Servers that do not know that field get markers in the last two turns of the
user. A marker moves on with the next request, and is then the only difference in what was sent before.

Form: Anthropic's Messages API, `POST /v1/messages`; "Prompt caching" in its guides.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Literal

from attrs import define, field, frozen

from acp_adapter.providers.anthropic import thinking
from acp_adapter.providers.anthropic.blocks import NO_IDS, Block, Ids, blocks_of, told_blocks, unsigned_blocks, with_ids
from acp_adapter.providers.anthropic.schema import input_schema
from acp_adapter.providers.content import Encoded, encoded, name_of
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message

CACHED = {"cache_control": {"type": "ephemeral"}}
LOOKBACK = 20
"""Blocks before a marker, itself included, among which the API looks for an earlier entry of its cache."""
MAX_TOKENS = 32_000
"""Of an answer, where neither the caller nor the model's card says how many."""
THOUGHTS = 4_096
"""Tokens on top for a model that thinks although it was asked not to."""
LEAST_ROOM = 4_096
"""Tokens; with less left for an answer the conversation has to get shorter."""
FIRST = [{"type": "text", "text": "[The conversation so far begins with the assistant.]"}]
NOTHING = [{"type": "text", "text": "[Nothing was said.]"}]

Caching = Literal["automatic", "markers", "none"]
"""Each is tried after the one before it was refused."""


@frozen
class _Turn:
    """A message's blocks, joined by commas, and how many; `ids` are those that were used. `thinks` is whether thinking
    stands before its calls, or it has none."""

    role: str
    blocks: bytes
    count: int
    ids: Ids
    thinks: bool


@define(eq=False)
class MessagesEncoder:
    """Encodes the requests of one model, and remembers what its server has refused: see `adapt`."""

    model: str
    max_output: int | None = None
    _thinking: thinking.Thinking = field(init=False)
    _caching: Caching = "automatic"
    _loose: frozenset[str] = frozenset()
    _room: tuple[weakref.ref[ModelRequest], int] | None = None
    _kept: Encoded[_Turn] = field(factory=Encoded, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._thinking = thinking.Thinking(thinking.form_of(self.model))

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        answers: tuple[tuple[str, Callable[[re.Match[str], ModelRequest], bool]], ...] = (
            (r"max_tokens: \d+ > (\d+)", self._ask_for_less),
            (r"exceed context limit: (\d+) \+ \d+ > (\d+)", self._ask_for_what_is_left),
            (r"tools\.(\d+)\.\S*input_schema", self._loosen),
            (r"signature|thinking.{0,40}block", self._without_thinking),
            (r"thinking|effort|output_config", self._think_differently),
            (r"cache_control", self._cache_differently),
            (r"image|document|pdf|media", self._without_pictures),
        )
        found = ((re.search(pattern, complaint, re.I), answer) for pattern, answer in answers)
        return any(answer(match, request) for match, answer in found if match)

    def body(self, request: ModelRequest) -> bytes:
        """The whole body, its end the only part that differs from request to request of a conversation."""
        first: dict[str, Any] = {"model": self.model, "stream": True}
        if request.tools:
            first["tools"] = [self._tool(tool) for tool in request.tools]
        if request.system:
            cached = {} if self._caching == "none" else CACHED
            first["system"] = [{"type": "text", "text": request.system, **cached}]
        messages, last = self._messages(request.messages), encoded(self._last(request))
        return encoded(first)[:-1] + b',"messages":[%b],' % messages + last[1:]

    def _tool(self, tool: ToolSpec) -> dict[str, Any]:
        name, description, schema = name_of(tool.name), tool.description, input_schema(tool.parameters)
        if tool.name in self._loose:
            told = f"{description}\n\nIts arguments, as JSON Schema: {encoded(tool.parameters).decode()}"
            description, schema = told, {"type": "object"}
        return {"name": name, "description": description, "input_schema": schema}

    def _last(self, request: ModelRequest) -> dict[str, Any]:
        most = self._most(request)
        form = self._thinking.form
        if form == "budget" and self._is_unsigned(request.messages):
            form = "none"
        settings = self._thinking.settings(form, request.effort, most)
        return {"max_tokens": most, **settings, **(CACHED if self._caching == "automatic" else {})}

    def _most(self, request: ModelRequest) -> int:
        """How many tokens the answer may have, its thinking included."""
        most = request.max_tokens or self.max_output or MAX_TOKENS
        if request.max_tokens and request.effort == "off" and not self._thinking.can_be_off:
            most += THOUGHTS
        room = self._room[1] if self._room and self._room[0]() is request else most
        return min(most, room, self.max_output or most)

    def _messages(self, messages: Sequence[Message]) -> bytes:
        turns = [turn for turn in (self._turn(*each) for each in with_ids(messages)) if turn.count]
        if not turns or turns[0].role == "assistant":
            turns.insert(0, _made("user", FIRST if turns else NOTHING))
        if turns[-1].role == "assistant":
            turns.append(_made("user", NOTHING))
        sides = [list(same) for _, same in groupby(turns, key=lambda turn: turn.role)]
        marked = self._marked(sides)
        return b",".join(_side(same, at - len(sides) in marked) for at, same in enumerate(sides))

    def _marked(self, sides: Sequence[Sequence[_Turn]]) -> tuple[int, ...]:
        """Which turns get a marker at their end, counted from the last, which is the user's."""
        if self._caching == "markers":
            return -1, -3
        added = sum(turn.count for same in sides[-2:] for turn in same)
        return (-3,) if self._caching == "automatic" and added >= LOOKBACK else ()

    def _turn(self, message: Message, ids: Ids) -> _Turn:
        kept = self._kept.get(message)
        if kept is not None and kept.ids == ids:
            return kept
        return self._kept.keep(message, _made(message.role, blocks_of(message, ids), ids, message.tool_calls))

    def _is_unsigned(self, messages: Sequence[Message]) -> bool:
        """Whether a step of the current turn calls tools without thinking before it, as another model's do: such a
        turn can't go on with a budget for thinking. The messages are encoded by now."""
        for message in reversed(messages):
            if message.role == "user":
                return False
            kept = self._kept.get(message)
            if message.role == "assistant" and kept is not None and not kept.thinks:
                return True
        return False

    # What is answered to complaints: each tells whether it changed anything.

    def _ask_for_less(self, most: re.Match[str], request: ModelRequest) -> bool:
        before, self.max_output = self.max_output, int(most[1])
        return before != self.max_output

    def _ask_for_what_is_left(self, sizes: re.Match[str], request: ModelRequest) -> bool:
        """Of the window, for this request alone: the next one may be shorter."""
        known = self._room[1] if self._room and self._room[0]() is request else None
        room = int(sizes[2]) - int(sizes[1])
        if room < LEAST_ROOM or (known is not None and known <= room):
            return False
        self._room = weakref.ref(request), room
        return True

    def _loosen(self, place: re.Match[str], request: ModelRequest) -> bool:
        """Tell of a tool's schema in words: one that is refused would be the end of all requests."""
        named = {tool.name for tool in request.tools[int(place[1]) : int(place[1]) + 1]} - self._loose
        self._loose |= named
        return bool(named)

    def _without_thinking(self, _: re.Match[str], request: ModelRequest) -> bool:
        return self._again(request, unsigned_blocks)

    def _think_differently(self, found: re.Match[str], request: ModelRequest) -> bool:
        return self._thinking.adapt(found.string, request.effort)

    def _cache_differently(self, _: re.Match[str], request: ModelRequest) -> bool:
        before = self._caching
        self._caching = "markers" if before == "automatic" else "none"
        return before != "none"

    def _without_pictures(self, _: re.Match[str], request: ModelRequest) -> bool:
        """In this request; new ones are tried."""
        return self._again(request, told_blocks)

    def _again(self, request: ModelRequest, blocks: Callable[[Message, Ids], list[Block]]) -> bool:
        """Encode the messages anew; whether that changed any."""
        changed = False
        for message, ids in with_ids(request.messages):
            made = _made(message.role, blocks(message, ids), ids, message.tool_calls)
            if made != self._turn(message, ids):
                self._kept.keep(message, made)
                changed = True
        return changed


def _made(role: str, blocks: list[Block], ids: Ids = NO_IDS, calls: Any = None) -> _Turn:
    side = "assistant" if role == "assistant" else "user"
    thinks = not calls or (bool(blocks) and blocks[0]["type"] in ("thinking", "redacted_thinking"))
    return _Turn(side, encoded(blocks)[1:-1], len(blocks), ids, thinks)


def _side(same: Sequence[_Turn], marked: bool) -> bytes:
    """One turn of the API's, from messages of ours; a marker is a field of its last block."""
    blocks = b",".join(turn.blocks for turn in same)
    if marked:
        blocks = blocks[:-1] + b"," + encoded(CACHED)[1:]
    return b'{"role":"%b","content":[%b]}' % (same[0].role.encode(), blocks)
