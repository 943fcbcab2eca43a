# SPDX-License-Identifier: Apache-2.0
"""The verbs of the program as functions. Names, options, defaults, checks and help texts are those of its
command line, which declares them; nothing is repeated here."""

from __future__ import annotations

import gzip
import html
import inspect
import json
import shutil
import sys
import tempfile
import weakref
from functools import lru_cache
from pathlib import Path

from . import _core
from .columns import Columns, Page, Picture, Svg, html_table
from .spec import spec_text


class Scratch:
    """A folder that is removed with this object."""

    def __init__(self):
        self.name = tempfile.mkdtemp(prefix="schedlab_")
        self.remove = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def in_notebook():
    """Does a notebook's kernel run this?"""
    return "ipykernel" in sys.modules


def terminal():
    """(file for progress and notes, whether lines may be rewritten)."""
    file = sys.stderr
    return file, in_notebook() or bool(file is not None and getattr(file, "isatty", bool)())


def spec_file_text(path):
    """The text of a spec's file."""
    return Path(path).read_text(encoding="utf-8")


def _python_name(names):
    name = next((name for name in names if name.startswith("--")), names[0])
    name = name.lstrip("-").replace("-", "_").lower()
    return name + "_" if name in ("as", "from", "import") else name


def _value(text, value):
    if value == "":
        return False
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


@lru_cache(maxsize=None)
def _facts():
    verbs = {}
    for verb in _core.verbs():
        arguments = {}
        for argument in verb["arguments"]:
            name = _python_name(argument["names"])
            if name not in ("help", "json"):
                arguments[name] = argument
        verbs[verb["name"]] = {**verb, "arguments": arguments}
    return verbs


def verb_defaults(verb):
    """Option to default of a verb."""
    return {
        name: _value(argument["standard"], argument["value"]) for name, argument in _facts()[verb]["arguments"].items()
    }


def kept(result, stopped, raised):
    """The result, marked ``interrupted``; where Ctrl-C raises something, that is raised with it as ``result``."""
    result.interrupted = stopped
    if raised is None:
        return result
    raised.result = result
    raise raised


class Outcome:
    """What a verb did: ``summary`` is what it prints with --json, ``folder`` holds its files."""

    def __init__(self, verb, code, text, out, scratch):
        self.verb = verb
        self.code = code
        self.interrupted = False
        self._scratch = scratch
        self.out = Path(out) if out else None
        try:
            self.summary = json.loads(text)
        except ValueError:
            self.summary = text

    @property
    def ok(self):
        """False: a bound was not kept, something failed, or a plan has findings."""
        return self.code == 0

    @property
    def folder(self):
        """The folder of its files. One that was not named is removed with this object."""
        return self.out if self.out is None or self.out.is_dir() else self.out.parent

    @property
    def files(self):
        """Names of the files."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def table(self, name):
        """A CSV file as columns."""
        return Columns(_core.read_csv(str(self.folder / name)))

    def json(self, name):
        """A JSON file."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def picture(self, name):
        """An SVG file."""
        return Svg((self.folder / name).read_text(encoding="utf-8"))

    def __getitem__(self, key):
        return self.summary[key]

    def __repr__(self):
        return f"<{self.verb}: code {self.code}, {self.folder}>"

    def _repr_html_(self):
        if not isinstance(self.summary, dict):
            return f"<pre>{html.escape(str(self.summary))}</pre>"
        flat = {key: [value] for key, value in self.summary.items() if not isinstance(value, (dict, list))}
        pictures = [name for name in self.files if name.endswith(".svg")] if self.folder else []
        return html_table(flat, 1) + (str(self.picture(pictures[0])) if pictures else "")


def _words(argument, value):
    flag = next((name for name in argument["names"] if name.startswith("--")), None)
    if argument["value"] == "" and not argument["positional"]:
        if not isinstance(value, (bool, int)):
            raise TypeError(f"{_python_name(argument['names'])}: found {value!r}, expected True or False")
        return [flag] if value else []
    values = value if isinstance(value, (list, tuple)) else [value]
    texts = [str(item.resolve()) if isinstance(item, Path) else str(item) for item in values]
    if argument["positional"]:
        return texts
    return [word for text in texts for word in (f"{flag}={text}",)]


def _spec_argument(value, scratch):
    """A spec's file; of a dict one that is written."""
    if not isinstance(value, dict):
        return value
    path = Path(scratch.name) / "spec.json"
    path.write_text(spec_text(value), encoding="utf-8")
    return str(path)


def call(verb, *positional, out=None, **options):
    """Runs a verb of the program in this process.

    Spec dicts are written to a file first: paths in them must be absolute, or pathlib.Paths. Without
    ``out``, where the verb needs one, files go to a folder that lives as long as the outcome. Ctrl-C
    raises KeyboardInterrupt; its ``result`` is the outcome of a verb that keeps what it has done.
    """
    arguments = _facts()[verb]["arguments"]
    order = [name for name in arguments if name != "out"]
    if len(positional) > len(order):
        raise TypeError(f"{verb}() takes {len(order)} arguments, {len(positional)} were given")
    given = dict(zip(order, positional))
    for name, value in options.items():
        if name not in arguments:
            raise TypeError(f"{verb}() has no option {name!r}; there are {', '.join(arguments)}")
        if name in given:
            raise TypeError(f"{verb}() got {name!r} twice")
        given[name] = value
    scratch = Scratch()
    if out is None and "out" in arguments and arguments["out"]["required"]:
        out = Path(scratch.name) / ("machine.json" if verb == "calibrate" else "out")
    if out is not None:
        given["out"] = str(out)
    words, positionals = [verb], []
    for name, value in given.items():
        if value is None:
            continue
        if name == "spec":
            value = _spec_argument(value, scratch)
        argument = arguments[name]
        (positionals if argument["positional"] else words).extend(_words(argument, value))
    if any(name == "--json" for argument in _core_arguments(verb) for name in argument["names"]):
        words.append("--json")
    words += ["--", *positionals] if positionals else []
    code, text, *interruption = _core.run_words(words, *terminal())
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return kept(Outcome(verb, code, text, out, scratch), *interruption)


