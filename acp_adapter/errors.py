"""The exception tree. Each class knows its JSON-RPC code and what the client may see in `data`.

    AcpAdapterError                  -32603
    ├── ParseError                   -32700  not UTF-8, or not JSON
    ├── InvalidParams                -32602  a value that the method can't take
    ├── InvalidRequest               -32600  not a request at all, or at the wrong time
    ├── MethodNotFound               -32601
    ├── SessionNotFound              -32002  data.sessionId; the protocol's "resource not found"
    ├── AuthRequired                 -32000  no model is configured, or its key was refused
    ├── TurnInProgress               -32603  another process is running this session
    ├── LedgerError                  -32603
    │   ├── LedgerUnavailable                busy past its time-out, full disk, read-only, removed
    │   └── LedgerTooNew                     written by a newer schema: readable, not writable
    ├── ClientError                  -32603  the editor refused or did not answer what we asked of it
    ├── ToolError                    -32603  a tool's own failure; the model reads it and goes on
    ├── AgentFailed                  -32603  an agent of the user's own can't be used, or broke down
    ├── BudgetSpent                  -32603  what the user allows a session or a day to use is used up
    └── ProviderError                -32603
        ├── ProviderUnreachable              no connection, or silence past the time-out (retried)
        ├── ProviderOverloaded               429 or 503, with retry_after (retried)
        ├── ProviderFault                    any other 5xx (retried)
        ├── ProviderRejected                 4xx: the request itself is wrong (not retried)
        │   └── ContextTooLong               more tokens than the model's window
        │       └── PromptTooLong            the last message alone is
        ├── ProviderAuthFailed       -32000  401 or 403 (not retried)
        └── BrokenStream                     ended early, empty, or not in its own format

Messages are sentences for a tired person: the fact, then what to do. They never hold keys.
"""

from __future__ import annotations

from typing import Any, ClassVar


class AcpAdapterError(Exception):
    """What this program raises on purpose. `code` is the JSON-RPC error code, `data` what the client may see."""

    code: ClassVar[int] = -32603

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = data


class ParseError(AcpAdapterError):
    code = -32700


class InvalidParams(AcpAdapterError):
    code = -32602


class InvalidRequest(AcpAdapterError):
    code = -32600


class MethodNotFound(AcpAdapterError):
    code = -32601


class SessionNotFound(AcpAdapterError):
    """`data["sessionId"]` holds the id as it was asked for, cut to 200 characters."""

    code = -32002

    def __init__(self, session_id: str) -> None:
        shown = session_id if len(session_id) <= 200 else session_id[:200] + "…"
        super().__init__(f"There is no session {shown!r}.", sessionId=shown)


class AuthRequired(AcpAdapterError):
    code = -32000


class TurnInProgress(AcpAdapterError):
    pass


class LedgerError(AcpAdapterError):
    pass


class LedgerUnavailable(LedgerError):
    pass


class LedgerTooNew(LedgerError):
    pass


class ClientError(AcpAdapterError):
    pass


class ToolError(AcpAdapterError):
    pass


class AgentFailed(AcpAdapterError):
    pass


class BudgetSpent(AcpAdapterError):
    pass


class ProviderError(AcpAdapterError):
    pass


class ProviderUnreachable(ProviderError):
    pass


class ProviderOverloaded(ProviderError):
    """`retry_after` is in seconds, None where the provider did not say."""

    def __init__(self, message: str, retry_after: float | None = None, **data: Any) -> None:
        super().__init__(message, **data)
        self.retry_after = retry_after


class ProviderFault(ProviderError):
    pass


class ProviderRejected(ProviderError):
    pass


class ContextTooLong(ProviderRejected):
    """`limit` is how many tokens the model takes, None where the provider did not say."""

    def __init__(self, message: str, limit: int | None = None, **data: Any) -> None:
        super().__init__(message, **data)
        self.limit = limit


class PromptTooLong(ContextTooLong):
    pass


class ProviderAuthFailed(ProviderError):
    code = -32000


class BrokenStream(ProviderError):
    pass


def in_words(fault: BaseException) -> str:
    """The name of somebody else's exception, and what it says of itself, where it doesn't fail at that too."""
    try:
        said = str(fault)
    except Exception:  # noqa: BLE001  (it is their code)
        said = ""
    return f"{type(fault).__name__}: {said}".rstrip(": ")
