# SPDX-License-Identifier: Apache-2.0
"""simulate() and compare() say what the program's files say."""

import json
import pickle
import unittest

import numpy as np
import schedlab as sl
from support import LSTM, ProgramTest


class Simulate(ProgramTest):
    def program_run(self, spec):
        """(metrics.json, trace.json, plan.json, timeline.svg) of the program."""
        out = self.folder / "run"
        self.run_program("simulate", self.write_spec(spec), "--out", out, "--overwrite", "--allow-findings")
        texts = [(out / name).read_text() for name in ("metrics.json", "trace.json", "plan.json", "timeline.svg")]
        return texts

    def test_every_policy_gives_the_programs_metrics_trace_plan_and_picture(self):
        for policy in ("single_stream", "diagonal", {"name": "critical_first", "max_streams": 9}, "heft"):
            machine = {"base": "h200", "connections": 8}
            spec = {"name": "lstm", "workload": LSTM, "machine": machine, "policy": policy}
            metrics, trace, plan, timeline = self.program_run(spec)
            options = {"pass_" if name == "pass" else name: value for name, value in LSTM.items() if name != "kind"}
            run = sl.simulate(sl.lstm(**options), sl.machine("h200", connections=8), policy)
            self.assertEqual(run.metrics, json.loads(metrics))
            self.assertEqual(run._core.chrome_json(), trace)
            self.assertEqual(run.plan.to_json(run._core.task_graph), plan)
            self.assertEqual(str(run.timeline()), timeline)
            self.assertEqual(run.makespan_ps, json.loads(metrics)["makespan_ps"])

    def test_other_keys_of_a_spec_count(self):
        parts = {"launch": "graph_launch", "cost_model": "roofline"}
        spec = {"name": "lstm", "workload": LSTM, "machine": "v100", "policy": "diagonal", **parts}
        metrics, *_ = self.program_run(spec)
        self.assertEqual(sl.simulate(LSTM, "v100", "diagonal", name="lstm", **parts).metrics, json.loads(metrics))

    def test_columns_are_those_of_the_trace(self):
        run = sl.simulate(LSTM, "v100", "diagonal")
        tasks = run.tasks
        self.assertEqual(tasks.rows, run.metrics["tasks"])
        self.assertEqual(int(tasks.ended_ps.max()), run._core.spans["ended_ps"].max())
        np.testing.assert_allclose(tasks.started_us, tasks.started_ps / 1e6, rtol=1e-15)
        np.testing.assert_allclose(tasks.duration_us, tasks.ended_us - tasks.started_us, rtol=1e-9)
        self.assertEqual(set(tasks.operation), {"node"})  # as the diagonal policy cuts it
        names = run.graph.names
        document = json.loads(run._core.chrome_json())
        shown = {event["name"] for event in document["traceEvents"] if event.get("cat") == "task"} or None
        if shown is not None:
            self.assertLessEqual(shown, set(names))

    def test_number_columns_are_views_of_the_trace(self):
        run = sl.simulate(LSTM, "v100")
        spans = run.spans
        self.assertIs(spans.base, run._core)
        self.assertFalse(spans.flags.writeable)
        self.assertTrue(np.shares_memory(run.tasks.started_ps, spans))

    def test_a_comparison_has_a_row_for_each_policy(self):
        @sl.as_policy
        def one_stream(p):
            b = sl.PlanBuilder(p, streams=1)
            for task in p.topological():
                b.place(task, 0)
            return b.plan()

        policies = ["single_stream", one_stream, sl.policy("critical_first", max_streams=9)]
        compared = sl.compare(sl.Graph.from_arrays([1.0, 2.0, 3.0], [(0, 2)]), "v100", policies[:2])
        self.assertEqual([run.policy for run in compared], ["single_stream", "one_stream"])
        self.assertEqual(compared[0].makespan_ps, compared[1].makespan_ps)
        compared = sl.compare(LSTM, "h200", policies)
        self.assertEqual(list(compared.table.policy), ["single_stream", "one_stream", "critical_first"])
        alone = sl.simulate(LSTM, "h200", policies[2])
        self.assertEqual(compared["critical_first"].makespan_ps, alone.makespan_ps)
        self.assertEqual(compared.best.makespan_ps, min(run.makespan_ps for run in compared))
        self.assertIn("<table>", compared._repr_html_())
        self.assertIn("<svg", compared.timeline())

    def test_a_pickled_result_says_the_same(self):
        run = sl.simulate(LSTM, "v100", "diagonal")
        for again in (pickle.loads(pickle.dumps(run)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(run))))):
            self.assertEqual(again.numbers(), run.numbers())
            self.assertEqual(again.metrics, run.metrics)
            self.assertEqual(str(again.timeline()), str(run.timeline()))
            for name, column in run.tasks.items():
                np.testing.assert_array_equal(again.tasks[name], column)

    def test_an_explanation_is_that_of_the_programs_folder(self):
        spec = {"name": "lstm", "workload": LSTM, "machine": "v100", "policy": "diagonal"}
        self.program_run(spec)
        self.run_program("explain", self.folder / "run", "--out", self.folder / "why")
        explained = sl.simulate(LSTM, "v100", "diagonal", name="lstm").explain()
        self.assertEqual(explained.summary, json.loads((self.folder / "why" / "explain.json").read_text()))
        columns = self.csv_columns(self.folder / "why" / "explain.csv")
        self.assertEqual(list(explained.gaps), list(columns))
        self.assertEqual(explained.gaps.rows, len(next(iter(columns.values()))))

    def test_perfetto_writes_what_the_program_writes(self):
        spec = {"name": "lstm", "workload": LSTM, "machine": "v100", "policy": "diagonal"}
        _, trace, *_ = self.program_run(spec)
        path = sl.simulate(LSTM, "v100", "diagonal", name="lstm").perfetto(self.folder / "trace.json")
        self.assertEqual(path.read_text(), trace)

    def test_workload_functions_have_the_registrys_options(self):
        import inspect

        for entry in json.loads(self.run_program("list", "workloads", "--json"))["workloads"]:
            if entry["name"] == "file":
                continue
            function = getattr(sl, entry["name"])
            names = [name.rstrip("_") for name in inspect.signature(function).parameters]
            self.assertEqual(names, [option["name"] for option in entry["options"]], entry["name"])
            self.assertIn(entry["summary"], function.__doc__)


if __name__ == "__main__":
    unittest.main()
