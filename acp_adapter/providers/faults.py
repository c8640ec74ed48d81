"""What a model server's refusal means: HTTP status, headers and body → the ProviderError to raise. No I/O.

The status is that of RFC 9110; Retry-After is its section 10.2.3, in seconds or as a date. Error bodies are read in
every form that servers send: `{"error": {"message", "code"}}`, `{"error": "…"}`, `{"detail": …}`, and Google's
`{"error": {"code", "message", "status", "details"}}` (google/rpc/status.proto).
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from attrs import frozen

from acp_adapter.errors import (
    ContextTooLong,
    ProviderAuthFailed,
    ProviderError,
    ProviderFault,
    ProviderOverloaded,
    ProviderRejected,
)

OVERLOADED = {429, 503, 529}
OVERLOADED_CODES = re.compile(r"rate_limit|overloaded|insufficient_system_resource|too_many_requests", re.I)
SPENT = re.compile(r"insufficient_quota|billing|insufficient.{0,10}(balance|credit|funds)|credit balance", re.I)
TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|window|size)"
    r"|prompt is too long|input is too long|too many (input |prompt )?tokens|request too large"
    r"|input token count.{0,30} exceeds|exceed context limit|request_too_large",
    re.I,
)
LIMIT = re.compile(
    r"context (?:length|size|window)(?: is| of)? ?\(?(\d+)|> ?(\d+) maximum|allowed \((\d+)\)|(\d+) maximum context"
    r"|context limit: \d+ \+ \d+ > (\d+)",
    re.I,
)
"""How many tokens the model takes, in the words of OpenAI, vLLM and llama.cpp, Anthropic, Google, and Mistral."""
KINDS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
"""Anthropic's types of errors and the statuses that they have, for errors in the middle of a stream."""
BAD_KEY = re.compile(r"API_KEY_INVALID|API key (not valid|expired|not found)", re.I)
"""Google answers 400 to a wrong key."""


@frozen
class Refusal:
    """What a server said: `status` is an HTTP status, None where only the stream told of the error.

    `wait` is how many seconds later the body asks to try again, None where it does not.
    """

    status: int | None
    message: str
    code: str = ""
    wait: float | None = None


def refusal(status: int | None, body: bytes | Any) -> Refusal:
    """Read an error body: bytes as they came, or JSON already decoded. Nothing is cut or masked yet."""
    if isinstance(body, bytes):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return Refusal(status, _plain(body.decode("utf-8", "replace")))
    if isinstance(body, list):
        body = body[0] if body else {}
    if not isinstance(body, dict):
        return Refusal(status, str(body))
    error = body.get("error") or body
    if not isinstance(error, dict):
        return Refusal(status, str(error))
    code = error.get("code") or error.get("type") or ""
    kind = error.get("type") or error.get("status") or ""
    if status is None and str(code).isdecimal() and 400 <= int(code) < 600:
        status = int(code)
    elif status is None:
        status = KINDS.get(str(kind))
    return Refusal(status, _message(error), f"{code} {kind}".strip(), _wait(error.get("details")))


def fault(who: str, said: Refusal, retry_after: float | None = None) -> ProviderError:
    """The error for a refusal. `who` begins the sentence: a service and where it is."""
    status, told = said.status, f"{said.message} {said.code}"
    reason = (said.message or said.code or "no reason given").rstrip(". ")
    sentence = f"{who} answered {status or 'with an error'}: {reason}."
    if status in (401, 403) or (status in (None, 400) and BAD_KEY.search(told)):
        return ProviderAuthFailed(f"{sentence} Check the API key, or run `acp-adapter setup`.")
    if status == 402 or (status in (None, 429) and said.wait is None and SPENT.search(told)):
        return ProviderRejected(f"{sentence} The account has no credit left; trying again won't help.")
    if status == 413 or (status in (None, 400, 422, 500) and TOO_LONG.search(told)):
        return ContextTooLong(sentence, _limit(told))
    if status in OVERLOADED or (status is None and OVERLOADED_CODES.search(told)):
        return ProviderOverloaded(sentence, said.wait if retry_after is None else retry_after)
    if status is None or status >= 500:
        return ProviderFault(sentence)
    if status == 404:
        sentence += " Another model is chosen with ACP_ADAPTER_MODEL=provider:model or `model` in config.toml."
    return ProviderRejected(sentence)


def _limit(told: str) -> int | None:
    found = LIMIT.search(told)
    return int(next(filter(None, found.groups()))) if found else None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait as the server asked for, None where it did not. Needs lower-case or case-blind headers."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _seconds(float(milliseconds) / 1000)
        asked = headers.get("retry-after", "").strip()
        if not asked or asked[0].isdigit():
            return _seconds(float(asked)) if asked else None
        date = parsedate_to_datetime(asked).timestamp()
        return _seconds(date - (time.time() if now is None else now))
    except ValueError:
        return None


def masked(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of the secrets, and without anything that looks like an API key.

    What is shorter than six characters is no secret but a word that the text may well need.
    """
    for secret in secrets:
        text = text.replace(secret, "***") if len(secret) >= 6 else text
    return re.sub(r"\b(sk|gsk|xai|pk)-[A-Za-z0-9_-]{12,}", r"\1-***", text)


def _seconds(value: float) -> float | None:
    return max(value, 0.0) if math.isfinite(value) else None


def _wait(details: Any) -> float | None:
    """Google's `RetryInfo` (google/rpc/error_details.proto), whose `retryDelay` is seconds such as `32.5s`."""
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("RetryInfo"):
            found = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay", "")))
            return float(found[1]) if found else None
    return None


def _message(error: dict[str, Any]) -> str:
    said = error.get("message") or error.get("detail") or error.get("msg") or ""
    if isinstance(said, list):
        said = "; ".join(map(_item, said))
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{said} ({raw})" if raw else str(said)


def _item(item: Any) -> str:
    """One entry of a validation error: where, and what."""
    if not isinstance(item, dict):
        return str(item)
    place = item.get("loc")
    return (".".join(map(str, place)) + ": " if isinstance(place, list) else "") + str(item.get("msg", item))


def _plain(text: str) -> str:
    """The words of an answer that is no JSON: a page is cut to its text."""
    return " ".join(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.S | re.I).split())
