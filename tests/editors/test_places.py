"""Where each editor keeps its settings on each system, and how it is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.cli.editors import EDITORS
from acp_adapter.cli.editors.places import HABITATS, Machine

LINUX, MAC, WINDOWS = "linux", "darwin", "win32"


def machine(home: Path, platform: str = LINUX, **environ: str) -> Machine:
    return Machine(platform, home, {"PATH": str(home / "bin"), **environ})


@pytest.mark.parametrize(
    ("platform", "name", "path"),
    [
        (LINUX, "zed", ".config/zed/settings.json"),
        (LINUX, "zed", ".var/app/dev.zed.Zed/config/zed/settings.json"),
        (LINUX, "vscode", ".config/Code/User/settings.json"),
        (LINUX, "vscode", ".var/app/com.visualstudio.code/config/Code/User/settings.json"),
        (LINUX, "vscode", ".vscode-server/data/Machine/settings.json"),
        (LINUX, "vscode-insiders", ".config/Code - Insiders/User/settings.json"),
        (LINUX, "vscodium", ".config/VSCodium/User/settings.json"),
        (LINUX, "cursor", ".config/Cursor/User/settings.json"),
        (LINUX, "windsurf", ".config/Windsurf/User/settings.json"),
        (LINUX, "emacs", ".emacs.d/init.el"),
        (LINUX, "emacs", ".config/emacs/init.el"),
        (LINUX, "emacs", ".emacs"),
        (LINUX, "emacs", ".doom.d/config.el"),
        (LINUX, "neovim", ".config/nvim/plugin/acp-adapter.lua"),
        (WINDOWS, "neovim", "AppData/Local/nvim/plugin/acp-adapter.lua"),
        (LINUX, "jetbrains", ".jetbrains/acp.json"),
        ("freebsd14", "zed", ".config/zed/settings.json"),
        (MAC, "zed", ".config/zed/settings.json"),
        (MAC, "vscode", "Library/Application Support/Code/User/settings.json"),
        (MAC, "cursor", "Library/Application Support/Cursor/User/settings.json"),
        (MAC, "emacs", ".emacs.d/init.el"),
        (MAC, "jetbrains", ".jetbrains/acp.json"),
        (WINDOWS, "zed", "AppData/Roaming/Zed/settings.json"),
        (WINDOWS, "vscode", "AppData/Roaming/Code/User/settings.json"),
        (WINDOWS, "emacs", "AppData/Roaming/.emacs.d/init.el"),
        (WINDOWS, "jetbrains", ".jetbrains/acp.json"),
    ],
)
def test_settings_that_are_there_are_found(tmp_path: Path, platform: str, name: str, path: str) -> None:
    here = machine(tmp_path, platform)
    assert not here.has(name)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).touch()
    assert here.settings(name) == [tmp_path / path]
    assert name in here.found()


def test_folders_that_the_user_moved_are_followed(tmp_path: Path) -> None:
    xdg, roaming = tmp_path / "xdg", tmp_path / "roaming"
    assert machine(tmp_path, XDG_CONFIG_HOME=str(xdg)).settings("zed") == [xdg / "zed/settings.json"]
    assert machine(tmp_path, XDG_CONFIG_HOME="not/absolute").settings("zed") == [tmp_path / ".config/zed/settings.json"]
    assert machine(tmp_path, NVIM_APPNAME="mine").settings("neovim") == [
        tmp_path / ".config/mine/plugin/acp-adapter.lua"
    ]
    assert machine(tmp_path, WINDOWS, APPDATA=str(roaming)).settings("zed") == [roaming / "Zed/settings.json"]


def test_an_editor_that_has_two_homes_has_two_settings(tmp_path: Path) -> None:
    flatpak, native = tmp_path / ".var/app/dev.zed.Zed/config/zed", tmp_path / ".config/zed"
    flatpak.mkdir(parents=True)
    assert machine(tmp_path).settings("zed") == [flatpak / "settings.json"]
    native.mkdir(parents=True)
    assert machine(tmp_path).settings("zed") == [native / "settings.json", flatpak / "settings.json"]


def test_emacs_reads_the_first_of_its_files_and_no_other(tmp_path: Path) -> None:
    for name in (".config/emacs/init.el", ".emacs.d/init.el", ".emacs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        assert machine(tmp_path).settings("emacs") == [tmp_path / name]


def test_a_program_on_the_path_is_an_editor_that_was_never_started(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, habitat in HABITATS.items():
        for program in habitat.programs:
            file = tmp_path / "bin" / program
            assert not machine(tmp_path).has(name)
            file.touch(0o755)
            assert machine(tmp_path).has(name)
            file.unlink()


def test_an_application_on_a_mac_is_an_editor_that_was_never_started(tmp_path: Path) -> None:
    (tmp_path / "Applications/Zed.app").mkdir(parents=True)
    assert machine(tmp_path, MAC).has("zed")
    assert not machine(tmp_path, LINUX).has("zed")


def test_looking_makes_nothing(tmp_path: Path) -> None:
    for platform in (LINUX, MAC, WINDOWS):
        machine(tmp_path, platform).found()
        for name in EDITORS:
            machine(tmp_path, platform).settings(name)
    assert not list(tmp_path.iterdir())


def test_every_editor_that_can_be_written_has_a_place_on_every_system(tmp_path: Path) -> None:
    for name, editor in EDITORS.items():
        for platform in (LINUX, MAC, WINDOWS):
            assert machine(tmp_path, platform).settings(name) or editor.form is None, name
