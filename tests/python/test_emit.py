# SPDX-License-Identifier: Apache-2.0
"""Plans as PyTorch programs, run on the CPU against a recording fake of torch.cuda."""

import contextlib
import importlib.util
import json
import unittest

import schedlab as sl
from support import ProgramTest

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    torch = None


class RecordingCuda:
    """torch.cuda on the CPU: notes each call; work runs at once, that of graphs again at each replay."""

    def __init__(self):
        self.log, self.open, self.count = [], [], {"stream": 0, "event": 0}
        cuda = self

        class Stream:
            def __init__(self, priority=0):
                self.number, self.priority = cuda.number("stream"), priority

            def wait_event(self, event):
                cuda.log.append(("wait", self.number, event.number))

            def wait_stream(self, other):
                cuda.log.append(("join", self.number, other.number))

            def query(self):
                cuda.log.append(("query", self.number))
                return True

            def synchronize(self):
                cuda.log.append(("synchronize_stream", self.number))

        class Event:
            def __init__(self):
                self.number = cuda.number("event")

            def record(self, stream):
                cuda.log.append(("record", stream.number, self.number))

            def synchronize(self):
                cuda.log.append(("synchronize_event", self.number))

        class CUDAGraph:
            def __init__(self):
                self.pieces = []

            def replay(self):
                cuda.log.append(("replay", cuda.open[-1].number))
                for function, arguments, named, made in self.pieces:
                    again = function(*arguments, **named)
                    for ours, theirs in zip(self.tensors(made), self.tensors(again)):
                        if ours is not theirs:
                            ours.copy_(theirs)

            @staticmethod
            def tensors(value):
                return [each for each in (value if isinstance(value, (tuple, list)) else (value,))]

        self.Stream, self.Event, self.CUDAGraph = Stream, Event, CUDAGraph

    def number(self, kind):
        self.count[kind] += 1
        return self.count[kind] - 1

    def synchronize(self):
        self.log.append(("synchronize",))

    @contextlib.contextmanager
    def stream(self, stream):
        self.open.append(stream)
        yield
        self.open.pop()

    @contextlib.contextmanager
    def graph(self, captured, stream=None):
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), named=None):
                made = function(*arguments, **(named or {}))
                view = any(each.alias_info and not each.alias_info.is_write for each in function._schema.returns)
                if not view:
                    captured.pieces.append((function, arguments, named or {}, made))
                return made

        with Mode():
            yield


