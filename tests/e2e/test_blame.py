"""The panel and the terminal say which session and prompt wrote a line."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.stub_model import READ, WRITE, C, T


async def terminal(lab: Lab, *words: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "acp_adapter", "blame", *words),
        cwd=lab.project,
        env=lab.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_a_line_is_traced_to_its_prompt_from_panel_and_terminal(lab: Lab) -> None:
    (lab.project / "a.py").write_text("old\n")
    edit = {"path": "a.py", "old_text": "old\n", "new_text": "old\nnew\n"}
    lab.model.add(C("c1", "edit_file", edit), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "add a line")
    told = (await client.prompt(session, "/blame a.py:2")).text
    assert "`new`" in told and session in told and "“add a line”" in told
    told = (await client.prompt(session, "/blame a.py")).text
    assert "there before any change on record: lines 1" in told and "“add a line”" in told

    code, out = await terminal(lab, "--json", "a.py")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(line["text"], line["by"], line["session_id"], line["prompt"]) for line in found] == [
        ("old", "before", None, None),
        ("new", "session", session, "add a line"),
    ]
    code, out = await terminal(lab, "a.py:2")
    assert (code, session in out, "sessions show" in out) == (0, True, True)
    code, out = await terminal(lab, "a.py")
    assert [line.split()[-1] for line in out.splitlines()] == ["old", "new"]


async def test_the_terminal_says_what_it_can_not_look_at(lab: Lab) -> None:
    assert (await terminal(lab, "a.py"))[0] == 1
    await (await lab.start()).new(lab.project)
    (lab.project / "b.bin").write_bytes(b"\0\1")
    for words, said in (("a.py", "There is no file"), ("b.bin", "binary"), ("b.bin:0", "from 1")):
        code, out = await terminal(lab, words)
        assert (code, said in out) == (1, True), out


async def test_the_panel_counts_what_is_unsaved_and_looks_nowhere_outside(lab: Lab) -> None:
    path = str(lab.project / "a.py")
    lab.model.add(C("c1", READ, {"path": "a.py"}), C("c2", WRITE, {"path": "a.py", "content": "mine\n"}), T("done"))
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={path: "unsaved\n"}))
    session = await client.new(lab.project)
    await client.prompt(session, "write it")
    client.editor.buffers[path] += "typed\n"
    told = (await client.prompt(session, "/blame a.py")).text
    assert "“write it”" in told and "other hands, after a session had changed the file: lines 2" in told
    for words, said in (("/blame", "Say which line"), ("/blame /etc/passwd", "outside"), ("/blame a.py:9", "no line")):
        with pytest.raises(RpcError, match=said):
            await client.prompt(session, words)
