"""`acp-adapter setup`: in a terminal it asks and writes; elsewhere it reports. Snippets are valid in their language."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.cli.editors import EDITORS, agent_command
from tests.cli.conftest import Run
from tests.stub_model import StubModel

Script = Callable[..., Path]


def test_without_a_terminal_and_without_a_model_it_says_what_to_do(cli: Run) -> None:
    done = cli("setup")
    assert done.returncode == 1
    assert "acp-adapter model pull" in done.stdout


def test_without_a_terminal_and_with_a_model_it_succeeds(cli: Run, script: Script) -> None:
    script({"text": "Hello."})
    assert cli("setup").returncode == 0


@pytest.mark.parametrize("name", EDITORS)
def test_the_snippet_alone_is_on_stdout_and_starts_this_installation(cli: Run, name: str) -> None:
    done = cli("setup", "--editor", name)
    assert done.returncode == 0
    assert Path(agent_command()[0]).is_absolute()
    assert json.dumps(agent_command()[0]) in done.stdout
    assert EDITORS[name].where in done.stderr


@pytest.mark.parametrize("name", ["zed", "vscode", "jetbrains"])
def test_json_snippets_are_json(cli: Run, name: str) -> None:
    settings = json.loads(cli("setup", "--editor", name).stdout)
    agents = settings.get("agent_servers") or settings["acp.agents"]
    assert agents["acp-adapter"]["command"] == agent_command()[0]


@pytest.mark.parametrize("name", ["neovim", "avante", "emacs"])
def test_other_snippets_close_what_they_open(name: str) -> None:
    text = EDITORS[name].snippet(["/opt/it's (here)/acp-adapter"]).replace("/opt/it's (here)/", "")
    for opening, closing in ("()", "{}", "[]"):
        assert text.count(opening) == text.count(closing)


if sys.platform != "win32":
    from tests.cli.pty_session import PtySession

    @pytest.fixture
    def terminal(env: dict[str, str], project: Path) -> Callable[..., PtySession]:
        return lambda *words: PtySession([sys.executable, "-m", "acp_adapter", *words], env, project)

    Terminal = Callable[..., PtySession]

    def test_a_server_is_set_up_by_its_url_and_the_config_keeps_its_comments(terminal: Terminal, home: Path) -> None:
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text("# mine\nmax_steps = 7\n")
        with StubModel() as stub, terminal("setup") as screen:
            menu = screen.expect("Which one")
            number = menu.rpartition(". another server")[0].split()[-1]
            screen.send(f"{number}\n")
            screen.expect("base URL")
            screen.send(f"{stub.base_url}\n")
            screen.expect("API key")
            screen.send("s3cret\n")
            screen.expect("Which model")
            screen.send("tiny\n")
            screen.expect("Written to")
            screen.wait()
        assert "s3cret" not in screen.text
        text = (home / "config.toml").read_text()
        assert text.startswith("# mine\nmax_steps = 7\n")
        config = tomllib.loads(text)
        assert config["model"] == "server:tiny"
        assert config["providers"]["server"] == {"api_key": "s3cret", "base_url": stub.base_url}
        assert (home / "config.toml").stat().st_mode & 0o077 == 0

    def test_enter_leaves_everything_as_it_is(terminal: Terminal, home: Path) -> None:
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.send("\n")
            assert screen.wait() == 1
        assert not (home / "config.toml").exists()

    def test_a_model_can_be_typed(terminal: Terminal, home: Path, script: Script) -> None:
        path = script({"text": "Hello."})
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.send(f"scripted:{path}\n")
            screen.expect("Written to")
            assert screen.wait() == 0
        assert tomllib.loads((home / "config.toml").read_text()) == {"model": f"scripted:{path}"}

    def test_ctrl_c_leaves_without_a_traceback(terminal: Terminal, home: Path) -> None:
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.interrupt()
            assert screen.wait() == 130
            assert "Traceback" not in screen.text
        assert not home.exists()
