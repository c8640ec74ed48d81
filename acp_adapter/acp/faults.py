"""Exceptions ↔ the error objects of JSON-RPC (section 5.1; ACP, "Error Handling"). Used by `peer` alone."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any

from acp_adapter.errors import AcpAdapterError, ClientError

ErrorObject = dict[str, Any]
"""`code`, `message`, and `data` where there is any."""

INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800

log = logging.getLogger(__name__)


def client_error(error: Any) -> ClientError:
    """The editor's error object as an exception."""
    if not isinstance(error, dict):
        return ClientError("The editor answered with an error that is no object.")
    return ClientError(f"The editor answered with an error: {error.get('message')}", code=error.get("code"))


def response_error(fault: BaseException) -> ErrorObject:
    """What the editor may see of a fault. Of a bug that is no more than the number under which it is logged."""
    if isinstance(fault, AcpAdapterError):
        data = {"data": fault.data} if fault.data else {}
        return {"code": fault.code, "message": fault.message, **data}
    if isinstance(fault, asyncio.CancelledError):
        return {"code": REQUEST_CANCELLED, "message": "The request was cancelled."}
    incident = uuid.uuid4().hex[:8]
    log.error("Internal error, incident %s", incident, exc_info=fault)
    return {"code": INTERNAL_ERROR, "message": "Internal error", "data": {"incident": incident}}
