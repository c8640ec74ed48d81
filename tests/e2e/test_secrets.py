"""Secrets reach neither the model nor the ledger, and a mark in a secret's place never overwrites it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.clients import editor
from tests.clients.lab import Lab
from tests.stub_model import READ, SHELL, WRITE, C, T

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"


async def test_a_key_in_a_tools_output_is_masked_for_the_model_the_editor_and_the_ledger(lab: Lab) -> None:
    (lab.project / ".env").write_text(f"GITHUB={TOKEN}\nNAME=demo\n")
    lab.model.add(C("c1", READ, {"path": ".env"}) + C("c2", SHELL, {"command": "cat .env; exit 3"}), T("done"))
    client = await lab.start()
    client.editor.permission = editor.allow
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    told = lab.model.requests[-1].texts("tool")
    assert len(told) == 2 and all("GITHUB=[redacted]" in text and "NAME=demo" in text for text in told)
    assert TOKEN not in str(client.live[session])
    await client.close()
    for file in lab.home.rglob("state.db*"):
        assert TOKEN.encode() not in file.read_bytes()


async def test_a_file_keeps_its_secret_when_a_model_writes_back_what_it_was_shown(lab: Lab) -> None:
    secret = f"GITHUB={TOKEN}\nNAME=demo\n"
    (lab.project / "conf").write_text(secret)
    lab.model.add(
        C("c1", READ, {"path": "conf"}),
        C("c2", WRITE, {"path": "conf", "content": "GITHUB=[redacted]\nNAME=other\n"}),
        C("c3", "edit_file", {"path": "conf", "old_text": "NAME=demo", "new_text": "NAME=other"}),
        T("done"),
    )
    client = await lab.start()
    client.editor.permission = editor.allow
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    assert "stands for a secret that you were not shown" in lab.model.requests[2].texts("tool")[-1]
    assert (lab.project / "conf").read_text() == secret.replace("demo", "other")


async def test_what_the_environment_or_a_server_was_given_is_masked_though_it_looks_like_no_key(lab: Lab) -> None:
    """A command can read the environment of its parent; an MCP server may tell its own."""
    kinds = str(Path(__file__).parents[1] / "mcp" / "kinds_server.py")
    env = [{"name": "SERVICE_TOKEN", "value": "quiet-otter-4711"}, {"name": "DB_PASSWORD", "value": "postgres"}]
    server = {"name": "kinds", "command": sys.executable, "args": [kinds], "env": env}
    lab.model.add(
        C("c1", "kinds__variable", {"name": "SERVICE_TOKEN"})
        + C("c2", "kinds__variable", {"name": "DB_PASSWORD"})
        + C("c3", SHELL, {"command": "echo wJalrXUtnFEMI/K7MDENG"}),
        T("done"),
    )
    client = await lab.start(AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG")
    client.editor.permission = editor.allow
    session = await client.new(lab.project, mcpServers=[server])
    await client.prompt(session, "go")
    said = [text.strip() for text in lab.model.requests[-1].texts("tool")]
    assert said == ["[redacted]", "postgres", "[redacted]"]
    assert "quiet-otter" not in str(client.live[session])
