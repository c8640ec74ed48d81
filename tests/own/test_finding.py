"""How an agent of one's own is named, found and made; and what is said about one that can't be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.lab import Lab
from tests.own.conftest import AGENTS, Host


@pytest.mark.parametrize(("name", "answer"), [
    ("maker", "prompt 1"),
    ("made_slowly", "You said: hello"),
    ("Polite", "Dear user, hello"),
])  # fmt: skip
async def test_a_factory_makes_an_agent_for_each_session(host: Host, lab: Lab, name: str, answer: str) -> None:
    client = await host.start(name)
    for _ in range(2):
        turn = await client.prompt(await client.new(lab.project), "hello")
        assert turn.text == answer


@pytest.mark.parametrize(("name", "said"), [
    ("nowhere", "agents.py has no 'nowhere'"),
    ("raises", "agents.py:raises raised RuntimeError: no key for the model"),
    ("makes_nothing", "gives a dict, and an agent is a function that takes a turn"),
    ("AGENTS.missing", "has no 'AGENTS.missing'"),
    ("leaves", "raised RuntimeError: SystemExit: 3"),
])  # fmt: skip
async def test_an_agent_that_can_not_be_used_is_named_in_the_answer_to_a_new_session(
    host: Host, lab: Lab, name: str, said: str
) -> None:
    client = await host.start(name)
    error = await client.error_of("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert error.code == -32603
    assert said in error.message and f"agents.py:{name}" in error.message
    assert (await client.request("session/list", {}))["sessions"] == []
    assert lab.count("sessions") == 0


@pytest.mark.parametrize(("agent", "said"), [
    ("no_such_module:agent", "no_such_module can't be imported: ModuleNotFoundError: No module named 'no_such_module'"),
    ("/no/such/file.py:agent", "can't be imported: FileNotFoundError"),
    ("json:dumps.nothing", "json has no 'dumps.nothing'"),
    ("somebody", "no installed package offers it as an entry point of acp_adapter.agents"),
])  # fmt: skip
async def test_a_name_that_leads_nowhere_is_told(lab: Lab, agent: str, said: str) -> None:
    client = await lab.start(ACP_ADAPTER_AGENT=agent)
    error = await client.error_of("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert said in error.message and agent in error.message


async def test_a_module_that_fails_once_may_be_mended_without_a_new_process(lab: Lab) -> None:
    file = lab.folder / "mine.py"
    file.write_text("import nonsense_that_is_not_there\n", "utf-8")
    client = await lab.start(ACP_ADAPTER_AGENT=f"{file}:agent")
    error = await client.error_of("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert "nonsense_that_is_not_there" in error.message
    file.write_text("def agent(turn):\n    return 'mended'\n", "utf-8")
    assert (await client.prompt(await client.new(lab.project), "hello")).text == "mended"


async def test_a_file_may_have_the_name_of_a_module_that_is_there(lab: Lab) -> None:
    file = lab.project / "types.py"
    file.write_text("def agent(turn):\n    return __name__\n", "utf-8")
    client = await lab.start(ACP_ADAPTER_AGENT=f"{file}:agent")
    assert (await client.prompt(await client.new(lab.project), "hello")).text == "agent_types"


async def test_what_is_told_of_an_exception_holds_no_secret(lab: Lab) -> None:
    (lab.folder / "mine.py").write_text("import os\nraise ValueError(os.environ['OPENAI_API_KEY'])\n", "utf-8")
    client = await lab.start(ACP_ADAPTER_AGENT=f"{lab.folder / 'mine.py'}:agent")
    error = await client.error_of("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert "ValueError: [redacted]" in error.message


async def test_a_session_of_an_agent_that_is_gone_is_listed_and_its_error_is_clear(host: Host, lab: Lab) -> None:
    client = await host.start("echo")
    session = await client.new(lab.project)
    await client.prompt(session, "hello")
    client = await host.restart(client, "nowhere")
    assert [row["sessionId"] for row in (await client.request("session/list", {}))["sessions"]] == [session]
    error = await client.error_of("session/resume", {"sessionId": session, "cwd": str(lab.project), "mcpServers": []})
    assert "has no 'nowhere'" in error.message


async def test_an_installed_package_offers_an_agent_under_a_name(lab: Lab) -> None:
    """As pip leaves it: a module, and its metadata with an entry point."""
    site = lab.folder / "site"
    (site / "parrot-1.dist-info").mkdir(parents=True)
    (site / "parrot.py").write_text("def agent(turn):\n    return turn.prompt + '!'\n", "utf-8")
    (site / "parrot-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1\n", "utf-8")
    offered = "[acp_adapter.agents]\nparrot = parrot:agent\n"
    (site / "parrot-1.dist-info" / "entry_points.txt").write_text(offered, "utf-8")
    lab.configure('agent = "parrot"\n')
    client = await lab.start(PYTHONPATH=str(site))
    assert (await client.prompt(await client.new(lab.project), "hello")).text == "hello!"


async def test_a_program_of_ones_own_serves_its_agent(lab: Lab) -> None:
    """Its prints come out on stderr, and what it imports late does not hold up the handshake."""
    program = lab.folder / "program.py"
    program.write_text(
        "import acp_adapter\n"
        "print('a banner')\n"
        "def factory():\n"
        "    import time\n"
        "    while not __import__('pathlib').Path('go').exists(): time.sleep(0.01)\n"
        "    def agent(turn):\n"
        "        print('a word')\n"
        "        return 'served'\n"
        "    return agent\n"
        "raise SystemExit(acp_adapter.serve(factory))\n",
        "utf-8",
    )
    lab.agent = (sys.executable, str(program))
    client = await lab.start()
    making = await client.begin("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert (await client.request("session/list", {}))["sessions"] == []
    assert not client.answered(making)
    (lab.folder / "go").touch()
    session = (await client.result(making))["sessionId"]
    assert (await client.prompt(session, "hello")).text == "served"
    assert "a banner" in client.process.stderr and "a word" in client.process.stderr


def test_doctor_makes_the_agent_and_says_what_is_wrong(tmp_path: Path) -> None:
    def doctor(name: str) -> str:
        env = {**os.environ, "ACP_ADAPTER_HOME": str(tmp_path), "ACP_ADAPTER_AGENT": f"{AGENTS}:{name}"}
        command = [sys.executable, "-m", "acp_adapter", "doctor"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False).stdout

    assert "own agent: " in (fine := doctor("echo")) and "agents.py:echo answers" in fine
    assert "model: not needed" in fine
    assert "raised RuntimeError: no key for the model" in doctor("raises")


def test_importing_the_package_costs_next_to_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import acp_adapter; acp_adapter.serve; "
        "print(sorted(set(sys.modules) - before)); "
        "from acp_adapter import Thought, Turn; print(Turn.__name__, Thought('x').text)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    loaded, names = done.stdout.splitlines()
    assert loaded == "['__future__', 'acp_adapter']"
    assert names == "Turn x"
