"""One settings file of one editor: read, changed, changed back. Only `write` and `take_back` write anything."""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from acp_adapter.cli.editors.catalogue import EDITORS
from acp_adapter.cli.editors.forms import Form, Started
from acp_adapter.cli.editors.jsonc import NotJsonc
from acp_adapter.cli.editors.receipts import Edit, Receipts
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, ToolError
from acp_adapter.tools import disk
from acp_adapter.tools.text import Text


class SettingsFault(AcpAdapterError):
    """A settings file that can't be read, understood or written; it is as it was."""


@frozen
class Settings:
    """What an editor's settings file says now; `file` is None where there is none."""

    path: Path
    form: Form
    file: Text | None

    @classmethod
    def read(cls, name: str, path: Path) -> Settings:
        """Raises SettingsFault."""
        form = EDITORS[name].form
        assert form is not None, f"{name} has no settings that can be written"
        return cls(path, form, _file(path))

    @property
    def text(self) -> str:
        return self.file.text if self.file else ""

    def started(self) -> Started | None:
        """What it says of this agent. Raises SettingsFault."""
        try:
            return self.form.started(self.text)
        except NotJsonc as fault:
            raise self._not_understood(fault) from None

    def added(self, command: Sequence[str]) -> Change | None:
        """The change after which the editor starts this command; None where it does already. Raises SettingsFault."""
        try:
            after = self.form.with_agent(self.text, command)
        except NotJsonc as fault:
            raise self._not_understood(fault) from None
        return None if after == self.text else Change(self, after)

    def removed(self, receipts: Receipts) -> Change | None:
        """The change that takes back what setup wrote, or else the entry that is there. Raises SettingsFault."""
        try:
            if (before := self._before(receipts)) is not None:
                return before
            after = self.form.without_agent(self.text)
        except NotJsonc as fault:
            raise self._not_understood(fault) from None
        return None if after == self.text else Change(self, after)

    def _before(self, receipts: Receipts) -> Change | None:
        """By the receipt, to the byte; None where it would change more than what is said of this agent."""
        receipt = receipts.of(self.path)
        text = receipt.undone(self.text) if self.file and receipt else None
        if receipt is None or text is None or text == self.text or self.form.rest(text) != self.form.rest(self.text):
            return None
        return Change(self, None if receipt.created and not text else text)

    def _not_understood(self, fault: NotJsonc) -> SettingsFault:
        return SettingsFault(f"{self.path} can't be changed safely: {fault}. It was left as it is.")


@frozen
class Change:
    """A settings file as it is and as it is to be; `after` is None for a file that is to go."""

    settings: Settings
    after: str | None

    def diff(self) -> list[str]:
        """The lines of a unified diff."""
        path = str(self.settings.path)
        before, after = self.settings.text.splitlines(), (self.after or "").splitlines()
        return list(difflib.unified_diff(before, after, path, path, lineterm=""))

    def write(self, config: Config) -> Path | None:
        """Write it and keep a receipt; where a copy of the file as it was is, None for a new file.

        Raises SettingsFault where the file has changed since it was read, or something can't be written.
        """
        edit = Edit.between(self.settings.text, self.after or "")
        with _told():
            kept = self._keep(config)
            self._replace()
            Receipts(config).add(self.settings.path, edit, created=self.settings.file is None)
        return kept

    def take_back(self, config: Config) -> Path | None:
        """Write it and forget the receipt; where a copy of the file as it was is. Raises SettingsFault."""
        with _told():
            kept = self._keep(config)
            self._replace()
            Receipts(config).drop(self.settings.path)
        return kept

    def _replace(self) -> None:
        path = self.settings.path
        if _file(path) != self.settings.file:
            raise SettingsFault(f"{path} was changed by another program just now. Nothing was written; try again.")
        target = Path(os.path.realpath(path))
        if self.after is None:
            disk.delete(target)
        else:
            disk.write(target, (self.settings.file or Text("")).saying(self.after).encode())

    def _keep(self, config: Config) -> Path | None:
        """A copy in the private home: settings can hold keys."""
        if self.settings.file is None:
            return None
        folder = config.make_home() / "backups"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = self.settings.path
        kept = folder / f"{path.parent.name}-{path.name}.{time.time_ns()}"
        with open(kept, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as copy:
            copy.write(self.settings.file.encode())
        return kept


@contextmanager
def _told() -> Iterator[None]:
    """Whatever can't be written is a sentence."""
    try:
        yield
    except ToolError as fault:
        raise SettingsFault(fault.message) from fault
    except OSError as fault:
        raise SettingsFault(f"{fault.filename or 'A file'} can't be written: {fault.strerror or fault}.") from fault


def _file(path: Path) -> Text | None:
    try:
        return disk.read(Path(os.path.realpath(path)))
    except ToolError as fault:
        raise SettingsFault(f"{fault.message} It was left as it is.") from fault
