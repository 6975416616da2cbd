"""Commands as tasks: submit them, follow them, read what they left."""

from __future__ import annotations

import getpass
import os
import shlex
import time
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

from ._http import Http
from .errors import DivvyError, JobFailed

_SPLITS = {"count", "inputs", "inputs_streamed", "events", "matrix", "groups", "roles", "needs"}


class Client:
    """A daemon. Without arguments it is the one of the environment, as of the command line: DIVVY_SERVER, DIVVY_TOKEN or
    DIVVY_TOKEN_FILE, DIVVY_CA, DIVVY_CERT, DIVVY_CERT_KEY.

    >>> client = divvy.Client("http://127.0.0.1:8470")
    >>> jobs = client.run("echo piece {{.Index}}", count=3, label="user")
    >>> [job.log() for job in jobs]
    ['piece 0\\n', 'piece 1\\n', 'piece 2\\n']

    While the daemon is away (no answer, or 503) a call is repeated for ``patience`` seconds.
    """

    def __init__(
        self, server: Optional[str] = None, token: Optional[str] = None, *,
        ca: Optional[str] = None, cert: Optional[str] = None, cert_key: Optional[str] = None, patience: float = 30.0,
    ) -> None:
        self._http = Http(server, token, {"ca": ca, "cert": cert, "cert_key": cert_key}, patience)

    @property
    def server(self) -> str:
        """The daemon's URL."""
        return self._http.server

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call any route of the HTTP API; the answer is its JSON.

        >>> client.call("GET", "/v1/queues")["items"][0]["name"]
        'HERE'
        """
        return self._http.call(method, path, body, query)

    def submit(self, command: Union[str, Sequence[str]], *, strict: bool = False, key: Optional[str] = None, **options: Any) -> Task:
        """Submit a command as a task. A text is split as a shell would, but no shell runs it.

        The options are the keys of a task file (docs/files.md); without one that splits the work it has one job. ``strict``
        refuses what no queue can run. A repeat with the same ``key`` gets the same task.

        >>> client.submit(["reco", "{{.Input}}"], inputs=["a.root", "b.root"], requirements={"cores": 4, "walltime": "2h"})
        Task(7, 'ready')
        """
        words = shlex.split(command) if isinstance(command, str) else [os.fspath(w) for w in command]
        spec: Dict[str, Any] = {"name": os.path.basename(words[0]) if words else "", **options, "command": words}
        spec["user"] = options.get("user") or getpass.getuser()
        if not _SPLITS & spec.keys():
            spec["count"] = 1
        if isinstance(spec.get("matrix"), dict):
            spec["matrix"] = [{"name": name, "values": list(values)} for name, values in spec["matrix"].items()]
        query = {"strict": True} if strict else {}
        return Task(self, self._http.call("POST", "/v1/tasks", spec, query, key or uuid.uuid4().hex))

    def map(self, command: Union[str, Sequence[str]], inputs: Iterable[str], **options: Any) -> Task:
        """Submit a command as a task with a job for each input, which is ``{{.Input}}`` in the command.

        >>> client.map("wc -l {{.Input}}", glob.glob("/data/*.csv")).result()
        """
        return self.submit(command, inputs=[os.fspath(i) for i in inputs], **options)

    def run(self, command: Union[str, Sequence[str]], *, timeout: Optional[float] = None, **options: Any) -> List[Job]:
        """Submit a command, wait until it is over, and return its jobs in order, or raise JobFailed."""
        return self.submit(command, **options).result(timeout)

    def task(self, task: int) -> Task:
        """A task by its id."""
        return Task(self, self.call("GET", f"/v1/tasks/{task}"))

    def tasks(self, **filters: Any) -> Iterator[Task]:
        """Tasks by id; filters are ``user``, ``state`` (with commas), ``share``, ``label``, ``order="newest"``."""
        return (Task(self, t) for t in self.list("/v1/tasks", **filters))

    def job(self, job: int) -> Job:
        """A job by its id."""
        return Job(self, self.call("GET", f"/v1/jobs/{job}"))

    def list(self, path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """All items of a list of the HTTP API, page by page."""
        after = ""
        while True:
            page = self.call("GET", path, **{**query, "after": after})
            yield from page["items"]
            after = page["next"]
            if not after:
                return


class Task:
    """A task, as it was when last looked at. ``data`` has all that the daemon says of it."""

    def __init__(self, client: Client, data: Dict[str, Any]) -> None:
        self._client = client
        self.data = data

    def __repr__(self) -> str:
        return f"Task({self.id}, {self.state!r})"

    @property
    def id(self) -> int:
        """Its id."""
        return int(self.data["id"])

    @property
    def state(self) -> str:
        """Such as ready, running, done, finished (some pieces failed), failed, aborted."""
        return str(self.data["state"])

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return bool(self.data.get("ended_at"))

    def refresh(self) -> Task:
        """Look again."""
        self.data = self._client.call("GET", f"/v1/tasks/{self.id}")
        return self

    def wait(self, timeout: Optional[float] = None) -> Task:
        """Wait until it has ended, however it has; TimeoutError when that takes longer than ``timeout`` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.1
        while not self.refresh().over:
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"task {self.id} is {self.state} after {timeout} s: {self.data['jobs']}")
            time.sleep(pause)
            pause = min(1.3 * pause, 2.0)
        return self

    def jobs(self, state: Optional[str] = None) -> Iterator[Job]:
        """Its jobs by id, or those in a state, each with its running or last attempt."""
        rows = self._client.list("/v1/jobs", task=self.id, state=state, last_attempt=True, limit=200)
        return (Job(self._client, row) for row in rows)

    def result(self, timeout: Optional[float] = None) -> List[Job]:
        """Wait until it is done and return its finished jobs in the order of its pieces. JobFailed if one failed."""
        self.wait(timeout)
        jobs = sorted(self.jobs(), key=lambda j: (j.index, j.id))
        if self.state != "done":
            for job in jobs:
                if job.state in ("failed", "cancelled"):
                    raise job.failure()
            raise JobFailed(0, f"task {self.id} {self.state}", None, self.data.get("reason", ""))
        return [job for job in jobs if job.state == "finished"]

    def kill(self) -> None:
        """End it and its jobs."""
        self._client.call("POST", f"/v1/tasks/{self.id}/kill")


