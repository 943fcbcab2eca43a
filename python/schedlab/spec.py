# SPDX-License-Identifier: Apache-2.0
"""Parts of a spec as values: workloads, machines, policies. Every name and option is the registries'."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from . import _core


def _encode(value):
    if isinstance(value, Part):
        return value.spec
    if isinstance(value, Path):
        return str(value.resolve())
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    if isinstance(value, (set, range)):
        return list(value)
    raise TypeError(f"{type(value).__name__} {value!r} cannot stand in a spec")


def spec_text(spec):
    """The JSON of a spec: a dict that may hold parts, paths (made absolute) and NumPy values."""
    return json.dumps(spec, default=_encode, allow_nan=False)


class Part:
    """One part of a spec. ``spec`` is its JSON value; a list anywhere in it is an axis of a sweep."""

    def __init__(self, spec):
        self.spec = spec

    def __eq__(self, other):
        return type(self) is type(other) and self.spec == other.spec

    def __hash__(self):
        return hash(spec_text(self.spec))

    def __repr__(self):
        return f"<{type(self).__name__.lower()} {spec_text(self.spec)}>"

    def __str__(self):
        spec = self.spec
        if isinstance(spec, dict):
            return str(spec.get("label") or next(iter(spec.values())))
        return str(spec)


class Workload(Part):
    """What is to be scheduled, as a registry's kind with options."""


class Machine(Part):
    """What it runs on: a name or file, with overrides."""


class Policy(Part):
    """Who makes the plan."""


def _options(options):
    """Keywords of Python have an underscore behind them: ``pass_`` is the option ``pass``."""
    return {name[:-1] if name.endswith("_") else name: value for name, value in options.items()}


def workload(kind, **options):
    """A workload of a registered kind: ``workload("lstm", layers=4)``, which ``lstm(layers=4)`` says too."""
    return Workload({"kind": kind, **_options(options)})


def preset(name, **options):
    """A workload shape with a name, and options that differ from it."""
    return Workload({"preset": name, **_options(options)})


def machine(base="v100", **overrides):
    """A machine: a name (``machine("h200")``) or a file's path, with overrides (``connections=8``)."""
    if isinstance(base, Path):
        base = str(base.resolve())
    return Machine({"base": base, **_options(overrides)} if overrides else base)


def policy(name, **options):
    """A policy with options: ``policy("critical_first", max_streams=9)``."""
    return Policy({"name": name, **_options(options)} if options else name)


def registries():
    """All that specs and flags may name: section to list of entries, with options and defaults."""
    return json.loads(_core.registries())


def _maker(entry):
    kind = entry["name"]

    def make(**options):
        return workload(kind, **options)

    keywords = {"pass", "from", "class", "import"}
    parameters = [
        inspect.Parameter(
            option["name"] + "_" * (option["name"] in keywords),
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.get("required") else option.get("default"),
        )
        for option in entry["options"]
    ]
    make.__name__ = make.__qualname__ = kind
    make.__signature__ = inspect.Signature(parameters, return_annotation=Workload)
    lines = [entry["summary"] + ".", ""]
    lines += [f"{p.name}: {o['doc']}" for p, o in zip(parameters, entry["options"])]
    make.__doc__ = "\n".join(lines)
    return make


def workload_makers():
    """A function for each registered kind of workload."""
    return {entry["name"]: _maker(entry) for entry in registries()["workloads"] if entry["name"] != "file"}
