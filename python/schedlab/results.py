# SPDX-License-Identifier: Apache-2.0
"""What a simulated run tells."""

from __future__ import annotations

import html
import json
import tempfile
from pathlib import Path

import numpy as np

from .columns import Columns, Page, Svg, html_table
from .graphs import Graph

_NUMBERS = ("title", "policy", "makespan_us", "makespan_ps", "bound", "bound_us", "gap", "utilization", "why")


class _Stored:
    """A run without the engine's objects: what a pickle holds."""

    def __init__(self, state):
        self.__dict__.update(state)


class Explanation:
    """Why a run took as long as it did; docs/explain.md defines each word."""

    def __init__(self, core):
        self._core = core

    @property
    def summary(self):
        """What explain.json holds."""
        return json.loads(self._core.json())

    @property
    def gaps(self):
        """Every gap of every stream by cause, as explain.csv has them."""
        return Columns(self._core.gaps())

    def picture(self):
        """Who decides, over time."""
        return Svg(self._core.picture())

    def __str__(self):
        return self._core.text()

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>{self._core.picture()}"


class Result:
    """A simulated run. Arrays are views of its trace and keep it alive."""

    def __init__(self, core, allow_findings=True):
        self._core = core
        if core.findings and not allow_findings:
            from .errors import FindingsError

            lines = [f"  {finding['kind']}: {finding['message']}" for finding in core.findings[:10]]
            raise FindingsError("\n".join([f"the plan of {core.policy}:", *lines]), core.findings)

    title = property(lambda self: self._core.title, doc="Spec, policy and machine.")
    policy = property(lambda self: self._core.policy, doc="Who made the plan.")
    makespan_us = property(lambda self: self._core.makespan_us, doc="From the start to the last activity.")
    makespan_ps = property(lambda self: self._core.makespan_ps, doc="The same, exact.")
    bound_us = property(lambda self: self._core.bound_us, doc="The largest lower bound.")
    bound = property(lambda self: self._core.bound, doc="Its name (docs/bounds.md).")
    gap = property(lambda self: self._core.gap, doc="Makespan over the bound; 1 is optimal, 0: there is none.")
    utilization = property(lambda self: self._core.utilization, doc="Compute units in use, of the makespan.")
    why = property(lambda self: self._core.why, doc="Whose speed decides how long it took, in a sentence.")
    findings = property(lambda self: self._core.findings, doc="What the plan checker found.")
    stream_names = property(lambda self: self._core.stream_names, doc="By stream number.")
    spans = property(
        lambda self: self._core.spans,
        doc="Tasks in launch order as a structured array, a view of the trace: task, stream, host, device, "
        "submitted_ps, started_ps, ended_ps.",
    )
    flows = property(lambda self: self._core.flows, doc="Waits between streams: event, from, to, times; a view.")

    @property
    def plan(self):
        """The schedule that was run."""
        return self._core.plan

    @property
    def graph(self):
        """The graph that was run."""
        return Graph(self._core.task_graph)

    @property
    def operations(self):
        """Names of the operations, by number."""
        if isinstance(self._core, _Stored):
            return self._core.operations
        return [operation["name"] for operation in self._core.task_graph.operations()]

    @property
    def tasks(self):
        """Columns, one entry per task in launch order. Numbers and exact times are views."""
        spans, names = self._core.spans, np.array(self.operations, dtype="O")
        return Columns(
            {
                "task": spans["task"],
                "operation": names[self._core.operation_of],
                "stream": spans["stream"],
                "device": spans["device"],
                "submitted_us": self._core.submitted_us,
                "started_us": self._core.started_us,
                "ended_us": self._core.ended_us,
                "duration_us": self._core.duration_us,
                "submitted_ps": spans["submitted_ps"],
                "started_ps": spans["started_ps"],
                "ended_ps": spans["ended_ps"],
            }
        )

    @property
    def metrics(self):
        """All that metrics.json says of it (docs/trace_format.md)."""
        return json.loads(self._core.metrics_json())

    def timeline(self, beside=None):
        """The Gantt chart; with another run (or several) beside it, all over one time axis."""
        if beside is None:
            return Svg(self._core.timeline())
        from .verbs import timelines

        return timelines([self, *(beside if isinstance(beside, (list, tuple)) else [beside])])

    def viewer(self, beside=None):
        """The page timeline.html, to explore in a notebook or a browser; with another run (or several) beside it."""
        others = [] if beside is None else beside if isinstance(beside, (list, tuple)) else [beside]
        if not others and hasattr(self._core, "viewer"):
            return Page(self._core.viewer())
        from .verbs import viewer

        return viewer([self, *others])

    def perfetto(self, path=None):
        """Writes the trace for https://ui.perfetto.dev; returns the file's path."""
        if path is None:
            path = Path(tempfile.mkdtemp(prefix="schedlab_")) / "trace.json"
        Path(path).write_text(self._core.chrome_json(), encoding="utf-8")
        return Path(path)

    def save_plan(self, path):
        """Writes the plan; the policy plan_file runs it."""
        Path(path).write_text(self._core.plan_json(), encoding="utf-8")
        return Path(path)

    def explain(self, bins=100):
        """Who waits for whom; bins: slices of the makespan."""
        return Explanation(self._core.explain(bins))

    def to_pandas(self):
        """The tasks as a DataFrame (needs pandas)."""
        return self.tasks.to_pandas()

    def numbers(self):
        """Policy, makespan, bound, gap, utilization and why, as a dict."""
        return {name: getattr(self, name) for name in _NUMBERS}

    def __reduce__(self):
        core = self._core
        state = {name: getattr(core, name) for name in _NUMBERS}
        state.update({name: getattr(core, name) for name in ("findings", "stream_names", "operation_of")})
        state.update({name: np.array(getattr(core, name)) for name in ("spans", "flows")})
        state.update(
            {name: getattr(core, name) for name in ("submitted_us", "started_us", "ended_us", "duration_us")}
        )
        state["operations"] = self.operations
        texts = {name: getattr(core, name)() for name in ("metrics_json", "timeline", "chrome_json", "plan_json")}
        return _unpickled, (state, texts)

    def __repr__(self):
        return f"<{self.title}: {self.makespan_us:.3f} us, {self.gap:.3f} times the bound {self.bound}>"

    def _repr_html_(self):
        numbers = {name: [value] for name, value in self.numbers().items() if name not in ("title", "makespan_ps")}
        return f"<p><b>{html.escape(self.title)}</b></p>{html_table(numbers, 1)}{self.timeline()}"


