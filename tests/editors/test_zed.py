"""What is published for Zed and the ACP registry keeps their rules, and starts this agent."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from acp_adapter import __version__
from acp_adapter.acp.handshake import METHOD_ID
from tests.editors.registry import breaches

ROOT = Path(__file__).parents[2]
ZED = ROOT / "editor-plugins" / "zed"
ENTRY = ZED / "registry" / "acp-adapter"
BASE = "https://127.0.0.1/releases"
INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}, "terminal": True}}
SECONDS = 60


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    spec = importlib.util.spec_from_file_location("pack", ZED / "pack.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(BASE, tmp_path / "dist")
    return tmp_path / "dist"


def initialized(command: list[str], env: dict[str, str]) -> dict[str, Any]:
    """The answer to the first request of an editor."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}) + "\n"
    done = subprocess.run(
        command, input=line, env=env, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[0])["result"])


def test_the_registry_entry_keeps_the_rules() -> None:
    assert breaches(ENTRY) == []


@pytest.mark.parametrize(
    ("changes", "breach"),
    [
        ({"id": "Acp"}, "id"),
        ({"id": "other"}, "folder's name"),
        ({"version": "0.1"}, "version"),
        ({"version": "9.9.9"}, "own version"),
        ({"description": ""}, "description is missing"),
        ({"authors": [1]}, "authors"),
        ({"license": 5}, "license"),
        ({"distribution": {}}, "distribution is missing"),
        ({"distribution": {"pip": {}}}, "no way of distribution"),
        ({"distribution": {"uvx": {"package": "acp-adapter"}}}, "own version"),
        ({"distribution": {"uvx": {"package": "acp-adapter@latest"}}}, "own version"),
        ({"distribution": {"uvx": {"package": "acp-adapter==0.1.0", "x": 1}}}, "unknown fields"),
        ({"distribution": {"uvx": {"package": "acp-adapter==0.1.0", "args": [1]}}}, "must be texts"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_found(tmp_path: Path, changes: dict[str, Any], breach: str) -> None:
    folder = tmp_path / ENTRY.name
    shutil.copytree(ENTRY, folder)
    entry = json.loads((folder / "agent.json").read_text())
    (folder / "agent.json").write_text(json.dumps({**entry, **changes}))
    assert any(breach in found for found in breaches(folder))


@pytest.mark.parametrize(
    ("old", "new", "breach"),
    [
        ('width="16"', 'width="24"', "16 × 16"),
        ("currentColor", "#ff0000", "colours of its own"),
        ("<path ", '<path style="fill: red" ', "colours of its own"),
        ('stroke="currentColor"', "", "currentColor"),
    ],
)
def test_an_icon_that_breaks_a_rule_is_found(tmp_path: Path, old: str, new: str, breach: str) -> None:
    folder = tmp_path / ENTRY.name
    shutil.copytree(ENTRY, folder)
    (folder / "icon.svg").write_text((folder / "icon.svg").read_text().replace(old, new))
    assert any(breach in found for found in breaches(folder))
    (folder / "icon.svg").unlink()
    assert "the icon is missing" in breaches(folder)


def test_the_package_that_the_registry_starts_is_this_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = json.loads((ENTRY / "agent.json").read_text())["distribution"]["uvx"]
    assert package["package"] == f"{project['name']}=={project['version']}" == f"acp-adapter=={__version__}"
    assert project["name"] in project["scripts"], "uvx starts the script that is called like the package"


def test_initialize_answers_with_an_auth_method_as_the_registry_wants_it(tmp_path: Path) -> None:
    """Of type agent, which is what no type says, or terminal."""
    answer = initialized([sys.executable, "-m", "acp_adapter"], {"ACP_ADAPTER_HOME": str(tmp_path / "home")})
    (method,) = answer["authMethods"]
    assert method["id"] == METHOD_ID and method["name"]
    assert method.get("type", "agent") in ("agent", "terminal")
    assert method["name"] in (ZED / "README.md").read_text("utf-8")


def test_the_extension_is_as_zed_reads_it() -> None:
    manifest = tomllib.loads((ZED / "extension.toml").read_text("utf-8"))
    assert (manifest["id"], manifest["schema_version"], manifest["version"]) == ("acp-adapter", 1, __version__)
    agent = manifest["agent_servers"]["acp-adapter"]
    assert agent["name"] and (ZED / agent["icon"]).read_bytes() == (ENTRY / "icon.svg").read_bytes()
    systems = {(system, chip) for system in ("darwin", "linux", "windows") for chip in ("aarch64", "x86_64")}
    assert {tuple(name.split("-")) for name in agent["targets"]} == systems
    assert all(set(target) == {"archive", "cmd"} for target in agent["targets"].values())


def test_what_is_packed_is_what_the_published_extension_names(packed: Path) -> None:
    agent = tomllib.loads((packed / "extension/extension.toml").read_text("utf-8"))["agent_servers"]["acp-adapter"]
    assert (packed / "extension" / agent["icon"]).exists()
    for target in agent["targets"].values():
        base, _, name = target["archive"].rpartition("/")
        data = (packed / name).read_bytes()
        assert (base, target["sha256"]) == (BASE, hashlib.sha256(data).hexdigest())
        with (zipfile.ZipFile if name.endswith("zip") else tarfile.open)(packed / name) as archive:
            names = archive.namelist() if isinstance(archive, zipfile.ZipFile) else archive.getnames()
        assert names == [target["cmd"].removeprefix("./")]


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX launcher")
def test_the_packed_launcher_starts_the_agent_that_is_installed(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed / "acp-adapter-zed-posix.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    launcher, home = str(tmp_path / "acp-adapter"), str(tmp_path / "home")
    found = shutil.which("acp-adapter", path=str(Path(sys.executable).parent))
    assert found, "the tests run where acp-adapter is installed"
    env = {"PATH": f"{Path(found).parent}:/usr/bin:/bin", "HOME": str(tmp_path), "ACP_ADAPTER_HOME": home}
    assert initialized([launcher], env)["agentInfo"] == {
        "name": "acp-adapter",
        "title": "ACP Adapter",
        "version": __version__,
    }


def test_the_launchers_name_the_version_once_packed(packed: Path) -> None:
    with zipfile.ZipFile(packed / "acp-adapter-zed-windows.zip") as archive:
        text = archive.read("acp-adapter.cmd").decode()
    assert re.findall(r"acp-adapter==(\S+)", text) == [__version__]
    assert text.count("\r\n") == text.count("\n")
