"""Secrets are taken out of what tools give and of what leaves the ledger: known keys, and texts that look like keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from acp_adapter.transcript import Message

MARK = "[redacted]"

SHORTEST = 8
"""Characters of the shortest known secret that is looked for: `none` or `ollama` in the place of a key is none."""

_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))"
"""Not within a word; in text that is JSON, an escaped line feed ends in a letter too."""

_KEYS = (
    r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot
    r"(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{20,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[A-Za-z0-9_-]{35}",
    r"(?:gsk_|xai-|hf_|npm_|pypi-)[A-Za-z0-9_-]{24,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",  # JSON Web Token (RFC 7519)
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_PASSWORD = r"(?<=://)(?P<user>[^/\s:@\"'\\]*):[^/\s@\"'\\]+(?=@)"
"""In a URL (RFC 3986, userinfo)."""
_SECRET_NAME = re.compile(
    r"(TOKEN|SECRET|API_?KEY)S?(_|$)|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE|(^|_)(KEYS?|PASS|PAT|DSN)(_|$)",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\w://[^/\s:@]*:[^/\s@]+@|(^|\W)(sk-\w|gh[pousr]_\w|github_pat_|xox[abprs]-|AKIA[0-9A-Z]{12})"
)

_OWN_LOOKS = re.compile(r"(?![/~])(?=.*[0-9])(?=.*[A-Za-z])\S{12,}")


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like it holds a secret. A proxy's address is kept even with its password."""
    if name.lower().endswith("_proxy"):
        return False
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value))


def secrets_in(variables: Mapping[str, str]) -> Iterator[str]:
    """The values of an environment, or of headers, that look like secrets both by their name and by themselves: the
    word `postgres` is no secret, though it be a password, and a path is none."""
    for name, value in variables.items():
        named = name.lower() in ("authorization", "cookie") or is_secret(name.replace("-", "_"), value)
        secret = value.removeprefix("Bearer ").strip()
        if named and not name.lower().endswith("_proxy") and _OWN_LOOKS.fullmatch(secret):
            yield secret


class Redactor:
    """Puts MARK in the place of secrets, and counts in `count` how often."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        known = {form for secret in self._secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        exact = [re.escape(form) for form in sorted(known, key=len, reverse=True)]
        self._pattern = re.compile("|".join([*exact, f"{_START}(?:{'|'.join(_KEYS)})", _PASSWORD]), re.DOTALL)
        self.count = 0

    def knowing(self, secrets: Iterable[str]) -> Redactor:
        """One that knows these too, and counts anew."""
        return Redactor((*self._secrets, *secrets))

    def text(self, text: str) -> str:
        redacted, count = self._pattern.subn(self._mark, text)
        self.count += count
        return redacted

    def value(self, value: Any) -> Any:
        """The same JSON value, each text in it redacted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def message(self, message: Message) -> Message:
        fields = ("content", "api_content", "tool_calls", "reasoning", "reasoning_content", "details")
        return evolve(message, **{name: self.value(getattr(message, name)) for name in fields})

    @staticmethod
    def _mark(found: re.Match[str]) -> str:
        user = found["user"]
        return MARK if user is None else f"{user}:{MARK}"


def _forms(secret: str) -> Iterator[str]:
    """The secret as it stands, as it stands in JSON, and in JSON that is text in JSON."""
    yield secret
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