def _unpickled(state, texts):
    return Result(_Stored({**state, **{name: (lambda text=text: text) for name, text in texts.items()}}))


class Comparison:
    """Runs of several policies on one graph and machine."""

    def __init__(self, results):
        self.results = list(results)

    @property
    def best(self):
        """The run with the shortest makespan, the first among equals."""
        return min(self.results, key=lambda result: result.makespan_ps)

    @property
    def table(self):
        """Columns: policy, makespan_us, bound, bound_us, gap, utilization, why."""
        names = ("policy", "makespan_us", "bound", "bound_us", "gap", "utilization", "why")
        return Columns({name: np.array([getattr(result, name) for result in self.results]) for name in names})

    def to_pandas(self):
        """The same as a DataFrame (needs pandas)."""
        return self.table.to_pandas()

    def timeline(self):
        """All of them over one time axis."""
        return self.results[0].timeline(beside=self.results[1:])

    def __getitem__(self, key):
        """By number, or by the policy's name."""
        if isinstance(key, str):
            for result in self.results:
                if result.policy == key:
                    return result
            raise KeyError(key)
        return self.results[key]

    def __len__(self):
        return len(self.results)

    def __iter__(self):
        return iter(self.results)

    def __repr__(self):
        return "\n".join(repr(result) for result in self.results)

    def _repr_html_(self):
        return self.table._repr_html_()
