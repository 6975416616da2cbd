"""Against a daemon with a pilot, that of DIVVY_SERVER; go test -tags python -run TestPython ./internal/e2e starts them."""

import asyncio
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from typing import List

import divvy

from . import calls

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


@unittest.skipUnless(os.environ.get("DIVVY_SERVER"), "needs a daemon: DIVVY_SERVER")
class TestDaemon(unittest.TestCase):
    def setUp(self) -> None:
        self.client = divvy.Client()

    def pool(self, **options: object) -> divvy.Executor:
        pool = divvy.Executor(self.client, label="user", **options)  # type: ignore[arg-type]
        self.addCleanup(pool.shutdown, cancel_futures=True)
        return pool

    def test_commands(self) -> None:
        jobs = self.client.run("echo piece {{.Index}}", count=3, label="user")
        self.assertEqual([job.log() for job in jobs], ["piece 0\n", "piece 1\n", "piece 2\n"])
        with tempfile.NamedTemporaryFile("w") as file:
            print('echo "{\\"name\\": \\"$1\\"}" >$DIVVY_OUTPUTS', file=file, flush=True)
            task = self.client.map(["sh", file.name, "{{.Input}}"], ["a", "b"], label="user")
            self.assertEqual([job.outputs for job in task.result(60)], [{"name": "a"}, {"name": "b"}])
        self.assertEqual(self.client.task(task.id).state, "done")
        self.assertIn(task.id, [t.id for t in self.client.tasks(label="user", order="newest")])

    def test_command_fails(self) -> None:
        with self.assertRaises(divvy.JobFailed) as caught:
            self.client.run(["sh", "-c", "echo oops >&2; exit 3"], max_attempts=1, label="user")
        err = caught.exception
        self.assertEqual((err.exit_code, err.state, err.log), (3, "failed", "oops\n"))
        self.assertIn("exit code 3\n  | oops", str(err))

    def test_wait_gives_up_and_kill(self) -> None:
        task = self.client.submit("sleep 600", label="user")
        with self.assertRaises(TimeoutError):
            task.wait(0.3)
        task.kill()  # a job that runs hears of it at its pilot's next renewal
        self.assertIn(task.refresh().state, ("aborting", "aborted"))

    def test_same_key_same_task(self) -> None:
        tasks = [self.client.submit("true", key=f"twice-{os.getpid()}", label="user") for _ in range(2)]
        self.assertEqual(tasks[0].id, tasks[1].id)

    def test_nowhere(self) -> None:
        with self.assertRaises(divvy.Problem):
            self.client.submit("true", strict=True, requirements={"cores": 9999})
        self.assertIsInstance(self.pool(requirements={"cores": 9999}).submit(calls.square, 1).exception(60), divvy.Problem)

    def test_futures(self) -> None:
        with self.pool() as pool:
            futures = [pool.submit(calls.square, i) for i in range(30)]
            self.assertEqual([f.result(120) for f in futures], [i * i for i in range(30)])
            self.assertEqual(list(pool.map(calls.square, range(10), chunksize=4, timeout=60)), [i * i for i in range(10)])
            done, not_done = concurrent.futures.wait([pool.submit(calls.rest, 0.1), pool.submit(calls.rest, 0.2)], 60)
            self.assertEqual((sorted(f.result() for f in done), not_done), ([0.1, 0.2], set()))
            self.assertEqual({f.result() for f in concurrent.futures.as_completed([pool.submit(calls.square, 2)])}, {4})

    def test_a_thousand_futures_are_few_tasks(self) -> None:
        name, before = "square", max([t.id for t in self.client.tasks(label="user")], default=0)
        n = int(os.environ.get("DIVVY_FUTURES", "40"))
        with self.pool() as pool:
            self.assertEqual(sum(pool.map(calls.square, range(n))), sum(i * i for i in range(n)))
        tasks = [t for t in self.client.tasks(label="user") if t.id > before and t.data["name"] == name]
        self.assertLess(len(tasks), 10)

    def test_exceptions(self) -> None:
        pool = self.pool()
        raised, odd, left = pool.submit(calls.fail, 7), pool.submit(calls.odd), pool.submit(calls.leave, 5)
        with self.assertRaises(ValueError) as caught:
            raised.result(60)
        self.assertEqual(caught.exception.args, ("no such piece", 7))
        self.assertIsInstance(caught.exception.__cause__, divvy.RemoteTraceback)
        self.assertRegex(str(caught.exception.__cause__), r"calls\.py.*in fail")
        self.assertIsInstance(odd.exception(60), divvy.RemoteError)
        err = left.exception(60)
        assert isinstance(err, divvy.JobFailed)
        self.assertEqual((err.exit_code, err.log), (5, "leaving\n"))
        with self.assertRaises(ValueError):
            list(pool.map(calls.fail, [1, 2]))

    def test_no_interpreter(self) -> None:
        err = self.pool(python="/no/python").submit(calls.square, 1).exception(60)
        self.assertIsInstance(err, divvy.JobFailed)
        self.assertIn("cannot start", str(err))

    def test_cancel(self) -> None:
        pool = self.pool()
        futures = [pool.submit(calls.rest, 600) for _ in range(2)]
        called: List[bool] = []
        futures[0].add_done_callback(lambda f: called.append(f.cancelled()))
        self.assertTrue(futures[0].cancel())
        self.assertTrue(futures[0].cancelled() and futures[0].done() and called == [True])
        with self.assertRaises(concurrent.futures.TimeoutError):
            futures[1].result(0.1)
        self.assertEqual(len(concurrent.futures.wait(futures, 0.1).done), 1)
        pool.shutdown(cancel_futures=True)
        with self.assertRaises(concurrent.futures.CancelledError):
            futures[1].result()

    def test_cancel_ends_jobs(self) -> None:
        pool = self.pool(name=f"cancelled-{os.getpid()}")
        futures = [pool.submit(calls.rest, 600) for _ in range(2)]
        tasks: List[divvy.Task] = []
        while sum(task.data["jobs"]["total"] for task in tasks) < 2:
            tasks = [t for t in self.client.tasks(label="user", order="newest") if t.data["name"] == f"cancelled-{os.getpid()}"]
        futures[0].cancel()
        while "cancelled" not in [job.state for task in tasks for job in task.jobs()]:  # what runs hears of it at its next renewal
            time.sleep(0.1)
        self.assertFalse(futures[1].done())
        pool.shutdown(cancel_futures=True)
        self.assertLessEqual({task.refresh().state for task in tasks}, {"aborting", "aborted"})

    def test_a_killed_job(self) -> None:
        future = self.pool().submit(calls.rest, 600)
        task = None
        while task is None or not list(task.jobs()):
            task = next((t for t in self.client.tasks(label="user", state="ready,running") if t.data["name"] == "rest"), None)
        next(task.jobs()).kill()
        self.assertRegex(str(future.exception(120)), "cancelled")

    def test_a_killed_task(self) -> None:
        future = self.pool(name="doomed").submit(calls.rest, 600)
        task = None
        while task is None:
            task = next((t for t in self.client.tasks(label="user", state="ready,running") if t.data["name"] == "doomed"), None)
        task.kill()
        self.assertIsInstance(future.exception(120), divvy.JobFailed)

    def test_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.pool(folder=folder) as pool:
                self.assertEqual(len(pool.submit(calls.noise, 300_000).result(60)), 300_000)
                self.assertEqual(pool.submit(len, os.urandom(300_000)).result(60), 300_000)
            self.assertEqual(os.listdir(folder), [])

    def test_asyncio(self) -> None:
        async def main(pool: divvy.Executor) -> List[int]:
            loop = asyncio.get_running_loop()
            both = loop.run_in_executor(pool, calls.square, 3), asyncio.wrap_future(pool.submit(calls.square, 4))
            return list(await asyncio.gather(*both))

        self.assertEqual(asyncio.run(main(self.pool())), [9, 16])

    def test_lambda(self) -> None:
        try:
            import cloudpickle  # noqa: F401
        except ImportError:
            self.skipTest("cloudpickle is not here")
        k = 7
        self.assertEqual(self.pool().submit(lambda x: x + k, 3).result(60), 10)


