# SPDX-License-Identifier: Apache-2.0
"""Task graphs of models: forward passes of PyTorch modules and ONNX files, from their shapes."""

from __future__ import annotations

import json
from math import prod

from .errors import InputError
from .graphs import Graph


class _Model:
    """Collects tasks of one kernel each; values without work are what they were made of."""

    def __init__(self, data_type):
        self.data_type = data_type
        self.operations, self.numbers, self.tasks, self.makers = [], {}, [], {}

    def passes_on(self, value, sources):
        """The value is there when its sources are."""
        self.makers[value] = sorted({task for source in sources for task in self.makers.get(source, ())})

    def add(self, value, operation, kernel, sources, bytes_read, bytes_written):
        """A task that makes a value of others."""
        kernel = {
            "data_type": self.data_type,
            **kernel,
            "bytes_read": int(bytes_read),
            "bytes_written": int(bytes_written),
        }
        described = {"name": operation, "kind": kernel["kind"], "kernels": [kernel]}
        key = json.dumps(described, sort_keys=True)
        if key not in self.numbers:
            self.numbers[key] = len(self.operations)
            self.operations.append(described)
        self.passes_on(value, sources)
        task = {"name": value, "operation": self.numbers[key], "needs": self.makers[value]}
        self.tasks.append(task)
        self.makers[value] = [len(self.tasks) - 1]

    def graph(self, name):
        """The graph of all tasks."""
        return Graph.from_dict({"operations": self.operations, "tasks": self.tasks}, name)


def _product(m, n, k, times=1):
    return {"kind": "gemm", "m": int(m), "n": int(n), "k": int(k), "flops": 2 * int(m) * int(n) * int(k) * int(times)}


def _convolution(out, groups, inner):
    """`out`: (batch, channels, places...); `inner`: products behind each number of the output."""
    m, n = out[0] * prod(out[2:]), out[1] // groups
    return {**_product(m, n, inner, groups), "kind": "convolution"}


def _rows(shape):
    return {"kind": "reduction", "m": prod(shape[:-1]), "n": shape[-1] if shape else 1, "flops": prod(shape)}


def _each(shape):
    return {"kind": "pointwise", "flops": prod(shape)}


# Names of functions, methods and modules of PyTorch, lower case.
_FREE = {
    "view", "reshape", "flatten", "transpose", "permute", "contiguous", "getitem", "getattr", "size", "unsqueeze",
    "squeeze", "dropout", "identity", "t", "chunk", "split", "expand", "detach", "dim", "unflatten",
}  # fmt: skip
_PRODUCTS = {"matmul", "bmm", "mm", "addmm", "baddbmm", "einsum"}
_REDUCTIONS = {
    "softmax", "log_softmax", "layernorm", "layer_norm", "batchnorm1d", "batchnorm2d", "batchnorm3d", "groupnorm", "sum",
    "mean", "max", "amax", "maxpool2d", "avgpool2d", "adaptiveavgpool2d", "adaptive_avg_pool2d", "max_pool2d",
}  # fmt: skip
_REFUSED = {"lstm", "gru", "rnn", "multiheadattention", "transformer", "scaled_dot_product_attention"}


def _tensors(meta):
    if meta is None:
        return []
    return [meta] if hasattr(meta, "shape") else [each for part in meta for each in _tensors(part)]



class _Shape:
    """What is used of a tensor; older versions of PyTorch do not know the size of a type's elements."""

    def __init__(self, torch, shape, dtype):
        self.shape = tuple(shape)
        self.itemsize = torch.empty((), dtype=dtype).element_size()

    @property
    def bytes(self):
        return prod(self.shape) * self.itemsize


