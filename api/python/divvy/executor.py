"""Calls of Python functions as jobs: a concurrent.futures.Executor."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import re
import sys
import threading
import time
import uuid
from datetime import datetime
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple, TypeVar

from ._http import is_unavailable
from ._pack import Calls, Packed, pack
from ._worker import unpack
from .client import Client, Job
from .errors import JobFailed, RemoteError, RemoteTraceback

_T = TypeVar("_T")
_MOST_CALLS = 10_000  # of one task
_MOST_BYTES = 6_000_000  # of its inputs; a body has 8 MiB
_MOST_LOGS = 10  # of failed jobs that are read in one look


class Future(concurrent.futures.Future):  # type: ignore[type-arg]
    """The result to come of a call. ``cancel`` also ends a job that runs."""

    def __init__(self, executor: Executor, packed: Packed, single: bool) -> None:
        super().__init__()
        self._executor, self._packed, self._single = executor, packed, single
        self._decided = False

    def _decide(self) -> bool:
        """Whether the caller is the first that decides how the future ends, and so the one that says it."""
        with self._executor._lock:
            decided, self._decided = self._decided, True
        return not decided

    def cancel(self) -> bool:
        """End the call, wherever it is."""
        if not self._decide():
            return bool(self.cancelled())
        super().cancel()
        self.set_running_or_notify_cancel()
        self._executor._wake.set()
        return True

    def _end(self, value: Any = None, error: Optional[BaseException] = None) -> None:
        if not self._decide():
            return
        self.set_running_or_notify_cancel()
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(value[0] if self._single else value)


class _Live:
    """A task that has calls without an end."""

    def __init__(self, client: Client, data: Dict[str, Any], futures: List[Future]) -> None:
        self.client = client
        self.id: int = data["id"]
        self.created: str = data["created_at"]
        self.since = self.created  # up to here the ends of its jobs are known
        self.futures = dict(enumerate(futures))  # those without an end, by piece
        self.killed: Set[int] = set()
        self.quiet = time.monotonic()  # since when nothing was new

    def look(self) -> bool:
        """Take what has ended since the last look; True if there was anything."""
        newest, after, logs = self.since, "", 0
        while True:
            page = self.client.call("GET", "/v1/jobs", task=self.id, ended_after=self.since, last_attempt=True, limit=200, after=after)
            for job in (Job(self.client, row) for row in page["items"]):
                future = self.futures.pop(job.index, None)
                if future is not None:
                    logs += job.state != "finished"
                    _settle(future, job, logs <= _MOST_LOGS)
            if not after:  # what ends after the first page is read comes with the next look
                newest = max([newest, *(row["ended_at"] for row in page["items"])], key=_moment)
            after = page["next"]
            if not after:
                break
        news, self.since = newest != self.since, newest
        if news:
            self.quiet = time.monotonic()
        return news

    def look_anew(self) -> None:
        """Look at all jobs again when long nothing was new: the database's clock may have been set back, or the task ended
        before it had all of its jobs."""
        self.quiet = time.monotonic()
        task = self.client.task(self.id)
        self.since = self.created
        self.look()
        if task.over:
            error = JobFailed(0, f"task {self.id} {task.state}", None, task.data.get("reason") or "it ended before this call ran")
            for future in self.futures.values():
                future._end(error=error)
            self.futures.clear()
        self.killed.clear()  # those that were no jobs yet

    def kill_cancelled(self) -> None:
        """End the jobs of cancelled futures: by their task if nothing else is left of it."""
        cancelled = {i for i, f in self.futures.items() if f.cancelled()}
        if cancelled and len(cancelled) == len(self.futures):
            self.client.call("POST", f"/v1/tasks/{self.id}/kill")
            self.futures.clear()
        elif cancelled - self.killed:
            for state in ("waiting", "ready", "leased"):
                for row in self.client.list("/v1/jobs", task=self.id, state=state, limit=1000):
                    if row["index"] in cancelled - self.killed:
                        self.client.call("POST", f"/v1/jobs/{row['id']}/kill")
            self.killed |= cancelled


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs, with the interpreter of the caller: a concurrent.futures.Executor.

    >>> with divvy.Executor(label="user", requirements={"cores": 2}) as pool:
    ...     future = pool.submit(pow, 2, 10)
    ...     print(future.result(), list(pool.map(math.sqrt, [1, 4, 9])))
    1024 [1.0, 2.0, 3.0]

    Options are the keys of a task file. Calls that come together are one task. ``folder`` is a folder that the pilots see
    under the same name: arguments above 3 KiB and results above 40 KiB (pickled and packed) go through files in it. ``python`` is the
    interpreter of the jobs, which must find there what the function imports; ``sys.path`` of the caller is searched first.

    A function of a module or of a script with ``if __name__ == "__main__":`` is found by name, the script is imported
    anew in each job. Lambdas, nested functions and those of an interactive session need cloudpickle. Results are
    pickles: use a daemon that you trust.

    An exception of the function comes back as itself, with the traceback as its cause, and is not tried again unless there is
    ``max_failures``; a job that was killed or could not start is a JobFailed. A lost job runs again: see ``max_attempts``.
    Ctrl-C inside of ``with`` ends the jobs.
    """

    def __init__(self, client: Optional[Client] = None, *, folder: Optional[str] = None, python: Optional[str] = None, **options: Any) -> None:
        self._client = client or Client()
        self._folder = os.path.join(os.path.abspath(folder), f"divvy-{uuid.uuid4().hex[:12]}") if folder else ""
        if folder:
            os.makedirs(self._folder, mode=0o700)
        self._python = python or sys.executable
        self._options: Dict[str, Any] = {"max_failures": 1, **options}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._queue: List[Future] = []
        self._live: List[_Live] = []
        self._thread: Optional[threading.Thread] = None
        self._shut = False
        self._met = False  # the daemon took a task

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[_T]:
        """Call ``fn(*args, **kwargs)`` in a job."""
        return self._add(fn, [(args, kwargs)], single=True)

    def map(self, fn: Callable[..., _T], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1) -> Iterator[_T]:
        """Call ``fn`` with the elements of the iterables; results come in their order. ``chunksize`` calls are one job: choose
        it such that a job takes some seconds or more."""
        if chunksize < 1:
            raise ValueError("chunksize: expected 1 or more")
        until = None if timeout is None else time.monotonic() + timeout
        calls: Iterator[Any] = iter([(args, {}) for args in zip(*iterables)])
        chunks = iter(lambda: list(itertools.islice(calls, chunksize)), [])
        return _results([self._add(fn, chunk, single=False) for chunk in chunks], until)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and wait for those there are, or cancel them."""
        with self._lock:
            self._shut, thread = True, self._thread
            futures = [*self._queue, *(f for live in self._live for f in live.futures.values())]
        for future in futures if cancel_futures else []:
            future.cancel()
        self._wake.set()
        if wait and thread is not None and thread is not threading.current_thread():
            thread.join()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.shutdown(cancel_futures=kind is not None and issubclass(kind, KeyboardInterrupt))

    def _add(self, function: Callable[..., Any], calls: Calls, single: bool) -> Future:
        future = Future(self, pack(function, calls, self._folder), single)
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._queue.append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="divvy-executor")
                self._thread.start()
            elif len(self._queue) == 1:
                self._wake.set()
        return future

    def _run(self) -> None:
        """Submit calls and look for ends, while there are any. The thread is no daemon: a program ends after its calls."""
        pause = 0.05
        while True:
            with self._lock:
                if not self._queue and not self._live:
                    self._thread = None
                    break
            if self._queue:
                self._gather()
                self._submit()
                pause = 0.05
            if any([self._attend(live) for live in list(self._live)]):
                pause = 0.05
            self._wake.wait(0 if self._queue else pause)
            self._wake.clear()
            pause = min(1.3 * pause, 1.0)
        if self._shut and os.path.isdir(self._folder) and not os.listdir(self._folder):
            os.rmdir(self._folder)

    def _gather(self) -> None:
        """Wait while calls come, so that they are one task; longer when there are many tasks to follow."""
        seen = 0
        for _ in range(20):
            if len(self._queue) == seen:
                return
            seen = len(self._queue)
            time.sleep(min(0.01 * (1 + len(self._live)), 0.5))

    def _attend(self, live: _Live) -> bool:
        """Look what is new of a task. An answer that will not change is that of all its futures."""
        news = False
        try:
            live.kill_cancelled()
            if live.futures:
                news = live.look()
                if time.monotonic() > live.quiet + 5:
                    live.look_anew()
        except Exception as err:
            if is_unavailable(err):
                return False
            for future in live.futures.values():
                future._end(error=err)
            live.futures.clear()
        if not live.futures:
            with self._lock:
                self._live.remove(live)
        return news

    def _submit(self) -> None:
        """Make a task of calls of the queue: those with the head of the first one."""
        size, batch, rest = 0, [], []  # type: Tuple[int, List[Future], List[Future]]
        with self._lock:
            for f in self._queue:
                if f.cancelled():
                    continue
                size += len(f._packed.body)
                fits = not batch or f._packed.head == batch[0]._packed.head and len(batch) < _MOST_CALLS and size < _MOST_BYTES
                (batch if fits else rest).append(f)
            self._queue = rest
        if not batch:
            return
        command, key = batch[0]._packed.command(self._python), uuid.uuid4().hex
        options = {"name": batch[0]._packed.name, **self._options, "inputs": [f._packed.body for f in batch]}
        while True:
            try:
                task = self._client.submit(command, strict=True, key=key, **options)
                break
            except Exception as err:
                if not self._met or not is_unavailable(err) or all(f.cancelled() for f in batch):  # a daemon that was there comes back
                    for f in batch:
                        f._end(error=err)
                    return
        self._met = True
        with self._lock:
            self._live.append(_Live(self._client, task.data, batch))


def _results(futures: List[Future], until: Optional[float]) -> Iterator[Any]:
    """The results in order; what is left when the caller stops, or one failed, is cancelled."""
    futures.reverse()
    try:
        while futures:
            left = None if until is None else until - time.monotonic()
            yield from futures.pop().result(left)
    finally:
        for future in futures:
            future.cancel()


def _settle(future: Future, job: Job, log: bool) -> None:
    """End a future as its job ended."""
    said: Dict[str, Any] = job.outputs.get("python") or {}
    try:
        if job.state == "finished" and ("result" in said or "file" in said):
            future._end(value=unpack(_text(said)))
        elif job.state == "failed" and "traceback" in said:
            future._end(error=_raised(said))
        else:
            future._end(error=job.failure(log))
    except Exception as err:  # a pickle that cannot be read, a log that cannot be had
        future._end(error=RemoteError(f"the result of job {job.id} cannot be read: {type(err).__name__}: {err}"))
    if future._packed.file and os.path.exists(future._packed.file):
        os.remove(future._packed.file)


def _text(said: Dict[str, Any]) -> str:
    if "file" not in said:
        return str(said["result"])
    with open(said["file"], encoding="ascii") as file:
        text = file.read()
    os.remove(said["file"])
    return text


def _raised(said: Dict[str, Any]) -> BaseException:
    try:
        error: BaseException = unpack(said["error"])
    except Exception:  # it cannot be pickled, or its class is not known here
        error = RemoteError(f"{said['type']}: {said['message']}")
    error.__cause__ = RemoteTraceback(said["traceback"])
    return error


def _moment(text: str) -> datetime:
    """A time of the API. Python before 3.11 reads microseconds only if there are six digits."""
    return datetime.fromisoformat(re.sub(r"\.(\d{1,6})\d*", lambda m: "." + m[1].ljust(6, "0"), text).replace("Z", "+00:00"))
