# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, with the messages of the program."""

from __future__ import annotations


class Error(Exception):
    """All errors of this package."""


class InputError(Error, ValueError):
    """A spec, file or argument is at fault.

    ``file``, ``pointer`` (JSON pointer or line), ``found``, ``expected`` and ``hint`` are the parts
    of the message; empty where it has none.
    """

    def __init__(self, message="", file="", pointer="", found="", expected="", hint=""):
        super().__init__(message, file, pointer, found, expected, hint)
        self.file = file
        self.pointer = pointer
        self.found = found
        self.expected = expected
        self.hint = hint

    def __str__(self):
        return self.args[0]


class InfeasibleError(Error, RuntimeError):
    """The request is well formed but cannot be met: memory, a cut, a missing feature."""


class FindingsError(InfeasibleError):
    """The plan checker has found something; ``findings`` are dicts of kind, message and call."""

    def __init__(self, message="", findings=()):
        super().__init__(message, findings)
        self.findings = list(findings)

    def __str__(self):
        return self.args[0]


class PolicyTimeout(InfeasibleError):
    """A policy ran longer than ``as_policy(seconds=...)`` allows."""


class DeviceError(Error, RuntimeError):
    """A device, its driver or a profiler failed."""


class ContractViolation(Error, RuntimeError):
    """A bug of SchedLab or of a policy: a stated precondition does not hold."""
