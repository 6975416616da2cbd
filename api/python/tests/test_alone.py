"""What needs no daemon: errors, repeats, packing, and the worker as a job runs it."""

import functools
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, ClassVar, Dict, List, Tuple
from unittest import mock

import divvy
from divvy import _pack, _worker
from divvy.executor import _moment

from . import calls


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers with one after the other of answers, and keeps what was asked."""

    answers: ClassVar[List[Tuple[int, Dict[str, str], str]]] = []
    asked: ClassVar[List[Tuple[str, str, Dict[str, str]]]] = []

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.command, self.path, dict(self.headers)))
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST = _answer

    def log_message(self, *_: Any) -> None:
        pass


class TestCalls(unittest.TestCase):
    def setUp(self) -> None:
        Fake.asked, Fake.answers = [], []
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Fake)
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def client(self, **options: Any) -> divvy.Client:
        return divvy.Client(self.url, **{"token": "secret", **options})

    def test_problem(self) -> None:
        body = {"title": "The request is not valid", "status": 422, "code": "invalid", "detail": "d", "hint": "h", "request_id": "r",
                "errors": [{"location": "body.count", "message": "expected 1 or more", "hint": "say 1"}]}
        Fake.answers = [(422, {"Content-Type": "application/problem+json"}, json.dumps(body))]
        with self.assertRaises(divvy.Problem) as caught:
            self.client().submit("true", count=-1, user="u")
        p = caught.exception
        self.assertEqual((p.status, p.type, p.code, p.detail, p.request_id), (422, "about:blank", "invalid", "d", "r"))
        self.assertEqual(p.errors, [divvy.Fault("body.count", "expected 1 or more", "say 1")])
        self.assertEqual(str(p), "The request is not valid: d (h)\n  body.count: expected 1 or more (say 1)")
        self.assertEqual(Fake.asked[0][2]["Authorization"], "Bearer secret")

    def test_answer_of_a_proxy(self) -> None:
        Fake.answers = [(403, {}, "<html>no")]
        with self.assertRaises(divvy.Problem) as caught:
            self.client().call("GET", "/v1/status")
        self.assertEqual((caught.exception.code, caught.exception.detail), ("http_403", "<html>no"))

    def test_unavailable_is_repeated_as_it_says(self) -> None:
        Fake.answers = [(503, {"Retry-After": "7"}, '{"title": "t"}'), (503, {"Retry-After": "0"}, ""), (200, {}, '{"id": 1, "state": "ready"}')]
        with mock.patch("divvy.client.time.sleep") as sleep:
            task = self.client().submit("true", user="u")
        self.assertEqual((task.id, sleep.call_args_list[0].args[0], len(Fake.asked)), (1, 7, 3))
        self.assertEqual(len({asked[2]["Idempotency-Key"] for asked in Fake.asked}), 1)

    def test_what_may_happen_twice_is_not_repeated(self) -> None:
        Fake.answers = [(503, {}, "")]
        with self.assertRaises(divvy.Problem):
            self.client().call("POST", "/v1/tasks/1/retry")
        Fake.answers = [(503, {}, "")]
        with self.assertRaises(divvy.Problem):
            self.client(patience=0).call("GET", "/v1/status")

    def test_the_token_follows_no_redirect(self) -> None:
        Fake.answers = [(302, {"Location": self.url + "/elsewhere"}, "")]
        with self.assertRaises(divvy.Problem):
            self.client().call("GET", "/v1/status")
        self.assertEqual(len(Fake.asked), 1)

    def test_environment(self) -> None:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("of-file\n")
            file.flush()
            with mock.patch.dict(os.environ, {"DIVVY_SERVER": self.url + "/", "DIVVY_TOKEN_FILE": file.name}):
                os.environ.pop("DIVVY_TOKEN", None)
                Fake.answers = [(200, {}, "{}")]
                divvy.Client().call("GET", "/v1/status")
        self.assertEqual(Fake.asked[0][2]["Authorization"], "Bearer of-file")

    def test_certificates(self) -> None:
        """Both sides show the certificate that both trust."""
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert"), os.path.join(folder, "key")
            made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=x -addext subjectAltName=IP:127.0.0.1"
            subprocess.check_output([*made.split(), "-out", cert, "-keyout", key], stderr=subprocess.DEVNULL)
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=cert)
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(cert, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.url = self.url.replace("http:", "https:")
            Fake.answers = [(200, {}, '{"a": 1}'), (200, {}, '{"a": 2}')]
            self.assertEqual(self.client(ca=cert, cert=cert, cert_key=key).call("GET", "/"), {"a": 1})
            with mock.patch.dict(os.environ, {"DIVVY_CA": cert, "DIVVY_CERT": cert, "DIVVY_CERT_KEY": key}):
                self.assertEqual(self.client().call("GET", "/"), {"a": 2})
            with self.assertRaisesRegex(divvy.Unreachable, "certificate"):
                self.client(patience=0).call("GET", "/")

    def test_nobody_answers(self) -> None:
        with self.assertRaisesRegex(divvy.Unreachable, "no answer from http://127.0.0.1:1"):
            divvy.Client("http://127.0.0.1:1", patience=0).call("GET", "/v1/status")
        with self.assertRaisesRegex(ValueError, "expected a URL"):
            divvy.Client("localhost:8470")

    def test_refused_calls_have_their_problem(self) -> None:
        Fake.answers = [(401, {}, '{"title": "No valid token", "code": "unauthorized"}')]
        with divvy.Executor(self.client(), user="u") as pool:
            self.assertEqual(getattr(pool.submit(calls.square, 3).exception(), "code", ""), "unauthorized")
        with self.assertRaises(RuntimeError):
            pool.submit(calls.square, 3)


class Scripted(divvy.Client):
    """A daemon whose answers a test gives, by what is asked."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        super().__init__("http://127.0.0.1:1", "")
        self.asked: List[Tuple[str, str, Dict[str, Any]]] = []
        self.answer = answer

    def call(self, method: str, path: str, body: Any = None, *, key: str = "", **query: Any) -> Any:
        self.asked.append((method, path, {"key": key, **query}))
        return self.answer(method, path, **query)

    def of(self, *what: str) -> List[Dict[str, Any]]:
        """With what a route was called."""
        return [query for method, path, query in self.asked if (method, path) == what]


