"""The child process that runs a model: `python -m acp_adapter.providers.local.server`.

It reads one JSON line from stdin (see `Order`), loads the model and serves llama.cpp's HTTP API on a free port of
127.0.0.1. Then it writes one JSON line to stdout: `{"port": n}`, or `{"error": "…"}` before it exits with 1.
Its life hangs on stdin: when the pipe closes, however the parent ended, it exits at once.

Native code writes to file descriptors 1 and 2 as it likes; both lead to the log, and only that one line to the parent.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, TypedDict, cast
from urllib.parse import urlsplit


class Order(TypedDict):
    """What the parent asks for.

    `cache` is a folder for saved prompts; `log` a file, empty for none. After `idle` seconds without a request the
    weights are let go, and loaded again by the next.
    """

    model: str
    context: int
    idle: int
    threads: int
    api_key: str
    cache: str
    log: str


def main() -> int:
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    order = cast(Order, json.loads(line))
    answer = _claim_output(order["log"])
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        server = _serve(order)
    except Exception as fault:  # noqa: BLE001  (native code raises what it likes; the parent makes a sentence of it)
        _say(answer, {"error": f"{type(fault).__name__}: {fault}"})
        return 1
    _say(answer, {"port": urlsplit(server.listening_address).port})
    threading.Event().wait()
    return 0


def _serve(order: Order) -> Any:
    """The running server. It stops when it is collected, so it must be kept."""
    os.environ["OMP_WAIT_POLICY"] = "passive"  # read once, when the library loads: idle threads sleep, not spin
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["api_key"]]
    params.n_ctx = order["context"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = order["threads"]
    params.cpuparams_batch.n_threads = order["threads"]
    params.cache_ram_mib = CONVERSATIONS_MIB
    params.slot_save_path = os.path.join(order["cache"], "")  # noqa: PTH118  (the library wants the slash at the end)
    params.use_jinja = True
    params.sleep_idle_seconds = order["idle"]
    params.warmup = False
    params.ui = False
    return xllamacpp.Server(params)


BATCH = 64
"""Prompt tokens between two looks at whether the request was cancelled."""
CONVERSATIONS_MIB = 256
"""Memory for conversations that wait while another one uses the model."""


def _claim_output(log: str) -> int:
    """A private descriptor to the parent; 1 and 2 lead to the log from now on."""
    answer = os.dup(1)
    noise = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(noise, 1)
    os.dup2(noise, 2)
    os.close(noise)
    return answer


def _say(answer: int, message: dict[str, Any]) -> None:
    os.write(answer, json.dumps(message).encode() + b"\n")


def _exit_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
