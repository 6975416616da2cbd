"""A client of divvy, which shares computers out: commands as tasks, Python functions as jobs. Standard library only.

>>> import divvy
>>> divvy.Client().run("echo hello", label="user")[0].log()
'hello\\n'
>>> with divvy.Executor(label="user") as pool:
...     pool.submit(pow, 2, 10).result()
1024
"""

from .client import Client, Job, Task
from .errors import DivvyError, Fault, JobFailed, Problem, RemoteError, RemoteTraceback, Unreachable
from .executor import Executor, Future

__all__ = ["Client", "DivvyError", "Executor", "Fault", "Future", "Job", "JobFailed", "Problem", "RemoteError", "RemoteTraceback",
           "Task", "Unreachable"]
