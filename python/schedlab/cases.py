# SPDX-License-Identifier: Apache-2.0
"""Simulations, comparisons, sweeps and searches in this process."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from . import _core
from .columns import Columns, Picture, Svg
from .graphs import Graph
from .policies import PythonPolicy, as_policy
from .results import Comparison, Result
from .spec import Policy, spec_text
from .verbs import kept, terminal, verb_defaults

# In the place of a workload that the caller gives as a graph; never made.
_PLACE = "grid"


def _named(policy):
    """Does the registry know it?"""
    return isinstance(policy, (str, dict, Policy))


def _case(workload, machine, policy, parts):
    graph = workload if isinstance(workload, Graph) else None
    spec = {"workload": {"kind": _PLACE, "label": graph.name} if graph else workload, "machine": machine}
    spec["policy"] = policy if policy is not None else "single_stream"
    spec.setdefault("name", graph.name if graph else str(workload) if not isinstance(workload, dict) else "spec")
    spec.update(parts)
    return _core.Case(spec_text(spec), "spec", os.getcwd(), graph._core if graph else None)


def _planner(policy):
    if not isinstance(policy, PythonPolicy):
        if not callable(policy):
            raise TypeError(f"policy: found {type(policy).__name__}, expected a name, a policy, a plan or a function")
        policy = as_policy(policy)
    return policy.planner()


def _run(case, number, policy, allow_findings):
    if policy is None or _named(policy):
        core = case.simulate(number)
    elif isinstance(policy, _core.Plan):
        core = case.simulate_plan(number, policy)
    else:
        core = case.simulate_planned(number, _planner(policy))
    return Result(core, allow_findings)


def simulate(workload, machine="v100", policy="single_stream", *, allow_findings=False, **parts):
    """Simulates one scenario.

    workload: a workload, a Graph, or what a spec has there. machine: a machine, a name or a file. policy:
    a name, a policy, a plan, or a function that makes plans. parts: further keys of a spec: cost_model,
    launch, ranks, seed, variability, memory, default_stream. Raises FindingsError if the plan checker
    finds something and allow_findings is false.
    """
    case = _case(workload, machine, policy if _named(policy) else None, parts)
    if case.size != 1:
        from .errors import InputError

        raise InputError(f"spec: found {case.size} scenarios, expected one\n  a list is an axis of a sweep")
    return _run(case, 0, policy, allow_findings)


def read_run(folder):
    """Simulates the scenario of a folder of ``simulate`` or ``execute`` again, whose files must still be there."""
    return Result(_core.Case(*_core.run_origin(str(folder))).simulate(0))


def compare(workload, machine, policies, *, allow_findings=False, **parts):
    """Simulates one graph on one machine under several policies, as simulate() has them."""
    policies = list(policies)
    named = [policy for policy in policies if _named(policy)]
    case = _case(workload, machine, named or None, parts)
    if case.size != max(len(named), 1):
        from .errors import InputError

        raise InputError("spec: found several workloads or machines, expected one\n  sweep() takes a grid")
    numbers = iter(range(len(named)))
    return Comparison(
        _run(case, next(numbers) if _named(policy) else 0, policy, allow_findings) for policy in policies
    )


def problem(workload, machine="v100", granularity="fine", **parts):
    """What a policy is called with: for trying one out."""
    return _case(workload, machine, None, parts).problem(0, granularity)


class Sweep:
    """The scenarios of a grid, with the columns of results.csv."""

    def __init__(self, columns, case, outcome=None):
        self.table = Columns(columns)
        self.outcome = outcome
        self.interrupted = False
        self._case = case

    @property
    def folder(self):
        """Where the files are; None: nothing was written."""
        return self.outcome.folder if self.outcome else None

    def run(self, scenario):
        """The run of a row, by its number in the column ``scenario``, simulated again."""
        return Result(self._case.simulate(int(scenario)))

    def to_pandas(self):
        """A DataFrame with a row per scenario (needs pandas)."""
        return self.table.to_pandas()

    def __getitem__(self, name):
        return self.table[name]

    def __len__(self):
        return self.table.rows

    def __repr__(self):
        return f"<sweep of {len(self)} scenarios{', interrupted' if self.interrupted else ''}>"

    def _repr_html_(self):
        return self.table._repr_html_()


def _swept(outcome, spec):
    """The sweep that a folder holds."""
    made = read_sweep(outcome.folder, os.getcwd() if isinstance(spec, dict) else Path(spec).parent)
    made.outcome, made.interrupted = outcome, outcome.interrupted
    return made


def read_sweep(folder, spec_folder="."):
    """The sweep of a folder of ``schedlab sweep``. spec_folder: where paths in its spec start from."""
    folder = Path(folder)
    text, name = _core.results_spec(str(folder / "results.sqlite"))
    return Sweep(_core.read_csv(str(folder / "results.csv")), _core.Case(text, name, str(spec_folder)))


def sweep(spec, out=None, *, jobs=None, resume=False, overwrite=False, no_check=False, timelines=None, max_gap=None):
    """Simulates a grid: a spec's file, or the same as a dict, in which parts and paths may stand.

    Without ``out`` nothing is written; with it the folder of ``schedlab sweep``. Options and defaults are
    those of the program. Ctrl-C raises KeyboardInterrupt, whose ``result`` is the Sweep of the rows that
    are done, marked ``interrupted``; a folder keeps them for ``resume``.
    """
    from . import verbs

    defaults = verb_defaults("sweep")
    jobs = defaults["jobs"] if jobs is None else jobs
    if out is not None or resume:
        options = {"timelines": timelines, "max_gap": max_gap}
        options = {name: value for name, value in options.items() if value is not None}
        options.update(jobs=jobs, resume=resume, overwrite=overwrite, no_check=no_check)
        try:
            return _swept(verbs.call("sweep", spec=spec, out=out, **options), spec)
        except KeyboardInterrupt as interruption:
            if hasattr(interruption, "result"):
                interruption.result = _swept(interruption.result, spec)
            raise
    if isinstance(spec, dict):
        text, file, folder, graph = spec, "spec", os.getcwd(), spec.get("workload")
        if isinstance(graph, Graph):
            text = {**spec, "workload": {"kind": _PLACE, "label": graph.name}}
        text = spec_text(text)
    else:
        path, graph = Path(spec), None
        text, file, folder = verbs.spec_file_text(path), str(path), str(path.parent)
    case = _core.Case(text, file, folder, graph._core if isinstance(graph, Graph) else None)
    with tempfile.TemporaryDirectory(prefix="schedlab_") as scratch:
        columns, *interruption = case.sweep(jobs, not no_check, scratch + "/results.sqlite", *terminal())
    return kept(Sweep(columns, case), *interruption)


class Found(Picture):
    """The best plan that a search found, and how far from the bound it is."""

    def __init__(self, case, core):
        self._case = case
        self._core = core
        self.interrupted = False

    makespan_us = property(lambda self: self._core.makespan_us, doc="Of the plan found.")
    gap = property(lambda self: self._core.gap, doc="Over the certified bound of the case; 1: proven optimal.")
    proven_optimal = property(lambda self: self._core.proven_optimal)
    plan = property(lambda self: self._core.plan, doc="The plan.")
    begun_with = property(lambda self: self._core.begun_with, doc="The best policy of the beginning.")
    begun_at_us = property(lambda self: self._core.begun_at_us, doc="Its makespan.")
    evaluations = property(lambda self: self._core.evaluations, doc="Plans simulated.")
    seconds = property(lambda self: self._core.seconds)

    @property
    def summary(self):
        """What search.json holds: bounds with their witnesses, improvements."""
        return json.loads(self._core.json())

    def save(self, folder):
        """Writes the files of ``schedlab search``, among them plan.json; returns the folder."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._core.write(str(folder))
        return Path(folder)

    def picture(self):
        """The best plan and its lower bound over the evaluations."""
        return Svg(self._core.picture())

    def run(self):
        """The plan as it is simulated."""
        return Result(self._case.simulate_found(self._core))

    def timeline(self, beside=None):
        """The Gantt chart of the plan."""
        return self.run().timeline(beside)

    def __repr__(self):
        proof = "proven optimal" if self.proven_optimal else f"{self.gap:.4f} times the bound"
        cut = ", interrupted" if self.interrupted else ""
        return f"<plan of {self.makespan_us:.3f} us, {proof}, {self.evaluations} evaluations{cut}>"


