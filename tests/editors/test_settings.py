"""A settings file is changed in one place, changed back to the byte, and left alone where it is not understood."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.cli.editors import EDITORS
from acp_adapter.cli.editors.forms import Lines
from acp_adapter.cli.editors.receipts import Edit, Receipt, Receipts
from acp_adapter.cli.editors.settings import Settings, SettingsFault
from acp_adapter.config import Config
from tests.editors.documents import documents

COMMAND = ["/opt/a b/acp-adapter", "--x"]
OTHER = ["/elsewhere/acp-adapter"]
LINES = Lines(";;", lambda command: "(setq it '(" + " ".join(f'"{word}"' for word in command) + "))\n(more)")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.load({"HOME": str(tmp_path), "ACP_ADAPTER_HOME": str(tmp_path / "private")})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def add(config: Config, file: Path, command: list[str], name: str = "zed") -> Path | None:
    change = Settings.read(name, file).added(command)
    assert change
    return change.write(config)


def take_back(config: Config, file: Path, name: str = "zed") -> None:
    change = Settings.read(name, file).removed(Receipts(config))
    assert change
    change.take_back(config)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=documents(), mark=st.sampled_from([b"", b"\xef\xbb\xbf"]), name=st.sampled_from(["zed", "vscode"]))
def test_any_settings_are_changed_and_changed_back_to_the_byte(
    config: Config, file: Path, document: tuple[str, object], mark: bytes, name: str
) -> None:
    before = mark + document[0].encode("utf-8", "surrogatepass")
    if b"\xed" in before:
        return  # a lone surrogate: such a file is no UTF-8, and nobody can write it
    file.write_bytes(before)
    add(config, file, OTHER, name)
    add(config, file, COMMAND, name)
    assert Settings.read(name, file).added(COMMAND) is None, "a second run has nothing to do"
    take_back(config, file, name)
    assert file.read_bytes() == before


@given(text=st.text(alphabet="ab;\n\r\t é"), newline=st.sampled_from(["\n", "\r\n"]))
def test_lines_in_an_init_file_come_and_go_and_say_the_command(text: str, newline: str) -> None:
    before = text.replace("\r", "").replace("\n", newline)
    added = LINES.with_agent(before, COMMAND)
    assert added.startswith(before)
    assert (started := LINES.started(added)) and list(started.command) == COMMAND
    assert LINES.with_agent(added, COMMAND) == added
    assert LINES.with_agent(LINES.with_agent(before, OTHER), COMMAND) == added
    assert LINES.without_agent(added).rstrip("\r\n") == before.rstrip("\r\n")
    assert LINES.started(before) is None


def test_a_file_that_was_not_there_goes_again(config: Config, tmp_path: Path) -> None:
    file = tmp_path / "zed" / "settings.json"
    assert add(config, file, COMMAND) is None
    assert file.exists()
    take_back(config, file)
    assert not file.exists()


def test_what_was_written_around_it_meanwhile_stays(config: Config, file: Path) -> None:
    file.write_text('{\n  "theme": "One"\n}\n')
    add(config, file, COMMAND)
    file.write_text(file.read_text().replace('"One"', '"Two" // new').replace("{\n", '{\n  "font": 5,\n', 1))
    take_back(config, file)
    assert file.read_text() == '{\n  "font": 5,\n  "theme": "Two" // new\n}\n'


def test_what_was_written_into_it_meanwhile_goes_with_it_and_nothing_else(config: Config, file: Path) -> None:
    file.write_text('{\n  "theme": "One"\n}\n')
    add(config, file, COMMAND)
    file.write_text(file.read_text().replace('"env": {}', '"env": {"A": "1"}').replace("{\n", "{ // top\n", 1))
    take_back(config, file)
    assert file.read_text() == '{ // top\n  "agent_servers": {\n  },\n  "theme": "One"\n}\n'


def test_an_entry_by_another_hand_can_be_taken_out(config: Config, file: Path) -> None:
    file.write_text('{"agent_servers": {"acp-adapter": {"command": "x"}, "mine": {}}}')
    take_back(config, file)
    assert file.read_text() == '{"agent_servers": { "mine": {}}}'


def test_of_an_entry_that_starts_something_else_only_that_changes(config: Config, file: Path) -> None:
    old = '{"agent_servers": {"acp-adapter": {"command": "old", /* why */ "env": {"KEY": "x"}, "mine": 1}}}'
    file.write_text(old)
    add(config, file, COMMAND)
    found = Settings.read("zed", file).started()
    assert found and (list(found.command), found.env) == (COMMAND, {"KEY": "x"})
    assert "/* why */" in file.read_text() and '"mine": 1' in file.read_text()
    take_back(config, file)
    assert file.read_text() == old


@pytest.mark.parametrize(
    "text", ["{", '{"agent_servers": 5}', '{"agent_servers": {}, "agent_servers": {}}', "\0\1\2", "[]"]
)
def test_what_is_not_understood_stays_as_it_is_and_is_named(config: Config, file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsFault) as fault:
        add(config, file, COMMAND)
    assert str(file) in fault.value.message and "left as it is" in fault.value.message
    assert file.read_text() == text
    assert not config.home.exists()


def test_a_file_that_changes_under_the_question_is_not_overwritten(config: Config, file: Path) -> None:
    file.write_text("{}")
    change = Settings.read("zed", file).added(COMMAND)
    file.write_text('{"theme": "One"}')
    assert change
    with pytest.raises(SettingsFault, match="by another program"):
        change.write(config)
    assert file.read_text() == '{"theme": "One"}'


def test_the_file_as_it_was_is_kept_private(config: Config, file: Path) -> None:
    file.write_text('{"key": "s3cret"}')
    kept = add(config, file, COMMAND)
    assert kept and kept.read_text() == '{"key": "s3cret"}'
    if sys.platform != "win32":
        private = [config.home, kept.parent, kept, config.home / "editors.json"]
        assert not any(path.stat().st_mode & 0o077 for path in private)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and links")
def test_the_mode_stays_and_a_link_is_written_through(config: Config, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    file.symlink_to(target)
    add(config, file, COMMAND)
    assert file.is_symlink() and '"acp-adapter"' in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640
    take_back(config, file)
    assert file.is_symlink() and target.read_text() == "{}"


def test_receipts_that_are_lost_or_broken_cost_the_empty_table_only(config: Config, file: Path) -> None:
    file.write_text("{}")
    add(config, file, COMMAND)
    (config.home / "editors.json").write_text(json.dumps({str(file): {"edits": 5}}))
    take_back(config, file)
    assert file.read_text() == '{\n  "agent_servers": {\n  }\n}'


def test_a_receipt_that_would_change_more_than_the_entry_is_not_used(config: Config, file: Path) -> None:
    """A short piece may be found where it was not written."""
    file.write_text('{"agent_servers": {"acp-adapter": {"command": "x2"}}, "size": 1}')
    Receipts(config).add(file, Edit(at=4, old="9", new="1"), created=False)
    change = Settings.read("zed", file).removed(Receipts(config))
    assert change and change.after == '{"agent_servers": {}, "size": 1}'


@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=12))
def test_an_edit_between_two_texts_leads_back(before: str, after: str) -> None:
    assert Edit.between(before, after).undone(after) == before
    assert Receipt(False, (Edit.between(before, after), Edit.between(after, "c"))).undone("c") == before


def test_what_was_written_is_not_guessed_where_it_may_be_in_two_places() -> None:
    assert Edit(0, "", "ab").undone("xababx") is None
    assert Edit(0, "", "ab").undone("xabx") == "xx"


@pytest.mark.parametrize("name", [name for name, editor in EDITORS.items() if editor.form])
def test_what_is_written_starts_the_command_in_every_editor(config: Config, file: Path, name: str) -> None:
    add(config, file, COMMAND, name)
    found = Settings.read(name, file).started()
    assert found and list(found.command) == COMMAND
    assert Settings.read(name, file).added(COMMAND) is None
