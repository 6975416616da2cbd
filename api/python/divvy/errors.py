"""What can go wrong: every exception of this package is a DivvyError, except those that a called function raised itself."""

from __future__ import annotations

from typing import Any, NamedTuple


class DivvyError(Exception):
    """The base of this package's exceptions."""

    unavailable = False  # True where the same call may succeed later
    retry_after: float = 0  # seconds until then, where the daemon says so


class Fault(NamedTuple):
    """One thing that is wrong with a request, and where: ``body.requirements.cores``."""

    location: str
    message: str
    hint: str

    def __str__(self) -> str:
        return _sentence(self.location, self.message, self.hint)


class Problem(DivvyError):
    """The daemon refused a call: application/problem+json (RFC 9457). Programs go by ``code`` or ``status``.

    >>> try:
    ...     client.submit(["true"], priority="high")
    ... except divvy.Problem as p:
    ...     print(p.status, p.code, p.errors[0].location)
    422 invalid body.priority
    """

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.type: str = body.get("type", "about:blank")
        self.title: str = body.get("title", f"HTTP status {status}")
        self.detail: str = body.get("detail", "")
        self.code: str = body.get("code", f"http_{status}")
        self.hint: str = body.get("hint", "")
        self.request_id: str = body.get("request_id", "")
        self.errors = [Fault(*(fault.get(name, "") for name in Fault._fields)) for fault in body.get("errors") or []]
        self.retry_after = body.get("retry_after_s", 0)
        self.unavailable = status in (429, 502, 503, 504)

    def __str__(self) -> str:
        return "\n  ".join([_sentence(self.title, self.detail, self.hint), *map(str, self.errors)])


class Unreachable(DivvyError, ConnectionError):
    """No answer came from the daemon."""

    unavailable = True


class JobFailed(DivvyError):
    """A job came to an end without a result: it was killed, could not start, or its command failed.

    ``exit_code`` is None where no process ended; ``log`` is the end of its output.
    """

    def __init__(self, job: int, state: str, exit_code: int | None, message: str, log: str = "") -> None:
        super().__init__(job, state, exit_code, message, log)
        self.job, self.state, self.exit_code, self.message, self.log = job, state, exit_code, message, log

    def __str__(self) -> str:
        what = f"job {self.job} {self.state}" if self.job else self.state
        return "\n  | ".join([_sentence(what, self.message), *self.log.strip().splitlines()[-20:]])


class RemoteError(DivvyError):
    """Stands for an exception of a called function that cannot be pickled, or not be read here."""


class RemoteTraceback(Exception):
    """The cause of an exception that a function raised in its job: the traceback there."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _sentence(subject: str, said: str, hint: str = "") -> str:
    return ": ".join(filter(None, (subject, said))) + (f" ({hint})" if hint else "")
