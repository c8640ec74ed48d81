"""`.acp-adapter.toml`: what a project may ask for, and that it grants itself nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.config import Config
from acp_adapter.project_defaults import NAME, Limit, ProjectDefaults
from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.stub_model import T


def config(tmp_path: Path, toml: str = "") -> Config:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(toml, "utf-8")
    return Config.load({"ACP_ADAPTER_HOME": str(home)})


def project(tmp_path: Path, toml: str) -> Path:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_text(toml, "utf-8")
    return folder


def test_a_project_chooses_a_model_an_effort_a_stricter_mode_and_smaller_budgets(tmp_path: Path) -> None:
    folder = project(tmp_path, 'model = "openai:gpt-5"\neffort = "low"\nmode = "plan"\n[budget]\nsession_usd = 2\n')
    found = ProjectDefaults.of(folder, config(tmp_path))
    assert (found.model, found.effort, found.mode, found.problems) == ("openai:gpt-5", "low", "plan", ())
    both = {"session_usd": Limit(2.0, str(folder / NAME)), "day_usd": Limit(9.0, "config.toml")}
    assert found.lowered({"session_usd": 5.0, "day_usd": 9.0}) == both
    assert found.lowered({"session_usd": 1.0}) == {"session_usd": Limit(1.0)}


@pytest.mark.parametrize("mode", ["bypass", "accept_edits"])
def test_a_mode_that_asks_less_counts_only_where_the_user_trusts_the_folder(tmp_path: Path, mode: str) -> None:
    folder = project(tmp_path, f'mode = "{mode}"\n')
    found = ProjectDefaults.of(folder, config(tmp_path))
    assert found.mode is None
    assert f"mode '{mode}' is ignored: a project may not choose it unless config.toml trusts" in found.problems[0]
    assert ProjectDefaults.of(folder, config(tmp_path, f'trusted = ["{folder}"]\n')).mode == mode
    assert ProjectDefaults.of(folder, config(tmp_path, f'trusted = ["{tmp_path / "proj"}"]\n')).mode is None


def test_addresses_keys_and_commands_are_not_read_from_it(tmp_path: Path) -> None:
    text = 'trusted = ["/"]\n[providers.openai]\nbase_url = "http://evil"\n[mcp_servers.x]\ncommand = "evil"\n'
    folder = project(tmp_path, text)
    found = ProjectDefaults.of(folder, config(tmp_path))
    assert found == ProjectDefaults(problems=found.problems, path=folder / NAME)
    assert "not read from a project's file: 'trusted', 'providers', 'mcp_servers'. It may" in found.problems[0]


def test_a_script_is_no_model_that_a_project_may_choose(tmp_path: Path) -> None:
    folder = project(tmp_path, 'model = "scripted:steps.json"\n')
    found = ProjectDefaults.of(folder, config(tmp_path, f'trusted = ["{folder}"]\n'))
    assert found.model is None and "may not put a script in the place of a model" in found.problems[0]


def test_a_file_full_of_nonsense_is_told_of_in_a_few_words(tmp_path: Path) -> None:
    text = "".join(f"key{n} = 1\n" for n in range(3000)) + f'mode = "{"x" * 9000}"\n[budget]\n"{"y" * 9000}" = 1\n'
    found = ProjectDefaults.of(project(tmp_path, text), config(tmp_path))
    assert len(found.problems) == 3
    assert "and 2995 more" in found.problems[0]
    assert all(len(problem) < 500 for problem in found.problems)


@pytest.mark.parametrize("cwd", ["/" + "x" * 5000, "/a\0b"])
def test_a_folder_that_can_t_be_looked_into_asks_for_nothing(tmp_path: Path, cwd: str) -> None:
    assert ProjectDefaults.of(Path(cwd), config(tmp_path)) == ProjectDefaults()


def test_without_a_repository_it_is_found_up_to_the_user_s_own_folder(tmp_path: Path) -> None:
    folder = project(tmp_path, 'effort = "low"\n')
    deep = folder / "src" / "deep"
    deep.mkdir(parents=True)
    at_home = Config.load({"ACP_ADAPTER_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})
    assert ProjectDefaults.of(deep, at_home).effort == "low"
    (tmp_path / NAME).write_text('effort = "high"\n', "utf-8")
    (folder / NAME).unlink()
    assert ProjectDefaults.of(deep, at_home).effort == "high"
    below = Config.load({"ACP_ADAPTER_HOME": str(tmp_path / "home"), "HOME": str(folder)})
    assert ProjectDefaults.of(deep, below).effort is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mode = ", "can't be used"),
        ("x" * 70_000, "larger than 64 KiB"),
        ('model = "gpt"', "must be provider:model"),
        ("effort = 3", "effort must be a text"),
        ('effort = "huge"', "effort must be one of"),
        ('mode = "root"', "there is no such mode"),
        ("[budget]\nsession_usd = -1", "ignored: 'session_usd'"),
        ("[budget]\nsession_usd = nan", "ignored: 'session_usd'"),
        ("[budget]\nmonth_usd = 1", "ignored: 'month_usd'"),
        ("[budget]\nsession_usd = " + "9" * 400, "ignored: 'session_usd'"),
        ("budget = 3", "each more than 0; ignored: 3"),
    ],
)
def test_what_makes_no_sense_is_told_and_stops_nothing(tmp_path: Path, text: str, told: str) -> None:
    found = ProjectDefaults.of(project(tmp_path, text), config(tmp_path))
    assert (found.model, found.effort, found.mode, found.budget) == (None, None, None, {})
    assert told in "".join(found.problems)


def test_a_mark_that_some_editors_put_before_a_text_is_no_fault(tmp_path: Path) -> None:
    settings = config(tmp_path, '\ufeffmodel = "openai:gpt-5"\n')
    found = ProjectDefaults.of(project(tmp_path, '\ufeffeffort = "low"\n'), settings)
    assert (settings.model, settings.problems) == ("openai:gpt-5", ())
    assert (found.effort, found.problems) == ("low", ())


@pytest.mark.parametrize("amount", ["9" * 400, "0", "nan", "inf", "true", '"2"'])
def test_a_budget_of_one_s_own_that_can_t_be_is_told_and_ignored(tmp_path: Path, amount: str) -> None:
    found = config(tmp_path, f"[budget]\nday_tokens = 5\nday_usd = {amount}\n")
    assert found.budget == {"day_tokens": 5.0}
    assert "day_usd is ignored" in "".join(found.problems)


def test_it_is_found_above_a_folder_up_to_the_repository_s_root_and_no_further(tmp_path: Path) -> None:
    folder = project(tmp_path, 'effort = "low"\n')
    deep = folder / "src" / "deep"
    deep.mkdir(parents=True)
    assert ProjectDefaults.of(deep, config(tmp_path)).effort is None
    (folder / ".git").mkdir()
    assert ProjectDefaults.of(deep, config(tmp_path)).effort == "low"
    (folder / "src" / ".git").mkdir()
    assert ProjectDefaults.of(deep, config(tmp_path)).effort is None


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text('effort = "low"\n', "utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / NAME).symlink_to(tmp_path / "elsewhere.toml")
    found = ProjectDefaults.of(folder, config(tmp_path))
    assert found.effort is None and "leads out of the project" in found.problems[0]


async def opened(lab: Lab, method: str, **more: Any) -> dict[str, Any]:
    client = await lab.start(Editor(offers=capabilities(notices=True)))
    params = {"cwd": str(lab.project), "mcpServers": [], **more}
    result = await client.request(method, params)
    session = result.get("sessionId") or more["sessionId"]
    lab.model.add(T("ok"))
    await client.prompt(session, "hi")
    notices = [u["title"] for u in client.updates(session) if u["sessionUpdate"] == "notice"]
    return {
        "session": session,
        "mode": result["modes"]["currentModeId"],
        "values": {option["id"]: option["currentValue"] for option in result["configOptions"]},
        "notices": notices,
    }


async def test_new_sessions_begin_with_it_and_stored_choices_stay(lab: Lab) -> None:
    (lab.project / NAME).write_text(f'mode = "plan"\nmodel = "openai:{lab.model.model}"\neffort = "low"\n', "utf-8")
    lab.configure('[models."openai:stub-1"]\nefforts = ["low", "high"]\n')
    first = await opened(lab, "session/new")
    assert first["mode"] == "plan"
    assert first["values"] == {"mode": "plan", "model": f"openai:{lab.model.model}", "effort": "low"}
    assert lab.model.requests[-1].body["reasoning_effort"] == "low"
    (lab.project / NAME).write_text('mode = "ask"\neffort = "high"\n', "utf-8")
    again = await opened(lab, "session/resume", sessionId=first["session"])
    assert (again["mode"], again["values"]["effort"]) == ("plan", "low")


async def test_a_project_that_grants_itself_rights_is_told_of_and_gets_none(lab: Lab) -> None:
    (lab.project / NAME).write_text('mode = "bypass"\n', "utf-8")
    found = await opened(lab, "session/new")
    assert found["mode"] == "ask"
    assert any("mode 'bypass' is ignored" in title for title in found["notices"])