class Job:
    """A job, as it was when looked at: one piece of a task. ``data`` has all that the daemon says of it."""

    def __init__(self, client: Client, data: Dict[str, Any]) -> None:
        self._client = client
        self.data = data
        self.id: int = data["id"]
        self.index: int = data["index"]
        self.state: str = data["state"]
        self.inputs: List[str] = data.get("inputs") or []
        last: Dict[str, Any] = (data.get("attempts") or [{}])[-1]
        self.exit_code: Optional[int] = last.get("exit_code")
        self.message: str = last.get("message") or ""
        self.outputs: Dict[str, Any] = last.get("outputs") or {}

    def __repr__(self) -> str:
        return f"Job({self.id}, {self.state!r})"

    def log(self, attempt: Optional[int] = None) -> str:
        """The end of the output of its last attempt, or of one by number."""
        return str(self._client.call("GET", f"/v1/jobs/{self.id}/log", attempt=attempt)["tail"])

    def kill(self) -> None:
        """End it."""
        self._client.call("POST", f"/v1/jobs/{self.id}/kill")

    def failure(self, log: bool = True) -> JobFailed:
        """The exception that says how it failed, with the end of its output."""
        try:
            tail = self.log() if log and self.data.get("attempts") else ""
        except DivvyError:
            tail = ""  # it is not kept for ever
        return JobFailed(self.id, self.state, self.exit_code, self.message or self.data.get("reason", ""), tail)
