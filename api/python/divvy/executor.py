"""Calls of Python functions as jobs: a concurrent.futures.Executor."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import itertools
import os
import re
import shutil
import sys
import threading
import time
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, TypeVar

from ._pack import SOURCE, pack
from ._worker import unpack
from .client import PAGE, Client, Job, Task
from .errors import DivvyError, JobFailed, RemoteError, RemoteTraceback

_T = TypeVar("_T")
_MOST_CALLS = 2000  # of one task: with 4000 bytes each they fit into a body, which has 8 MiB


class Future(concurrent.futures.Future[Any]):
    """The result to come of a call. ``cancel`` also ends a job that runs."""

    def __init__(self, call: tuple[str, str, str], single: bool, wake: threading.Event) -> None:
        super().__init__()
        self._name, self._head, self._body = call
        self._file = self._body[1:] if self._body.startswith("@") else ""
        self._single, self._wake = single, wake
        self._undecided = threading.Lock()  # who acquires it says how the future ends; it is never released

    def cancel(self) -> bool:
        """End the call, wherever it is."""
        if self._undecided.acquire(blocking=False):
            super().cancel()
            self.set_running_or_notify_cancel()
            self._wake.set()
        return self.cancelled()

    def _end(self, value: Any = None, error: BaseException | None = None) -> None:
        if self._undecided.acquire(blocking=False):
            self.set_running_or_notify_cancel()
            if error is not None:
                self.set_exception(error)
            else:
                self.set_result(value[0] if self._single else value)


class _Batch:
    """Calls that are one task, until each has its end."""

    def __init__(self, client: Client, futures: list[Future], python: str, options: dict[str, Any]) -> None:
        command = [python, "-c", SOURCE, futures[0]._head, "{{.Input}}"]
        options = {"name": futures[0]._name, "max_failures": 1, "strict": True, **options, "inputs": [f._body for f in futures]}
        self.submit = functools.partial(client.submit, command, **{**options, "key": uuid.uuid4().hex})
        self.task: Task | None = None
        self.futures = dict(enumerate(futures))  # those without an end, by piece
        self.killed: set[int] = set()
        self.since = ""  # up to here the ends of jobs are known
        self.changed = self.looked = time.monotonic()  # when there was something new, and when all jobs were looked at

    def attend(self) -> None:
        """Submit the task, or look what has ended of it. It is killed when no call is left that was not cancelled."""
        cancelled = {piece for piece, future in self.futures.items() if future.cancelled()}
        if len(cancelled) == len(self.futures):
            if self.task:
                self.task.kill()
            self.futures.clear()
        elif self.task is None:
            self.task = self.submit()
            self.since = self.task.data["created_at"]
        else:
            self._look(self.task, cancelled)

    def _look(self, task: Task, cancelled: set[int]) -> None:
        """Take what has ended since the last look. Look at all jobs to kill those of cancelled calls, and when long nothing was new:
        the database's clock may have been set back, or the task ended before it had all of its jobs."""
        now = time.monotonic()
        anew = not cancelled <= self.killed or now > max(self.changed, self.looked) + 5
        if anew:
            self.killed, self.looked = cancelled, now
            task.refresh()
        newest = self.since
        for n, job in enumerate(task.jobs() if anew else task.jobs(ended_after=self.since)):
            if job.over:
                if n < PAGE:  # what ends after the first page is read comes with the next look
                    newest = max(newest, job.data["ended_at"], key=_moment)
                future = self.futures.pop(job.index, None)
                if future:
                    self.changed = now
                    _settle(future, job)
            elif job.index in cancelled:
                job.kill()
        self.since = newest
        if task.over and self.futures:
            raise JobFailed(0, f"task {task.id} {task.state}", None, task.data.get("reason") or "it ended before this call ran")


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs, with the interpreter of the caller: a concurrent.futures.Executor.

    >>> with divvy.Executor(label="user", requirements={"cores": 2}) as pool:
    ...     print(pool.submit(pow, 2, 10).result(), list(pool.map(math.sqrt, [1, 4, 9])))
    1024 [1.0, 2.0, 3.0]

    Options are the keys of a task file. Calls that come together are one task. ``folder`` is one that the pilots see under the same
    name: arguments above 3 KiB and results above 40 KiB (pickled and packed) go through files in it. ``python`` is the interpreter of
    the jobs, which must find there what the function imports; ``sys.path`` of the caller is searched first.

    A function of a module or of a script with ``if __name__ == "__main__":`` is found by name, the script is imported anew in each job.
    Lambdas, nested functions and those of an interactive session need cloudpickle. Results are pickles: use a daemon that you trust.

    An exception of the function comes back as itself, with the traceback as its cause; ``max_failures`` is how often it may come. A job
    that was killed or could not start is a JobFailed. A lost job runs again: see ``max_attempts``. Ctrl-C in ``with`` ends the jobs.
    """

    def __init__(self, client: Client | None = None, *, folder: str | None = None, python: str | None = None, **options: Any) -> None:
        self._client = client or Client()
        self._folder = os.path.join(os.path.abspath(folder), f"divvy-{uuid.uuid4().hex[:12]}") if folder else ""
        if folder:
            os.makedirs(self._folder, mode=0o700)
        self._python, self._options = python or sys.executable, options
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._queue: list[Future] = []
        self._batches: list[_Batch] = []
        self._thread: threading.Thread | None = None
        self._shut = False
        self._met = False  # the daemon took a task

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[_T]:
        """Call ``fn(*args, **kwargs)`` in a job."""
        return self._add(fn, [(args, kwargs)], single=True)

    def map(self, fn: Callable[..., _T], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1) -> Iterator[_T]:
        """Call ``fn`` with the elements of the iterables; results come in their order. ``chunksize`` calls are one job: choose it such
        that a job takes some seconds or more."""
        if chunksize < 1:
            raise ValueError("chunksize: expected 1 or more")
        until = None if timeout is None else time.monotonic() + timeout
        calls: Iterator[Any] = ((args, {}) for args in zip(*iterables))
        futures: list[Future] = []
        while chunk := list(itertools.islice(calls, chunksize)):
            futures.append(self._add(fn, chunk, single=False))

        def results() -> Iterator[_T]:
            try:
                while futures:
                    yield from futures.pop(0).result(None if until is None else until - time.monotonic())
            finally:  # when the caller stops, or one failed
                for future in futures:
                    future.cancel()

        return results()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and wait for those there are, or cancel them."""
        with self._lock:
            self._shut, thread = True, self._thread
            futures = [*self._queue, *(future for batch in self._batches for future in list(batch.futures.values()))]
        for future in futures if cancel_futures else []:
            future.cancel()
        self._wake.set()
        if thread is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        elif wait and thread is not threading.current_thread():
            thread.join()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            self.shutdown(cancel_futures=kind is not None and issubclass(kind, KeyboardInterrupt))
        except KeyboardInterrupt:  # while it waited
            self.shutdown(cancel_futures=True)
            raise

    def _add(self, function: Callable[..., Any], calls: list[Any], single: bool) -> Future:
        future = Future(pack(function, calls, self._folder), single, self._wake)
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._queue.append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="divvy-executor")
                self._thread.start()
        self._wake.set()
        return future

    def _run(self) -> None:
        """Submit calls and look for ends, while there are any. The thread is no daemon: a program ends after its calls."""
        while True:
            if self._queue:
                self._gather()
            for batch in self._batches:
                self._attend(batch)
            with self._lock:
                self._batches = [batch for batch in self._batches if batch.futures]
                if not self._queue and not self._batches:
                    self._thread = None
                    break
            quiet = time.monotonic() - max((batch.changed for batch in self._batches), default=0)
            self._wake.wait(min(0.05 + 0.3 * quiet, 1.0))
            self._wake.clear()
        if self._shut:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _gather(self) -> None:
        """Wait while calls come, longer when there are many tasks to follow; then make batches of those with the same head."""
        for _ in range(20):
            seen = len(self._queue)
            time.sleep(min(0.01 * (1 + len(self._batches)), 0.5))
            if len(self._queue) == seen:
                break
        with self._lock:
            alike: dict[tuple[str, int], list[Future]] = {}
            for n, future in enumerate(self._queue):
                if not future.cancelled():
                    alike.setdefault((future._head, n // _MOST_CALLS), []).append(future)
            self._batches += [_Batch(self._client, futures, self._python, self._options) for futures in alike.values()]
            self._queue = []

    def _attend(self, batch: _Batch) -> None:
        """Do what there is to do for a batch. An answer that will not change is that of all its futures."""
        try:
            batch.attend()
            self._met = self._met or batch.task is not None
        except Exception as err:
            if not (self._met and isinstance(err, DivvyError) and err.unavailable):  # a daemon that was there comes back
                for future in batch.futures.values():
                    future._end(error=err)
                batch.futures.clear()


def _settle(future: Future, job: Job) -> None:
    """End a future as its job ended."""
    said: dict[str, Any] = job.outputs.get("python") or {}
    value: Any = None
    error: BaseException | None = None
    try:
        if job.state == "failed" and "traceback" in said:
            error = unpack(said["error"])
        elif job.state == "finished" and said:
            value = unpack(said["result"] if "result" in said else Path(said["file"]).read_text(encoding="ascii"))
        else:
            error = job.failure()
    except Exception as err:  # it could not be pickled, or its class is not known here
        said = {"type": f"the result of job {job.id} cannot be read: {type(err).__name__}", "message": err, **said}
        error = RemoteError(f"{said['type']}: {said['message']}")
    if error is not None and "traceback" in said:
        error.__cause__ = RemoteTraceback(said["traceback"])
    future._end(value, error)
    for file in (said.get("file", ""), future._file):
        with contextlib.suppress(OSError):
            os.remove(file)


def _moment(text: str) -> datetime:
    """A time of the API. Python before 3.11 reads microseconds only if there are six digits."""
    return datetime.fromisoformat(re.sub(r"\.\d+", lambda m: m[0].ljust(7, "0")[:7], text).replace("Z", "+00:00"))
