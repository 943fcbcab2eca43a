# SPDX-License-Identifier: Apache-2.0
"""Which schedule of an operator graph is fastest on a device, by how much, and why: SchedLab from Python.

    import schedlab as sl
    g = sl.lstm(layers=4, steps=50, batch=64, hidden=1024, pass_="backward")
    sl.compare(g, sl.machine("h200"), ["single_stream", "diagonal"]).to_pandas()

The engine is the same as that of the program ``schedlab``; docs/python.md says more.
"""

from __future__ import annotations

from . import verbs as _verbs
from ._core import version as __version__
from .cases import Found, Sweep, compare, problem, read_run, read_sweep, search, simulate, sweep
from .columns import Columns, Svg
from .errors import ContractViolation, DeviceError, Error, FindingsError, InfeasibleError, InputError, PolicyTimeout
from .graphs import Graph
from .layers import layers_from_onnx, layers_from_torch
from .models import from_onnx, from_torch
from .policies import Plan, PlanBuilder, Problem, PythonPolicy, as_policy
from .results import Comparison, Explanation, Result
from .spec import Machine, Policy, Workload, machine, policy, preset, registries, workload, workload_makers
from .verbs import Outcome, Profile, read_profile, timelines, viewer

from_networkx = Graph.from_networkx

VERB_NAMES = {"import": "import_trace", "graph": "graph_statistics", "list": "listing", "compare": "compare_results"}

# What simulates in this process is above; these run a verb and give its files.
globals().update({name: make for name, make in workload_makers().items()})
globals().update(
    {
        VERB_NAMES.get(name, name.replace("-", "_")): function
        for name, function in _verbs.verb_functions().items()
        if name not in ("simulate", "search", "sweep", "serve", "reference")
    }
)
run_verb = _verbs.call
