"""Where editors keep their settings, and whether they are here. Looking changes nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from acp_adapter.config import Config

EXTENSION = "acp-adapter.acp-adapter-*"
"""The folder of our extension in VS Code and its kin."""


@frozen
class Habitat:
    """What shows an editor: its programs, its macOS application, folders of its own; and its settings files.

    `settings` and `folders` are by `sys.platform`, with the user's folders in braces; `extensions` are where it keeps
    those; `usual` is the settings file of a new installation. Where only the `first_counts`, it reads the first of its
    files that is there, and no other.
    """

    programs: tuple[str, ...] = ()
    application: str = ""
    settings: Mapping[str, tuple[str, ...]] = field(factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(factory=dict)
    usual: int = 0
    extensions: tuple[str, ...] = ()
    first_counts: bool = False


def _code(folder: str, program: str, application: str, server: str, flatpak: str = "", own: str = "") -> Habitat:
    """VS Code or its kin. `server` holds the settings of the half that runs in WSL, a container or far away."""
    settings = f"{folder}/User/settings.json"
    far = f"{{home}}/{server}/data/Machine/settings.json"
    sandboxed = (f"{{home}}/.var/app/{flatpak}/config/{settings}",) if flatpak else ()
    return Habitat(
        (program,),
        application,
        {
            "linux": (f"{{config}}/{settings}", *sandboxed, far),
            "darwin": (f"{{home}}/Library/Application Support/{settings}", far),
            "win32": (f"{{appdata}}/{settings}",),
        },
        extensions=(f"{{home}}/{own or server.removesuffix('-server')}/extensions", f"{{home}}/{server}/extensions"),
    )


_EMACS = (".config/doom/config.el", ".doom.d/config.el", ".emacs.el", ".emacs", ".emacs.d/init.el")
_EMACS_POSIX = (*(f"{{home}}/{name}" for name in _EMACS), "{config}/emacs/init.el")

HABITATS: Mapping[str, Habitat] = {
    "zed": Habitat(
        ("zed", "zeditor"),
        "Zed",
        {
            "linux": ("{config}/zed/settings.json", "{home}/.var/app/dev.zed.Zed/config/zed/settings.json"),
            "darwin": ("{home}/.config/zed/settings.json",),
            "win32": ("{appdata}/Zed/settings.json",),
        },
    ),
    "vscode": _code("Code", "code", "Visual Studio Code", ".vscode-server", "com.visualstudio.code"),
    "vscode-insiders": _code(
        "Code - Insiders", "code-insiders", "Visual Studio Code - Insiders", ".vscode-server-insiders"
    ),
    "vscodium": _code("VSCodium", "codium", "VSCodium", ".vscodium-server", "com.vscodium.codium", ".vscode-oss"),
    "cursor": _code("Cursor", "cursor", "Cursor", ".cursor-server"),
    "windsurf": _code("Windsurf", "windsurf", "Windsurf", ".windsurf-server"),
    "neovim": Habitat(
        ("nvim",),
        settings={
            "linux": ("{config}/{nvim}/plugin/acp-adapter.lua",),
            "darwin": ("{config}/{nvim}/plugin/acp-adapter.lua",),
            "win32": ("{local}/{nvim}/plugin/acp-adapter.lua",),
        },
        folders={"linux": ("{config}/{nvim}",), "darwin": ("{config}/{nvim}",), "win32": ("{local}/{nvim}",)},
    ),
    "emacs": Habitat(
        ("emacs",),
        "Emacs",
        {
            "linux": _EMACS_POSIX,
            "darwin": _EMACS_POSIX,
            "win32": tuple(f"{{appdata}}/{name}" for name in _EMACS),
        },
        usual=4,
        first_counts=True,
    ),
    "jetbrains": Habitat(
        settings=dict.fromkeys(("linux", "darwin", "win32"), ("{home}/.jetbrains/acp.json",)),
        folders={
            "linux": ("{config}/JetBrains",),
            "darwin": ("{home}/Library/Application Support/JetBrains",),
            "win32": ("{appdata}/JetBrains",),
        },
    ),
}


@frozen
class Machine:
    """The system, and the folders of its user."""

    platform: str
    home: Path
    environ: Mapping[str, str]

    @classmethod
    def of(cls, config: Config) -> Machine:
        return cls(sys.platform, config.user_home, config.environ)

    def settings(self, name: str) -> list[Path]:
        """The settings files to look at: those whose folder is there; where none is, the one that a new one reads."""
        habitat = HABITATS.get(name, Habitat())
        known = self._paths(habitat.settings)
        usual = known[habitat.usual : habitat.usual + 1]
        if habitat.first_counts:
            return [path for path in known if path.exists()][:1] or usual
        return [path for path in known if path.parent.is_dir()] or usual

    def has(self, name: str) -> bool:
        """Whether an editor is installed, or was used."""
        habitat = HABITATS.get(name, Habitat())
        if any(shutil.which(program, path=self.environ.get("PATH")) for program in habitat.programs):
            return True
        folders = [*self._paths(habitat.folders), *self._applications(habitat.application)]
        if not habitat.first_counts:  # a single file of these may lie in the home folder itself
            folders += [path.parent for path in self._paths(habitat.settings)]
        files = self._paths(habitat.settings) if habitat.first_counts else []
        return any(folder.is_dir() for folder in folders) or any(path.is_file() for path in files)

    def has_extension(self, name: str) -> bool | None:
        """Whether our extension is installed in an editor; None for an editor that needs none."""
        folders = self._paths({"linux": HABITATS[name].extensions})
        return any(any(folder.glob(EXTENSION)) for folder in folders) if folders else None

    def found(self) -> list[str]:
        """The editors that are here."""
        return [name for name in HABITATS if self.has(name)]

    def _paths(self, rows: Mapping[str, tuple[str, ...]]) -> list[Path]:
        folders = {
            "home": self.home,
            "config": self._folder("XDG_CONFIG_HOME", ".config"),
            "appdata": self._folder("APPDATA", "AppData/Roaming"),
            "local": self._folder("LOCALAPPDATA", "AppData/Local"),
            "nvim": self.environ.get("NVIM_APPNAME") or "nvim",
        }
        row = rows.get(self.platform) or rows.get("linux", ())
        return [Path(each.format_map(folders)) for each in row]

    def _folder(self, variable: str, otherwise: str) -> Path:
        set_to = Path(self.environ.get(variable, ""))
        return set_to if set_to.is_absolute() else self.home / otherwise

    def _applications(self, name: str) -> list[Path]:
        if self.platform != "darwin" or not name:
            return []
        return [root / "Applications" / f"{name}.app" for root in (Path("/"), self.home)]
