# SPDX-License-Identifier: Apache-2.0
"""Task graphs of models: forward passes of PyTorch modules and ONNX files, from their shapes."""

from __future__ import annotations

import copy
import json
from math import prod

from .errors import InputError
from .graphs import Graph


class _Model:
    """Collects tasks of one kernel each; values without work are what they were made of.

    A view and a result in place are the memory of another value, their base: a task waits for writes to
    bases as a whole, a write in place for the readers before it. Views of one base are taken to be apart.
    """

    def __init__(self, data_type):
        self.data_type = data_type
        self.itemsize = {"fp64": 8, "fp16": 2, "bf16": 2, "int8": 1}.get(data_type, 4)
        self.parameters, self.facts = {}, []  # names by value; what layers are made of, by task
        self.ends = []  # values that are results
        self.operations, self.numbers, self.tasks, self.makers = [], {}, [], {}
        self.bases, self.written, self.readers, self.view_readers = {}, {}, {}, {}

    def _bases(self, value):
        while value in self.bases:
            value = self.bases[value]
            yield value

    def _needs(self, value):
        """Tasks that a reader of the value waits for."""
        makers = self.makers.get(value, ())
        last = max(makers, default=-1)  # what was written before it is among its own ancestors
        return {task for base in self._bases(value) if (task := self.written.get(base, -1)) > last}.union(makers)

    def passes_on(self, value, sources, view=False):
        """The value is there when its sources are. view: it is memory of the first of them."""
        self.makers[value] = sorted({task for source in sources for task in self.makers.get(source, ())})
        if view and sources:
            self.bases[value] = sources[0]

    def _write(self, target, task, needs):
        """The task changes the value in place."""
        needs.update(self._needs(target), self.readers.pop(target, ()), self.view_readers.pop(target, ()))
        self.makers[target], self.written[target] = [task], task
        for base in self._bases(target):
            needs.update(self.readers.get(base, ()))
            self.makers[base] = sorted({*self.makers.get(base, ()), task})

    def _source(self, value, size):
        """What is known of a value that a task reads."""
        root = [value, *self._bases(value)][-1]
        return {"parameter": self.parameters.get(root), "bytes": int(size), "makers": list(self.makers.get(value, ()))}

    def add(self, value, operation, kernel, sources, bytes_read, bytes_written, writes=(), sizes=()):
        """A task that makes a value of others. writes: values that it changes in place. sizes: bytes of sources."""
        kernel = {
            "data_type": self.data_type,
            **kernel,
            "bytes_read": int(bytes_read),
            "bytes_written": int(bytes_written),
        }
        read = [self._source(source, size) for source, size in zip(sources, sizes)]
        self.facts.append({"operation": operation, "kernel": kernel, "sources": read})
        described = {"name": operation, "kind": kernel["kind"], "kernels": [kernel]}
        key = json.dumps(described, sort_keys=True)
        if key not in self.numbers:
            self.numbers[key] = len(self.operations)
            self.operations.append(described)
        task = len(self.tasks)
        needs = {need for source in sources for need in self._needs(source)}
        for target in writes:
            self._write(target, task, needs)
            self.bases[value] = target
        for source in sources:
            self.readers.setdefault(source, set()).add(task)
            for base in self._bases(source):
                self.view_readers.setdefault(base, set()).add(task)
        self.tasks.append({"name": value, "operation": self.numbers[key], "needs": sorted(needs - {task})})
        self.makers[value] = [task]

    def graph(self, name):
        """The graph of all tasks."""
        return Graph.from_dict({"operations": self.operations, "tasks": self.tasks}, name)


def _product(m, n, k, times=1):
    return {"kind": "gemm", "m": int(m), "n": int(n), "k": int(k), "flops": 2 * int(m) * int(n) * int(k) * int(times)}


def _batched_product(left, right):
    """Of matrices or stacks of them; a vector counts as one row or one column."""
    rows = left[-2] if len(left) > 1 else 1
    return _product(rows, right[-1] if len(right) > 1 else 1, left[-1], prod(left[:-2]))


