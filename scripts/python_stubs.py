#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the type stub of the Python package: names that the source imports, and the functions that it makes of the
registries and of the command line.

  PYTHONPATH=build/release/python python3 scripts/python_stubs.py > python/schedlab/__init__.pyi
"""

import inspect

import schedlab

IMPORTS = {
    "cases": "Found Sweep compare problem read_run read_sweep search simulate sweep",
    "columns": "Columns Svg",
    "errors": "ContractViolation DeviceError Error FindingsError InfeasibleError InputError PolicyTimeout",
    "graphs": "Graph",
    "models": "from_onnx from_torch",
    "_core": "Plan PlanBuilder Problem",
    "policies": "PythonPolicy as_policy",
    "results": "Comparison Explanation Result",
    "spec": "Machine Policy Workload machine policy preset registries workload",
    "verbs": "Outcome Profile read_profile timelines",
}


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


def main():
    print("# SPDX-License-Identifier: Apache-2.0\n# Made by scripts/python_stubs.py.\nfrom typing import Any, Callable, TypeVar, Union\n")
    for module, names in IMPORTS.items():
        print(f"from .{module} import " + ", ".join(f"{name} as {name}" for name in names.split()))
    print("\n__version__: str\nT = TypeVar(\"T\")\nAxis = Union[T, list[T]]\n")
    print("def from_networkx(graph: Any, name: str = \"graph\") -> Graph: ...\nrun_verb: Callable[..., Outcome]\n")
    made = [(name, each) for name, each in vars(schedlab).items() if hasattr(each, "__signature__")]
    for name, function in sorted(made, key=lambda item: item[0]):
        print(stub(name, function, function.__signature__.return_annotation is schedlab.Workload))


if __name__ == "__main__":
    main()
