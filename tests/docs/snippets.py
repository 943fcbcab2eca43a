# SPDX-License-Identifier: Apache-2.0
"""Every C++ block of a page stands, line by line, in a source that is compiled, and every JSON block can be read.

  snippets.py ROOT

Indentation and what follows // may differ. docs/tutorial.md is left out: the test `tutorial` builds its program.
"""

import json
import re
import sys
from pathlib import Path

import markdown

BUILT_BY_A_TEST = {"docs/tutorial.md"}


def code_lines(text):
    """The lines without indentation, comments and gaps."""
    stripped = (re.sub(r"\s*//.*$", "", line).strip() for line in text.splitlines())
    return [line for line in stripped if line]


def contains(source, wanted):
    width = len(wanted)
    return any(source[start:start + width] == wanted for start in range(len(source) - width + 1))


def main(root):
    sources = {file: code_lines(file.read_text(encoding="utf-8")) for file in markdown.tracked(root, "*.cpp", "*.hpp")}
    findings, counted = [], {"cpp": 0, "json": 0}
    for page in markdown.pages(root):
        name = str(page.relative_to(root))
        for block in markdown.blocks(page):
            where = f"{name}:{block.line}"
            if block.kind in counted:
                counted[block.kind] += 1
            if block.kind == "cpp" and name not in BUILT_BY_A_TEST:
                wanted = code_lines(block.text)
                if not any(contains(source, wanted) for source in sources.values()):
                    findings.append(f"{where}: no source of the repository has these {len(wanted)} lines of C++")
            elif block.kind == "json":
                try:
                    # Some blocks show members of an object without its braces.
                    json.loads(block.text if block.text.lstrip().startswith(("{", "[")) else "{" + block.text + "}")
                except json.JSONDecodeError as error:
                    findings.append(f"{where}: no JSON: {error}")
    print("\n".join(findings) or f"{counted['cpp']} blocks of C++ are compiled, {counted['json']} of JSON can be read")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
