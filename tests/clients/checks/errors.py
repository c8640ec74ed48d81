"""Errors are sentences with a known code; they carry neither tracebacks nor secrets."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.checks.rule import Answer, Asked, Rule

CODES = {-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002}


class ErrorsSpeakClearly(Rule):
    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        error: dict[str, Any] | None = answer.error
        if error is None:
            return
        if error.get("code") not in CODES:
            self.fault(f"{asked.method} is answered with the unknown error code {error.get('code')!r}")
        if not str(error.get("message", "")).strip():
            self.fault(f"{asked.method} is answered with an error that has no message")
        text = json.dumps(error)
        if "Traceback" in text or (", line " in text and 'File \\"' in text):
            self.fault(f"{asked.method} is answered with a traceback")
        if isinstance(error.get("data"), dict) and "incident" in error["data"]:
            self.fault(f"{asked.method} ran into a bug: {error.get('message')} ({error['data']})")
