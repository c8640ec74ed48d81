"""The page that a newcomer follows, followed: its program, started as its settings for an editor say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.clients.lab import Lab
from tests.clients.turn import output

PAGE = Path(__file__).parents[2] / "docs/howto/bring-your-own-agent.md"


def block(language: str) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0])


async def test_the_program_of_the_page_does_what_the_page_says(lab: Lab) -> None:
    program = lab.folder / "my_agent.py"
    program.write_text(block("python"), "utf-8")
    (lab.project / "my_agent.py").touch()
    (server,) = json.loads(block("json"))["agent_servers"].values()
    assert (Path(server["command"]).name, Path(server["args"][0]).name) == ("python", "my_agent.py")
    lab.agent = (sys.executable, str(program))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "Hello")
    said = "You said 'Hello'. This is message 1 of our conversation. I see 1 things here. One, two, three."
    assert turn.text == said
    assert [(call.fields["title"], output(call.fields)) for call in turn.calls][1] == ("Count to three", "Allowed.")
    client = await lab.restart(client)
    assert "This is message 7 of our conversation." in (await client.prompt(session, "Are you still there?")).text
