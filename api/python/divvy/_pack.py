"""Makes a command and an input of calls of a function."""

from __future__ import annotations

import os
import pickle
import pkgutil
import sys
import uuid
from pathlib import Path
from typing import Any, Callable, Sequence

from . import _worker

try:
    import cloudpickle as _cloudpickle
except ImportError:
    _cloudpickle = None

MOST_INPUT = 4000  # bytes of an input; the daemon takes 4096
MOST_FUNCTION = 80_000  # bytes of a function in the command; the daemon takes 128 KiB with all else

# Results have classes of the caller's script under the name that it has in jobs, and that multiprocessing gives it.
sys.modules.setdefault("__mp_main__", sys.modules["__main__"])

SOURCE = (pkgutil.get_data(__package__, "_worker.py") or b"").decode()


def pack(function: Callable[..., Any], calls: Sequence[tuple[Any, dict[str, Any]]], folder: str) -> tuple[str, str, str]:
    """The name of a function, and a head and a body of calls of it: calls with the same head can be one task, whose inputs are the
    bodies. What is large for an input is in a file of folder; the body is its name after an @."""
    named = getattr(function, "func", function)  # within a partial
    name = str(getattr(named, "__qualname__", type(named).__name__))[:200]
    data, by_value = _dumps((function, calls), name)
    head = _head(data, by_value, folder)
    body = _worker.encode(data)
    if len(body) <= MOST_INPUT:
        return name, _worker.pack(head), body
    apart, arguments = (_worker.encode(_dumps(part, name)[0]) for part in (function, (None, calls)))
    if len(arguments) <= MOST_INPUT and len(apart) <= MOST_FUNCTION:
        return name, _worker.pack({**head, "function": apart}), arguments
    if not folder:
        raise ValueError(f"calls of {name} have {len(body)} bytes, above {MOST_INPUT}: give the Executor a folder= that pilots see, too")
    file = os.path.join(folder, uuid.uuid4().hex + ".call")
    Path(file).write_text(body, encoding="ascii")
    return name, _worker.pack(head), "@" + file


def _dumps(value: Any, name: str) -> tuple[bytes, bool]:
    """Pickle a value. By value, which cloudpickle does if it is there, goes what has no name that a job could import."""
    try:
        data = pickle.dumps(value)
        if _cloudpickle is None or b"__main__" not in data:
            return data, False
    except Exception as err:
        if _cloudpickle is None:
            raise TypeError(f"{name} or an argument cannot be pickled: {err}. Lambdas and functions inside of functions need cloudpickle "
                            "(pip install cloudpickle); a function of a module or script does not") from err
    return _cloudpickle.dumps(value), True


def _head(data: bytes, by_value: bool, folder: str) -> dict[str, Any]:
    """What a job needs beside a pickle: where modules are, and the script, if the pickle names something of it."""
    module, script = "", ""
    if not by_value and b"__main__" in data:
        main = sys.modules["__main__"]
        module = getattr(getattr(main, "__spec__", None), "name", "")
        script = "" if module else os.path.abspath(getattr(main, "__file__", None) or "")
        if not module and not os.path.isfile(script):
            raise TypeError("a function of an interactive session needs cloudpickle (pip install cloudpickle), or a module of its own")
    return {"path": [os.path.abspath(p) for p in sys.path], "argv": sys.argv[:1], "main": module, "script": script, "function": "",
            "version": list(sys.version_info[:2]) if by_value else None, "folder": folder}
