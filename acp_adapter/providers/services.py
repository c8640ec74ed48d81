"""The hosted services: where they are, which API they speak, which variable holds their key, how they differ.

A table, in the order in which an automatic choice tries them. Any other server is named in config.toml.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from attrs import frozen

from acp_adapter.providers.chat.request import Dialect

PLAIN = Dialect()


@frozen
class Service:
    """`keys` are environment variables, the first that is set counts. `model` is used where none is chosen.

    `api` is one of `acp_adapter.providers.apis.APIS`; `dialect` is how it speaks `chat`, beside its own or as its own.
    """

    base_url: str
    keys: tuple[str, ...]
    model: str
    dialect: Dialect = PLAIN
    api: str = "chat"


SERVICES = {
    "openai": Service(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        "gpt-5-mini",
        Dialect(max_tokens="max_completion_tokens", cache_key=True),
        "responses",
    ),
    "anthropic": Service("https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), "claude-sonnet-5-5", api="anthropic"),
    "openrouter": Service(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        "openrouter/auto",
        Dialect(echoes=frozenset({"reasoning_details"}), effort="reasoning"),
    ),
    "gemini": Service(
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-flash-latest",
        Dialect(echoes=frozenset({"extra_content"})),
        "gemini",
    ),
    "mistral": Service(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        "devstral-latest",
        Dialect(call_ids=r"[a-zA-Z0-9]{9}"),
    ),
    "deepseek": Service(
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        "deepseek-flash",
        Dialect(echoes=frozenset({"reasoning_content"}), effort="thinking"),
    ),
    "moonshot": Service(
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        "kimi-latest",
        Dialect(echoes=frozenset({"reasoning_content"}), effort="thinking"),
    ),
    "xai": Service("https://api.x.ai/v1", ("XAI_API_KEY",), "grok-4.3"),
    "groq": Service("https://api.groq.com/openai/v1", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    "together": Service("https://api.together.xyz/v1", ("TOGETHER_API_KEY",), "openai/gpt-oss-120b"),
}

LOOPBACK_SERVERS = {
    "ollama": "http://127.0.0.1:11434",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}

TITLES = {
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    "lmstudio": "LM Studio",
    "llamacpp": "llama.cpp",
    "local": "Embedded",
}
"""What providers call themselves, where that is more than their name with a capital."""

AT_THE_ROOT = {"ollama"}
"""Servers with an API of their own, named like them, where their address has no path; under `/v1` they speak `chat`."""


def dialect_at(base_url: str) -> Dialect:
    """The dialect of the service at that address; the plain one for every other server."""
    host = urlsplit(base_url).hostname
    return next((s.dialect for s in SERVICES.values() if urlsplit(s.base_url).hostname == host), PLAIN)


def title_of(name: str) -> str:
    """A provider's name for people; one that the user has named keeps that name."""
    return TITLES.get(name) or (name.capitalize() if name in SERVICES or name in LOOPBACK_SERVERS else name)


def api_at(name: str, base_url: str) -> str:
    """The API that this provider speaks at that address, where config.toml does not say.

    A service speaks its own one where the table has it, Ollama wherever it is. Anything else speaks `chat`.
    """
    service = SERVICES.get(name)
    if service and base_url.rstrip("/") == service.base_url:
        return service.api
    if name in AT_THE_ROOT and not urlsplit(base_url).path.strip("/"):
        return name
    return "chat"
