"""pygls' JSON-RPC without the Language Server Protocol around it.

The ordinary import builds hundreds of lsprotocol's classes, which take as long as all else that a first session waits
for, and which nothing here uses. So pygls' modules are loaded with empty classes in their place. None of them stays in
`sys.modules`: a language server in the same process gets its own, and the real classes. A pygls that can't be loaded
so is imported the ordinary way.
"""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygls.exceptions import JsonRpcMethodNotFound
    from pygls.protocol.json_rpc import (
        JsonRPCNotification,
        JsonRPCProtocol,
        JsonRPCRequestMessage,
        JsonRPCResponseMessage,
    )

__all__ = [
    "JsonRPCNotification",
    "JsonRPCProtocol",
    "JsonRPCRequestMessage",
    "JsonRPCResponseMessage",
    "JsonRpcMethodNotFound",
]

RPC, EXCEPTIONS = "pygls.protocol.json_rpc", "pygls.exceptions"


class _EmptyClasses(ModuleType):
    """A module that has a class of every name."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load() -> tuple[ModuleType, ModuleType]:
    """`RPC` and `EXCEPTIONS`. Where any of pygls or lsprotocol is there already, they are imported to go with it."""
    if not _of_them():
        with contextlib.suppress(ImportError, AttributeError, TypeError):
            return _alone()
    return import_module(RPC), import_module(EXCEPTIONS)


def _alone() -> tuple[ModuleType, ModuleType]:
    pygls = import_module("pygls")
    attributes = set(vars(pygls))
    protocol = ModuleType("pygls.protocol")  # without its __init__, which imports all of a language server
    protocol.__path__ = [f"{folder}/protocol" for folder in pygls.__path__]
    types = _EmptyClasses("lsprotocol.types")
    sys.modules |= {"pygls.protocol": protocol, "lsprotocol": ModuleType("lsprotocol"), "lsprotocol.types": types}
    try:
        return import_module(RPC), import_module(EXCEPTIONS)
    finally:
        for name in _of_them():
            del sys.modules[name]
        for name in set(vars(pygls)) - attributes:
            delattr(pygls, name)


def _of_them() -> list[str]:
    return [name for name in sys.modules if name.startswith(("pygls", "lsprotocol"))]


if not TYPE_CHECKING:
    _rpc, _exceptions = load()
    JsonRPCNotification = _rpc.JsonRPCNotification
    JsonRPCProtocol = _rpc.JsonRPCProtocol
    JsonRPCRequestMessage = _rpc.JsonRPCRequestMessage
    JsonRPCResponseMessage = _rpc.JsonRPCResponseMessage
    JsonRpcMethodNotFound = _exceptions.JsonRpcMethodNotFound
