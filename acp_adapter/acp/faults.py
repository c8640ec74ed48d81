"""Exceptions ↔ the error objects of JSON-RPC (section 5.1; ACP, "Error Handling"). Used by `peer` alone."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any

from lsprotocol.types import ErrorCodes, LSPErrorCodes, ResponseError

from acp_adapter.errors import AcpAdapterError, ClientError

log = logging.getLogger(__name__)


def client_error(error: Any) -> ClientError:
    """The editor's error object as an exception."""
    if not isinstance(error, dict):
        return ClientError("The editor answered with an error that is no object.")
    return ClientError(f"The editor answered with an error: {error.get('message')}", code=error.get("code"))


def response_error(fault: BaseException) -> ResponseError:
    """What the editor may see of a fault. Of a bug that is no more than the number under which it is logged."""
    if isinstance(fault, AcpAdapterError):
        return ResponseError(code=fault.code, message=fault.message, data=fault.data or None)
    if isinstance(fault, asyncio.CancelledError):
        return ResponseError(code=LSPErrorCodes.RequestCancelled, message="The request was cancelled.")
    incident = uuid.uuid4().hex[:8]
    log.error("Internal error, incident %s", incident, exc_info=fault)
    return ResponseError(code=ErrorCodes.InternalError, message="Internal error", data={"incident": incident})
