"""The agent, started and driven by pytest-lsp with pygls' client: the other side of the library it stands on."""

from __future__ import annotations

import sys

from pytest_lsp import ClientServerConfig

from tests.clients.lab import Lab
from tests.clients.pygls_client import LineClient
from tests.stub_model import T


async def test_pygls_client_talks_with_the_agent(lab: Lab) -> None:
    lab.model.add(T("hello ", "pygls"))
    config = ClientServerConfig([sys.executable, "-m", "acp_adapter"], LineClient, lab.environment)
    client = await config.start()
    assert isinstance(client, LineClient)
    told = await client.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert told.protocolVersion == 1
    made = await client.ask("session/new", {"cwd": str(lab.project), "mcpServers": []})
    prompt = [{"type": "text", "text": "hi"}]
    ended = await client.ask("session/prompt", {"sessionId": made.sessionId, "prompt": prompt})
    assert ended.stopReason == "end_turn"
    said = [update.content.text for update in client.updates if update.sessionUpdate == "agent_message_chunk"]
    assert "".join(said) == "hello pygls"
    assert await client.leave() == 0
    assert not client.faults