TASK = {"id": 1, "state": "ready", "created_at": "2026-01-02T03:04:00Z"}


def row(index: int, state: str, second: int = 0) -> Dict[str, Any]:
    """A job, which has returned its index if it has ended."""
    if state != "finished":
        return {"id": 10 + index, "index": index, "state": state}
    attempt = {"outputs": {"python": {"result": _worker.pack([index])}}}
    return {"id": 10 + index, "index": index, "state": state, "ended_at": f"2026-01-02T03:04:{second:02}Z", "attempts": [attempt]}


def page(*rows: Dict[str, Any], next: str = "") -> Dict[str, Any]:
    return {"items": list(rows), "next": next}


class TestExecutor(unittest.TestCase):
    def pool(self, answer: Callable[..., Any]) -> Tuple[divvy.Executor, Scripted]:
        client = Scripted(answer)
        pool = divvy.Executor(client, user="u")
        self.addCleanup(pool.shutdown, cancel_futures=True)
        return pool, client

    def together(self, pool: divvy.Executor, *numbers: int) -> List[Any]:
        """Calls that are one task, however slow this machine is."""
        all_here = threading.Event()
        with mock.patch("divvy.executor.time.sleep", side_effect=lambda _: all_here.wait(60)):
            futures = [pool.submit(calls.square, n) for n in numbers]
            all_here.set()
        return futures

    def test_cancelled_while_the_task_is_submitted(self) -> None:
        asked, go = threading.Event(), threading.Event()

        def answer(method: str, path: str, **_: Any) -> Any:
            asked.set()
            return TASK if go.wait(60) else None

        pool, client = self.pool(answer)
        future = pool.submit(calls.square, 3)
        asked.wait(60)
        pool.shutdown(wait=False, cancel_futures=True)
        self.assertTrue(future.cancelled())
        go.set()
        pool.shutdown()
        self.assertEqual([what[1] for what in client.asked], ["/v1/tasks", "/v1/tasks/1/kill"])

    def test_an_interrupt_in_the_block_ends_the_task(self) -> None:
        pool, client = self.pool(lambda method, path, **_: TASK if method == "POST" else page())
        with self.assertRaises(KeyboardInterrupt), pool:
            future = self.together(pool, 1)[0]
            while not client.of("GET", "/v1/jobs"):
                time.sleep(0.01)
            raise KeyboardInterrupt
        self.assertTrue(future.cancelled())
        self.assertEqual(len(client.of("POST", "/v1/tasks/1/kill")), 1)

    def test_an_interrupt_at_its_end_ends_the_task(self) -> None:
        pool, client = self.pool(lambda method, path, **_: TASK if method == "POST" else page())
        join, joined = threading.Thread.join, []

        def interrupted(thread: threading.Thread) -> None:
            while not client.of("GET", "/v1/jobs"):
                time.sleep(0.01)
            joined.append(thread)
            if len(joined) == 1:
                raise KeyboardInterrupt
            join(thread)

        with self.assertRaises(KeyboardInterrupt), mock.patch.object(threading.Thread, "join", interrupted), pool:
            future = self.together(pool, 1)[0]
        self.assertTrue(future.cancelled())
        self.assertEqual(len(client.of("POST", "/v1/tasks/1/kill")), 1)

    def test_a_cancelled_call_ends_its_job(self) -> None:
        futures: List[divvy.Future] = []

        def answer(method: str, path: str, ended_after: Any = None, **_: Any) -> Any:
            if path != "/v1/jobs":
                return TASK
            if client.of("POST", "/v1/jobs/10/kill"):
                return page(row(1, "finished"))
            for future in futures[:1]:
                future.cancel()
            return page(*[] if ended_after else [row(0, "leased"), row(1, "leased")])

        pool, client = self.pool(answer)
        futures += self.together(pool, 0, 1)
        self.assertEqual(futures[1].result(60), 1)
        self.assertEqual([path for method, path, _ in client.asked if method == "POST"][:2], ["/v1/tasks", "/v1/jobs/10/kill"])

    def test_a_daemon_that_was_there_comes_back(self) -> None:
        away = iter([False, True, True, False, True, True, False, False])

        def answer(method: str, path: str, **_: Any) -> Any:
            if next(away):
                raise divvy.Unreachable
            return TASK if method == "POST" else page(row(0, "finished"))

        pool, client = self.pool(answer)
        self.assertEqual([pool.submit(calls.square, i).result(60) for i in range(2)], [0, 0])
        keys = [query["key"] for query in client.of("POST", "/v1/tasks")]
        self.assertEqual((len(keys), len(set(keys))), (4, 2))

    def test_what_ends_while_pages_are_read_is_not_missed(self) -> None:
        looks = [page(*(row(i, "finished", 1) for i in range(200)), next="x"), page(row(200, "finished", 9)), page(row(201, "finished", 8))]
        pool, client = self.pool(lambda method, path, **_: TASK if method == "POST" else looks.pop(0))
        self.assertEqual([f.result(60) for f in self.together(pool, *range(202))], list(range(202)))
        self.assertEqual([q["ended_after"][-3:] for q in client.of("GET", "/v1/jobs")], ["00Z", "00Z", "01Z"])


