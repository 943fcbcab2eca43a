# SPDX-License-Identifier: Apache-2.0
"""Sweeps, searches and verbs: the same options as on the command line, the same results."""

import inspect
import json
import re
import unittest

import numpy as np
import schedlab as sl
from schedlab.verbs import verb_functions
from support import EXPERIMENTS, LSTM, ProgramTest

NOT_COMPARED = {"seconds", "out", "files"}  # what differs from call to call

GRID = {
    "workload": {**LSTM, "layers": [1, 2]},
    "machine": ["v100", {"base": "h200", "connections": [1, 8]}],
    "policy": ["single_stream", "diagonal", {"name": "critical_first", "max_streams": [5, 9]}],
    "baseline": "diagonal",
}


def small_profile():
    """Four kernels on two streams, as PyTorch writes them (Kineto)."""
    events = []
    for number, stream in enumerate((7, 7, 8, 7)):
        launched = 10.0 * number
        common = {"ph": "X", "pid": 1}
        launch = {"name": "cudaLaunchKernel", "cat": "cuda_runtime", "tid": 1, "ts": launched, "dur": 4}
        events.append({**common, **launch, "args": {"correlation": number + 1}})
        kernel = {"name": f"gemm_{number}", "cat": "kernel", "tid": stream, "ts": launched + 8, "dur": 6}
        events.append({**common, **kernel, "pid": 0, "args": {"correlation": number + 1, "device": 0, "stream": stream}})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100"}], "traceEvents": events}


class Sweeps(ProgramTest):
    def expect_columns(self, swept, path):
        columns = self.csv_columns(path)
        self.assertEqual(list(swept.table), list(columns))
        for name, texts in columns.items():
            for value, text in zip(swept[name], texts):
                if text == "":
                    self.assertTrue(value is None or value != value or value == "", (name, value))
                elif isinstance(value, str):
                    self.assertEqual(value, text, name)
                else:
                    self.assertEqual(float(value), float(text), name)

    def test_a_sweep_has_the_programs_results(self):
        path = self.write_spec(GRID)
        self.run_program("sweep", path, "--out", self.folder / "out", "--timelines", "none")
        for swept in (sl.sweep(path, jobs=2), sl.sweep(GRID, jobs=1)):
            self.assertEqual(len(swept), 24)
            self.expect_columns(swept, self.folder / "out" / "results.csv")

    def test_a_sweep_in_a_folder_is_that_of_the_program(self):
        path = self.write_spec(GRID)
        self.run_program("sweep", path, "--out", self.folder / "out", "--timelines", "none")
        swept = sl.sweep(path, self.folder / "mine", timelines="none")
        self.expect_columns(swept, self.folder / "out" / "results.csv")
        self.assertEqual(
            (self.folder / "mine" / "results.csv").read_bytes(), (self.folder / "out" / "results.csv").read_bytes()
        )
        self.assertIn("report.html", swept.outcome.files)
        again = sl.read_sweep(self.folder / "out", self.folder)
        self.expect_columns(again, self.folder / "out" / "results.csv")
        for sweep in (swept, again, sl.sweep(GRID, jobs=1)):
            self.assertEqual(sweep.run(sweep["scenario"][17]).makespan_ps, sweep["makespan_ps"][17])

    def test_a_machine_that_scatters(self):
        spec = {
            "workload": LSTM, "machine": "v100", "policy": ["single_stream", "diagonal"],
            "variability": {"samples": 10, "duration_cv": 0.1},
        }  # fmt: skip
        path = self.write_spec(spec)
        self.run_program("sweep", path, "--out", self.folder / "out", "--timelines", "none")
        self.expect_columns(sl.sweep(path), self.folder / "out" / "results.csv")

    def test_parts_and_numpy_values_stand_in_specs(self):
        spec = {"workload": sl.workload("lstm", layers=np.arange(1, 3), steps=3), "machine": sl.machine("v100"), "policy": [sl.policy("heft")]}  # fmt: skip
        self.assertEqual(list(sl.sweep(spec)["layers"]), [1, 2])

    def test_tables_become_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = sl.sweep({**GRID, "machine": "v100"}).to_pandas()
        self.assertEqual(len(frame), 8)
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame["makespan_ps"].dtype.kind, "i")


