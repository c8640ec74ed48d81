"""JSON-RPC with the editor, on pygls' JsonRPCProtocol: dispatch in, requests out, and the one error boundary.

pygls gives the feature table, the dispatch by kind of message with a context for each, and the futures of requests.
Written anew here is what it does otherwise than ACP needs: frames are lines, every request gets exactly one answer
whatever is wrong with it, errors show no internals, cancelling is `$/cancel_request`, and ids of the two directions
are kept apart.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast

from acp_adapter.acp import types
from acp_adapter.acp.converter import converter, structure, unstructure
from acp_adapter.acp.envelope import Id, check_envelope, expects_answer, id_of, is_id, is_response
from acp_adapter.acp.faults import ErrorObject, client_error, response_error
from acp_adapter.acp.framing import LineSplitter, TooLong, decode, encode
from acp_adapter.acp.json_rpc import (
    JsonRpcMethodNotFound,
    JsonRPCNotification,
    JsonRPCProtocol,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)
from acp_adapter.acp.outbox import Outbox, TextRun
from acp_adapter.errors import AcpAdapterError, ClientError, InvalidParams, InvalidRequest, MethodNotFound

P = TypeVar("P")
R = TypeVar("R")

Handler = Callable[[Any], Awaitable[Any]]
"""Takes the params as the class that METHODS names (a dict for a method that it does not), gives the result."""

GONE: Final = "The editor has closed the connection."

log = logging.getLogger(__name__)


class Peer(JsonRPCProtocol):
    """One connection. All methods belong to the event loop's thread.

    `client` is what the editor said in `initialize`, None until then: before it, no method of an agent is served.
    """

    def __init__(self) -> None:
        super().__init__(server=cast(Any, None), converter=converter())
        self.outbox = Outbox()
        self.client: types.InitializeRequest | None = None
        self._lines = LineSplitter()
        self._ids = itertools.count(1)
        self._ending = False
        self._closed = False
        self._running: dict[Id, asyncio.Future[Any]] = {}
        self._after: dict[Id, list[Callable[[], None]]] = {}
        self._notified: set[asyncio.Future[Any]] = set()
        self.offer({types.CANCEL_REQUEST: self._cancel})

    def offer(self, handlers: Mapping[str, Handler]) -> None:
        """Serve these methods. Handlers start in the order in which their messages came, and run concurrently.

        What a handler raises becomes the error of its request: an AcpAdapterError as it is, a cancellation as
        -32800, anything else as an internal error whose traceback is only logged.
        """
        for method, handler in handlers.items():
            self.fm.add_builtin_feature(method, handler)

    async def request(self, method: types.Method[P, R], params: P, *, timeout: float | None) -> R:
        """Ask the editor. `timeout` is in seconds, None for as long as the connection lasts.

        Raises ClientError when the editor answers with an error (its code in `data["code"]`) or with something of
        another shape, stays silent, or goes away. Cancelling the caller tells the editor to cancel, too.
        """
        if self._closed:
            raise ClientError(GONE)
        msg_id = next(self._ids)
        answer = self.send_request_async(method, params, cast(Any, msg_id))
        try:
            async with asyncio.timeout(timeout):
                result = await answer
        except TimeoutError:
            self._give_up(msg_id)
            raise ClientError(f"The editor did not answer {method} within {timeout:g} seconds.") from None
        except asyncio.CancelledError:
            self._give_up(msg_id)
            raise
        try:
            # Some editors answer null where the result has no member that must be there.
            return cast(R, structure({} if result is None else result, method.result, "result"))
        except InvalidParams as fault:
            raise ClientError(f"The editor's answer to {method} can't be used: {fault.message}.") from None

    def notify(self, method: str, params: Any | None = None, *, replaceable: bool = False) -> None:
        """Send a notification. Never blocks.

        While the editor reads slowly, text chunks of one message merge, and a `replaceable` tool_call_update
        (one whose content stands for all that came before it) replaces the one that still waits.
        """
        message = {"jsonrpc": self.VERSION, "method": method, "params": unstructure(params)}
        if not isinstance(params, types.SessionNotification):
            self.outbox.put(encode(message))
            return
        update, session = params.update, params.session_id
        if isinstance(update, types.AgentMessageChunk | types.AgentThoughtChunk) and _is_plain_text(update):
            key = (session, type(update), update.message_id)
            self.outbox.put(TextRun(key, message, message["params"]["update"]["content"]), session)
        elif replaceable and isinstance(update, types.ToolCallUpdate):
            self.outbox.put(encode(message), session, (session, update.tool_call_id))
        else:
            self.outbox.put(encode(message), session)

    async def drained(self) -> None:
        """Wait until the editor has been given all that was sent. For who sends much at once."""
        await self.outbox.drained()

    def after_response(self, callback: Callable[[], None]) -> None:
        """Call `callback` directly after the response to the request that is being handled went out.

        It is not called if the response is an error. Outside of a request it is called at once.
        """
        msg_id: Id = self.msg_id
        if msg_id in self._running:
            self._after.setdefault(msg_id, []).append(callback)
        else:
            callback()

    def refuse(self) -> None:
        """Serve nothing new from now on. What runs goes on, and the editor's answers still come in."""
        self._ending = True

    async def settled(self, timeout: float) -> None:
        """Wait until no request of the editor is unanswered, but no longer than `timeout` seconds."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=timeout)

    def close(self) -> None:
        """The connection is over: what is being handled is cancelled, what was asked of the editor fails."""
        self._closed = True
        for task in [*self._running.values(), *self._notified]:
            task.cancel()
        for future in self._request_futures.values():
            future.set_exception(ClientError(GONE))
        self._request_futures.clear()
        self.outbox.close()

    # -- in

    def feed(self, data: bytes) -> None:
        """Handle the lines that these bytes complete. Never raises."""
        for line in self._lines.feed(data):
            self._receive(line)

    def finish(self) -> None:
        """The input is at its end: handle a last line that has no line end, which some scripts send."""
        for line in self._lines.finish():
            self._receive(line)

    def _receive(self, line: bytes | TooLong) -> None:
        data: Any = None
        try:
            data = line.envelope() if isinstance(line, TooLong) else None
            data = decode(line)
            self.handle_message(self.structure_message(data))
        except Exception as fault:  # the error boundary for what no handler has got yet
            if is_response(data):
                self._handle_response(id_of(data), {"error": {"message": str(fault)}})
            elif expects_answer(data):
                self._respond(id_of(data), error=response_error(fault))
            else:
                bug = None if isinstance(fault, AcpAdapterError) else fault
                log.warning("Ignored a message that can't be handled: %s", fault, exc_info=bug)

    def structure_message(self, data: Any) -> Any:
        """The checked message with its params as the class they are. Raises AcpAdapterError."""
        if is_response(data):
            return JsonRPCResponseMessage(data.get("id"), self.VERSION, data)
        check_envelope(data)
        if self._ending:
            raise InvalidRequest("The agent is about to end.")
        method = data["method"]
        self._get_handler(method)
        params = self._params(method, data.get("params"))
        if "id" in data:
            return JsonRPCRequestMessage(data["id"], method, self.VERSION, params)
        return JsonRPCNotification(method, self.VERSION, params)

    def _params(self, method: str, params: Any) -> Any:
        known = types.METHODS.get(method)
        if known and known.side == "agent" and method != types.INITIALIZE and self.client is None:
            raise InvalidRequest(f"{method} came before initialize. Call initialize first.")
        params = {} if params is None else params
        structured = structure(params, known.params, "params") if known else params
        if method == types.INITIALIZE:
            self.client = structured
        return structured

    def _get_handler(self, feature_name: str) -> Handler:
        try:
            return cast(Handler, super()._get_handler(feature_name))
        except JsonRpcMethodNotFound:
            raise MethodNotFound(f"There is no method {feature_name[:200]!r}.") from None

    def _handle_request(self, msg_id: Any, method_name: str, params: Any) -> None:
        if msg_id in self._running:
            raise InvalidRequest(f"A request with the id {msg_id!r} is still running.")
        self._ctx_msg_id.set(msg_id)
        task = asyncio.ensure_future(self._get_handler(method_name)(params))
        self._running[msg_id] = task
        task.add_done_callback(partial(self._send_handler_result, msg_id=msg_id))

    def _handle_notification(self, method_name: str, params: Any) -> None:
        if method_name == types.CANCEL_REQUEST:
            # Looked up at once: it is not meant for a request that comes after it.
            self._handle_cancel_notification(params.request_id)
            return
        known = types.METHODS.get(method_name)
        if known and known.kind == "request":
            raise InvalidRequest(f"{method_name} without an id: its answer would go nowhere")
        task = asyncio.ensure_future(self._get_handler(method_name)(params))
        self._notified.add(task)
        task.add_done_callback(self._check_handler_result)

    def _check_handler_result(self, future: Any) -> None:
        self._notified.discard(future)
        if not future.cancelled() and (fault := future.exception()):
            log.error("A notification could not be handled", exc_info=fault)

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        """`result` is the whole response. One that nobody waits for any more is ignored."""
        future = self._request_futures.pop(msg_id, None) if is_id(msg_id) else None
        if future is None:
            return
        if "error" in result:
            future.set_exception(client_error(result["error"]))
        else:
            future.set_result(result["result"])

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancel after what has come before has begun: a handler that never ran could not say what it undid."""
        if task := self._running.get(msg_id):
            asyncio.get_running_loop().call_soon(task.cancel)

    async def _cancel(self, params: types.CancelRequestNotification) -> None:
        """For an editor that sends it as a request."""
        self._handle_cancel_notification(params.request_id)

    # -- out

    def _give_up(self, msg_id: int) -> None:
        self._request_futures.pop(cast(Any, msg_id), None)
        self.notify(types.CANCEL_REQUEST, types.CancelRequestNotification(msg_id))

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        del self._running[msg_id]
        after = self._after.pop(msg_id, [])
        try:
            self._respond(msg_id, future.result())
        except (Exception, asyncio.CancelledError) as fault:  # noqa: BLE001  (the error boundary)
            self._respond(msg_id, error=response_error(fault))
            return
        for callback in after:
            callback()

    def _respond(self, msg_id: Any, result: Any = None, error: ErrorObject | None = None) -> None:
        answer = {"result": unstructure(result)} if error is None else {"error": error}
        self.outbox.put(encode({"jsonrpc": self.VERSION, "id": msg_id, **answer}))

    def _send_data(self, data: Any) -> None:
        """pygls' way out, for requests."""
        message = {"jsonrpc": self.VERSION, "id": data.id, "method": data.method, "params": unstructure(data.params)}
        self.outbox.put(encode(message))


def _is_plain_text(chunk: types.AgentMessageChunk | types.AgentThoughtChunk) -> bool:
    """Whether a chunk is nothing but a piece of text, which may be joined to the one before it."""
    content = chunk.content
    plain = isinstance(content, types.TextContent) and not (content.annotations or content.meta or content.extra)
    return plain and not (chunk.meta or chunk.extra)