def net_of_branches():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.branches = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(4))
            self.last = torch.nn.Linear(128, 8)
            self.norm = torch.nn.LayerNorm(8)

        def forward(self, x):
            parts = [torch.relu(branch(x)) for branch in self.branches]
            return self.norm(self.last(torch.cat(parts, 1)).transpose(0, 1).contiguous().view(-1, 8))

    return Net()


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Emit(ProgramTest):
    def emitted(self, graph, policy, launch):
        """The emitted module and the plan it is of."""
        file = graph.save(self.folder / "graph.json")
        workload = {"kind": "file", "path": str(file)}
        spec = self.write_spec({"workload": workload, "machine": "h200", "policy": policy, "launch": launch})
        run = self.folder / f"run_{launch}"
        self.run_program("simulate", spec, "--out", run)
        printed = self.run_program("emit", run, "--as", "pytorch", "--out", "planned.py", "--overwrite")
        self.assertIn("simulated makespan", printed)
        return self.imported(), json.loads((run / "plan.json").read_text())

    def imported(self):
        """planned.py as a module."""
        found = importlib.util.spec_from_file_location("planned", self.folder / "planned.py")
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return module

    def test_a_module_runs_as_planned_and_computes_the_same(self):
        net, x = net_of_branches(), torch.rand(8, 32)
        graph = sl.from_torch(net, x)
        for launch in ("eager", "graph_launch"):
            with self.subTest(launch):
                module, plan = self.emitted(graph, {"name": "heft", "max_streams": 3}, launch)
                cuda = RecordingCuda()
                fast = module.PlannedModule(net, x, cuda=cuda)
                for _ in range(2):  # the second with other numbers
                    y = torch.rand(8, 32)
                    cuda.log.clear()
                    found = fast(y).clone()
                    torch.testing.assert_close(found, net(y))
                self.assertEqual([each["priority"] for each in plan["streams"]], [p for p, _ in module.STREAMS])
                self.expect_calls(cuda.log, plan, module)

    def expect_calls(self, log, plan, module):
        """What a run asked for is what the plan has, in its order."""
        expected, number = [], {name: i for i, name in enumerate(module.TASKS)}
        for kind, *rest in plan["hosts"][0]["calls"]:
            if kind in ("record", "wait"):
                expected.append((kind, *rest))
            elif kind == "graph_launch":
                expected.append(("replay", rest[0]))
            elif kind == "synchronize":
                expected.append(("synchronize",))
            elif kind == "launch":
                self.assertIn(rest[1], number)
        self.assertEqual(log[1:], expected if expected[-1] == ("synchronize",) else [*expected, ("synchronize",)])

    def test_launches_go_to_the_plan_s_streams(self):
        net, x = net_of_branches(), torch.rand(8, 32)
        module, plan = self.emitted(sl.from_torch(net, x), {"name": "heft", "max_streams": 3}, "eager")
        cuda, seen = RecordingCuda(), []
        operators = [lambda task=task: seen.append((cuda.open[-1].number, module.TASKS[task])) for task in range(len(module.TASKS))]
        module.Planned(operators, cuda).run()
        self.assertEqual(seen, [(call[1], call[2]) for call in plan["hosts"][0]["calls"] if call[0] == "launch"])
        self.assertGreater(len({stream for stream, _ in seen}), 1)

    def test_edges_of_a_captured_graph_are_the_plan_s(self):
        net, x = net_of_branches(), torch.rand(8, 32)
        module, plan = self.emitted(sl.from_torch(net, x), {"name": "heft", "max_streams": 3}, "graph_launch")
        cuda, after, ended, last = RecordingCuda(), {}, {}, {}

        def operator(task):
            return lambda: cuda.log.append(("task", cuda.open[-1].number, task))

        module.Planned([operator(task) for task in range(len(module.TASKS))], cuda)
        for entry in cuda.log:
            if entry[0] == "task":
                after[entry[2]] = set(last.get(entry[1], ()))
                for need in list(after[entry[2]]):
                    after[entry[2]] |= after[need]
                last[entry[1]] = {entry[2]}
            elif entry[0] == "record":
                ended[entry[2]] = set(last.get(entry[1], ()))
            elif entry[0] == "wait":
                last.setdefault(entry[1], set()).update(ended[entry[2]])
        nodes, (tasks,) = plan["graphs"][0]["nodes"], module.GRAPHS[0]["launches"]
        planned = {}
        for node, task in zip(nodes, tasks):
            planned[task] = {tasks[need] for need in node["needs"]}
            for need in list(planned[task]):
                planned[task] |= planned[need]
        self.assertEqual(after, planned)

    def test_streams_that_the_plan_makes_and_queries_stay_in_their_order(self):
        spec = self.write_spec({"workload": {"kind": "lstm", "layers": 2, "steps": 3}, "machine": "h200", "policy": "critical_first"})
        run = self.folder / "run"
        self.run_program("simulate", spec, "--out", run)
        self.run_program("emit", run, "--as", "pytorch", "--out", "planned.py")
        module = self.imported()
        calls = json.loads((run / "plan.json").read_text())["hosts"][0]["calls"]
        cuda = RecordingCuda()
        planned = module.Planned([lambda: None for _ in module.TASKS], cuda)
        planned.run()
        stream, made, expected = list(range(len(module.STREAMS))), len(module.STREAMS), []
        for kind, *rest in calls:
            if kind == "create_stream":
                stream[rest[0]], made = made, made + 1
            elif kind in ("record", "wait"):
                expected.append((kind, stream[rest[0]], rest[1]))
            elif kind == "query":
                expected.append((kind, stream[rest[0]]))
            elif kind == "synchronize":
                expected.append(("synchronize",) if not rest else (f"synchronize_{[*rest[0]][0]}", [*rest[0].values()][0]))
        self.assertIn("create_stream", {call[0] for call in calls})
        self.assertEqual(cuda.log[: len(expected)], expected)

    def test_another_module_is_refused(self):
        net, x = net_of_branches(), torch.rand(8, 32)
        module, _ = self.emitted(sl.from_torch(net, x), "single_stream", "eager")
        with self.assertRaisesRegex(ValueError, "the module has not"):
            module.PlannedModule(torch.nn.Linear(32, 8), x, cuda=RecordingCuda())

    def test_proxies_run_for_any_plan(self):
        module, _ = self.emitted(sl.Graph.from_arrays([1.0, 2.0, 4.0], [(0, 2)]), "single_stream", "eager")
        module.Planned(module.proxies("cpu"), RecordingCuda()).run()


if __name__ == "__main__":
    unittest.main()