def search(
    workload,
    machine="v100",
    policies=("single_stream",),
    *,
    seconds=None,
    evaluations=None,
    gap=None,
    seed=None,
    max_streams=None,
    jobs=None,
    samples=None,
    objective=None,
    start=None,
    **parts,
):
    """Searches for the best plan of one case; options and defaults are those of ``schedlab search``.

    policies: what it begins with, besides all that can plan the workload. start: a plan to begin with: a
    plan, a result, what a search found, or a file. Without a limit in seconds (0) equal seeds and
    evaluations give equal plans. Ctrl-C raises KeyboardInterrupt; once a first plan is there, its
    ``result`` is the best one so far, marked ``interrupted``.
    """
    given = {
        "seconds": seconds, "evaluations": evaluations, "gap": gap, "seed": seed, "max_streams": max_streams,
        "jobs": jobs, "samples": samples, "objective": objective,
    }  # fmt: skip
    defaults = verb_defaults("search")
    options = {name: defaults[name] if value is None else value for name, value in given.items()}
    if not options["seconds"] and not options["evaluations"]:
        from .errors import InputError

        raise InputError("search: found no limit, expected seconds or evaluations above 0")
    policies = [policies] if _named(policies) else list(policies)
    case = _case(workload, machine, policies, parts)
    start = getattr(start, "plan", start)
    given_plan = isinstance(start, _core.Plan)
    file = "" if start is None or given_plan else str(start)
    settings = _core.SearchSettings(*options.values(), file, start if given_plan else None)
    core, *interruption = case.search(settings)
    return kept(Found(case, core), *interruption)


__all__ = ["Comparison", "Found", "Result", "Svg", "Sweep", "compare", "problem", "read_run", "read_sweep", "search", "simulate", "sweep"]
