"""Whatever came before: a history made of any of the cases, in any order, is one that every API takes.

That is what a session is after its model was changed: messages of many makers, with what each of them signed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message
from tests.providers.cases import CASES
from tests.providers.encoders import APIS


def histories(most: int) -> st.SearchStrategy[ModelRequest]:
    """Cases one after the other; what is asked beside the messages is the last one's."""
    return st.lists(st.sampled_from(list(CASES)), min_size=1, max_size=most).map(
        lambda names: evolve(CASES[names[-1]], messages=_as_one(CASES[name].messages for name in names))
    )


def _as_one(parts: Iterable[Sequence[Message]]) -> list[Message]:
    """Every message with an id of its own, as in the ledger."""
    return [evolve(message, id=f"m{place}") for place, message in enumerate(chain.from_iterable(parts))]


@pytest.mark.parametrize("api", APIS)
@given(request=histories(most=5))
def test_every_api_takes_any_history(api: str, request: ModelRequest) -> None:
    assert APIS[api].complaint(APIS[api].encoder()(request)) is None


@pytest.mark.parametrize("api", APIS)
@given(request=histories(most=3), more=histories(most=2))
def test_every_request_begins_with_the_bytes_of_the_one_before(
    api: str, request: ModelRequest, more: ModelRequest
) -> None:
    encode = APIS[api].encoder()
    before, after = encode(request), encode(evolve(request, messages=[*request.messages, *more.messages]))
    conversation = _conversation(before)
    end = before.index(conversation) + len(conversation)
    assert after[:end] == before[:end]
    assert APIS[api].encoder()(request) == before, "as it is after a restart"


@pytest.mark.parametrize("api", APIS)
def test_a_history_that_no_api_takes_is_found_out(api: str) -> None:
    """A call without its result: the checks can fail."""
    whole = CASES["a call and an answer after it"]
    unpaired = evolve(whole, messages=[message for message in whole.messages if message.role != "tool"])
    assert APIS[api].complaint(APIS[api].encoder()(unpaired))


def _conversation(body: bytes) -> bytes:
    """The messages as they stand in a body, open at their end."""
    decoded: dict[str, Any] = json.loads(body)
    said = next(decoded[field] for field in ("contents", "input", "messages") if field in decoded)
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode().rstrip(b"]}")
