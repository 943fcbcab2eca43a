# SPDX-License-Identifier: Apache-2.0
"""Files of layers (``schedlab schema layers``) of models: what ``partition`` and pipelines take."""

from __future__ import annotations

import json
from pathlib import Path

from .models import onnx_model, torch_model

_PRODUCTS = ("gemm", "convolution")
# Operators whose gradient is passed on as it is.
_LINEAR = {"add", "sub", "rsub", "neg", "sum", "mean", "identity"}
# Operators whose backward pass reads what they wrote, and not what they read.
_FROM_OUTPUT = {"relu", "relu6", "sigmoid", "tanh", "exp", "sqrt", "softmax", "log_softmax", "logsoftmax"}
_POOLS = ("pool", "upsample", "resize")


def _gradients(fact):
    """Kernels of the backward pass of one task: of what it read, and of its parameters."""
    kernel, data, weight = fact["kernel"], [], []
    if kernel["kind"] in _PRODUCTS:
        sides = fact["sources"][-2:] if kernel["kind"] == "gemm" else fact["sources"][:2]
        for side, (of, other) in enumerate((sides, sides[::-1]) if len(sides) == 2 else ()):
            m, n, k = kernel["m"], kernel["n"], kernel["k"]
            shape = {"m": m, "n": k, "k": n} if side == 0 else {"m": k, "n": n, "k": m}
            bytes_read = kernel["bytes_written"] + other["bytes"]
            one = {**kernel, **shape, "bytes_read": bytes_read, "bytes_written": of["bytes"]}
            if of["parameter"]:
                weight.append(one)
            elif of["makers"]:
                data.append(one)
        return data, weight
    read = [each for each in fact["sources"] if each["makers"]]
    own = [each for each in fact["sources"] if each["parameter"]]
    if fact["operation"] not in _LINEAR and read:  # a derivative and its product: twice the work
        both = kernel["bytes_read"] + kernel["bytes_written"]
        data.append(
            {**kernel, "flops": 2 * kernel["flops"], "bytes_read": both, "bytes_written": sum(e["bytes"] for e in read)}
        )
    if own:
        both = kernel["bytes_written"] + sum(each["bytes"] for each in read)
        weight.append({**kernel, "bytes_read": both, "bytes_written": sum(each["bytes"] for each in own)})
    return data, weight


def _kept_tasks(facts):
    """Tasks whose result some backward pass reads."""
    kept = set()
    for number, fact in enumerate(facts):
        if fact["operation"] in _FROM_OUTPUT:
            kept.add(number)
        elif fact["operation"] not in _LINEAR:
            kept.update(maker for source in fact["sources"] for maker in source["makers"])
    return kept


def _live_tasks(model):
    """Those that the results depend on, in their order: counters of passes are not."""
    live, left = set(), [task for value in model.ends for task in model.makers.get(value, ())]
    while left:
        task = left.pop()
        if task not in live:
            live.add(task)
            left += model.tasks[task]["needs"]
    return sorted(live)


def _groups(model):
    """Lists of tasks that are one layer, and the list of each task: a task that computes no product belongs to the
    one that it follows, if nothing else reads that."""
    live = _live_tasks(model)
    readers = {number: set() for number in live}
    for number in live:
        for need in model.tasks[number]["needs"]:
            readers[need].add(number)
    groups, group_of = [], {}
    for number in live:
        task, fact = model.tasks[number], model.facts[number]
        before = {group_of[need] for need in task["needs"]}
        joins = fact["kernel"]["kind"] not in _PRODUCTS and len(before) == 1
        joins = joins and not any(word in fact["operation"] for word in _POOLS)
        if joins:
            group = groups[next(iter(before))]
            joins = {reader for each in group for reader in readers[each]} - set(group) == {number}
        if joins:
            group.append(number)
        else:
            groups.append([number])
        group_of[number] = next(iter(before)) if joins else len(groups) - 1
    return groups, group_of


def _update(count, optimizer, data_type, itemsize):
    """The optimizer's step over so many parameters."""
    flops, reads, writes = (14, 4, 3) if optimizer == "adam" else (2, 2, 1)
    return {
        "kind": "pointwise",
        "data_type": data_type,
        "flops": flops * count,
        "bytes_read": reads * count * itemsize,
        "bytes_written": writes * count * itemsize,
    }


def _layer_name(model, group, used):
    """That of the module that the first parameter belongs to, else of the value."""
    owners = [s["parameter"] for task in group for s in model.facts[task]["sources"] if s["parameter"]]
    name = owners[0].rpartition(".")[0] or owners[0] if owners else model.tasks[group[0]]["name"]
    number = used[name] = used.get(name, 0) + 1
    return name if number == 1 else f"{name}#{number}"


def _layers(model, name, samples, optimizer):
    groups, group_of = _groups(model)
    kept = _kept_tasks(model.facts)
    names, layers, counted = {}, [], set()
    for group in groups:
        facts = [model.facts[task] for task in group]
        gradients = [_gradients(fact) for fact in facts]
        own = {s["parameter"]: s["bytes"] for fact in facts for s in fact["sources"] if s["parameter"]}
        fresh = sum(size for parameter, size in own.items() if parameter not in counted)
        counted.update(own)
        needs = {group_of[need] for task in group for need in model.tasks[task]["needs"]} - {group_of[group[0]]}
        layer = {
            "name": _layer_name(model, group, names),
            "needs": [layers[need]["name"] for need in sorted(needs)],
            "parameter_bytes": fresh,
            "activation_bytes": facts[-1]["kernel"]["bytes_written"],
            "kept_bytes": sum(model.facts[task]["kernel"]["bytes_written"] for task in group if task in kept),
            "forward_kernels": [fact["kernel"] for fact in facts],
            "backward_data_kernels": [each for data, _ in reversed(gradients) for each in data],
            "backward_weight_kernels": [each for _, weight in reversed(gradients) for each in weight],
        }
        if fresh:
            count = fresh // model.itemsize
            layer["update_kernels"] = [_update(count, optimizer, model.data_type, model.itemsize)]
        layers.append({key: value for key, value in layer.items() if value != []})
    return {"schedlab": "layers", "version": 1, "name": name, "samples": samples, "layers": layers}


def _written(document, path):
    if path is not None:
        Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return document


def layers_from_torch(
    module, *example, path=None, data_type="fp32", name=None, fallback=None, optimizer="adam"
):
    """The layers of a PyTorch module with their passes, a dict that ``partition``, ``plan-parallel`` and
    ``layer_file_pipeline`` read from a file (needs PyTorch); written to ``path`` if that is given.

    Traced as by from_torch(). A layer is a matrix product or convolution with what follows it, up to the next,
    where nothing else reads it; it has the name of its module. Backward passes follow from the forward pass: a
    product for each of its factors, twice the FLOPs of anything else. A parameter that several layers use counts
    in the first. The first size of the first example is the samples. optimizer: sgd or adam, of the update.
    """
    model = torch_model(module, example, data_type, fallback)
    samples = int(example[0].shape[0]) if example and len(example[0].shape) else 1
    return _written(_layers(model, name or type(module).__name__, samples, optimizer), path)


def layers_from_onnx(file, *, path=None, data_type="fp32", name=None, fallback=None, optimizer="adam", samples=1):
    """The same of an ONNX file (needs the package onnx), read as by from_onnx(). samples: in its first size."""
    model, own_name = onnx_model(file, data_type, fallback)
    return _written(_layers(model, name or own_name, samples, optimizer), path)
