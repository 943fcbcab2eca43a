#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header of a build folder alone:  scripts/check_headers.py build/dev

What all_verify_interface_header_sets does, in a third of its time. A header that another one includes before all else
is compiled first there, so not again by itself. The standard library and the JSON library come from a precompiled
header; as that would hide that a header forgets to include them, whether what it names of them is included, by itself
or by headers of the project that it includes, is looked up in its text.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

STANDARD = {  # a name of the standard library: headers that give it
    "string": "string", "vector": "vector", "optional": "optional", "variant": "variant", "map": "map", "set": "set",
    "array": "array", "span": "span", "string_view": "string_view string", "function": "functional",
    "unique_ptr": "memory", "shared_ptr": "memory", "filesystem": "filesystem", "chrono": "chrono",
    "ostream": "ostream iosfwd iostream fstream sstream", "istream": "istream iosfwd iostream fstream sstream",
    "atomic": "atomic", "mutex": "mutex", "thread": "thread", "tuple": "tuple map", "deque": "deque",
    "unordered_map": "unordered_map", "condition_variable": "condition_variable", "numeric_limits": "limits",
    "sort": "algorithm", "max": "algorithm", "min": "algorithm", "visit": "variant", "jthread": "thread",
    "int64_t": "cstdint", "uint32_t": "cstdint", "exception_ptr": "exception", "partial_ordering": "compare"}
PRECOMPILED = sorted({h for headers in STANDARD.values() for h in headers.split()}) + ["utility"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def closure(root, header, seen):
    """Adds to `seen` what the header includes, through headers of the project too."""
    text = (root / header).read_text()
    for bracket, name in INCLUDE.findall(text):
        if name in seen:
            continue
        seen.add(name)
        if bracket == '"' and (root / name).is_file():
            closure(root, name, seen)
    return seen


def forgotten(root, header):
    """Names of the standard library that nothing it includes declares."""
    code = re.sub(r"//.*", "", (root / header).read_text())
    included = closure(root, header, set())
    return [f"std::{name}: nothing that it includes includes <{headers.split()[0]}>"
            for name, headers in STANDARD.items()
            if re.search(rf"\bstd::{name}\b", code) and not included & set(headers.split())]


def main(build):
    root = pathlib.Path(__file__).resolve().parent.parent
    commands = [c for c in json.loads((build / "compile_commands.json").read_text())
                if "_verify_interface_header_sets/" in c["file"]]
    if not commands:
        sys.exit(f"error: {build}/compile_commands.json names no header; configure first: cmake --preset dev")
    with tempfile.TemporaryDirectory() as folder:
        precompiled = {}

        def precompile(command, with_json):
            """A header of the command's options; a macro that differs costs time only, as it is then not used."""
            options = [o for o in command if re.match(r"-(std|O|g|f|D_GLIBCXX)", o)]
            key = (with_json, *options)
            if key not in precompiled:
                path = pathlib.Path(folder) / f"precompiled_{len(precompiled)}.hpp"
                path.write_text("".join(f"#include <{h}>\n" for h in PRECOMPILED) +
                                ("#include <nlohmann/json.hpp>\n" if with_json else ""))
                subprocess.run([command[0], *options, "-x", "c++-header", str(path), "-o", f"{path}.gch"], check=True)
                precompiled[key] = path
            return precompiled[key]

        def check(task):
            header, command = task
            ran = subprocess.run(command, capture_output=True, text=True, cwd=build)
            return header, [ran.stderr] if ran.returncode else []

        headers = {entry["file"].split("_verify_interface_header_sets/", 1)[1].removesuffix(".cxx"): entry
                   for entry in commands}
        first = {match[2] for match in (INCLUDE.search((root / header).read_text()) for header in headers) if match}
        tasks = []
        for header, entry in headers.items():
            if header in first:
                continue
            command = shlex.split(entry["command"])
            at = command.index("-o")
            del command[at:at + 2]
            with_json = "nlohmann/json.hpp" in closure(root, header, set())
            command[1:1] = ["-fsyntax-only", "-include", str(precompile(command, with_json))]
            tasks.append((header, command))
        problems = [(header, forgotten(root, header)) for header in headers]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            problems += pool.map(check, tasks)
    failed = [f"{header}: {error}" for header, errors in problems for error in errors]
    print("\n".join([*failed, f"{len(headers)} headers, {len(failed)} errors"]))
    return bool(failed)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
