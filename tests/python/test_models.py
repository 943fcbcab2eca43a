# SPDX-License-Identifier: Apache-2.0
"""Graphs of models: PyTorch modules and ONNX files."""

import unittest

import schedlab as sl
from support import ProgramTest

try:
    import torch
except ImportError:
    torch = None
try:
    import onnx
except ImportError:
    onnx = None


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(ProgramTest):
    def test_a_perceptron(self):
        net = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
        graph = sl.from_torch(net, torch.zeros(64, 512))
        first, relu, second = graph.operations
        self.assertEqual([each["kind"] for each in graph.operations], ["gemm", "pointwise", "gemm"])
        # C[64, 1024] += A[64, 512] * B[512, 1024]: 2 * 64 * 1024 * 512; reads A, B and the bias.
        self.assertEqual(first["flops"], 2 * 64 * 1024 * 512)
        self.assertEqual(first["bytes_read"], 4 * (64 * 512 + 512 * 1024 + 1024))
        self.assertEqual(first["bytes_written"], 4 * 64 * 1024)
        self.assertEqual(relu["flops"], 64 * 1024)
        self.assertEqual(second["flops"], 2 * 64 * 10 * 1024)
        self.assertEqual([list(array) for array in graph.edges], [[0, 1], [1, 2]])
        self.assertGreater(sl.simulate(graph, "v100").makespan_us, 0)

    def test_a_convolution_and_branches(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.left = torch.nn.Conv2d(16, 32, 3, padding=1, groups=2)
                self.right = torch.nn.Conv2d(16, 32, 1)

            def forward(self, x):
                return torch.flatten(self.left(x) + self.right(x), 1).softmax(-1)

        graph = sl.from_torch(Net(), torch.zeros(8, 16, 28, 28))
        kinds = [graph.operations[number]["kind"] for number in graph.operation_of]
        self.assertEqual(kinds, ["convolution", "convolution", "pointwise", "reduction"])
        # Two groups: 8 places x 28 x 28 rows, 16 columns each, 8 channels x 9 behind each.
        self.assertEqual(graph.operations[0]["flops"], 2 * (8 * 28 * 28) * 16 * (8 * 9) * 2)
        self.assertEqual([list(array) for array in graph.edges], [[0, 1, 2], [2, 2, 3]])
        compared = sl.compare(graph, "h200", ["single_stream", "heft"])
        self.assertLessEqual(compared.best.makespan_ps, compared[0].makespan_ps)

    def test_products_of_batches(self):
        class Net(torch.nn.Module):
            def forward(self, q, k):
                return q @ k.transpose(-1, -2)

        graph = sl.from_torch(Net(), torch.zeros(4, 8, 32, 64), torch.zeros(4, 8, 32, 64))
        self.assertEqual(graph.task_count, 1)
        self.assertEqual(graph.operations[0]["flops"], 4 * 8 * 2 * 32 * 32 * 64)

    def test_a_recurrent_module_is_refused(self):
        with self.assertRaisesRegex(sl.InputError, "lstm"):
            sl.from_torch(torch.nn.Sequential(torch.nn.LSTM(8, 8)), torch.zeros(3, 2, 8))


@unittest.skipIf(onnx is None, "the package onnx is not installed")
class Onnx(ProgramTest):
    def test_a_product_and_its_activation(self):
        helper, float_type = onnx.helper, onnx.TensorProto.FLOAT
        weights = helper.make_tensor("w", float_type, [512, 256], [0.0] * (512 * 256))
        graph = helper.make_graph(
            [
                helper.make_node("MatMul", ["x", "w"], ["y"]),
                helper.make_node("Relu", ["y"], ["z"]),
                helper.make_node("Reshape", ["z", "shape"], ["out"]),
            ],
            "small",
            [helper.make_tensor_value_info("x", float_type, [64, 512])],
            [helper.make_tensor_value_info("out", float_type, [16384])],
            [weights, helper.make_tensor("shape", onnx.TensorProto.INT64, [1], [16384])],
        )
        path = self.folder / "small.onnx"
        onnx.save(helper.make_model(graph), str(path))
        made = sl.from_onnx(path)
        self.assertEqual(made.names, ["y", "z"])
        self.assertEqual([each["flops"] for each in made.operations], [2 * 64 * 256 * 512, 64 * 256])
        self.assertEqual(made.operations[0]["bytes_read"], 4 * (64 * 512 + 512 * 256))
        self.assertEqual(made.edge_count, 1)

    def test_a_recurrent_operator_and_an_open_shape_are_refused(self):
        helper, float_type = onnx.helper, onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "open",
            [helper.make_tensor_value_info("x", float_type, ["batch", 8])],
            [helper.make_tensor_value_info("y", float_type, ["batch", 8])],
        )
        path = self.folder / "open.onnx"
        onnx.save(helper.make_model(graph), str(path))
        with self.assertRaisesRegex(sl.InputError, "no fixed shape of x"):
            sl.from_onnx(path)


if __name__ == "__main__":
    unittest.main()
