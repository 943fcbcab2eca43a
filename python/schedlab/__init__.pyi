# SPDX-License-Identifier: Apache-2.0
# Made by scripts/python_stubs.py.
from typing import Any, Callable, TypeVar, Union

from .cases import Found as Found, Sweep as Sweep, compare as compare, problem as problem, read_run as read_run, search as search, simulate as simulate, sweep as sweep
from .columns import Columns as Columns, Svg as Svg
from .errors import ContractViolation as ContractViolation, DeviceError as DeviceError, Error as Error, FindingsError as FindingsError, InfeasibleError as InfeasibleError, InputError as InputError, PolicyTimeout as PolicyTimeout
from .graphs import Graph as Graph
from .models import from_onnx as from_onnx, from_torch as from_torch
from ._core import Plan as Plan, PlanBuilder as PlanBuilder, Problem as Problem
from .policies import PythonPolicy as PythonPolicy, as_policy as as_policy
from .results import Comparison as Comparison, Explanation as Explanation, Result as Result
from .spec import Machine as Machine, Policy as Policy, Workload as Workload, machine as machine, policy as policy, preset as preset, registries as registries, workload as workload
from .verbs import Outcome as Outcome, Profile as Profile, read_profile as read_profile, timelines as timelines

__version__: str
T = TypeVar("T")
Axis = Union[T, list[T]]

def from_networkx(graph: Any, name: str = "graph") -> Graph: ...
run_verb: Callable[..., Outcome]

