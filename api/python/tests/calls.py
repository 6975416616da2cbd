"""What tests call in jobs: functions of a module that is found by sys.path."""

import os
import time


class Odd(Exception):
    """An exception that a pickle does not bring back: it wants two arguments and hands on one."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a)


def square(x: int) -> int:
    return x * x


def fail(x: int) -> None:
    raise ValueError("no such piece", x)


def odd() -> None:
    raise Odd(1, 2)


def leave(code: int) -> None:
    print("leaving", flush=True)
    os._exit(code)


def rest(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def noise(n: int) -> bytes:
    """n bytes that cannot be packed."""
    return os.urandom(n)
