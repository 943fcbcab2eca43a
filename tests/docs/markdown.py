# SPDX-License-Identifier: Apache-2.0
"""Reads the Markdown pages of the repository: their blocks of code, links and headings."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Block:
    """A fenced block of a page; `line` is that of its first line of text."""

    page: Path
    line: int
    kind: str  # what follows the fence: sh, cpp, json, ... or nothing
    text: str


@dataclass
class Link:
    page: Path
    line: int
    target: str
    is_image: bool


def tracked(root, *patterns):
    """Files of the repository that match; where its history cannot be asked, all that lie there."""
    found = None
    if (root / ".git").exists() and shutil.which("git"):
        listing = subprocess.run(["git", "-C", root, "ls-files", "--", *patterns], capture_output=True, text=True)
        if listing.returncode == 0:
            found = [root / name for name in listing.stdout.splitlines()]
    if found is None:
        found = [file for pattern in patterns for file in root.rglob(pattern)]
    return sorted({file for file in found if file.exists() and not {"build", "out"} & set(file.relative_to(root).parts)})


def pages(root):
    return tracked(root, "*.md")


def lines_outside_blocks(page):
    """(number, line) of the text that is no code block."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def blocks(page):
    found, current = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            if current is None:
                current = Block(page, number + 1, line.strip()[3:].strip(), "")
            else:
                found.append(current)
                current = None
        elif current is not None:
            current.text += line + "\n"
    if current is not None:
        raise SystemExit(f"{page}:{current.line}: a code block does not end")
    return found


def links(page):
    for number, line in lines_outside_blocks(page):
        without_code = re.sub(r"`[^`]*`", lambda match: match.group(0) if "](" in match.group(0) else "", line)
        for match in re.finditer(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", without_code):
            yield Link(page, number, match.group(2), bool(match.group(1)))


def anchors(page):
    """The names under which headings of a page can be reached, as GitHub makes them."""
    found = {}
    for _, line in lines_outside_blocks(page):
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not match:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name if number == 0 else f"{name}-{number}" for name, count in found.items() for number in range(count + 1)}