def _convolution(image, weight, out, groups, transposed=False):
    """Shapes: (batch, channels, places...); `weight`: (out or, transposed, in channels, ...)."""
    if transposed:  # each number of the image meets all that its channel's weights reach
        product = _product(image[0] * prod(image[2:]), prod(weight[1:]), image[1] // groups, groups)
    else:
        product = _product(out[0] * prod(out[2:]), out[1] // groups, prod(weight[1:]), groups)
    return {**product, "kind": "convolution"}


def _rows(shape):
    return {"kind": "reduction", "m": prod(shape[:-1]), "n": shape[-1] if shape else 1, "flops": prod(shape)}


def _each(shape):
    return {"kind": "pointwise", "flops": prod(shape)}


_MOVE = {"kind": "pointwise", "flops": 0}


def _unknown(where, operator, fallback, out, hint=""):
    if fallback == "pointwise":
        return _each(out)
    hint = hint or 'fallback="pointwise" counts such an operator as one FLOP per number of its output'
    raise InputError(f"{where}: found the operator {operator}, expected one whose work is known\n  {hint}")


# ATen operators without the "_" of those in place. Views are told by their schemas.
_NO_KERNEL = {"_unsafe_view", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "empty", "empty_like", "new_empty"}
_MOVES = {
    "clone", "copy", "_to_copy", "cat", "stack", "constant_pad_nd", "repeat", "flip", "roll", "index", "index_select",
    "gather", "embedding", "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "full", "full_like", "fill", "zero",
    "arange", "scalar_tensor", "lift_fresh", "lift_fresh_copy",
}  # fmt: skip
_PICKS = {"index", "index_select", "gather", "embedding"}  # read as much of the first input as they write
_OVERWRITES = {"copy", "fill", "zero", "bernoulli", "uniform", "normal"}  # in place, and read nothing of it
_POINTWISE = {
    "add", "sub", "rsub", "mul", "div", "pow", "neg", "abs", "sign", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt",
    "reciprocal", "square", "sin", "cos", "tanh", "erf", "sigmoid", "relu", "relu6", "gelu", "silu", "mish", "elu",
    "celu", "selu", "leaky_relu", "_prelu_kernel", "prelu", "softplus", "hardtanh", "hardswish", "hardsigmoid",
    "log_sigmoid_forward", "threshold", "clamp", "clamp_min", "clamp_max", "minimum", "maximum", "where", "masked_fill",
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_not", "addcmul", "addcdiv", "lerp", "floor", "ceil", "round", "trunc", "remainder", "fmod", "floor_divide",
    "native_dropout", "bernoulli", "uniform", "normal", "isnan", "isinf", "tril", "triu", "glu",
}  # fmt: skip
_REDUCTIONS = {
    "_softmax", "_log_softmax", "sum", "mean", "var", "std", "var_mean", "prod", "max", "min", "amax", "amin", "argmax",
    "argmin", "any", "all", "norm", "linalg_vector_norm", "cumsum", "logsumexp", "native_layer_norm", "native_group_norm",
    "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "max_pool2d_with_indices",
    "max_pool3d_with_indices", "max_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d", "adaptive_max_pool2d", "upsample_nearest2d", "upsample_bilinear2d",
}  # fmt: skip
_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot"}
_FUSED = (
    "it fuses what is counted kernel by kernel: trace the module in training mode or with parameters that need gradients,"
    " attention under torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
)


class _Shape:
    """What is used of a tensor; older versions of PyTorch do not know the size of a type's elements."""

    def __init__(self, torch, shape, dtype):
        self.shape = tuple(shape)
        self.bytes = prod(self.shape) * torch.empty((), dtype=dtype).element_size()


def _torch_kernel(node, name, inputs, out, fallback):
    """`inputs`, `out`: shapes."""
    if name == "convolution":
        return _convolution(inputs[0], inputs[1], out, node.args[8], node.args[6])
    if name in _PRODUCTS:
        return _batched_product(*inputs[-2:])
    if name in _REDUCTIONS:
        return _rows(inputs[0])
    if name in _MOVES:
        return _MOVE
    if name in _POINTWISE:
        return _each(out)
    fused = name.startswith(("_scaled_dot_product", "_transformer", "_native_multi_head"))
    return _unknown(f"from_torch: {node.name}", node.target, fallback, out, _FUSED if fused else "")


class _TorchReader:
    """Makes tasks of the ATen operators that a module calls."""

    def __init__(self, traced, module, data_type, fallback):
        import torch

        self.names = {id(parameter): name for name, parameter in module.named_parameters()}
        self.torch, self.traced, self.fallback = torch, traced, fallback
        self.model = _Model(data_type)

    def _shapes(self, node):
        """Of a tensor, or of all that an operator returns."""
        if node.op == "get_attr":
            found = getattr(self.traced, node.target)
        else:
            found = node.meta.get("tensor_meta")
        if found is None:
            return [shape for user in node.users if "getitem" in str(user.target) for shape in self._shapes(user)]
        return [_Shape(self.torch, found.shape, found.dtype)] if hasattr(found, "shape") else []

    def read(self, node):
        """Adds the task of a node, if it launches a kernel."""
        sources = [source.name for source in node.all_input_nodes]
        schema = getattr(node.target, "_schema", None)
        if node.op == "get_attr" and id(getattr(self.traced, node.target)) in self.names:
            self.model.parameters[node.name] = self.names[id(getattr(self.traced, node.target))]
        if node.op != "call_function" or schema is None:
            self.model.passes_on(node.name, sources, view=True)
            return
        name = node.target.overloadpacket.__name__.rstrip("_")
        outputs = self._shapes(node)
        is_view = any(each.alias_info and not each.alias_info.is_write for each in schema.returns)
        if is_view or name in _NO_KERNEL or not sum(each.bytes for each in outputs):
            self.model.passes_on(node.name, sources, view=True)
            return
        arguments = {each.name: value for each, value in zip(schema.arguments, node.args)} | dict(node.kwargs)
        changed = {each.name for each in schema.arguments if each.alias_info and each.alias_info.is_write}
        writes = [arguments[each].name for each in changed if hasattr(arguments.get(each), "name")]
        inputs = [shape for source in node.all_input_nodes for shape in self._shapes(source)]
        kernel = _torch_kernel(node, name, [each.shape for each in inputs], outputs[0].shape, self.fallback)
        read = sum(each.bytes for each in inputs)
        if name in _PICKS:
            read += outputs[0].bytes - inputs[0].bytes
        if writes and name in _OVERWRITES:
            read -= outputs[0].bytes
        sizes = [sum(shape.bytes for shape in self._shapes(source)) for source in node.all_input_nodes]
        written = sum(each.bytes for each in outputs)
        self.model.add(node.name, name.strip("_"), kernel, sources, read, written, writes, sizes)


def torch_model(module, example, data_type, fallback):
    """The tasks of a module's forward pass."""
    from torch.fx.experimental.proxy_tensor import make_fx

    traced_module = copy.deepcopy(module)  # a pass in training mode changes running means
    traced = make_fx(lambda *inputs: traced_module(*inputs))(*example)
    reader = _TorchReader(traced, traced_module, data_type, fallback)
    reader.model.ends = [node.name for node in traced.graph.nodes if node.op == "output"]
    for node in traced.graph.nodes:
        reader.read(node)
    return reader.model


def from_torch(module, *example, data_type="fp32", name=None, fallback=None):
    """The forward pass of a PyTorch module as a graph (needs PyTorch): a task for each kernel that eager
    execution launches, traced with torch.fx as ATen operators.

    module: traced as it stands, in training or evaluation mode; on the device "meta" nothing is computed.
    Recurrent modules become their products and gates step by step; lstm() and gru() cut them as libraries
    for devices do. example: its inputs; shapes are what counts. data_type: that machines have rates for
    (docs/workload_format.md). fallback: "pointwise" counts an unknown operator as one FLOP per number of
    its output; otherwise it raises InputError. Views cost nothing.
    """
    return torch_model(module, example, data_type, fallback).graph(name or type(module).__name__)


_ONNX_FREE = {"Reshape", "Flatten", "Identity", "Dropout", "Squeeze", "Unsqueeze"}
_ONNX_REALS = {1, 10, 11, 16}  # float, float16, double, bfloat16
_ONNX_CONSTANT = {"Constant", "ConstantOfShape", "Shape"}
_ONNX_MOVES = {"Transpose", "Concat", "Gather", "Slice", "Split", "Cast", "Expand", "Pad", "Tile"}
_ONNX_REDUCTIONS = {
    "Softmax", "LogSoftmax", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ArgMax", "ArgMin", "MaxPool",
    "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LayerNormalization", "BatchNormalization",
    "InstanceNormalization", "LRN", "Resize",
}  # fmt: skip
_ONNX_POINTWISE = {
    "Add", "Sub", "Mul", "Div", "Pow", "Neg", "Abs", "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Tanh", "Sigmoid", "Relu",
    "Elu", "Selu", "LeakyRelu", "PRelu", "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Gelu", "Clip", "Min", "Max",
    "Where", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Not", "Sum", "Mean", "Floor",
    "Ceil", "Round", "Sin", "Cos", "Sign", "Mod",
}  # fmt: skip


def _onnx_kernel(where, node, out, sources, attributes, fallback):
    operator = node.op_type
    if operator == "Gemm":
        left = sources[0][::-1] if attributes.get("transA") else sources[0]
        return _product(out[0], out[1], left[1])
    if operator == "MatMul":
        # Of stacks that are repeated along each other the output's count.
        product = _batched_product(sources[0], sources[1])
        return _product(product["m"], product["n"], product["k"], prod(out) // (product["m"] * product["n"]))
    if operator in ("Conv", "ConvTranspose"):
        return _convolution(sources[0], sources[1], out, attributes.get("group", 1), operator == "ConvTranspose")
    if operator in _ONNX_REDUCTIONS:
        return _rows(sources[0])
    if operator in _ONNX_MOVES:
        return _MOVE
    if operator in _ONNX_POINTWISE:
        return _each(out)
    hint = "lstm() and gru() cut them as libraries do" if operator in ("LSTM", "GRU", "RNN") else ""
    return _unknown(where, operator, fallback, out, hint)


def from_onnx(path, *, data_type="fp32", name=None, fallback=None):
    """The graph of an ONNX file, a task per operator that has work (needs the package onnx).

    Reshapes cost nothing, nor does what depends on constants and shapes alone. Shapes must be fixed.
    fallback: as for from_torch(). Raises InputError for a tensor without a shape and for recurrent
    operators.
    """
    model, own_name = onnx_model(path, data_type, fallback)
    return model.graph(name or own_name)


def onnx_model(path, data_type, fallback):
    """The tasks of an ONNX file, and its name."""
    import onnx
    from onnx import shape_inference

    loaded = shape_inference.infer_shapes(onnx.load(str(path)))
    graph = loaded.graph
    shapes = {each.name: tuple(each.dims) for each in graph.initializer}
    constants = set(shapes)
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shapes[value.name] = tuple(part.dim_value for part in value.type.tensor_type.shape.dim)
    model = _Model(data_type)
    itemsize = model.itemsize
    model.ends = [each.name for each in graph.output]
    model.parameters = {each.name: each.name for each in graph.initializer if each.data_type in _ONNX_REALS}
    for node in graph.node:
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        sources = [source for source in node.input if source]
        out = node.output[0]
        if node.op_type in _ONNX_CONSTANT or constants.issuperset(sources):
            constants.update(node.output)
            continue
        if node.op_type in _ONNX_FREE:
            for each in node.output:
                model.passes_on(each, sources)
            continue
        sources = [source for source in sources if source not in constants or source in shapes]
        where = f"{path}: {node.name or out}"
        for each in [*sources, out]:
            if each not in shapes or 0 in shapes[each]:
                raise InputError(f"{where}: found no fixed shape of {each}", str(path))
        kernel = _onnx_kernel(where, node, shapes[out], [shapes[source] for source in sources], attributes, fallback)
        read = itemsize * sum(prod(shapes[source]) for source in sources)
        written = itemsize * sum(prod(shapes.get(each, (0,))) for each in node.output if each)
        if node.op_type == "Gather":
            read += written - itemsize * prod(shapes[sources[0]])
        sizes = [itemsize * prod(shapes[source]) for source in sources]
        model.add(out, node.op_type.lower(), kernel, sources, read, written, sizes=sizes)
        for each in node.output[1:]:
            model.passes_on(each, [out])
    return model, graph.name or "onnx"
