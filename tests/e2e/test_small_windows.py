"""Conversations on servers with a small window, which they tell of, or only when it is exceeded, or not even then."""

from __future__ import annotations

import pytest

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.stub_model import READ, SHELL, C, StubModel, T

LONG = "tell me more of this " * 100
"""About 2 KB, 700 tokens of the server's."""
SUMMARY = "Use at most"
"""What stands in every request for a summary."""


@pytest.mark.parametrize(
    "full",
    [
        "This model's maximum context length is {window} tokens. Your messages resulted in {tokens} tokens.",
        "request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it",
        "context_length_exceeded",
    ],
)
@pytest.mark.parametrize("told", [True, False])
async def test_a_conversation_goes_on_far_beyond_the_window_of_its_server(
    lab: Lab, model: StubModel, told: bool, full: str
) -> None:
    window = 9_000
    lab.configure('mode = "bypass"\n' + (f"[providers.openai]\ncontext_window = {window}\n" if told else ""))
    model.window, model.full = window, full
    client = await lab.start()
    session = await client.new(lab.project)
    for n in range(16):
        lab.model.add(T(f"summary {n}").when(SUMMARY), C(f"c{n}", SHELL, {"command": f"echo {n}; seq 900"}), T(f"a{n}"))
        turn = await client.prompt(session, f"question {n} {LONG}")
        assert turn.text.endswith(f"a{n}")
    refused = [asked for asked in lab.model.requests if len(asked.raw) // 3 > window]
    assert bool(refused) is not told, "a window that is known is never exceeded"
    shown = panel(await client.load(session, lab.project))
    asked = [item.text.split(LONG[:10])[0].strip() for item in shown if item.role == "user"]
    assert asked == [f"question {n}" for n in range(16)]


async def test_a_first_prompt_that_is_too_long_is_refused_and_the_session_goes_on(lab: Lab, model: StubModel) -> None:
    """Only the server knows its window."""
    model.window = 8_000
    client = await lab.start()
    session = await client.new(lab.project)
    lab.referee.allow("error")
    with pytest.raises(RpcError, match=r"Your message is about .* taken out of what the model is sent"):
        await client.prompt(session, LONG * 20)
    lab.model.add(T("fine"))
    turn = await client.prompt(session, "hi")
    assert turn.text == "fine"
    assert lab.model.requests[-1].texts("user") == ["hi"]


async def test_many_large_results_of_one_step_are_cut_together(lab: Lab, model: StubModel) -> None:
    lab.configure('mode = "bypass"\n[providers.openai]\ncontext_window = 12000\n')
    model.window = 12_000
    for n in range(4):
        (lab.project / f"{n}.txt").write_text(f"file {n}\n" + f"{n} line\n" * 2500)
    lab.model.add(
        C("c0", READ, {"path": "0.txt"})
        + C("c1", READ, {"path": "1.txt"})
        + C("c2", READ, {"path": "2.txt"})
        + C("c3", READ, {"path": "3.txt"}),
        T("read"),
    )
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "read them all")
    assert (turn.stop_reason, turn.text) == ("end_turn", "read")
    results = lab.model.requests[-1].texts("tool")
    assert all(f"{n} line" in results[n] and "do not fit the window" in results[n] for n in range(4))
    await lab.assert_replay_equals_live(client, session)


async def test_what_is_asked_stays_word_for_word_when_its_own_steps_fill_the_window(lab: Lab, model: StubModel) -> None:
    window = 10_000
    lab.configure(f'mode = "bypass"\n[providers.openai]\ncontext_window = {window}\n')
    model.window = window
    lab.model.add(*[T("they looked around").when(SUMMARY)] * 20)
    for n in range(30):
        lab.model.add(T("thinking " * 150) + C(f"c{n}", SHELL, {"command": f"echo {n}"}))
    lab.model.add(T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "Rename zebra-42 to walrus-43, but nowhere in the tests.")
    assert turn.stop_reason == "end_turn"
    compacted = [asked for asked in lab.model.requests if SUMMARY in asked.texts("user")[-1]]
    assert len(compacted) >= 2
    first = lab.model.requests[-1].texts("user")[0]
    assert first.endswith("Rename zebra-42 to walrus-43, but nowhere in the tests.")
    assert "they looked around" in first


async def test_a_model_with_a_smaller_window_is_sent_no_more_than_it_takes(lab: Lab, model: StubModel) -> None:
    server = f'base_url = "{lab.model.base_url}"\napi_key_env = "OPENAI_API_KEY"\n'
    lab.configure(
        f"[providers.roomy]\ncontext_window = 100000\n{server}[providers.narrow]\ncontext_window = 8000\n{server}"
    )
    client = await lab.start(ACP_ADAPTER_MODEL=f"roomy:{lab.model.model}")
    session = await client.new(lab.project)
    for n in range(8):
        lab.model.add(T(f"a{n} {LONG}"))
        await client.prompt(session, f"question {n} {LONG}")
    model.window = 8_000
    lab.model.add(T("they talked").when(SUMMARY), T("here"))
    wanted = {"sessionId": session, "configId": "model", "value": f"narrow:{lab.model.model}"}
    await client.request("session/set_config_option", wanted)
    before = len(lab.model.requests)
    turn = await client.prompt(session, "go on")
    assert turn.text.endswith("here")
    assert len(lab.model.requests) == before + 2, "the summary and the answer, and nothing that was refused"
    assert "they talked" in lab.model.requests[-1].texts("user")[0]
