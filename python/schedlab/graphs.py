# SPDX-License-Identifier: Apache-2.0
"""Task graphs of the caller: from arrays, files and NetworkX."""

from __future__ import annotations

import json

import numpy as np

from . import _core


def _numbers(values, name, dtype):
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(dtype)
    if dtype == np.uint32:
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name}: found {array.dtype}, expected whole numbers")
        if array.size and (array.min() < 0 or array.max() > 0xFFFFFFFE):
            raise ValueError(f"{name}: found {array.min()} to {array.max()}, expected 0 to 4294967294")
    elif array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: found {array.dtype}, expected numbers")
    return np.ascontiguousarray(array, dtype=dtype)


def _edge_arrays(edges):
    if isinstance(edges, tuple) and len(edges) == 2:
        start, end = edges
    else:
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = np.zeros((0, 2), np.uint32)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"edges: found an array of shape {pairs.shape}, expected (n, 2) or two arrays")
        start, end = pairs[:, 0], pairs[:, 1]
    return _numbers(start, "edges", np.uint32), _numbers(end, "edges", np.uint32)


class Graph:
    """An immutable task graph; tasks are numbered from 0. Stands wherever a workload may."""

    def __init__(self, core, name="graph"):
        self._core = core
        self.name = name

    @classmethod
    def from_arrays(cls, durations_us=None, edges=(), operation_of=None, operations=None, names=(), name="graph"):
        """A graph of arrays; 10^6 tasks take about a second.

        durations_us: time of each task; None: operations have kernels that a machine's cost model times.
        edges: (n, 2) array, or a tuple of two arrays: the second of a pair needs the first.
        operation_of: number of each task's operation; default: all are of operation 0.
        operations: dicts as in a graph file's "operations" (docs/workload_format.md); default: one of
        kind fixed.
        """
        if durations_us is None and operation_of is None:
            raise TypeError("from_arrays needs durations_us or operation_of, one entry per task")
        durations = None if durations_us is None else _numbers(durations_us, "durations_us", np.float64)
        if operation_of is None:
            operation_of = np.zeros(durations.shape, np.uint32)
        head = {"schedlab": "graph", "version": 1, "operations": list(operations or [{"name": "task"}]), "tasks": []}
        start, end = _edge_arrays(edges)
        return cls(
            _core.graph_of_arrays(
                json.dumps(head), _numbers(operation_of, "operation_of", np.uint32), durations, start, end, list(names)
            ),
            name,
        )

    @classmethod
    def from_networkx(cls, graph, name="graph"):
        """A graph of a NetworkX DiGraph (or of anything with nodes(data=True) and edges()).

        A node's attributes are those of a task in a graph file: duration_us, operation, layer, step;
        or an operation's own: kind, class, kernels. Nodes keep their order and get their names.
        """
        index = {node: number for number, (node, _) in enumerate(graph.nodes(data=True))}
        operations, numbers, tasks = [], {}, []
        for node, data in graph.nodes(data=True):
            own = {key: data[key] for key in ("kind", "class", "kernels") if key in data}
            operation = {"name": str(data.get("operation", "task")), **own}
            key = json.dumps(operation, sort_keys=True)
            if key not in numbers:
                numbers[key] = len(operations)
                operations.append(operation)
            task = {"name": str(node), "operation": numbers[key]}
            task.update({key: data[key] for key in ("layer", "step", "stage", "microbatch") if key in data})
            if "duration_us" in data:
                task["duration_us"] = float(data["duration_us"])
            elif "kernels" not in data:
                raise ValueError(f"node {node!r}: found neither duration_us nor kernels, expected one of them")
            tasks.append(task)
        for start, end in graph.edges():
            tasks[index[end]].setdefault("needs", []).append(index[start])
        return cls.from_dict({"operations": operations, "tasks": tasks}, name)

    @classmethod
    def from_dict(cls, graph, name="graph"):
        """A graph of what a JSON graph file holds (docs/workload_format.md)."""
        text = json.dumps({"schedlab": "graph", "version": 1, **graph})
        return cls(_core.graph_of_json(text, name), name)

    @classmethod
    def read(cls, path, name=None):
        """A graph file: JSON, compact text, DOT, STG, Chakra, WfFormat; may be gzipped."""
        return cls(_core.graph_of_file(str(path)), name or str(path).rsplit("/", 1)[-1])

    @property
    def task_count(self):
        """Number of tasks."""
        return self._core.task_count

    @property
    def edge_count(self):
        """Number of dependencies."""
        return self._core.edge_count

    @property
    def edges(self):
        """Two arrays: from and to of each dependency."""
        return self._core.edges()

    @property
    def names(self):
        """Names of all tasks."""
        return self._core.names()

    @property
    def operations(self):
        """Kinds of tasks as dicts: name, kind, flops, bytes_read, bytes_written, launches, critical."""
        return self._core.operations()

    @property
    def operation_of(self):
        """Number of each task's operation."""
        return self._core.operation_of()

    @property
    def levels(self):
        """Breadth-first level of each task."""
        return self._core.levels()

    def successors(self, task):
        """Tasks that need this one: a view of the graph's own memory."""
        return self._core.successors(task)

    def predecessors(self, task):
        """Tasks that this one needs: a view of the graph's own memory."""
        return self._core.predecessors(task)

    def to_json(self):
        """The text of a JSON graph file."""
        return self._core.to_json()

    def save(self, path):
        """Writes a JSON graph file, which a spec reads as {"kind": "file", "path": ...}."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())
        return path

    def to_networkx(self):
        """A NetworkX DiGraph with a node per task: name, operation, kind, duration_us (needs NetworkX)."""
        import networkx

        made = networkx.DiGraph(name=self.name)
        operations, durations = self.operations, self._core.fixed_durations_us()
        for task, (name, operation) in enumerate(zip(self.names, self.operation_of)):
            of = operations[operation]
            made.add_node(task, name=name, operation=of["name"], kind=of["kind"], duration_us=float(durations[task]))
        made.add_edges_from(zip(*(array.tolist() for array in self.edges)))
        return made

    def __len__(self):
        return self.task_count

    def __reduce__(self):
        return _unpickled, (self.to_json(), self.name)

    def __repr__(self):
        return f"<graph {self.name}: {self.task_count} tasks, {self.edge_count} dependencies>"


def _unpickled(text, name):
    return Graph(_core.graph_of_json(text, name), name)
