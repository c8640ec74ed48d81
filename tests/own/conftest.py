"""Starts the agent with one of the authors' agents in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients.editor import Editor
from tests.clients.lab import Lab
from tests.clients.raw import RawClient

AGENTS = Path(__file__).with_name("agents.py")


class Host:
    """`lab.start`, with an agent of that name from `agents.py`."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    async def start(self, name: str, editor: Editor | None = None, **env: Any) -> RawClient:
        return await self.lab.start(editor, ACP_ADAPTER_AGENT=f"{AGENTS}:{name}", **env)

    async def restart(self, client: RawClient, name: str) -> RawClient:
        return await self.lab.restart(client, ACP_ADAPTER_AGENT=f"{AGENTS}:{name}")


@pytest.fixture
def host(lab: Lab) -> Host:
    return Host(lab)
