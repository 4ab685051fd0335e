"""What may be used to reach providers, and the login of the Codex CLI, which is only ever read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

CODEX_TOKEN = "GEODE_CODEX_TOKEN"  # noqa: S105 - a variable's name
CODEX_ACCOUNT = "GEODE_CODEX_ACCOUNT"
"""The account of a token that does not name it itself."""
Consent: TypeAlias = Literal["ask", "yes", "no"]
_CLAIM = "https://api.openai.com/auth"


class NoProvider(Exception):
    """No provider can be had as asked: one line that says what is missing and what to do."""


class Access(msgspec.Struct, frozen=True):
    """Keys from the environment, and what the person's settings add.

    ``local_url`` is the base URL of an OpenAI-compatible endpoint of their own, ``codex_login`` whether the Codex
    CLI's own login may be read.
    """

    environment: Mapping[str, str]
    local_url: str = ""
    codex_login: Consent = "ask"

    def get(self, *names: str) -> str:
        """The first of these variables that is set; empty where none is."""
        return next((value for name in names if (value := self.environment.get(name, "").strip())), "")


class CodexLogin(msgspec.Struct, frozen=True):
    """A token of the Codex subscription. ``expires`` in epoch seconds, None where the token does not say."""

    token: str
    account: str = ""
    expires: float | None = None


def codex_file(access: Access) -> Path:
    """Where the Codex CLI keeps its login."""
    home = access.get("CODEX_HOME")
    return Path(home) / "auth.json" if home else Path(access.get("HOME") or Path.home()) / ".codex" / "auth.json"


def codex_login(access: Access, now: float) -> CodexLogin:
    """The login that a Codex run uses: the variable, else the CLI's file where the person allowed it.

    Nothing is refreshed and nothing is written. Raises `NoProvider`, also for a token that expired before ``now``
    (epoch seconds).
    """
    token, where, account = access.get(CODEX_TOKEN), f"the token in {CODEX_TOKEN}", access.get(CODEX_ACCOUNT)
    if not token:
        file = codex_file(access)
        if access.codex_login != "yes":
            raise NoProvider(
                f"the Codex subscription needs a token in {CODEX_TOKEN}, or your leave to read the Codex CLI's login:"
                " geode-tui config set codex_login yes"
            )
        token, account = _read(file)
        where = f"the login in {file}"
    claims = _claims(token)
    expires = claims.get("exp")
    login = CodexLogin(token, account or _account(claims), expires if isinstance(expires, int | float) else None)
    if login.expires is not None and login.expires <= now:
        at = datetime.fromtimestamp(login.expires, tz=UTC)
        raise NoProvider(f"{where} expired at {at:%Y-%m-%d %H:%M} UTC: log in with the Codex CLI again (codex login)")
    return login


def _read(file: Path) -> tuple[str, str]:
    """(token, account id) of the CLI's file."""
    try:
        body = msgspec.json.decode(file.read_bytes())
        tokens = body["tokens"]
        token, account = tokens["access_token"], tokens.get("account_id") or ""
    except OSError as error:
        raise NoProvider(
            f"the Codex CLI's login cannot be read ({error.strerror}: {file}): codex login makes it"
        ) from error
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise NoProvider(f"{file} holds no login of a subscription: codex login makes one") from error
    if not isinstance(token, str) or not isinstance(account, str) or not token:
        raise NoProvider(f"{file} holds no login of a subscription: codex login makes one")
    return token, account


def _claims(token: str) -> dict[str, Any]:
    """What a JWT says of itself, unverified; nothing for any other token."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _account(claims: Mapping[str, Any]) -> str:
    inner = claims.get(_CLAIM)
    account = inner.get("chatgpt_account_id") if isinstance(inner, dict) else None
    return account if isinstance(account, str) else ""
