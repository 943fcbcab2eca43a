# SPDX-License-Identifier: Apache-2.0
"""Policies written in Python."""

from __future__ import annotations

import ctypes
import functools
import threading

from . import _core
from .errors import PolicyTimeout
from .graphs import Graph

PlanBuilder = _core.PlanBuilder
Problem = _core.Problem
Plan = _core.Plan
Problem.graph = property(lambda self: Graph(self.task_graph), doc="The graph that is to be scheduled.")


class PythonPolicy:
    """A function that makes plans; made by as_policy."""

    def __init__(self, function, name, granularity, steps, seconds):
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.granularity = granularity
        self.steps = steps
        self.seconds = seconds

    def __call__(self, problem):
        if self.seconds is None:
            return self.function(problem)
        return self._call_within(problem)

    def _call_within(self, problem):
        thread = ctypes.c_ulong(threading.get_ident())
        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
        timer = threading.Timer(self.seconds, raise_in, (thread, ctypes.py_object(PolicyTimeout)))
        timer.daemon = True
        timer.start()
        try:
            return self.function(problem)
        except PolicyTimeout:
            raise PolicyTimeout(f"policy {self.name} has not returned after {self.seconds} s") from None
        finally:
            timer.cancel()

    def planner(self):
        """For the engine."""
        return _core.Planner(self, self.name, self.granularity, self.steps)

    def __repr__(self):
        return f"<policy {self.name}>"


def as_policy(function=None, *, name=None, granularity="fine", steps=0, seconds=None):
    """Makes a function ``f(problem) -> plan`` a policy that stands wherever a policy's name may.

    Its plan is checked before it is simulated. granularity: how finely workloads are cut for it. steps:
    how many calls of PlanBuilder it may make; 0: 10,000 and 1,000 per task. seconds: how long it may run.
    """

    def make(of):
        return PythonPolicy(of, name or getattr(of, "__name__", "python"), granularity, steps, seconds)

    return make if function is None else make(function)
