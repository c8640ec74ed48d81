"""pygls' JSON-RPC is loaded without the Language Server Protocol, and harms no language server beside it."""

from __future__ import annotations

import subprocess
import sys

SERVER = """
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol
server = LanguageServer("beside", "1")
assert server.protocol.__class__ is LanguageServerProtocol and issubclass(LanguageServerProtocol, JsonRPCProtocol)
assert types.Position(1, 2).line == 1
"""
AGENT = "import sys, acp_adapter.acp.serve\nfrom acp_adapter.acp import json_rpc\n"


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_an_agent_starts_without_the_language_server_protocol() -> None:
    run(AGENT + "assert not {'lsprotocol', 'lsprotocol.types', 'pygls.protocol'} & set(sys.modules)")


def test_a_language_server_that_comes_later_has_the_real_classes() -> None:
    run(AGENT + SERVER + "assert json_rpc.JsonRPCProtocol is not JsonRPCProtocol")


def test_a_language_server_that_was_there_before_shares_its_own() -> None:
    run(SERVER + AGENT + "assert json_rpc.JsonRPCProtocol is JsonRPCProtocol")


def test_a_pygls_that_can_not_be_loaded_alone_is_imported_whole() -> None:
    lacking = "json_rpc._EmptyClasses = type(sys)\nrpc, exceptions = json_rpc.load()\n"
    run(AGENT + lacking + SERVER + "assert rpc.JsonRPCProtocol is JsonRPCProtocol")
