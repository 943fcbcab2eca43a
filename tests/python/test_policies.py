# SPDX-License-Identifier: Apache-2.0
"""Policies in Python: what they see, what they make, and what becomes of wrong ones."""

import json
import threading
import unittest

import numpy as np
import schedlab as sl
from support import LSTM, ProgramTest


@sl.as_policy
def longest_first(p):
    b = sl.PlanBuilder(p, streams=4)
    for t in p.topological(key=-p.durations_us):
        b.place(t, b.earliest_free())
    return b.plan()


class Policies(ProgramTest):
    def test_a_policy_that_does_what_heft_does_makes_its_plan(self):
        # HEFT on equal processors: by falling upward rank, each on the stream where it ends first.
        @sl.as_policy
        def like_heft(p):
            b = sl.PlanBuilder(p, streams=4)
            for task in p.topological(key=-p.upward_rank_us()):
                b.place_on_earliest_finish(task)
            return b.plan()

        graph = sl.Graph.from_arrays([4.0, 3.0, 2.0, 5.0], [(0, 2), (1, 2), (1, 3)])
        run = sl.simulate(graph, "ideal", like_heft)
        # 1 (3 us) frees 3 (5 us): 8 us; 0 (4 us) then 2 (2 us): 6 us.
        self.assertEqual(run.makespan_us, 8.0)
        self.assertEqual(run.policy, "like_heft")

    def test_its_plan_is_run_as_the_program_runs_it_from_a_file(self):
        run = sl.simulate(LSTM, "v100", longest_first)
        plan = run.save_plan(self.folder / "longest.plan.json")
        spec = {"workload": LSTM, "machine": "v100", "policy": {"name": "plan_file", "path": str(plan)}}
        out = self.folder / "out"
        self.run_program("simulate", self.write_spec(spec), "--out", out)
        metrics = json.loads((out / "metrics.json").read_text())
        self.assertEqual(metrics["makespan_ps"], run.makespan_ps)
        self.assertEqual(sl.simulate(LSTM, "v100", run.plan).makespan_ps, run.makespan_ps)

    def test_it_sees_graph_machine_and_durations(self):
        seen = {}

        @sl.as_policy
        def look(p):
            seen.update(tasks=p.graph.task_count, machine=p.machine, us=p.durations_us, again=p.durations_us, problem=p)
            return longest_first(p)

        graph = sl.Graph.from_arrays([1.5, 2.0], [(0, 1)])
        sl.simulate(graph, sl.machine("v100", connections=8), look)
        self.assertEqual(seen["tasks"], 2)
        self.assertEqual(seen["machine"]["name"], "v100")
        self.assertEqual(seen["machine"]["connections"], 8)
        np.testing.assert_array_equal(seen["us"], [1.5, 2.0])
        self.assertIs(seen["us"], seen["again"])  # made once, no copy
        self.assertFalse(seen["us"].flags.writeable)
        # What it saw lives on after the run.
        self.assertEqual(list(seen["problem"].topological()), [0, 1])
        self.assertEqual(list(seen["problem"].graph.successors(0)), [1])

    def test_orders_are_topological_and_by_key(self):
        p = sl.problem(sl.Graph.from_arrays([1.0, 9.0, 5.0, 7.0], [(0, 3)]), "ideal")
        self.assertEqual(list(p.topological(key=-p.durations_us)), [1, 2, 0, 3])
        self.assertEqual(list(p.upward_rank_us()), [8.0, 9.0, 5.0, 7.0])
        self.assertEqual(list(p.slack_us()), [1.0, 0.0, 4.0, 1.0])
        with self.assertRaisesRegex(ValueError, "one per task"):
            p.topological(key=[1.0])
        with self.assertRaisesRegex(ValueError, "NaN"):
            p.topological(key=[1.0, float("nan"), 0.0, 0.0])

    def test_what_it_raises_comes_back(self):
        class Mine(Exception):
            pass

        @sl.as_policy
        def raises(p):
            raise Mine("no idea")

        with self.assertRaisesRegex(Mine, "no idea"):
            sl.simulate(LSTM, "v100", raises)
        self.assertGreater(sl.simulate(LSTM, "v100", longest_first).makespan_us, 0)

    def test_one_that_calls_for_ever_meets_the_step_limit(self):
        @sl.as_policy
        def forever(p):
            b = sl.PlanBuilder(p, streams=1)
            while True:
                b.earliest_free()

        graph = sl.Graph.from_arrays([1.0, 2.0])
        with self.assertRaisesRegex(sl.InfeasibleError, "12000 calls for 2 tasks"):
            sl.simulate(graph, "v100", forever)
        with self.assertRaisesRegex(sl.InfeasibleError, "77 calls"):
            sl.simulate(graph, "v100", sl.as_policy(forever.function, steps=77))

    def test_one_that_only_loops_meets_its_time(self):
        @sl.as_policy(seconds=0.05)
        def forever(p):
            while True:
                pass

        with self.assertRaisesRegex(sl.PolicyTimeout, "forever has not returned after 0.05 s"):
            sl.simulate(sl.Graph.from_arrays([1.0]), "v100", forever)

    def test_a_plan_that_leaves_out_a_task_is_refused(self):
        @sl.as_policy
        def lazy(p):
            b = sl.PlanBuilder(p, streams=1)
            b.place(0, 0)
            return b.plan()

        with self.assertRaisesRegex(sl.ContractViolation, "not placed|placed"):
            sl.simulate(sl.Graph.from_arrays([1.0, 2.0]), "v100", lazy)

    def test_a_plan_in_a_wrong_order_is_refused_where_it_is_made(self):
        @sl.as_policy
        def backwards(p):
            b = sl.PlanBuilder(p, streams=1)
            b.place(1, 0)
            return b.plan()

        with self.assertRaises(sl.ContractViolation):
            sl.simulate(sl.Graph.from_arrays([1.0, 2.0], [(0, 1)]), "v100", backwards)

    def test_the_checkers_finding_of_a_wrong_plan_comes_back(self):
        # A plan of two independent tasks on two streams, given for a graph where one needs the other.
        loose = sl.simulate(sl.Graph.from_arrays([1.0, 2.0]), "v100", longest_first).plan
        chain = sl.Graph.from_arrays([1.0, 2.0], [(0, 1)])
        with self.assertRaises(sl.FindingsError) as caught:
            sl.simulate(chain, "v100", sl.as_policy(lambda p: loose))
        self.assertEqual([finding["kind"] for finding in caught.exception.findings], ["missing_dependency"])
        with self.assertRaises(sl.FindingsError):
            sl.simulate(chain, "v100", loose)
        self.assertEqual(len(sl.simulate(chain, "v100", loose, allow_findings=True).findings), 1)

    def test_what_is_no_plan_is_refused(self):
        with self.assertRaisesRegex(TypeError, "found int, expected the plan"):
            sl.simulate(sl.Graph.from_arrays([1.0]), "v100", sl.as_policy(lambda p: 3, name="three"))

    def test_a_builder_refuses_unknown_tasks_and_streams_and_a_second_plan(self):
        p = sl.problem(sl.Graph.from_arrays([1.0, 2.0]), "v100")
        b = sl.PlanBuilder(p, streams=2)
        with self.assertRaisesRegex(IndexError, "task 2 of 2"):
            b.place(2, 0)
        with self.assertRaisesRegex(IndexError, "stream 2 of 2"):
            b.place(0, 2)
        with self.assertRaises(TypeError):
            b.place(0.5, 0)
        b.place_all([0, 1], [0, 1])
        self.assertEqual(b.stream_of(1), 1)
        self.assertEqual(b.free_at_us(0), 1.0)
        b.plan()
        with self.assertRaisesRegex(ValueError, "has been made"):
            b.plan()

    def test_priorities_and_joins_are_in_the_plan(self):
        p = sl.problem(sl.Graph.from_arrays([1.0, 2.0, 3.0]), "v100")
        b = sl.PlanBuilder(p)
        first, second = b.add_stream(priority=-1, name="urgent"), b.add_stream(created=True)
        b.place(0, first)
        b.place(1, second, also_after=[0])
        b.place(2, first)
        plan = b.plan("mine")
        self.assertEqual((plan.policy, plan.stream_count, plan.event_count), ("mine", 2, 1))
        document = json.loads(plan.to_json(p.task_graph))
        self.assertIn("urgent", json.dumps(document))

    def test_many_threads_may_simulate_with_policies_of_python(self):
        expected = sl.simulate(LSTM, "v100", longest_first).makespan_ps
        found = []

        def work():
            for _ in range(5):
                found.append(sl.simulate(LSTM, "v100", longest_first).makespan_ps)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 20)

    def test_a_policy_may_simulate(self):
        @sl.as_policy
        def tries(p):
            plans = []
            for streams in (1, 2):
                b = sl.PlanBuilder(p, streams=streams)
                for t in p.topological():
                    b.place(t, b.earliest_free())
                plans.append(b.plan())
            return min(plans, key=lambda plan: sl.simulate(graph, "v100", plan).makespan_ps)

        graph = sl.Graph.from_arrays([5.0, 5.0])
        self.assertLess(sl.simulate(graph, "v100", tries).makespan_us, 20)


if __name__ == "__main__":
    unittest.main()
