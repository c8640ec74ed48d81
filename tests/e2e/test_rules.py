"""Rules with the real agent: what they decide, that the model is told, and that the decision is on record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.clients import editor
from tests.clients.lab import Lab
from tests.stub_model import READ, SHELL, C, T

PATCH = "*** Begin Patch\n*** Update File: .env\n@@\n-needle-41\n+x\n*** End Patch"
PERMISSION = "acp-adapter/permission"


def write_rules(home: Path, text: str) -> None:
    folder = home / "permissions"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)
    (folder / "everywhere.toml").write_text(text, "utf-8")
    (folder / "everywhere.toml").chmod(0o600)


def recorded(lab: Lab) -> list[Any]:
    rows = lab.query("SELECT details FROM message_details ORDER BY message_id")
    return [json.loads(details).get("permission") for (details,) in rows]


def decisions(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """What the editor was told of each call's decision, by call."""
    return {
        update["toolCallId"]: update["_meta"][PERMISSION]
        for update in updates
        if PERMISSION in (update.get("_meta") or {})
    }


async def test_a_decision_is_in_the_ledger_and_in_the_replay(lab: Lab) -> None:
    write_rules(lab.home, '[[reject]]\ntool = "run_command"\nprefix = "git push"\n')
    (lab.project / "a.txt").write_text("one\n")
    lab.model.add(
        C("c1", SHELL, {"command": "cd . && git push"})
        + C("c2", SHELL, {"command": "echo hi"})
        + C("c3", READ, {"path": "a.txt"}),
        T("done"),
    )
    client = await lab.start()
    client.editor.permission = editor.allow
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    by_rule = {
        "verdict": "reject",
        "by": "rule",
        "rule": "reject commands that begin with `git push` (everywhere.toml)",
    }
    by_user = {"verdict": "allow", "by": "user", "choice": "allow_once"}
    by_mode = {"verdict": "allow", "by": "mode", "mode": "ask"}
    live = [dict(update) for update in client.live[session]]
    assert decisions(live) == {"c1": by_rule, "c2": by_user, "c3": by_mode}
    assert sorted(map(str, recorded(lab))) == sorted(map(str, [by_rule, by_user, by_mode]))
    again = await lab.restart(client)
    assert decisions(await again.load(session, lab.project)) == {"c1": by_rule, "c2": by_user, "c3": by_mode}
    told = lab.model.requests[-1].texts("tool")
    assert any("A rule of the user rejects this" in text for text in told)


async def test_a_refused_file_is_not_found_by_a_search_either(lab: Lab) -> None:
    write_rules(lab.home, '[[deny]]\ntool = "read_file"\npath = "*.key"\n')
    (lab.project / "server.key").write_text("needle-41\n")
    (lab.project / "notes.txt").write_text("needle-42\n")
    lab.model.add(
        C("c1", "grep", {"pattern": "needle"})
        + C("c2", "glob", {"pattern": "*"})
        + C("c3", READ, {"path": "server.key"}),
        T("done"),
    )
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    said = "\n".join(lab.model.requests[-1].texts("tool"))
    assert "needle-42" in said and "notes.txt" in said
    assert "needle-41" not in said and "server.key" not in said
    assert "A rule of the user rejects this: read_file of `*.key`" in said


async def test_a_file_that_is_refused_by_its_name_is_refused_where_that_is_a_link(lab: Lab) -> None:
    write_rules(lab.home, '[[deny]]\ntool = "*"\npath = ".env"\n')
    (lab.project / "conf").mkdir()
    (lab.project / "conf" / "real").write_text("needle-41\n")
    (lab.project / ".env").symlink_to("conf/real")
    (lab.project / "by").symlink_to(".env")
    paths = (".env", "by", "conf/../.env", str(lab.project / ".env"))
    lab.model.add(
        sum((C(f"c{at}", READ, {"path": path}) for at, path in enumerate(paths[1:])), C("c", READ, {"path": paths[0]}))
        + C("g", "grep", {"pattern": "needle", "path": ".env"})
        + C("w", "apply_patch", {"patch": PATCH}),
        T("done"),
    )
    client = await lab.start()
    client.editor.permission = editor.allow
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    said = lab.model.requests[-1].texts("tool")
    assert len(said) == 6 and all("A rule of the user rejects this" in text for text in said)
    assert (lab.project / "conf" / "real").read_text() == "needle-41\n"


async def test_an_edit_that_does_not_fit_tells_nothing_of_a_file_that_may_not_be_read(lab: Lab) -> None:
    """Else the text that is most like what was looked for would come back, before anything was decided."""
    write_rules(lab.home, '[[deny]]\ntool = "read_file"\npath = ".env"\n')
    for name in (".env", "open"):
        (lab.project / name).write_text("the needle is 41\n")
    lab.model.add(
        C("c1", "edit_file", {"path": ".env", "old_text": "the needle is x", "new_text": "y"})
        + C("c2", "edit_file", {"path": "open", "old_text": "the needle is x", "new_text": "y"}),
        T("done"),
    )
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    refused, told = lab.model.requests[-1].texts("tool")
    assert "needle" not in refused and "may not be read" in refused
    assert "the needle is 41" in told


async def test_a_search_shows_what_asks_before_it_is_read_only_to_who_was_asked(lab: Lab) -> None:
    write_rules(lab.home, '[[ask]]\ntool = "*"\npath = "letters/"\n')
    (lab.project / "letters").mkdir()
    (lab.project / "letters" / "a").write_text("needle-41\n")
    lab.model.add(
        C("c1", "grep", {"pattern": "needle"}) + C("c2", "grep", {"pattern": "needle", "path": "letters"}), T("done")
    )
    client = await lab.start()
    client.editor.permission = editor.allow
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    unasked, asked = lab.model.requests[-1].texts("tool")
    assert len(client.received("session/request_permission")) == 1
    assert "needle-41" not in unasked and "needle-41" in asked