class Searches(ProgramTest):
    def test_a_search_finds_the_programs_plan(self):
        spec = {"workload": LSTM, "machine": "h200", "policy": "single_stream"}
        options = ("--seconds", "0", "--evaluations", "300", "--seed", "3")
        self.run_program("search", self.write_spec(spec), "--out", self.folder / "out", *options)
        found = sl.search(LSTM, "h200", seconds=0, evaluations=300, seed=3)
        self.assertEqual(found.summary, json.loads((self.folder / "out" / "search.json").read_text()))
        run = found.run()
        self.assertEqual(run.makespan_us, found.makespan_us)
        self.assertEqual(run.findings, [])
        self.assertLessEqual(found.makespan_us, found.begun_at_us)

    def test_it_begins_with_a_plan_a_result_what_was_found_or_a_file(self):
        # Of the policies none is as good as 300 evaluations: the start decides where it begins.
        best = sl.search(LSTM, "h200", seconds=0, evaluations=300, seed=3)
        starts = [best.plan, best, best.run(), best.save(self.folder / "found") / "plan.json"]
        for start in starts:
            again = sl.search(LSTM, "h200", seconds=0, evaluations=1, start=start)
            self.assertEqual(again.begun_at_us, best.makespan_us)
            self.assertLessEqual(again.makespan_us, best.makespan_us)
        names = sorted(path.name for path in (self.folder / "found").iterdir())
        self.assertEqual(names, ["improvements.csv", "plan.json", "search.json", "search.svg"])

    def test_a_plan_of_another_graph_is_no_start(self):
        loose, chain = sl.Graph.from_arrays([1.0, 2.0]), sl.Graph.from_arrays([1.0, 2.0], [(0, 1)])
        apart = sl.search(loose, "v100", "heft", seconds=0, evaluations=20).plan
        with self.assertRaisesRegex(sl.InputError, "plan checker has 1 findings"):
            sl.search(chain, "v100", seconds=0, evaluations=20, start=apart)
        with self.assertRaisesRegex(sl.InputError, "another number of tasks"):
            sl.search(sl.Graph.from_arrays([1.0]), "v100", seconds=0, evaluations=20, start=apart)

    def test_samples_and_objective_are_those_of_the_program(self):
        spec = {"workload": LSTM, "machine": "h200", "policy": "single_stream", "variability": {"duration_cv": 0.1}}
        options = ("--seconds", "0", "--evaluations", "50", "--samples", "4", "--objective", "p90")
        self.run_program("search", self.write_spec(spec), "--out", self.folder / "out", *options)
        variability = spec["variability"]
        found = sl.search(
            LSTM, "h200", seconds=0, evaluations=50, samples=4, objective="p90", variability=variability
        )
        self.assertEqual(found.summary, json.loads((self.folder / "out" / "search.json").read_text()))
        with self.assertRaisesRegex(ValueError, "mean or p90"):
            sl.search(LSTM, "h200", seconds=1, objective="p50", variability=variability)

    def test_without_a_limit_it_is_refused(self):
        with self.assertRaisesRegex(sl.InputError, "no limit"):
            sl.search(LSTM, "h200", seconds=0)


