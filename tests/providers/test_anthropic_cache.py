"""The cache of the API, as its guide tells of it, finds in each request all that the one before has put there."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from acp_adapter.providers.anthropic.request import MessagesEncoder
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.calls import calling, request, result
from tests.providers.cases import READ, call, said
from tests.stub_server import Received

LOOKBACK = 20
REFUSED = "cache_control: Extra inputs are not permitted"


class Cache:
    """Entries are prefixes of blocks: written at each marker, read at the nearest of 20 blocks before one.

    Source: "Prompt caching" in the API's guides. Markers are no part of what is compared; the field at the top of a
    request is a marker at its last block.
    """

    def __init__(self) -> None:
        self.entries: set[str] = set()

    def read(self, body: dict[str, Any]) -> tuple[int, int]:
        """How many of the request's blocks were found, and how many it has; it is kept for the next."""
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [block for turn in body["messages"] for block in turn["content"]]
        markers = [at for at, block in enumerate(blocks) if "cache_control" in block]
        markers += [len(blocks) - 1] if "cache_control" in body else []
        plain = [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]
        prefixes = [json.dumps(plain[: at + 1]) for at in range(len(plain))]
        looked_at = (at for marker in markers for at in range(max(0, marker - LOOKBACK + 1), marker + 1))
        found = max((at + 1 for at in looked_at if prefixes[at] in self.entries), default=0)
        self.entries |= {prefixes[at] for at in markers}
        return found, len(blocks)


def conversation(parallel: int) -> list[ModelRequest]:
    """The requests of two turns with steps of so many calls each."""
    messages: list[Message] = [Message("user", "go")]
    asked = [request(*messages, tools=[READ])]
    for step in range(4):
        ids = [f"c{step}-{n}" for n in range(parallel)]
        messages += [
            calling(*map(call, ids), text="I look." if step % 2 else None),
            *(result(each, f"{each} is") for each in ids),
        ]
        asked.append(request(*messages, tools=[READ]))
        if step == 2:
            messages += [said("so it is"), Message("user", "and then?")]
            asked.append(request(*messages, tools=[READ]))
    return asked


def server_takes(body: dict[str, Any]) -> bool:
    return AnthropicServer().complaint(Received("/v1/messages", {"anthropic-version": "2023-06-01"}, body)) is None


@pytest.mark.parametrize("caching", ["automatic", "markers"])
@pytest.mark.parametrize("parallel", [1, 8, 9, 10, 30])
def test_each_request_reads_from_the_cache_all_of_the_one_before(parallel: int, caching: str) -> None:
    encoder, cache, before = MessagesEncoder("claude-stub-5"), Cache(), 0
    asked = conversation(parallel)
    if caching == "markers":
        assert encoder.adapt(REFUSED, asked[0])
    for each in asked:
        body = json.loads(encoder.body(each))
        assert server_takes(body)
        found, whole = cache.read(body)
        assert found >= before, f"{found} of the {before} blocks before"
        before = whole
    assert before >= 8 * parallel


def test_a_cache_that_looks_back_further_than_that_would_be_no_test_of_it() -> None:
    """The field at the top alone loses all but tools and system after a step of many calls."""
    cache = Cache()
    for each in conversation(30)[:2]:
        body = json.loads(MessagesEncoder("claude-stub-5").body(each))
        for turn in body["messages"]:
            turn["content"] = [{k: v for k, v in block.items() if k != "cache_control"} for block in turn["content"]]
        found, _ = cache.read(body)
    assert found == len([READ]) + 1


def test_a_marker_is_all_that_moves_in_what_was_sent_before() -> None:
    """Without one, in steps of few blocks, nothing does."""
    for parallel, caching in ((1, "automatic"), (30, "automatic"), (1, "markers")):
        encoder, asked = MessagesEncoder("claude-stub-5"), conversation(parallel)
        if caching == "markers":
            encoder.adapt(REFUSED, asked[0])
        bodies = [encoder.body(each) for each in asked]
        if (parallel, caching) != (1, "automatic"):
            bodies = [body.replace(b',"cache_control":{"type":"ephemeral"}}', b"}") for body in bodies]
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(earlier.partition(b'}]}],"max_tokens"')[0])


def test_a_server_that_knows_no_caching_is_asked_for_none() -> None:
    encoder, asked = MessagesEncoder("claude-stub-5"), request("hi")
    assert [encoder.adapt(REFUSED, asked) for _ in range(3)] == [True, True, False]
    assert b"cache_control" not in encoder.body(asked)
