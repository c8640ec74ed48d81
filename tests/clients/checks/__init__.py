"""The referee: it sees every frame of every test, both ways, and notes each breach of the protocol.

    referee = Referee(secrets=[KEY])
    connection = referee.connection("first")     # one for each agent process
    connection.sent(line); connection.received(line)
    referee.faults                               # empty, if all rules were kept

Rules: `wire` (JSON-RPC, schema, one answer each), `sessions` (who knows what, when a turn may speak), `calls` (the life
of a tool call), `messages` (message ids), `capabilities` (only what the client offers), `state` (modes and options),
`errors`; `aftermath` looks at what the processes leave behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.clients.checks.calls import ToolCallsLive
from tests.clients.checks.capabilities import OnlyWhatIsOffered, TerminalsAreReleased
from tests.clients.checks.errors import ErrorsSpeakClearly
from tests.clients.checks.messages import MessageIdsAreStable
from tests.clients.checks.rule import Asked
from tests.clients.checks.sessions import KnownSessions, SessionsAreListedWell, TurnsSpeakInTime
from tests.clients.checks.state import ChoicesExist
from tests.clients.checks.wire import Wire


class Referee:
    """One a test. `allow` takes part of a fault's sentence that the test provokes on purpose."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.secrets = [secret.encode() for secret in secrets]
        self._faults: list[str] = []
        self._allowed: list[str] = []
        self._roles: dict[tuple[str, str], str] = {}

    @property
    def faults(self) -> list[str]:
        return [fault for fault in self._faults if not self.is_allowed(fault)]

    def allow(self, part: str) -> None:
        self._allowed.append(part)

    def is_allowed(self, fault: str) -> bool:
        return any(part in fault for part in self._allowed)

    def fault(self, sentence: str) -> None:
        self._faults.append(sentence)

    def connection(self, name: str) -> Connection:
        return Connection(self, name)


class Connection:
    """One agent process: feed it each line in the order in which the client wrote and read it."""

    def __init__(self, referee: Referee, name: str) -> None:
        self._referee = referee
        self._name = name
        rules = [
            KnownSessions(self._fault),
            TurnsSpeakInTime(self._fault),
            SessionsAreListedWell(self._fault),
            ToolCallsLive(self._fault),
            MessageIdsAreStable(self._fault, referee._roles),
            OnlyWhatIsOffered(self._fault),
            TerminalsAreReleased(self._fault),
            ChoicesExist(self._fault),
            ErrorsSpeakClearly(self._fault),
        ]
        self._wire = Wire(self._fault, rules)
        self._frame = 0

    def sent(self, line: bytes) -> None:
        self._frame += 1
        self._wire.sent(line)

    def received(self, line: bytes) -> None:
        self._frame += 1
        for secret in self._referee.secrets:
            if secret in line:
                self._fault("a frame holds a secret")
        self._wire.received(line)

    def unanswered(self) -> list[Asked]:
        return self._wire.unanswered()

    def _fault(self, sentence: str) -> None:
        self._referee.fault(f"{self._name}, frame {self._frame}: {sentence}")
