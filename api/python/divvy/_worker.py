"""Runs calls of a function in a job. This source goes with the task (python -c): nothing of divvy need be where pilots are."""

from __future__ import annotations

import os
import sys
import zlib
from binascii import a2b_base64, b2a_base64

try:  # a job that imports less starts sooner
    from _pickle import dumps, loads
except ImportError:
    from pickle import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 40 << 10  # bytes of a result in $DIVVY_OUTPUTS, of which the daemon stores 64 KiB


def encode(data: bytes) -> str:
    return b2a_base64(zlib.compress(data, 1), newline=False).decode()


def pack(value: Any) -> str:
    try:
        return encode(dumps(value))
    except Exception:
        import cloudpickle
        return encode(cloudpickle.dumps(value))


def unpack(text: str) -> Any:
    return loads(zlib.decompress(a2b_base64(text)))


def load_main(head: dict[str, Any]) -> None:
    """Import the caller's script as multiprocessing does: under the name __mp_main__, so that its guard stops it."""
    import runpy
    import types

    if head["main"]:
        content = runpy.run_module(head["main"], run_name="__mp_main__", alter_sys=True)
    elif os.path.exists(head["script"]):
        content = runpy.run_path(head["script"], run_name="__mp_main__")
    else:
        raise FileNotFoundError(f"{head['script']} is not on this machine: put it where pilots see it, or install cloudpickle")
    main = types.ModuleType("__mp_main__")
    main.__dict__.update(content)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main


def run(head: dict[str, Any], body: str) -> list[Any]:
    if head["version"] not in (None, list(sys.version_info[:2])):
        raise RuntimeError(f"code of Python {head['version']} does not run in {sys.version_info[:2]}: give the Executor python=")
    if head["script"] or head["main"]:
        load_main(head)
    if body.startswith("@"):
        with open(body[1:]) as file:
            body = file.read()
    function, calls = unpack(body)
    if head["function"]:
        function = unpack(head["function"])
    return [function(*args, **kwargs) for args, kwargs in calls]


def store(folder: str, text: str) -> dict[str, str]:
    if len(text) <= MOST:
        return {"result": text}
    if not folder:
        raise ValueError(f"the result has {len(text) >> 10} KiB, more than {MOST >> 10}: give the Executor a folder= that pilots see, too")
    name = os.path.join(folder, f"{os.environ['DIVVY_JOB']}-{os.environ['DIVVY_ATTEMPT']}.result")
    with open(name, "w") as file:
        file.write(text)
    return {"file": name}


def failure(err: BaseException) -> dict[str, str]:
    """What is sent of an exception: its words, and itself if it can be pickled."""
    import traceback

    traceback.print_exc()
    said = {"type": type(err).__name__, "message": str(err)[:2000], "traceback": traceback.format_exc()[-8000:]}
    try:
        text = pack(err)
        if len(text) <= MOST // 2:
            said["error"] = text
    except Exception:
        pass  # the words must do
    return said


def main() -> None:
    head = unpack(sys.argv[1])
    body, sys.argv = sys.argv[2], head["argv"]
    sys.path[:] = head["path"] + [p for p in sys.path if p not in head["path"]]
    try:
        code, said = 0, store(head["folder"], pack(run(head, body)))
    except BaseException as err:
        code, said = 1, failure(err)
    if "result" in said:
        text = '{"python": {"result": "%s"}}' % said["result"]
    else:
        import json
        text = json.dumps({"python": said})
    with open(os.environ["DIVVY_OUTPUTS"], "w") as file:
        file.write(text)
    sys.exit(code)


if __name__ == "__main__":
    main()
