"""Imported by the fork server before it forks workers, which then have all modules that jobs need.

The server runs no job, starts no thread and does not touch a GPU, so that a fork of it is as good
as a new process.
"""

import gc
import os

os.environ["OMP_NUM_THREADS"] = "1"  # a fork would not have the threads of numpy
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that spin take the cores of other processes

from attnexp.config import build  # noqa: F401  torch, and everything that jobs import
from attnexp.runs.origin import provenance

provenance.differences()  # read once for all workers, whose code is that of this moment
gc.freeze()  # pages that the garbage collector does not write to stay shared
