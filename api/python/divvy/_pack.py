"""Makes a command and an input of calls of a function."""

from __future__ import annotations

import base64
import os
import pickle
import pkgutil
import sys
import uuid
import zlib
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from . import _worker

try:
    import cloudpickle as _cloudpickle
except ImportError:
    _cloudpickle = None

MOST_INPUT = 4000  # bytes of an input; the daemon takes 4096
MOST_FUNCTION = 80_000  # bytes of a function in the command; the daemon takes 128 KiB with all else

Calls = Sequence[Tuple[Sequence[Any], Dict[str, Any]]]

# Results have classes of the caller's script under the name that it has in jobs, and that multiprocessing gives it.
sys.modules.setdefault("__mp_main__", sys.modules["__main__"])

_source = (pkgutil.get_data(__package__, "_worker.py") or b"").decode()


class Packed(NamedTuple):
    """Calls of a function as they travel. Those with the same head can be one task."""

    name: str
    head: str
    body: str
    file: str = ""  # that has the calls, if they are large

    def command(self, python: str) -> List[str]:
        """The command of a task of such calls."""
        return [python, "-c", _source, self.head, "{{.Input}}"]


def pack(function: Callable[..., Any], calls: Calls, folder: str) -> Packed:
    """Pack calls of a function: into an input if they are small, else function and arguments apart, else into a file of folder."""
    name = _name(getattr(function, "func", function))[:200]  # within a partial
    whole, by_value = _dumps((function, calls), name)
    head = _head(whole, by_value, folder)
    body = _text(whole)
    if len(body) <= MOST_INPUT:
        return Packed(name, _worker.pack(head), body)
    arguments, apart = _text(_dumps((None, calls), name)[0]), _text(_dumps(function, name)[0])
    if len(arguments) <= MOST_INPUT and len(apart) <= MOST_FUNCTION:
        return Packed(name, _worker.pack({**head, "function": apart}), arguments)
    if not folder:
        raise ValueError(
            f"{name} and its arguments have {len(body)} bytes, more than {MOST_INPUT}: give the Executor a folder= that pilots "
            "see, too, or pass the name of a file"
        )
    file = os.path.join(folder, uuid.uuid4().hex + ".call")
    with open(file, "w", encoding="ascii") as f:
        f.write(body)
    return Packed(name, _worker.pack(head), "@" + file, file)


def _dumps(value: Any, name: str) -> Tuple[bytes, bool]:
    """Pickle a value; cloudpickle, if it is there, takes what has no name that a job could import."""
    try:
        data = pickle.dumps(value)
    except Exception as err:
        if _cloudpickle is None:
            raise TypeError(
                f"{name} or an argument cannot be pickled: {err}. Lambdas and functions inside of functions need cloudpickle "
                "(pip install cloudpickle); a function of a module or script does not"
            ) from err
        return _cloudpickle.dumps(value), True
    if b"__main__" in data and _cloudpickle is not None:
        return _cloudpickle.dumps(value), True
    return data, False


def _head(data: bytes, by_value: bool, folder: str) -> Dict[str, Any]:
    """What a job needs beside a pickle: where modules are, and the script, if the pickle names something of it."""
    path = [os.path.abspath(p) for p in sys.path]
    main = sys.modules["__main__"]
    module, script = "", ""
    if not by_value and b"__main__" in data:
        spec = getattr(main, "__spec__", None)
        module, script = (spec.name, "") if spec else ("", os.path.abspath(getattr(main, "__file__", "") or ""))
        if not module and not os.path.isfile(script):
            raise TypeError("a function of an interactive session needs cloudpickle (pip install cloudpickle), or a module of its own")
    version = list(sys.version_info[:2]) if by_value else None
    return {"path": path, "main": module, "script": script, "version": version, "function": "", "folder": folder, "argv": sys.argv[:1]}


def _text(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 1)).decode()


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)
