"""What needs no daemon: errors, repeats, packing, and the worker as a job runs it."""

import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, ClassVar, Dict, List, Tuple
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
        with mock.patch("divvy._http.time.sleep") as sleep:
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


def work(packed: _pack.Packed, where: str, python: str = sys.executable) -> Dict[str, Any]:
    """Run a packed call as a pilot would, in a folder; returns what it reports."""
    command = [packed.body if word == "{{.Input}}" else word for word in packed.command(python)]
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
        self.assertNotIn("error", said)

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
        self.assertEqual((len(packed.body) < 1000, packed.name), (True, "max"))
        self.assertEqual(len(_worker.unpack(work(packed, self.folder)["result"])[0]), 30)

    def test_script(self) -> None:
        """A function of a script is found by the script's name; its guard keeps the rest from running."""
        script = os.path.join(self.folder, "script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import divvy._pack as p\np._cloudpickle = None\nclass C: pass\ndef f(x): return C\n"
                       "if __name__ == '__main__':\n    q = p.pack(f, [((1,), {})], '')\n    print(q.head); print(q.body)\n")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        head, body = subprocess.check_output([sys.executable, script], text=True, env=env).split()
        said = work(_pack.Packed("f", head, body), self.folder)
        self.assertIn(b"__mp_main__", __import__("zlib").decompress(__import__("base64").b64decode(said["result"])))
        os.remove(script)
        self.assertIn("is not on this machine", work(_pack.Packed("f", head, body), self.folder)["message"])

    def test_what_cannot_be_pickled_is_said(self) -> None:
        with mock.patch.object(_pack, "_cloudpickle", None), self.assertRaisesRegex(TypeError, "need cloudpickle"):
            _pack.pack(lambda: 1, [((), {})], "")

    def test_no_placeholder_in_the_command(self) -> None:
        command = _pack.pack(calls.square, [((3,), {})], "").command("python3")
        self.assertFalse([word for word in command[:-1] if "{{" in word])

    def test_moments(self) -> None:
        texts = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.123456Z", "2026-01-02T04:04:06.5+01:00"]
        self.assertEqual(sorted(texts[::-1], key=_moment), texts)


if __name__ == "__main__":
    unittest.main()
