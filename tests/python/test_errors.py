# SPDX-License-Identifier: Apache-2.0
"""Errors are exceptions with the program's message."""

import pickle
import unittest

import numpy as np
import schedlab as sl
from support import LSTM, ProgramTest


class Errors(ProgramTest):
    def test_a_wrong_spec_has_the_programs_message_and_pointer(self):
        spec = {"workload": LSTM, "machine": "v100", "policy": {"name": "critical_first", "max_stream": 9}}
        path = self.write_spec(spec)
        printed = self.run_program("sweep", path, "--out", self.folder / "out", code=2)
        with self.assertRaises(sl.InputError) as caught:
            sl.sweep(path)
        self.assertEqual(f"error: {caught.exception}\n", printed)
        self.assertEqual(caught.exception.pointer, "/policy/max_stream")
        self.assertIn("max_streams", caught.exception.hint)
        with self.assertRaises(sl.InputError) as caught:
            sl.simulate(LSTM, "v100", sl.policy("critical_first", max_stream=9))
        self.assertEqual(caught.exception.pointer, "/policy/max_stream")

    def test_a_wrong_option_of_a_verb_is_refused_as_on_the_command_line(self):
        path = self.write_spec({"workload": LSTM, "machine": "v100", "policy": "diagonal"})
        with self.assertRaisesRegex(sl.InputError, "timelines"):
            sl.sweep(path, self.folder / "out", timelines="bst")
        with self.assertRaisesRegex(TypeError, "no option 'job'"):
            sl.run_verb("sweep", path, out=self.folder / "out", job=2)
        with self.assertRaisesRegex(sl.InputError, "no such file"):
            sl.sweep(self.folder / "none.json", self.folder / "out")

    def test_what_cannot_run_is_infeasible(self):
        graph = sl.lstm(layers=8, steps=100, batch=16384, hidden=8192)
        with self.assertRaisesRegex(sl.InfeasibleError, "memory"):
            sl.simulate(graph, "v100", memory="check")

    def test_several_scenarios_are_no_one(self):
        with self.assertRaisesRegex(sl.InputError, "2 scenarios"):
            sl.simulate(LSTM, ["v100", "p100"])

    def test_errors_are_exceptions_of_python_and_can_be_pickled(self):
        try:
            sl.simulate(LSTM, "v1000")
        except ValueError as error:
            again = pickle.loads(pickle.dumps(error))
        self.assertIsInstance(again, sl.InputError)
        self.assertEqual(again.pointer, "/machine")

    def test_wrong_types_shapes_and_numbers_of_arrays_are_refused(self):
        make = sl.Graph.from_arrays
        with self.assertRaisesRegex(TypeError, "whole numbers"):
            make([1.0, 2.0], np.array([[0.0, 1.0]]))
        with self.assertRaisesRegex(ValueError, "shape"):
            make([1.0, 2.0], np.array([0, 1, 1]))
        with self.assertRaisesRegex(IndexError, "task 2 of 2"):
            make([1.0, 2.0], [(0, 2)])
        with self.assertRaisesRegex(ValueError, "0 to 4294967294"):
            make([1.0, 2.0], [(0, -1)])
        with self.assertRaisesRegex(ValueError, "durations_us"):
            make([1.0, -2.0])
        with self.assertRaisesRegex(ValueError, "durations_us"):
            make([1.0, float("nan")])
        with self.assertRaisesRegex(TypeError, "numbers"):
            make(["a"])
        with self.assertRaisesRegex(ValueError, "expected one list"):
            make(np.ones((2, 2)))
        with self.assertRaisesRegex(ValueError, "names"):
            make([1.0, 2.0], names=["a"])
        with self.assertRaisesRegex(IndexError, "operation 1 of 1"):
            make([1.0], operation_of=[1])
        with self.assertRaises(sl.InputError):
            make([1.0, 1.0], [(0, 1), (1, 0)])

    def test_an_online_keyword_that_no_spec_has_is_refused(self):
        with self.assertRaisesRegex(sl.InputError, "cost_modl"):
            sl.simulate(LSTM, "v100", cost_modl="roofline")
        with self.assertRaisesRegex(TypeError, "cannot stand in a spec"):
            sl.simulate({**LSTM, "layers": object()}, "v100")
        with self.assertRaisesRegex(TypeError, "policy"):
            sl.simulate(LSTM, "v100", 3)


if __name__ == "__main__":
    unittest.main()
