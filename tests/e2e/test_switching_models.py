"""One session on models of every API in turn: each strict server takes what the others said, whole and in order."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.e2e.test_native_apis import SERVERS
from tests.e2e.test_prompt_content import PNG
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.gemini_server import GeminiServer
from tests.providers.ollama_server import OllamaServer
from tests.providers.responses_server import ResponsesServer
from tests.stub_model import SHELL, C, R, StubModel, T
from tests.stub_server import StubServer

APIS: dict[str, type[StubServer]] = {"chat": StubModel, **SERVERS}
BLOCKS = [{"type": "text", "text": "a picture"}, {"type": "image", "mimeType": "image/png", "data": PNG}]

Models = dict[str, StubServer]


@pytest.fixture
async def models(lab: Lab) -> AsyncIterator[Models]:
    """A model server for each API, with the name of the API as the provider's name."""
    with ExitStack() as stack:
        servers = {api: stack.enter_context(server()) for api, server in APIS.items()}
        ollama = servers["ollama"]
        assert isinstance(ollama, OllamaServer)
        ollama.capabilities.append("vision")
        lab.configure(
            f'model = "chat:{servers["chat"].model}"\nmode = "bypass"\n'
            + "".join(
                f'[providers.{api}]\nbase_url = "{server.base_url}"\napi = "{api}"\napi_key_env = "OPENAI_API_KEY"\n'
                for api, server in servers.items()
            )
        )
        yield servers
        refused = [(api, asked.complaint) for api, server in servers.items() for asked in server.requests]
        assert [found for found in refused if found[1]] == []


async def test_every_api_goes_on_from_every_other(lab: Lab, models: Models) -> None:
    client = await lab.start(ACP_ADAPTER_MODEL="")
    session = await client.new(lab.project)
    said: list[str] = []
    for turn, api in enumerate(each_after_each(list(models))):
        await choose(client, session, api, models[api])
        call = C(f"c{turn}", SHELL, {"command": f"echo out{turn}"})
        models[api].add(R(f"thought {turn}") + T(f"I look {turn}.") + call, R("so") + T(f"answer {turn}"))
        await client.prompt(session, f"question {turn}" if turn else [{"type": "text", "text": "question 0"}, *BLOCKS])
        said.append(f"question {turn}")
        last = models[api].requests[-1]
        assert [text.strip() for text in last.texts("tool")] == [f"out{n}" for n in range(turn + 1)], (turn, api)
        heard = "\n".join(last.texts("user"))
        assert [word for word in said if word not in heard] == [], (turn, api)
        assert PNG in last.raw.decode(), (turn, api)
        answers = "\n".join([text for role, text in last.said if role in ("assistant", "model")])
        assert [n for n in range(turn) if f"answer {n}" not in answers] == [], (turn, api)
    await lab.assert_replay_equals_live(client, session)


async def test_a_session_is_opened_again_on_another_model_after_kill_9(lab: Lab, models: Models) -> None:
    client = await lab.start(ACP_ADAPTER_MODEL="")
    session = await client.new(lab.project)
    for turn, api in enumerate(models):
        await choose(client, session, api, models[api])
        models[api].add(R("hm") + T("I look.") + C("same-id", SHELL, {"command": f"echo out{turn}"}), T("done"))
        await client.prompt(session, f"question {turn}")
        client = await lab.restart(client, ACP_ADAPTER_MODEL="")
        loaded = await client.request("session/resume", {"sessionId": session, "cwd": str(lab.project)})
        option = next(option for option in loaded["configOptions"] if option["id"] == "model")
        assert option["currentValue"] == f"{api}:{models[api].model}"
        fork = await client.request("session/fork", {"sessionId": session, "cwd": str(lab.project)})
        models[api].add(T("a branch"))
        assert (await client.prompt(fork["sessionId"], "aside")).text == "a branch"
        models[api].add(T("going on"))
        assert (await client.prompt(session, f"go on {turn}")).text == "going on"


@pytest.mark.parametrize("signer", ["anthropic", "gemini", "responses"])
async def test_what_an_api_signed_goes_back_to_it_after_others_had_their_turn_and_to_no_other(
    lab: Lab, models: Models, signer: str
) -> None:
    client = await lab.start(ACP_ADAPTER_MODEL="")
    session = await client.new(lab.project)
    await ask(client, session, signer, models)
    signed = signatures(models[signer])
    assert len(signed) >= 1
    others = [api for api in models if api != signer]
    for api in others:
        await ask(client, session, api, models)
    client = await lab.restart(client, ACP_ADAPTER_MODEL="")
    await client.load(session, lab.project)
    await ask(client, session, signer, models)
    sent = models[signer].requests[-1].raw.decode()
    assert [signature for signature in signed if signature not in sent] == []
    said_to_others = "".join(asked.raw.decode() for api in others for asked in models[api].requests)
    assert [signature for signature in signed if signature in said_to_others] == []


async def ask(client: RawClient, session: str, api: str, models: Models) -> None:
    """One turn on that API: a thought, a call, an answer."""
    await choose(client, session, api, models[api])
    models[api].add(
        R(f"thought of {api}") + C(f"c-{len(models[api].requests)}-{api}", SHELL, {"command": "echo x"}), T("ok")
    )
    await client.prompt(session, f"question to {api}")


def signatures(server: StubServer) -> set[str]:
    """What the server gave that only it can read."""
    if isinstance(server, ResponsesServer):
        return {encrypted for encrypted, _ in server.issued.values()}
    if isinstance(server, GeminiServer):
        return set(server.issued.values())
    assert isinstance(server, AnthropicServer)
    return set(server.issued)


def each_after_each(apis: list[str]) -> list[str]:
    """A walk in which every ordered pair of different APIs occurs."""
    walk, left = [apis[0]], set(itertools.permutations(apis, 2))
    while left:
        ahead = [pair for pair in sorted(left) if pair[0] == walk[-1]] or sorted(left)
        walk += [name for name in ahead[0] if name != walk[-1]]
        left -= set(itertools.pairwise(walk))
    return walk


async def choose(client: RawClient, session: str, api: str, server: StubServer) -> None:
    value = f"{api}:{server.model}"
    await client.request("session/set_config_option", {"sessionId": session, "configId": "model", "value": value})
