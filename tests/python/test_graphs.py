# SPDX-License-Identifier: Apache-2.0
"""Graphs of arrays, files and NetworkX."""

import json
import pickle
import unittest

import numpy as np
import schedlab as sl
from support import ProgramTest

PRODUCT = {
    "name": "product",
    "kind": "gemm",
    "kernels": [
        {"kind": "gemm", "data_type": "fp32", "m": 64, "n": 1024, "k": 512, "flops": 67108864, "bytes_read": 2228224, "bytes_written": 262144}
    ],
}  # fmt: skip


class Graphs(ProgramTest):
    def test_a_graph_of_arrays_runs_as_the_same_graph_from_a_file(self):
        graph = sl.Graph.from_arrays(
            operation_of=[0, 0, 1], operations=[PRODUCT, {"name": "wait", "duration_us": 3}], edges=([0, 1], [2, 2])
        )
        path = graph.save(self.folder / "graph.json")
        for machine in ("v100", "h200"):
            for policy in ("single_stream", "heft"):
                spec = {"workload": {"kind": "file", "path": "graph.json"}, "machine": machine, "policy": policy}
                out = self.folder / f"{machine}_{policy}"
                self.run_program("simulate", self.write_spec(spec), "--out", out)
                metrics = json.loads((out / "metrics.json").read_text())
                run = sl.simulate(graph, machine, policy)
                self.assertEqual(run.makespan_ps, metrics["makespan_ps"])
                self.assertEqual(run.metrics["critical_path"], metrics["critical_path"])
        again = sl.Graph.read(path)
        self.assertEqual(again.to_json(), graph.to_json())

    def test_arrays_come_back_as_they_were_given(self):
        rng = np.random.default_rng(1)
        count = 1000
        start = rng.integers(0, count - 1, 3000)
        end = start + 1 + rng.integers(0, count, 3000) % (count - 1 - start)
        pairs = np.unique(np.column_stack([start, end]), axis=0)
        durations = np.floor(rng.uniform(0, 100, count)) + 0.25  # exact in picoseconds and microseconds
        graph = sl.Graph.from_arrays(durations, pairs)
        np.testing.assert_array_equal(np.column_stack(graph.edges), pairs)
        np.testing.assert_array_equal(graph._core.fixed_durations_us(), durations)
        for task in (0, 17, 500):
            np.testing.assert_array_equal(graph.successors(task), pairs[pairs[:, 0] == task, 1])
            np.testing.assert_array_equal(graph.predecessors(task), pairs[pairs[:, 1] == task, 0])
        with self.assertRaisesRegex(IndexError, "task 1000 of 1000"):
            graph.successors(1000)

    def test_neighbours_are_views_that_keep_the_graph_alive(self):
        graph = sl.Graph.from_arrays([1.0] * 4, [(0, 1), (0, 2), (0, 3)])
        view = graph.successors(0)
        self.assertFalse(view.flags.owndata)
        self.assertFalse(view.flags.writeable)
        del graph
        self.assertEqual(list(view), [1, 2, 3])

    def test_an_empty_graph_and_one_without_edges(self):
        self.assertEqual(sl.Graph.from_arrays([]).task_count, 0)
        self.assertEqual(sl.simulate(sl.Graph.from_arrays([7.0]), "ideal").makespan_us, 7.0)

    def test_a_pickled_graph_is_the_same(self):
        graph = sl.Graph.from_arrays([1.0, 2.0], [(0, 1)], names=["a", "b"], name="pair")
        again = pickle.loads(pickle.dumps(graph))
        self.assertEqual((again.to_json(), again.name, again.names), (graph.to_json(), "pair", ["a", "b"]))

    def test_there_and_back_with_networkx(self):
        try:
            import networkx
        except ImportError:
            self.skipTest("networkx is not installed")
        made = networkx.DiGraph()
        made.add_node("load", duration_us=2.5, operation="copy")
        made.add_node("multiply", duration_us=10, layer=1)
        made.add_node("product", kind="gemm", kernels=PRODUCT["kernels"])
        made.add_edge("load", "multiply")
        made.add_edge("multiply", "product")
        graph = sl.from_networkx(made)
        self.assertEqual(graph.names, ["load", "multiply", "product"])
        self.assertEqual([operation["kind"] for operation in graph.operations], ["fixed", "fixed", "gemm"])
        back = graph.to_networkx()
        self.assertEqual([back.nodes[node]["name"] for node in back], ["load", "multiply", "product"])
        self.assertEqual(list(back.edges()), [(0, 1), (1, 2)])
        self.assertEqual(back.nodes[0]["duration_us"], 2.5)
        made.add_node("empty")
        with self.assertRaisesRegex(ValueError, "'empty': found neither duration_us"):
            sl.from_networkx(made)

    def test_a_sweep_takes_a_graph(self):
        graph = sl.Graph.from_arrays([1.0, 2.0], [(0, 1)])
        spec = {"workload": graph, "machine": ["ideal", "v100"], "policy": ["single_stream", "heft"]}
        swept = sl.sweep(spec)
        self.assertEqual(len(swept), 4)
        self.assertEqual(swept["makespan_us"][0], 3.0)


if __name__ == "__main__":
    unittest.main()