@lru_cache(maxsize=None)
def _core_arguments(verb):
    return next(each["arguments"] for each in _core.verbs() if each["name"] == verb)


def _function(verb):
    facts = _facts()[verb]

    def run(*positional, **options):
        return call(verb, *positional, **options)

    run.__name__ = run.__qualname__ = verb.replace("-", "_")
    parameters = []
    for name, argument in facts["arguments"].items():
        default = None if name == "out" else _value(argument["standard"], argument["value"])
        needed = argument["required"] and name != "out"
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if needed else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if needed else default,
            )
        )
    parameters.sort(key=lambda parameter: parameter.kind)
    run.__signature__ = inspect.Signature(parameters, return_annotation=Outcome)
    lines = [facts["summary"] + ".", ""]
    lines += [f"{name}: {argument['meaning']}" for name, argument in facts["arguments"].items()]
    run.__doc__ = "\n".join([*lines, "", facts["details"]])
    return run


def verb_functions():
    """A function for each verb."""
    return {name: _function(name) for name in _facts()}


def _trace_file(run, folder, number):
    """A trace file of a run, a replay, a change of one, or a path."""
    if hasattr(run, "trace_file"):
        return str(run.trace_file())
    if hasattr(run, "perfetto"):
        return str(run.perfetto(Path(folder) / f"{number}.json"))
    return str(run)


def timelines(runs, width=1200):
    """Several runs over one time axis."""
    with tempfile.TemporaryDirectory(prefix="schedlab_") as folder:
        files = [_trace_file(run, folder, number) for number, run in enumerate(runs)]
        picture = Path(folder) / "timelines.svg"
        call("plot", files, out=picture, width=width)
        return Svg(picture.read_text(encoding="utf-8"))


def viewer(runs):
    """Several runs over one time axis, as a page to explore."""
    with tempfile.TemporaryDirectory(prefix="schedlab_") as folder:
        files = [_trace_file(run, folder, number) for number, run in enumerate(runs)]
        page = Path(folder) / "timelines.html"
        call("plot", files, out=page)
        return Page(page.read_text(encoding="utf-8"))


class Change(Picture):
    """A replay with a change."""

    def __init__(self, replay, number):
        self.outcome = replay.outcome
        self.number = number
        self._replay = replay  # whose folder lives as long

    def trace_file(self):
        """Its trace, for Perfetto."""
        return self.outcome.folder / f"what_if_{self.number}.json"

    @property
    def table(self):
        """The row of what_if.csv."""
        return self.outcome.table("what_if.csv")

    def timeline(self, beside=None):
        """The changed run; with the profile it is of beside it."""
        others = [] if beside is None else beside if isinstance(beside, (list, tuple)) else [beside]
        return timelines([self, *others])


class Replay(Picture):
    """A profile simulated again."""

    def __init__(self, outcome, scratch):
        self.outcome = outcome
        self._scratch = scratch

    @property
    def summary(self):
        """What replay.json holds."""
        return self.outcome.json("replay.json")

    @property
    def errors(self):
        """Each activity as measured and as replayed: items.csv."""
        return self.outcome.table("items.csv")

    def trace_file(self):
        """The replay's trace, for Perfetto."""
        return self.outcome.folder / "trace.json"

    def timeline(self, beside=None):
        """The replayed run; with others beside it."""
        others = [] if beside is None else beside if isinstance(beside, (list, tuple)) else [beside]
        return timelines([self, *others])


class Profile(Picture):
    """A PyTorch profile (Kineto JSON, also gzipped), or several: the ranks of one job."""

    def __init__(self, *paths):
        self.paths = [str(path) for path in paths]
        self._replay = None

    def replay(self, **options):
        """Simulates it again; options are those of ``schedlab replay``."""
        scratch = Scratch()
        self._replay = Replay(call("replay", self.paths, **{"out": Path(scratch.name) / "replay", **options}), scratch)
        return self._replay

    def what_if(self, *changes, despite_error=False, assume_like_siblings=False, mode=None, **named):
        """Simulates it changed: what_if("policy=heft"), what_if(streams=1, host=0.5)."""
        text = ",".join([*changes, *(f"{name}={value}" for name, value in named.items())])
        replay = self.replay(
            what_if=[text], despite_error=despite_error, assume_like_siblings=assume_like_siblings, mode=mode
        )
        return Change(replay, 1)

    def explain(self, **options):
        """Who waits for whom in it."""
        return call("explain", self.paths[0], **options)

    def trace_file(self):
        """The profile as it was read, for pictures."""
        if self._replay is None:
            self.replay()
        return self._replay.outcome.folder / "imported_trace.json"

    def timeline(self, beside=None):
        """The profile; with others beside it."""
        others = [] if beside is None else beside if isinstance(beside, (list, tuple)) else [beside]
        return timelines([self, *others])

    def __repr__(self):
        return f"<profile {', '.join(self.paths)}>"


def read_profile(*paths):
    """A profile, to replay and to change. Raises InputError for a missing file."""
    for path in paths:
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "rb"):
            pass
    return Profile(*paths)
