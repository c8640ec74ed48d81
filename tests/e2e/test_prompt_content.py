"""What a prompt may hold: text, links, resources, images; what it may not is refused before anything is stored."""

from __future__ import annotations

import base64
from typing import Any

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.stub_model import T

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
WAV = base64.b64encode(b"RIFF" + bytes(40)).decode()

REFUSED: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "an empty text": [{"type": "text", "text": ""}],
    "blanks": [{"type": "text", "text": " \n"}],
    "an image of an unknown type": [{"type": "image", "mimeType": "image/xyz", "data": PNG}],
    "an image with bad base64": [{"type": "image", "mimeType": "image/png", "data": "%%%"}],
    "an image without data": [{"type": "image", "mimeType": "image/png"}],
    "an unknown kind of block": [{"type": "foo"}],
    "a block without a type": [{"text": "hi"}],
    "a text that is a number": [{"type": "text", "text": 5}],
    "a resource without content": [{"type": "resource", "resource": {"uri": "file:///x.py"}}],
    "one good block and one bad": [{"type": "text", "text": "hi"}, {"type": "foo"}],
}


async def test_it_is_refused_before_anything_is_stored(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for name, prompt in REFUSED.items():
        error = await client.error_of("session/prompt", {"sessionId": session, "prompt": prompt})
        assert error.code == -32602, name
        assert lab.count("messages") == 0, name
        lab.model.add(T("hello"))
        fresh = await client.new(lab.project)
        assert (await client.prompt(fresh, "hi")).text == "hello"
        await client.request("session/delete", {"sessionId": fresh})
    lab.model.add(T("hello"))
    assert (await client.prompt(session, "hi")).text == "hello"


async def test_a_prompt_of_another_shape_is_refused(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for prompt in ("hi", 5, None, {"type": "text", "text": "hi"}, ["hi"], [None]):
        error = await client.error_of("session/prompt", {"sessionId": session, "prompt": prompt})
        assert error.code == -32602, prompt
    assert lab.count("messages") == 0


async def test_a_link_to_a_file_reaches_the_model_with_path_range_and_content(lab: Lab) -> None:
    path = lab.project / "a b.py"
    path.write_text("".join(f"line {n}\n" for n in range(1, 10)), "utf-8")
    link = {"type": "resource_link", "uri": f"{path.as_uri()}#L3-5", "name": "a b.py"}
    lab.model.add(T("I see"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, [link])
    assert turn.text == "I see"
    (told,) = lab.model.requests[-1].texts("user")
    assert str(path) in told and "3-5" in told
    assert "line 3\nline 4\nline 5" in told
    assert "line 2" not in told and "line 6" not in told
    shown = panel(await client.load(session, lab.project))
    assert shown[0].content == [link], "replay shows what the user sent, not what the model was told"
    path.write_text("changed\n", "utf-8")
    lab.model.add(T("still"))
    await client.prompt(session, "and now?")
    assert lab.model.requests[-1].texts("user")[0] == told, "what was sent once stays as it was"


async def test_a_link_to_a_file_that_is_not_there_still_reaches_the_model(lab: Lab) -> None:
    link = {"type": "resource_link", "uri": (lab.project / "gone.py").as_uri(), "name": "gone.py"}
    lab.model.add(T("no such file"))
    client = await lab.start()
    turn = await client.prompt(await client.new(lab.project), [link])
    assert turn.text == "no such file"
    assert "gone.py" in lab.model.requests[-1].texts("user")[0]


async def test_an_embedded_text_reaches_the_model_with_its_path(lab: Lab) -> None:
    resource = {"uri": "file:///x.py", "mimeType": "text/x-python", "text": "X=1"}
    block = {"type": "resource", "resource": resource}
    lab.model.add(T("one"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, [{"type": "text", "text": "what is X?"}, block])
    (told,) = lab.model.requests[-1].texts("user")
    assert "what is X?" in told and "/x.py" in told and "X=1" in told
    assert panel(await client.load(session, lab.project))[0].content == [{"type": "text", "text": "what is X?"}, block]


async def test_an_embedded_blob_is_refused_or_named_to_the_model(lab: Lab) -> None:
    blob = {"uri": "file:///x.bin", "mimeType": "application/octet-stream", "blob": base64.b64encode(b"abc").decode()}
    lab.model.add(T("bytes"))
    client = await lab.start()
    session = await client.new(lab.project)
    try:
        await client.prompt(session, [{"type": "resource", "resource": blob}])
        assert "x.bin" in lab.model.requests[-1].texts("user")[0]
    except RpcError as error:
        assert error.code == -32602
        assert lab.count("messages") == 0


async def test_what_is_not_advertised_is_refused_and_what_is_reaches_the_model(lab: Lab) -> None:
    client = await lab.start()
    offered = client.initialized["agentCapabilities"]["promptCapabilities"]
    session = await client.new(lab.project)
    blocks = {
        "image": {"type": "image", "mimeType": "image/png", "data": PNG},
        "audio": {"type": "audio", "mimeType": "audio/wav", "data": WAV},
    }
    for name, block in blocks.items():
        if offered.get(name):
            lab.model.add(T(f"an {name}"))
            turn = await client.prompt(session, [{"type": "text", "text": "what is it?"}, block])
            assert turn.text == f"an {name}"
            parts = lab.model.requests[-1].body["messages"][-1]["content"]
            assert block["data"] in str(parts[1])
        else:
            error = await client.error_of("session/prompt", {"sessionId": session, "prompt": [block]})
            assert error.code == -32602
    if any(offered.get(name) for name in blocks):
        await lab.assert_replay_equals_live(client, session)


async def test_a_session_with_every_kind_of_block_goes_on_after_a_restart(lab: Lab) -> None:
    (lab.project / "a.py").write_text("A = 1\n", "utf-8")
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "see"},
        {"type": "resource_link", "uri": (lab.project / "a.py").as_uri(), "name": "a.py", "size": 6},
        {"type": "resource_link", "uri": "https://example.org/page", "name": "a page"},
        {"type": "resource", "resource": {"uri": "untitled:1", "text": "draft"}},
        {"type": "text", "text": "and say"},
    ]
    lab.model.add(T("seen"), T("hello"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, blocks)
    await lab.assert_replay_equals_live(client, session)
    client = await lab.restart(client)
    shown = panel(await client.load(session, lab.project))
    assert shown[0].content == blocks
    assert (await client.prompt(session, "hi")).text == "hello"


async def test_a_picture_for_a_model_that_takes_none_is_refused_and_the_session_goes_on(lab: Lab) -> None:
    lab.configure(f'[models."openai:{lab.model.model}"]\nimages = false\n')
    lab.model.add(T("words"))
    client = await lab.start()
    session = await client.new(lab.project)
    prompt = [{"type": "text", "text": "what is it?"}, {"type": "image", "mimeType": "image/png", "data": PNG}]
    error = await client.error_of("session/prompt", {"sessionId": session, "prompt": prompt})
    assert error.code == -32602 and "no pictures" in error.message and lab.model.model in error.message
    assert not lab.model.requests and lab.count("messages") == 0
    assert (await client.prompt(session, "in words, then")).text == "words"


async def test_a_picture_that_is_too_large_is_refused_with_the_limit(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    large = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(bytes(21 * 2**20)).decode()}
    error = await client.error_of("session/prompt", {"sessionId": session, "prompt": [large]})
    assert error.code == -32602 and "20 MiB" in error.message
    assert lab.count("messages") == 0


async def test_a_link_to_a_folder_brings_the_names_in_it(lab: Lab) -> None:
    folder = lab.project / "src"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.py").write_text("", "utf-8")
    lab.model.add(T("I see"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, [{"type": "resource_link", "uri": folder.as_uri(), "name": "src"}])
    (told,) = lab.model.requests[-1].texts("user")
    assert told.splitlines()[1:] == ["a.py", "deep/"] and str(folder) in told
