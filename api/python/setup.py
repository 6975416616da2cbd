"""The version is that of the release: DIVVY_VERSION (make wheel), else what git describes."""

import os
import subprocess

from setuptools import setup


def version() -> str:
    given = os.environ.get("DIVVY_VERSION", "")
    try:
        given = given or subprocess.check_output(["git", "describe", "--tags"], text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        given = "0"
    release, dash, ahead = given.removeprefix("v").rpartition("-")
    if dash and ahead.startswith("g"):  # v0.10.0-5-gabcdef: five commits ahead of it
        given = release.replace("-", "+", 1) + "." + ahead
    return given.removeprefix("v")


setup(version=version())