def _torch_kernel(name, module, out, sources):
    if name in _REFUSED:
        raise InputError(
            f"from_torch: found a {name}, expected modules of one kernel each\n  schedlab.lstm() and gru() cut them as"
            " libraries do"
        )
    if name == "linear":
        inner = module.in_features if module is not None else sources[0].shape[-1]
        return _product(prod(out[:-1]), out[-1], inner)
    if module is not None and name.startswith("conv") and hasattr(module, "kernel_size"):
        return _convolution(out, module.groups, module.in_channels // module.groups * prod(module.kernel_size))
    if name in _PRODUCTS and len(out) >= 2 and sources:
        left = sources[1] if name in ("addmm", "baddbmm") and len(sources) > 2 else sources[0]
        return _product(out[-2], out[-1], left.shape[-1], prod(out[:-2]))
    if name in _REDUCTIONS:
        return _rows(sources[0].shape if sources else out)
    return _each(out)


def from_torch(module, *example, data_type="fp32", name=None):
    """The forward pass of a PyTorch module as a graph, a task per kernel (needs PyTorch).

    module: traced with torch.fx, which must be able to. example: its inputs; shapes are what counts.
    data_type: that machines have rates for (docs/workload_format.md). Views and dropout cost nothing.
    Raises InputError for recurrent and attention modules, which are not one kernel.
    """
    import torch
    from torch import fx
    from torch.fx.passes.shape_prop import ShapeProp

    traced = fx.symbolic_trace(module)
    ShapeProp(traced).propagate(*example)

    def shapes(node):
        return [_Shape(torch, each.shape, each.dtype) for each in _tensors(node.meta.get("tensor_meta"))]

    model = _Model(data_type)
    for node in traced.graph.nodes:
        sources = [source.name for source in node.all_input_nodes]
        own = traced.get_submodule(node.target) if node.op == "call_module" else None
        called = type(own).__name__ if own is not None else getattr(node.target, "__name__", str(node.target))
        called = called.lower()
        out = shapes(node)
        if node.op in ("placeholder", "get_attr", "output") or called in _FREE or not out:
            model.passes_on(node.name, sources)
            continue
        inputs = [each for source in node.all_input_nodes for each in shapes(source)]
        read = sum(each.bytes for each in inputs)
        if own is not None:
            read += sum(each.numel() * each.element_size() for each in own.parameters())
        kernel = _torch_kernel(called, own, out[0].shape, inputs)
        model.add(node.name, called, kernel, sources, read, sum(each.bytes for each in out))
    return model.graph(name or type(module).__name__)


_ONNX_FREE = {
    "Reshape", "Flatten", "Transpose", "Identity", "Dropout", "Squeeze", "Unsqueeze", "Shape", "Constant", "Slice",
    "Gather", "Concat", "Cast", "Split", "Expand", "ConstantOfShape",
}  # fmt: skip
_ONNX_REDUCTIONS = {
    "Softmax", "LogSoftmax", "ReduceMean", "ReduceSum", "ReduceMax", "LayerNormalization", "BatchNormalization",
    "MaxPool", "AveragePool", "GlobalAveragePool",
}  # fmt: skip


def _onnx_kernel(node, out, sources, attributes):
    if node.op_type in ("LSTM", "GRU", "RNN", "Attention"):
        raise InputError(f"from_onnx: found the operator {node.op_type}, expected operators of one kernel each")
    if node.op_type == "Gemm":
        left = sources[0][::-1] if attributes.get("transA") else sources[0]
        return _product(out[0], out[1], left[1])
    if node.op_type == "MatMul":
        return _product(out[-2] if len(out) > 1 else 1, out[-1], sources[0][-1], prod(out[:-2]))
    if node.op_type == "Conv":
        return _convolution(out, attributes.get("group", 1), prod(sources[1][1:]))
    if node.op_type in _ONNX_REDUCTIONS:
        return _rows(sources[0])
    return _each(out)


def from_onnx(path, *, data_type="fp32", name=None):
    """The graph of an ONNX file, a task per operator that has work (needs the package onnx).

    Shapes must be fixed. Raises InputError for a tensor without one and for recurrent operators.
    """
    import onnx
    from onnx import shape_inference

    loaded = shape_inference.infer_shapes(onnx.load(str(path)))
    graph = loaded.graph
    shapes = {each.name: tuple(each.dims) for each in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shapes[value.name] = tuple(part.dim_value for part in value.type.tensor_type.shape.dim)
    itemsize = {"fp64": 8, "fp16": 2, "bf16": 2, "int8": 1}.get(data_type, 4)
    model = _Model(data_type)
    for node in graph.node:
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        sources = [source for source in node.input if source]
        out = node.output[0]
        if node.op_type in _ONNX_FREE:
            for each in node.output:
                model.passes_on(each, sources)
            continue
        for each in [*sources, out]:
            if each not in shapes or 0 in shapes[each]:
                raise InputError(f"{path}: {node.name or out}: found no fixed shape of {each}", str(path))
        kernel = _onnx_kernel(node, shapes[out], [shapes[source] for source in sources], attributes)
        read = itemsize * sum(prod(shapes[source]) for source in sources)
        model.add(out, node.op_type.lower(), kernel, sources, read, itemsize * prod(shapes[out]))
    return model.graph(name or graph.name or "onnx")
