"""The command line as a whole: usage, versions, and ends without a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acp_adapter import __version__
from acp_adapter.cli.main import COMMANDS, main, parser
from tests.cli.conftest import Run


def test_the_version_is_told(program: Run) -> None:
    assert program("--version").stdout == f"acp-adapter {__version__}\n"


def test_help_names_every_command(program: Run) -> None:
    shown = program("--help").stdout
    assert all(f"    {name}" in shown for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"acp-adapter {name}" in capsys.readouterr().out


def test_an_unknown_command_is_a_usage_error_that_names_the_commands(program: Run) -> None:
    done = program("caht")
    assert done.returncode == 2
    assert "chat" in done.stderr


def test_one_command_is_not_imported_for_another() -> None:
    code = """
import sys
from acp_adapter.cli.main import parser
parser(["sessions"])
print([name for name in ("rich", "httpx", "pygls", "acp_adapter.cli.chat") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_words_before_the_command_do_not_hide_it() -> None:
    assert parser(["-h", "chat"]).parse_args(["chat", "hi"]).prompt == ["hi"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
def test_a_reader_that_goes_away_is_no_error_message(env: dict[str, str], project: Path) -> None:
    line = f"{sys.executable} -m acp_adapter setup --editor zed 2>err | true; cat err"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=env, cwd=project, timeout=60, check=True
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "BrokenPipe" not in done.stdout + done.stderr


def test_a_terminal_without_the_characters_gets_question_marks(program: Run, env: dict[str, str]) -> None:
    env |= {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = program("doctor")
    assert "UnicodeEncodeError" not in done.stderr
    assert "versions: acp-adapter" in done.stdout
