# SPDX-License-Identifier: Apache-2.0
"""Every file that a page shows is taken by its verb: specs are swept, graphs are read, stages are cut.

  specs.py ROOT PROGRAM FOLDER
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import markdown

# Of what a page shows by name, and the program does not have: the entry of a page, and why.
NOT_HERE = {
    "longest_first": "the policy that docs/adding_a_policy.md adds",
    "my_card.json": "made by docs/tutorial.md, whose test runs it",
    "./my_cpu.json": "made by calibrate",
    "out/mine/graph.json": "made by import",
    "out/model/graph.json": "made by import",
    "out/job/plan.json": "made by import",
}

# Pages also show single keys of a spec; this is the rest of it.
REST = {"workload": {"preset": "small", "layers": 2}, "machine": "v100", "policy": "single_stream"}
SPEC_KEYS = {"machine", "launch", "variability", "policy", "workload", "ranks", "memory", "default_stream", "cost_model"}


def document_of(block):
    """What the block shows, completed if it is part of a spec; nothing if it is another file, or part of one."""
    text = block.text.strip()
    document = json.loads(text if text.startswith("{") else "{" + text + "}")
    if document.get("schedlab") in ("graph", "partition", "parallel") or {"workload", "machine", "policy"} <= document.keys():
        return document
    return {**REST, **document} if document.keys() <= SPEC_KEYS else None


def arguments_of(document, file, out):
    if document.get("schedlab") == "graph":
        return ["graph", file]
    if document.get("schedlab") == "partition":
        return ["partition", file, "--out", out]
    if document.get("schedlab") == "parallel":
        return ["plan-parallel", file, "--out", out]
    return ["sweep", file, "--timelines", "none", "--out", out]


def main(root, program, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    findings, ran, left_out = [], 0, 0
    for page in markdown.pages(root):
        stages = None  # what the page's last partition wrote
        for block in markdown.blocks(page):
            document = document_of(block) if block.kind == "json" else None
            if document is None:
                continue
            if any(f'"{name}"' in block.text for name in NOT_HERE):
                left_out += 1
                continue
            where = f"{page.relative_to(root)}:{block.line}"
            file = folder / f"{page.stem}_{block.line}.json"
            arguments = arguments_of(document, file, file.with_suffix(""))
            if arguments[0] == "partition":
                stages = file.with_suffix("") / "partition.json"
            elif "partition_path" in block.text:
                document["workload"]["partition_path"] = str(stages)
            file.write_text(json.dumps(document), encoding="utf-8")
            run = subprocess.run([program, *arguments], capture_output=True, text=True)
            ran += 1
            if run.returncode != 0:
                findings.append(f"{where}: schedlab {arguments[0]} says\n{run.stderr}")
    print("\n".join(findings) or f"{ran} files of pages were taken, {left_out} left out")
    return 1 if findings or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()))
