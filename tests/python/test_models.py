# SPDX-License-Identifier: Apache-2.0
"""Graphs of models: PyTorch modules and ONNX files."""

import unittest

import numpy as np
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
        self.assertEqual(first["name"], "addmm")
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

    def flops_by_kind(self, graph):
        """Kind to (tasks, FLOPs)."""
        found = {}
        for number in graph.operation_of:
            of = graph.operations[number]
            tasks, flops = found.get(of["kind"], (0, 0))
            found[of["kind"]] = (tasks + 1, flops + of["flops"])
        return found

    def test_a_residual_block_that_halves_the_picture(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Conv2d(64, 128, 3, stride=2, padding=1, bias=False)
                self.second = torch.nn.Conv2d(128, 128, 3, padding=1, bias=False)
                self.short = torch.nn.Conv2d(64, 128, 1, stride=2, bias=False)
                self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(128) for _ in range(3))
                self.relu = torch.nn.ReLU(inplace=True)

            def forward(self, x):
                y = self.relu(self.norms[0](self.first(x)))
                y = self.norms[1](self.second(y))
                y += self.norms[2](self.short(x))
                return self.relu(y)

        block = Block()
        graph = sl.from_torch(block.eval(), torch.zeros(8, 64, 56, 56))
        places = 8 * 28 * 28  # of the output, in the batch
        convolutions = 2 * places * 128 * (64 * 9) + 2 * places * 128 * (128 * 9) + 2 * places * 128 * 64
        numbers = places * 128
        expected = {"convolution": (3, convolutions), "reduction": (3, 3 * numbers), "pointwise": (3, 3 * numbers)}
        self.assertEqual(self.flops_by_kind(graph), expected)
        names = graph.names
        # Two ways to the sum: convolution, norm, relu, convolution, norm; and the short one.
        self.assertEqual([len(graph.predecessors(task)) for task in range(9)], [0, 1, 1, 1, 1, 0, 1, 2, 1], names)
        first = graph.operations[graph.operation_of[0]]
        self.assertEqual(first["bytes_read"], 4 * (8 * 64 * 56 * 56 + 128 * 64 * 9))
        self.assertEqual(first["bytes_written"], 4 * numbers)
        # In training each norm counts its batches, too: a kernel on one number.
        trained = self.flops_by_kind(sl.from_torch(block.train(), torch.zeros(8, 64, 56, 56)))
        self.assertEqual(trained["pointwise"], (6, 3 * numbers + 3))
        self.assertEqual(int(block.norms[0].num_batches_tracked), 0)

    def test_an_encoder_layer_of_a_transformer(self):
        batch, words, width, heads, inner = 2, 16, 64, 4, 256
        layer = torch.nn.TransformerEncoderLayer(width, heads, inner, batch_first=True).eval()
        found = self.flops_by_kind(sl.from_torch(layer, torch.zeros(batch, words, width)))
        rows = batch * words
        products = 2 * rows * width * 3 * width  # queries, keys, values at once
        products += 2 * (2 * batch * words * words * width)  # all heads: scores, and their sums of values
        products += 2 * rows * width * width + 2 * (2 * rows * width * inner)
        self.assertEqual(found["gemm"], (6, products))
        # A softmax over the scores of all heads, two norms.
        self.assertEqual(found["reduction"], (3, batch * heads * words * words + 2 * rows * width))
        self.assertEqual(set(found), {"gemm", "reduction", "pointwise"})

    def test_an_lstm_is_cut_into_steps(self):
        layers, steps, batch, inputs, hidden = 2, 5, 4, 8, 16
        net = torch.nn.LSTM(inputs, hidden, layers)
        graph = sl.from_torch(net, torch.zeros(steps, batch, inputs))
        gates = 4 * hidden
        # A layer: one product of all inputs, one of the state in each step.
        products = 2 * steps * batch * gates * (inputs + hidden + layers * hidden)
        self.assertEqual(self.flops_by_kind(graph)["gemm"], (layers * (1 + steps), products))
        # The last task needs all steps of both layers, one after the other: per layer and step the
        # product, its sum with the inputs' and the gates on a chain, so no plan is shorter than these.
        self.assertGreaterEqual(int(max(graph.levels)), 5 * (steps + layers - 1))
        # A gate waits for the sum that it is a view of and for no other gate.
        names = graph.names
        of = {name: sorted(names[need] for need in graph.predecessors(task)) for task, name in enumerate(names)}
        for gate in ("sigmoid_", "sigmoid__1", "tanh_", "sigmoid__2"):
            self.assertEqual(of[gate], ["add_"])

    def test_writes_in_place_keep_their_order(self):
        class Net(torch.nn.Module):
            def forward(self, x):
                a = x + 1
                row = a[0]
                before = row * 2
                a.mul_(3)
                return before, row.exp()

        graph = sl.from_torch(Net(), torch.zeros(4, 8))
        self.assertEqual(graph.names, ["add", "mul", "mul_", "exp"])
        # mul reads a row of the sum before mul_ overwrites it; exp reads the row afterwards.
        self.assertEqual([list(graph.predecessors(task)) for task in range(4)], [[], [0], [0, 1], [0, 2]])

    def test_nothing_is_computed_on_the_device_meta(self):
        net = torch.nn.Linear(1 << 16, 1 << 16, device="meta")  # 16 GiB if it were there
        graph = sl.from_torch(net, torch.zeros(1 << 10, 1 << 16, device="meta"), data_type="bf16")
        self.assertEqual(graph.operations[0]["flops"], 2 * (1 << 42))

    def test_a_transposed_convolution_and_an_embedding(self):
        net = torch.nn.ConvTranspose2d(16, 32, 3, stride=2, groups=4)
        graph = sl.from_torch(net, torch.zeros(2, 16, 10, 10))
        self.assertEqual(graph.operations[0]["flops"], 2 * (2 * 16 * 10 * 10) * (32 // 4) * 9)
        graph = sl.from_torch(torch.nn.Embedding(1000, 64), torch.zeros(8, dtype=torch.long))
        only = graph.operations[0]
        self.assertEqual((only["flops"], only["bytes_read"], only["bytes_written"]), (0, 8 * 8 + 4 * 8 * 64, 4 * 8 * 64))

    def test_an_operator_that_is_not_known_is_refused_or_counted_as_told(self):
        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.fft.fft(x)

        with self.assertRaisesRegex(sl.InputError, "operator aten._fft_r2c.*\n.*fallback"):
            sl.from_torch(Net(), torch.zeros(4, 8))
        graph = sl.from_torch(Net(), torch.zeros(4, 8), fallback="pointwise")
        self.assertEqual(graph.operations[0]["flops"], 4 * 8)


@unittest.skipIf(onnx is None, "the package onnx is not installed")
class Onnx(ProgramTest):
    def graph(self, nodes, inputs, outputs, weights=()):
        """An ONNX graph; of inputs and outputs the shapes."""
        helper, float_type = onnx.helper, onnx.TensorProto.FLOAT
        inputs, outputs = (
            [helper.make_tensor_value_info(name, float_type, dims) for name, dims in each.items()]
            for each in (inputs, outputs)
        )
        return helper.make_graph(nodes, "small", inputs, outputs, weights)

    def read(self, graph, **options):
        """What the package makes of it as a file."""
        path = self.folder / "graph.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), str(path))
        return sl.from_onnx(path, **options)

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
        made = self.read(graph)
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
        with self.assertRaisesRegex(sl.InputError, "no fixed shape of x"):
            self.read(graph)
        nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)]
        weights = [helper.make_tensor(name, float_type, [1, 16, n], [0.0] * 16 * n) for name, n in (("w", 8), ("r", 4))]
        with self.assertRaisesRegex(sl.InputError, "operator LSTM.*\n.*lstm\\(\\)"):
            self.read(self.graph(nodes, {"x": [5, 2, 8]}, {"y": [5, 1, 2, 4]}, weights))
        unknown = self.graph([helper.make_node("Det", ["x"], ["y"])], {"x": [7, 3, 3]}, {"y": [7]})
        with self.assertRaisesRegex(sl.InputError, "operator Det"):
            self.read(unknown)
        self.assertEqual(self.read(unknown, fallback="pointwise").operations[0]["flops"], 7)

    def test_a_small_network_with_a_residual(self):
        helper, float_type = onnx.helper, onnx.TensorProto.FLOAT
        node = helper.make_node
        nodes = [
            node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
            node("BatchNormalization", ["a", "s", "s", "s", "s"], ["b"]),
            node("Relu", ["b"], ["c"]),
            node("Conv", ["c", "w2"], ["d"], pads=[1, 1, 1, 1], group=2),
            node("Add", ["d", "x"], ["e"]),
            node("GlobalAveragePool", ["e"], ["f"]),
            node("Flatten", ["f"], ["g"]),
            node("Gemm", ["g", "w3"], ["h"], transB=1),
            node("Softmax", ["h"], ["out"]),
        ]
        sizes = {"w1": [16, 16, 3, 3], "w2": [16, 8, 3, 3], "w3": [10, 16], "s": [16]}
        weights = [
            helper.make_tensor(name, float_type, dims, np.zeros(dims, np.float32).ravel()) for name, dims in sizes.items()
        ]
        made = self.read(self.graph(nodes, {"x": [4, 16, 8, 8]}, {"out": [4, 10]}, weights))
        self.assertEqual(made.names, ["a", "b", "c", "d", "e", "f", "h", "out"])
        numbers = 4 * 16 * 8 * 8
        flops = [made.operations[number]["flops"] for number in made.operation_of]
        convolutions = (2 * numbers * 16 * 9, 2 * numbers * 8 * 9)
        expected = [convolutions[0], numbers, numbers, convolutions[1], numbers, numbers, 2 * 4 * 10 * 16, 4 * 10]
        self.assertEqual(flops, expected)
        self.assertEqual([list(array) for array in made.edges], [[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
        self.assertGreater(sl.simulate(made, "h200", "heft").makespan_us, 0)

    def test_attention_whose_shapes_are_computed_by_the_file(self):
        helper, float_type = onnx.helper, onnx.TensorProto.FLOAT
        node = helper.make_node
        nodes = [
            node("Shape", ["q"], ["of_q"]),
            node("Cast", ["of_q"], ["as_floats"], to=float_type),  # folded: it depends on shapes alone
            node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
            node("MatMul", ["q", "kt"], ["scores"]),
            node("Div", ["scores", "eight"], ["scaled"]),
            node("Softmax", ["scaled"], ["weights"]),
            node("MatMul", ["weights", "v"], ["sums"]),
            node("Split", ["sums"], ["left", "right"], axis=2),
            node("Mul", ["left", "right"], ["out"]),
        ]
        inputs = {name: [6, 32, 64] for name in "qkv"}
        eight = helper.make_tensor("eight", float_type, [1], [8.0])
        made = self.read(self.graph(nodes, inputs, {"out": [6, 32, 32]}, [eight]))
        self.assertEqual(made.names, ["kt", "scores", "scaled", "weights", "sums", "left", "out"])
        of = dict(zip(made.names, (made.operations[number] for number in made.operation_of)))
        product = 6 * 2 * 32 * 32 * 64
        self.assertEqual([of[name]["flops"] for name in ("kt", "scores", "sums", "left")], [0, product, product, 0])
        self.assertEqual(of["left"]["bytes_written"], 4 * 6 * 32 * 64)  # both halves
        self.assertEqual(list(made.predecessors(6)), [5])


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Layers(ProgramTest):
    def resnet50(self):
        class Bottleneck(torch.nn.Module):
            def __init__(self, channels, width, stride):
                super().__init__()
                nn = torch.nn
                self.body = nn.Sequential(
                    *(nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
                    *(nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
                    *(nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)),
                )
                self.short = None
                if stride != 1 or channels != 4 * width:
                    conv = nn.Conv2d(channels, 4 * width, 1, stride, bias=False)
                    self.short = nn.Sequential(conv, nn.BatchNorm2d(4 * width))

            def forward(self, x):
                return torch.relu(self.body(x) + (x if self.short is None else self.short(x)))

        nn = torch.nn
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
            for block in range(blocks):
                layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
                channels = 4 * width
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))

    def partition(self, layers, **more):
        spec = {"schedlab": "partition", "version": 1, "layers": layers, "machine": "v100", "accelerators": 4, **more}
        return sl.partition(spec).summary["rows"][0]

    def test_a_resnet_is_cut_into_stages_as_ours_is(self):
        path = self.folder / "resnet.json"
        made = sl.layers_from_torch(self.resnet50(), torch.zeros(16, 3, 224, 224), path=path, optimizer="sgd")
        self.assertEqual(sum(each["parameter_bytes"] for each in made["layers"]), 4 * 25_557_032)
        self.assertEqual(made["samples"], 16)
        products = [
            kernel["flops"]
            for each in made["layers"]
            for kernel in each["forward_kernels"]
            if kernel["kind"] in ("convolution", "gemm")
        ]
        self.assertEqual(len(products), 54)
        self.assertEqual(sum(products), 16 * 2 * 4_089_184_256)
        file, kind = {"kind": "file", "path": str(path)}, {"kind": "resnet50", "samples": 16}
        theirs, ours = self.partition(file), self.partition(kind)
        self.assertEqual((theirs["used"], theirs["method"]), (4, "exact"))
        self.assertLess(abs(theirs["load_us"] / ours["load_us"] - 1), 0.05)
        whole = [self.partition(layers, accelerators=1)["largest_memory_bytes"] for layers in (file, kind)]
        self.assertLess(abs(whole[0] / whole[1] - 1), 0.06)
        names = [name for stage in theirs["stages"] for name in stage["layers"]]
        self.assertEqual(len(names), len(set(names)))

    def test_its_stages_are_simulated_and_planned(self):
        path = self.folder / "small.json"
        net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(6)))
        made = sl.layers_from_torch(net, torch.zeros(256, 1024), path=path)
        self.assertEqual([each["name"] for each in made["layers"]], ["0", "1", "2", "3", "4", "5"])
        first, second = made["layers"][:2]
        # The image needs no gradient; dW[1024, 1024] += X^T dY, dX = dY W^T.
        self.assertNotIn("backward_data_kernels", first)
        (weight,), (data,) = first["backward_weight_kernels"], second["backward_data_kernels"]
        self.assertEqual((weight["m"], weight["n"], weight["k"]), (1024, 1024, 256))
        self.assertEqual((data["m"], data["n"], data["k"]), (256, 1024, 1024))
        self.assertEqual(second["needs"], ["0"])
        workload = {"kind": "layer_file_pipeline", "path": path, "stages": 3, "microbatches": 4}
        self.assertGreater(sl.simulate(workload, "h200", "pipeline_1f1b").makespan_us, 0)
        slices = {"kind": "layer_file_training", "path": path, "batch": 1024, "split": 4}
        self.assertGreater(sl.simulate(slices, "sw26010_pro", "successor_first").makespan_us, 0)
        plan = sl.plan_parallel(
            {
                **{"schedlab": "parallel", "version": 1, "layers": {"kind": "file", "path": str(path)}},
                **{"machine": "h200", "devices": 4, "batch": 2048},
            }
        )
        self.assertTrue(plan.summary["proven"])

    def test_a_transformer_and_an_lstm(self):
        encoder = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        made = sl.layers_from_torch(encoder, torch.zeros(2, 10, 64), path=self.folder / "encoder.json")
        parameters = sum(each.numel() for each in encoder.parameters())
        self.assertEqual(sum(each["parameter_bytes"] for each in made["layers"]), 4 * parameters)
        row = self.partition({"kind": "file", "path": str(self.folder / "encoder.json")}, accelerators=2)
        self.assertEqual(row["method"], "exact")
        lstm = torch.nn.LSTM(32, 64)
        made = sl.layers_from_torch(lstm, torch.zeros(5, 2, 32), path=self.folder / "lstm.json")
        parameters = sum(each.numel() for each in lstm.parameters())
        self.assertEqual(sum(each["parameter_bytes"] for each in made["layers"]), 4 * parameters)
        self.partition({"kind": "file", "path": str(self.folder / "lstm.json")}, accelerators=2)

    @unittest.skipIf(onnx is None, "the package onnx is not installed")
    def test_an_onnx_file(self):
        helper, real = onnx.helper, onnx.TensorProto.FLOAT
        weights = [
            helper.make_tensor("w0", real, (32, 64), np.zeros(32 * 64)),
            helper.make_tensor("w1", real, (64, 10), np.zeros(64 * 10)),
        ]
        nodes = [
            helper.make_node("MatMul", ["x", "w0"], ["h"], "first"),
            helper.make_node("Relu", ["h"], ["a"], "relu"),
            helper.make_node("MatMul", ["a", "w1"], ["y"], "second"),
        ]
        x, y = (helper.make_tensor_value_info(name, real, shape) for name, shape in (("x", (8, 32)), ("y", (8, 10))))
        file = self.folder / "net.onnx"
        onnx.save(helper.make_model(helper.make_graph(nodes, "net", [x], [y], weights)), str(file))
        made = sl.layers_from_onnx(file, samples=8, path=self.folder / "onnx.json")
        first, second = made["layers"]
        self.assertEqual((first["name"], first["parameter_bytes"], first["kept_bytes"]), ("w0", 4 * 32 * 64, 4 * 8 * 64))
        self.assertEqual((second["name"], second["needs"]), ("w1", ["w0"]))
        self.partition({"kind": "file", "path": str(self.folder / "onnx.json")}, accelerators=2)


if __name__ == "__main__":
    unittest.main()
