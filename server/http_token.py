"""The bearer token of the HTTP transport: from the environment or from a file that its owner alone can read."""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from ..memory.errors import InputError
from .app import Bearer

TOKEN_VARIABLE = "KERNELGUILD_TOKEN"
TOKEN_FILE = "http_token"
MIN_TOKEN_CHARS = 16


class OneToken:
    """Accepts one token, compared in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="bearer", scopes=[])


def bearer(token: str) -> Bearer:
    """Clients must send `Authorization: Bearer TOKEN`; no OAuth metadata is served, since nobody issues tokens."""
    settings = AuthSettings(issuer_url=AnyHttpUrl("http://127.0.0.1"), resource_server_url=None)
    return Bearer(OneToken(token), settings)


def find_token(environ: Mapping[str, str], home: Path) -> str:
    """The token of KERNELGUILD_TOKEN, else of the home's token file, which is made where it is missing.

    A new file's path goes to stderr; the token itself is never shown.

    Raises:
        InputError: the token is too short, or others can read the file.
    """
    if TOKEN_VARIABLE in environ:
        return _checked(environ[TOKEN_VARIABLE], TOKEN_VARIABLE)
    path = home / TOKEN_FILE
    if not path.exists():
        _create(path)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise InputError(f"{path}: mode {mode:o} lets others read the token: chmod 600 it, and delete it if in doubt")
    print(f"kernelguild's bearer token is in {path}", file=sys.stderr)
    return _checked(path.read_text(encoding="utf-8").strip(), str(path))


def _create(path: Path) -> None:
    """Written under another name and linked, so that a server that starts at the same moment reads a whole token."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{TOKEN_FILE}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _checked(token: str, where: str) -> str:
    if len(token) < MIN_TOKEN_CHARS or not token.isascii():
        raise InputError(
            f"{where}: a token has at least {MIN_TOKEN_CHARS} ASCII characters; `openssl rand -hex 32` makes one"
        )
    return token