class Verbs(ProgramTest):
    def test_options_and_defaults_are_those_of_the_command_line(self):
        verbs = verb_functions()
        self.assertGreater(len(verbs), 15)
        for verb, function in verbs.items():
            text = self.run_program(verb, "--help")
            for name, parameter in inspect.signature(function).parameters.items():
                flag = "--" + name.rstrip("_").replace("_", "-")
                lines = [line for line in text.splitlines() if re.search(rf"{flag}(\W|$)", line)]
                positional = re.search(rf"^ +{name.rstrip('_').upper()} ", text, re.MULTILINE)
                self.assertTrue(lines or positional, f"{verb} has no {flag}")
                if lines and parameter.default not in (None, False, inspect.Parameter.empty, ""):
                    self.assertIn(f"={parameter.default}".lower(), lines[0].lower(), f"{verb} {flag}")

    def test_own_functions_have_the_programs_defaults(self):
        for function, verb in ((sl.sweep, "sweep"), (sl.search, "search")):
            declared = inspect.signature(verb_functions()[verb]).parameters
            own = inspect.signature(function).parameters
            known = set(declared) | {"workload", "machine", "policies", "start", "parts"}
            self.assertLessEqual(set(own), known, verb)
            # Of a search: the spec is in three arguments, `start` resumes, Found.save() and .gap do the rest.
            # Parts of a sweep are jobs, processes of the program.
            missing = {
                "search": {"spec", "out", "overwrite", "resume", "max_gap", "require"},
                "sweep": {"no_sensitivity", "print", "require", "shard", "shards", "submit", "time_limit"},
            }[verb]
            self.assertEqual(set(declared) - set(own), missing, verb)
            for name in set(own) & set(declared):
                if own[name].default is not None and name not in ("spec", "out"):
                    self.assertEqual(own[name].default, declared[name].default, name)

    def same(self, ours, theirs):
        """Equal but for what differs from call to call."""
        if isinstance(theirs, dict):
            self.assertEqual(ours.keys(), theirs.keys())
            for key in theirs.keys() - NOT_COMPARED:
                self.same(ours[key], theirs[key])
        else:
            self.assertEqual(ours, theirs)

    def expect_same(self, outcome, *words):
        """The verb's summary and its CSV and JSON files are the program's."""
        out = self.folder / "program"
        printed = self.run_program(*words, "--out", out, "--json")
        self.same(outcome.summary, json.loads(printed))
        compared = 0
        for path in sorted(out.rglob("*")):
            if path.suffix in (".csv", ".svg"):
                self.assertEqual((outcome.folder / path.relative_to(out)).read_bytes(), path.read_bytes(), path.name)
                compared += 1
        self.assertGreater(compared, 0)

    def test_partition(self):
        spec = EXPERIMENTS / "partition.json"
        self.expect_same(sl.partition(spec), "partition", spec)

    def test_plan_parallel(self):
        spec = EXPERIMENTS / "plan_parallel.json"
        self.expect_same(sl.plan_parallel(spec, out=self.folder / "mine"), "plan-parallel", spec)

    def test_buckets(self):
        spec = EXPERIMENTS / "buckets_quick.json"
        outcome = sl.buckets(spec)
        self.expect_same(outcome, "buckets", spec)
        self.assertGreater(outcome.table("buckets.csv").rows, 1)
        self.assertIn("<svg", outcome._repr_html_())

    def test_reproduce(self):
        outcome = sl.reproduce(system="s5", quick=True, out=self.folder / "mine")
        self.expect_same(outcome, "reproduce", "--system", "s5", "--quick")

    def test_predictions_of_a_validation(self):
        spec = EXPERIMENTS / "validate_quick.json"
        options = ["--predict-only", "--device", "cpu", "--host", "preloaded", "--workers", "2"]
        out = self.folder / "program"
        self.run_program("validate", spec, *options, "--out", out)
        outcome = sl.validate(spec, device="cpu", predict_only=True, host="preloaded", workers=2)
        self.assertEqual((outcome.folder / "predictions.csv").read_bytes(), (out / "predictions.csv").read_bytes())

    def test_a_recorded_validation(self):
        recording = next(path for path in (EXPERIMENTS / "recordings").iterdir() if path.is_dir())
        options = {"recording": recording, "machine": recording / "machine.json"}
        missing = [path for path in (recording / "spec.json", recording / "machine.json") if not path.exists()]
        if missing:
            self.skipTest(f"the recording has no {missing[0].name}")
        self.expect_same(
            sl.validate(recording / "spec.json", **options),
            *("validate", recording / "spec.json", "--recording", recording, "--machine", recording / "machine.json"),
        )

    def test_statistics_of_a_graph(self):
        path = sl.Graph.from_arrays([1.0, 2.0, 4.0], [(0, 2)]).save(self.folder / "graph.json")
        printed = self.run_program("graph", path, "--json")
        self.assertEqual(sl.graph_statistics(path).summary, json.loads(printed))

    def test_calibrate_writes_a_machine_that_specs_may_name(self):
        outcome = sl.calibrate("cpu", quick=True, seconds=1, workers=1, out=self.folder / "my_cpu.json")
        self.assertTrue(outcome.ok)
        run = sl.simulate(sl.lstm(layers=1, steps=2, batch=8, hidden=64), self.folder / "my_cpu.json")
        self.assertGreater(run.makespan_us, 0)

    def test_a_profile_is_replayed_and_changed_as_by_the_program(self):
        path = self.write_spec(small_profile(), "rank0.json")
        out = self.folder / "program"
        self.run_program("replay", path, "--what-if", "host=0.5", "--out", out)
        profile = sl.read_profile(path)
        replay = profile.replay()
        self.assertEqual(replay.errors.rows, 4)
        changed = profile.what_if(host=0.5)
        self.assertEqual((changed.outcome.folder / "what_if.csv").read_bytes(), (out / "what_if.csv").read_bytes())
        self.assertIn("<svg", changed.timeline(beside=profile))
        with self.assertRaises(FileNotFoundError):
            sl.read_profile(self.folder / "none.json")
        with self.assertRaises(sl.InputError):
            profile.what_if("scal:gemm=0.5")

    def test_a_failed_bound_is_no_exception_but_not_ok(self):
        path = self.write_spec({**GRID, "machine": "v100"})
        swept = sl.sweep(path, self.folder / "out", max_gap=0, timelines="none")
        self.assertFalse(swept.outcome.ok)
        self.run_program("sweep", path, "--out", self.folder / "again", "--max-gap", "0", "--timelines", "none", code=1)


if __name__ == "__main__":
    unittest.main()
