"""Every secret that the config holds or names, so that it can be taken out of whatever is shown, stored or exported."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from acp_adapter.config import Config
from acp_adapter.providers.services import SERVICES
from acp_adapter.redaction import Redactor, is_secret, secrets_in


def redactor_of(config: Config) -> Redactor:
    return Redactor(secrets_of(config))


def secrets_of(config: Config) -> Iterator[str]:
    """Every secret that the config holds or names: keys, headers, passwords in addresses, variables of services; and
    what looks like one in this program's environment, which a command can read as its parent's."""
    variables = {key for service in SERVICES.values() for key in service.keys}
    for table in config.providers.values():
        variables.add(str(table.get("api_key_env")))
        yield str(table.get("api_key") or "")
        yield urlsplit(str(table.get("base_url") or "")).password or ""
        headers = table.get("headers")
        for name, value in headers.items() if isinstance(headers, dict) else ():
            if name.lower() in ("authorization", "cookie") or is_secret(name.replace("-", "_"), str(value)):
                yield str(value).removeprefix("Bearer ").strip()
    yield from secrets_in(config.environ)
    yield from (config.environ.get(variable, "") for variable in sorted(variables))
