#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the type stub of the Python package: what its __init__.py imports, and the functions that it makes of the
registries and of the command line. The build calls it (python/CMakeLists.txt).

  PYTHONPATH=build/release/python python3 scripts/python_stubs.py STUB
"""

import ast
import inspect
import sys
from pathlib import Path

import schedlab


def imported():
    """The import statements of the package, by which a stub makes names public."""
    for each in ast.parse(Path(schedlab.__file__).read_text()).body:
        if isinstance(each, ast.ImportFrom) and each.level == 1 and each.module:
            names = ", ".join(f"{alias.name} as {alias.asname or alias.name}" for alias in each.names)
            yield f"from .{each.module} import {names}"


def typed(parameter, listed):
    """One parameter; of a workload each may be a list, an axis."""
    default = parameter.default
    kind = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(default), "Any")
    if listed and kind != "Any":
        kind = f"Axis[{kind}]"
    elif default is None:
        kind = "Any"
    return f"{parameter.name}: {kind}" + ("" if default is inspect.Parameter.empty else f" = {default!r}")


def stub(name, function, listed):
    """The stub of a function."""
    parts, keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            parts.append("*")
            keyword = True
        parts.append(typed(parameter, listed))
    inside = "".join(f"    {part},\n" for part in parts)
    result = "Workload" if listed else "Outcome"
    return f"def {name}(\n{inside}) -> {result}: ...\n" if parts else f"def {name}() -> {result}: ...\n"


def lines():
    """The stub."""
    yield "# SPDX-License-Identifier: Apache-2.0\n# Made by scripts/python_stubs.py.\nfrom typing import Any, Callable, TypeVar, Union\n"
    yield from imported()
    yield "\nT = TypeVar(\"T\")\nAxis = Union[T, list[T]]\nVERB_NAMES: dict[str, str]\n"
    yield "def from_networkx(graph: Any, name: str = \"graph\") -> Graph: ...\nrun_verb: Callable[..., Outcome]\n"
    made = [(name, each) for name, each in vars(schedlab).items() if hasattr(each, "__signature__")]
    for name, function in sorted(made, key=lambda item: item[0]):
        yield stub(name, function, function.__signature__.return_annotation is schedlab.Workload)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("\n".join(lines()) + "\n")
