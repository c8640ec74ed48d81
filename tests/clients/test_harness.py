"""The harness itself, against an agent that is not ours: a good conversation passes, a broken one is caught."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.clients.lab import Lab
from tests.stub_model import StubModel

ECHO = (sys.executable, str(Path(__file__).with_name("echo_agent.py")))


@pytest.fixture
def echo_lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, StubModel(), ECHO)


async def test_a_good_conversation_leaves_no_fault(echo_lab: Lab) -> None:
    client = await echo_lab.start()
    session = await client.new(echo_lab.project)
    turn = await client.prompt(session, "hello")
    assert (turn.stop_reason, turn.text) == ("end_turn", "hello")
    assert await echo_lab.close() == []


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("stdout", "is not JSON"),
        ("stderr", "on stderr: Traceback"),
        ("session", "for session 'someone else'"),
        ("id", "has no messageId"),
        ("silence", "although nothing was said"),
    ],
)
async def test_a_broken_rule_is_named(echo_lab: Lab, rule: str, fault: str) -> None:
    client = await echo_lab.start()
    session = await client.new(echo_lab.project)
    await client.prompt(session, f"break {rule}")
    assert any(fault in found for found in await echo_lab.close())
