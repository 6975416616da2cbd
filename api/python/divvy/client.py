"""The HTTP API: calls of it, and commands as tasks: submit them, follow them, read what they left."""

from __future__ import annotations

import getpass
import http.client
import json
import os
import random
import shlex
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Sequence, TypeVar

from .errors import DivvyError, JobFailed, Problem, Unreachable

_SPLITS = {"count", "inputs", "inputs_streamed", "events", "matrix", "groups", "roles", "needs"}
PAGE = 200  # jobs, the most with their attempts
_R = TypeVar("_R", bound="_Record")


class Client:
    """A daemon. Without arguments it is the one of the environment, as of the command line: DIVVY_SERVER, DIVVY_TOKEN or
    DIVVY_TOKEN_FILE, DIVVY_CA, DIVVY_CERT, DIVVY_CERT_KEY. While the daemon is away (no answer, or 503) a call is repeated for
    ``patience`` seconds. It is safe for many threads.

    >>> client = divvy.Client("http://127.0.0.1:8470")
    >>> jobs = client.run("echo piece {{.Index}}", count=3, label="user")
    >>> [job.log() for job in jobs]
    ['piece 0\\n', 'piece 1\\n', 'piece 2\\n']
    """

    def __init__(self, server: str | None = None, token: str | None = None, *, patience: float = 30.0,
                 ca: str | None = None, cert: str | None = None, cert_key: str | None = None) -> None:
        env = os.environ.get
        self.server = (server or env("DIVVY_SERVER") or "http://127.0.0.1:8470").rstrip("/")
        self.patience = patience
        url = urllib.parse.urlsplit(self.server)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise ValueError(f"server {self.server!r}: expected a URL such as http://host:8470")
        if token is None:
            token, file = env("DIVVY_TOKEN", "").strip(), env("DIVVY_TOKEN_FILE")
            token = token or (Path(file).read_text(encoding="utf-8").strip() if file else "")
        self._headers = {"User-Agent": "divvy-python", "Accept": "application/json", "Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = "Bearer " + token
        context, cert = None, cert or env("DIVVY_CERT")
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=ca or env("DIVVY_CA"))
            if cert:
                context.load_cert_chain(cert, cert_key or env("DIVVY_CERT_KEY"))
        self._opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))

    def call(self, method: str, path: str, body: Any = None, *, key: str = "", **query: Any) -> Any:
        """Call any route of the HTTP API; the answer is its JSON.

        >>> client.call("GET", "/v1/queues")["items"][0]["name"]
        'HERE'

        What could do something twice is not repeated; with an idempotency ``key`` it cannot.
        """
        asked = {k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items() if v not in (None, "")}
        url = self.server + path + ("?" + urllib.parse.urlencode(asked) if asked else "")
        headers = {**self._headers, "Idempotency-Key": key} if key else self._headers
        request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
        once = not key and method not in ("GET", "PUT") and not path.endswith(("/kill", "/finish"))
        pause, until = 0.1, time.monotonic() + self.patience
        while True:
            try:
                return self._answer(request)
            except DivvyError as err:
                sent = not isinstance(err.__cause__, (ConnectionRefusedError, socket.gaierror))
                wait = max(err.retry_after, pause * random.uniform(0.5, 1))
                if not err.unavailable or (once and sent) or time.monotonic() + wait > until:
                    raise
            time.sleep(wait)
            pause = min(2 * pause, 5.0)

    def _answer(self, request: urllib.request.Request) -> Any:
        """The answer to one try. A proxy before the daemon may answer something else than a problem."""
        try:
            with self._opener.open(request, timeout=70) as answer:  # the daemon takes a minute at the most
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as err:
            with err:
                text = err.read(1 << 20)
            try:
                problem = json.loads(text)
                problem["title"]
            except (ValueError, KeyError, TypeError):
                problem = {"title": f"{err.code} {err.reason}", "detail": text.decode(errors="replace").strip()[:200]}
            after = err.headers.get("Retry-After", "")
            raise Problem(err.code, {"retry_after_s": int(after) if after.isdigit() else 0, **problem}) from None
        except (OSError, http.client.HTTPException, ValueError) as err:
            cause = err.reason if isinstance(err, urllib.error.URLError) and isinstance(err.reason, OSError) else err
            raise Unreachable(f"no answer from {self.server}: {cause} (is the daemon running? see DIVVY_SERVER)") from cause

    def submit(self, command: str | Sequence[str], *, strict: bool = False, key: str | None = None, **options: Any) -> Task:
        """Submit a command as a task. A text is split as a shell would, but no shell runs it.

        The options are the keys of a task file (docs/files.md); without one that splits the work it has one job. ``strict``
        refuses what no queue can run. A repeat with the same ``key`` gets the same task.

        >>> client.submit(["reco", "{{.Input}}"], inputs=["a.root", "b.root"], requirements={"cores": 4, "walltime": "2h"})
        Task(7, 'ready')
        """
        words = shlex.split(command) if isinstance(command, str) else [os.fspath(w) for w in command]
        spec: dict[str, Any] = {"name": os.path.basename(words[0]) if words else "", **options, "command": words}
        spec["user"] = options.get("user") or getpass.getuser()
        if not _SPLITS & spec.keys():
            spec["count"] = 1
        if isinstance(spec.get("matrix"), dict):
            spec["matrix"] = [{"name": name, "values": list(values)} for name, values in spec["matrix"].items()]
        return Task(self, self.call("POST", "/v1/tasks", spec, key=key or uuid.uuid4().hex, strict=strict or None))

    def map(self, command: str | Sequence[str], inputs: Iterable[str], **options: Any) -> Task:
        """Submit a command as a task with a job for each input, which is ``{{.Input}}`` in the command.

        >>> client.map("wc -l {{.Input}}", glob.glob("/data/*.csv")).result()
        """
        return self.submit(command, inputs=[os.fspath(i) for i in inputs], **options)

    def run(self, command: str | Sequence[str], *, timeout: float | None = None, **options: Any) -> List[Job]:
        """Submit a command, wait until it is over, and return its jobs in order, or raise JobFailed."""
        return self.submit(command, **options).result(timeout)

    def task(self, task: int) -> Task:
        """A task by its id."""
        return Task(self, self.call("GET", f"/v1/tasks/{task}"))

    def tasks(self, **filters: Any) -> Iterator[Task]:
        """Tasks by id; filters are ``user``, ``state`` (with commas), ``share``, ``label``, ``order="newest"``."""
        return (Task(self, row) for row in self.list("/v1/tasks", **filters))

    def job(self, job: int) -> Job:
        """A job by its id."""
        return Job(self, self.call("GET", f"/v1/jobs/{job}"))

    def list(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """All items of a list of the HTTP API, page by page."""
        query["after"] = None
        while query["after"] != "":
            page = self.call("GET", path, **query)
            yield from page["items"]
            query["after"] = page["next"]


class _Record:
    """A task or a job, as it was when last looked at."""

    _path: str

    def __init__(self, client: Client, data: dict[str, Any]) -> None:
        self._client = client
        self._read(data)

    def _read(self, data: dict[str, Any]) -> None:
        self.data = data
        self.id: int = data["id"]
        self.state: str = data["state"]
        self.over = bool(data.get("ended_at"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id}, {self.state!r})"

    def refresh(self: _R) -> _R:
        """Look again."""
        self._read(self._client.call("GET", f"{self._path}/{self.id}"))
        return self

    def kill(self) -> None:
        """End it; of a task, its jobs."""
        self._client.call("POST", f"{self._path}/{self.id}/kill")


class Task(_Record):
    """A task, as it was when last looked at: its ``id``; ``state``, such as ready, running, done, finished (some pieces failed),
    failed, aborted; ``over``, whether it has ended; ``data``, all that the daemon says of it."""

    _path = "/v1/tasks"

    def wait(self, timeout: float | None = None) -> Task:
        """Wait until it has ended, however it has; TimeoutError when that takes longer than ``timeout`` seconds."""
        pause, until = 0.1, None if timeout is None else time.monotonic() + timeout
        while not self.refresh().over:
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"task {self.id} is {self.state} after {timeout} s: {self.data['jobs']}")
            time.sleep(pause)
            pause = min(1.3 * pause, 2.0)
        return self

    def jobs(self, state: str | None = None, **filters: Any) -> Iterator[Job]:
        """Its jobs by id, or those in a state, or ``ended_after`` a time, each with its running or last attempt."""
        rows = self._client.list("/v1/jobs", task=self.id, state=state, last_attempt=True, limit=PAGE, **filters)
        return (Job(self._client, row) for row in rows)

    def result(self, timeout: float | None = None) -> list[Job]:
        """Wait until it is done and return its finished jobs in the order of its pieces. JobFailed if one failed."""
        self.wait(timeout)
        jobs = sorted(self.jobs(), key=lambda job: (job.index, job.id))
        if self.state == "done":
            return [job for job in jobs if job.state == "finished"]
        for job in jobs:
            if job.state in ("failed", "cancelled"):
                raise job.failure()
        raise JobFailed(0, f"task {self.id} {self.state}", None, self.data.get("reason", ""))


class Job(_Record):
    """A job, as it was when looked at: its ``id``, ``state``, ``index`` (which piece of the task) and ``inputs``; ``exit_code``,
    ``message`` and ``outputs`` of its last attempt; ``data``, all that the daemon says of it."""

    _path = "/v1/jobs"

    def _read(self, data: dict[str, Any]) -> None:
        super()._read(data)
        self.index: int = data["index"]
        self.inputs: list[str] = data.get("inputs") or []
        last = (data.get("attempts") or [{}])[-1]
        self.exit_code: int | None = last.get("exit_code")
        self.message: str = last.get("message") or ""
        self.outputs: dict[str, Any] = last.get("outputs") or {}

    def log(self, attempt: int | None = None) -> str:
        """The end of the output of its last attempt, or of one by number."""
        return str(self._client.call("GET", f"/v1/jobs/{self.id}/log", attempt=attempt)["tail"])

    def failure(self) -> JobFailed:
        """The exception that says how it failed, with the end of its output."""
        try:
            tail = self.log() if self.data.get("attempts") else ""
        except DivvyError:
            tail = ""  # it is not kept for ever
        return JobFailed(self.id, self.state, self.exit_code, self.message or self.data.get("reason", ""), tail)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token must not go to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None
