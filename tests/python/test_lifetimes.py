# SPDX-License-Identifier: Apache-2.0
"""Nothing dangles, nothing leaks, threads and Ctrl-C."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import schedlab as sl
from support import LSTM, ProgramTest


LARGE = {
    "workload": {**LSTM, "layers": [4, 5, 6, 7], "steps": [30, 40, 50]},
    "machine": ["v100", "p100", "h200"],
    "policy": ["heft", "diagonal", "critical_first"],
}


def interrupt():
    """Ctrl-C for this process, as a terminal gives it."""
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_after(warm_up):
    """Ctrl-C once a call that takes longer than this one is well under way, however slow this computer is."""
    begun = time.monotonic()
    warm_up()
    threading.Timer(0.5 + 2 * (time.monotonic() - begun), interrupt).start()


def search_long(**limits):
    """A search that goes on for ten minutes unless it is told otherwise."""
    return sl.search({**LSTM, "layers": 4, "steps": 20}, "h200", **(limits or {"seconds": 600}))


def resident_kib():
    """Memory of this process now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Lifetimes(ProgramTest):
    def test_a_trace_outlives_everything_it_was_made_of(self):
        spans = sl.simulate(sl.Graph.from_arrays([1.0] * 1000), "v100").spans
        copy = np.array(spans)
        gc.collect()
        for _ in range(20):
            sl.simulate(sl.Graph.from_arrays([2.0] * 1000), "v100")
        np.testing.assert_array_equal(spans, copy)

    def test_a_plan_outlives_its_run_and_a_graph_its_problem(self):
        plan = sl.simulate(LSTM, "v100", "diagonal").plan
        graph = sl.problem(LSTM, "v100", "coarse").graph
        gc.collect()
        self.assertEqual(plan.policy, "diagonal")
        self.assertEqual(plan.task_count, graph.task_count)

    @unittest.skipIf("SCHEDLAB_SANITIZED" in os.environ, "a sanitizer keeps what is freed")
    def test_a_thousand_sweeps_leave_memory_flat(self):
        spec = {
            "workload": {"kind": "fork_join", "stages": 2, "width": [2, 3]},
            "machine": "ideal",
            "policy": ["single_stream", "heft"],
        }
        for _ in range(300):
            sl.sweep(spec, jobs=1)
        gc.collect()
        before = resident_kib()
        for _ in range(1000):
            sl.sweep(spec, jobs=1)
        gc.collect()
        # A leak of one result (its 4 rows are over 1 KiB) would be 1,000 KiB and more.
        self.assertLess(resident_kib() - before, 900)

    @unittest.skipIf("SCHEDLAB_SANITIZED" in os.environ, "a sanitizer keeps what is freed")
    def test_policies_and_results_leave_memory_flat(self):
        @sl.as_policy
        def mine(p):
            b = sl.PlanBuilder(p, streams=2)
            b.place_all(p.topological(), np.zeros(p.graph.task_count, np.uint32))
            return b.plan()

        def once():
            run = sl.simulate(graph, "v100", mine)
            return run.tasks, run.metrics

        graph = sl.Graph.from_arrays([1.0] * 100)
        for _ in range(200):
            once()
        before = resident_kib()
        for _ in range(500):
            once()
        # The spans of one run alone are 4 KiB.
        self.assertLess(resident_kib() - before, 1500)

    def test_threads_simulate_at_once_and_agree(self):
        expected = sl.simulate(LSTM, "v100", "diagonal").makespan_ps
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(sl.simulate(LSTM, "v100", "diagonal").makespan_ps))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 8)

    def test_other_threads_run_while_the_engine_works(self):
        count = 0
        done = threading.Event()

        def counts():
            nonlocal count
            while not done.is_set():
                count += 1
                time.sleep(0.001)

        thread = threading.Thread(target=counts)
        thread.start()
        spec = {"workload": {**LSTM, "layers": list(range(1, 9))}, "machine": ["v100", "p100"], "policy": "heft"}
        before = count
        sl.sweep(spec, jobs=1)
        while_working = count - before
        done.set()
        thread.join()
        self.assertGreater(while_working, 0)

    def test_control_c_ends_a_search_and_keeps_the_best_plan(self):
        before = signal.getsignal(signal.SIGINT)
        interrupt_after(lambda: search_long(seconds=0, evaluations=1))
        with self.assertRaises(KeyboardInterrupt) as caught:
            search_long()
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        found = caught.exception.result
        self.assertTrue(found.interrupted)
        self.assertLess(found.seconds, 300)
        self.assertLessEqual(found.makespan_us, found.begun_at_us)
        self.assertEqual(found.run().makespan_us, found.makespan_us)
        self.assertFalse(sl.search(LSTM, "h200", seconds=0, evaluations=20).interrupted)

    def test_control_c_keeps_the_rows_of_a_sweep_that_are_done(self):
        spec = {**LARGE, "workload": {**LARGE["workload"], "batch": list(range(16, 80))}}
        interrupt_after(lambda: sl.sweep(LARGE, jobs=1))
        with self.assertRaises(KeyboardInterrupt) as caught:
            sl.sweep(spec, jobs=1)
        swept = caught.exception.result
        self.assertTrue(swept.interrupted)
        self.assertLess(len(swept), 64 * 108)
        self.assertGreater(len(swept), 0)
        self.assertEqual(list(swept["scenario"]), sorted(swept["scenario"]))
        self.assertTrue((swept["makespan_ps"] > 0).all())

    def test_a_handler_that_raises_nothing_gets_a_result_marked_interrupted(self):
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        try:
            interrupt_after(lambda: search_long(seconds=0, evaluations=1))
            found = search_long()
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(heard, [1])
        self.assertTrue(found.interrupted)
        self.assertIn("interrupted", repr(found))

    def test_control_c_of_a_terminal_ends_a_program_that_saves_what_there_is(self):
        program = (
            "import sys, time, schedlab as sl\n"
            "case = sl.lstm(layers=4, steps=20, batch=64, hidden=256, pass_='backward'), 'h200'\n"
            "begun = time.monotonic()\n"
            "sl.search(*case, seconds=0, evaluations=1)\n"
            "print(time.monotonic() - begun, flush=True)\n"
            "try:\n"
            "    sl.search(*case, seconds=600)\n"
            "except KeyboardInterrupt as stopped:\n"
            "    print(stopped.result.save(sys.argv[1]))\n"
            "    raise\n"
        )
        out = self.folder / "found"
        words = [sys.executable, "-c", program, out]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            time.sleep(0.5 + 2 * float(child.stdout.readline()))
            child.send_signal(signal.SIGINT)
            printed, errors = child.communicate(timeout=60)
        self.assertEqual(printed, f"{out}\n", errors)
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertTrue((out / "plan.json").exists())

    def test_an_interrupted_sweep_in_a_folder_can_go_on(self):
        out = self.folder / "out"
        path = self.write_spec({**LARGE, "workload": {**LARGE["workload"], "batch": list(range(16, 24))}})
        threading.Timer(0.6, interrupt).start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            sl.sweep(path, out, jobs=1)
            time.sleep(0.5)  # it was too quick: the signal comes now
        if not hasattr(caught.exception, "result"):
            self.skipTest("interrupted before the first row, or after the last")
        self.assertTrue(caught.exception.result.interrupted)
        self.assertEqual(caught.exception.result.folder, out)
        self.assertLess(len(caught.exception.result), 8 * 108)
        swept = sl.sweep(path, out, resume=True, timelines="none")
        self.assertEqual(len(swept), 8 * 108)


if __name__ == "__main__":
    unittest.main()
