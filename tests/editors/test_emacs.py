"""The agent in Emacs, with agent-shell as it is: connected by setup, asked, cancelled, taken up after a restart.

`pytest -m heavy tests/editors/test_emacs.py` needs Emacs 29 or newer and the folder that ACP_ADAPTER_TEST_ELISP names,
with checkouts of `agent-shell`, `acp` and `shell-maker`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.process import clean_environment
from tests.stub_model import SHELL, STALL, C, StubModel, T

ELISP = os.environ.get("ACP_ADAPTER_TEST_ELISP", "")
PACKAGES = ("agent-shell", "acp", "shell-maker")
DRIVE = Path(__file__).parent / "emacs" / "drive.el"
SECONDS = 240

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        not shutil.which("emacs") or not ELISP, reason="needs Emacs and ACP_ADAPTER_TEST_ELISP (see this file)"
    ),
]

Line = dict[str, Any]


class Emacs:
    """Starts of Emacs in one home and one project, connected to the agent by what `setup` wrote."""

    def __init__(self, folder: Path, model: StubModel) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir()
        chosen = {"ACP_ADAPTER_MODEL": f"openai:{model.model}", "OPENAI_BASE_URL": model.base_url}
        self.env = clean_environment(self.home, "emacs", OPENAI_API_KEY="sk-x", **chosen)
        self.init = Path(self.env["HOME"]) / ".emacs.d" / "init.el"
        self.init.parent.mkdir()
        self.init.write_text(";; mine\n")

    def setup(self, *words: str) -> None:
        command = [sys.executable, "-m", "acp_adapter", "setup", "--editor", "emacs", "--yes", *words]
        subprocess.run(command, env=self.env, cwd=self.project, check=True, timeout=SECONDS, capture_output=True)

    def run(self, *forms: str) -> list[Line]:
        """One start of Emacs: it reads its init file, evaluates the forms, ends; what it printed."""
        paths = [f"--directory={Path(ELISP) / name}" for name in PACKAGES]
        evaluated = [word for form in forms for word in ("--eval", form)]
        command = ["emacs", "--batch", "-Q", *paths, "-l", str(DRIVE), "-l", str(self.init), *evaluated]
        done = subprocess.run(
            command, env=self.env, cwd=self.project, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@pytest.fixture
def emacs(tmp_path: Path, model: StubModel) -> Emacs:
    found = Emacs(tmp_path, model)
    found.setup()
    return found


def last(lines: list[Line], key: str) -> Any:
    return next(line[key] for line in reversed(lines) if key in line)


def test_the_lines_that_setup_wrote_put_the_agent_first_and_undo_takes_them_out(emacs: Emacs, model: StubModel) -> None:
    model.add(T("Hello from the model."))
    lines = emacs.run("(drive-start)", '(drive-prompt "Hi")', "(drive-leave)")
    assert last(lines, "agent") == "acp-adapter"
    assert last(lines, "stop") == "end_turn"
    assert "Hello from the model." in last(lines, "text")
    emacs.setup("--undo")
    assert emacs.init.read_text() == ";; mine\n"


def test_a_command_runs_when_it_is_allowed_and_not_when_it_is_rejected(emacs: Emacs, model: StubModel) -> None:
    model.add(
        C("c1", SHELL, {"command": "touch allowed"}), T("one"), C("c2", SHELL, {"command": "touch rejected"}), T("two")
    )
    lines = emacs.run(
        "(drive-start)",
        '(drive-answer "allow_once")',
        '(drive-prompt "first")',
        '(drive-answer "reject_once")',
        '(drive-prompt "second")',
        "(drive-leave)",
    )
    assert [line["asked"] for line in lines if "asked" in line] == ["touch allowed", "touch rejected"]
    assert (emacs.project / "allowed").exists() and not (emacs.project / "rejected").exists()
    assert "two" in last(lines, "text")


def test_a_buffer_with_unsaved_changes_is_what_is_read_and_edited(emacs: Emacs, model: StubModel) -> None:
    (emacs.project / "a.txt").write_text("on disk\n")
    edit = {"path": "a.txt", "old_text": "unsaved", "new_text": "edited"}
    model.add(C("c1", "read_file", {"path": "a.txt"}), C("c2", "edit_file", edit), T("done"))
    lines = emacs.run(
        "(drive-start)",
        '(with-current-buffer (find-file-noselect "a.txt") (goto-char (point-max)) (insert "unsaved\\n"))',
        '(drive-answer "allow_once")',
        '(drive-prompt "edit it")',
        '(with-current-buffer (get-file-buffer "a.txt") (drive-say :buffer (buffer-string)))',
        "(drive-leave)",
    )
    assert "unsaved" in model.requests[1].texts("tool")[0]
    assert last(lines, "buffer") == "on disk\nedited\n"
    assert (emacs.project / "a.txt").read_text() == "on disk\nedited\n"


def test_a_turn_is_cancelled_and_the_next_prompt_is_answered(emacs: Emacs, model: StubModel) -> None:
    model.add(STALL("I begin "), T("I am back."))
    lines = emacs.run(
        "(drive-start)",
        '(drive-send "go")',
        "(drive-told 'agent-message-chunk)",
        "(with-current-buffer drive-shell (agent-shell-interrupt t))",
        "(drive-say :stop (map-elt (drive-told 'turn-complete) :stop-reason))",
        '(drive-prompt "and now?")',
        "(drive-leave)",
    )
    assert [line["stop"] for line in lines if "stop" in line] == ["cancelled", "end_turn"]
    assert "I am back." in last(lines, "text")


def test_after_a_restart_the_session_is_shown_and_goes_on(emacs: Emacs, model: StubModel) -> None:
    model.add(T("Blue, I say."), T("I said blue."))
    first = emacs.run("(drive-start)", '(drive-prompt "Name a colour")', "(drive-leave)")
    session = last(first, "session")
    again = emacs.run(f'(drive-start "{session}")', '(drive-prompt "Which was it?")', "(drive-leave)")
    assert last(again, "session") == session
    assert "I said blue." in last(again, "text")
    assert model.requests[-1].texts("assistant") == ["Blue, I say."]
    assert model.requests[-1].texts("user") == ["Name a colour", "Which was it?"]


def test_the_newest_session_is_taken_up_where_the_person_wants_that(emacs: Emacs, model: StubModel) -> None:
    model.add(T("Blue, I say."))
    first = emacs.run("(drive-start)", '(drive-prompt "Name a colour")', "(drive-leave)")
    again = emacs.run("(setq agent-shell-session-strategy 'latest)", "(drive-start)", "(drive-leave)")
    assert last(again, "session") == last(first, "session")
