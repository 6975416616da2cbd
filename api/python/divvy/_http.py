"""Calls of the HTTP API: JSON, errors, repeats."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Mapping, Optional

from .errors import DivvyError, Problem, Unreachable

_DEFAULT = "http://127.0.0.1:8470"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token must not go to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Http:
    """One daemon, and who asks it. It is safe for many threads."""

    def __init__(self, server: Optional[str], token: Optional[str], tls: Mapping[str, Optional[str]], patience: float) -> None:
        self.server = (server or os.environ.get("DIVVY_SERVER") or _DEFAULT).rstrip("/")
        url = urllib.parse.urlsplit(self.server)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise ValueError(f"server {self.server!r}: expected a URL such as http://host:8470")
        self.patience = patience
        self._token = token if token is not None else _token()
        handlers = [_NoRedirect()]  # type: list[urllib.request.BaseHandler]
        if url.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_context(tls)))
        self._opener = urllib.request.build_opener(*handlers)

    def call(self, method: str, path: str, body: Any = None, query: Optional[Mapping[str, Any]] = None, key: str = "") -> Any:
        """Make a call and return its JSON. It is repeated for ``patience`` seconds while the daemon is away, unless that
        could do something twice; with an idempotency key it cannot."""
        repeat = method in ("GET", "PUT") or bool(key) or path.endswith(("/kill", "/finish"))
        until = time.monotonic() + self.patience
        pause = 0.1
        while True:
            try:
                return self._once(method, path, body, query or {}, key)
            except DivvyError as err:
                sent = not isinstance(err.__cause__, (ConnectionRefusedError, socket.gaierror))
                if not is_unavailable(err) or (sent and not repeat):
                    raise
                wait = max(getattr(err, "retry_after", 0), pause * random.uniform(0.5, 1))
                if time.monotonic() + wait > until:
                    raise
            time.sleep(wait)
            pause = min(2 * pause, 5.0)

    def _once(self, method: str, path: str, body: Any, query: Mapping[str, Any], key: str) -> Any:
        url = self.server + path
        asked = {k: _text(v) for k, v in query.items() if v not in (None, "")}
        if asked:
            url += "?" + urllib.parse.urlencode(asked)
        headers = {"User-Agent": "divvy-python", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        if key:
            headers["Idempotency-Key"] = key
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=70) as answer:  # the daemon takes a minute at the most
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as err:
            with err:
                raise _problem(err) from None
        except (OSError, http.client.HTTPException, ValueError) as err:
            cause = err.reason if isinstance(err, urllib.error.URLError) and isinstance(err.reason, OSError) else err
            raise Unreachable(f"no answer from {self.server}: {cause} (is the daemon running? see DIVVY_SERVER)") from cause


def is_unavailable(err: BaseException) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(err, Unreachable) or isinstance(err, Problem) and err.unavailable


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problem(err: urllib.error.HTTPError) -> Problem:
    """Read an error answer. A proxy before the daemon may answer something else than a problem."""
    text = err.read(1 << 20)
    try:
        body = json.loads(text)
        body["title"]
    except (ValueError, KeyError, TypeError):
        body = {"title": f"{err.code} {err.reason}", "detail": text.decode(errors="replace").strip()[:200]}
    after = err.headers.get("Retry-After", "")
    if after.isdigit():
        body.setdefault("retry_after_s", int(after))
    return Problem(err.code, body)


def _token() -> str:
    """The token of the environment, as the command line finds it."""
    token = os.environ.get("DIVVY_TOKEN", "").strip()
    file = os.environ.get("DIVVY_TOKEN_FILE")
    if not token and file:
        with open(file, encoding="utf-8") as f:
            token = f.read().strip()
    return token


def _context(tls: Mapping[str, Optional[str]]) -> ssl.SSLContext:
    given: Dict[str, Optional[str]] = {k: tls.get(k) or os.environ.get("DIVVY_" + k.upper()) for k in ("ca", "cert", "cert_key")}
    context = ssl.create_default_context(cafile=given["ca"])
    if given["cert"]:
        context.load_cert_chain(given["cert"], given["cert_key"])
    return context