@unittest.skipUnless(os.environ.get("DIVVY_SERVER"), "needs a daemon: DIVVY_SERVER")
class TestPages(unittest.TestCase):
    """What pages and examples say is so, in an empty folder."""

    def run_script(self, script: str) -> str:
        with tempfile.TemporaryDirectory() as where:
            file = os.path.join(where, "script.py")
            with open(file, "w", encoding="utf-8") as f:
                f.write(script)
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run([sys.executable, file], cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for made in os.listdir(where):
                if made.endswith(".svg"):
                    with open(os.path.join(where, made), encoding="utf-8") as f:
                        self.assertIn("<svg", f.read())
            return done.stdout

    def test_page(self) -> None:
        with open(os.path.join(ROOT, "docs/howto/python.md"), encoding="utf-8") as page:
            blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page.read(), re.S)
        self.assertGreaterEqual(len(blocks), 2)
        for code, says in blocks:
            self.assertEqual(self.run_script(code), says)

    def test_examples(self) -> None:
        folder = os.path.join(ROOT, "docs/examples/python")
        examples = [name for name in os.listdir(folder) if name.endswith(".py")]
        self.assertGreaterEqual(len(examples), 3)
        for name in examples:
            with self.subTest(name), open(os.path.join(folder, name), encoding="utf-8") as file:
                self.assertTrue(self.run_script(file.read()))


if __name__ == "__main__":
    unittest.main()