def work(packed: Tuple[str, str, str], where: str) -> Dict[str, Any]:
    """Run a packed call as a pilot would, in a folder; returns what it reports."""
    command = [sys.executable, "-c", _pack.SOURCE, *packed[1:]]
    outputs = os.path.join(where, "outputs.json")
    env = {**os.environ, "DIVVY_OUTPUTS": outputs, "DIVVY_JOB": "1", "DIVVY_ATTEMPT": "1"}
    code = subprocess.run(command, cwd=where, env=env, stderr=subprocess.DEVNULL, check=False).returncode
    with open(outputs, encoding="utf-8") as file:
        said: Dict[str, Any] = json.load(file)["python"]
    assert code == ("traceback" in said), code
    return said


class TestWorker(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_result(self) -> None:
        said = work(_pack.pack(calls.square, [((3,), {}), ((4,), {})], ""), self.folder)
        self.assertEqual(_worker.unpack(said["result"]), [9, 16])

    def test_exception(self) -> None:
        said = work(_pack.pack(calls.fail, [((3,), {})], ""), self.folder)
        err = _worker.unpack(said["error"])
        self.assertEqual((type(err), err.args), (ValueError, ("no such piece", 3)))
        self.assertIn("in fail", said["traceback"])

    def test_exception_that_is_no_pickle(self) -> None:
        said = work(_pack.pack(calls.odd, [((), {})], ""), self.folder)
        self.assertEqual(said["type"], "Odd")
        with self.assertRaises(TypeError):
            _worker.unpack(said["error"])

    def test_large(self) -> None:
        shared = os.path.join(self.folder, "shared")
        os.mkdir(shared)
        with self.assertRaisesRegex(ValueError, "give the Executor a folder="):
            _pack.pack(len, [((os.urandom(5000),), {})], "")
        packed = _pack.pack(len, [((os.urandom(5000),), {})], shared)
        self.assertEqual(_worker.unpack(work(packed, self.folder)["result"]), [5000])
        self.assertIn("give the Executor a folder=", work(_pack.pack(calls.noise, [((50_000,), {})], ""), self.folder)["message"])
        said = work(_pack.pack(calls.noise, [((50_000,), {})], shared), self.folder)
        with open(said["file"], encoding="ascii") as file:
            self.assertEqual(len(_worker.unpack(file.read())[0]), 50_000)

    def test_large_functions_travel_apart(self) -> None:
        packed = _pack.pack(functools.partial(max, [os.urandom(30) for _ in range(200)], key=len), [((), {})], "")
        self.assertEqual((len(packed[2]) < 1000, packed[0]), (True, "max"))
        self.assertEqual(len(_worker.unpack(work(packed, self.folder)["result"])[0]), 30)

    def test_script(self) -> None:
        """A function of a script is found by the script's name; its guard keeps the rest from running."""
        script = os.path.join(self.folder, "script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import divvy._pack as p\np._cloudpickle = None\nclass C: pass\ndef f(x): return C\n"
                       "if __name__ == '__main__':\n    q = p.pack(f, [((1,), {})], '')\n    print(q[1]); print(q[2])\n")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        head, body = subprocess.check_output([sys.executable, script], text=True, env=env).split()
        said = work(("f", head, body), self.folder)
        self.assertIn(b"__mp_main__", __import__("zlib").decompress(__import__("base64").b64decode(said["result"])))
        os.remove(script)
        self.assertIn("is not on this machine", work(("f", head, body), self.folder)["message"])

    def test_what_cannot_be_pickled_is_said(self) -> None:
        with mock.patch.object(_pack, "_cloudpickle", None), self.assertRaisesRegex(TypeError, "need cloudpickle"):
            _pack.pack(lambda: 1, [((), {})], "")

    def test_no_placeholder_in_the_command(self) -> None:
        self.assertNotIn("{{", _pack.SOURCE + _pack.pack(calls.square, [((3,), {})], "")[1])

    def test_moments(self) -> None:
        texts = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.123456Z", "2026-01-02T04:04:06.5+01:00"]
        self.assertEqual(sorted(texts[::-1], key=_moment), texts)


if __name__ == "__main__":
    unittest.main()
