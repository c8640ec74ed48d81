"""Skills and custom prompts: files of the user and of the project that are commands in every editor's panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import READ, C, T

SKILL = """---
name: {name}
description: Writes a changelog for people.
---

Read the last commits, then write what a user would notice.
"""


def put(path: Path, text: str) -> Path:
    """Write a file as a private one, in folders that are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    for folder in list(path.parents)[:3]:
        folder.chmod(0o700)
    return path


async def test_a_skill_of_the_project_is_a_command_and_is_told_to_the_model(lab: Lab) -> None:
    path = put(lab.project / ".agents/skills/changelog/SKILL.md", SKILL.format(name="changelog"))
    lab.model.add(T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    (command,) = await advertised(client, session, "changelog")
    assert command["description"] == "Writes a changelog for people."
    assert (await client.prompt(session, "/changelog since the last tag")).text == "done"
    (system,), (told,) = lab.model.requests[-1].texts("system"), lab.model.requests[-1].texts("user")
    assert str(path) in system and "Writes a changelog for people." in system
    assert "Read the last commits" in told and "since the last tag" in told
    shown = panel(await client.load(session, lab.project))
    assert shown[0].text == "/changelog since the last tag"
    await lab.assert_replay_equals_live(client, session)


async def test_a_custom_prompt_of_the_user_is_filled_with_what_was_typed(lab: Lab) -> None:
    put(
        lab.home / "prompts/explain.md",
        "\ufeff---\r\ndescription: Explains\r\nargument-hint: FILE DEPTH\r\n---\r\nExplain $1, $2.",
    )
    put(lab.home / "prompts/plain.md", "Look at this:")
    lab.model.add(T("one"), T("two"))
    client = await lab.start()
    session = await client.new(lab.project)
    (command,) = await advertised(client, session, "explain")
    assert command["input"]["hint"] == "FILE DEPTH"
    await client.prompt(session, "/explain 'my file.py' deeply")
    await client.prompt(session, "/plain the tests")
    assert lab.model.requests[-1].texts("user") == ["Explain my file.py, deeply.", "Look at this:\n\nthe tests"]


async def test_help_lists_them_and_says_what_was_left_out_and_why(lab: Lab) -> None:
    put(lab.home / "prompts/good.md", "Be good.")
    put(lab.home / "prompts/undo.md", "A name that is taken.")
    put(lab.home / "prompts/broken.md", "---\n[\n---\nx")
    put(lab.home / "prompts/Größe.md", "x")
    put(lab.home / "prompts/empty.md", "---\ndescription: Nothing\n---\n\n")
    put(lab.home / "prompts/binary.md", "").write_bytes(b"\xff\xfe\x00")
    put(lab.home / "prompts/large.md", "x" * 200_000)
    put(lab.project / ".claude/skills/mute/SKILL.md", "---\nname: mute\n---\nNo description.")
    client = await lab.start()
    session = await client.new(lab.project)
    told = (await client.prompt(session, "/help")).text
    assert "`/good`: Be good." in told
    for name, why in {
        "undo.md": "a command of this program",
        "broken.md": "no YAML",
        "Größe.md": "small letters",
        "mute/SKILL.md": "no description",
        "empty.md": "nothing in it",
        "binary.md": "utf-8",
        "large.md": "100 KB",
    }.items():
        (line,) = [line for line in told.splitlines() if name in line]
        assert why in line


async def test_a_link_out_of_the_project_is_no_skill(lab: Lab) -> None:
    secret = put(lab.folder / "elsewhere/SKILL.md", SKILL.format(name="leak"))
    folder = lab.project / ".agents/skills"
    folder.mkdir(parents=True)
    (folder / "leak").symlink_to(secret.parent)
    client = await lab.start()
    told = (await client.prompt(await client.new(lab.project), "/help")).text
    assert "leads out of the project" in told and "`/leak`" not in told


async def test_a_skill_of_the_user_is_read_without_a_question(lab: Lab) -> None:
    path = put(lab.home / "skills/greet/SKILL.md", SKILL.format(name="greet"))
    put(path.parent / "words.txt", "good morning")
    lab.model.add(C("c1", READ, {"path": str(path.parent / "words.txt")}), T("read"))
    client = await lab.start()
    session = await client.new(lab.project)
    assert (await client.prompt(session, "greet me")).text == "read"
    assert not client.received("session/request_permission")
    assert "good morning" in lab.model.requests[-1].texts("tool")[0]


async def test_a_prompt_that_is_gone_since_it_was_advertised_goes_to_the_model_as_typed(lab: Lab) -> None:
    path = put(lab.home / "prompts/short.md", "Be short.")
    lab.model.add(T("ok"))
    client = await lab.start()
    session = await client.new(lab.project)
    await advertised(client, session, "short")
    path.unlink()
    await client.prompt(session, "/short please")
    assert lab.model.requests[-1].texts("user") == ["/short please"]


async def advertised(client: RawClient, session: str, name: str) -> list[dict[str, Any]]:
    """The commands of that name, once they are advertised."""

    def found() -> list[dict[str, Any]]:
        told = [u for u in client.updates(session) if u["sessionUpdate"] == "available_commands_update"]
        return [command for command in told[-1]["availableCommands"] if command["name"] == name] if told else []

    await client.until(lambda: bool(found()), f"/{name}", 10)
    return found()


async def test_no_file_of_a_project_keeps_a_session_from_beginning(lab: Lab) -> None:
    aliases = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10) if n else 'x'}]\n" for n in range(9))
    fronts = [
        "description: !!bool x",
        "description: !!timestamp x",
        "description: " + "[" * 3_000,
        aliases,
        "x" * 9_000,
    ]
    for number, front in enumerate(fronts):
        put(lab.project / f".acp-adapter/prompts/p{number}.md", f"---\n{front}\n---\nWords.")
    (lab.project / ".acp-adapter/prompts/long.md").symlink_to("x" * 300)
    put(lab.project / ".acp-adapter.toml", "a = " + "[" * 5_000)
    client = await lab.start()
    session = await client.new(lab.project)
    assert "has aliases" in (await client.prompt(session, "/help")).text
    (lab.project / ".acp-adapter.toml").write_text("[budget]\nsession_tokens = " + "9" * 400, "utf-8")
    await client.new(lab.project)
