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

THEIRS = '{\r\n\t// mine\r\n\t"theme": "One", /* \x1b[2J */\r\n}\r\n'


@pytest.fixture(autouse=True)
def bare(env: dict[str, str], tmp_path: Path) -> None:
    """No editor that the machine has is found."""
    env["PATH"] = str(tmp_path / "bin")


@pytest.fixture
def zed(home: Path) -> Path:
    """Where Zed's settings are, in a folder that shows that it is used."""
    folder = home.parent / ".config" / "zed"
    folder.mkdir(parents=True)
    return folder / "settings.json"


def test_without_a_terminal_and_without_a_model_it_says_what_to_do(cli: Run) -> None:
    done = cli("setup")
    assert done.returncode == 1
    assert "acp-adapter model pull" in done.stdout


def test_without_a_terminal_and_with_a_model_it_succeeds(cli: Run, script: Script) -> None:
    script({"text": "Hello."})
    assert cli("setup").returncode == 0


@pytest.mark.parametrize("name", EDITORS)
def test_the_snippet_alone_is_on_stdout_and_starts_this_installation(cli: Run, home: Path, name: str) -> None:
    done = cli("setup", "--editor", name, "--print")
    assert done.returncode == 0
    assert Path(agent_command()[0]).is_absolute()
    assert json.dumps(agent_command()[0]) in done.stdout
    assert EDITORS[name].where in done.stderr
    assert not list(home.parent.glob(".*"))


def test_without_a_terminal_nothing_is_written_and_the_snippet_is_printed(cli: Run, zed: Path) -> None:
    zed.write_text("{}")
    done = cli("setup", "--editor", "zed")
    assert done.returncode == 0
    assert json.loads(done.stdout)["agent_servers"]["acp-adapter"]["command"] == agent_command()[0]
    assert "--yes" in done.stderr
    assert zed.read_text() == "{}"
    assert "--yes" in cli("setup", "--editor", "zed", "--undo").stderr


def test_yes_writes_once_and_undo_takes_it_back_to_the_byte(cli: Run, zed: Path) -> None:
    zed.write_bytes(THEIRS.encode())
    done = cli("setup", "--editor", "zed", "--yes")
    assert done.returncode == 0
    assert '"agent_servers": {' in done.stdout
    assert agent_command()[0] in zed.read_text()
    again = cli("setup", "--editor", "zed", "--yes")
    assert again.returncode == 0 and "Nothing to do" in again.stdout
    back = cli("setup", "--editor", "zed", "--undo", "--yes")
    assert back.returncode == 0 and '"agent_servers": {' in back.stdout
    assert zed.read_bytes() == THEIRS.encode()
    assert "nothing of this agent" in cli("setup", "--editor", "zed", "--undo", "--yes").stdout


def test_settings_that_are_not_understood_are_left_alone_and_the_snippet_is_printed(cli: Run, zed: Path) -> None:
    zed.write_text('{ "theme" }')
    done = cli("setup", "--editor", "zed", "--yes")
    assert done.returncode == 1
    assert "line 1, column 11" in done.stderr and str(zed) in done.stderr
    assert json.loads(done.stdout)["agent_servers"]
    assert zed.read_text() == '{ "theme" }'


def test_what_is_for_one_editor_wants_its_name(cli: Run) -> None:
    for option in ("--yes", "--undo", "--print"):
        assert "--editor" in cli("setup", option).stderr


@pytest.mark.parametrize("name", ["zed", "vscode", "cursor", "jetbrains"])
def test_json_snippets_are_json(cli: Run, name: str) -> None:
    settings = json.loads(cli("setup", "--editor", name, "--print").stdout)
    agents = settings.get("agent_servers") or {"acp-adapter": {"command": settings["acp-adapter.command"]}}
    assert agents["acp-adapter"]["command"] == agent_command()[0]


@pytest.mark.parametrize("name", ["neovim", "codecompanion", "avante", "emacs"])
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

    def test_an_editor_is_connected_after_a_look_at_the_change(terminal: Terminal, zed: Path) -> None:
        zed.write_bytes(THEIRS.encode())
        with terminal("setup", "--editor", "zed") as screen:
            screen.expect('"agent_servers": {')
            screen.expect("Write this?")
            assert zed.read_bytes() == THEIRS.encode()
            screen.send("\n")
            screen.expect("Agent panel")
            assert screen.wait() == 0
        assert b"\x1b[2J" not in screen.raw
        with terminal("setup", "--editor", "zed", "--undo") as screen:
            screen.expect("Take this back?")
            screen.send("y\n")
            assert screen.wait() == 0
        assert zed.read_bytes() == THEIRS.encode()

    @pytest.mark.parametrize("answer", ["n\n", "what?\n", "\x04"])
    def test_anything_but_a_yes_writes_nothing(terminal: Terminal, home: Path, zed: Path, answer: str) -> None:
        with terminal("setup", "--editor", "zed") as screen:
            screen.expect("Write this?")
            screen.send(answer)
            screen.expect("Nothing was written")
            assert screen.wait() == 0
        assert not zed.exists() and not home.exists()

    def test_an_entry_that_starts_something_else_is_shown_and_asked_about(terminal: Terminal, zed: Path) -> None:
        theirs = '{"agent_servers": {"acp-adapter": {"type": "custom", "command": "/my/own", "args": ["-v"]}}}'
        zed.write_text(theirs)
        with terminal("setup", "--editor", "zed") as screen:
            screen.expect("starts /my/own -v")
            screen.expect("Write this?")
            screen.send("n\n")
            screen.wait()
        assert zed.read_text() == theirs

    def test_after_the_model_the_editors_that_were_found_are_offered(terminal: Terminal, home: Path, zed: Path) -> None:
        (home.parent / ".jetbrains").mkdir()
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.send("\n")
            for title, answer in (("Zed", "n\n"), ("JetBrains", "\n")):
                screen.expect(title)
                screen.expect("Write this?")
                screen.send(answer)
            screen.wait()
        assert not zed.exists()
        written = json.loads((home.parent / ".jetbrains" / "acp.json").read_text())
        assert written["agent_servers"]["acp-adapter"]["command"] == agent_command()[0]

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

    def test_ctrl_d_leaves_without_a_traceback(terminal: Terminal, home: Path) -> None:
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.send("\x04")
            assert screen.wait() == 130
            assert "Traceback" not in screen.text
        assert not home.exists()

    def test_ctrl_c_leaves_without_a_traceback(terminal: Terminal, home: Path) -> None:
        with terminal("setup") as screen:
            screen.expect("Which one")
            screen.interrupt()
            assert screen.wait() == 130
            assert "Traceback" not in screen.text
        assert not home.exists()
