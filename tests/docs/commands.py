# SPDX-License-Identifier: Apache-2.0
"""Every command a page shows can be typed: verbs, options and arguments exist, as do the files of the repository that it names.

  commands.py ROOT

What verbs take is read from docs/reference/command_line.md, which another test compares with the program.
"""

import json
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import markdown

# Paths that begin so are files of the repository; a word in capitals or with these marks stands for one of the reader's.
FOLDERS = ("experiments/", "scripts/", "hw_models/", "tests/", "docs/")
PROGRAM = re.compile(r"(?:[\w./]*/)?schedlab$")
PLACEHOLDER = re.compile(r"^[A-Z_0-9]+$|NAME|\.\.\.|[<>*$]")


@dataclass
class Verb:
    options: dict = field(default_factory=dict)  # of every option, short or long: whether it takes a value
    required: int = 0  # positional arguments


def verbs_of(page):
    """What docs/reference/command_line.md says each verb takes."""
    verbs, verb = {}, None
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## ([\w-]+)$", line):
            verb = verbs.setdefault(heading.group(1), Verb())
        elif verb is not None and (row := re.match(r"\| `([^`]+)` \| (.*) \|$", line)):
            names, meaning = row.groups()
            if not names.startswith("-"):
                verb.required += meaning.endswith("required")
                continue
            words = names.replace(",", " ").split()
            takes_value = not words[-1].startswith("-")
            verb.options.update({word: takes_value for word in words if word.startswith("-")})
    return verbs


def commands_of(text):
    """(line within the text, words) of each command of a shell block."""
    number, pending = 0, ""
    for offset, line in enumerate(text.splitlines()):
        if not pending:
            number = offset
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        try:
            words = shlex.split(pending, comments=True)
        except ValueError as error:
            words = ["?", str(error)]
        for command in split_at(words, {"&&", "||", "|", ";"}):
            yield number, command
        pending = ""


def split_at(words, separators):
    command = []
    for word in words:
        if word in separators:
            yield command
            command = []
        else:
            command.append(word)
    if command:
        yield command


def check_program(words, verbs):
    """What is wrong with the words after `schedlab`."""
    if not words or words[0] in ("--help", "--version", "VERB"):
        return
    if words[0] not in verbs:
        yield f"there is no verb {words[0]!r}"
        return
    verb, positional, rest = verbs[words[0]], 0, iter(words[1:])
    for word in rest:
        if word in (">", ">>", "2>"):
            next(rest, None)
        elif word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            name, _, value = word.partition("=")
            if name not in verb.options:
                yield f"{words[0]} has no option {name}"
            elif verb.options[name] and not value and next(rest, None) is None:
                yield f"{words[0]} {name} needs a value"
        else:
            positional += 1
    if positional < verb.required and "--help" not in words:
        yield f"{words[0]} needs {verb.required} arguments, found {positional}"


def check_files(root, words):
    # A script's argument may be a file that it writes.
    for word in words[:1] if words and words[0].startswith("scripts/") else words:
        path = word.partition("=")[2] or word
        if path.startswith(FOLDERS) and not PLACEHOLDER.search(path) and not (root / path).exists():
            yield f"{path}: found no such file"


def check_preset(root, words):
    kind = "test" if words[0] == "ctest" else "workflow" if "--workflow" in words else "build" if "--build" in words else "configure"
    presets = json.loads((root / "CMakePresets.json").read_text()).get(kind + "Presets", [])
    known = {preset["name"] for preset in presets if not preset.get("hidden")}
    for before, word in zip(words, words[1:]):
        if before == "--preset" and word not in known:
            yield f"there is no {kind} preset {word!r}"


def without_prefix(words):
    """The command itself, without `NAME=value` and `mpirun -n N` before it."""
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    return words[3:] if words[:2] == ["mpirun", "-n"] else words


def check(root, words, verbs):
    words = without_prefix(words)
    if not words:
        return
    if words[0] == "?":
        yield words[1]
    elif PROGRAM.match(words[0]):
        yield from check_program(words[1:], verbs)
    elif words[0] in ("cmake", "ctest"):
        yield from check_preset(root, words)
    yield from check_files(root, words)


def main(root):
    verbs = verbs_of(root / "docs/reference/command_line.md")
    findings, seen = [], 0
    for page in markdown.pages(root):
        name = page.relative_to(root)
        for block in markdown.blocks(page):
            if block.kind not in ("sh", "bash", ""):
                continue
            for offset, words in commands_of(block.text):
                # Blocks without a kind also hold output and pictures.
                if block.kind == "" and not (words and (PROGRAM.match(words[0]) or words[0] in ("cmake", "ctest"))):
                    continue
                seen += 1
                findings += [f"{name}:{block.line + offset}: {what}" for what in check(root, words, verbs)]
        for number, line in markdown.lines_outside_blocks(page):
            for code in re.findall(r"`((?:mpirun -n \w+ )?(?:build/release/)?schedlab \w[^`]*|scripts/[\w./-]+|c(?:make|test) --\w[^`]*)`", line):
                words = [word for word in code.split() if word not in ("...", "…")]
                seen += 1
                # In running text arguments may be left out.
                what = [each for each in check(root, words, verbs) if " needs " not in each]
                findings += [f"{name}:{number}: `{code}`: {each}" for each in what]
    print("\n".join(findings) or f"{seen} commands can be typed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
