"""What can go wrong: every exception of this package is a DivvyError, except those that a called function raised itself."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

__all__ = ["DivvyError", "Fault", "JobFailed", "Problem", "RemoteError", "RemoteTraceback", "Unreachable"]


class DivvyError(Exception):
    """The base of this package's exceptions."""


class Fault(NamedTuple):
    """One thing that is wrong with a request, and where: ``body.requirements.cores``."""

    location: str
    message: str
    hint: str

    def __str__(self) -> str:
        text = f"{self.location}: {self.message}" if self.location else self.message
        return f"{text} ({self.hint})" if self.hint else text


class Problem(DivvyError):
    """The daemon refused a call: application/problem+json (RFC 9457). Programs go by ``code`` or ``status``.

    >>> try:
    ...     client.submit(["true"], priority="high")
    ... except divvy.Problem as p:
    ...     print(p.status, p.code, p.errors[0].location)
    422 invalid body.priority
    """

    def __init__(self, status: int, body: Dict[str, Any]) -> None:
        self.status = status
        self.type: str = body.get("type", "about:blank")
        self.title: str = body.get("title", f"HTTP status {status}")
        self.detail: str = body.get("detail", "")
        self.code: str = body.get("code", f"http_{status}")
        self.hint: str = body.get("hint", "")
        self.request_id: str = body.get("request_id", "")
        self.retry_after: float = body.get("retry_after_s", 0)
        found = body.get("errors") or []
        self.errors: List[Fault] = [Fault(e.get("location", ""), e.get("message", ""), e.get("hint", "")) for e in found]
        super().__init__(status, body)

    def __str__(self) -> str:
        text = f"{self.title}: {self.detail}" if self.detail else self.title
        if self.hint:
            text += f" ({self.hint})"
        return "\n  ".join([text, *map(str, self.errors)])

    @property
    def unavailable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.status in (429, 502, 503, 504)


class Unreachable(DivvyError, ConnectionError):
    """No answer came from the daemon."""


class JobFailed(DivvyError):
    """A job came to an end without a result: it was killed, could not start, or its command failed.

    ``exit_code`` is None where no process ended; ``log`` is the end of its output.
    """

    def __init__(self, job: int, state: str, exit_code: Optional[int], message: str, log: str = "") -> None:
        super().__init__(job, state, exit_code, message, log)
        self.job, self.state, self.exit_code, self.message, self.log = job, state, exit_code, message, log

    def __str__(self) -> str:
        text = f"job {self.job} {self.state}" if self.job else self.state
        if self.message:
            text += f": {self.message}"
        if self.log.strip():
            text += "\n  | " + "\n  | ".join(self.log.strip().splitlines()[-20:])
        return text


class RemoteError(DivvyError):
    """Stands for an exception of a called function that cannot be pickled, or not be read here."""


class RemoteTraceback(Exception):
    """The cause of an exception that a function raised in its job: the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text