def alexnet(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 227,
    classes: Axis[int] = 1000,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

def baseline(
    spec: Any,
    library: Any,
    *,
    out: Any = None,
    repetitions: int = 20,
    warm_up: int = 3,
    threads: int = 0,
    seed: int = 1,
    check: bool = False,
    profile: bool = False,
    overwrite: bool = False,
) -> Outcome: ...

def buckets(
    spec: Any,
    *,
    out: Any = None,
    no_memory_time: bool = False,
    machine: Any = None,
    execute: Any = None,
    repetitions: int = 3,
    workers: Any = None,
    host: str = 'preloaded',
    allocate: str = 'by_tensor',
    no_pin: bool = False,
    resume: bool = False,
    overwrite: bool = False,
) -> Outcome: ...

def calibrate(
    *,
    device: str = 'cpu',
    out: Any = None,
    name: Any = None,
    workers: int = 0,
    base: Any = None,
    connections: int = 0,
    products: Any = None,
    quick: bool = False,
    seconds: int = 0,
) -> Outcome: ...

def cholesky(
    *,
    tiles: Axis[int] = 8,
    seed: Axis[int] = 1,
    duration_us: Axis[float] = 10.0,
    heterogeneity: Axis[float] = 0.5,
    ccr: Axis[float] = 0.0,
) -> Workload: ...

def erdos_renyi(
    *,
    tasks: Axis[int] = 100,
    edge_probability: Axis[float] = 0.05,
    seed: Axis[int] = 1,
    duration_us: Axis[float] = 10.0,
    heterogeneity: Axis[float] = 0.5,
    ccr: Axis[float] = 0.0,
) -> Workload: ...

def execute(
    spec: Any,
    *,
    out: Any = None,
    device: str = 'cpu',
    ranks: Any = None,
    workers: Any = None,
    host: str = 'own_core',
    repetitions: int = 5,
    proxy: Any = None,
    allocate: str = 'whole_run',
    connections: Any = None,
    precision: Any = None,
    products: Any = None,
    debug_sync: bool = False,
    profile: bool = False,
    no_pin: bool = False,
    overwrite: bool = False,
    no_trace: bool = False,
) -> Outcome: ...

def explain(
    run: Any,
    *,
    out: Any = None,
    what_if: bool = False,
    bins: int = 100,
    within: Any = None,
    instance: int = 0,
    overwrite: bool = False,
) -> Outcome: ...

def export(
    format: Any,
    input: Any,
    *,
    out: Any = None,
    scenario: Any = None,
    overwrite: bool = False,
) -> Outcome: ...

def fft(
    *,
    points: Axis[int] = 16,
    seed: Axis[int] = 1,
    duration_us: Axis[float] = 10.0,
    heterogeneity: Axis[float] = 0.5,
    ccr: Axis[float] = 0.0,
) -> Workload: ...

def fork_join(
    *,
    stages: Axis[int] = 5,
    width: Axis[int] = 10,
    seed: Axis[int] = 1,
    duration_us: Axis[float] = 10.0,
    heterogeneity: Axis[float] = 0.5,
    ccr: Axis[float] = 0.0,
) -> Workload: ...

def gaussian_elimination(
    *,
    size: Axis[int] = 10,
    seed: Axis[int] = 1,
    duration_us: Axis[float] = 10.0,
    heterogeneity: Axis[float] = 0.5,
    ccr: Axis[float] = 0.0,
) -> Workload: ...

def gnmt(
    *,
    layers: Axis[int] = 4,
    hidden: Axis[int] = 1024,
    batch: Axis[int] = 128,
    source_steps: Axis[int] = 50,
    target_steps: Axis[int] = 50,
    vocabulary: Axis[int] = 32320,
    attention_steps: Axis[int] = 0,
    input_steps: Axis[int] = 1,
    data_type: Axis[str] = 'fp32',
    granularity: Axis[str] = 'auto',
    accumulation: Axis[str] = 'auto',
    accumulation_steps: Axis[int] = 8,
    partial_buffers: Axis[int] = 2,
    buffer_order: Axis[str] = 'chained',
    optimizer: Axis[str] = 'adam',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def gpt_pipeline(
    *,
    blocks: Axis[int] = 2,
    samples: Axis[int] = 1,
    vocabulary: Axis[int] = 13312,
    hidden: Axis[int] = 1024,
    heads: Axis[int] = 16,
    window: Axis[int] = 1024,
    stride: Axis[int] = 128,
    expressivity: Axis[int] = 8,
    tied: Axis[bool] = True,
    granularity: Axis[str] = 'block',
    attention: Axis[str] = 'unfused',
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'adam',
    master_weights: Axis[bool] = False,
    tensor_parallel: Axis[int] = 1,
    sequence_parallel: Axis[bool] = False,
    stages: Axis[int] = 4,
    layers_per_stage: Axis[str] = '',
    partition_path: Axis[str] = '',
    partition_accelerators: Axis[int] = 0,
    passes: Axis[str] = 'whole',
    gflop_per_s: Axis[float] = 0.0,
    pass_overhead_us: Axis[float] = 0.0,
    labels_bytes: Axis[int] = 0,
    virtual_stages: Axis[int] = 1,
    replicas: Axis[int] = 1,
    microbatches: Axis[int] = 8,
    batch: Axis[int] = 0,
    recompute: Axis[bool] = False,
    compression_ratio: Axis[float] = 1.0,
    compression_gb_per_s: Axis[float] = 0.0,
    algorithm: Axis[str] = 'automatic',
) -> Workload: ...

def graph_statistics(
    input: Any,
    *,
    machine: str = 'ideal',
    to: Any = None,
    out: Any = None,
) -> Outcome: ...

def grid(
    *,
    layers: Axis[int] = 4,
    steps: Axis[int] = 5,
    duration_us: Axis[float] = 10.0,
) -> Workload: ...

def gru(
    *,
    layers: Axis[int] = 4,
    steps: Axis[int] = 50,
    batch: Axis[int] = 64,
    hidden: Axis[int] = 1024,
    input: Axis[int] = 0,
    bidirectional: Axis[str] = 'none',
    data_type: Axis[str] = 'fp32',
    pass_: Axis[str] = 'backward',
    granularity: Axis[str] = 'auto',
    accumulation: Axis[str] = 'auto',
    accumulation_steps: Axis[int] = 8,
    partial_buffers: Axis[int] = 2,
    buffer_order: Axis[str] = 'chained',
    input_steps: Axis[int] = 1,
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    recompute: Axis[str] = 'keep_backward',
    checkpoints: Axis[int] = 0,
    host_memory: Axis[str] = 'pinned',
    reset: Axis[str] = 'after',
) -> Workload: ...

def import_trace(
    trace: Any,
    *,
    execution_trace: Any = None,
    out: Any = None,
    overwrite: bool = False,
) -> Outcome: ...

def inception_v3(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 299,
    classes: Axis[int] = 1000,
    batch_statistics: Axis[str] = 'per_slice',
    auxiliary_head: Axis[bool] = False,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

def inception_v4(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 299,
    classes: Axis[int] = 1000,
    batch_statistics: Axis[str] = 'per_slice',
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

def layer_file_pipeline(
    *,
    path: Any,
    stages: Axis[int] = 4,
    layers_per_stage: Axis[str] = '',
    partition_path: Axis[str] = '',
    partition_accelerators: Axis[int] = 0,
    passes: Axis[str] = 'whole',
    gflop_per_s: Axis[float] = 0.0,
    pass_overhead_us: Axis[float] = 0.0,
    labels_bytes: Axis[int] = 0,
    virtual_stages: Axis[int] = 1,
    replicas: Axis[int] = 1,
    microbatches: Axis[int] = 8,
    batch: Axis[int] = 0,
    recompute: Axis[bool] = False,
    compression_ratio: Axis[float] = 1.0,
    compression_gb_per_s: Axis[float] = 0.0,
    algorithm: Axis[str] = 'automatic',
) -> Workload: ...

def listing(
    *,
    what: str = 'all',
    name: Any = None,
    file: bool = False,
) -> Outcome: ...

def llama_decode(
    *,
    model: Axis[str] = 'llama_7b',
    layers: Axis[int] = 0,
    hidden: Axis[int] = 0,
    heads: Axis[int] = 0,
    kv_heads: Axis[int] = 0,
    ffn: Axis[int] = 0,
    vocabulary: Axis[int] = 0,
    batch: Axis[int] = 1,
    context: Axis[int] = 512,
    data_type: Axis[str] = 'fp16',
    operators: Axis[str] = 'unfused',
    small_operators: Axis[int] = -1,
    tensor_parallel: Axis[int] = 1,
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def llama_prefill(
    *,
    model: Axis[str] = 'llama_7b',
    layers: Axis[int] = 0,
    hidden: Axis[int] = 0,
    heads: Axis[int] = 0,
    kv_heads: Axis[int] = 0,
    ffn: Axis[int] = 0,
    vocabulary: Axis[int] = 0,
    batch: Axis[int] = 1,
    prompt: Axis[int] = 512,
    data_type: Axis[str] = 'fp16',
    operators: Axis[str] = 'unfused',
    small_operators: Axis[int] = -1,
    tensor_parallel: Axis[int] = 1,
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def lstm(
    *,
    layers: Axis[int] = 4,
    steps: Axis[int] = 50,
    batch: Axis[int] = 64,
    hidden: Axis[int] = 1024,
    input: Axis[int] = 0,
    bidirectional: Axis[str] = 'none',
    data_type: Axis[str] = 'fp32',
    pass_: Axis[str] = 'backward',
    granularity: Axis[str] = 'auto',
    accumulation: Axis[str] = 'auto',
    accumulation_steps: Axis[int] = 8,
    partial_buffers: Axis[int] = 2,
    buffer_order: Axis[str] = 'chained',
    input_steps: Axis[int] = 1,
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    recompute: Axis[str] = 'keep_backward',
    checkpoints: Axis[int] = 0,
    host_memory: Axis[str] = 'pinned',
) -> Workload: ...

def mnist_cnn_pipeline(
    *,
    samples: Axis[int] = 32,
    image: Axis[int] = 28,
    classes: Axis[int] = 10,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    stages: Axis[int] = 4,
    layers_per_stage: Axis[str] = '',
    partition_path: Axis[str] = '',
    partition_accelerators: Axis[int] = 0,
    passes: Axis[str] = 'whole',
    gflop_per_s: Axis[float] = 0.0,
    pass_overhead_us: Axis[float] = 0.0,
    labels_bytes: Axis[int] = 0,
    virtual_stages: Axis[int] = 1,
    replicas: Axis[int] = 1,
    microbatches: Axis[int] = 8,
    batch: Axis[int] = 0,
    recompute: Axis[bool] = False,
    compression_ratio: Axis[float] = 1.0,
    compression_gb_per_s: Axis[float] = 0.0,
    algorithm: Axis[str] = 'automatic',
) -> Workload: ...

def opennmt(
    *,
    layers: Axis[int] = 2,
    hidden: Axis[int] = 500,
    embedding: Axis[int] = 500,
    batch: Axis[int] = 64,
    source_steps: Axis[int] = 50,
    target_steps: Axis[int] = 50,
    source_vocabulary: Axis[int] = 24997,
    target_vocabulary: Axis[int] = 35820,
    input_feed: Axis[bool] = True,
    attention_steps: Axis[int] = 1,
    data_type: Axis[str] = 'fp32',
    granularity: Axis[str] = 'auto',
    accumulation: Axis[str] = 'auto',
    accumulation_steps: Axis[int] = 8,
    partial_buffers: Axis[int] = 2,
    buffer_order: Axis[str] = 'chained',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def output_layer(
    *,
    steps: Axis[int] = 50,
    batch: Axis[int] = 64,
    width: Axis[int] = 1024,
    classes: Axis[int] = 1000,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def partition(
    spec: Any,
    *,
    out: Any = None,
    overwrite: bool = False,
) -> Outcome: ...

def pipeline(
    *,
    path: Axis[str] = '',
    stages: Axis[int] = 4,
    samples: Axis[int] = 1,
    forward_us: Axis[float] = 1000.0,
    backward_data_us: Axis[float] = 1000.0,
    backward_weight_us: Axis[float] = 1000.0,
    forward_per_sample_us: Axis[float] = 0.0,
    backward_data_per_sample_us: Axis[float] = 0.0,
    backward_weight_per_sample_us: Axis[float] = 0.0,
    update_us: Axis[float] = 0.0,
    activation_mib: Axis[float] = 0.0,
    kept_activations_mib: Axis[float] = 0.0,
    kept_gradients_mib: Axis[float] = 0.0,
    parameters_mib: Axis[float] = 0.0,
    optimizer_state_mib: Axis[float] = 0.0,
    tied_mib: Axis[float] = 0.0,
    labels_bytes: Axis[int] = 0,
    virtual_stages: Axis[int] = 1,
    replicas: Axis[int] = 1,
    microbatches: Axis[int] = 8,
    batch: Axis[int] = 0,
    recompute: Axis[bool] = False,
    compression_ratio: Axis[float] = 1.0,
    compression_gb_per_s: Axis[float] = 0.0,
    algorithm: Axis[str] = 'automatic',
) -> Workload: ...

def plot(
    input: Any,
    *,
    out: Any = None,
    width: int = 1200,
    from_: int = 0,
    to: Any = None,
    policy: Any = None,
    over: Any = None,
    metric: str = 'makespan_us',
    x: Any = None,
    y: Any = None,
    panels: Any = None,
    at: Any = None,
) -> Outcome: ...

def random_layered(
    *,
    seed: Axis[int] = 1,
    layers: Axis[int] = 10,
    width: Axis[int] = 10,
    edge_probability: Axis[float] = 0.3,
    shortest_us: Axis[float] = 1.0,
    longest_us: Axis[float] = 10.0,
    critical_share: Axis[float] = 0.5,
) -> Workload: ...

def replay(
    trace: Any,
    *,
    mode: str = 'copied_launches',
    what_if: Any = None,
    despite_error: bool = False,
    execution_trace: Any = None,
    out: Any = None,
    overwrite: bool = False,
) -> Outcome: ...

def reproduce(
    *,
    system: str = 'all',
    out: Any = None,
    jobs: int = 0,
    quick: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    no_check: bool = False,
) -> Outcome: ...

def resnet101(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 224,
    classes: Axis[int] = 1000,
    batch_statistics: Axis[str] = 'per_slice',
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

def resnet50(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 224,
    classes: Axis[int] = 1000,
    batch_statistics: Axis[str] = 'per_slice',
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

def resnet50_pipeline(
    *,
    samples: Axis[int] = 32,
    image: Axis[int] = 224,
    classes: Axis[int] = 1000,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    stages: Axis[int] = 4,
    layers_per_stage: Axis[str] = '',
    partition_path: Axis[str] = '',
    partition_accelerators: Axis[int] = 0,
    passes: Axis[str] = 'whole',
    gflop_per_s: Axis[float] = 0.0,
    pass_overhead_us: Axis[float] = 0.0,
    labels_bytes: Axis[int] = 0,
    virtual_stages: Axis[int] = 1,
    replicas: Axis[int] = 1,
    microbatches: Axis[int] = 8,
    batch: Axis[int] = 0,
    recompute: Axis[bool] = False,
    compression_ratio: Axis[float] = 1.0,
    compression_gb_per_s: Axis[float] = 0.0,
    algorithm: Axis[str] = 'automatic',
) -> Workload: ...

def schema(
    *,
    which: str = 'spec',
) -> Outcome: ...

def sentiment_lstm(
    *,
    layers: Axis[int] = 2,
    hidden: Axis[int] = 256,
    embedding: Axis[int] = 100,
    steps: Axis[int] = 500,
    batch: Axis[int] = 64,
    vocabulary: Axis[int] = 400002,
    classes: Axis[int] = 1,
    bidirectional: Axis[str] = 'all',
    data_type: Axis[str] = 'fp32',
    granularity: Axis[str] = 'auto',
    accumulation: Axis[str] = 'auto',
    accumulation_steps: Axis[int] = 8,
    partial_buffers: Axis[int] = 2,
    buffer_order: Axis[str] = 'chained',
    optimizer: Axis[str] = 'adam',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
) -> Workload: ...

def validate(
    spec: Any,
    *,
    device: Any = None,
    workers: Any = None,
    host: Any = None,
    proxy: Any = None,
    allocate: str = 'whole_run',
    connections: Any = None,
    precision: Any = None,
    products: Any = None,
    no_pin: bool = False,
    recording: Any = None,
    machine: Any = None,
    out: Any = None,
    record: Any = None,
    baseline: Any = None,
    repetitions: int = 15,
    warm_up: int = 2,
    draws: int = 100,
    seed: int = 1,
    kept_traces: int = 3,
    predict_only: bool = False,
    timeline: Any = None,
    max_median_error: Any = None,
    max_p90_error: Any = None,
    min_order: Any = None,
    min_coverage: Any = None,
    overwrite: bool = False,
) -> Outcome: ...

def vgg16(
    *,
    pass_: Axis[str] = 'training',
    batch: Axis[int] = 32,
    split: Axis[int] = 1,
    image: Axis[int] = 224,
    classes: Axis[int] = 1000,
    data_type: Axis[str] = 'fp32',
    optimizer: Axis[str] = 'sgd',
    include_transfers: Axis[bool] = True,
    include_tensors: Axis[bool] = True,
    remove_dead: Axis[bool] = False,
    mixed_precision: Axis[str] = 'off',
    fuse_pointwise: Axis[bool] = False,
) -> Workload: ...

